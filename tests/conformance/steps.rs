//! Code of the application's own in the saving transaction: steps of an update.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tenure::{
    Error, LockMode, Version,
    error::{ConstraintKind, DatabaseError, UpdateError},
    unit_of_work::{Lent, Retry},
};

use super::order::{AlreadyShipped, Counter, Order, State};
use super::support::{TestDb, random, version};

#[derive(Debug, PartialEq)]
enum Refusal {
    AlreadyShipped,
    OutOfStock,
}

fn ship(order: &mut Order) -> Result<(), Refusal> {
    order.ship().map_err(|AlreadyShipped| Refusal::AlreadyShipped)
}

pub async fn own_refusal_of_a_step_comes_back_and_rolls_all_back(t: &TestDb) {
    let (no, stock) = (t.order().await, t.counter(1).await);
    let (no, stock) = (&no, &stock);
    let shipping = |quantity: i64| {
        t.orders
            .update(no)
            .also(move |mut tx, _| async move {
                let mut left = t.counters.find(&mut tx, stock, LockMode::PessimisticWrite).await?.unwrap();
                left.count -= quantity;
                t.counters.save(&mut tx, &mut left).await?;
                match left.count {
                    ..0 => Err(UpdateError::Refused(Refusal::OutOfStock)),
                    _ => Ok(()),
                }
            })
            .retrying(Retry::transient(3))
            .run(ship)
    };
    let refused = shipping(2).await;
    assert!(matches!(refused, Err(UpdateError::Refused(Refusal::OutOfStock))), "{refused:?}");
    assert_eq!(t.counters.get(stock).await.unwrap().unwrap().version(), Version::FIRST);
    assert_eq!(t.stored(no).await.1, Version::FIRST);
    assert_eq!(shipping(1).await.unwrap().attempts(), 1);
    assert_eq!(t.counters.get(stock).await.unwrap().unwrap().count, 0);
    assert!(matches!(shipping(0).await, Err(UpdateError::Refused(Refusal::AlreadyShipped))));
}

pub async fn several_steps_run_in_order_in_one_transaction(t: &TestDb) {
    let (no, counter) = (t.order().await, &t.counter(1).await);
    let set = |from: i64, to: i64| {
        move |mut tx: Lent<tenure::Transaction>, order: Lent<tenure::Loaded<Order>>| async move {
            assert_eq!((order.version(), order.state), (version(2), State::Shipped));
            let mut counter = t.counters.find(&mut tx, counter, LockMode::PessimisticWrite).await?.unwrap();
            assert_eq!(counter.count, from);
            counter.count = to;
            t.counters.save(&mut tx, &mut counter).await?;
            Ok(())
        }
    };
    t.orders.update(&no).also(set(1, 5)).also(set(5, 7)).run(Order::ship).await.unwrap();
    let counter = t.counters.get(counter).await.unwrap().unwrap();
    assert_eq!((counter.count, counter.version()), (7, version(2)));
}

pub async fn step_that_keeps_its_transaction_saves_nothing(t: &TestDb) {
    let no = t.order().await;
    let kept = &Mutex::new(None);
    let update = t.orders.update(&no).also(move |tx, _| async move {
        *kept.lock().unwrap() = Some(tx);
        Ok(())
    });
    let failed = update.run(Order::ship).await;
    let Err(UpdateError::Failed(Error::Database(DatabaseError::TransactionEnded(what)))) = failed else {
        panic!("{failed:?}")
    };
    assert!(what.contains("nothing was saved"), "{what}");
    drop(kept.lock().unwrap().take());
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
}

pub async fn own_error_in_a_step_names_the_constraint(t: &TestDb) {
    let (no, taken) = (t.order().await, &t.counter(1).await);
    let kind_of = |statement: String| {
        let update = t.orders.update(&no).also(move |mut tx, _| {
            let statement = statement.clone();
            async move { Ok(t.by_hand_in(&mut tx, statement).await.map(drop)?) }
        });
        async {
            match update.run(Order::ship).await {
                Err(UpdateError::Failed(Error::Database(DatabaseError::Constraint(refused)))) => {
                    (refused.kind, refused.name.unwrap_or_default())
                }
                other => panic!("{other:?}"),
            }
        }
    };
    let (kind, name) =
        kind_of(format!("insert into test_counter (name, count, version) values ('{taken}', 1, 1)")).await;
    assert_eq!(kind, ConstraintKind::Unique);
    let names = ["test_counter_pkey", "PRIMARY", "test_counter.name"];
    assert!(names.contains(&&*name), "{name}");
    let (kind, name) =
        kind_of(format!("insert into test_counter (name, count, version) values ('{}', null, 1)", random())).await;
    assert_eq!(kind, ConstraintKind::NotNull);
    assert!(["count", "test_counter.count"].contains(&&*name), "{name}");
    let line = "insert into test_order_line (order_no, line_no, product, quantity) values ('none', 1, 'tea', 1)";
    let (kind, name) = kind_of(line.into()).await;
    assert_eq!(kind, ConstraintKind::ForeignKey);
    assert_eq!(name.is_empty(), t.has_one_writer(), "{name}");
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
}

pub async fn panicking_step_saves_nothing(t: &TestDb) {
    let (no, other) = (t.order().await, random());
    let (orders, counters, of, name) = (t.orders.clone(), t.counters.clone(), no.clone(), other.clone());
    let panicking = tokio::spawn(async move {
        let update = orders.update(&of).also(|mut tx, _| {
            let (counters, name) = (counters.clone(), name.clone());
            async move {
                counters.insert(&mut tx, Counter { name, count: 1 }).await?;
                panic!("the step's own mistake")
            }
        });
        update.run(Order::ship).await
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
    assert!(t.counters.get(&other).await.unwrap().is_none());
    t.orders.update(&no).run(Order::ship).await.unwrap();
}

pub async fn own_transient_error_in_a_step_runs_the_update_again(t: &TestDb) {
    let no = t.order().await;
    let runs = Arc::new(AtomicU32::new(0));
    let counted = &runs;
    let update = t.orders.update(&no).also(move |_, _| async move {
        match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err(sqlx::Error::PoolTimedOut.into()),
            1 => Err(sqlx::Error::Protocol("cut off".into()).into()),
            _ => Ok(()),
        }
    });
    let saved = update.retrying(Retry::transient(3)).run(Order::ship).await.unwrap();
    assert_eq!((saved.attempts(), saved.loaded.version()), (3, version(2)));
    let update = t.orders.update(&no).also(|_, _| async { Err(sqlx::Error::RowNotFound.into()) });
    let once =
        update.retrying(Retry::transient(3)).run(|order| order.send_to("x").or(Ok::<_, AlreadyShipped>(()))).await;
    assert!(matches!(once, Err(UpdateError::Failed(Error::Database(DatabaseError::Other(_))))), "{once:?}");
}
