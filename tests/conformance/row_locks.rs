//! Guarantees of databases with row locks: the interleavings that tear aggregates or deadlock elsewhere.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::{
    Error, LockId, LockKey, LockManager, LockMode, Owner, Transaction, Wait,
    db::Granularity,
    error::{BreakError, DatabaseError, LeaseError, LockError, TakeOverError, UpdateError},
    lease::{Holder, LeaseLossReason},
};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

use super::order::{Line, Order};
use super::support::{MINUTE, TTL, TestDb, kim, lee, random, version};

/// Generous, because the machine may be busy; the default wait is five seconds.
const AT_ONCE: Duration = Duration::from_secs(4);

/// Starts a blocked operation, and checks that it waits.
pub(super) async fn waiting<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    waiting_for(Duration::from_millis(150), work).await
}

/// A row that stays locked: a wait for it ends at its deadline, which others are compared with. A busy machine delays both.
pub(crate) struct LockedRow {
    name: String,
    _holder: Transaction,
}

impl LockedRow {
    pub(crate) async fn new(t: &TestDb) -> Self {
        let (name, mut holder) = (t.counter(0).await, t.db.begin().await.unwrap());
        t.counters.find(&mut holder, &name, LockMode::PessimisticWrite).await.unwrap().unwrap();
        LockedRow { name, _holder: holder }
    }

    /// Fails unless the work ends before a wait of this length that begins now.
    pub(crate) async fn outlasts<T>(&self, t: &TestDb, limit: Duration, work: impl Future<Output = T>) -> T {
        let wait = async {
            let mut tx = t.db.begin_within(Wait::Within(limit)).await.unwrap();
            t.counters.find(&mut tx, &self.name, LockMode::PessimisticWrite).await.unwrap_err()
        };
        tokio::select! {
            biased;
            done = work => done,
            ended = wait => panic!("a wait of {limit:?} was shorter: {ended}"),
        }
    }
}

/// Starts an operation that must wait at least that long.
pub(super) async fn waiting_for<T: Send + 'static>(
    at_least: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let mut task = tokio::spawn(work);
    assert!(tokio::time::timeout(at_least, &mut task).await.is_err(), "it did not wait");
    task
}

fn timed_out(error: &Error) -> bool {
    matches!(error, Error::Database(DatabaseError::LockTimeout { .. }))
}

pub async fn readers_share_a_row_and_a_writer_waits_for_both(t: &TestDb) {
    let no = t.order().await;
    let (mut one, mut two) = (t.db.begin().await.unwrap(), t.db.begin().await.unwrap());
    t.orders.find(&mut one, &no, LockMode::PessimisticRead).await.unwrap().unwrap();
    t.orders.find(&mut two, &no, LockMode::PessimisticRead).await.unwrap().unwrap();
    let write = t.orders.update(&no).locking(LockMode::PessimisticWrite).within(Duration::from_millis(300));
    let refused = write.run(Order::ship).await;
    assert!(matches!(refused, Err(UpdateError::Failed(error)) if timed_out(&error)));
    let (orders, number) = (t.orders.clone(), no.clone());
    let write = async move { orders.update(&number).run(Order::ship).await.map(|order| order.version()) };
    let writer = waiting(write).await;
    one.rollback().await.unwrap();
    two.rollback().await.unwrap();
    assert_eq!(writer.await.unwrap().unwrap(), version(2));
}

/// The deadline of a wait that goes on when another transaction ends, and the time of that end.
pub(super) const LIMIT: Duration = Duration::from_secs(3);
pub(super) const RELEASED: Duration = Duration::from_secs(2);
/// A little less than a deadline that restarts then.
pub(super) const SHORTER: Duration = Duration::from_millis(2_800);

