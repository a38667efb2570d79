//! SeaORM's row locks, on databases that have them.

use std::time::{Duration, Instant};

use sea_orm::sea_query::{LockBehavior, LockType};
use sea_orm::{EntityTrait, QuerySelect, Select};
use tenure::sea_orm::VersionedActiveModel;
use tenure::{Error, Version, Wait, error::DatabaseError};
use tokio::sync::Barrier;

use super::entities::{insert_parcel, labelled, parcel, stored};
use crate::conformance::row_locks::LockedRow;
use crate::conformance::support::{TestDb, random, version};

const BUDGET: Duration = Duration::from_millis(300);
/// A little less than the shortest limit that a server counts, in whole seconds.
const SERVERS: Duration = Duration::from_millis(990);

/// Locks a parcel that another transaction holds, with a budget; returns the error at the deadline.
async fn refused(t: &TestDb, select: Select<parcel::Entity>) {
    let (locked, asked) = (LockedRow::new(t).await, Instant::now());
    let mut tx = t.db.begin_within(Wait::Within(BUDGET)).await.unwrap();
    let error = locked.outlasts(t, SERVERS, select.one(&tx.sea_orm().unwrap())).await.unwrap_err();
    let took = asked.elapsed();
    assert!(took >= Duration::from_millis(290), "waited {took:?} of {BUDGET:?}");
    assert!(error.to_string().contains("for a lock that"), "{error}");
    let error = DatabaseError::from(error);
    let waited = |error: &DatabaseError| matches!(error, DatabaseError::LockTimeout { waited, .. } if *waited >= Duration::from_millis(290));
    assert!(waited(&error) && error.is_retryable(), "{error:?}");
    let committed = tx.commit().await.unwrap_err();
    assert!(matches!(&committed, Error::Database(DatabaseError::Poisoned(first)) if waited(first)), "{committed:?}");
}

pub async fn sea_orm_row_lock_blocks_until_the_deadline(t: &TestDb) {
    let (held, free) = (insert_parcel(t).await, insert_parcel(t).await);
    let mut holder = t.db.begin().await.unwrap();
    let find = |id| parcel::Entity::find_by_id(id).lock_exclusive();
    find(held.id).one(&holder.sea_orm().unwrap()).await.unwrap().unwrap();
    refused(t, find(held.id)).await;
    // A save waits as well, and other transactions proceed.
    let mut tx = t.db.begin_within(Wait::Within(BUDGET)).await.unwrap();
    let conn = tx.sea_orm().unwrap();
    assert_eq!(find(free.id).one(&conn).await.unwrap(), Some(free));
    let late = labelled(&held, "late").update_versioned(&conn).await;
    assert!(matches!(late, Err(Error::Database(DatabaseError::LockTimeout { .. }))), "{late:?}");
    // Reading needs no lock.
    assert_eq!(stored(t, held.id).await, Some(held));
    holder.rollback().await.unwrap();
}

pub async fn readers_share_a_row_and_a_writer_waits_to_its_deadline(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let (mut one, mut two) = (t.db.begin().await.unwrap(), t.db.begin().await.unwrap());
    for tx in [&mut one, &mut two] {
        let shared = parcel::Entity::find_by_id(parcel.id).lock_shared().one(&tx.sea_orm().unwrap()).await;
        assert_eq!(shared.unwrap(), Some(parcel.clone()));
    }
    refused(t, parcel::Entity::find_by_id(parcel.id).lock_exclusive()).await;
    one.rollback().await.unwrap();
    two.rollback().await.unwrap();
}

pub async fn blocked_save_reports_both_versions(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let label = random();
    let won = labelled(&parcel, &label).update_versioned(&tx.sea_orm().unwrap()).await.unwrap();
    let (db, mine) = (t.db.clone(), labelled(&parcel, &random()));
    let mut late = tokio::spawn(async move {
        let mut tx = db.begin().await.unwrap();
        mine.update_versioned(&tx.sea_orm().unwrap()).await
    });
    assert!(tokio::time::timeout(Duration::from_millis(150), &mut late).await.is_err(), "it did not wait");
    tx.commit().await.unwrap();
    let lost = late.await.unwrap();
    let Err(Error::OptimisticLockingFailure(conflict)) = lost else { panic!("{lost:?}") };
    assert_eq!((conflict.expected, conflict.actual), (Version::FIRST, Some(version(2))));
    assert_eq!(stored(t, parcel.id).await, Some(won));
}

pub async fn a_deadlock_is_retryable_in_the_language_of_tenure(t: &TestDb) {
    let (a, b) = (insert_parcel(t).await, insert_parcel(t).await);
    let barrier = Barrier::new(2);
    let lock_both = async |first: i64, then: i64| -> Result<(), Error> {
        let mut tx = t.db.begin().await?;
        let conn = tx.sea_orm()?;
        parcel::Entity::find_by_id(first).lock_exclusive().one(&conn).await?;
        barrier.wait().await;
        parcel::Entity::find_by_id(then).lock_exclusive().one(&conn).await?;
        tx.commit().await
    };
    let (forth, back) = tokio::join!(lock_both(a.id, b.id), lock_both(b.id, a.id));
    let lost: Vec<_> = [forth, back].into_iter().filter_map(Result::err).collect();
    let [Error::Database(DatabaseError::Deadlock)] = &lost[..] else { panic!("{lost:?}") };
    assert!(lost[0].is_retryable());
}

pub async fn sea_orm_skips_a_locked_row(t: &TestDb) {
    let parcel = insert_parcel(t).await;
    let mut holder = t.db.begin().await.unwrap();
    let find = || parcel::Entity::find_by_id(parcel.id);
    find().lock_exclusive().one(&holder.sea_orm().unwrap()).await.unwrap().unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let skipping = find().lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    assert_eq!(skipping.one(&tx.sea_orm().unwrap()).await.unwrap(), None);
    tx.commit().await.unwrap();
    holder.rollback().await.unwrap();
}
