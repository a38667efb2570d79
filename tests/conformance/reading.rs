//! Several aggregates at once, past states.

use tenure::error::DatabaseError;
use tenure::{Aggregate, Error, Loaded, Version};

use super::children::inserted as inserted_assembly;
use super::order::Order;
use super::spelling::tag;
use super::support::{TestDb, random, version};
use super::trees::planted;

/// This number of orders of one test; their ids have a common prefix, and are in order.
pub(super) async fn orders(t: &TestDb, count: usize) -> Vec<String> {
    let prefix = random();
    let ids: Vec<_> = (0..count).map(|at| format!("{prefix}-{at:03}")).collect();
    let mut tx = t.db.begin().await.unwrap();
    for id in &ids {
        t.orders.insert(&mut tx, Order::new(id)).await.unwrap();
    }
    tx.commit().await.unwrap();
    ids
}

pub async fn get_many_returns_what_get_returns_for_each_id(t: &TestDb) {
    let stored = orders(t, 67).await;
    for count in [0, 1, 2, 31, 32, 33, 67] {
        // In reverse order, one twice, one missing.
        let mut ids: Vec<_> = stored[..count].iter().rev().cloned().collect();
        ids.extend([random(), stored[0].clone(), stored[0].clone(), "\0".into()]);
        let found = t.orders.get_many(&ids).await.unwrap();
        assert_eq!(found.len(), ids.len());
        for (id, found) in ids.iter().zip(found) {
            let single = t.orders.get(id).await.unwrap();
            let brief = |loaded: Option<Loaded<Order>>| loaded.map(|loaded| (loaded.version(), Order::clone(&loaded)));
            assert_eq!(brief(found), brief(single), "{id}");
        }
    }
}

pub async fn get_many_loads_children_of_any_depth(t: &TestDb) {
    let ((assemblies, one), (_, other)) = (inserted_assembly(t).await, inserted_assembly(t).await);
    let found = assemblies.get_many(&[other.id.clone(), one.id.clone()]).await.unwrap();
    assert_eq!(found.iter().flatten().map(|found| (**found).clone()).collect::<Vec<_>>(), [other, one]);
    let ((trees, one), (_, other)) = (planted(t).await, planted(t).await);
    let found = trees.get_many(&[one.id().clone(), other.id().clone()]).await.unwrap();
    assert_eq!(found.iter().flatten().map(|found| (**found).clone()).collect::<Vec<_>>(), [one, other]);
}

pub async fn get_many_refuses_another_spelling(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    let refused = |error: Error| matches!(&error, Error::OtherSpelling { id, stored: found, .. } if (id, found) == (&small, &stored));
    assert!(refused(tags.get_many(&[stored.clone(), small.clone()]).await.unwrap_err()));
}

pub async fn get_at_returns_the_aggregate_as_it_was(t: &TestDb) {
    let id = orders(t, 1).await.remove(0);
    for line1 in ["second", "third", "fourth"] {
        t.orders.update(&id).run(|order| order.send_to(line1)).await.unwrap();
    }
    // Three revisions are kept.
    let at = async |number| t.orders.get_at(&id, version(number)).await.unwrap().map(|order| order.ship_to.line1);
    let kept = [at(1).await, at(2).await, at(3).await, at(4).await, at(5).await];
    assert_eq!(kept.each_ref().map(Option::as_deref), [None, Some("second"), Some("third"), Some("fourth"), None]);
    let refused = t.counters.get_at(&random(), Version::FIRST).await;
    assert!(matches!(refused, Err(Error::Database(DatabaseError::Unsupported(_)))), "{refused:?}");
}
