//! Events that the domain recorded, published inside the saving transaction.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use tenure::aggregate::{Events, RecordsEvents};
use tenure::error::{DatabaseError, UpdateError};
use tenure::unit_of_work::{PublishEvents, Retry};
use tenure::version::Merge;
use tenure::{Aggregate, Database, Error, Loaded, LockMode, Repository, Transaction, Version};

use super::order::Counter;
use super::support::{TestDb, random, version};

/// A counter that records its changes.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_counter")]
pub struct Tally {
    #[aggregate(id)]
    name: String,
    count: i64,
    events: Events<String>,
}

impl Tally {
    fn set(&mut self, count: i64) {
        self.count = count;
        self.events.record(format!("{} is {count}", self.name));
    }
}

impl RecordsEvents for Tally {
    type Event = String;

    fn events(&mut self) -> &mut Events<String> {
        &mut self.events
    }
}

/// Stores each event as a counter of its name, and counts how often it was called.
struct Outbox {
    counters: Repository<Counter>,
    calls: Calls,
    /// Fails that many times with a deadlock.
    fails: Mutex<u32>,
}

impl PublishEvents<Tally> for Outbox {
    async fn publish(&self, tx: &mut Transaction, of: &Loaded<Tally>, events: &[String]) -> Result<(), Error> {
        self.calls.lock().unwrap().push((of.version(), events.to_vec()));
        for event in events {
            self.counters.insert(tx, Counter { name: event.clone(), count: 1 }).await?;
        }
        let mut fails = self.fails.lock().unwrap();
        if *fails > 0 {
            *fails -= 1;
            return Err(DatabaseError::Deadlock.into());
        }
        Ok(())
    }
}

type Calls = Arc<Mutex<Vec<(Version, Vec<String>)>>>;

fn tallies(t: &TestDb, fails: u32) -> (Repository<Tally>, Calls) {
    let calls = Calls::default();
    let outbox = Outbox { counters: t.counters.clone(), calls: Arc::clone(&calls), fails: Mutex::new(fails) };
    (Repository::new(&t.db).publishing(outbox), calls)
}

async fn insert(db: &Database, tallies: &Repository<Tally>) -> String {
    let name = random();
    let mut tx = db.begin().await.unwrap();
    tallies.insert(&mut tx, Tally { name: name.clone(), count: 0, events: Events::new() }).await.unwrap();
    tx.commit().await.unwrap();
    name
}

async fn is_stored(t: &TestDb, event: &str) -> bool {
    t.counters.get(&event.to_owned()).await.unwrap().is_some()
}

pub async fn recorded_events_are_committed_with_the_save(t: &TestDb) {
    let (tallies, calls) = tallies(t, 0);
    let name = insert(&t.db, &tallies).await;
    assert!(calls.lock().unwrap().is_empty());
    let set = |tally: &mut Tally| {
        tally.set(3);
        tally.set(4);
        Ok::<_, Infallible>(())
    };
    let saved = tallies.update(&name).run(set).await.unwrap();
    assert!(saved.events.as_slice().is_empty());
    let [three, four] = [format!("{name} is 3"), format!("{name} is 4")];
    assert_eq!(*calls.lock().unwrap(), [(version(2), vec![three.clone(), four.clone()])]);
    assert!(is_stored(t, &three).await && is_stored(t, &four).await);
    // The domain's refusal, and a rollback.
    let refused = tallies.update(&name).run(|tally| {
        tally.set(5);
        Err("no")
    });
    assert!(matches!(refused.await, Err(UpdateError::Refused("no"))));
    let mut tx = t.db.begin().await.unwrap();
    let mut tally = tallies.find(&mut tx, &name, LockMode::Optimistic).await.unwrap().unwrap();
    tally.set(6);
    tallies.save(&mut tx, &mut tally).await.unwrap();
    tx.rollback().await.unwrap();
    for never in [5, 6] {
        assert!(!is_stored(t, &format!("{name} is {never}")).await);
    }
}

pub async fn events_of_inserts_deletes_and_unchanged_aggregates_count(t: &TestDb) {
    let (tallies, calls) = tallies(t, 0);
    let name = random();
    let mut tx = t.db.begin().await.unwrap();
    let mut new = Tally { name: name.clone(), count: 0, events: Events::new() };
    new.set(1);
    let mut tally = tallies.insert(&mut tx, new).await.unwrap();
    tally.events.record(format!("{name} was viewed"));
    tallies.save(&mut tx, &mut tally).await.unwrap();
    assert_eq!(tally.version(), Version::FIRST);
    // Published events are not published again.
    tallies.save(&mut tx, &mut tally).await.unwrap();
    tx.commit().await.unwrap();
    let delete = |tally: &mut Tally| {
        tally.events.record(format!("{} is gone", tally.name));
        Ok::<_, Infallible>(())
    };
    tallies.update(&name).delete(delete).await.unwrap();
    let seen: Vec<_> = calls.lock().unwrap().drain(..).flat_map(|(_, events)| events).collect();
    assert_eq!(seen, [format!("{name} is 1"), format!("{name} was viewed"), format!("{name} is gone")]);
}

