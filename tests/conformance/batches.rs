//! Saving several aggregates at once.

use std::sync::Arc;

use tenure::{Error, Loaded};
use tokio::sync::Barrier;

use super::order::Counter;
use super::support::{TestDb, version};

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
