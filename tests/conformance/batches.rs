//! Saving several aggregates at once, and changing many by a condition.

use std::sync::Arc;

use tenure::{
    Error, Loaded, LockMode, Version,
    aggregate::Condition,
    error::{DatabaseError, UpdateError},
};
use tokio::sync::Barrier;

use super::order::{Counter, Gift, Note, Order, State};
use super::support::{TestDb, kim, random, version};

pub async fn each_of_several_saves_has_its_own_result(t: &TestDb) {
    let names = [t.counter(1).await, t.counter(2).await, t.counter(3).await];
    let mut all: Vec<Loaded<Counter>> = Vec::new();
    for name in &names {
        all.push(t.counters.get(name).await.unwrap().unwrap());
    }
    t.counters
        .update(&names[1])
        .run(|counter| {
            counter.count = 20;
            Ok::<_, ()>(())
        })
        .await
        .unwrap();
    all[0].count = 11;
    all[1].count = 12;
    let mut tx = t.db.begin().await.unwrap();
    let results = t.counters.save_all(&mut tx, &mut all).await;
    let [Ok(changed), Err(Error::OptimisticLockingFailure(conflict)), Ok(untouched)] = &results[..] else {
        panic!("{results:?}")
    };
    assert_eq!((*changed, *untouched, &conflict.id), (version(2), version(1), &names[1]));
    tx.commit().await.unwrap();
    let mut counts = Vec::new();
    for name in &names {
        counts.push(t.counters.get(name).await.unwrap().unwrap().count);
    }
    assert_eq!(counts, [11, 20, 3]);
}

pub async fn sets_saved_in_opposite_orders_never_deadlock(t: &TestDb) {
    let names = [t.counter(0).await, t.counter(0).await];
    for round in 0..10 {
        let together = Arc::new(Barrier::new(2));
        let save = async |order: [usize; 2]| {
            let mut all = Vec::new();
            for at in order {
                let mut counter = t.counters.get(&names[at]).await.unwrap().unwrap();
                counter.count += 1;
                all.push(counter);
            }
            together.wait().await;
            let mut tx = t.db.begin().await.unwrap();
            let results = t.counters.save_all(&mut tx, &mut all).await;
            match results.iter().all(Result::is_ok) {
                true => tx.commit().await.unwrap(),
                false => tx.rollback().await.unwrap(),
            }
            results
        };
        let (one, other) = tokio::join!(save([0, 1]), save([1, 0]));
        let won = [&one, &other].map(|results| results.iter().all(Result::is_ok));
        let lost = one.iter().chain(&other).filter_map(|result| result.as_ref().err());
        assert!(lost.clone().all(Error::is_conflict), "{one:?} {other:?}");
        assert!(won == [true, false] || won == [false, true], "round {round}: {one:?} {other:?}");
    }
    assert_eq!(t.counters.get(&names[0]).await.unwrap().unwrap().count, 10);
}

async fn notes(t: &TestDb, board: &str) -> Vec<(String, Option<bool>, i64)> {
    let mut found = Vec::new();
    for text in ["one", "two", "three"] {
        let id = t.note(board, text).await;
        found.push(id);
    }
    let mut notes = Vec::new();
    for id in found {
        let note = t.notes.get(&id).await.unwrap().unwrap();
        notes.push((id, note.pinned, note.version().number()));
    }
    notes
}

pub async fn bulk_update_raises_only_versions_of_changed_rows(t: &TestDb) {
    let board = random();
    let ids: Vec<_> = notes(t, &board).await.into_iter().map(|(id, ..)| id).collect();
    let elsewhere = t.note(&random(), "one").await;
    let pin = |note: &mut Note| {
        note.pinned = Some(true);
        Ok::<_, ()>(())
    };
    t.notes.update(&ids[2]).run(pin).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let all_of_the_board = Condition::equal("board", board.clone());
    let change = t.notes.update_all(&mut tx).set("pinned", Some(true)).when(all_of_the_board);
    assert_eq!(change.run().await.unwrap(), 2);
    tx.commit().await.unwrap();
    for id in &ids {
        let note = t.notes.get(id).await.unwrap().unwrap();
        assert_eq!((note.pinned, note.version()), (Some(true), version(2)));
    }
    assert_eq!(t.notes.get(&elsewhere).await.unwrap().unwrap().version(), Version::FIRST);
}

