//! Batches of requests to the lock table: they never wait for a lock, write only what is necessary, and are cheap.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use sqlx::{Connection, MySqlConnection, Row};
use tenure::{
    Database, Lease, LockId, LockKey, LockManager, Owner,
    clock::ManualClock,
    db::ConnectOptions,
    error::{LeaseError, LockError},
    lease::LeaseLossReason,
};
use testkit::{DATABASE, MariaDb};
use tokio::sync::Barrier;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::{is_mysql, options};

fn kim() -> Owner {
    Owner::new("kim", "Kim")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee")
}

fn keys(count: usize) -> Vec<LockKey> {
    let run = LockId::random().reveal()[52..].to_owned();
    (0..count).map(|at| LockKey::new("Order", format!("{run}-{at:03}"))).collect()
}

async fn shared() -> Database {
    Database::connect_with(&testkit::server_url(testkit::Kind::MariaDb), options()).await.unwrap()
}

/// All requests start before any has an answer: two go at once and unbatched, the others share the next round trip.
async fn together<T>(asks: impl IntoIterator<Item: Future<Output = T>>) -> Vec<T> {
    let mut asks: Vec<_> = asks.into_iter().map(|ask| (Box::pin(ask), None)).collect();
    poll_fn(|context| {
        for (ask, answer) in asks.iter_mut().filter(|(_, answer)| answer.is_none()) {
            if let Poll::Ready(ready) = ask.as_mut().poll(context) {
                *answer = Some(ready);
            }
        }
        if asks.iter().all(|(_, answer)| answer.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    asks.into_iter().filter_map(|(_, answer)| answer).collect()
}

/// Starts all at once.
fn at_once<T: Send + 'static>(
    asks: impl IntoIterator<Item: Future<Output = T> + Send + 'static>,
) -> Vec<JoinHandle<T>> {
    asks.into_iter().map(tokio::spawn).collect()
}

async fn all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.unwrap());
    }
    done
}

fn try_all(locks: &LockManager, keys: &[LockKey], owner: &Owner) -> Vec<JoinHandle<Result<Lease, LockError>>> {
    at_once(keys.iter().cloned().map(|key| {
        let (locks, owner) = (locks.clone(), owner.clone());
        async move { locks.try_lock(&key, &owner).await }
    }))
}

async fn release(locks: LockManager, lease: Lease) {
    locks.release_lock(lease.id()).await.unwrap();
}

fn ids(leases: &[Lease]) -> Vec<LockId> {
    leases.iter().map(|lease| lease.id().clone()).collect()
}

/// Counters of the server.
async fn counted<const N: usize>(db: &Database, names: [&str; N]) -> [i64; N] {
    let rows = sqlx::query("show global status").fetch_all(db.mysql().unwrap()).await.unwrap();
    names.map(|name| {
        let row = rows.iter().find(|row| row.get::<String, _>(0) == name).unwrap_or_else(|| panic!("no {name}"));
        row.get::<String, _>(1).parse().unwrap()
    })
}

fn since<const N: usize>(before: [i64; N], now: [i64; N]) -> [i64; N] {
    std::array::from_fn(|at| now[at] - before[at])
}

/// Counters of written rows. MySQL's handlers count its own tables of status as well.
fn written(db: &Database) -> [&'static str; 3] {
    match is_mysql(db) {
        true => ["Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"],
        false => ["Handler_write", "Handler_update", "Handler_delete"],
    }
}

/// The number of deadlocks that the server has detected.
async fn deadlocks(db: &Database) -> i64 {
    if !is_mysql(db) {
        return counted(db, ["Innodb_deadlocks"]).await[0];
    }
    let count = "select cast(`count` as signed) from information_schema.innodb_metrics where name = 'lock_deadlocks'";
    sqlx::query_scalar(count).fetch_one(db.mysql().unwrap()).await.unwrap()
}

/// A failed attempt would repeat the first of them.
/// (Each transaction has a savepoint.)
const STATEMENTS: [&str; 4] = ["Com_select", "Com_insert_select", "Com_update_multi", "Com_savepoint"];

