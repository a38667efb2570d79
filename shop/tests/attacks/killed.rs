//! The process is killed while people save.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use shop::domain::{Order, OrderNo};
use tenure::{Database, Repository};

use super::client::Visitor;
use super::program::Program;

/// The number of concurrent savers, each with their own order; and the number of acknowledged saves before the kill.
const PEOPLE: usize = 4;
const SAVES: usize = 40;

#[tokio::test]
async fn every_acknowledged_save_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut saved: BTreeMap<String, u32> = BTreeMap::new();
    for life in 1..=2 {
        let mut program = Program::start(folder.path());
        let park = program.sign_in("park").await;
        let orders = changeable(&mut park.clone()).await;
        assert_eq!(orders.len(), PEOPLE, "{orders:?}");
        let acknowledged = Arc::new(Mutex::new(saved.clone()));
        let (enough, mut told) = tokio::sync::mpsc::channel(1);
        let mut people = Vec::new();
        for order in orders {
            let (mut park, acknowledged, enough) = (park.clone(), Arc::clone(&acknowledged), enough.clone());
            people.push(tokio::spawn(async move {
                for round in 1.. {
                    let Some(()) = save(&mut park, &order, life * 1_000_000 + round).await else { return };
                    let mut acknowledged = acknowledged.lock().unwrap();
                    acknowledged.insert(order.clone(), life * 1_000_000 + round);
                    if round as usize * PEOPLE >= SAVES {
                        let _ = enough.try_send(());
                    }
                }
            }));
        }
        told.recv().await.unwrap();
        program.kill();
        for person in people {
            person.await.unwrap();
        }
        saved = acknowledged.lock().unwrap().clone();
        let db = Database::connect(&format!("sqlite://{}/shop.db", folder.path().display())).await.unwrap();
        for (order, last) in &saved {
            let no = OrderNo::new(order.rsplit('/').next().unwrap()).unwrap();
            let stored = Repository::<Order>::new(&db).get(&no).await.unwrap().unwrap();
            let stored: u32 = stored.shipping().message().parse().unwrap();
            // One more may have been stored without its response.
            assert!((*last..=last + 1).contains(&stored), "{order}: {stored} is stored, {last} was acknowledged");
        }
        db.close().await;
    }
}

/// Changeable orders for an operator.
async fn changeable(park: &mut Visitor) -> Vec<String> {
    let page = park.page("/orders?state=Preparing").await;
    let links = page.html.split("href=\"/orders/").skip(1).map(|link| link.split('"').next().unwrap());
    let mut orders: Vec<_> = links.filter(|no| no.starts_with("2026-")).map(|no| format!("/orders/{no}")).collect();
    orders.dedup();
    orders.truncate(PEOPLE);
    orders
}

/// Saves this number as the order's message, through its form; `None` if the shop has ended.
async fn save(park: &mut Visitor, order: &str, number: u32) -> Option<()> {
    let page = park.ask(&format!("{order}/shipping"), None).await?;
    assert_eq!(page.status, 200, "{}", page.body);
    let form = page.page(order).form(&format!("{order}/shipping")).with("message", &number.to_string());
    let answer = park.ask(&form.action, Some(&super::client::encoded(&form.fields))).await?;
    assert_eq!((answer.status, answer.location()), (303, order), "{}", answer.body);
    Some(())
}