pub async fn a_rerun_hands_over_the_events_of_its_own_run(t: &TestDb) {
    let (tallies, calls) = tallies(t, 1);
    let name = insert(&t.db, &tallies).await;
    let up = |tally: &mut Tally| {
        let next = tally.count + 1;
        tally.set(next);
        Ok::<_, Infallible>(())
    };
    let saved = tallies.update(&name).retrying(Retry::transient(2)).run(up).await.unwrap();
    assert_eq!((saved.attempts(), saved.loaded.count), (2, 1));
    let event = format!("{name} is 1");
    assert_eq!(*calls.lock().unwrap(), [(version(2), vec![event.clone()]), (version(2), vec![event.clone()])]);
    // The first was rolled back, or the second would have conflicted with it.
    assert!(is_stored(t, &event).await);
}

pub async fn save_without_its_events_cannot_be_committed(t: &TestDb) {
    let (tallies, _) = tallies(t, 1);
    let name = insert(&t.db, &tallies).await;
    let mut tx = t.db.begin().await.unwrap();
    let mut tally = tallies.find(&mut tx, &name, LockMode::Optimistic).await.unwrap().unwrap();
    tally.set(1);
    tallies.save(&mut tx, &mut tally).await.unwrap_err();
    let refused = tx.commit().await.unwrap_err();
    assert!(matches!(refused, Error::Database(DatabaseError::Poisoned(_))), "{refused:?}");
    let stored = tallies.get(&name).await.unwrap().unwrap();
    assert_eq!((stored.count, stored.version()), (0, Version::FIRST));
}

pub async fn saves_done_again_hand_over_their_events(t: &TestDb) {
    // The publisher gets a deadlock in the first attempt.
    let (tallies, calls) = tallies(t, 1);
    let name = insert(&t.db, &tallies).await;
    let mut all = vec![tallies.get(&name).await.unwrap().unwrap()];
    all[0].set(1);
    let mut tx = t.db.begin().await.unwrap();
    let saved = tallies.save_all(&mut tx, &mut all).await.pop().unwrap();
    if t.has_one_writer() {
        // Here a transaction is never aborted by a deadlock.
        assert!(saved.is_err() && tx.commit().await.is_err());
        assert_eq!(all[0].events.as_slice().len(), 1);
        return;
    }
    assert_eq!(saved.unwrap(), version(2));
    tx.commit().await.unwrap();
    assert_eq!(calls.lock().unwrap().len(), 2);
    assert!(all[0].events.as_slice().is_empty() && is_stored(t, &format!("{name} is 1")).await);
}

/// An order of the suite that records events; it keeps revisions.
#[derive(Aggregate, Debug)]
#[aggregate(table = "test_order", revisions = 3)]
struct Parcel {
    #[aggregate(id)]
    no: String,
    state: super::order::State,
    ship_to: super::order::Address,
    gift: Option<super::order::Gift>,
    events: Events<String>,
}

impl RecordsEvents for Parcel {
    type Event = String;

    fn events(&mut self) -> &mut Events<String> {
        &mut self.events
    }
}

struct Log(Arc<Mutex<Vec<String>>>);

impl PublishEvents<Parcel> for Log {
    async fn publish(&self, _: &mut Transaction, _: &Loaded<Parcel>, events: &[String]) -> Result<(), Error> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
}

pub async fn merged_update_hands_over_its_events_once(t: &TestDb) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let parcels = Repository::<Parcel>::new(&t.db).publishing(Log(Arc::clone(&log)));
    let no = random();
    let mut tx = t.db.begin().await.unwrap();
    let order = super::order::Order::new(&no);
    let parcel =
        Parcel { no: no.clone(), state: order.state, ship_to: order.ship_to, gift: None, events: Events::new() };
    parcels.insert(&mut tx, parcel).await.unwrap();
    tx.commit().await.unwrap();
    let set = |line1: &'static str, zip: &'static str| {
        move |parcel: &mut Parcel| {
            (parcel.ship_to.line1, parcel.ship_to.zip) = (line1.into(), zip.into());
            parcel.events.record(format!("{line1} {zip}"));
            Ok::<_, Infallible>(())
        }
    };
    parcels.update(&no).run(set("theirs", "06236")).await.unwrap();
    // Its line1 is the opened one: theirs is restored.
    let merging = parcels.update(&no).expecting(Version::FIRST).merging(Merge::disjoint());
    let merged = merging.run(set("Teheran-ro 1", "04524")).await.unwrap();
    assert_eq!((&*merged.loaded.ship_to.line1, &*merged.loaded.ship_to.zip), ("theirs", "04524"));
    assert_eq!(*log.lock().unwrap(), ["theirs 06236", "Teheran-ro 1 04524"]);
}