#[tokio::test]
async fn save_under_a_lease_delays_only_that_heartbeat() {
    let db = shared().await;
    let (locks, keys) = (LockManager::new(&db), keys(40));
    let leases: Vec<Lease> = all(try_all(&locks, &keys, &kim())).await.into_iter().map(Result::unwrap).collect();
    let mut tx = db.begin().await.unwrap();
    locks.guard(&mut tx, leases[20].id()).await.unwrap();
    let mut beats = at_once(leases.iter().map(|lease| {
        let (locks, id) = (locks.clone(), lease.id().clone());
        async move { locks.keep_alive(&[id]).await.unwrap().remove(0) }
    }));
    let waiting = beats.remove(20);
    let kept = timeout(Duration::from_secs(20), all(beats)).await.expect("they wait for a save that is not theirs");
    assert_eq!(kept.into_iter().filter(Result::is_ok).count(), 39);
    assert!(!waiting.is_finished());
    // A request for a key during its save is refused, alone and in a batch.
    for wanted in [&keys[20..21], &keys[..]] {
        for refused in all(try_all(&locks, wanted, &lee())).await {
            assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
        }
    }
    assert!(!waiting.is_finished());
    tx.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().holder().generation, 1);
}

#[tokio::test]
async fn save_beside_a_free_key_delays_only_its_request() {
    let db = shared().await;
    let (locks, keys) = (LockManager::new(&db), keys(40));
    for lease in all(try_all(&locks, &keys, &kim())).await {
        locks.release_lock(lease.unwrap().id()).await.unwrap();
    }
    // As a save does that requires the key to be free.
    let mut tx = db.begin().await.unwrap();
    let row = "select 1 from tenure_lock where kind = ? and id = ? and slot = '' for update";
    sqlx::query(row).bind(keys[20].kind()).bind(keys[20].id()).execute(tx.mysql().unwrap()).await.unwrap();
    let mut asked = try_all(&locks, &keys, &lee());
    let waiting = asked.remove(20);
    let granted = timeout(Duration::from_secs(20), all(asked)).await.expect("they wait for a save that is not theirs");
    for granted in granted {
        assert_eq!(granted.unwrap().holder().generation, 2);
    }
    tx.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().holder().generation, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposite_batches_have_one_winner_per_key_and_no_deadlock() {
    let server = MariaDb::start().unwrap();
    let clock = ManualClock::new();
    let open = async || {
        let options = ConnectOptions::new().clock(clock.clone());
        Database::connect_with(&server.url(DATABASE), options).await.unwrap()
    };
    let (db, elsewhere) = (open().await, open().await);
    let (one, other) = (LockManager::new(&db), LockManager::new(&elsewhere));
    for _ in 0..4 {
        let forth = keys(60);
        let back: Vec<_> = forth.iter().rev().cloned().collect();
        // The keys are new; then their leases have expired; then they were released.
        for generation in 1..=3 {
            let together = Arc::new(Barrier::new(2));
            let ask = |locks: &LockManager, keys: &[LockKey], owner: Owner| {
                let (locks, keys, together) = (locks.clone(), keys.to_vec(), Arc::clone(&together));
                tokio::spawn(async move {
                    together.wait().await;
                    all(try_all(&locks, &keys, &owner)).await
                })
            };
            let (first, second) = (ask(&one, &forth, kim()), ask(&other, &back, lee()));
            let (first, second) = (first.await.unwrap(), second.await.unwrap());
            let mut won = Vec::new();
            for (key, pair) in forth.iter().zip(first.into_iter().zip(second.into_iter().rev())) {
                match pair {
                    (Ok(lease), Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }))
                    | (Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }), Ok(lease)) => {
                        assert_eq!((&lease.holder().key, lease.holder().generation), (key, generation));
                        won.push(lease);
                    }
                    pair => panic!("{key}: {pair:?}"),
                }
            }
            match generation {
                1 => clock.advance(Duration::from_secs(3_600)),
                2 => drop(all(at_once(won.into_iter().map(|lease| release(other.clone(), lease)))).await),
                _ => {}
            }
        }
    }
    assert_eq!(deadlocks(&db).await, 0);
    let history = "select group_concat(concat(how, ' ', n) order by how) from
                   (select how, count(*) as n from tenure_lock_history group by how) as counted";
    assert_eq!(server.query(DATABASE, history).unwrap().trim(), "expired 240,released 240");
}

