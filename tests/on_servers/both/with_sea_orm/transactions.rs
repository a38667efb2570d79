//! SeaORM's statements are part of the transaction: its commit, its leases, its poison.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use sea_orm::{ActiveModelTrait, ConnectionTrait, EntityTrait, QuerySelect, Set, SqlErr, Statement};
use tenure::sea_orm::VersionedActiveModel;
use tenure::{
    Aggregate, Error, LockKey, LockMode, Repository, Transaction, Version,
    error::{DatabaseError, LeaseError},
};

use super::entities::{insert_parcel, labelled, parcel, stored};
use crate::conformance::support::{TestDb, kim, lee, random, version};

/// Increments a counter, with an aggregate of tenure.
async fn count(t: &TestDb, tx: &mut Transaction, name: &str) {
    let mut counter = t.counters.find(tx, &name.to_owned(), LockMode::PessimisticWrite).await.unwrap().unwrap();
    counter.count += 1;
    t.counters.save(tx, &mut counter).await.unwrap();
}

async fn counted(t: &TestDb, name: &str) -> i64 {
    t.counters.get(&name.to_owned()).await.unwrap().unwrap().count
}

pub async fn an_entity_and_an_aggregate_commit_together_or_not_at_all(t: &TestDb) {
    let (name, parcel, label) = (t.counter(0).await, insert_parcel(t).await, random());
    for commit in [false, true] {
        let mut tx = t.db.begin().await.unwrap();
        count(t, &mut tx, &name).await;
        labelled(&parcel, &label).update_versioned(&tx.sea_orm().unwrap()).await.unwrap();
        count(t, &mut tx, &name).await;
        match commit {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await.unwrap(),
        }
        let (counts, expected) = if commit { (2, (&label, 2)) } else { (0, (&parcel.label, 1)) };
        let now = stored(t, parcel.id).await.unwrap();
        assert_eq!((counted(t, &name).await, (&now.label, now.version.number())), (counts, expected));
    }
}

pub async fn a_save_under_a_lease_frees_it_with_the_commit(t: &TestDb) {
    let (parcel, label) = (insert_parcel(t).await, random());
    let key = LockKey::new("Parcel", parcel.id.to_string());
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    for commit in [false, true] {
        let mut tx = t.db.begin().await.unwrap();
        t.locks.guard(&mut tx, lease.id()).await.unwrap();
        labelled(&parcel, &label).update_versioned(&tx.sea_orm().unwrap()).await.unwrap();
        t.locks.release_within(&mut tx, lease.id()).await.unwrap();
        match commit {
            true => tx.commit().await.unwrap(),
            false => drop(tx),
        }
        assert_eq!(stored(t, parcel.id).await.unwrap().label == label, commit);
        assert_eq!(t.locks.check_lock(lease.id()).await.is_err(), commit);
    }
    // Lee holds it now, so Kim's late save changes nothing.
    t.locks.try_lock(&key, &lee()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    assert!(matches!(t.locks.guard(&mut tx, lease.id()).await, Err(LeaseError::NoLock(_))));
}

pub async fn swallowed_statement_error_stays_the_first_cause(t: &TestDb) {
    let (name, parcel, other) = (t.counter(0).await, insert_parcel(t).await, insert_parcel(t).await);
    let mut tx = t.db.begin().await.unwrap();
    count(t, &mut tx, &name).await;
    let conn = tx.sea_orm().unwrap();
    let swallowed = labelled(&parcel, &other.label).update(&conn).await;
    assert!(swallowed.is_err());
    // The same connection, through SeaORM and directly.
    let next = parcel::Entity::find_by_id(parcel.id).one(&conn).await.unwrap_err();
    let first = |error: &DatabaseError| matches!(error, DatabaseError::Poisoned(first) if matches!(**first, DatabaseError::Constraint(_)));
    assert!(
        next.to_string().contains("the transaction had failed before: a constraint of the table refused"),
        "{next}"
    );
    assert!(first(&next.into()));
    assert!(first(&conn.execute_unprepared("select 1").await.unwrap_err().into()));
    assert!(first(&tx.sea_orm().unwrap_err()));
    let ours = t.counters.find(&mut tx, &name, LockMode::None).await;
    assert!(matches!(ours, Err(Error::Database(error)) if first(&error)));
    let committed = tx.commit().await;
    assert!(matches!(&committed, Err(Error::Database(error)) if first(error)), "{committed:?}");
    assert_eq!(counted(t, &name).await, 0);
}

/// An aggregate without a table.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_nowhere")]
struct Ghost {
    #[aggregate(id)]
    name: String,
}

pub async fn an_error_of_a_repository_stops_sea_orm_as_well(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut tx = t.db.begin().await.unwrap();
    labelled(&parcel, "never").update_versioned(&tx.sea_orm().unwrap()).await.unwrap();
    let ghosts = Repository::<Ghost>::new(&t.db);
    assert!(ghosts.find(&mut tx, &random(), LockMode::None).await.is_err());
    assert!(matches!(tx.sea_orm(), Err(DatabaseError::Poisoned(_))));
    assert!(matches!(tx.commit().await, Err(Error::Database(DatabaseError::Poisoned(_)))));
    assert_eq!(stored(t, parcel.id).await, Some(parcel));
}

/// Polls a future once, and drops it if that was not enough.
async fn dropped_half_way<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

pub async fn transaction_with_a_cancelled_statement_cannot_commit(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    // A fast database may have answered before the drop; then nothing was cancelled.
    for _ in 0..1_000 {
        let mut tx = t.db.begin().await.unwrap();
        let conn = tx.sea_orm().unwrap();
        if dropped_half_way(labelled(&parcel, "half-way").update_versioned(&conn)).await.is_some() {
            continue;
        }
        let next = parcel::Entity::find_by_id(parcel.id).one(&conn).await.unwrap_err();
        assert!(matches!(DatabaseError::from(next), DatabaseError::Poisoned(_)));
        assert!(matches!(tx.commit().await, Err(Error::Database(DatabaseError::Poisoned(_)))));
        return assert_eq!(stored(t, parcel.id).await, Some(parcel));
    }
    panic!("of 1,000 saves none could be dropped half-way");
}

pub async fn sea_orm_and_tenure_report_a_violated_constraint(t: &TestDb) {
    let (one, two) = (insert_parcel(t).await, insert_parcel(t).await);
    let mut tx = t.db.begin().await.unwrap();
    let refused = labelled(&one, &two.label).update(&tx.sea_orm().unwrap()).await.unwrap_err();
    assert!(matches!(refused.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))), "{refused:?}");
    assert!(matches!(DatabaseError::from(refused), DatabaseError::Constraint(_)));
    tx.rollback().await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let refused = labelled(&one, &two.label).update_versioned(&tx.sea_orm().unwrap()).await;
    assert!(matches!(refused, Err(Error::Database(DatabaseError::Constraint(_)))), "{refused:?}");
}

