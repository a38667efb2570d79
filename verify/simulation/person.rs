//! A client: does random things with locks, drops some calls half-way, and has every answer judged.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::judge::{Call, text};
use super::world::World;
use crate::error::{BreakError, DatabaseError, Error, LeaseError, LockError, TakeOverError};
use crate::lease::{Lease, LockId, LockKey, Owner};
use crate::lock_manager::LockManager;
use crate::unit_of_work::{Database, Repository};
use crate::version::Version;

/// The aggregate whose leases are resumed.
#[derive(tenure::Aggregate)]
#[aggregate(table = "short")]
pub(super) struct Short {
    #[aggregate(id)]
    no: String,
}

/// How long an answer may take beyond the limit of the call, in milliseconds.
const CALM: i64 = 1_100;
const STORM: i64 = 3_100;
/// The limit of operations without a limit of their own.
const USUAL: Duration = Duration::from_secs(5);

pub(super) struct Person {
    pub(super) world: Arc<World>,
    pub(super) db: Database,
    pub(super) locks: LockManager,
    pub(super) owner: Owner,
    pub(super) keys: Vec<LockKey>,
    /// Every lock id that was used, with its key: those that hold a lease, and others.
    pub(super) used: Vec<(LockId, LockKey)>,
    /// Whether it pauses between two calls.
    pub(super) pauses: bool,
}

impl Person {
    /// Does so many things.
    pub(super) async fn live(mut self, steps: usize) -> Self {
        for _ in 0..steps {
            let pause = match self.roll(10) {
                0 => self.millis(500, 4_000),
                _ if !self.pauses => self.millis(0, 2),
                1..4 => self.millis(20, 500),
                _ => self.millis(0, 20),
            };
            tokio::time::sleep(pause).await;
            self.step().await;
        }
        self
    }

    /// Releases everything.
    pub(super) async fn leave(self) {
        for (id, key) in self.used.iter().rev() {
            let mut attempts = 0;
            while let Err(LeaseError::Database(error)) = self.locks.release_lock(id).await {
                attempts += 1;
                if attempts == 20 {
                    return self.world.violated(format_args!("{key:?} could not be released: {error}"));
                }
            }
        }
    }

    fn roll(&self, below: usize) -> usize {
        self.world.random().below(below)
    }

    fn millis(&self, from: u64, to: u64) -> Duration {
        self.world.random().millis(from, to)
    }

    fn key(&self) -> LockKey {
        self.world.random().one_of(&self.keys)
    }

    fn exclusive_key(&self) -> LockKey {
        let keys: Vec<_> = self.keys.iter().filter(|key| ["Short", "Long"].contains(&key.kind())).cloned().collect();
        self.world.random().one_of(&keys)
    }

    /// A lock id that was used before, mostly the latest ones.
    fn known(&self) -> Option<(LockId, LockKey)> {
        let recent: Vec<_> = self.used.iter().rev().take(5).cloned().collect();
        (!recent.is_empty()).then(|| self.world.random().one_of(&recent))
    }

    fn new_id(&mut self, key: &LockKey) -> LockId {
        let id = LockId::random();
        self.used.push((id.clone(), key.clone()));
        id
    }

