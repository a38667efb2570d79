//! Watching locks.

use std::future::IntoFuture;
use std::time::Duration;

use tenure::{
    LockKey, LockManager, LockPolicy, Owner,
    lease::{Heartbeat, LeaseLossReason, Presence, ShowOwner},
    watch::{LockEvent, LockSnapshot, Watch},
};

use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random, version};

/// Far longer than any event takes: a failing test reports it instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);
const NEVER: Duration = Duration::from_secs(3600);

/// The events of one key, after its snapshot.
pub struct Events {
    events: Watch,
    pub waiting: u32,
}

impl Events {
    pub async fn of(locks: &LockManager, key: &LockKey) -> Self {
        let mut events = Events { events: locks.watch([key.clone()]).unwrap(), waiting: 0 };
        let (_, keys) = events.snapshot().await;
        events.waiting = keys[0].waiting;
        events
    }

    pub async fn next(&mut self) -> Option<LockEvent> {
        tokio::time::timeout(PATIENCE, self.events.next()).await.expect("an event within 30 s")
    }

    async fn snapshot(&mut self) -> (bool, Vec<LockSnapshot>) {
        match self.next().await {
            Some(LockEvent::Snapshot { missed, keys }) => (missed, keys),
            other => panic!("expected a snapshot, found {other:?}"),
        }
    }

    /// Until this many wait in the queue.
    pub async fn until_waiting(&mut self, count: u32) {
        while self.waiting != count {
            if let Some(LockEvent::Waiting { waiting, .. }) = self.next().await {
                self.waiting = waiting;
            }
        }
    }

    /// The next event in short form: its kind, and the generation or the count.
    async fn short(&mut self) -> String {
        short(&self.next().await.expect("the stream goes on"))
    }
}

fn short(event: &LockEvent) -> String {
    match event {
        LockEvent::Snapshot { missed, keys } => {
            format!("snapshot of {}{}", keys.len(), if *missed { ", missed" } else { "" })
        }
        LockEvent::Acquired(holder) => format!("{} by {}", holder.generation, holder.owner.id),
        LockEvent::Resumed(holder) => format!("{} goes on", holder.generation),
        LockEvent::PresenceChanged(holder) => format!("{} is {:?}", holder.generation, holder.presence()),
        LockEvent::Ended { holder, why } => {
            let how = match why {
                LeaseLossReason::Released { .. } => "released".into(),
                LeaseLossReason::Expired { .. } => "expired".into(),
                LeaseLossReason::Broken { by, reason, .. } => format!("broken by {}: {reason}", by.id),
                LeaseLossReason::TakenOver { by, reason, .. } => format!("taken over by {}: {reason}", by.id),
                other => format!("{other:?}"),
            };
            format!("{} of {} {how}", holder.generation, holder.owner.id)
        }
        LockEvent::Waiting { waiting, .. } => format!("{waiting} wait"),
        LockEvent::VersionChanged { version, .. } => format!("version {}", version.number()),
        other => format!("{other:?}"),
    }
}

fn park() -> Owner {
    Owner::new("park", "Park")
}

pub async fn first_event_is_a_snapshot_of_each_key(t: &TestDb) {
    let (held, free) = (key(), key());
    let lease = t.locks.try_lock(&held, &kim()).await.unwrap();
    let mut events = t.locks.watch([free.clone(), held.clone(), free.clone()]).unwrap();
    let Some(LockEvent::Snapshot { missed: false, keys }) = events.next().await else { panic!("no snapshot") };
    let [first, second] = &keys[..] else { panic!("{keys:?}") };
    assert_eq!((&first.key, first.generation, first.holders.len()), (&free, 0, 0));
    assert_eq!((&second.key, second.generation, second.waiting), (&held, 1, 0));
    assert_eq!(second.holders, [tenure::lease::Holder::clone(lease.holder())]);
    assert!(matches!(t.locks.watch([LockKey::new("", "1")]), Err(tenure::error::LockError::InvalidKey { .. })));
}

pub async fn every_end_of_a_lease_is_reported_with_author_and_reason(t: &TestDb) {
    let key = key();
    let mut events = Events::of(&t.locks, &key).await;
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(events.short().await, "1 by kim");
    t.locks.release_lock(first.id()).await.unwrap();
    assert_eq!(events.short().await, "1 of kim released");
    t.locks.try_lock(&key, &lee()).await.unwrap();
    assert_eq!(events.short().await, "2 by lee");
    t.clock.advance(TTL);
    t.db.look_now().await.unwrap();
    assert_eq!(events.short().await, "2 of lee expired");
    t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(events.short().await, "3 by kim");
    t.locks.break_lock(&key, 3, &park(), "on holiday").await.unwrap();
    assert_eq!(events.short().await, "3 of kim broken by park: on holiday");
    t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(events.short().await, "4 by kim");
    let moved = t.locks.take_over(&key, 4, &kim(), tenure::LockId::random(), "another tab").await.unwrap();
    assert_eq!(events.short().await, "4 of kim taken over by kim: another tab");
    assert_eq!(events.short().await, "5 by kim");
    // An owner who holds nothing in other tests.
    let (id, next) = (random(), |id: &str| Owner::new(id, "Next"));
    t.locks.release_lock(moved.id()).await.unwrap();
    assert_eq!(events.short().await, "5 of kim released");
    t.locks.try_lock(&key, &next(&id)).await.unwrap();
    assert_eq!(events.short().await, format!("6 by {id}"));
    assert_eq!(t.locks.release_all(&id).await.unwrap().len(), 1);
    assert_eq!(events.short().await, format!("6 of {id} released"));
}