/// A naive lock timeout of 500 ms over two rows lasted 802 ms on PostgreSQL and 1,404 ms on MariaDB.
pub async fn one_deadline_covers_all_rows_of_a_statement(t: &TestDb) {
    let (one, two) = (t.order().await, t.order().await);
    let (mut first, mut second) = (t.db.begin().await.unwrap(), t.db.begin().await.unwrap());
    t.orders.find(&mut first, &one, LockMode::PessimisticWrite).await.unwrap();
    t.orders.find(&mut second, &two, LockMode::PessimisticWrite).await.unwrap();
    let (orders, db) = (t.orders.clone(), t.db.clone());
    let (a, b) = (one.clone(), two.clone());
    let waiter = tokio::spawn(async move {
        let asked = Instant::now();
        let mut tx = db.begin_within(Wait::Within(LIMIT)).await.unwrap();
        let mut refused = orders.find(&mut tx, &a, LockMode::PessimisticWrite).await;
        if refused.is_ok() {
            refused = orders.find(&mut tx, &b, LockMode::PessimisticWrite).await;
        }
        (refused.unwrap_err(), asked.elapsed())
    });
    let locked = LockedRow::new(t).await;
    tokio::time::sleep(RELEASED).await;
    first.rollback().await.unwrap();
    // With a deadline of its own for the second row it would last longer.
    let (refused, took) = locked.outlasts(t, SHORTER, waiter).await.unwrap();
    assert!(timed_out(&refused), "{refused}");
    assert!(took >= LIMIT - Duration::from_millis(10), "waited {took:?} of {LIMIT:?}");
    second.rollback().await.unwrap();
}

pub async fn other_rows_are_usable_while_one_is_locked(t: &TestDb) {
    let (held, free) = (t.order().await, t.order().await);
    let mut holder = t.db.begin().await.unwrap();
    t.orders.find(&mut holder, &held, LockMode::PessimisticWrite).await.unwrap();
    t.orders.update(&free).no_wait().run(Order::ship).await.unwrap();
    // Reading needs no lock.
    assert_eq!(t.stored(&held).await.1, version(1));
    holder.rollback().await.unwrap();
}

pub async fn pessimistic_load_after_a_wait_reads_new_root_and_children(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
    order.send_to("new").unwrap();
    order.lines[0].quantity = 99;
    order.lines.push(Line { line_no: 3, product: "pot".into(), quantity: 1 });
    t.orders.save(&mut tx, &mut order).await.unwrap();
    let (orders, db, number) = (t.orders.clone(), t.db.clone(), no.clone());
    let reader = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let loaded = orders.find(&mut tx, &number, LockMode::PessimisticWrite).await.unwrap().unwrap();
        (Order::clone(&loaded), loaded.version())
    })
    .await;
    tx.commit().await.unwrap();
    assert_eq!(reader.await.unwrap(), (Order::clone(&order), version(2)));
}

pub async fn an_optimistic_load_is_never_torn(t: &TestDb) {
    const SAVES: u32 = 120;
    let no = t.order().await;
    let (orders, number) = (t.orders.clone(), no.clone());
    let writer = tokio::spawn(async move {
        for count in 1..=SAVES {
            let change = |order: &mut Order| {
                order.lines.iter_mut().for_each(|line| line.quantity = count);
                order.send_to(&count.to_string())
            };
            orders.update(&number).locking(LockMode::PessimisticWrite).run(change).await.unwrap();
        }
    });
    while !writer.is_finished() {
        let mut tx = t.db.begin().await.unwrap();
        let inside = t.find(&mut tx, &no).await;
        let outside = t.orders.get(&no).await.unwrap().unwrap();
        for order in [&inside, &outside] {
            let saves = u32::try_from(order.version().number() - 1).unwrap();
            if saves > 0 {
                assert_eq!(order.ship_to.line1, saves.to_string());
                assert!(order.lines.iter().all(|line| line.quantity == saves), "torn: {order:?}");
            }
        }
        tx.rollback().await.unwrap();
    }
    writer.await.unwrap();
}

pub async fn blocked_save_names_the_winner(t: &TestDb) {
    let no = t.order().await;
    let mut mine = t.orders.get(&no).await.unwrap().unwrap();
    let mut tx = t.db.begin().await.unwrap();
    tx.by(&lee()).command("ship");
    let mut theirs = t.find(&mut tx, &no).await;
    theirs.ship().unwrap();
    t.orders.save(&mut tx, &mut theirs).await.unwrap();
    let (orders, db) = (t.orders.clone(), t.db.clone());
    let late = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        mine.send_to("mine").unwrap();
        orders.save(&mut tx, &mut mine).await
    })
    .await;
    tx.commit().await.unwrap();
    let refused = late.await.unwrap();
    let Err(Error::OptimisticLockingFailure(conflict)) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    assert_eq!(conflict.changed.and_then(|change| change.by), Some(lee()));
}