pub async fn bulk_update_conflicts_with_an_open_form(t: &TestDb) {
    let board = random();
    let id = t.note(&board, "one").await;
    let seen = t.notes.get(&id).await.unwrap().unwrap().token();
    let mut tx = t.db.begin().await.unwrap();
    tx.by(&kim()).command("rename board");
    let renamed = t.notes.update_all(&mut tx).set("board", random()).when(Condition::equal("board", board));
    assert_eq!(renamed.run().await.unwrap(), 1);
    tx.commit().await.unwrap();
    let refused = t.notes.update(&id).expecting(seen).run(|_| Ok::<_, ()>(())).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    assert_eq!(conflict.changed.unwrap().by, Some(kim()));
}

pub async fn a_bulk_update_keeps_revisions_and_audit_columns(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    tx.by(&kim()).command("close the year");
    let gift = Gift { card: "Happy new year".into(), wrapped: true };
    let ship = t.orders.update_all(&mut tx).set("state", State::Shipped).set("gift", Some(gift));
    assert_eq!(ship.when(Condition::equal("no", no.clone())).run().await.unwrap(), 1);
    tx.commit().await.unwrap();
    let refused = t.orders.update(&no).expecting(Version::FIRST).run(|order| order.send_to("mine")).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    let change = conflict.changed.as_ref().unwrap();
    assert_eq!((change.version, change.command.as_deref()), (version(2), Some("close the year")));
    let paths: Vec<_> = conflict.fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["state", "ship_to.line1", "gift.card", "gift.wrapped"]);
}

pub async fn bulk_update_sees_saves_of_its_transaction(t: &TestDb) {
    let board = random();
    let (first, second) = (t.note(&board, "one").await, t.note(&board, "two").await);
    let mut tx = t.db.begin().await.unwrap();
    let mut note = t.notes.find(&mut tx, &first, LockMode::Optimistic).await.unwrap().unwrap();
    note.text = "changed".into();
    t.notes.save(&mut tx, &mut note).await.unwrap();
    let pin = t.notes.update_all(&mut tx).set("pinned", Some(true)).when(Condition::equal("board", board));
    assert_eq!(pin.run().await.unwrap(), 2);
    tx.commit().await.unwrap();
    for (id, text) in [(first, "changed"), (second, "two")] {
        let note = t.notes.get(&id).await.unwrap().unwrap();
        assert_eq!((note.text.as_str(), note.pinned, note.version()), (text, Some(true), version(2)));
    }
}

pub async fn conditions_know_null_negation_and_ranges(t: &TestDb) {
    let board = random();
    let ids: Vec<_> = notes(t, &board).await.into_iter().map(|(id, ..)| id).collect();
    for (id, pinned) in ids.iter().zip([Some(true), Some(false), None]) {
        let pin = |note: &mut Note| {
            note.pinned = pinned;
            Ok::<_, ()>(())
        };
        t.notes.update(id).run(pin).await.unwrap();
    }
    let here = || Condition::equal("board", board.clone());
    let text = |text: &str| text.to_owned();
    for (condition, matching) in [
        (Condition::equal("pinned", Some(true)), vec![0]),
        (!Condition::equal("pinned", Some(true)), vec![1, 2]),
        (Condition::is_none("pinned"), vec![2]),
        (!Condition::is_none("pinned"), vec![0, 1]),
        (Condition::less("text", text("three")), vec![0]),
        (Condition::at_most("text", text("three")), vec![0, 2]),
        (Condition::equal("text", text("two")).or(Condition::equal("text", text("one"))), vec![0, 1]),
        (Condition::always(), vec![0, 1, 2]),
    ] {
        let mut tx = t.db.begin().await.unwrap();
        let mark = t.notes.update_all(&mut tx).set("board", text("marked")).when(here()).when(condition.clone());
        assert_eq!(mark.run().await.unwrap(), matching.len() as u64, "{condition:?}");
        for (at, id) in ids.iter().enumerate() {
            let note = t.notes.find(&mut tx, id, LockMode::None).await.unwrap().unwrap();
            assert_eq!(note.board == "marked", matching.contains(&at), "{at} {condition:?}");
        }
        tx.rollback().await.unwrap();
    }
}

