//! The guarantees of every database, listed once. A leaf (`tests/sqlite.rs`) names how to open its database and gets one test
//! per line; the name of a test is the guarantee.

pub mod advisory;
pub mod alike;
pub mod assembly;
pub mod audit;
pub mod bad_input;
pub mod batches;
pub mod by_hand;
pub mod children;
pub mod classic;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod deadlines;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod deadlocks;
pub mod dropped;
pub mod every_kind;
pub mod former_life;
pub mod handing_over;
pub mod kinds;
pub mod leases;
pub mod limits;
pub mod lists;
pub mod locking;
pub mod merging;
pub mod order;
pub mod own_statements;
pub mod presence;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod readers;
pub mod repository;
pub mod requests;
pub mod resume;
pub mod retries;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod row_locks;
pub mod sets;
pub mod several;
pub mod shared;
pub mod showing;
pub mod spelling;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod stuck;
pub mod support;
pub mod sweeping;
pub mod takeover;
pub mod transactions;
pub mod updates;
pub mod versions;
pub mod waiting;
pub mod watching;

pub use bad_input::{absurd_times, control_characters, edited_by_hand, names_that_look_alike, together, unnameable};
pub use classic::{clocks, fencing, late_beats, late_checks, taking_at_once, taking_inside_work};
#[allow(unused_imports, reason = "SQLite has no row locks")]
pub use deadlines as deadlines_of_rows;

