//! Commits whose answers are lost, on MariaDB.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod lost_answers;

macro_rules! cases {
    ($($case:ident),+) => {$(
        #[tokio::test]
        async fn $case() {
            lost_answers::$case(testkit::Kind::MariaDb).await;
        }
    )+};
}

cases!(
    lost_commit_without_an_operation_id_is_unknown,
    a_commit_that_arrived_is_said_to_have_succeeded,
    commit_that_never_arrived_is_reported_as_failed,
    retried_deposit_happens_once_over_any_lost_response,
    save_ends_at_its_limit_on_a_silent_network,
    load_and_lock_end_in_time_on_a_silent_network,
    commit_without_a_response_in_time_is_unknown,
    lost_lock_response_is_unknown_and_can_be_repeated
);