pub async fn save_of_a_set_locks_its_rows_in_one_order(t: &TestDb) {
    let mut names = [t.order().await, t.order().await];
    names.sort();
    let [first, second] = names;
    let mut holder = t.db.begin().await.unwrap();
    t.orders.find(&mut holder, &first, LockMode::PessimisticWrite).await.unwrap();
    let mut set = Vec::new();
    for no in [&second, &first] {
        let mut order = t.orders.get(no).await.unwrap().unwrap();
        order.ship().unwrap();
        set.push(order);
    }
    let (orders, db) = (t.orders.clone(), t.db.clone());
    let save = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let results = orders.save_all(&mut tx, &mut set).await;
        tx.commit().await.unwrap();
        results
    })
    .await;
    let other = t.orders.find_many_skip_locked(&mut holder, &[second]).await.unwrap();
    assert_eq!(other.len(), 1);
    holder.rollback().await.unwrap();
    assert!(save.await.unwrap().iter().all(Result::is_ok));
}

pub async fn one_of_two_inserts_reports_a_duplicate_id(t: &TestDb) {
    for _ in 0..10 {
        let no = random();
        let barrier = Arc::new(Barrier::new(2));
        let insert = async || {
            let mut tx = t.db.begin().await.unwrap();
            barrier.wait().await;
            let inserted = t.orders.insert(&mut tx, Order::new(&no)).await;
            if inserted.is_ok() {
                tx.commit().await.unwrap();
            }
            inserted.map(|order| order.version())
        };
        let (one, two) = tokio::join!(insert(), insert());
        let exists = |outcome: &Result<_, Error>| matches!(outcome, Err(Error::AlreadyExists { .. }));
        assert!(one.is_ok() && exists(&two) || two.is_ok() && exists(&one), "{one:?} {two:?}");
    }
}

pub async fn a_refused_try_lock_does_not_wait_for_a_save_under_the_lease(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    let asked = Instant::now();
    assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
    assert!(asked.elapsed() < AT_ONCE);
    if t.db.capabilities().heartbeats_pass_saves {
        let asked = Instant::now();
        t.locks.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).unwrap();
        assert!(asked.elapsed() < AT_ONCE);
    }
    tx.commit().await.unwrap();
}

pub async fn a_takeover_and_a_break_wait_for_a_save_under_the_lease(t: &TestDb) {
    for break_it in [false, true] {
        let no = t.order().await;
        let key = LockKey::of::<Order>(&no);
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        let mut tx = t.db.begin().await.unwrap();
        t.locks.guard(&mut tx, lease.id()).await.unwrap();
        if !break_it {
            t.clock.advance(TTL);
        }
        let (locks, orders, number) = (t.locks.clone(), t.orders.clone(), no.clone());
        let other = waiting(async move {
            let key = LockKey::of::<Order>(&number);
            let ended = if break_it {
                locks.break_lock(&key, 1, &lee(), "urgent").await.is_ok()
            } else {
                locks.try_lock(&key, &lee()).await.is_ok()
            };
            (ended, orders.get(&number).await.unwrap().unwrap().version())
        })
        .await;
        let mut order = t.find(&mut tx, &no).await;
        order.ship().unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(other.await.unwrap(), (true, version(2)));
        assert!(matches!(t.locks.check_lock(lease.id()).await, Err(LeaseError::NoLock(_))));
    }
}

