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
    without_an_operation_id_nobody_knows,
    a_commit_that_arrived_is_said_to_have_succeeded,
    a_commit_that_did_not_arrive_is_said_to_have_failed,
    a_deposit_that_is_retried_is_made_once_whatever_gets_lost,
    a_save_ends_at_its_limit_when_the_network_is_silent,
    a_load_and_a_lock_end_within_their_time_when_the_network_is_silent,
    a_commit_without_an_answer_in_time_is_unknown,
    a_lock_whose_answer_is_lost_is_unknown_and_can_be_asked_for_again
);