pub async fn several_statements_at_once_run_one_after_the_other(t: &TestDb) {
    let (one, two) = (insert_parcel(t).await, insert_parcel(t).await);
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    let (a, b) = tokio::join!(
        labelled(&one, &random()).update_versioned(&conn),
        labelled(&two, &random()).update_versioned(&conn)
    );
    assert_eq!((a.unwrap().version, b.unwrap().version), (version(2), version(2)));
    tx.commit().await.unwrap();
}

pub async fn insert_returns_its_key(t: &TestDb) {
    let (one, two) = (insert_parcel(t).await, insert_parcel(t).await);
    assert!(one.id > 0 && two.id > one.id);
    assert_eq!(stored(t, two.id).await, Some(two.clone()));
    let mut tx = t.db.begin().await.unwrap();
    let conn = tx.sea_orm().unwrap();
    // A text of several rows, a null value, and a locked row.
    let labels = parcel::Entity::find().lock_exclusive().all(&conn).await.unwrap();
    assert!(labels.contains(&one) && labels.contains(&two));
    let new = parcel::ActiveModel {
        label: Set("'; drop table test_parcel; --💐".to_owned() + &random()),
        ..labelled(&one, "")
    };
    let new = parcel::ActiveModel { id: sea_orm::NotSet, version: Set(Version::FIRST), ..new };
    let label = new.insert(&conn).await.unwrap().label;
    tx.commit().await.unwrap();
    assert!(label.starts_with("'; drop table test_parcel; --💐"));
}

/// Also if the statement looks like a read.
pub async fn settings_end_with_the_transaction(t: &TestDb) {
    let db = t.another_process_with(1).await;
    let (own, question) = match t.url().split(':').next() {
        Some("postgres") => {
            ("select set_config('search_path', 'pg_catalog', false)", "select current_setting('search_path')")
        }
        Some("mysql") => ("select @mine := 'set'", "select cast(coalesce(@mine, 'none') as char)"),
        _ => (
            "pragma recursive_triggers = on",
            "select 'recursive ' || recursive_triggers from pragma_recursive_triggers",
        ),
    };
    let mut before = None;
    for own in [None, Some(own), None] {
        let mut tx = db.begin().await.unwrap();
        let connection = tx.sea_orm().unwrap();
        let dialect = connection.get_database_backend();
        match own {
            Some(own) => drop(connection.query_all_raw(Statement::from_string(dialect, own)).await.unwrap()),
            None => {
                let row = connection.query_one_raw(Statement::from_string(dialect, question)).await.unwrap().unwrap();
                let answer: String = row.try_get_by_index(0).unwrap();
                assert_eq!(*before.get_or_insert(answer.clone()), answer);
            }
        }
        tx.commit().await.unwrap();
    }
}
