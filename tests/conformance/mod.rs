//! The guarantees of every database, listed once. A leaf (`tests/on_sqlite/suite.rs`) opens its database and gets one test
//! per line; the name of a test is the guarantee.

pub mod advisory;
pub mod alike;
pub mod assembly;
pub mod audit;
pub mod bad_input;
pub mod batches;
pub mod by_hand;
pub mod calls;
#[allow(dead_code, reason = "every table of SQLite rolls back")]
pub mod checking;
pub mod children;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod claiming;
pub mod classic;
pub mod column_words;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod deadlines;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod deadlocks;
pub mod documents;
pub mod dropped;
pub mod every_kind;
pub mod find_many;
pub mod former_life;
pub mod generated_ids;
pub mod guard_limits;
pub mod jobs;
pub mod kinds;
pub mod leases;
pub mod legacy_versions;
pub mod limits;
pub mod lists;
pub mod lock_guards;
pub mod locking;
pub mod merging;
#[allow(dead_code, reason = "columns of SQLite have no width")]
pub mod misfits;
pub mod missing_columns;
pub mod names;
#[allow(dead_code, reason = "triggers of MariaDB and MySQL cannot drop a change")]
pub mod not_written;
pub mod order;
pub mod own_statements;
pub mod presence;
pub mod reading;
pub mod repository;
pub mod resume;
pub mod retries;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod row_locks;
pub mod several;
pub mod showing;
pub mod spelling;
pub mod steps;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod stuck;
pub mod support;
pub mod sweeping;
pub mod takeover;
pub mod transactions;
pub mod trees;
#[allow(dead_code, reason = "SQLite has no row locks")]
pub mod unversioned;
pub mod updates;
pub mod versions;
pub mod waiting;

pub use bad_input::{absurd_times, control_characters, edited_by_hand, names_that_look_alike, together, unnameable};
#[allow(unused_imports, reason = "every table of SQLite rolls back")]
pub use checking as checking_storage;
pub use classic::{clocks, fencing, late_beats, late_checks, taking_at_once, taking_inside_work};
#[allow(unused_imports, reason = "SQLite has no row locks")]
pub use deadlines as deadlines_of_rows;
#[allow(unused_imports, reason = "columns of SQLite have no width")]
pub use misfits as misfits_of_columns;
#[allow(unused_imports, reason = "SQLite has no row locks")]
pub use unversioned as unversioned_at_once;