pub async fn bulk_update_of_an_unknown_field_is_refused_by_name(t: &TestDb) {
    let mut tx = t.db.begin().await.unwrap();
    let said = |refused: Result<u64, Error>| match refused {
        Err(Error::Database(DatabaseError::Mapping(error))) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let misspelled = t.notes.update_all(&mut tx).set("pined", Some(true)).when(Condition::always());
    let misspelled = said(misspelled.run().await);
    assert!(misspelled.contains("`pined`") && misspelled.contains("id, board, text, pinned"), "{misspelled}");
    let wrong_type = said(t.notes.update_all(&mut tx).set("pinned", 1_i64).when(Condition::always()).run().await);
    assert!(wrong_type.contains("not of the field's type"), "{wrong_type}");
    let id = said(t.notes.update_all(&mut tx).set("id", random()).when(Condition::always()).run().await);
    assert!(id.contains("cannot be changed"), "{id}");
    let everything = said(t.notes.update_all(&mut tx).set("text", random()).run().await);
    assert!(everything.contains("Condition::always()"), "{everything}");
    let half = said(t.orders.update_all(&mut tx).set("gift.wrapped", true).when(Condition::always()).run().await);
    assert!(half.contains("set all of `gift`"), "{half}");
    let part = Condition::less("ship_to", String::new());
    let part = said(t.orders.update_all(&mut tx).set("state", State::Shipped).when(part).run().await);
    assert!(part.contains("not of the field's type"), "{part}");
    // No statement was sent, so the transaction continues.
    t.orders.insert(&mut tx, Order::new(&random())).await.unwrap();
    tx.commit().await.unwrap();
}

/// The database visits the rows in the order of its collation, and others lock them in the order of their keys.
pub async fn concurrent_bulk_updates_and_saves_report_no_deadlock(t: &TestDb) {
    let (prefix, mut names) = (random(), Vec::new());
    for at in ["a", "B", "c", "D", "10", "9", "e", "F"] {
        let name = format!("{prefix}{at}");
        let mut tx = t.db.begin().await.unwrap();
        t.counters.insert(&mut tx, Counter { name: name.clone(), count: 0 }).await.unwrap();
        tx.commit().await.unwrap();
        names.push(name);
    }
    let ours = || (!Condition::less("name", prefix.clone())).and(Condition::at_most("name", format!("{prefix}zzz")));
    let bulk = async |offset: i64| {
        for round in 0..40 {
            let mut tx = t.db.begin().await.unwrap();
            let change = t.counters.update_all(&mut tx).set("count", offset + round).when(ours()).run().await;
            change.unwrap_or_else(|error| panic!("a bulk update, round {round}: {error:?}"));
            tx.commit().await.unwrap();
        }
    };
    let saves = async |offset: i64| {
        for round in 0..40 {
            let mut all = Vec::new();
            for name in &names {
                let mut counter = t.counters.get(name).await.unwrap().unwrap();
                counter.count = offset + round;
                all.push(counter);
            }
            let mut tx = t.db.begin().await.unwrap();
            let results = t.counters.save_all(&mut tx, &mut all).await;
            let failed = results.iter().filter_map(|result| result.as_ref().err()).find(|error| !error.is_conflict());
            assert!(failed.is_none(), "several saves, round {round}: {failed:?}");
            match results.iter().all(Result::is_ok) {
                true => tx.commit().await.unwrap(),
                false => tx.rollback().await.unwrap(),
            }
        }
    };
    tokio::join!(bulk(100), bulk(200), saves(300), saves(400), saves(500));
}