    /// A dropped call must leave nothing behind, so in half of the cases the client never presents its lock id again.
    fn dropped(&mut self, id: &LockId) {
        if self.roll(2) == 0 {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: &LockId) {
        self.used.retain(|(used, _)| used != id);
    }

    async fn step(&mut self) {
        match self.roll(100) {
            0..18 => self.try_lock().await,
            18..30 => self.ask_again().await,
            30..44 => self.wait().await,
            44..54 => self.keep().await,
            54..57 => self.extend().await,
            57..60 => self.shorten().await,
            60..74 => self.release().await,
            74..77 => self.check().await,
            77..84 => self.job().await,
            84..86 => self.break_in().await,
            86..89 => self.take_over().await,
            89..98 => self.resume().await,
            _ => self.sign_out().await,
        }
    }

    /// Runs a call, or drops it half-way. `None` if it was dropped.
    async fn call<T>(
        &self,
        name: &'static str,
        about: &LockKey,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<(Call, T)> {
        let (who, from) = (&self.owner.id, self.world.now());
        self.world.called();
        self.world.tell(format_args!("{who}: {name} {about:?}"));
        if self.roll(100) < 14 {
            let after = if self.roll(2) == 0 { self.millis(0, 5) } else { self.millis(0, 400) };
            let Ok(answer) = tokio::time::timeout(after, work).await else {
                self.world.tell(format_args!("{who}: {name} dropped"));
                return None;
            };
            return Some((Call { name, from, to: self.world.now() }, answer));
        }
        let most =
            i64::try_from(limit.as_millis()).expect("it is short") + if self.world.was_calm() { CALM } else { STORM };
        let Ok(answer) = tokio::time::timeout(limit + Duration::from_secs(300), work).await else {
            self.world.violated(format_args!("{who}: {name} {about:?} never ended"));
            return None;
        };
        let call = Call { name, from, to: self.world.now() };
        if call.to - call.from > most {
            self.world.violated(format_args!("{who}: {name} {about:?} took {} ms", call.to - call.from));
        }
        Some((call, answer))
    }

    /// A call that acquires a lease with this lock id.
    async fn acquire<T>(
        &self,
        name: &'static str,
        key: &LockKey,
        id: &LockId,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<(Call, T)> {
        let lock = id.hash();
        self.world.tables().log.begin_call(&lock, self.world.now());
        let answer = self.call(name, key, limit, work).await;
        self.world.tables().log.end_call(&lock, self.world.now());
        answer
    }

    fn judge_lock(&self, call: Call, key: &LockKey, id: &LockId, answer: Result<Lease, LockError>) {
        let world = &self.world;
        world.tell(format_args!("{}: {} {}", self.owner.id, call.name, outcome(&answer)));
        match answer {
            Ok(lease) => world.judge_lease(call, &self.owner.id, &lease),
            Err(LockError::AlreadyLocked(holder)) => world.judge_refusal(call, key, &holder),
            Err(LockError::LockTimeout { .. }) => world.judge_timeout(call, key),
            Err(LockError::LockIdUsed(no_lock)) => world.judge_no_lock(call, &id.hash(), &no_lock),
            Err(LockError::Database(error)) => {
                // The client was told that it may have the lease.
                if matches!(error, DatabaseError::OutcomeUnknown(_)) {
                    world.tables().log.excused.insert(id.hash().to_vec());
                } else {
                    world.judge_unchanged(call, &id.hash(), &error);
                }
                world.judge_failure(call, &error);
            }
            Err(LockError::LimitReached { .. } | LockError::LockingFailed { .. }) => {}
            Err(other) => world.violated(format_args!("{}: {other}", call.name)),
        }
    }

    fn judge_lease(&self, call: Call, id: &LockId, answer: Result<Lease, LeaseError>) {
        match answer {
            Ok(lease) => self.world.judge_lease(call, &self.owner.id, &lease),
            Err(LeaseError::NoLock(no_lock)) => self.world.judge_no_lock(call, &id.hash(), &no_lock),
            Err(LeaseError::Database(error)) => self.world.judge_failure(call, &error),
        }
    }

    async fn try_lock(&mut self) {
        let key = self.key();
        let id = self.new_id(&key);
        let work = self.locks.try_lock_as(&key, &self.owner, id.clone());
        match self.acquire("try_lock", &key, &id, USUAL, work).await {
            Some((call, answer)) => self.judge_lock(call, &key, &id, answer),
            None => self.dropped(&id),
        }
    }

    async fn ask_again(&mut self) {
        let Some((id, key)) = self.known() else { return };
        let work = self.locks.try_lock_as(&key, &self.owner, id.clone());
        if let Some((call, answer)) = self.acquire("try_lock again", &key, &id, USUAL, work).await {
            self.judge_lock(call, &key, &id, answer);
        }
    }

    async fn wait(&mut self) {
        let (key, within) = (self.exclusive_key(), self.millis(100, 12_000));
        let known = self.known().filter(|(_, known)| *known == key && self.roll(3) == 0);
        let (id, is_new) = known.map_or_else(|| (self.new_id(&key), true), |(id, _)| (id, false));
        let work = self.locks.lock(&key, &self.owner).within(within).with_id(id.clone()).into_future();
        match self.acquire("lock", &key, &id, within, work).await {
            Some((call, answer)) => self.judge_lock(call, &key, &id, answer),
            None if is_new => self.dropped(&id),
            None => {}
        }
    }

    async fn keep(&mut self) {
        let Some((id, key)) = self.known() else { return };
        let ids: Vec<LockId> = match self.roll(3) {
            0 => self.used.iter().rev().take(6).map(|(id, _)| id.clone()).collect(),
            _ => vec![id],
        };
        if let Some((call, answer)) = self.call("keep_alive", &key, USUAL, self.locks.keep_alive(&ids)).await {
            match answer {
                Ok(kept) if kept.len() != ids.len() => self.world.violated("keep_alive: answers are missing"),
                Ok(kept) => ids.iter().zip(kept).for_each(|(id, kept)| {
                    self.judge_lease(call, id, kept.map_err(LeaseError::NoLock));
                }),
                Err(error) => self.world.judge_failure(call, &error),
            }
        }
    }

    async fn extend(&mut self) {
        let Some((id, key)) = self.known() else { return };
        let work = self.locks.extend_lock_expiration(&id, self.millis(0, 5_000));
        if let Some((call, answer)) = self.call("extend", &key, USUAL, work).await {
            self.judge_lease(call, &id, answer);
        }
    }

    async fn shorten(&mut self) {
        let Some((id, key)) = self.known() else { return };
        let work = self.locks.expire_within(&id, self.millis(0, 2_000));
        if let Some((call, answer)) = self.call("expire_within", &key, USUAL, work).await
            && answer.is_err()
        {
            self.judge_lease(call, &id, answer);
        }
    }

    async fn release(&mut self) {
        let Some((id, key)) = self.known() else { return };
        if let Some((call, answer)) = self.call("release", &key, USUAL, self.locks.release_lock(&id)).await {
            match answer {
                Ok(()) => {
                    let alive =
                        self.world.tables().log.of_lock(&id.hash()).any(|span| span.surely_alive_in(call.to, call.to));
                    // A request that was dropped earlier cannot acquire a lease under a lock id whose lease was released.
                    if alive {
                        self.world.violated(format_args!("release: {key:?} is still held by its lock id"));
                    }
                }
                Err(LeaseError::NoLock(no_lock)) => self.world.judge_no_lock(call, &id.hash(), &no_lock),
                Err(error) => self.world.judge_failure(call, &error),
            }
        }
    }

    async fn check(&mut self) {
        let Some((id, key)) = self.known() else { return };
        if let Some((call, answer)) = self.call("check", &key, USUAL, self.locks.check_lock(&id)).await {
            self.judge_lease(call, &id, answer);
        }
    }

    /// A job under a guard, which relies on its lease as long as the guard says so.
    async fn job(&mut self) {
        let key = self.exclusive_key();
        let (id, within) = (self.new_id(&key), self.millis(100, 6_000));
        let hold = self.locks.hold(&key, &self.owner).with_id(id.clone());
        let (hold, limit) = if self.roll(2) == 0 { (hold, USUAL) } else { (hold.within(within), within + USUAL) };
        let held = self.acquire("hold", &key, &id, limit, hold.into_future()).await;
        // Whatever happens to the guard, it leaves no lease behind.
        self.forget(&id);
        let Some((call, guard)) = held else { return };
        let guard = match guard {
            Ok(guard) => guard,
            Err(error) => return self.judge_lock(call, &key, &id, Err(error)),
        };
        let until = self.world.now() + i64::try_from(self.millis(0, 9_000).as_millis()).expect("it is short");
        while self.world.now() < until {
            tokio::time::sleep(self.millis(1, 700)).await;
            if guard.check().is_err() {
                // The loss has a reason, which the guard returns at once.
                if tokio::time::timeout(Duration::from_millis(1), guard.lost()).await.is_err() {
                    self.world.violated(format_args!("{key:?}: the guard does not say why the lease is lost"));
                }
                break;
            }
            let (tables, now) = (self.world.tables(), self.world.now());
            let spans: Vec<_> = tables.log.of_lock(&id.hash()).cloned().collect();
            drop(tables);
            // Somebody may have ended it: the guard learns of that with its next heartbeat.
            if !spans.iter().any(|span| span.ended.is_some() || span.maybe_alive(now)) {
                self.world.violated(format_args!("{}: the guard relies on an expired lease {spans:?}", self.owner.id));
            }
        }
        match self.roll(3) {
            0 => drop(guard),
            _ => {
                if let Some((call, Err(LeaseError::Database(error)))) =
                    self.call("guard.release", &key, USUAL, guard.release()).await
                {
                    self.world.judge_failure(call, &error);
                }
            }
        }
    }

    /// The generation of a holder of the key, as this client sees it.
    async fn seen(&self, key: &LockKey) -> Option<i64> {
        let (call, holders) = self.call("holders", key, USUAL, self.locks.holders(key)).await?;
        match holders {
            Ok(holders) => {
                holders.iter().for_each(|holder| self.world.judge_refusal(call, key, holder));
                holders.first().map(|holder| holder.generation)
            }
            Err(error) => {
                self.world.judge_failure(call, &error);
                None
            }
        }
    }

    async fn break_in(&mut self) {
        let key = self.key();
        let Some(generation) = self.seen(&key).await else { return };
        let work = self.locks.break_lock(&key, generation, &self.owner, "a reason");
        if let Some((call, answer)) = self.call("break", &key, USUAL, work).await {
            match answer {
                Ok(broken) if broken.generation != generation => {
                    self.world.violated(format_args!("break: another lease was ended: {}", text(&broken)));
                }
                Ok(_) | Err(BreakError::HolderChanged { .. }) => {}
                Err(BreakError::Database(error)) => self.world.judge_failure(call, &error),
                Err(other) => self.world.violated(format_args!("break: {other}")),
            }
        }
    }

    async fn take_over(&mut self) {
        let key = self.exclusive_key();
        let Some(generation) = self.seen(&key).await else { return };
        let id = self.new_id(&key);
        let again = || self.locks.take_over(&key, generation, &self.owner, id.clone(), "a reason");
        let mut answer = self.acquire("take_over", &key, &id, 2 * USUAL, again()).await;
        if answer.is_none() && self.roll(2) == 0 {
            answer = self.acquire("take_over again", &key, &id, 2 * USUAL, again()).await;
        }
        if let Some((call, answer)) = answer {
            match answer {
                Ok(lease) => self.world.judge_lease(call, &self.owner.id, &lease),
                Err(TakeOverError::HolderChanged { .. } | TakeOverError::LimitReached { .. }) => {}
                Err(TakeOverError::LockIdUsed(no_lock)) => self.world.judge_no_lock(call, &id.hash(), &no_lock),
                Err(TakeOverError::Database(error)) => self.world.judge_failure(call, &error),
                Err(other) => self.world.violated(format_args!("take_over: {other}")),
            }
        }
    }

    /// Requests a lease of somebody else, and hands over one of their own to the first requester.
    async fn resume(&mut self) {
        let Some((id, key)) = self.known().filter(|(_, key)| key.kind() == "Short") else { return };
        self.world.tables().resumed.insert(self.owner.id.clone());
        let repository = Repository::<Short>::new(&self.db);
        let (locks, no) = (self.locks.acting_for(&self.owner), key.id().to_owned());
        let work = locks.resume(&repository, &no, &id, Version::FIRST);
        if let Some((call, answer)) = self.call("resume", &key, 2 * USUAL, work).await {
            self.world.tell(format_args!("{}: resume {}", self.owner.id, outcome(&answer)));
            match answer {
                Ok(lease) => self.world.judge_lease(call, &self.owner.id, &lease),
                Err(Error::AlreadyLocked(holder)) => self.world.judge_refusal(call, &key, &holder),
                Err(Error::NoLock(no_lock)) => self.world.judge_no_lock(call, &id.hash(), &no_lock),
                Err(Error::Database(error)) => self.world.judge_failure(call, &error),
                Err(other) => self.world.violated(format_args!("resume: {other}")),
            }
        }
    }

    async fn sign_out(&mut self) {
        let about = self.keys[0].clone();
        let Some((call, answer)) =
            self.call("release_all", &about, USUAL, self.locks.release_all(&self.owner.id)).await
        else {
            return;
        };
        match answer {
            Ok(released) if released.iter().any(|holder| holder.owner.id != self.owner.id) => {
                self.world.violated(format_args!("release_all of {} released {released:?}", self.owner.id));
            }
            Ok(_) => {}
            Err(error) => self.world.judge_failure(call, &error),
        }
    }
}

/// The outcome in a few words, without anything that differs between two runs of a seed.
fn outcome<E: std::fmt::Display>(answer: &Result<impl Shown, E>) -> String {
    match answer {
        Ok(shown) => format!("-> {}", shown.shown()),
        Err(error) => format!("-> {error}"),
    }
}

trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Lease {
    fn shown(&self) -> String {
        text(self.holder())
    }
}

impl Shown for crate::lease::Holder {
    fn shown(&self) -> String {
        text(self)
    }
}
