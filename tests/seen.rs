//! Telemetry of the lock manager: spans with the operation, the type, the generation and the outcome; and never, in
//! anything emitted by it or below it, a lock id, its hash, a note or a reason.

#![allow(missing_docs, clippy::unwrap_used)]

#[cfg(any(feature = "sqlite", feature = "mysql"))]
mod plans;

use std::fmt::{Debug, Write};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tenure::{
    Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, Owner, Repository, Version, clock::ManualClock,
    db::ConnectOptions, lease::Holder,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// All emitted spans and events, also of lower layers, as lines of text. Tests of one process share it.
static EMITTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn emitted() -> MutexGuard<'static, Vec<String>> {
    EMITTED.lock().unwrap()
}

struct Capture;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = format!("span {}", span.metadata().name());
        span.record(&mut Fields(&mut line));
        let mut all = emitted();
        all.push(line);
        Id::from_u64(all.len().try_into().unwrap())
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let at = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Fields(&mut emitted()[at]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = event.metadata().target().to_owned();
        event.record(&mut Fields(&mut line));
        emitted().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Aggregate, Debug)]
#[aggregate(table = "seen_order")]
struct Order {
    #[aggregate(id)]
    no: String,
    message: String,
}

const TABLE: &str = "create table if not exists seen_order (no varchar(64) primary key, message varchar(64) not null, version bigint not null)";
const SECRET: &str = "only for their eyes";