/// The table of contents.
#[macro_export]
macro_rules! conformance {
    ($open:path) => {
        $crate::conformance! { $open;
            locking:
                a_free_key_is_granted_as_its_first_generation,
                refusal_names_holder_start_and_expiry,
                the_same_person_in_another_tab_is_refused_as_well,
                repeated_request_with_the_same_lock_id_is_idempotent,
                duplicate_request_gets_nothing_after_its_release,
                duplicate_request_gets_nothing_after_later_holders,
                one_of_many_callers_wins_and_generation_rises_by_one,
                one_lock_id_cannot_hold_two_keys,
                keys_are_compared_byte_by_byte,
                empty_and_gigantic_keys_are_refused;
            alike:
                single_and_batched_requests_get_the_same_results;
            presence:
                holder_distinguishes_last_heartbeat_from_last_input,
                later_heartbeat_keeps_reported_input,
                forgotten_tab_is_idle_and_silent_one_unreachable,
                forgotten_tab_loses_the_lock_at_the_idle_limit,
                input_extends_the_lease_beyond_the_idle_limit,
                returning_holder_resumes_after_the_idle_limit;
            limits:
                locks_per_owner_limit_holds_and_ended_locks_free_it,
                repeated_request_at_the_limit_returns_the_held_lease,
                concurrent_requests_of_one_owner_get_exactly_the_limit,
                grants_of_another_process_count,
                takeover_respects_the_owner_limit;
            showing:
                a_role_is_shown_in_the_place_of_a_name,
                anonymous_holder_is_visible_to_self_and_operator_only,
                author_of_a_break_stays_anonymous_to_the_loser,
                own_takeover_is_named;
            leases:
                next_owner_acquires_an_expired_lease_and_holder_learns,
                heartbeat_does_not_revive_an_expired_lease,
                heartbeats_set_the_expiry_and_do_not_pile_up,
                a_late_heartbeat_costs_nothing,
                extending_adds_to_the_expiry_but_not_beyond_the_ttl,
                extending_never_shortens,
                heartbeat_does_not_exceed_the_absolute_limit,
                released_key_is_free_at_once_and_generation_rises,
                releasing_twice_says_released,
                a_late_release_does_not_free_the_successor,
                a_late_heartbeat_does_not_touch_the_successor,
                ended_lease_does_not_affect_others_in_a_heartbeat,
                page_returning_within_the_grace_keeps_its_lease,
                page_not_returning_frees_the_key_after_the_grace,
                break_names_its_author_and_reason_to_the_holder,
                late_break_hits_no_new_holder,
                a_break_needs_a_reason,
                foreign_lock_id_is_refused,
                an_unknown_lock_id_is_unknown;
            spelling:
                other_spelling_of_an_id_is_refused_naming_the_stored_one,
                a_lease_on_another_spelling_saves_nothing,
                other_spelling_is_not_inserted_beside_the_stored_one,
                another_spelling_is_an_error_of_its_own_and_not_retried;
            former_life:
                new_aggregate_continues_the_deleted_ones_version,
                a_token_of_a_deleted_aggregate_is_stale,
                a_loaded_aggregate_is_not_saved_over_its_successor,
                insert_after_a_concurrent_delete_continues_its_version,
                missing_child_is_an_error_and_nothing_is_saved;
            resume:
                expired_lease_resumes_with_the_same_generation,
                resuming_a_lease_that_is_alive_keeps_it_alive,
                resume_after_a_change_is_a_conflict_that_names_it,
                taken_over_lease_is_not_resumed,
                a_lease_that_was_released_or_broken_is_not_resumed,
                a_lease_is_not_resumed_beyond_its_absolute_limit,
                resume_refuses_foreign_leases,
                a_used_lock_id_does_not_end_an_expired_lease,
                advisory_lease_is_resumable_until_the_next_one,
                resume_races_acquisition_and_one_wins,
                resume_during_a_save_sees_old_version_or_conflict;
            takeover:
                takeover_raises_generation_and_informs_the_old_holder,
                takeover_without_permission_moves_only_own_locks,
                late_takeover_hits_no_new_holder,
                a_takeover_needs_a_reason_and_an_exclusive_lock,
                takeover_is_idempotent_and_a_used_lock_id_gets_nothing,
                one_of_two_takeovers_wins_and_generation_rises_by_one,
                a_takeover_and_a_release_at_once_end_the_lease_once,
                release_all_releases_only_the_owners_locks,
                concurrent_release_all_and_heartbeats_never_deadlock;
            advisory:
                every_advisory_holder_sees_the_others,
                leaving_an_advisory_lease_keeps_the_others,
                breaking_an_advisory_lease_ends_that_one_only,
                concurrent_advisory_leases_have_distinct_generations,
                advisory_leases_beside_an_exclusive_one_have_distinct_generations,
                advisory_resume_and_new_lease_see_each_other;
            waiting:
                waiter_acquires_a_released_broken_or_expired_lock,
                each_of_many_waiters_acquires_the_lock_once,
                dropped_wait_leaves_nothing_behind,
                wait_times_out_and_names_the_holder,
                waits_with_one_lock_id_get_one_lease,
                advisory_locks_and_invalid_keys_are_not_waited_for,
                waiting_ends_when_the_database_is_closed,
                wait_behind_its_owners_requests_ends_at_its_deadline,
                closing_returns_while_a_transaction_is_open,
                length_of_a_wait_is_limited;
            guard_limits:
                busy_guarded_transaction_ends_at_its_limit,
                idle_guarded_transaction_ends_at_its_limit,
                transaction_after_a_guarded_one_has_no_limit;
            names:
                second_aggregate_of_a_name_is_refused,
                aggregates_with_names_of_their_own_are_separate;
            dropped:
                acquiring_calls_dropped_at_any_poll_leave_the_keys_free,
                ending_calls_dropped_at_any_poll_free_the_keys,
                calls_with_a_lease_dropped_at_any_poll_leave_it_releasable,
                saves_dropped_at_any_poll_leave_the_key_free,
                reads_dropped_at_any_poll_leave_the_key_free,
                lock_id_of_a_dropped_request_can_be_used_again,
                lock_id_of_two_dropped_requests_is_released,
                concurrent_dropped_requests_leave_their_keys_free,
                dropped_wait_does_not_affect_another_with_its_lock_id,
                lease_survives_a_dropped_repeated_request,
                repeated_request_keeps_the_lease_of_a_dropped_one;
            taking_at_once:
                one_of_many_acquires_an_expired_lease,
                one_of_two_waiters_gets_an_expired_lease,
                locks_of_neighbouring_keys_do_not_interfere;
            taking_inside_work:
                try_during_a_releasing_save_returns_at_once,
                a_refused_lock_leaves_the_transaction_usable,
                locks_work_while_requests_hold_every_connection;
            late_checks:
                a_late_check_does_not_end_the_lease_of_the_next_holder,
                expired_lease_stays_resumable_after_late_operations,
                a_heartbeat_during_a_transaction_counts_for_its_check,
                a_break_during_a_transaction_is_seen_by_its_check;
            late_beats:
                late_heartbeat_after_expiry_does_not_touch_the_next,
                late_heartbeat_after_release_does_not_touch_the_next,
                of_two_extensions_at_once_none_is_lost;
            clocks:
                wrong_client_clock_neither_steals_nor_keeps_a_lock,
                lease_after_a_wait_lasts_its_full_time,
                lease_ends_for_holder_and_next_at_the_same_millisecond,
                programs_in_different_time_zones_agree_when_a_lease_ends,
                a_lease_lasts_as_long_across_the_change_of_summer_time,
                clock_steps_cause_no_double_holder_and_no_stuck_lock;
            fencing:
                repeated_request_after_a_lost_response_gets_the_lock,
                fencing_number_rises_by_one_after_any_end,
                key_has_one_row_over_many_holders;
            names_that_look_alike:
                similar_looking_keys_are_different_locks,
                similar_looking_ids_are_different_people;
            unnameable:
                invalid_key_is_refused_by_name_and_never_held,
                invalid_owner_is_refused_by_name_and_holds_nothing,
                a_reason_that_is_too_long_ends_no_lease,
                an_id_with_nul_finds_nothing;
            control_characters:
                control_characters_are_in_no_key_owner_or_reason,
                control_characters_narrow_no_list_down,
                invalid_owner_changes_nothing,
                a_save_that_has_to_do_with_a_lock_needs_a_key,
                foreign_lock_id_reveals_nothing;
            absurd_times:
                absurd_durations_move_no_lease_beyond_its_limits,
                a_policy_is_bounded_and_its_longest_lease_ends;
            together:
                invalid_heartbeats_report_reasons_and_others_succeed,
                duplicate_lock_id_in_a_heartbeat_is_answered_twice,
                invalid_request_does_not_fail_its_batch,
                dropped_caller_does_not_affect_its_batch;
            edited_by_hand:
                hand_edited_row_expires_or_breaks_without_side_effects,
                a_generation_at_its_end_is_an_error_and_not_the_first_again,
                history_without_names_still_records_the_end;
            lists:
                console_lists_held_locks_longest_first,
                the_list_is_of_a_type_an_owner_an_age_and_a_state,
                held_lease_is_on_exactly_one_page,
                a_page_has_a_bound_and_a_place_belongs_to_its_list,
                key_history_has_holder_end_and_successor,
                history_of_a_key_comes_in_pages_latest_first,
                advisory_lease_has_no_successor_in_the_history,
                lists_of_one_tenant_compare_prefixes_exactly;
            sweeping:
                sweep_removes_old_ended_leases_only,
                swept_key_continues_above_all_earlier_generations,
                sweeping_advisory_slots_keeps_live_leases,
                live_advisory_lease_is_not_swept,
                a_late_duplicate_is_refused_until_the_history_is_swept,
                expired_lease_enters_history_when_swept,
                sweep_of_resumable_leases_is_refused,
                more_than_a_slice_is_swept_to_the_last_row,
                acquisition_during_a_sweep_gets_a_higher_generation,
                generation_strictly_rises_through_takes_ends_and_sweeps;
            repository:
                inserted_aggregate_round_trips,
                a_load_beside_saves_is_never_torn,
                an_aggregate_that_is_not_there_is_none,
                duplicate_insert_is_refused_and_transaction_continues,
                any_change_in_the_aggregate_raises_version_by_one,
                saving_without_a_change_writes_nothing,
                forced_increment_raises_version_by_one_in_any_case,
                a_save_on_a_stale_state_loses_the_race_and_explains_it,
                a_save_of_a_deleted_aggregate_loses_the_race,
                deleting_takes_the_children_along_and_checks_the_version,
                a_loaded_aggregate_cannot_change_its_id,
                ids_of_any_script_are_distinct,
                revisions_keep_author_time_and_command;
            kinds:
                every_kind_round_trips,
                every_kind_can_be_changed,
                none_of_every_kind_round_trips,
                the_null_of_json_is_not_none,
                unchanged_columns_are_not_written,
                sub_microsecond_difference_is_cut_and_no_change,
                a_decimal_of_another_scale_is_no_change,
                json_with_its_keys_in_another_order_is_no_change,
                unstorable_value_is_refused_with_its_column,
                uuid_roots_with_date_keyed_children_are_found,
                conflict_compares_every_kind_with_its_revision;
            children:
                nested_children_round_trip_after_insert,
                a_change_at_any_depth_raises_the_version_by_one,
                a_removed_child_takes_its_children_along,
                a_deleted_aggregate_takes_children_of_any_depth_along,
                a_child_moves_from_one_parent_to_another,
                optional_child_is_added_changed_and_removed,
                a_list_keeps_its_order_when_its_head_is_removed,
                a_row_without_its_parent_is_an_error_that_names_it,
                a_conflict_names_the_field_of_a_child_of_a_child,
                fields_that_do_not_fit_together_are_not_merged,
                addition_to_a_removed_child_is_a_conflict;
            by_hand:
                hand_written_mapping_saves_nested_children;
            updates:
                the_version_that_was_seen_is_saved_upon,
                stale_version_is_refused_before_the_command,
                conflict_without_revisions_lacks_the_opened_state,
                domain_refusal_passes_through_and_changes_nothing,
                an_update_of_nothing_is_not_found,
                one_of_many_saves_on_one_version_wins,
                no_increment_is_lost_among_many,
                successful_optimistic_increments_are_all_counted,
                a_save_under_the_lease_keeps_it,
                a_save_that_releases_frees_the_key_with_the_commit,
                a_refused_save_keeps_the_lease,
                a_late_save_without_the_lease_changes_nothing,
                a_lease_of_another_aggregate_or_person_is_refused,
                a_lease_that_expires_during_the_save_is_held_to_its_end,
                lease_that_expires_during_the_save_that_releases_it_is_saved,
                update_unless_locked_is_refused_while_somebody_edits,
                update_may_proceed_after_the_holder_was_shown,
                application_step_commits_with_the_save_or_not_at_all,
                application_step_reruns_with_a_retried_update,
                a_dry_run_answers_as_the_save_would_and_changes_nothing;
            versions:
                token_of_another_order_is_refused_before_any_read,
                a_token_travels_through_form_header_and_json,
                aggregates_only_read_are_checked_at_commit,
                aggregates_only_read_keep_their_version,
                mode_none_does_not_check_aggregates_only_read,
                a_forced_increment_is_made_at_the_commit_without_a_save,
                version_rises_once_for_many_saves_of_a_transaction,
                an_insert_and_a_save_in_one_transaction_make_version_one,
                another_aggregate_that_must_not_change_is_held_to_the_end,
                another_aggregate_that_has_changed_is_a_conflict,
                highest_version_refuses_saves_and_says_why;
            merging:
                changes_of_different_fields_are_merged,
                field_changed_by_both_conflicts,
                whole_form_command_does_not_undo_others_changes,
                lines_are_merged_by_their_key,
                the_domain_has_the_last_word_on_the_merged_state,
                combination_that_the_domain_refuses_is_not_saved,
                computed_fields_match_the_collection_after_a_merge,
                version_without_a_revision_cannot_be_merged;
            audit:
                audit_columns_hold_the_last_author_time_and_command,
                conflict_names_the_author_without_revisions,
                save_without_an_author_records_none,
                row_that_nobody_has_saved_since_has_no_change;
            retries:
                lost_race_retries_the_unit_on_a_fresh_load,
                the_result_tells_the_attempts_and_their_reasons,
                a_version_that_a_person_saw_is_never_retried,
                domain_refusal_is_not_retried,
                attempts_and_time_are_bounded,
                a_lock_timeout_is_not_retried,
                no_increment_is_lost_among_many_that_retry,
                a_commit_that_can_be_found_out_about_leaves_its_operation_id;
            batches:
                each_of_several_saves_has_its_own_result,
                sets_saved_in_opposite_orders_never_deadlock;
            several:
                lock_all_locks_each_once_and_gives_each_once,
                lock_all_prevents_deadlock_of_opposite_transfers,
                unsupported_operation_is_refused_by_name;
            missing_columns:
                missing_root_column_fails_every_load,
                missing_child_column_fails_every_load,
                missing_column_fails_inserts;
            checking:
                check_lists_every_difference_errors_first,
                check_finds_nothing_in_fitting_tables,
                check_warns_of_a_collation_that_merges_spellings,
                check_names_what_no_insert_can_write_and_what_is_narrow;
            column_words:
                enums_arrays_and_newtypes_round_trip,
                skipped_field_is_neither_stored_nor_a_change,
                stored_value_that_a_newtype_refuses_names_its_row,
                single_audit_columns_tell_author_and_time,
                check_accepts_enums_arrays_and_a_schema;
            generated_ids:
                insert_returns_the_generated_id,
                inserted_ticket_is_saved_in_the_same_transaction,
                given_id_is_inserted_as_it_is_and_once,
                reused_generated_id_continues_its_version,
                check_accepts_a_generated_id,
                check_refuses_a_column_that_generates_nothing;
            reading:
                get_many_returns_what_get_returns_for_each_id,
                get_many_loads_children_of_any_depth,
                get_many_refuses_another_spelling,
                get_at_returns_the_aggregate_as_it_was;
            find_many:
                find_many_returns_each_once_in_the_order_of_the_ids,
                find_many_loads_children_of_any_depth,
                find_many_refuses_another_spelling,
                found_many_are_saved_and_forced_as_each_alone;
            unversioned:
                unversioned_change_raises_no_version_and_is_recorded_nowhere,
                unversioned_change_conflicts_with_no_open_form,
                stale_save_overwrites_no_unversioned_column,
                unversioned_change_of_a_stale_state_is_saved,
                last_of_two_unversioned_changes_wins,
                unversioned_value_is_written_whole,
                both_kinds_of_changes_are_one_save_or_none,
                unversioned_fields_are_in_no_conflict_and_not_merged,
                unversioned_change_of_a_deleted_aggregate_is_not_found,
                forced_increment_counts_with_an_unversioned_change,
                unversioned_save_needs_the_lease_that_it_names,
                unversioned_save_keeps_what_the_mode_requires,
                another_aggregate_stays_unchanged_by_an_unversioned_save,
                writers_of_both_kinds_at_once_lose_nothing,
                exact_counter_needs_the_row_lock;
            trees:
                grandchildren_naming_only_their_parent_round_trip,
                their_changes_at_any_depth_are_saved,
                twig_moved_to_another_branch_takes_its_buds_along,
                deleted_tree_leaves_no_grandchildren_behind;
            legacy_versions:
                version_zero_is_saved_as_any_other,
                null_version_is_refused_naming_row_and_migration,
                migrated_null_version_is_saved_as_version_zero;
            transactions:
                dropping_a_transaction_rolls_it_back,
                transaction_with_an_error_cannot_commit,
                transaction_with_a_cancelled_operation_cannot_commit,
                cancelled_begin_leaves_nothing_behind,
                a_save_that_is_cancelled_at_any_moment_is_all_or_nothing,
                a_wait_ends_at_its_deadline,
                no_wait_does_not_wait;
            jobs:
                guard_keeps_its_lease_alive_beyond_the_ttl,
                work_under_a_guard_returns_its_result,
                broken_lease_cancels_the_work_and_names_the_reason,
                expired_lease_of_a_paused_job_is_lost,
                lease_is_lost_before_its_ttl_if_no_heartbeat_is_answered,
                dropped_guard_releases_its_lease,
                guard_waits_for_its_turn_only_if_it_says_so;
            steps:
                own_refusal_of_a_step_comes_back_and_rolls_all_back,
                several_steps_run_in_order_in_one_transaction,
                step_that_keeps_its_transaction_saves_nothing,
                own_error_in_a_step_names_the_constraint,
                panicking_step_saves_nothing,
                own_transient_error_in_a_step_runs_the_update_again;
            lock_guards:
                hand_written_transaction_is_refused_while_locked,
                hand_written_transaction_holds_the_lease_to_its_end,
                hand_written_transaction_releases_with_its_commit,
                delete_is_refused_as_a_save_is,
                lock_is_not_acquired_between_the_check_and_the_commit,
                form_saves_under_its_lease_or_by_its_version,
                form_is_refused_while_another_person_holds_the_lock;
            documents:
                parent_and_child_are_removed_together,
                rows_swap_and_shift_unique_values,
                values_that_are_unique_in_some_rows_are_swapped,
                references_need_no_order_in_the_collection,
                rows_that_refer_to_each_other_are_saved_and_deleted,
                child_moves_away_from_a_removed_parent,
                any_valid_state_becomes_any_other;
            misfits:
                nul_is_refused_with_its_column_and_transaction_continues;
            own_statements:
                an_own_commit_or_rollback_is_noticed_by_the_next_operation,
                an_own_commit_or_rollback_is_noticed_by_the_commit,
                rollback_after_an_own_commit_reports_it_is_too_late,
                own_statements_without_transaction_control_are_harmless,
                connections_return_after_dropped_operations;
            deadlines:
                a_transaction_waits_for_a_connection_as_long_as_it_says,
                operation_without_a_limit_waits_five_seconds,
                waiter_times_out_while_a_save_guards_an_expired_lease;
        }
    };
    // Only for databases with row locks.
    ($open:path, with row locks) => {
        $crate::conformance! { $open;
            row_locks:
                readers_share_a_row_and_a_writer_waits_for_both,
                one_deadline_covers_all_rows_of_a_statement,
                other_rows_are_usable_while_one_is_locked,
                pessimistic_load_after_a_wait_reads_new_root_and_children,
                an_optimistic_load_is_never_torn,
                blocked_save_names_the_winner,
                save_of_a_set_locks_its_rows_in_one_order,
                one_of_two_inserts_reports_a_duplicate_id,
                a_refused_try_lock_does_not_wait_for_a_save_under_the_lease,
                a_takeover_and_a_break_wait_for_a_save_under_the_lease,
                request_repeated_during_the_save_that_releases_it_is_refused,
                save_unless_locked_does_not_wait_for_the_save_that_refuses_it,
                taking_a_live_lease_over_waits_for_a_save_under_it,
                resume_waits_for_a_save_unless_locked,
                save_unless_locked_waits_for_a_save_under_an_ended_lease,
                a_lease_waits_for_a_save_unless_locked,
                takeover_uses_the_time_after_its_wait,
                break_uses_the_time_after_its_wait,
                opposite_lock_orders_end_by_deadlock_and_retry_succeeds,
                two_saves_with_children_queue_and_do_not_deadlock;
            claiming:
                held_rows_are_skipped_and_transaction_continues,
                rows_claimed_by_an_own_statement_load_as_aggregates_at_once,
                find_many_has_one_deadline_for_all_its_rows,
                find_many_locks_in_one_order_and_reads_after_it,
                skipping_refuses_another_spelling;
            unversioned_at_once:
                unversioned_update_does_not_lose_a_race;
            checking_storage:
                tables_that_cannot_keep_a_promise_are_errors_of_check,
                first_save_refuses_tables_that_cannot_keep_a_promise;
            misfits_of_columns:
                value_that_does_not_fit_names_table_and_limit,
                text_larger_than_a_message_of_the_server_is_refused,
                own_statement_that_does_not_fit_is_no_failure;
            deadlines_of_rows:
                locks_do_not_wait_for_the_connections_of_the_application,
                a_load_behind_a_queue_ends_at_its_deadline,
                idle_transaction_is_ended_and_its_lease_freed,
                narrowly_lost_lock_is_retryable;
            deadlocks:
                own_statement_that_loses_a_deadlock_is_run_again,
                step_that_loses_a_deadlock_is_run_again,
                saves_that_judge_the_key_and_then_hold_it_queue,
                form_sent_twice_during_its_grant_does_not_deadlock;
            stuck:
                stopped_process_blocks_only_its_own_key;
        }
    };
    // Only for databases whose triggers can drop a change without an error.
    ($open:path, with dropping triggers) => {
        $crate::conformance! { $open;
            not_written:
                dropped_save_is_no_conflict_and_is_not_repeated,
                dropped_delete_is_refused_and_children_stay,
                dropped_insert_is_not_said_to_exist,
                dropped_change_of_a_child_is_no_foreign_change;
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