pub async fn save_unless_locked_does_not_wait_for_the_save_that_refuses_it(t: &TestDb) {
    if t.db.capabilities().granularity == Granularity::Database {
        return; // Every save waits for the one writer.
    }
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    let row = LockedRow::new(t).await;
    let mut other = t.db.begin().await.unwrap();
    let refused = row.outlasts(t, AT_ONCE, other.unless_locked(&key)).await;
    assert!(matches!(&refused, Err(Error::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
    other.rollback().await.unwrap();
    tx.commit().await.unwrap();
}

/// When it was sent, the history did not have its lock id yet.
pub async fn request_repeated_during_the_save_that_releases_it_is_refused(t: &TestDb) {
    let no = t.order().await;
    let (key, id) = (LockKey::of::<Order>(&no), LockId::random());
    t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.release_within(&mut tx, &id).await.unwrap();
    let (locks, asked, same) = (t.locks.clone(), key.clone(), id.clone());
    let repeated = waiting(async move { locks.try_lock_as(&asked, &kim(), same).await }).await;
    tx.commit().await.unwrap();
    let refused = repeated.await.unwrap();
    let Err(LockError::LockIdUsed(no_lock)) = refused else { panic!("{refused:?}") };
    assert!(matches!(no_lock.why, LeaseLossReason::Released { .. }), "{no_lock:?}");
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2, "it is free");
}

pub async fn taking_a_live_lease_over_waits_for_a_save_under_it(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let (orders, key) = (t.orders.clone(), lease.holder().key.clone());
    let taking = waiting(async move {
        let taken = locks.take_over(&key, 1, &lee(), LockId::random(), "urgent").await.unwrap();
        (taken.holder().generation, orders.get(&key.id().to_owned()).await.unwrap().unwrap().version())
    })
    .await;
    let mut order = t.find(&mut tx, &no).await;
    order.ship().unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(taking.await.unwrap(), (2, version(2)));
}

pub async fn resume_waits_for_a_save_unless_locked(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    t.clock.advance(TTL);
    let (reached, go_on) = (Arc::new(Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (meet, orders, number) = (reached.clone(), t.orders.clone(), no.clone());
    let handle = tokio::runtime::Handle::current();
    let saving = tokio::spawn(async move {
        let save = orders.update(&number).by(&lee()).unless_locked();
        let command = |order: &mut Order| {
            tokio::task::block_in_place(|| handle.block_on(async { (meet.wait().await, go_on.1.await) })).1.unwrap();
            order.ship()
        };
        save.run(command).await.map(|order| order.version())
    });
    reached.wait().await;
    let (locks, orders, number) = (t.locks.clone(), t.orders.clone(), no.clone());
    let resume = waiting(async move { locks.resume(&orders, &number, lease.id(), version(1)).await }).await;
    go_on.0.send(()).unwrap();
    assert_eq!(saving.await.unwrap().unwrap(), version(2));
    let refused = resume.await.unwrap();
    assert!(matches!(&refused, Err(Error::VersionConflict(conflict)) if conflict.actual == Some(version(2))));
}

/// Kim's save is in flight and her lease expires: for Lee the key is free, but not yet.
pub async fn save_unless_locked_waits_for_a_save_under_an_ended_lease(t: &TestDb) {
    // Where a release waits for the save, too, the lease is alive until then, and refuses at once.
    let capabilities = t.db.capabilities();
    let releases_pass = capabilities.heartbeats_pass_saves || capabilities.granularity == Granularity::Database;
    for released in [false, true].into_iter().filter(|released| !released || releases_pass) {
        let no = t.order().await;
        let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
        let mut tx = t.db.begin().await.unwrap();
        t.locks.guard(&mut tx, lease.id()).await.unwrap();
        let release = async {
            let (locks, id) = (t.locks.clone(), lease.id().clone());
            let release = tokio::spawn(async move { locks.release_lock(&id).await });
            // Either it succeeds at once, or it waits for the save as well.
            (tokio::time::timeout(Duration::from_millis(150), release)).await.ok();
        };
        match released {
            true => release.await,
            false => t.clock.advance(TTL),
        }
        let (orders, number) = (t.orders.clone(), no.clone());
        let save =
            async move { orders.update(&number).by(&lee()).unless_locked().run(|order| order.send_to("Lee's")).await };
        let saving = waiting(save).await;
        let mut order = t.find(&mut tx, &no).await;
        order.ship().unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
        tx.commit().await.unwrap();
        let refused = saving.await.unwrap();
        assert!(matches!(refused, Err(UpdateError::Refused(_))), "released: {released}, {refused:?}");
        assert_eq!(t.stored(&no).await.1, version(2));
    }
}

/// Also the very first lease of its key.
pub async fn a_lease_waits_for_a_save_unless_locked(t: &TestDb) {
    let no = t.order().await;
    let (reached, go_on) = (Arc::new(Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (meet, orders, number) = (reached.clone(), t.orders.clone(), no.clone());
    let handle = tokio::runtime::Handle::current();
    let saving = tokio::spawn(async move {
        let command = |order: &mut Order| {
            tokio::task::block_in_place(|| handle.block_on(async { (meet.wait().await, go_on.1.await) })).1.unwrap();
            order.ship()
        };
        orders.update(&number).by(&lee()).unless_locked().run(command).await.map(|order| order.version())
    });
    reached.wait().await;
    let (locks, orders, number) = (t.locks.clone(), t.orders.clone(), no.clone());
    let locking = waiting(async move {
        let lease = locks.try_lock(&LockKey::of::<Order>(&number), &kim()).await.unwrap();
        (lease.holder().generation, orders.get(&number).await.unwrap().unwrap().version())
    })
    .await;
    // Other keys can be acquired meanwhile.
    t.locks.try_lock(&super::support::key(), &kim()).await.unwrap();
    go_on.0.send(()).unwrap();
    assert_eq!(saving.await.unwrap().unwrap(), version(2));
    assert_eq!(locking.await.unwrap(), (1, version(2)));
}

/// Managers with the database's clock, because a test's clock is read when a request is sent; and a lease that expires
/// before the save under it ends, with the request in between.
async fn asked_in_time_answered_late<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    t: &TestDb,
    ask: impl FnOnce(LockManager, LockKey) -> F,
) -> T {
    let no = t.order().await;
    let db = t.another_process_by_the_real_clock_in("+00:00").await;
    let locks = LockManager::new(&db).with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let lease = locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    locks.expire_within(lease.id(), Duration::from_secs(3)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    locks.guard(&mut tx, lease.id()).await.unwrap();
    let asked = waiting(ask(locks.clone(), lease.holder().key.clone())).await;
    while locks.check_lock(lease.id()).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tx.rollback().await.unwrap();
    asked.await.unwrap()
}

pub async fn takeover_uses_the_time_after_its_wait(t: &TestDb) {
    let taken = asked_in_time_answered_late(t, async |locks, key| {
        locks.take_over(&key, 1, &lee(), LockId::random(), "urgent").await
    });
    let taken = taken.await;
    assert!(matches!(&taken, Err(TakeOverError::HolderChanged { held_now }) if held_now.is_empty()), "{taken:?}");
}

pub async fn break_uses_the_time_after_its_wait(t: &TestDb) {
    let broken = asked_in_time_answered_late(t, async |locks, key| locks.break_lock(&key, 1, &lee(), "urgent").await);
    let broken = broken.await;
    assert!(matches!(&broken, Err(BreakError::HolderChanged { held_now }) if held_now.is_empty()), "{broken:?}");
}

pub async fn opposite_lock_orders_end_by_deadlock_and_retry_succeeds(t: &TestDb) {
    let (a, b) = (t.counter(0).await, t.counter(0).await);
    let barrier = Arc::new(Barrier::new(2));
    let add_to_both = async |first: &String, then: &String, meet: bool| {
        let mut tx = t.db.begin_within(Wait::Within(MINUTE)).await?;
        let mut one = t.counters.find(&mut tx, first, LockMode::PessimisticWrite).await?.unwrap();
        if meet {
            barrier.wait().await;
        }
        let mut two = t.counters.find(&mut tx, then, LockMode::PessimisticWrite).await?.unwrap();
        (one.count, two.count) = (one.count + 1, two.count + 1);
        t.counters.save(&mut tx, &mut one).await?;
        t.counters.save(&mut tx, &mut two).await?;
        tx.commit().await
    };
    let (forth, back) = tokio::join!(add_to_both(&a, &b, true), add_to_both(&b, &a, true));
    let lost: Vec<_> = [forth, back].into_iter().filter_map(Result::err).collect();
    let [Error::Database(DatabaseError::Deadlock)] = &lost[..] else { panic!("{lost:?}") };
    assert!(lost[0].is_retryable());
    add_to_both(&a, &b, false).await.unwrap();
    for name in [a, b] {
        assert_eq!(t.counters.get(&name).await.unwrap().unwrap().count, 2);
    }
}

/// Writing children first would deadlock on InnoDB: an insert share-locks the parent's row, and both then want to change it.
pub async fn two_saves_with_children_queue_and_do_not_deadlock(t: &TestDb) {
    for round in 1..=10 {
        let no = t.order().await;
        let barrier = Arc::new(Barrier::new(2));
        let save = async |line_no: u32| {
            let mut tx = t.db.begin().await.unwrap();
            let mut order = t.find(&mut tx, &no).await;
            order.lines.push(Line { line_no, product: "pot".into(), quantity: round });
            barrier.wait().await;
            let saved = t.orders.save(&mut tx, &mut order).await;
            if saved.is_ok() {
                tx.commit().await.unwrap();
            }
            saved
        };
        let (one, two) = tokio::join!(save(10), save(11));
        let lost = |outcome: &Result<_, Error>| matches!(outcome, Err(Error::OptimisticLockingFailure(_)));
        assert!(one.is_ok() && lost(&two) || two.is_ok() && lost(&one), "{one:?} {two:?}");
        assert_eq!((t.stored(&no).await.0.lines.len(), t.stored(&no).await.1), (3, version(2)));
    }
}