/// The table of contents.
#[macro_export]
macro_rules! conformance {
    ($open:path) => {
        $crate::conformance! { $open;
            locking:
                a_free_key_is_granted_as_its_first_generation,
                a_second_person_is_told_who_holds_it_since_when_and_for_how_long,
                the_same_person_in_another_tab_is_refused_as_well,
                asking_again_with_the_same_lock_id_gives_the_same_lease,
                a_request_that_comes_twice_gets_nothing_after_its_release,
                a_request_that_comes_twice_gets_nothing_after_others_came_and_went,
                of_many_callers_at_once_one_wins_and_the_generation_rises_by_one,
                one_lock_id_cannot_hold_two_keys,
                keys_of_any_script_and_length_are_told_apart_byte_by_byte,
                empty_and_gigantic_keys_are_refused;
            alike:
                whoever_asks_among_many_is_answered_as_whoever_asks_alone;
            presence:
                a_holder_tells_the_last_sign_of_life_from_the_last_input,
                input_that_was_told_of_is_not_forgotten_by_a_later_beat,
                a_forgotten_tab_is_idle_and_one_that_does_not_answer_unreachable,
                a_forgotten_tab_loses_the_lock_at_the_idle_limit_and_is_told_so,
                whoever_types_goes_on_beyond_the_idle_limit,
                whoever_comes_back_after_the_idle_limit_goes_on_if_nobody_came;
            limits:
                nobody_holds_more_locks_than_the_limit_and_what_ends_makes_room,
                whoever_asks_again_at_the_limit_for_what_they_hold_gets_it,
                of_many_requests_of_one_owner_at_once_the_limit_is_granted_exactly,
                what_another_process_granted_counts,
                nobody_takes_over_beyond_the_limit,
                only_so_many_ask_for_one_lock_until_one_of_them_goes;
            shared:
                readers_hold_it_together_and_keep_out_whoever_wants_it_alone,
                whoever_holds_it_alone_keeps_out_readers,
                asking_again_for_a_share_gives_the_same_lease_and_after_its_end_nothing,
                a_share_that_ran_out_keeps_out_nobody_and_is_told_so,
                an_older_share_that_ran_out_hides_no_live_one,
                a_lock_held_alone_that_ran_out_gives_way_to_readers,
                a_share_does_not_allow_to_save_and_keeps_others_from_it,
                a_type_whose_policy_does_not_share_has_no_shares,
                a_share_is_not_asked_for_nor_taken_over_but_it_can_be_broken,
                readers_and_whoever_wants_it_alone_at_once_never_hold_it_together,
                of_leases_beside_each_other_taken_at_once_each_has_a_generation_of_its_own,
                resuming_a_share_while_somebody_takes_the_lock_alone_one_wins,
                a_reader_and_a_save_at_once_the_save_is_before_the_reader_or_refused,
                resuming_an_advisory_lease_while_the_next_one_comes_one_is_told_of_the_other;
            showing:
                a_role_is_shown_in_the_place_of_a_name,
                an_anonymous_holder_is_named_to_nobody_but_themselves_and_the_operator,
                whoever_ended_a_lock_stays_anonymous_to_whoever_lost_it,
                whoever_took_over_from_oneself_is_told_so_by_name,
                whoever_asks_for_an_anonymous_lock_is_answered_without_being_known;
            leases:
                an_expired_lease_is_taken_by_the_next_and_the_late_holder_learns_of_it,
                an_expired_lease_that_nobody_took_is_not_revived_by_a_heartbeat,
                heartbeats_set_the_expiry_and_do_not_pile_up,
                a_late_heartbeat_costs_nothing,
                extending_adds_to_the_expiry_but_not_beyond_the_ttl,
                extending_never_shortens,
                no_heartbeat_goes_beyond_the_absolute_limit,
                a_released_key_is_free_at_once_and_its_generation_goes_on,
                releasing_twice_says_released,
                a_late_release_does_not_free_the_successor,
                a_late_heartbeat_does_not_touch_the_successor,
                one_dead_lease_does_not_disturb_the_others,
                a_page_that_comes_back_within_the_grace_keeps_its_lease,
                a_page_that_does_not_come_back_frees_the_key_after_the_grace,
                whoever_breaks_a_lock_is_named_to_its_holder_with_the_reason,
                a_break_that_comes_too_late_hits_nobody,
                a_break_needs_a_reason,
                a_lock_id_of_somebody_else_is_refused,
                an_unknown_lock_id_is_unknown;
            spelling:
                another_spelling_of_an_id_is_refused_with_the_stored_one,
                a_lease_on_another_spelling_saves_nothing,
                another_spelling_is_not_inserted_beside_the_stored_one,
                another_spelling_is_an_error_of_its_own_and_not_retried;
            former_life:
                a_new_aggregate_goes_on_from_the_version_of_the_deleted_one,
                a_token_of_a_deleted_aggregate_is_stale,
                a_loaded_aggregate_is_not_saved_over_its_successor,
                an_insert_that_waits_for_a_delete_goes_on_from_its_version,
                a_child_that_is_gone_is_an_error_and_nothing_is_saved;
            resume:
                a_lease_that_ran_out_goes_on_with_the_same_generation_if_nobody_came,
                resuming_a_lease_that_is_alive_keeps_it_alive,
                a_lease_is_not_resumed_over_a_change_and_the_conflict_names_it,
                a_lease_that_somebody_took_over_from_is_not_resumed,
                a_lease_that_was_released_or_broken_is_not_resumed,
                a_lease_is_not_resumed_beyond_its_absolute_limit,
                a_lease_of_somebody_else_or_of_another_aggregate_is_not_resumed,
                a_used_lock_id_does_not_end_an_expired_lease,
                an_advisory_lease_is_resumed_until_the_next_one_comes,
                resuming_and_taking_at_once_one_wins,
                resuming_while_somebody_saves_finds_the_version_before_or_the_conflict;
            takeover:
                whoever_takes_over_gets_the_next_generation_and_the_old_holder_learns_who_and_why,
                without_permission_one_moves_only_ones_own_lock_to_another_tab,
                a_takeover_that_comes_too_late_hits_nobody,
                a_takeover_needs_a_reason_and_an_exclusive_lock,
                asking_again_to_take_over_gives_the_same_lease_and_a_used_lock_id_nothing,
                of_two_who_take_over_at_once_one_wins_and_the_generation_rises_by_one,
                a_takeover_and_a_release_at_once_end_the_lease_once,
                all_that_somebody_holds_is_released_and_nothing_else,
                releasing_all_and_beating_at_once_never_deadlocks;
            requests:
                the_holder_sees_who_asks_and_what_they_say_the_longest_waiting_first,
                a_request_that_is_repeated_keeps_its_place_and_its_answer,
                the_latest_answer_counts_and_later_ends,
                a_request_ends_when_its_asker_goes_away,
                a_request_ends_with_the_lease_it_was_made_to,
                only_the_holder_sees_and_answers_requests,
                notes_are_bounded_and_advisory_locks_are_not_asked_for,
                of_many_requests_of_one_asker_at_once_one_is_open,
                requests_that_lapsed_can_be_repeated_by_all_at_once;
            handing_over:
                the_key_is_kept_for_whom_it_was_handed_over_to,
                a_reservation_that_nobody_takes_runs_out,
                only_who_asks_gets_it_and_only_the_holder_gives_it,
                a_reservation_can_be_ended_like_a_lease,
                of_many_who_ask_for_a_reserved_key_at_once_only_its_owner_gets_it_once,
                a_handover_and_a_takeover_at_once_end_the_lease_once;
            advisory:
                everybody_gets_an_advisory_lease_and_sees_the_others,
                leaving_an_advisory_lease_leaves_the_others,
                breaking_an_advisory_lease_ends_that_one_only;
            waiting:
                those_who_wait_get_the_key_in_the_order_of_arrival_across_processes,
                whoever_waits_gets_a_key_that_was_broken_or_ran_out,
                the_place_of_a_process_that_died_is_skipped,
                a_wait_that_is_dropped_holds_nobody_up,
                a_lease_that_came_too_late_for_whoever_waited_is_given_back,
                a_wait_ends_at_its_time_and_says_who_holds_the_lock,
                a_lock_that_is_handed_over_goes_to_whom_it_was_meant_for_though_others_wait,
                one_lock_id_has_one_place_in_line,
                nobody_waits_for_an_advisory_lock_or_a_key_that_is_none,
                waiting_ends_when_the_database_is_closed,
                one_owner_waits_for_so_many_locks_for_so_long_and_no_more;
            dropped:
                whatever_is_dropped_at_any_moment_leaves_its_keys_free,
                of_many_at_once_those_that_are_dropped_leave_their_keys_free,
                a_wait_that_is_dropped_takes_nothing_from_another_with_its_lock_id,
                a_lease_that_is_asked_for_again_and_dropped_is_still_held,
                whoever_asks_again_in_the_same_moment_keeps_what_the_first_was_granted;
            watching:
                first_comes_a_snapshot_of_each_key,
                every_way_in_which_a_lease_ends_is_told_with_who_and_why,
                a_save_that_releases_is_told_and_so_is_its_version,
                whoever_asks_for_a_lock_or_waits_for_it_is_told,
                whether_the_holder_is_there_is_told,
                an_expired_lease_that_goes_on_is_told,
                those_who_hold_a_lock_together_are_told_one_by_one,
                a_set_is_told_key_by_key,
                whom_the_policy_hides_is_hidden_from_those_who_watch,
                two_processes_see_what_the_other_does,
                no_change_of_hands_between_two_looks_is_lost,
                whoever_reads_slowly_is_told_that_something_was_missed_and_sees_how_things_stand,
                looking_costs_one_statement_however_many_watch,
                a_thousand_keys_are_watched_at_once,
                when_nobody_watches_nothing_is_looked_at;
            taking_at_once:
                of_many_who_find_a_lease_expired_one_gets_the_key_and_keeps_it,
                of_two_who_waited_for_an_expired_lease_one_gets_the_key,
                people_who_lock_neighbouring_keys_never_fail_or_wait_for_each_other;
            taking_inside_work:
                a_try_while_somebody_saves_and_releases_is_answered_at_once,
                a_refused_lock_leaves_the_transaction_usable,
                requests_that_hold_every_connection_still_get_and_keep_their_locks;
            late_checks:
                a_late_check_does_not_end_the_lease_of_the_next_holder,
                a_lease_that_ran_out_stays_to_be_resumed_whatever_came_late,
                a_heartbeat_during_a_transaction_counts_for_its_check,
                a_break_during_a_transaction_is_seen_by_its_check;
            late_beats:
                a_late_heartbeat_of_an_expired_lease_does_not_touch_the_next_holder,
                a_late_heartbeat_of_a_released_lease_does_not_touch_the_next_holder,
                of_two_extensions_at_once_none_is_lost;
            clocks:
                a_program_whose_clock_is_wrong_neither_steals_nor_holds_on,
                a_lease_that_had_to_be_waited_for_lasts_its_full_time,
                a_lease_ends_at_one_millisecond_for_its_holder_and_for_the_next,
                programs_in_different_time_zones_agree_when_a_lease_ends,
                a_lease_lasts_as_long_across_the_change_of_summer_time,
                a_clock_that_steps_makes_nobody_hold_twice_and_no_lock_stuck;
            fencing:
                whoever_lost_the_answer_asks_again_and_has_the_lock,
                the_fencing_number_rises_by_one_however_the_lease_before_ended,
                a_key_keeps_one_row_however_often_it_changes_hands;
            names_that_look_alike:
                keys_that_look_alike_are_different_locks,
                people_whose_ids_look_alike_are_different_people;
            unnameable:
                what_cannot_be_a_key_is_refused_by_name_and_held_by_nobody,
                what_cannot_be_an_owner_is_refused_by_name_and_holds_nothing,
                a_reason_that_is_too_long_ends_no_lease,
                an_id_with_nul_finds_nothing;
            control_characters:
                control_characters_are_in_no_key_owner_or_reason,
                control_characters_narrow_no_list_down,
                who_cannot_be_an_owner_makes_no_change,
                a_save_that_has_to_do_with_a_lock_needs_a_key,
                a_lock_id_of_somebody_else_tells_nothing;
            absurd_times:
                absurd_durations_move_no_lease_beyond_its_limits,
                a_policy_is_bounded_and_its_longest_lease_ends,
                an_answer_of_later_may_be_absurd_as_well;
            together:
                of_a_thousand_heartbeats_the_bad_ones_are_told_why_and_the_others_go_on,
                one_lock_id_twice_in_a_heartbeat_is_answered_twice,
                one_bad_question_does_not_fail_those_that_are_asked_with_it,
                whoever_goes_away_does_not_disturb_those_who_share_the_round_trip;
            edited_by_hand:
                a_row_that_somebody_edited_frees_itself_or_can_be_broken_and_disturbs_nobody,
                a_generation_at_its_end_is_an_error_and_not_the_first_again,
                a_history_without_names_still_tells_that_the_lease_ended;
            sets:
                a_set_is_granted_as_a_whole_in_the_order_of_its_keys_each_once,
                a_set_with_a_lease_that_was_broken_is_not_granted_again,
                a_refused_set_names_all_who_are_in_the_way_and_takes_nothing,
                a_set_is_refused_where_a_key_is_kept_for_somebody_else_and_not_for_whom_it_is_kept,
                asking_again_with_the_same_secret_gives_the_same_set,
                a_set_that_was_released_is_free_and_its_generations_go_on,
                a_set_that_ran_out_is_taken_by_the_next_and_the_late_holder_learns_of_each,
                one_heartbeat_keeps_a_whole_set_alive_and_says_which_member_has_ended,
                checking_and_releasing_a_set_tell_which_member_had_ended,
                a_set_may_have_types_of_different_policies,
                hundreds_of_keys_are_one_set_and_more_are_refused_by_number,
                a_save_is_guarded_by_its_member_and_several_saves_by_the_set,
                a_set_is_refused_while_somebody_shares_one_of_its_keys_and_granted_after_that,
                who_is_in_the_way_of_a_set_is_shown_as_the_policy_says,
                a_set_counts_for_its_owner_and_is_refused_as_a_whole_beyond_their_limit,
                of_overlapping_sets_at_once_in_any_order_one_wins_and_no_deadlock_is_told,
                a_set_and_single_tries_at_once_share_no_key_and_no_deadlock_is_told,
                the_same_request_for_a_set_twice_at_once_is_one_lease_each;
            lists:
                the_console_lists_what_is_held_the_longest_held_first,
                the_list_is_of_a_type_an_owner_an_age_and_a_state,
                the_list_is_of_those_who_are_there_or_not_as_their_holders_tell,
                what_is_held_all_the_time_is_on_one_page_exactly_once_whatever_comes_and_goes,
                a_page_has_a_bound_and_a_place_belongs_to_its_list,
                the_history_of_a_key_tells_who_held_it_how_it_ended_and_who_came_next,
                the_history_is_read_by_key_owner_and_type_in_pages_the_latest_first,
                nobody_comes_after_an_advisory_lease_in_the_history;
            sweeping:
                what_ended_long_ago_is_swept_and_what_is_held_or_ended_lately_is_not,
                the_generation_of_a_swept_key_goes_on_above_all_that_were_before,
                swept_places_of_advisory_leases_leave_the_live_ones_and_the_generation_rises,
                the_key_of_somebody_who_shares_or_watches_it_is_not_swept_away_under_them,
                whoever_shares_a_key_while_it_is_swept_keeps_others_out,
                a_late_duplicate_is_refused_until_the_history_is_swept,
                a_lease_that_ran_out_goes_into_the_history_when_its_row_is_swept,
                a_sweep_of_what_may_still_be_asked_for_is_refused,
                more_than_a_slice_is_swept_to_the_last_row,
                whoever_takes_a_key_while_it_is_swept_gets_a_higher_generation,
                through_any_sequence_of_takes_ends_and_sweeps_the_generation_of_each_key_strictly_rises;
            repository:
                what_is_inserted_is_read_back_whole,
                a_load_beside_saves_is_never_torn,
                an_aggregate_that_is_not_there_is_none,
                a_second_insert_of_the_same_id_is_refused_and_the_transaction_goes_on,
                any_change_inside_the_boundary_raises_the_version_by_one,
                saving_without_a_change_writes_nothing,
                a_forced_increment_raises_the_version_by_one_with_and_without_a_change,
                a_save_on_a_stale_state_loses_the_race_and_explains_it,
                a_save_of_a_deleted_aggregate_loses_the_race,
                deleting_takes_the_children_along_and_checks_the_version,
                a_loaded_aggregate_cannot_change_its_id,
                ids_of_any_script_are_told_apart,
                the_last_changes_are_kept_with_who_when_and_what_for;
            kinds:
                every_kind_comes_back_as_it_was_written,
                every_kind_can_be_changed,
                none_of_every_kind_comes_back_as_none,
                the_null_of_json_is_not_none,
                what_was_not_touched_is_not_written_again,
                what_is_smaller_than_a_microsecond_is_cut_off_and_no_change,
                a_decimal_of_another_scale_is_no_change,
                json_with_its_keys_in_another_order_is_no_change,
                what_no_column_can_hold_is_refused_with_its_name,
                an_aggregate_under_a_uuid_and_its_children_by_date_are_found_again,
                a_conflict_compares_every_kind_with_the_state_that_was_kept,
                a_change_of_many_finds_and_sets_every_kind,
                a_condition_on_a_decimal_is_exact_or_refused,
                what_cannot_be_compared_or_held_is_refused_in_a_change_of_many;
            children:
                what_is_inserted_at_any_depth_is_read_back_whole,
                a_change_at_any_depth_raises_the_version_by_one,
                a_removed_child_takes_its_children_along,
                a_deleted_aggregate_takes_children_of_any_depth_along,
                a_child_moves_from_one_parent_to_another,
                an_optional_child_comes_changes_and_goes,
                a_list_keeps_its_order_when_its_head_is_removed,
                a_row_without_its_parent_is_an_error_that_names_it,
                a_conflict_names_the_field_of_a_child_of_a_child,
                fields_that_do_not_fit_together_are_not_merged,
                what_they_added_to_a_child_that_i_removed_is_for_somebody_to_decide;
            by_hand:
                an_aggregate_mapped_by_hand_is_saved_with_children_of_children;
            updates:
                the_version_that_was_seen_is_saved_upon,
                a_stale_version_is_refused_before_the_command_and_shows_all_three_states,
                a_conflict_without_revisions_says_that_the_opened_state_is_not_known,
                a_command_that_the_domain_refuses_passes_untouched_and_changes_nothing,
                an_update_of_nothing_is_not_found,
                of_many_saves_on_the_same_version_one_wins,
                no_increment_is_lost_among_many,
                of_many_optimistic_increments_those_that_are_told_so_are_counted,
                a_save_under_the_lease_keeps_it,
                a_save_that_releases_frees_the_key_with_the_commit,
                a_refused_save_keeps_the_lease,
                a_late_save_without_the_lease_changes_nothing,
                a_lease_of_another_aggregate_or_person_is_refused,
                a_lease_that_expires_during_the_save_is_held_to_its_end,
                an_update_that_respects_locks_is_refused_while_somebody_edits,
                an_update_may_go_on_after_the_person_saw_who_edits,
                a_step_of_the_application_is_committed_with_the_save_or_not_at_all,
                a_step_is_run_again_with_the_update_and_on_top_of_others_changes,
                a_dry_run_answers_as_the_save_would_and_changes_nothing;
            versions:
                a_token_of_another_order_is_refused_and_nothing_is_looked_at,
                a_token_travels_through_form_header_and_json,
                what_was_only_read_is_checked_again_at_the_end,
                what_was_only_read_may_stay_as_it_is,
                without_an_optimistic_mode_nobody_checks_what_was_only_read,
                a_forced_increment_is_made_at_the_commit_without_a_save,
                the_version_rises_once_however_often_the_transaction_saves,
                an_insert_and_a_save_in_one_transaction_make_version_one,
                another_aggregate_that_must_not_change_is_held_to_the_end,
                another_aggregate_that_has_changed_is_a_conflict,
                a_unit_of_work_of_your_own_can_expect_a_version,
                after_the_highest_version_nothing_is_saved_and_the_error_says_why;
            merging:
                changes_of_different_fields_are_merged,
                a_field_that_both_changed_is_a_conflict_unless_somebody_wins,
                mine_wins_where_both_changed_a_field,
                theirs_wins_where_both_changed_a_field_and_the_rest_is_mine,
                each_field_can_have_a_rule,
                a_command_that_sets_a_whole_form_does_not_undo_what_they_changed,
                lines_are_merged_by_their_key,
                a_line_that_they_removed_and_i_changed_is_put_back_or_stays_away,
                the_domain_has_the_last_word_on_the_merged_state,
                what_is_computed_from_a_collection_fits_it_after_any_merge,
                what_is_not_kept_any_more_cannot_be_merged;
            audit:
                the_root_tells_who_changed_it_last_when_and_what_for,
                a_conflict_names_who_changed_it_without_revisions,
                a_save_without_an_author_says_nobody;
            retries:
                a_unit_of_work_that_loses_a_race_is_run_again_on_a_fresh_load,
                the_result_tells_the_attempts_and_their_reasons,
                a_version_that_a_person_saw_is_never_retried,
                what_the_domain_refuses_is_not_tried_again,
                attempts_and_time_are_bounded,
                a_lock_timeout_is_only_retried_on_request,
                no_increment_is_lost_among_many_that_retry,
                a_commit_that_can_be_found_out_about_leaves_its_operation_id;
            batches:
                each_of_several_saves_has_its_own_result,
                sets_saved_in_opposite_orders_never_deadlock,
                bulk_updates_and_saves_of_several_at_once_are_never_told_of_a_deadlock,
                a_bulk_update_raises_the_version_of_what_it_changes_and_of_nothing_else,
                a_bulk_update_is_a_conflict_for_whoever_had_opened_it,
                a_bulk_update_keeps_revisions_and_audit_columns,
                a_bulk_update_sees_what_its_transaction_has_saved_and_raises_it_once,
                conditions_know_null_negation_and_ranges,
                a_bulk_update_of_a_field_that_is_not_there_is_refused_by_name;
            several:
                lock_all_locks_each_once_and_gives_each_once,
                transfers_in_opposite_directions_with_lock_all_never_deadlock,
                locks_in_opposite_orders_are_reported_in_debug_mode_before_they_bite,
                what_the_database_cannot_do_is_refused_by_name;
            transactions:
                dropping_a_transaction_rolls_it_back,
                after_an_error_nothing_can_be_committed,
                an_operation_that_was_dropped_half_way_cannot_be_committed,
                a_begin_that_is_cancelled_while_it_waits_leaves_nothing_behind,
                a_save_that_is_cancelled_at_any_moment_is_all_or_nothing,
                a_wait_ends_at_its_deadline,
                no_wait_does_not_wait;
            own_statements:
                an_own_commit_or_rollback_is_noticed_by_the_next_operation,
                an_own_commit_or_rollback_is_noticed_by_the_commit,
                a_rollback_after_an_own_commit_says_that_it_came_too_late,
                own_statements_that_leave_the_transaction_alone_disturb_nothing,
                whatever_is_dropped_half_way_every_connection_comes_back;
            deadlines:
                a_transaction_waits_for_a_connection_as_long_as_it_says,
                what_has_no_limit_of_its_own_waits_five_seconds,
                a_wait_for_a_lock_ends_although_a_save_guards_the_lease_that_ran_out;
        }
    };
    // Only for databases with row locks.
    ($open:path, with row locks) => {
        $crate::conformance! { $open;
            readers:
                a_heartbeat_under_way_keeps_its_share_from_whoever_wants_the_lock_alone,
                a_reader_who_comes_while_somebody_takes_the_lock_alone_is_not_overlooked,
                a_reader_waits_for_a_save_that_relied_upon_there_being_none;
            row_locks:
                readers_share_a_row_and_a_writer_waits_for_both,
                a_row_that_somebody_holds_is_skipped_and_the_transaction_goes_on,
                one_budget_counts_for_all_rows_that_are_waited_for,
                others_go_on_while_one_row_is_locked,
                a_pessimistic_load_after_a_wait_sees_the_new_root_with_its_new_children,
                an_optimistic_load_is_never_torn,
                a_save_that_had_to_wait_is_told_who_won,
                of_two_inserts_of_one_id_at_once_one_is_told_that_it_exists,
                a_refused_try_lock_does_not_wait_for_a_save_under_the_lease,
                a_takeover_and_a_break_wait_for_a_save_under_the_lease,
                taking_a_live_lease_over_waits_for_a_save_under_it,
                a_resume_waits_for_a_save_that_relied_upon_the_key_being_free,
                a_save_unless_locked_waits_for_a_save_under_a_lease_that_ended,
                a_lease_waits_for_a_save_unless_locked,
                a_takeover_goes_by_the_time_after_its_wait,
                a_break_goes_by_the_time_after_its_wait,
                opposite_orders_end_within_the_deadline_and_one_succeeds_when_it_runs_again,
                two_saves_with_children_queue_and_do_not_deadlock;
            deadlines_of_rows:
                locks_do_not_wait_for_the_connections_of_the_application,
                a_change_of_many_rows_ends_at_its_deadline,
                a_load_behind_a_queue_ends_at_its_deadline,
                a_transaction_that_stands_still_is_ended_and_its_lease_is_free,
                who_loses_a_lock_by_a_moment_is_told_to_try_again;
            deadlocks:
                a_bulk_update_that_loses_a_deadlock_is_done_again,
                several_saves_that_lose_a_deadlock_are_done_again;
            stuck:
                a_process_that_stands_still_while_it_takes_a_key_holds_up_nobody_else;
        }
    };
    ($open:path; $($room:ident: $($case:ident),+;)+) => {
        $(mod $room {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let case = async { $crate::conformance::$room::$case(&$open().await).await };
                $crate::conformance::support::within_limit(case).await;
            })+
        })+
    };
}
