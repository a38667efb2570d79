//! What every database must do, listed once. A leaf (`tests/sqlite.rs`) names how to open its database and gets one test
//! per line; a test's name is the promise.

pub mod advisory;
pub mod assembly;
pub mod audit;
pub mod batches;
pub mod by_hand;
pub mod children;
pub mod every_kind;
pub mod handing_over;
pub mod kinds;
pub mod leases;
pub mod locking;
pub mod merging;
pub mod order;
pub mod repository;
pub mod requests;
pub mod resume;
pub mod retries;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod row_locks;
pub mod several;
pub mod support;
pub mod takeover;
pub mod transactions;
pub mod updates;
pub mod versions;

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
                an_unknown_lock_id_is_unknown,
                the_console_lists_what_is_held;
            resume:
                a_lease_that_ran_out_goes_on_with_the_same_generation_if_nobody_came,
                resuming_a_lease_that_is_alive_keeps_it_alive,
                a_lease_is_not_resumed_over_a_change_and_the_conflict_names_it,
                a_lease_that_somebody_took_over_from_is_not_resumed,
                a_lease_that_was_released_or_broken_is_not_resumed,
                a_lease_is_not_resumed_beyond_its_absolute_limit,
                a_lease_of_somebody_else_or_of_another_aggregate_is_not_resumed,
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
                an_update_may_go_on_after_the_person_saw_who_edits;
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
                a_unit_of_work_of_your_own_can_expect_a_version;
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
        }
    };
    // What only databases with row locks can be asked.
    ($open:path, with row locks) => {
        $crate::conformance! { $open;
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
                opposite_orders_end_within_the_deadline_and_one_succeeds_when_it_runs_again,
                two_saves_with_children_queue_and_do_not_deadlock;
        }
    };
    ($open:path; $($room:ident: $($case:ident),+;)+) => {
        $(mod $room {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$room::$case(&$open().await).await;
            })+
        })+
    };
}