#[tokio::test]
async fn refusals_and_checks_write_nothing_in_any_batch() {
    let server = MariaDb::start().unwrap();
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let (locks, keys) = (LockManager::new(&db), keys(40));
    let leases: Vec<Lease> = all(try_all(&locks, &keys, &kim())).await.into_iter().map(Result::unwrap).collect();
    let before = counted(&db, written(&db)).await;
    for wanted in [&keys[..1], &keys[..]] {
        for refused in all(try_all(&locks, wanted, &lee())).await {
            assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
        }
    }
    let check = |lease: &Lease| {
        let (locks, id) = (locks.clone(), lease.id().clone());
        async move { locks.check_lock(&id).await.unwrap().holder().generation }
    };
    assert_eq!(all(at_once(leases.iter().map(check))).await, [1; 40]);
    assert_eq!(since(before, counted(&db, written(&db)).await), [0; 3]);
    // The counters count the intended statements.
    locks.release_lock(leases[0].id()).await.unwrap();
    assert_eq!(since(before, counted(&db, written(&db)).await), [1, 1, 0]);
}

/// Begins a request, and leaves it in flight until it is polled again. The table is locked meanwhile, so it has no answer yet.
async fn begins<T>(url: &str, mut request: Pin<&mut impl Future<Output = T>>) {
    let mut elsewhere = MySqlConnection::connect(url).await.unwrap();
    sqlx::raw_sql("lock tables tenure_lock write").execute(&mut elsewhere).await.unwrap();
    let answer = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
    assert!(answer.is_pending(), "it was answered in spite of the lock");
    sqlx::raw_sql("unlock tables").execute(&mut elsewhere).await.unwrap();
    elsewhere.close().await.unwrap();
}

/// While one round trip is in flight, 32 requests make one batch: fewer wait until it returns, so the burst has exactly this many.
#[tokio::test]
async fn concurrent_requests_share_few_statements_and_one_commit() {
    let server = MariaDb::start().unwrap();
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let (locks, keys, kim, lee) = (LockManager::new(&db), keys(90), kim(), lee());
    let held = together(keys[..86].iter().map(async |key| locks.try_lock(key, &kim).await.unwrap())).await;
    let held = ids(&held);
    together(held[20..24].iter().map(async |id| locks.release_lock(id).await.unwrap())).await;
    let before = counted(&db, STATEMENTS).await;
    // It is refused, and so it locks nothing that the others need.
    let mut in_flight = pin!(locks.try_lock(&keys[85], &lee));
    begins(&server.url(DATABASE), in_flight.as_mut()).await;
    let generations = together((0..32).map(async |at: usize| match at {
        0..8 => locks.keep_alive(&held[at..=at]).await.unwrap().remove(0).unwrap().holder().generation,
        8..12 => locks.extend_lock_expiration(&held[at], Duration::from_secs(1)).await.unwrap().holder().generation,
        12..16 => locks.expire_within(&held[at], Duration::from_secs(9)).await.unwrap().holder().generation,
        16..20 => locks.release_lock(&held[at]).await.map(|()| 1).unwrap(),
        // Released before; held; new.
        20..24 => locks.try_lock(&keys[at], &lee).await.unwrap().holder().generation,
        24..28 => match locks.try_lock(&keys[at], &lee).await {
            Err(LockError::AlreadyLocked(holder)) => holder.generation,
            other => panic!("{other:?}"),
        },
        _ => locks.try_lock(&keys[at + 58], &lee).await.unwrap().holder().generation,
    }))
    .await;
    let expected: Vec<i64> = (0..32).map(|at| if (20..24).contains(&at) { 2 } else { 1 }).collect();
    assert_eq!(generations, expected);
    assert!(matches!(in_flight.await, Err(LockError::AlreadyLocked(_))));
    // The batch looks at what is requested, asks for its number when it begins, locks the rows of the lock ids and those of the keys, and
    // looks again at the keys that have no row; it writes the history, the changed rows and the new ones. The refused request looks once.
    assert_eq!(since(before, counted(&db, STATEMENTS).await), [5 + 1, 2, 1, 1]);
    let ended = "select count(*) from tenure_lock_history where how = 'released'";
    assert_eq!(server.query(DATABASE, ended).unwrap().trim(), "8");
}

