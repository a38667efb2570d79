//! Versions: as tokens, at the end of the transaction, and of other aggregates.

use tenure::{Error, LockMode, Version, VersionToken, error::UpdateError};

use super::order::{Counter, Order};
use super::support::{TestDb, kim, lee, random, version};

fn add(counter: &mut Counter) -> Result<(), std::convert::Infallible> {
    counter.count += 1;
    Ok(())
}

pub async fn token_of_another_order_is_refused_before_any_read(t: &TestDb) {
    let (no, other) = (t.order().await, t.order().await);
    let token = t.orders.get(&other).await.unwrap().unwrap().token();
    let refused = t.orders.update(&no).expecting(token).run(Order::ship).await;
    let Err(UpdateError::Failed(Error::VersionTokenMismatch { id, .. })) = refused else { panic!("{refused:?}") };
    assert_eq!(id, no);
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
    let token = VersionToken::<Order>::new(&no, Version::FIRST);
    assert_eq!(t.orders.update(&no).expecting(token).run(Order::ship).await.unwrap().version(), version(2));
}

pub async fn a_token_travels_through_form_header_and_json(t: &TestDb) {
    let no = "주문 \"17\"/ä".to_owned() + &random();
    let mut tx = t.db.begin().await.unwrap();
    let token = t.orders.insert(&mut tx, Order::new(&no)).await.unwrap().token();
    tx.commit().await.unwrap();
    assert_eq!(token.to_string().parse(), Ok(token));
    assert_eq!(VersionToken::from_etag(&token.etag()), Ok(token));
    let json = serde_json::to_string(&token).unwrap();
    assert_eq!(serde_json::from_str::<VersionToken<Order>>(&json).unwrap(), token);
    assert!(token.etag().bytes().all(|byte| byte.is_ascii_graphic()));
    t.orders.update(&no).expecting(token).run(Order::ship).await.unwrap();
    let late = t.orders.update(&no).expecting(token).run(Order::ship).await;
    assert!(matches!(late, Err(UpdateError::Failed(Error::VersionConflict(_)))), "{late:?}");
}

/// Loads both, another transaction changes the first (if possible), changes the second, commits.
async fn read_one_change_the_other(t: &TestDb, mode: LockMode) -> (Result<(), Error>, i64) {
    let (read, changed) = (t.counter(7).await, t.counter(0).await);
    let stale = {
        // The earlier state is equivalent to a transaction that waited: SQLite has no concurrent writers.
        let mut tx = t.db.begin().await.unwrap();
        t.counters.find(&mut tx, &read, LockMode::None).await.unwrap().unwrap()
    };
    let mut tx = t.db.begin().await.unwrap();
    let relied_upon = t.counters.find(&mut tx, &read, mode).await.unwrap().unwrap();
    assert_eq!(relied_upon.version(), stale.version());
    let mut other = t.counters.find(&mut tx, &changed, LockMode::None).await.unwrap().unwrap();
    other.count = relied_upon.count;
    t.counters.save(&mut tx, &mut other).await.unwrap();
    // By an own statement, because on SQLite no other transaction can.
    raise_behind_the_back(t, &mut tx, &read).await;
    let committed = tx.commit().await;
    (committed, t.counters.get(&changed).await.unwrap().unwrap().count)
}

async fn raise_behind_the_back(t: &TestDb, tx: &mut tenure::Transaction, name: &str) {
    match t.db.capabilities().granularity {
        tenure::db::Granularity::Row => drop(t.counters.update(&name.to_owned()).by(&lee()).run(add).await.unwrap()),
        _ => {
            let raise = sqlx::query("update test_counter set count = count + 1, version = version + 1 where name = ?");
            raise.bind(name).execute(tx.sqlite().unwrap()).await.unwrap();
        }
    }
}

