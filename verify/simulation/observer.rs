//! A subscriber of all keys: what it is told has to be what happened, once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::sync::{Arc, Mutex};

use super::world::{World, locked};
use crate::lease::{LeaseLossReason, LockKey};
use crate::watch::{LockEvent, LockSnapshot, Watch};

/// A key as the subscriber knows it.
#[derive(Debug, Default)]
struct Known {
    /// The highest generation of the snapshot.
    from: i64,
    live: BTreeSet<i64>,
    begun: BTreeSet<i64>,
    waiting: u32,
}

/// The subscriber of a process.
pub(super) struct Observer {
    world: Arc<World>,
    process: usize,
    keys: Mutex<BTreeMap<LockKey, Known>>,
}

impl Observer {
    pub(super) fn new(world: &Arc<World>, process: usize) -> Arc<Self> {
        Arc::new(Observer { world: Arc::clone(world), process, keys: Mutex::default() })
    }

    /// Reads events, sometimes slowly, until the subscription is dropped.
    pub(super) async fn read(self: Arc<Self>, mut watch: Watch) {
        while let Some(event) = watch.next().await {
            self.hear(event);
            if self.world.random().percent(5) {
                let pause = self.world.random().millis(0, 2_000);
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn hear(&self, event: LockEvent) {
        self.world.tell(format_args!("process {} is told {}", self.process, name(&event)));
        let mut keys = locked(&self.keys);
        match event {
            LockEvent::Snapshot { keys: snapshot, .. } => {
                *keys = snapshot.into_iter().map(|key| (key.key.clone(), known(&key))).collect();
            }
            LockEvent::Waiting { key, waiting } => keys.entry(key).or_default().waiting = waiting,
            LockEvent::PresenceChanged(_) | LockEvent::VersionChanged { .. } => {}
            LockEvent::Acquired(holder) => {
                let known = keys.entry(holder.key.clone()).or_default();
                let last = known.begun.last().copied().unwrap_or(known.from);
                if holder.generation <= last {
                    self.wrong(&holder.key, format_args!("generation {} begins after {last}", holder.generation));
                }
                if self.world.tables().log.of(&holder.key, holder.generation).is_none() {
                    self.wrong(&holder.key, format_args!("generation {} never was", holder.generation));
                }
                known.begun.insert(holder.generation);
                known.live.insert(holder.generation);
            }
            LockEvent::Resumed(holder) => {
                let known = keys.entry(holder.key.clone()).or_default();
                if !known.live.insert(holder.generation) {
                    self.wrong(
                        &holder.key,
                        format_args!("generation {} is resumed and had not ended", holder.generation),
                    );
                }
            }
            LockEvent::Ended { holder, why } => {
                let history = self.world.tables().history(&holder.key, holder.generation);
                // An expired lease may have been resumed since, and have ended again.
                let differs = |history: &LeaseLossReason| discriminant(history) != discriminant(&why);
                let is_final = !matches!(why, LeaseLossReason::Expired { .. });
                if let Some(history) = history.filter(|history| is_final && differs(history)) {
                    let generation = holder.generation;
                    self.wrong(&holder.key, format_args!("generation {generation} ends by {why:?}, but {history:?}"));
                }
                let known = keys.entry(holder.key.clone()).or_default();
                if !known.live.remove(&holder.generation) {
                    self.wrong(&holder.key, format_args!("generation {} ends and was not alive", holder.generation));
                }
            }
        }
    }

    fn wrong(&self, key: &LockKey, what: std::fmt::Arguments<'_>) {
        self.world.violated(format_args!("events of process {} about {key:?}: {what}", self.process));
    }

    /// Some time after the last change: the subscriber knows the state, and has missed no lease.
    pub(super) fn judge(&self) {
        let (keys, now) = (locked(&self.keys), self.world.now());
        let mut wrong = Vec::new();
        {
            let tables = self.world.tables();
            for (key, known) in &*keys {
                let live: BTreeSet<i64> = tables.alive(key, now).map(|row| row.generation).collect();
                if live != known.live {
                    wrong.push((key, format!("it knows the leases {:?}, but alive are {live:?}", known.live)));
                }
                let waiting = tables.line(key, now).count();
                if usize::try_from(known.waiting) != Ok(waiting) {
                    wrong.push((key, format!("it knows {} waiters of {waiting}", known.waiting)));
                }
                let told = |generation| generation <= known.from || known.begun.contains(&generation);
                let spans = tables.log.spans.iter().filter(|span| span.key == *key);
                let missed = spans.filter(|span| !told(span.generation));
                wrong.extend(missed.map(|span| (key, format!("generation {} was never told", span.generation))));
            }
            if keys.is_empty() {
                drop(tables);
                self.world.violated(format_args!("process {} got no snapshot", self.process));
            }
        }
        wrong.into_iter().for_each(|(key, what)| self.wrong(key, format_args!("{what}")));
    }
}

fn known(snapshot: &LockSnapshot) -> Known {
    let live = snapshot.holders.iter().map(|holder| holder.generation).collect();
    Known { from: snapshot.generation, live, begun: BTreeSet::new(), waiting: snapshot.waiting }
}

fn name(event: &LockEvent) -> String {
    let name = match event {
        LockEvent::Snapshot { .. } => "a snapshot",
        LockEvent::Acquired(_) => "acquired",
        LockEvent::Resumed(_) => "resumed",
        LockEvent::PresenceChanged(_) => "a presence",
        LockEvent::Ended { .. } => "ended",
        LockEvent::Waiting { waiting, .. } => return format!("{:?}: {waiting} waiting", event.key()),
        LockEvent::VersionChanged { .. } => "a version",
    };
    format!("{:?}: {name} {:?}", event.key(), event.generation())
}