#[tokio::test]
async fn concurrent_checks_share_one_statement() {
    let server = MariaDb::start().unwrap();
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let (locks, kim) = (LockManager::new(&db), kim());
    let held = ids(&together(keys(40).iter().map(async |key| locks.try_lock(key, &kim).await.unwrap())).await);
    let check = async |id| locks.check_lock(id).await.unwrap().holder().generation;
    assert_eq!(together(held.iter().map(check)).await, [1; 40]);
    let before = counted(&db, STATEMENTS).await;
    let mut in_flight = pin!(check(&held[39]));
    begins(&server.url(DATABASE), in_flight.as_mut()).await;
    assert_eq!(together(held[..32].iter().map(check)).await, [1; 32]);
    assert_eq!(in_flight.await, 1);
    assert_eq!(since(before, counted(&db, STATEMENTS).await), [2, 0, 0, 0]);
}

#[tokio::test]
async fn leases_work_while_every_other_connection_is_busy() {
    let server = MariaDb::start().unwrap();
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let (locks, keys) = (LockManager::new(&db), keys(20));
    let mut busy = Vec::new();
    for _ in 0..10 {
        busy.push(db.begin().await.unwrap());
    }
    let leases: Vec<Lease> = all(try_all(&locks, &keys, &kim())).await.into_iter().map(Result::unwrap).collect();
    let ids = ids(&leases);
    assert_eq!(locks.keep_alive(&ids).await.unwrap().into_iter().filter(Result::is_ok).count(), 20);
    for id in &ids {
        locks.check_lock(id).await.unwrap();
        locks.release_lock(id).await.unwrap();
    }
    drop(busy);
    db.close().await;
    let open =
        format!("select count(*) from information_schema.processlist where db = '{DATABASE}' and user = 'tenure'");
    assert_eq!(server.query("mysql", &open).unwrap().trim(), "0");
}

/// Leftovers of a dropped caller would block the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_requests_leave_no_transaction_and_no_lock() {
    let (db, elsewhere) = (shared().await, shared().await);
    let (locks, others) = (LockManager::new(&db), LockManager::new(&elsewhere));
    for waits in 0..24 {
        let keys = keys(3);
        let leases: Vec<Lease> = all(try_all(&locks, &keys, &kim())).await.into_iter().map(Result::unwrap).collect();
        let ids = ids(&leases);
        super::server::cut_after(waits, locks.keep_alive(&ids)).await;
        super::server::cut_after(waits, locks.release_lock(&ids[0])).await;
        super::server::cut_after(waits, locks.try_lock(&LockKey::new("Order", ids[0].reveal()), &kim())).await;
        for (id, kept) in ids.iter().zip(others.keep_alive(&ids).await.unwrap()) {
            // The first may have been released before the cancellation.
            assert!(kept.is_ok() || *id == ids[0], "{waits}: {kept:?}");
        }
        match others.try_lock(&LockKey::new("Order", ids[0].reveal()), &lee()).await {
            Ok(_) | Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => {}
            Err(error) => panic!("{waits}: {error}"),
        }
    }
    let mut all = JoinSet::new();
    for _ in 0..30 {
        let (locks, key) = (locks.clone(), keys(1).remove(0));
        all.spawn(async move { locks.try_lock(&key, &kim()).await.unwrap().holder().generation });
    }
    assert_eq!(all.join_all().await, [1; 30]);
}

