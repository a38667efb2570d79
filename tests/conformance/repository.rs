//! Loading and saving aggregates.

use tenure::aggregate::value::Value;
use tenure::{Error, LockMode, Version, error::ErrorCode, version::Side};

use super::order::{Counter, Gift, Line, Order, State};
use super::support::{MINUTE, TestDb, kim, lee, random, version};

pub async fn inserted_aggregate_round_trips(t: &TestDb) {
    let mut order = Order::new(&random());
    order.gift = Some(Gift { card: "생일 축하해! 💐".into(), wrapped: true });
    order.lines.push(Line { line_no: 3, product: "it's \"quoted\"; 100%".into(), quantity: u32::MAX });
    let mut tx = t.db.begin().await.unwrap();
    let inserted = t.orders.insert(&mut tx, order.clone()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((Order::clone(&inserted), inserted.version()), (order.clone(), Version::FIRST));
    assert_eq!(t.stored(&order.no).await, (order, Version::FIRST));
}

pub async fn a_load_beside_saves_is_never_torn(t: &TestDb) {
    const SAVES: u32 = 120;
    let no = t.order().await;
    let (orders, number) = (t.orders.clone(), no.clone());
    let writer = tokio::spawn(async move {
        for count in 1..=SAVES {
            let change = |order: &mut Order| {
                // In every other state there are no lines, which could reveal their version.
                order.lines.retain(|_| count % 2 == 1);
                if count % 2 == 1 {
                    order.lines = Order::new("").lines;
                    order.lines.iter_mut().for_each(|line| line.quantity = count);
                }
                order.send_to(&count.to_string())
            };
            orders.update(&number).run(change).await.unwrap();
        }
    });
    while !writer.is_finished() {
        let order = t.orders.get(&no).await.unwrap().unwrap();
        let saves = u32::try_from(order.version().number() - 1).unwrap();
        if saves > 0 {
            assert_eq!(order.ship_to.line1, saves.to_string());
            assert_eq!(order.lines.len(), if saves % 2 == 1 { 2 } else { 0 }, "torn: {order:?}");
            assert!(order.lines.iter().all(|line| line.quantity == saves), "torn: {order:?}");
        }
    }
    writer.await.unwrap();
}

pub async fn an_aggregate_that_is_not_there_is_none(t: &TestDb) {
    assert!(t.orders.get(&random()).await.unwrap().is_none());
    let mut tx = t.db.begin().await.unwrap();
    assert!(t.orders.find(&mut tx, &random(), LockMode::PessimisticWrite).await.unwrap().is_none());
}

pub async fn duplicate_insert_is_refused_and_transaction_continues(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let refused = t.orders.insert(&mut tx, Order::new(&no)).await;
    assert!(matches!(refused, Err(Error::AlreadyExists { id, .. }) if id == no));
    let other = random();
    t.orders.insert(&mut tx, Order::new(&other)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&other).await.1, Version::FIRST);
}

pub async fn any_change_in_the_aggregate_raises_version_by_one(t: &TestDb) {
    let no = t.order().await;
    let changes: [fn(&mut Order); 6] = [
        |order| order.ship_to.line1 = "Sejong-daero 9".into(),
        |order| order.lines[0].quantity = 7,
        |order| order.lines.push(Line { line_no: 9, product: "pot".into(), quantity: 1 }),
        |order| drop(order.lines.remove(0)),
        |order| order.gift = Some(Gift { card: String::new(), wrapped: false }),
        |order| {
            order.gift = None;
            order.lines[0].product = "bowls".into();
            order.lines.push(Line { line_no: 1, product: "tea".into(), quantity: 2 });
            order.lines.sort_by_key(|line| line.line_no);
        },
    ];
    let (mut expected, _) = t.stored(&no).await;
    for (saves, change) in (2..).zip(changes) {
        let mut tx = t.db.begin().await.unwrap();
        let mut order = t.find(&mut tx, &no).await;
        change(&mut order);
        change(&mut expected);
        assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), version(saves));
        tx.commit().await.unwrap();
        assert_eq!(t.stored(&no).await, (expected.clone(), version(saves)));
    }
}

pub async fn saving_without_a_change_writes_nothing(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.state = State::Shipped;
    order.state = State::Preparing;
    order.lines.reverse();
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), Version::FIRST);
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await, (Order::new(&no), Version::FIRST));
    assert_eq!(t.orders.changes(&no, 10).await.unwrap().len(), 1);
}

pub async fn forced_increment_raises_version_by_one_in_any_case(t: &TestDb) {
    let no = t.order().await;
    for (mode, change, saved_as) in [
        (LockMode::OptimisticForceIncrement, false, 2),
        (LockMode::PessimisticForceIncrement, false, 3),
        (LockMode::OptimisticForceIncrement, true, 4),
    ] {
        let update = t.orders.update(&no).locking(mode);
        let command = |order: &mut Order| if change { order.ship() } else { Ok(()) };
        assert_eq!(update.run(command).await.unwrap().version(), version(saved_as));
    }
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.orders.find(&mut tx, &no, LockMode::OptimisticForceIncrement).await.unwrap().unwrap();
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), version(5));
    assert_eq!(t.orders.save(&mut tx, &mut order).await.unwrap(), version(5));
    tx.commit().await.unwrap();
}

