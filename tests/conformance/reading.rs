//! Several aggregates at once, pages, existence, counts, past states.

use tenure::aggregate::Condition;
use tenure::error::DatabaseError;
use tenure::{Aggregate, Error, Loaded, LockMode, Version};

use super::children::inserted as inserted_assembly;
use super::order::Order;
use super::spelling::tag;
use super::support::{TestDb, random, version};
use super::trees::planted;

/// This number of orders of one test; their ids have a common prefix, and are in order.
async fn orders(t: &TestDb, count: usize) -> Vec<String> {
    let prefix = random();
    let ids: Vec<_> = (0..count).map(|at| format!("{prefix}-{at:03}")).collect();
    let mut tx = t.db.begin().await.unwrap();
    for id in &ids {
        t.orders.insert(&mut tx, Order::new(id)).await.unwrap();
    }
    tx.commit().await.unwrap();
    ids
}

fn nos(found: &[Loaded<Order>]) -> Vec<&str> {
    found.iter().map(|order| order.no.as_str()).collect()
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

pub async fn get_many_and_exists_refuse_another_spelling(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    let refused = |error: Error| matches!(&error, Error::OtherSpelling { id, stored: found, .. } if (id, found) == (&small, &stored));
    assert!(refused(tags.get_many(&[stored.clone(), small.clone()]).await.unwrap_err()));
    assert!(refused(tags.exists(&small).await.unwrap_err()));
    assert!(tags.exists(&stored).await.unwrap());
}

pub async fn pages_contain_every_aggregate_once_in_order(t: &TestDb) {
    let ids = orders(t, 40).await;
    for size in [1, 7, 39, 40, 41] {
        // Ids of this test are the only ones between these two.
        let (mut after, mut seen) = (format!("{}!", &ids[0][..ids[0].len() - 4]), Vec::new());
        'pages: loop {
            let page = t.orders.page(Some(&after), size).await.unwrap();
            assert!(page.len() <= size as usize);
            let Some(last) = page.last() else { break };
            after = last.no.clone();
            for no in nos(&page) {
                if !ids.iter().any(|id| id == no) {
                    break 'pages;
                }
                seen.push(no.to_owned());
            }
        }
        assert_eq!(seen, ids, "pages of {size}");
    }
    assert_eq!(t.orders.page(None, 3).await.unwrap().len(), 3);
}

pub async fn deleted_aggregates_leave_no_gap_in_pages(t: &TestDb) {
    let ids = orders(t, 6).await;
    let mut tx = t.db.begin().await.unwrap();
    for id in &ids[1..4] {
        let loaded = t.orders.find(&mut tx, id, LockMode::None).await.unwrap().unwrap();
        t.orders.delete(&mut tx, loaded).await.unwrap();
    }
    tx.commit().await.unwrap();
    let page = t.orders.page(Some(&ids[0]), 2).await.unwrap();
    assert_eq!(nos(&page), [&ids[4], &ids[5]]);
}

pub async fn page_after_an_id_with_nul_is_found(t: &TestDb) {
    let ids = orders(t, 2).await;
    // Between the first one and the second.
    let page = t.orders.page(Some(&format!("{}\0z", ids[0])), 1).await.unwrap();
    assert_eq!(nos(&page), [&ids[1]]);
}

pub async fn count_and_exists_see_committed_aggregates(t: &TestDb) {
    let ids = orders(t, 3).await;
    let one = |id: &String| Condition::equal("no", id.clone());
    let any = one(&ids[0]).or(one(&ids[1])).or(one(&ids[2]));
    assert_eq!(t.orders.count(&any).await.unwrap(), 3);
    assert_eq!(t.orders.count(&any.clone().and(!one(&ids[1]))).await.unwrap(), 2);
    assert!(t.orders.count(&Condition::always()).await.unwrap() >= 3);
    assert!(matches!(t.orders.count(&Condition::is_none("colour")).await, Err(Error::Database(_))));
    for (id, there) in [(&ids[1], true), (&random(), false), (&"\0".to_owned(), false)] {
        assert_eq!(t.orders.exists(id).await.unwrap(), there);
    }
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