/// In each batch the first go alone and the others together, in no fixed order.
#[tokio::test]
async fn batched_and_single_results_are_equal() {
    let clock = ManualClock::new();
    let options = options().clock(clock.clone());
    let db = Database::connect_with(&testkit::server_url(testkit::Kind::MariaDb), options).await.unwrap();
    let (locks, keys) = (LockManager::new(&db), keys(30));
    let (minute, ttl) = (Duration::from_secs(60), Duration::from_secs(300));
    let of_one_kind = |leases: Vec<Lease>, generation: i64, remaining: Duration, active: SystemTime| {
        for (lease, key) in leases.iter().zip(&keys) {
            let told = (
                &lease.holder().key,
                lease.holder().generation,
                lease.holder().remaining,
                lease.holder().last_active,
                lease.holder().owner.id.as_str(),
            );
            assert_eq!(told, (key, generation, remaining, active, "kim"));
        }
        leases
    };
    let start = clock.now();
    let (kim, lee) = (kim(), lee());
    let taken = together(keys.iter().map(async |key| locks.try_lock(key, &kim).await.unwrap())).await;
    let first = ids(&of_one_kind(taken, 1, ttl, start));
    clock.advance(minute);
    let within = together(first.iter().map(async |id| locks.expire_within(id, minute * 2).await.unwrap())).await;
    of_one_kind(within, 1, minute * 2, start);
    let longer = together(first.iter().map(async |id| locks.expire_within(id, minute * 3).await.unwrap())).await;
    of_one_kind(longer, 1, minute * 2, start);
    let extended = together(first.iter().map(async |id| locks.extend_lock_expiration(id, minute).await.unwrap())).await;
    of_one_kind(extended, 1, minute * 3, start + minute);
    let no_further = together(first.iter().map(async |id| locks.extend_lock_expiration(id, ttl).await.unwrap())).await;
    of_one_kind(no_further, 1, ttl, start + minute);
    clock.advance(minute);
    let kept = together(
        first.iter().map(async |id| locks.keep_alive(std::slice::from_ref(id)).await.unwrap().remove(0).unwrap()),
    )
    .await;
    of_one_kind(kept, 1, ttl, start + minute * 2);
    let kept = locks.keep_alive(&first).await.unwrap().into_iter().map(Result::unwrap).collect();
    of_one_kind(kept, 1, ttl, start + minute * 2);
    let checked = together(first.iter().map(async |id| locks.check_lock(id).await.unwrap())).await;
    of_one_kind(checked, 1, ttl, start + minute * 2);
    let hers = locks.acting_for(&lee);
    for refused in together(first.iter().map(async |id| hers.release_lock(id).await)).await {
        assert!(
            matches!(&refused, Err(LeaseError::NoLock(no_lock)) if no_lock.why == LeaseLossReason::NotYours),
            "{refused:?}"
        );
    }
    clock.advance(ttl);
    let taken = together(keys.iter().map(async |key| locks.try_lock(key, &kim).await.unwrap())).await;
    let next = ids(&of_one_kind(taken, 2, ttl, clock.now()));
    let at = start + minute * 2 + ttl;
    for late in together(first.iter().map(async |id| locks.check_lock(id).await)).await {
        assert!(
            matches!(&late, Err(LeaseError::NoLock(late)) if late.why == LeaseLossReason::Expired { at }),
            "{late:?}"
        );
    }
    together(next.iter().map(async |id| locks.release_lock(id).await.unwrap())).await;
    for late in together(next.iter().map(async |id| locks.release_lock(id).await)).await {
        assert!(
            matches!(&late, Err(LeaseError::NoLock(late)) if late.why == LeaseLossReason::Released { at }),
            "{late:?}"
        );
    }
    let taken = together(keys.iter().map(async |key| locks.try_lock(key, &kim).await.unwrap())).await;
    of_one_kind(taken, 3, ttl, at);
}