pub async fn a_save_on_a_stale_state_loses_the_race_and_explains_it(t: &TestDb) {
    let no = t.order().await;
    let mut mine = t.orders.get(&no).await.unwrap().unwrap();
    t.orders.update(&no).by(&lee()).command("ship").run(Order::ship).await.unwrap();
    mine.ship_to.line1 = "Sejong-daero 9".into();
    let mut tx = t.db.begin().await.unwrap();
    let refused = t.orders.save(&mut tx, &mut mine).await.unwrap_err();
    assert!(refused.is_conflict() && refused.is_retryable());
    let Error::OptimisticLockingFailure(conflict) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    let change = conflict.changed.as_ref().unwrap();
    assert_eq!((change.by.clone(), change.command.as_deref()), (Some(lee()), Some("ship")));
    let fields: Vec<_> = conflict.fields.iter().map(|field| (field.path.as_str(), field.side())).collect();
    assert_eq!(fields, [("state", Side::Theirs), ("ship_to.line1", Side::Mine)]);
    // Nothing of it was written, and the transaction continues.
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.0.ship_to, Order::new(&no).ship_to);
}

pub async fn a_save_of_a_deleted_aggregate_loses_the_race(t: &TestDb) {
    let no = t.order().await;
    let mut mine = t.orders.get(&no).await.unwrap().unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let theirs = t.find(&mut tx, &no).await;
    t.orders.delete(&mut tx, theirs).await.unwrap();
    tx.commit().await.unwrap();
    mine.state = State::Shipped;
    let mut tx = t.db.begin().await.unwrap();
    let refused = t.orders.save(&mut tx, &mut mine).await;
    let Err(error @ Error::OptimisticLockingFailure(conflict)) = &refused else { panic!("{refused:?}") };
    // No retry brings it back.
    assert_eq!((conflict.actual, error.code(), error.is_retryable()), (None, ErrorCode::NotFound, false));
}

pub async fn deleting_takes_the_children_along_and_checks_the_version(t: &TestDb) {
    let no = t.order().await;
    let stale = t.orders.get(&no).await.unwrap().unwrap();
    t.orders.update(&no).run(Order::ship).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let refused = t.orders.delete(&mut tx, stale).await;
    assert!(matches!(refused, Err(Error::OptimisticLockingFailure(conflict)) if conflict.actual == Some(version(2))));
    let fresh = t.find(&mut tx, &no).await;
    t.orders.delete(&mut tx, fresh).await.unwrap();
    assert!(t.orders.find(&mut tx, &no, LockMode::None).await.unwrap().is_none());
    // A new one under the old id does not conflict with lines of the old one.
    t.orders.insert(&mut tx, Order::new(&no)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await, (Order::new(&no), version(3)));
}

pub async fn a_loaded_aggregate_cannot_change_its_id(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.no = random();
    let refused = t.orders.save(&mut tx, &mut order).await.unwrap_err();
    assert!(refused.to_string().contains("the id of a loaded aggregate was changed"), "{refused}");
}

pub async fn ids_of_any_script_are_distinct(t: &TestDb) {
    let tag = random();
    let ids = ["a", "A", "a ", "주문", "💐", "it's", "100%", "\"q\"", &"나".repeat(255)].map(|id| format!("{id}{tag}"));
    let mut tx = t.db.begin().await.unwrap();
    for (count, id) in (0..).zip(&ids) {
        t.counters.insert(&mut tx, Counter { name: id.clone(), count }).await.unwrap();
    }
    tx.commit().await.unwrap();
    for (count, id) in (0..).zip(&ids) {
        assert_eq!(t.counters.get(id).await.unwrap().unwrap().count, count);
    }
}

pub async fn revisions_keep_author_time_and_command(t: &TestDb) {
    let no = t.order().await;
    for line1 in ["2", "3", "4"] {
        t.clock.advance(MINUTE);
        let update = t.orders.update(&no).by(&lee()).command("send to");
        update.run(|order| order.send_to(line1)).await.unwrap();
    }
    let changes = t.orders.changes(&no, 10).await.unwrap();
    // Three of four are kept.
    assert_eq!(changes.iter().map(|change| change.version.number()).collect::<Vec<_>>(), [4, 3, 2]);
    assert_eq!((changes[0].by.clone(), changes[0].at), (Some(lee()), t.clock.now()));
    assert_eq!(changes[0].command.as_deref(), Some("send to"));
    let stale = t.orders.update(&no).expecting(version(1)).by(&kim()).run(|order| order.send_to("5")).await;
    let Err(tenure::error::UpdateError::Failed(Error::VersionConflict(conflict))) = stale else { panic!("{stale:?}") };
    assert!(!conflict.opened_known && !conflict.mine_known);
    let stale = t.orders.update(&no).expecting(version(2)).by(&kim()).run(|order| order.send_to("5")).await;
    let Err(tenure::error::UpdateError::Failed(Error::VersionConflict(conflict))) = stale else { panic!("{stale:?}") };
    let text = |text: &str| Some(Value::Text(text.into()));
    let field = &conflict.fields[0];
    assert_eq!((&field.opened, &field.now, &field.mine), (&text("2"), &text("4"), &text("5")));
}
