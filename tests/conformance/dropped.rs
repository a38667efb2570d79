//! Dropped calls: their leases are released, and results that others received stay true.
//!
//! Each call of `calls.rs` is dropped at its first poll, at its second, and so on until it is ready. After each the key is requested by
//! somebody else. The clock does not move, so no lease expires: a key is free only if it was released.

use std::convert::Infallible;
use std::future::IntoFuture;
use std::time::Duration;

use tenure::unit_of_work::{LockSet, Retry};
use tenure::{
    Aggregate, Lease, LockId, LockKey, LockManager, LockMode, Owner, Transaction, Version, Wait,
    error::{Error, LockError},
    lease::Heartbeat,
};
use tokio::task::JoinSet;

use super::calls::{ACQUIRING, Call, ENDING, HOLDING, READING, SAVING, UPDATING};
use super::order::{Counter, Order};
use super::support::{MINUTE, TestDb, key, kim, lee, random};
use super::transactions::cancelled_after;

/// Far more polls than any of these calls has, with the sign-in of a new connection: the driver yields 819 times while it hashes its
/// password. A drop in the middle of that ends the connection, so a call that needs a new one gets through only after as many polls.
const MOST: usize = 1_500;
/// Far longer than a release in the background takes, and far shorter than a time to live.
const SOON: Duration = Duration::from_secs(30);

/// One drop: its objects, which no other case shares.
struct Case {
    locks: LockManager,
    no: String,
    /// The key of an order.
    key: LockKey,
    /// The lock id for a new lease.
    id: LockId,
    kim: Owner,
    /// The lease of Kim's form.
    held: Option<Lease>,
}

impl Case {
    async fn new(t: &TestDb, locks: &LockManager, call: Call) -> Self {
        use Call::*;
        let (locks, no) = (locks.clone(), t.order().await);
        let key = LockKey::new("Order", no.clone());
        // A separate owner for each case, because others share the server and there is a limit.
        let mut case = Case { locks, kim: Owner::new(random(), "Kim"), no, key, id: LockId::random(), held: None };
        match call {
            _ if ACQUIRING.contains(&call) && call != TakeOver || READING.contains(&call) => {}
            ReleaseGuard | Lost | RunUnderGuard | UnlessLocked | UpdateUnlessLocked => {}
            _ => case.held = Some(case.locks.try_lock(&case.key, &case.kim).await.unwrap()),
        }
        case
    }

    fn lock_id(&self) -> &LockId {
        self.held.as_ref().unwrap().id()
    }

    /// A transaction that saves under the lease.
    async fn saving(&self, t: &TestDb) -> Transaction {
        let mut tx = t.db.begin().await.unwrap();
        if self.held.is_some() {
            tx.holding(&self.key, self.lock_id()).await.unwrap();
        }
        tx
    }

    /// The order is loaded under the lease.
    async fn loaded(&self, t: &TestDb) -> (Transaction, tenure::Loaded<Order>) {
        let mut tx = self.saving(t).await;
        let order = t.find(&mut tx, &self.no).await;
        (tx, order)
    }

    /// Runs the call; returns the lock ids of the leases that the caller has received.
    ///
    /// In parts: the future of all calls together is too large for a stack.
    async fn ask(&self, call: Call, t: &TestDb) -> Vec<LockId> {
        match call {
            _ if ACQUIRING.contains(&call) => Box::pin(self.acquire(call)).await,
            _ if ENDING.contains(&call) => Box::pin(self.end(call)).await,
            _ if HOLDING.contains(&call) => Box::pin(self.hold(call, t)).await,
            _ if SAVING.contains(&call) => Box::pin(self.save(call, t)).await,
            _ if UPDATING.contains(&call) => Box::pin(self.update(call, t)).await,
            _ => Box::pin(self.read(call, t)).await,
        }
    }

