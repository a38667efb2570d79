//! SeaORM inside tenure's transactions: one suite, on every enabled database.

mod entities;
// The example runs as a test, so that it stays correct.
#[path = "../../../../examples/sea_orm.rs"]
mod example;
mod row_locks;
mod transactions;
mod versions;

/// The table of contents.
macro_rules! suite {
    ($open:path) => {
        suite! { $open;
            transactions:
                an_entity_and_an_aggregate_commit_together_or_not_at_all,
                a_save_under_a_lease_frees_it_with_the_commit,
                swallowed_statement_error_stays_the_first_cause,
                an_error_of_a_repository_stops_sea_orm_as_well,
                transaction_with_a_cancelled_statement_cannot_commit,
                sea_orm_and_tenure_report_a_violated_constraint,
                several_statements_at_once_run_one_after_the_other,
                insert_returns_its_key,
                settings_end_with_the_transaction;
            versions:
                one_of_two_saves_wins_and_the_loser_sees_both_versions,
                a_stale_version_of_a_form_is_refused,
                unknown_version_is_an_error_not_a_skipped_check,
                nothing_changed_writes_nothing_and_the_version_stays,
                deleted_row_is_not_found,
                a_key_of_two_columns_and_a_plain_integer_are_as_good,
                the_hooks_of_the_active_model_run;
        }
    };
    ($open:path, with row locks) => {
        suite! { $open;
            row_locks:
                sea_orm_row_lock_blocks_until_the_deadline,
                readers_share_a_row_and_a_writer_waits_to_its_deadline,
                blocked_save_reports_both_versions,
                a_deadlock_is_retryable_in_the_language_of_tenure,
                sea_orm_skips_a_locked_row;
        }
    };
    ($open:path; $($room:ident: $($case:ident),+;)+) => {
        $(mod $room {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::both::with_sea_orm::$room::$case(&$open().await).await;
            })+
        })+
    };
}

mod sqlite {
    use sea_orm::ConnectionTrait;
    use tenure::{Database, clock::ManualClock, db::ConnectOptions};

    use crate::conformance::support::TestDb;

    const TABLES: &str = "
        create table test_counter (name text primary key, count integer not null, version integer not null);
        create table test_parcel (id integer primary key, label text not null unique, version integer not null);
        create table test_stock (warehouse text not null, product text not null, count integer not null,
            version integer not null, primary key (warehouse, product));
    ";

    pub async fn open() -> TestDb {
        let directory = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let url = format!("sqlite://{}/test.db", directory.path().display());
        let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        tx.sea_orm().unwrap().execute_unprepared(TABLES).await.unwrap();
        tx.commit().await.unwrap();
        TestDb::new(db, url, clock, directory)
    }

    suite!(crate::both::with_sea_orm::sqlite::open);

    #[test]
    fn the_example_runs() {
        super::example::main().unwrap();
    }
}

/// On PostgreSQL.
mod postgres {
    suite!(crate::postgres::open);
    suite!(crate::postgres::open, with row locks);
}

/// On MariaDB or MySQL.
mod mysql {
    suite!(crate::mysql::open);
    suite!(crate::mysql::open, with row locks);
}