pub async fn releasing_save_reports_release_and_version(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<super::order::Order>(&no);
    let mut events = t.locks.watch([key.clone()]).unwrap();
    let Some(LockEvent::Snapshot { keys, .. }) = events.next().await else { panic!("no snapshot") };
    assert_eq!(keys[0].version, Some(version(1)));
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let save = t.orders.update(&no).by(&kim()).releasing(lease.id());
    save.run(|order| order.send_to("Sejong-daero 9")).await.unwrap();
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(short(&tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap()));
    }
    assert_eq!(told, ["1 by kim", "1 of kim released", "version 2"]);
    // A counter has no revisions, so its own process reports the version.
    let name = t.counter(1).await;
    let mut events = Events::of(&t.locks, &LockKey::of::<super::order::Counter>(&name)).await;
    t.counters
        .update(&name)
        .run::<()>(|counter| {
            counter.count += 1;
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(events.short().await, "version 2");
}

pub async fn waiters_are_reported(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut events = Events::of(&t.locks, &key).await;
    let waiting = tokio::spawn(t.locks.lock(&key, &lee()).within(MINUTE).into_future());
    assert_eq!(events.short().await, "1 wait");
    waiting.abort();
    assert_eq!(events.short().await, "0 wait");
}

pub async fn presence_changes_are_reported(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut events = Events::of(&t.locks, &key).await;
    t.clock.advance(3 * MINUTE);
    t.db.look_now().await.unwrap();
    assert_eq!(events.short().await, format!("1 is {:?}", Presence::Unreachable));
    t.locks.keep_alive_with(&[Heartbeat::idle(lease.id().clone(), 10 * MINUTE)]).await.unwrap();
    t.db.look_now().await.unwrap();
    assert_eq!(events.short().await, format!("1 is {:?}", Presence::Active));
    t.clock.advance(2 * MINUTE);
    t.locks.keep_alive_with(&[Heartbeat::idle(lease.id().clone(), 5 * MINUTE)]).await.unwrap();
    assert_eq!(events.short().await, format!("1 is {:?}", Presence::Idle));
    t.locks.keep_alive(&[lease.id().clone()]).await.unwrap();
    assert_eq!(events.short().await, format!("1 is {:?}", Presence::Active));
}

pub async fn resumed_lease_is_reported(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<super::order::Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut events = Events::of(&t.locks, &key).await;
    t.clock.advance(TTL);
    t.db.look_now().await.unwrap();
    assert_eq!(events.short().await, "1 of kim expired");
    let seen = t.orders.get(&no).await.unwrap().unwrap().token();
    t.locks.resume(&t.orders, &no, lease.id(), seen).await.unwrap();
    assert_eq!(events.short().await, "1 goes on");
}

pub async fn hidden_holders_are_redacted_for_watchers(t: &TestDb) {
    let locks = t.locks.clone().with_policy("Secret", LockPolicy::exclusive().showing(ShowOwner::Anonymous));
    let key = LockKey::new("Secret", random());
    let mut seen = Vec::new();
    for viewer in [kim(), lee(), park()] {
        seen.push((viewer.id.clone(), Events::of(&locks.acting_for(&viewer), &key).await));
    }
    locks.try_lock(&key, &kim()).await.unwrap();
    t.db.look_now().await.unwrap();
    locks.break_lock(&key, 1, &lee(), "urgent").await.unwrap();
    for (viewer, mut events) in seen {
        let Some(LockEvent::Acquired(holder)) = events.next().await else { panic!("not acquired") };
        assert_eq!(holder.owner.is_hidden(), viewer != "kim");
        let Some(LockEvent::Ended { holder, why: LeaseLossReason::Broken { by, .. } }) = events.next().await else {
            panic!("no end")
        };
        assert_eq!((holder.owner.is_hidden(), by.is_hidden()), (viewer != "kim", viewer != "lee"));
    }
    let mut events = locks.acting_for(&park()).watch([key.clone()]).unwrap();
    locks.try_lock(&key, &kim()).await.unwrap();
    let Some(LockEvent::Snapshot { keys, .. }) = events.next().await else { panic!("no snapshot") };
    assert!(keys[0].holders.iter().all(|holder| holder.owner.is_hidden()), "{keys:?}");
}

pub async fn processes_see_each_others_events(t: &TestDb) {
    let key = key();
    let often = Duration::from_millis(10);
    let one = LockManager::new(&t.process_with_poll_interval(often).await);
    let other = LockManager::new(&t.process_with_poll_interval(often).await);
    let (mut ones, mut others) = (Events::of(&one, &key).await, Events::of(&other, &key).await);
    let lease = one.try_lock(&key, &kim()).await.unwrap();
    for events in [&mut ones, &mut others] {
        assert_eq!(events.short().await, "1 by kim");
    }
    other.break_lock(&key, 1, &lee(), "urgent").await.unwrap();
    for events in [&mut ones, &mut others] {
        assert_eq!(events.short().await, "1 of kim broken by lee: urgent");
    }
    assert!(one.release_lock(lease.id()).await.is_err());
}

pub async fn no_holder_change_between_two_polls_is_lost(t: &TestDb) {
    let (process, key) = (t.another_process().await, key());
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    // One poll begins before all that, and the next comes after it.
    let locks = LockManager::new(&process);
    let mut events = Events::of(&locks, &key).await;
    t.locks.release_lock(held.id()).await.unwrap();
    for _ in 0..3 {
        let lease = t.locks.try_lock(&key, &lee()).await.unwrap();
        t.locks.release_lock(lease.id()).await.unwrap();
    }
    t.locks.try_lock(&key, &lee()).await.unwrap();
    t.locks.break_lock(&key, 5, &park(), "enough").await.unwrap();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    process.look_now().await.unwrap();
    let mut told = Vec::new();
    while told.len() < 10 {
        told.push(events.short().await);
    }
    let expected = [
        "1 of kim released",
        "2 by lee",
        "2 of lee released",
        "3 by lee",
        "3 of lee released",
        "4 by lee",
        "4 of lee released",
        "5 by lee",
        "5 of lee broken by park: enough",
        "6 by kim",
    ];
    assert_eq!(told, expected);
}

pub async fn slow_subscriber_gets_a_snapshot_of_missed_events(t: &TestDb) {
    let (key, other) = (key(), key());
    let mut slow = Events { events: t.locks.watch([key.clone(), other.clone()]).unwrap(), waiting: 0 };
    slow.snapshot().await;
    for _ in 0..150 {
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        t.locks.release_lock(lease.id()).await.unwrap();
    }
    let lease = t.locks.try_lock(&key, &lee()).await.unwrap();
    t.db.look_now().await.unwrap();
    let (missed, keys) = slow.snapshot().await;
    assert_eq!((missed, keys[0].generation, &keys[0].holders[0].owner), (true, 151, &lee()));
    assert_eq!((&keys[1].key, keys[1].generation), (&other, 0));
    // And it continues from there.
    t.locks.release_lock(lease.id()).await.unwrap();
    assert_eq!(slow.short().await, "151 of lee released");
}

pub async fn poll_is_one_statement_for_many_watchers(t: &TestDb) {
    let process = t.process_with_poll_interval(NEVER).await;
    let locks = LockManager::new(&process);
    let keys: Vec<LockKey> = (0..100).map(|_| key()).collect();
    let mut watchers: Vec<Watch> = (0..50).map(|_| locks.watch(keys.clone()).unwrap()).collect();
    for watcher in &mut watchers {
        let Some(LockEvent::Snapshot { keys, .. }) = watcher.next().await else { panic!("no snapshot") };
        assert_eq!(keys.len(), 100);
    }
    assert_eq!(process.look_now().await.unwrap(), 1);
}

pub async fn a_thousand_keys_are_watched_at_once(t: &TestDb) {
    let keys: Vec<LockKey> = (0..1_000).map(|_| LockKey::new("Order", random())).collect();
    let process = t.process_with_poll_interval(NEVER).await;
    let locks = LockManager::new(&process);
    let mut events = locks.watch(keys.clone()).unwrap();
    let Some(LockEvent::Snapshot { keys: seen, .. }) = events.next().await else { panic!("no snapshot") };
    assert!(seen.iter().map(|snapshot| &snapshot.key).eq(&keys));
    t.locks.try_lock(&keys[0], &kim()).await.unwrap();
    t.locks.try_lock(&keys[999], &lee()).await.unwrap();
    assert_eq!(process.look_now().await.unwrap(), 2, "500 keys with each statement");
    let mut told = [events.next().await.unwrap(), events.next().await.unwrap()].map(|event| short(&event));
    told.sort();
    assert_eq!(told, ["1 by kim", "1 by lee"]);
}

pub async fn no_poll_without_watchers(t: &TestDb) {
    let key = key();
    let (one, other) = (Events::of(&t.locks, &key).await, Events::of(&t.locks, &key).await);
    drop(one);
    assert_eq!(t.db.look_now().await.unwrap(), 1);
    drop(other);
    assert_eq!(t.db.look_now().await.unwrap(), 0);
}