    async fn acquire(&self, call: Call) -> Vec<LockId> {
        use Call::*;
        let Case { locks, key, id, kim, .. } = self;
        let id_of = |lease: Lease| vec![lease.id().clone()];
        match call {
            TryLock => id_of(locks.try_lock(key, kim).await.unwrap()),
            TryLockAs => id_of(locks.try_lock_as(key, kim, id.clone()).await.unwrap()),
            Lock => id_of(locks.lock(key, kim).within(MINUTE).await.unwrap()),
            LockWithId => id_of(locks.lock(key, kim).within(MINUTE).with_id(id.clone()).await.unwrap()),
            // The guard is dropped, which releases the lease.
            Hold => none(locks.hold(key, kim).await.unwrap()),
            HoldWithId => none(locks.hold(key, kim).with_id(id.clone()).await.unwrap()),
            HoldWithin => none(locks.hold(key, kim).within(MINUTE).await.unwrap()),
            HoldWithinWithId => none(locks.hold(key, kim).within(MINUTE).with_id(id.clone()).await.unwrap()),
            TakeOver => id_of(locks.take_over(key, 1, kim, id.clone(), "it is my other tab").await.unwrap()),
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    async fn end(&self, call: Call) -> Vec<LockId> {
        use Call::*;
        let Case { locks, kim, key, .. } = self;
        match call {
            ReleaseLock => done(locks.release_lock(self.lock_id()).await),
            ReleaseAll => none(locks.release_all(&kim.id).await.unwrap()),
            ReleaseGuard => done(locks.hold(key, kim).await.unwrap().release().await),
            ExpireWithin => none(locks.expire_within(self.lock_id(), Duration::ZERO).await.unwrap()),
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    async fn hold(&self, call: Call, t: &TestDb) -> Vec<LockId> {
        use Call::*;
        let Case { locks, no, kim, key, .. } = self;
        match call {
            CheckLock => none(locks.check_lock(self.lock_id()).await.unwrap()),
            KeepAlive => none(locks.keep_alive(&[self.lock_id().clone()]).await.unwrap()),
            KeepAliveWith => none(locks.keep_alive_with(&[Heartbeat::active(self.lock_id().clone())]).await.unwrap()),
            Extend => none(locks.extend_lock_expiration(self.lock_id(), MINUTE).await.unwrap()),
            Resume => none(locks.resume(&t.orders, no, self.lock_id(), Version::FIRST).await.unwrap()),
            Break => none(locks.break_lock(key, 1, &lee(), "she is on holiday").await.unwrap()),
            Lost => {
                let guard = locks.hold(key, kim).await.unwrap();
                // It is never lost.
                none(cancelled_after(0, guard.lost()).await)
            }
            RunUnderGuard => {
                let guard = locks.hold(key, kim).await.unwrap();
                done(guard.run(tokio::task::yield_now()).await)
            }
            Holders => none(locks.holders(key).await.unwrap()),
            List => none(locks.list().of_type("Order").limit(1).run().await.unwrap()),
            History => none(locks.history(key).run().await.unwrap()),
            HeldByType => none(locks.held_by_type().await.unwrap()),
            Sweep => none(locks.sweep(2 * 24 * 60 * MINUTE).of_type(no.clone()).run().await.unwrap()),
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    async fn save(&self, call: Call, t: &TestDb) -> Vec<LockId> {
        use Call::*;
        let Case { locks, no, key, .. } = self;
        match call {
            Begin => none(t.db.begin().await.unwrap()),
            BeginWithin => none(t.db.begin_within(Wait::Within(MINUTE)).await.unwrap()),
            Retry => {
                let work = || async {
                    let mut tx = t.db.begin().await?;
                    tx.holding(key, self.lock_id()).await?;
                    tx.commit().await
                };
                none(t.db.retry(self::Retry::transient(3), work).await.unwrap())
            }
            Commit => {
                let (mut tx, mut order) = self.loaded(t).await;
                order.gift = None;
                order.lines.clear();
                t.orders.save(&mut tx, &mut order).await.unwrap();
                done(tx.commit().await)
            }
            Rollback => done(self.saving(t).await.rollback().await),
            Holding => none(self.saving(t).await),
            Releasing => {
                let mut tx = t.db.begin().await.unwrap();
                tx.releasing(key, self.lock_id()).await.unwrap();
                done(tx.commit().await)
            }
            FromForm => {
                let mut tx = t.db.begin().await.unwrap();
                tx.from_form(key, Some(self.lock_id())).await.unwrap();
                done(tx.commit().await)
            }
            UnlessLocked => {
                let mut tx = t.db.begin().await.unwrap();
                done(tx.unless_locked(key).await)
            }
            UnlessLockedExcept => {
                let mut tx = t.db.begin().await.unwrap();
                done(tx.unless_locked_except(key, 1).await)
            }
            LockAll => {
                let mut tx = self.saving(t).await;
                let set = LockSet::new().add::<Order>(no).add::<Counter>(&random());
                none(tx.lock_all(set, LockMode::PessimisticWrite).await.unwrap())
            }
            Guard => {
                let mut tx = t.db.begin().await.unwrap();
                none(locks.guard(&mut tx, self.lock_id()).await.unwrap())
            }
            ReleaseWithin => {
                let mut tx = t.db.begin().await.unwrap();
                locks.release_within(&mut tx, self.lock_id()).await.unwrap();
                done(tx.commit().await)
            }
            Find => none(self.loaded(t).await),
            FindMany => {
                let mut tx = self.saving(t).await;
                none(t.orders.find_many(&mut tx, &[no.clone(), random()], LockMode::PessimisticWrite).await.unwrap())
            }
            FindManySkipLocked => {
                let mut tx = self.saving(t).await;
                match t.orders.find_many_skip_locked(&mut tx, std::slice::from_ref(no)).await {
                    Err(Error::Database(error)) if t.has_one_writer() => {
                        assert!(error.to_string().contains("row locks"))
                    }
                    found => drop(found.unwrap()),
                }
                vec![]
            }
            AssertUnchanged => {
                let mut tx = self.saving(t).await;
                done(t.orders.assert_unchanged(&mut tx, no, Version::FIRST).await)
            }
            Insert => {
                let mut tx = self.saving(t).await;
                none(t.orders.insert(&mut tx, Order::new(&random())).await.unwrap())
            }
            Save => {
                let (mut tx, mut order) = self.loaded(t).await;
                order.lines.clear();
                none(t.orders.save(&mut tx, &mut order).await.unwrap())
            }
            SaveAll => {
                let (mut tx, mut order) = self.loaded(t).await;
                order.lines.clear();
                none(t.orders.save_all(&mut tx, &mut [order]).await.remove(0).unwrap())
            }
            Delete => {
                let (mut tx, order) = self.loaded(t).await;
                done(t.orders.delete(&mut tx, order).await)
            }
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    async fn update(&self, call: Call, t: &TestDb) -> Vec<LockId> {
        use Call::*;
        let Case { no, .. } = self;
        match call {
            Update => none(t.orders.update(no).holding(self.lock_id()).run(move_away).await.unwrap()),
            UpdateReleasing => none(t.orders.update(no).releasing(self.lock_id()).run(move_away).await.unwrap()),
            UpdateOfForm => {
                none(t.orders.update(no).from_form(Version::FIRST, Some(self.lock_id())).run(move_away).await.unwrap())
            }
            UpdateUnlessLocked => none(t.orders.update(no).unless_locked().run(move_away).await.unwrap()),
            UpdateRepeatable => {
                let update = t.orders.update(no).holding(self.lock_id()).retrying(self::Retry::transient(3));
                none(update.run(move_away).await.unwrap())
            }
            UpdateDelete => {
                let update = t.orders.update(no).holding(self.lock_id());
                done(update.delete(move_away).await)
            }
            DryRun => none(t.orders.update(no).holding(self.lock_id()).dry_run(move_away).await.unwrap()),
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    async fn read(&self, call: Call, t: &TestDb) -> Vec<LockId> {
        use Call::*;
        let Case { no, .. } = self;
        match call {
            Get => none(t.orders.get(no).await.unwrap()),
            GetMany => none(t.orders.get_many(std::slice::from_ref(no)).await.unwrap()),
            GetAt => none(t.orders.get_at(no, Version::FIRST).await.unwrap()),
            Changes => none(t.orders.changes(no, 3).await.unwrap()),
            Check => none(t.db.check::<Order>().await.unwrap()),
            CheckMapping => none(t.db.check_mapping(Order::mapping()).await.unwrap()),
            ForgetOperations => none(t.db.forget_operations(MINUTE).await.unwrap()),
            other => unreachable!("{other:?} belongs to another part"),
        }
    }

    /// The key is free for somebody else.
    async fn free(&self, call: Call, waits: usize) {
        let granted = self.locks.lock(&self.key, &other()).within(SOON).await;
        assert!(granted.is_ok(), "{call:?}, dropped after {waits} waits: {granted:?}");
        self.locks.release_lock(granted.unwrap().id()).await.unwrap();
    }
}

/// The caller received something else than a lease.
fn none<T>(_: T) -> Vec<LockId> {
    vec![]
}

/// As [`none`], for a call that returns nothing.
fn done(answer: Result<(), impl std::fmt::Debug>) -> Vec<LockId> {
    answer.unwrap();
    vec![]
}

fn other() -> Owner {
    Owner::new("other", "Other")
}

fn move_away(order: &mut Order) -> Result<(), Infallible> {
    order.ship_to.zip = "04524".into();
    Ok(())
}

/// Drops each of these calls after each number of waits.
async fn each(t: &TestDb, calls: &[Call], locks: &LockManager) {
    for &call in calls {
        let mut waits = 0;
        loop {
            assert!(waits < MOST, "{call:?} has more than {MOST} waits");
            let case = Case::new(t, locks, call).await;
            let told = cancelled_after(waits, case.ask(call, t)).await;
            let is_over = told.is_some();
            // What its callers know, they release; a call that ends a lease has to do that by itself.
            let known = case.held.iter().filter(|_| !ENDING.contains(&call)).map(|lease| lease.id().clone());
            for id in told.into_iter().flatten().chain(known) {
                let _ended = case.locks.release_lock(&id).await;
            }
            case.free(call, waits).await;
            if is_over {
                break;
            }
            waits += 1;
        }
    }
}

pub async fn acquiring_calls_dropped_at_any_poll_leave_the_keys_free(t: &TestDb) {
    each(t, ACQUIRING, &t.locks).await;
    each(t, ACQUIRING, &t.locks.clone().one_by_one()).await;
}

pub async fn ending_calls_dropped_at_any_poll_free_the_keys(t: &TestDb) {
    each(t, ENDING, &t.locks).await;
    each(t, ENDING, &t.locks.clone().one_by_one()).await;
}

pub async fn calls_with_a_lease_dropped_at_any_poll_leave_it_releasable(t: &TestDb) {
    each(t, HOLDING, &t.locks).await;
}

pub async fn saves_dropped_at_any_poll_leave_the_key_free(t: &TestDb) {
    each(t, SAVING, &t.locks).await;
    each(t, UPDATING, &t.locks).await;
}

pub async fn reads_dropped_at_any_poll_leave_the_key_free(t: &TestDb) {
    each(t, READING, &t.locks).await;
}

/// The calls that repeat a request with the caller's lock id.
const WITH_ID: [Call; 2] = [Call::TryLockAs, Call::LockWithId];

pub async fn lock_id_of_a_dropped_request_can_be_used_again(t: &TestDb) {
    for call in WITH_ID {
        for waits in 0..MOST {
            let case = Case::new(t, &t.locks, call).await;
            if cancelled_after(waits, case.ask(call, t)).await.is_some() {
                break;
            }
            case.free(call, waits).await;
            case.ask(call, t).await;
        }
    }
}

pub async fn lock_id_of_two_dropped_requests_is_released(t: &TestDb) {
    for call in WITH_ID {
        // The first are dropped early, the second at any poll, so that the request of each is begun before that of the other is undone.
        for (first, second) in (0..4).flat_map(|first| (0..8).map(move |second| (first, second))) {
            let case = Case::new(t, &t.locks, call).await;
            let mut told = cancelled_after(first, case.ask(call, t)).await.unwrap_or_default();
            told.extend(cancelled_after(second, case.ask(call, t)).await.unwrap_or_default());
            if told.is_empty() {
                case.free(call, second).await;
            }
            for id in told {
                let _ended = case.locks.release_lock(&id).await;
            }
        }
    }
}

pub async fn concurrent_dropped_requests_leave_their_keys_free(t: &TestDb) {
    let mut asking = JoinSet::new();
    let keys: Vec<LockKey> = (0..120).map(|_| key()).collect();
    for (at, key) in keys.iter().cloned().enumerate() {
        let (locks, owner) = (t.locks.clone(), Owner::new(random(), "Kim"));
        asking.spawn(async move {
            let told = cancelled_after(at % 3, locks.try_lock(&key, &owner)).await;
            if let Some(told) = told {
                locks.release_lock(told.unwrap().id()).await.unwrap();
            }
        });
    }
    asking.join_all().await;
    for key in &keys {
        let free = t.locks.lock(key, &lee()).within(MINUTE).await;
        assert!(free.is_ok(), "{free:?}");
        t.locks.release_lock(free.unwrap().id()).await.unwrap();
    }
}

pub async fn dropped_wait_does_not_affect_another_with_its_lock_id(t: &TestDb) {
    let mut told = Vec::new();
    for waits in 0..24 {
        let (key, id) = (key(), LockId::random());
        let held = t.locks.try_lock(&key, &kim()).await.unwrap();
        let ask = || t.locks.lock(&key, &lee()).with_id(id.clone()).within(MINUTE).into_future();
        let (mut first, second) = (ask(), tokio::spawn(ask()));
        assert!(cancelled_after(0, &mut first).await.is_none());
        let (_first, released) = tokio::join!(cancelled_after(waits % 4, first), t.locks.release_lock(held.id()));
        released.unwrap();
        told.push(second.await.unwrap().unwrap());
    }
    for lease in told {
        let held = t.locks.check_lock(lease.id()).await.unwrap();
        assert_eq!(held.holder().generation, lease.holder().generation);
        t.locks.release_lock(lease.id()).await.unwrap();
    }
}

pub async fn lease_survives_a_dropped_repeated_request(t: &TestDb) {
    for call in WITH_ID {
        let mut held = Vec::new();
        for waits in 0..MOST {
            let case = Case::new(t, &t.locks, call).await;
            let mine = case.ask(call, t).await;
            let again = cancelled_after(waits, case.ask(call, t)).await;
            held.extend(mine);
            if again.is_some() {
                break;
            }
            // Also if two of them are dropped, and one is kept alive in between.
            t.locks.keep_alive(&held[held.len() - 1..]).await.unwrap();
            let _ = cancelled_after(waits, case.ask(call, t)).await;
        }
        for id in &held {
            assert_eq!(t.locks.check_lock(id).await.unwrap().holder().generation, 1, "{call:?}");
        }
    }
}

/// The caller who was granted it is gone; another with the same lock id received it in the same millisecond.
pub async fn repeated_request_keeps_the_lease_of_a_dropped_one(t: &TestDb) {
    for other_process in [false, true] {
        let process = t.another_process().await;
        let others = if other_process { LockManager::new(&process) } else { t.locks.clone() };
        let mut told = Vec::new();
        for waits in 0..30 {
            let (key, id) = (key(), LockId::random());
            let owner = Owner::new(random(), "Kim");
            let _first = cancelled_after(waits % 5, t.locks.try_lock_as(&key, &owner, id.clone())).await;
            match others.try_lock_as(&key, &owner, id.clone()).await {
                Ok(second) => told.push(second),
                // It was released during this request, under another lock id.
                Err(LockError::LockingFailed { .. } | LockError::AlreadyLocked(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        for lease in told {
            assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, lease.holder().generation);
        }
        process.close().await;
    }
}