pub async fn aggregates_only_read_are_checked_at_commit(t: &TestDb) {
    let (committed, count) = read_one_change_the_other(t, LockMode::Optimistic).await;
    let Err(Error::OptimisticLockingFailure(conflict)) = committed else { panic!("{committed:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    let [field] = &conflict.fields[..] else { panic!("{conflict:?}") };
    assert_eq!(field.path, "count");
    assert_eq!(count, 0);
}

pub async fn mode_none_does_not_check_aggregates_only_read(t: &TestDb) {
    let (committed, count) = read_one_change_the_other(t, LockMode::None).await;
    committed.unwrap();
    assert_eq!(count, 7);
}

pub async fn aggregates_only_read_keep_their_version(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    t.find(&mut tx, &no).await;
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
}

pub async fn a_forced_increment_is_made_at_the_commit_without_a_save(t: &TestDb) {
    let no = t.order().await;
    for (mode, raised_to) in [(LockMode::OptimisticForceIncrement, 2), (LockMode::PessimisticForceIncrement, 3)] {
        let mut tx = t.db.begin().await.unwrap();
        tx.by(&kim()).command("count");
        t.orders.find(&mut tx, &no, mode).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        assert_eq!(t.stored(&no).await.1, version(raised_to));
    }
    let changes = t.orders.changes(&no, 1).await.unwrap();
    assert_eq!((changes[0].version, changes[0].command.as_deref()), (version(3), Some("count")));
}

pub async fn version_rises_once_for_many_saves_of_a_transaction(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.orders.find(&mut tx, &no, LockMode::OptimisticForceIncrement).await.unwrap().unwrap();
    order.send_to("Sejong-daero 9").unwrap();
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), version(2));
    order.lines[0].quantity = 9;
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), version(2));
    let mut again = t.orders.find(&mut tx, &no, LockMode::OptimisticForceIncrement).await.unwrap().unwrap();
    again.ship().unwrap();
    assert_eq!(t.orders.save(&mut tx, &mut again).await.unwrap(), version(2));
    tx.commit().await.unwrap();
    let (stored, at) = t.stored(&no).await;
    assert_eq!((&stored, at), (&*again, version(2)));
    assert_eq!(stored.lines[0].quantity, 9);
    // The stored revision is the last state of the transaction, not the first.
    t.orders.update(&no).locking(LockMode::OptimisticForceIncrement).run(|_| Ok::<_, ()>(())).await.unwrap();
    let refused = t.orders.update(&no).expecting(version(2)).run(|_| Ok::<_, ()>(())).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    assert!(conflict.opened_known && conflict.fields.is_empty(), "{conflict:?}");
}

pub async fn an_insert_and_a_save_in_one_transaction_make_version_one(t: &TestDb) {
    let no = random();
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.orders.insert(&mut tx, Order::new(&no)).await.unwrap();
    order.ship().unwrap();
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), Version::FIRST);
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await, (Order::clone(&order), Version::FIRST));
}

pub async fn another_aggregate_that_must_not_change_is_held_to_the_end(t: &TestDb) {
    let (no, limit) = (t.order().await, t.counter(5).await);
    let seen = t.counters.get(&limit).await.unwrap().unwrap().token();
    let mut tx = t.db.begin().await.unwrap();
    t.counters.assert_unchanged(&mut tx, &limit, seen).await.unwrap();
    let blocked = t.counters.update(&limit).no_wait().run(add).await;
    assert!(
        matches!(&blocked, Err(UpdateError::Failed(Error::Database(tenure::error::DatabaseError::LockTimeout { .. })))),
        "{blocked:?}"
    );
    let mut order = t.find(&mut tx, &no).await;
    order.ship().unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(t.counters.get(&limit).await.unwrap().unwrap().version(), Version::FIRST);
    t.counters.update(&limit).run(add).await.unwrap();
}

pub async fn another_aggregate_that_has_changed_is_a_conflict(t: &TestDb) {
    let (no, limit) = (t.order().await, t.counter(5).await);
    t.counters.update(&limit).run(add).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let refused = t.counters.assert_unchanged(&mut tx, &limit, Version::FIRST).await.unwrap_err();
    let Error::VersionConflict(conflict) = &refused else { panic!("{refused:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    assert!(!refused.is_retryable());
    let missing = t.counters.assert_unchanged(&mut tx, &random(), Version::FIRST).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    let foreign = VersionToken::<Counter>::new(&random(), version(2));
    let foreign = t.counters.assert_unchanged(&mut tx, &limit, foreign).await;
    assert!(matches!(foreign, Err(Error::VersionTokenMismatch { .. })), "{foreign:?}");
    // No statement failed, so the transaction continues.
    let mut order = t.find(&mut tx, &no).await;
    order.ship().unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn highest_version_refuses_saves_and_says_why(t: &TestDb) {
    let name = t.counter(5).await;
    t.by_hand(format!("update test_counter set version = {} where name = '{name}'", i64::MAX)).await.unwrap();
    let refused = t.counters.update(&name).run(add).await.unwrap_err();
    assert!(refused.to_string().contains("highest version"), "{refused}");
    let stored = t.counters.get(&name).await.unwrap().unwrap();
    assert_eq!((stored.count, stored.version().number()), (5, i64::MAX));
}