fn owners() -> (Owner, Owner) {
    (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"))
}

fn key() -> LockKey {
    LockKey::new("Order", format!("no {}", &LockId::random().reveal()[52..]))
}

/// All operations of the lock manager, alone and batched, granted and refused; returns their lock ids.
async fn everything(db: &Database, clock: &ManualClock, order: &str) -> Vec<LockId> {
    let locks = LockManager::new(db)
        .with_policy("Note", LockPolicy::advisory())
        .with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let (kim, lee) = owners();
    let mut ids = Vec::new();
    // Many at once, so that some are batched; two of them use one lock id for two keys.
    let twice = LockId::random();
    let mut asking = tokio::task::JoinSet::new();
    for at in 0..30 {
        let (locks, kim, id) =
            (locks.clone(), kim.clone(), if at % 10 == 5 { twice.clone() } else { LockId::random() });
        let key = if at % 10 == 7 { LockKey::new("Note", "7") } else { key() };
        ids.push(id.clone());
        asking.spawn(async move {
            let _ = locks.try_lock_as(&key, &kim, id.clone()).await;
            let _ = locks.try_lock_as(&key, &kim, id.clone()).await;
            let _ = locks.try_lock(&key, &kim).await;
            let _ = locks.keep_alive(std::slice::from_ref(&id)).await;
            let _ = locks.extend_lock_expiration(&id, Duration::from_secs(1)).await;
            let _ = locks.check_lock(&id).await;
            let _ = locks.expire_within(&id, Duration::from_secs(200)).await;
        });
    }
    asking.join_all().await;
    locks.keep_alive(&ids).await.unwrap();
    let _ = locks.acting_for(&lee).keep_alive(&ids).await;
    let mut releasing = tokio::task::JoinSet::new();
    for id in &ids[..20] {
        let (locks, id) = (locks.clone(), id.clone());
        releasing.spawn(async move {
            let _ = locks.release_lock(&id).await;
            let _ = locks.release_lock(&id).await;
        });
    }
    releasing.join_all().await;
    let held = locks.try_lock(&key(), &kim).await.unwrap();
    locks.release_lock(held.id()).await.unwrap();
    let lees = locks.try_lock(&held.holder().key, &lee).await.unwrap();
    let taken =
        locks.take_over(&held.holder().key, lees.holder().generation, &kim, LockId::random(), SECRET).await.unwrap();
    locks.break_lock(&held.holder().key, taken.holder().generation, &lee, SECRET).await.unwrap();
    let _ = locks.break_lock(&held.holder().key, taken.holder().generation, &lee, SECRET).await;
    // A save with an ended lock id, one with the live one, and a resumption.
    let orders = Repository::<Order>::new(db);
    let no = order.to_owned();
    let mut tx = db.begin().await.unwrap();
    orders.insert(&mut tx, Order { no: no.clone(), message: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    let order = LockKey::of::<Order>(&no);
    let lease = locks.try_lock(&order, &kim).await.unwrap();
    let send = |order: &mut Order| {
        order.message.push('!');
        Ok::<_, ()>(())
    };
    assert!(orders.update(&no).holding(taken.id()).run(send).await.is_err());
    orders.update(&no).by(&kim).holding(lease.id()).run(send).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    locks.guard(&mut tx, lease.id()).await.unwrap();
    let _ = locks.guard(&mut tx, taken.id()).await;
    let _ = locks.release_within(&mut tx, taken.id()).await;
    tx.rollback().await.unwrap();
    clock.advance(Duration::from_secs(400));
    let _ = locks.check_lock(lease.id()).await;
    locks.resume(&orders, &no, lease.id(), Version::new(2).unwrap()).await.unwrap();
    orders.update(&no).by(&kim).releasing(lease.id()).run(send).await.unwrap();
    // A lost race, and a delete.
    let mut stale = orders.get(&no).await.unwrap().unwrap();
    orders.update(&no).run(send).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    stale.message.push('?');
    assert!(orders.save(&mut tx, &mut stale).await.is_err());
    tx.rollback().await.unwrap();
    orders.update(&no).delete(|_| Ok::<_, ()>(())).await.unwrap();
    // A job whose lease is broken, and one that releases it.
    let job = key();
    let guard = locks.hold(&job, &kim).await.unwrap();
    locks.break_lock(&job, 1, &lee, SECRET).await.unwrap();
    assert!(guard.release().await.is_err());
    let guard = locks.hold(&job, &kim).await.unwrap();
    ids.push(guard.lock_id().clone());
    guard.release().await.unwrap();
    locks.release_all("lee").await.unwrap();
    locks.list().limit(10).run().await.unwrap();
    locks.held_by_type().await.unwrap();
    ids.extend([&held, &lees, &taken, &lease].map(|lease| lease.id().clone()));
    ids
}

/// The text encodings of bytes.
fn written(bytes: &[u8]) -> Vec<String> {
    let join = |one: fn(&u8) -> String, between: &str| bytes[..8].iter().map(one).collect::<Vec<_>>().join(between);
    vec![
        join(|byte| format!("{byte:02x}"), ""),
        join(|byte| format!("{byte:02X}"), ""),
        join(|byte| format!("{byte:02x}"), "\\x"),
        join(|byte| format!("{byte:02X}"), "\\x"),
        join(u8::to_string, ", "),
        join(u8::to_string, ","),
        String::from_utf8_lossy(&bytes[..8]).into_owned(),
    ]
}

async fn nothing_secret_is_emitted(url: &str, more: impl AsyncFnOnce(&Database)) {
    let _one = ONE_AT_A_TIME.lock().await;
    let _ = tracing::subscriber::set_global_default(Capture);
    let before = emitted().len();
    let clock = ManualClock::new();
    let db = Database::connect_with(url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    more(&db).await;
    let number = LockId::random().reveal()[48..].to_owned();
    let ids = everything(&db, &clock, &number).await;
    db.close().await;
    let all = emitted()[before..].to_vec();
    for line in all.iter().filter(|line| line.starts_with("span unit_of_work ")) {
        assert!(!line.contains(&number), "the id of an aggregate in: {line}");
    }
    for line in &all {
        assert!(!line.contains(SECRET), "a note or a reason in: {line}");
    }
    for id in &ids {
        let text = id.reveal();
        let bytes: Vec<u8> = (0..64).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
        let hash = [&bytes[..6], &Sha256::digest(&bytes)[6..]].concat();
        for secret in [written(&bytes), written(&hash)].concat() {
            for line in &all {
                assert!(!line.contains(&secret), "a lock id or its hash in: {line}");
            }
        }
    }
    // And the expected fields are present.
    for told in [
        "span lock operation=\"try_lock\" kind=\"Order\" generation=1 outcome=\"ok\"",
        "span lock operation=\"check_lock\" kind=\"Order\" outcome=\"lock-expired\"",
        "span lock operation=\"take_over\" kind=\"Order\" generation=3 outcome=\"ok\"",
        "span lock operation=\"break_lock\" kind=\"Order\" generation=3 outcome=\"ok\"",
        "span lock operation=\"break_lock\" kind=\"Order\" outcome=\"holder-changed\"",
        "span lock operation=\"save\" kind=\"Order\" outcome=\"lock-broken\"",
        "span unit_of_work operation=\"insert\" kind=\"Order\" version=1 outcome=\"ok\"",
        "span unit_of_work operation=\"load\" kind=\"Order\" version=2 outcome=\"ok\"",
        "span unit_of_work operation=\"save\" kind=\"Order\" version=3 outcome=\"ok\"",
        "span unit_of_work operation=\"save\" kind=\"Order\" outcome=\"lost-race\"",
        "span unit_of_work operation=\"delete\" kind=\"Order\" version=4 outcome=\"ok\"",
        "span unit_of_work operation=\"commit\" outcome=\"ok\"",
        "span lock operation=\"resume\" kind=\"Order\" generation=1 outcome=\"ok\"",
    ] {
        let words: Vec<_> = told.split(' ').collect();
        let spans =
            || all.iter().filter(|line| line.starts_with("span lock ") || line.starts_with("span unit_of_work "));
        let seen = spans().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(seen, "missing: {told}; there is\n{}", spans().cloned().collect::<Vec<_>>().join("\n"));
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_is_emitted_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/test.db", directory.path().display());
    let table = async |db: &Database| {
        let mut tx = db.begin().await.unwrap();
        sqlx::raw_sql(TABLE).execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
    };
    nothing_secret_is_emitted(&url, table).await;
}

#[cfg(feature = "postgres")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_is_emitted_on_postgres() {
    let table = async |db: &Database| {
        sqlx::raw_sql(TABLE).execute(db.postgres().unwrap()).await.unwrap();
    };
    nothing_secret_is_emitted(&testkit::server_url(testkit::Kind::Postgres), table).await;
}

#[cfg(feature = "mysql")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_is_emitted_on_mariadb() {
    let table = async |db: &Database| {
        sqlx::raw_sql(TABLE).execute(db.mysql().unwrap()).await.unwrap();
    };
    nothing_secret_is_emitted(&testkit::server_url(testkit::Kind::MariaDb), table).await;
}
