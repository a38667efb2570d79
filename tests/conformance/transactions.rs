//! Transactions report their outcome truthfully, and leave nothing behind.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure::{
    Error, LockMode, Repository, Version,
    error::{DatabaseError, UpdateError},
};

use super::order::{Line, Order};
use super::support::{TestDb, random};

/// Polls a future, waiting to be woken between the polls, and drops it when it is pending for the `waits + 1`st time.
pub async fn cancelled_after<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = waits;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

pub async fn dropping_a_transaction_rolls_it_back(t: &TestDb) {
    let no = random();
    let mut tx = t.db.begin().await.unwrap();
    t.orders.insert(&mut tx, Order::new(&no)).await.unwrap();
    drop(tx);
    // The next transaction waits until the rollback is done.
    let mut tx = t.db.begin().await.unwrap();
    assert!(t.orders.find(&mut tx, &no, LockMode::None).await.unwrap().is_none());
}

pub async fn transaction_with_an_error_cannot_commit(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.ship_to.line1 = "half-written".into();
    // Two lines with one key: the root is written before the database refuses the line.
    order.lines.push(Line { line_no: 7, product: "one".into(), quantity: 1 });
    order.lines.push(Line { line_no: 7, product: "two".into(), quantity: 1 });
    let swallowed = t.orders.save(&mut tx, &mut order).await;
    assert!(matches!(swallowed, Err(Error::Database(DatabaseError::Constraint(_)))), "{swallowed:?}");
    let next = t.orders.find(&mut tx, &no, LockMode::None).await;
    assert!(matches!(next, Err(Error::Database(DatabaseError::Poisoned(_)))));
    let committed = tx.commit().await;
    assert!(
        matches!(&committed, Err(Error::Database(DatabaseError::Poisoned(first))) if matches!(**first, DatabaseError::Constraint(_)))
    );
    assert_eq!(t.stored(&no).await, (Order::new(&no), Version::FIRST));
}

pub async fn transaction_with_a_cancelled_operation_cannot_commit(t: &TestDb) {
    let no = t.order().await;
    // A fast database may have answered before the drop; then nothing was cancelled.
    for _ in 0..1_000 {
        let mut tx = t.db.begin().await.unwrap();
        let mut order = t.find(&mut tx, &no).await;
        order.lines.clear();
        if cancelled_after(0, t.orders.save(&mut tx, &mut order)).await.is_some() {
            continue;
        }
        assert!(matches!(tx.commit().await, Err(Error::Database(DatabaseError::Poisoned(_)))));
        return assert_eq!(t.stored(&no).await, (Order::new(&no), Version::FIRST));
    }
    panic!("of 1,000 saves none could be dropped half-way");
}

pub async fn cancelled_begin_leaves_nothing_behind(t: &TestDb) {
    let no = t.order().await;
    // In this process's queue, and in the database, where another process holds the lock.
    let elsewhere = t.another_process().await;
    for holder in [&t.db, &elsewhere] {
        let mut held = holder.begin().await.unwrap();
        let locked = t.orders.find(&mut held, &no, LockMode::PessimisticWrite).await.unwrap();
        for waits in 0..3 {
            let update = t.orders.update(&no).locking(LockMode::PessimisticWrite).within(Duration::from_secs(2));
            let cancelled = tokio::time::timeout(
                Duration::from_millis(50),
                cancelled_after(waits, update.run(|order| order.send_to("never"))),
            );
            assert!(!matches!(cancelled.await, Ok(Some(_))), "it did not wait");
        }
        drop(locked);
        held.rollback().await.unwrap();
        let saved = t.orders.update(&no).run(|order| order.send_to(&random())).await.unwrap();
        assert_eq!(t.stored(&no).await.1, saved.version());
    }
    elsewhere.close().await;
}

pub async fn a_save_that_is_cancelled_at_any_moment_is_all_or_nothing(t: &TestDb) {
    let no = t.order().await;
    for round in 0..4 {
        // At each poll, until one is too late: connecting takes more polls on a busy machine.
        for waits in 0.. {
            let (before, at) = t.stored(&no).await;
            let address = format!("address {round}.{waits}");
            let elsewhere = t.another_process().await;
            let orders = Repository::<Order>::new(&elsewhere);
            let update = orders.update(&no).run(|order| {
                order.lines[0].quantity += 1;
                order.send_to(&address)
            });
            let told = cancelled_after(waits, update).await;
            // Closing waits for a rollback or a commit in flight.
            elsewhere.close().await;
            let (after, now) = t.stored(&no).await;
            match (after.ship_to.line1 == address, after.lines[0].quantity != before.lines[0].quantity) {
                (true, true) if now.number() == at.number() + 1 => {}
                (false, false) if now == at && told.is_none() => {}
                halves => panic!("half of it was saved: {halves:?}, version {at} -> {now}, told {told:?}"),
            }
            if told.is_some() {
                assert!(waits > 0, "nothing was cancelled half-way");
                break;
            }
        }
    }
}

pub async fn a_wait_ends_at_its_deadline(t: &TestDb) {
    let no = t.order().await;
    let mut holder = t.db.begin().await.unwrap();
    t.orders.find(&mut holder, &no, LockMode::PessimisticWrite).await.unwrap();
    let asked = Instant::now();
    let update = t.orders.update(&no).locking(LockMode::PessimisticWrite).within(Duration::from_millis(150));
    let refused = update.run(Order::ship).await;
    let took = asked.elapsed();
    let Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { waited, .. }))) = refused else {
        panic!("{refused:?}")
    };
    assert!(waited >= Duration::from_millis(150) && waited <= took);
    // Generous, because the machine may be busy; a missed deadline takes seconds.
    assert!(took < Duration::from_secs(4), "waited {took:?} for a deadline of 150 ms");
    holder.rollback().await.unwrap();
    t.orders.update(&no).run(Order::ship).await.unwrap();
}

pub async fn no_wait_does_not_wait(t: &TestDb) {
    let no = t.order().await;
    let mut holder = t.db.begin().await.unwrap();
    t.orders.find(&mut holder, &no, LockMode::PessimisticWrite).await.unwrap();
    let asked = Instant::now();
    let refused = t.orders.update(&no).locking(LockMode::PessimisticWrite).no_wait().run(Order::ship).await;
    let timeout = matches!(refused, Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { .. }))));
    // Generous, because the machine may be busy; the default wait is five seconds.
    assert!(timeout && asked.elapsed() < Duration::from_secs(4), "{refused:?} after {:?}", asked.elapsed());
    holder.rollback().await.unwrap();
}
