//! Assumptions about MariaDB and its driver, and guarantees there beyond the suite. If a new
//! version behaves differently, these fail and name the difference.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use sqlx::{Connection, MySqlConnection, MySqlPool, Row};
use tenure::{
    Aggregate, Database, Error, LockKey, LockManager, LockMode, LockPolicy, Owner, Repository, Wait,
    error::{DatabaseError, LockError, UpdateError},
};
use tokio::sync::Barrier;
use tokio::time::timeout;

use super::{in_transaction, is_mysql, options};

#[derive(Aggregate, Debug, Clone)]
#[aggregate(table = "pinned")]
struct Pinned {
    #[aggregate(id)]
    id: String,
    count: i64,
}

const TABLE: &str = "
    create table if not exists pinned (id varchar(64) primary key, count integer not null, version bigint not null,
                                       tag varchar(8) unique) engine = InnoDB";

fn url() -> String {
    testkit::server_url(testkit::Kind::MariaDb)
}

async fn pinned() -> (Database, Repository<Pinned>, String) {
    let db = Database::connect_with(&url(), options()).await.unwrap();
    sqlx::raw_sql(TABLE).execute(db.mysql().unwrap()).await.unwrap();
    let pins = Repository::new(&db);
    let id = insert(&db, &pins).await;
    (db, pins, id)
}

async fn insert(db: &Database, pins: &Repository<Pinned>) -> String {
    let id = tenure::LockId::random().reveal()[32..].to_owned();
    let mut tx = db.begin().await.unwrap();
    pins.insert(&mut tx, Pinned { id: id.clone(), count: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    id
}

fn add(pinned: &mut Pinned) -> Result<(), std::convert::Infallible> {
    pinned.count += 1;
    Ok(())
}

fn kim() -> Owner {
    Owner::new("kim", "Kim")
}

/// Polls a future until it is pending for the `waits + 1`st time, and drops it then.
pub(crate) async fn cut_after<F: Future>(waits: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = waits;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// The server rolls back one of two deadlocked transactions. Its owner ignores the error, and continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commit_after_a_swallowed_deadlock_saves_nothing() {
    let (db, pins, one) = pinned().await;
    let two = insert(&db, &pins).await;
    let barrier = Arc::new(Barrier::new(2));
    let tag = |id: &str, what: &str| format!("update pinned set count = count + 1, tag = '{what}' where id = '{id}'");
    let unit = async |first: &str, then: &str| {
        let mut tx = db.begin().await.unwrap();
        let own = async |tx: &mut tenure::Transaction, sql: String| {
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(tx.mysql().unwrap()).await.is_ok()
        };
        assert!(own(&mut tx, tag(first, &first[..8])).await);
        barrier.wait().await;
        let survived = own(&mut tx, tag(then, &then[..8])).await;
        let after = format!("insert into pinned values ('after {first}', 1, 1, null)");
        assert!(own(&mut tx, after).await);
        (survived, tx.commit().await)
    };
    let (forth, back) = tokio::join!(unit(&one, &two), unit(&two, &one));
    let ((won, committed), (_, refused), loser) = if forth.0 { (forth, back, &two) } else { (back, forth, &one) };
    assert!(won && committed.is_ok(), "{committed:?}");
    assert!(matches!(&refused, Err(Error::Database(DatabaseError::TransactionEnded(_)))), "{refused:?}");
    let after = pins.get(&format!("after {loser}")).await.unwrap();
    assert!(after.is_none(), "the statement after the deadlock was saved");
    assert_eq!(pins.get(loser).await.unwrap().unwrap().count, 1);
}

#[tokio::test]
async fn commit_after_own_statement_ended_transaction_is_an_error() {
    let (db, pins, id) = pinned().await;
    for ends in ["commit", "rollback", "create table if not exists pinned_too (id int)"] {
        let mut tx = db.begin().await.unwrap();
        sqlx::raw_sql(ends).execute(tx.mysql().unwrap()).await.unwrap();
        let found = pins.find(&mut tx, &id, LockMode::Optimistic).await;
        assert!(matches!(found, Err(Error::Database(DatabaseError::TransactionEnded(_)))), "{ends}: {found:?}");
        assert!(matches!(tx.commit().await, Err(Error::Database(DatabaseError::Poisoned(_)))));
        assert_eq!(pins.get(&id).await.unwrap().unwrap().count, 0, "saved after {ends}");
    }
}

/// The reason that statements run to completion in the background: sqlx reads the rest of an interrupted response as the next response.
#[tokio::test]
async fn driver_does_not_survive_an_interrupted_statement() {
    let mut garbled = false;
    // A fast server may have answered before the cancellation.
    for _ in 0..200 {
        let mut connection = MySqlConnection::connect(&url()).await.unwrap();
        let text = "select ? + 0, ? + 0, ? + 0";
        if cut_after(0, sqlx::query(text).bind(1).bind(2).bind(3).fetch_one(&mut connection)).await.is_some() {
            continue;
        }
        let next = timeout(Duration::from_secs(1), sqlx::raw_sql("select 42").fetch_one(&mut connection)).await;
        garbled = !matches!(next, Ok(Ok(row)) if row.try_get::<i32, _>(0).is_ok_and(|n| n == 42));
        if garbled {
            break;
        }
    }
    assert!(garbled, "every cut was survived: `underway.rs` may go");
}

#[tokio::test]
async fn cancelled_own_statement_is_rolled_back_and_disconnected() {
    let (db, pins, id) = pinned().await;
    let mut cuts = 0;
    for attempt in 0..30 {
        let mut tx = db.begin().await.unwrap();
        let sql = "update pinned set count = count + ? where id = ? and version > ? and sleep(0.01) = 0";
        let own = sqlx::query(sql).bind(1).bind(&id).bind(0).execute(tx.mysql().unwrap());
        // A fast server may have answered before the cancellation.
        if cut_after(attempt % 3, own).await.is_some() {
            continue;
        }
        cuts += 1;
        let before = pins.get(&id).await.unwrap().unwrap().count;
        // The server executed it, or never received it. But the reported outcome of the commit must be true.
        let committed = timeout(Duration::from_secs(15), tx.commit()).await.expect("the commit hangs").is_ok();
        let after = pins.get(&id).await.unwrap().unwrap().count;
        assert!(committed || after == before, "refused, but saved");
    }
    assert!(cuts > 0);
    for _ in 0..30 {
        pins.update(&id).run(add).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_operations_leave_no_transaction() {
    let (db, pins, id) = pinned().await;
    let locks = LockManager::new(&db);
    let key = LockKey::new("Pinned", &id);
    for waits in 0..24 {
        cut_after(waits, pins.update(&id).locking(LockMode::PessimisticWrite).run(add)).await;
        cut_after(waits, pins.get(&id)).await;
        if let Some(Ok(lease)) = cut_after(waits, locks.try_lock(&key, &kim())).await {
            cut_after(waits, locks.keep_alive(std::slice::from_ref(lease.id()))).await;
            cut_after(waits, locks.release_lock(lease.id())).await;
        }
    }
    let pool = db.mysql().unwrap();
    assert!(pool.size() > 0);
    // Leftovers would be on a connection of this pool, or wait for one.
    let settings = format!("select cast(@@autocommit as signed) + cast({} as signed) * 10", in_transaction(&db));
    let mut connections = Vec::new();
    for _ in 0..10 {
        let mut connection = pool.acquire().await.unwrap();
        let seen = sqlx::query_scalar(sqlx::AssertSqlSafe(settings.clone()));
        let seen: i64 = seen.fetch_one(&mut *connection).await.unwrap();
        assert_eq!(seen, 1);
        connections.push(connection);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_transaction_is_named_by_its_purpose() {
    let (db, pins, id) = pinned().await;
    let (holding, (finish, finished)) = (Arc::new(Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (barrier, other, number) = (Arc::clone(&holding), pins.clone(), id.clone());
    // The command is synchronous, so it blocks its thread while it holds the row.
    let holder = tokio::spawn(async move {
        let handle = tokio::runtime::Handle::current();
        let update = other.update(&number).by(&kim()).command("count").locking(LockMode::PessimisticWrite);
        let wait = move |pinned: &mut Pinned| {
            tokio::task::block_in_place(|| {
                handle.block_on(async {
                    barrier.wait().await;
                    let _ = finished.await;
                })
            });
            add(pinned)
        };
        update.run(wait).await.map(drop)
    });
    holding.wait().await;
    let update = pins.update(&id).locking(LockMode::PessimisticWrite).within(Duration::from_millis(600));
    let refused = update.run(add).await;
    finish.send(()).unwrap();
    let Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { waited, holder: named }))) = refused
    else {
        panic!("{refused:?}")
    };
    assert!(waited >= Duration::from_millis(600), "{waited:?}");
    let is_named = named.as_ref().is_some_and(|named| named.starts_with("kim: count ("));
    assert_eq!(is_named, db.capabilities().names_blocker, "{named:?}");
    holder.await.unwrap().unwrap();
    db.close().await;
}

#[tokio::test]
async fn transaction_settings_do_not_leak_to_the_next_user() {
    let (db, pins, id) = pinned().await;
    // Both have a limit for statements, under other names.
    let (isolation, limit, expected) = match is_mysql(&db) {
        true => ("transaction_isolation", "max_execution_time", "1 0 READ-COMMITTED +00:00 0 50 31536000"),
        false => ("tx_isolation", "max_statement_time", "1 0 READ-COMMITTED +00:00 0.000000 50 86400"),
    };
    let settings = format!(
        "select convert(concat_ws(' ', cast(@@autocommit as signed), {}, @@{isolation}, @@time_zone, @@{limit},
                                  @@innodb_lock_wait_timeout, @@lock_wait_timeout) using utf8mb4)",
        in_transaction(&db)
    );
    let pool: &MySqlPool = db.mysql().unwrap();
    for _ in 0..3 {
        let update = pins.update(&id).by(&kim()).command("count").within(Duration::from_millis(123));
        update.run(add).await.unwrap();
        pins.get(&id).await.unwrap();
        drop(db.begin_within(Wait::Within(Duration::from_millis(77))).await.unwrap());
        for _ in 0..4 {
            let seen = sqlx::query_scalar(sqlx::AssertSqlSafe(settings.clone()));
            assert_eq!(seen.fetch_one(pool).await.map(|seen: String| seen).unwrap(), expected);
        }
    }
}

/// MariaDB's own time limit is whole seconds, and restarts for every lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_are_exact_to_milliseconds_for_all_operations() {
    let (db, pins, id) = pinned().await;
    let new = tenure::LockId::random().reveal()[32..].to_owned();
    let mut holder = db.begin_within(Wait::Within(Duration::from_secs(60))).await.unwrap();
    pins.find(&mut holder, &id, LockMode::PessimisticWrite).await.unwrap();
    pins.insert(&mut holder, Pinned { id: new.clone(), count: 0 }).await.unwrap();
    // By operation, the least of all: a busy machine delays one or the other, and a wrong deadline each of them.
    let mut late = [Duration::MAX; 3];
    for millis in [120, 200, 300, 400] {
        let (budget, asked) = (Duration::from_millis(millis), Instant::now());
        let mut tx = db.begin_within(Wait::Within(budget)).await.unwrap();
        let load = pins.find(&mut tx, &id, LockMode::PessimisticRead).await.map(drop);
        let loaded = asked.elapsed();
        let asked = Instant::now();
        let mut tx = db.begin_within(Wait::Within(budget)).await.unwrap();
        let mut one = pins.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
        one.count += 1;
        let save = pins.save(&mut tx, &mut one).await.map(drop);
        let saved = asked.elapsed();
        let asked = Instant::now();
        let mut tx = db.begin_within(Wait::Within(budget)).await.unwrap();
        let insert = pins.insert(&mut tx, Pinned { id: new.clone(), count: 0 }).await.map(drop);
        let inserted = asked.elapsed();
        for ((refused, took), late) in [(load, loaded), (save, saved), (insert, inserted)].into_iter().zip(&mut late) {
            assert!(matches!(refused, Err(Error::Database(DatabaseError::LockTimeout { .. }))), "{refused:?}");
            // The server counts by a clock of its own.
            assert!(took + Duration::from_millis(1) >= budget, "{took:?} of {budget:?}");
            *late = took.saturating_sub(budget).min(*late);
        }
    }
    // Alone it is 1 to 2 ms; by the whole seconds of the server it would be at least 600.
    assert!(late.iter().all(|late| *late < Duration::from_millis(500)), "late by {late:?}");
    holder.rollback().await.unwrap();
}

/// The row is locked before the time is read: a lease after a wait has its full time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_after_a_wait_has_its_full_time() {
    let (db, _, id) = pinned().await;
    let ttl = LockPolicy::SHORTEST_TTL;
    let locks = LockManager::new(&db).with_policy("Pinned", LockPolicy::exclusive().ttl(ttl).unwrap());
    let key = LockKey::new("Pinned", &id);
    let first = locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    locks.guard(&mut tx, first.id()).await.unwrap();
    tokio::time::sleep(ttl + Duration::from_millis(50)).await;
    let (others, wanted) = (locks.clone(), key.clone());
    let next = tokio::spawn(async move { others.try_lock(&wanted, &Owner::new("lee", "Lee")).await });
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert!(!next.is_finished());
    let servers_clock = "select cast(unix_timestamp(sysdate(6)) * 1000 as signed)";
    let now: i64 = sqlx::query_scalar(servers_clock).fetch_one(db.mysql().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let lease = next.await.unwrap().unwrap();
    assert_eq!(lease.holder().generation, 2);
    let row = "select since, expires_at - since from tenure_lock where kind = 'Pinned' and id = ?";
    let (since, time): (i64, i64) = sqlx::query_as(row).bind(&id).fetch_one(db.mysql().unwrap()).await.unwrap();
    assert!(since >= now && time == 3_000, "{since} before {now}, or {time} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heartbeats_takeovers_and_saves_do_not_deadlock() {
    saves_and_heartbeats_do_not_deadlock(&url()).await;
}

/// A save that releases its lease, and the heartbeat of the same page, want the same row. Neither gets a deadlock.
pub(crate) async fn saves_and_heartbeats_do_not_deadlock(url: &str) {
    let (db, elsewhere) =
        (Database::connect_with(url, options()).await.unwrap(), Database::connect_with(url, options()).await.unwrap());
    sqlx::raw_sql(TABLE).execute(db.mysql().unwrap()).await.unwrap();
    let pins = Repository::new(&db);
    let id = insert(&db, &pins).await;
    let (locks, others) = (LockManager::new(&db), LockManager::new(&elsewhere));
    let key = LockKey::of::<Pinned>(&id);
    for _ in 0..40 {
        let lease = locks.try_lock(&key, &kim()).await.unwrap();
        let beat = async || others.keep_alive(std::slice::from_ref(lease.id())).await.map(drop);
        let steal = async || match others.try_lock(&key, &Owner::new("lee", "Lee")).await {
            Ok(stolen) => others.release_lock(stolen.id()).await.unwrap(),
            Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => {}
            Err(error) => panic!("{error}"),
        };
        let save = async || pins.update(&id).by(&kim()).releasing(lease.id()).run(add).await.map(drop);
        let (saved, one, two, ()) = tokio::join!(save(), beat(), beat(), steal());
        assert!(saved.is_ok() && one.is_ok() && two.is_ok(), "{saved:?} {one:?} {two:?}");
    }
    assert_eq!(pins.get(&id).await.unwrap().unwrap().count, 40);
}

#[tokio::test]
async fn other_unique_violation_is_not_a_duplicate_id() {
    #[derive(Aggregate, Debug)]
    #[aggregate(table = "pinned")]
    struct Tagged {
        #[aggregate(id)]
        id: String,
        count: i64,
        tag: Option<String>,
    }
    let (db, _, id) = pinned().await;
    let tagged = Repository::<Tagged>::new(&db);
    let tag = Some(id[..8].to_owned());
    let mut tx = db.begin().await.unwrap();
    let new = |end: &str, tag: &Option<String>| Tagged { id: format!("{id}{end}"), count: 0, tag: tag.clone() };
    tagged.insert(&mut tx, new("1", &tag)).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let exists = tagged.insert(&mut tx, new("1", &None)).await;
    assert!(matches!(exists, Err(Error::AlreadyExists { .. })), "{exists:?}");
    let refused = tagged.insert(&mut tx, new("2", &tag)).await;
    assert!(matches!(refused, Err(Error::Database(DatabaseError::Constraint(_)))), "{refused:?}");
    drop(tx);
    let mut tx = db.begin().await.unwrap();
    let too_long = tagged.insert(&mut tx, new("3", &Some("much too long".into()))).await;
    assert!(matches!(too_long, Err(Error::Database(DatabaseError::DoesNotFit(_)))), "{too_long:?}");
}

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "kinds")]
struct Kinds {
    #[aggregate(id, column = "")]
    id: KindsId,
    yes: bool,
    no: Option<bool>,
    small: u8,
    large: i64,
    money: i64,
    ratio: f64,
    text: Option<String>,
    bytes: Vec<u8>,
    stamp: Option<SystemTime>,
    #[aggregate(children, table = "kinds_part", owner = "kinds_id, kinds_born")]
    parts: Vec<Part>,
}

#[derive(tenure::ValueObject, Debug, Clone, PartialEq)]
struct KindsId {
    id: i64,
    born: SystemTime,
}

impl std::fmt::Display for KindsId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.id, self.born)
    }
}

#[derive(tenure::Entity, Debug, Clone, PartialEq)]
struct Part {
    #[aggregate(key)]
    name: String,
}

const KINDS: &str = "
    create table if not exists kinds (id bigint unsigned, born datetime(6), yes bit(1) not null, no boolean,
        small tinyint unsigned not null, large bigint not null, money decimal(20, 0) not null, ratio float not null,
        `text` enum ('red', '빨강'), bytes longblob not null, stamp timestamp(6) null, version smallint not null,
        primary key (id, born)) engine = InnoDB character set = utf8mb4;
    create table if not exists kinds_part (kinds_id bigint unsigned, kinds_born datetime(6),
        name varchar(20) character set latin1 collate latin1_bin, primary key (kinds_id, kinds_born, name))
        engine = InnoDB";

#[tokio::test]
async fn any_column_width_fits_and_children_sort_bytewise() {
    let (db, _, _) = pinned().await;
    sqlx::raw_sql(KINDS).execute(db.mysql().unwrap()).await.unwrap();
    let kinds = Repository::<Kinds>::new(&db);
    let id = i64::from_str_radix(&tenure::LockId::random().reveal()[52..], 16).unwrap_or(7);
    let at = |micros: u64| SystemTime::UNIX_EPOCH + Duration::from_micros(micros);
    let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_micros(1_234_567);
    let part = |name: &str| Part { name: name.into() };
    let key = KindsId { id, born: before_1970 };
    let mut one = Kinds {
        id: key.clone(),
        yes: true,
        no: None,
        small: 255,
        large: i64::MIN,
        money: i64::MAX,
        ratio: 0.5,
        text: Some("빨강".into()),
        bytes: vec![0, 255, 92, 39],
        stamp: Some(at(1_700_000_000_123_456)),
        parts: vec![part("B"), part("a"), part("ä"), part("z")],
    };
    one.parts.sort_by(|a, b| a.name.cmp(&b.name));
    for round in 0..2 {
        let mut tx = db.begin().await.unwrap();
        if round == 0 {
            kinds.insert(&mut tx, one.clone()).await.unwrap();
        } else {
            let mut stored = kinds.find(&mut tx, &key, LockMode::PessimisticWrite).await.unwrap().unwrap();
            (one.yes, one.no, one.small, one.large, one.money) = (false, Some(true), 0, i64::MAX, i64::MIN);
            (one.ratio, one.text, one.bytes, one.stamp) = (-0.25, None, vec![], None);
            one.parts.remove(0);
            *stored = one.clone();
            kinds.save(&mut tx, &mut stored).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(Kinds::clone(&*kinds.get(&key).await.unwrap().unwrap()), one);
    }
}

#[derive(Aggregate, Debug)]
#[aggregate(table = "stored_value")]
struct Stored {
    #[aggregate(id)]
    id: i64,
    price: Option<rust_decimal::Decimal>,
    uuid: Option<uuid::Uuid>,
    day: Option<jiff::civil::Date>,
    moment: Option<jiff::civil::DateTime>,
    hour: Option<jiff::civil::Time>,
}

#[tokio::test]
async fn mariadb_value_outside_the_rust_type_names_the_column() {
    let (db, _, _) = pinned().await;
    let table = "drop table if exists stored_value;
                 create table stored_value (id bigint primary key, price decimal(60, 30), uuid char(36), day date, moment datetime,
                                      hour time, version bigint default 1) engine = InnoDB;
                 set @mode = @@sql_mode, sql_mode = '';
                 insert into stored_value values (0, 1, '6CCD780C-BABA-1026-9564-5B8C656024DB', '2026-11-20', '2026-11-20 10:00', '10:00', 1);
                 insert into stored_value (id, price) values (1, '100000000000000000000000000000'), (2, '0.00000000000000000000000000001');
                 insert into stored_value (id, uuid) values (3, 'me');
                 insert into stored_value (id, day) values (4, '0000-00-00'), (5, '2026-11-00');
                 insert into stored_value (id, moment) values (6, '0000-00-00');
                 insert into stored_value (id, hour) values (7, '-01:00'), (8, '838:59:59');
                 set sql_mode = @mode";
    sqlx::raw_sql(table).execute(db.mysql().unwrap()).await.unwrap();
    let stored = Repository::<Stored>::new(&db);
    let there = stored.get(&0).await.unwrap().unwrap();
    let moment = jiff::civil::DateTime::constant(2026, 11, 20, 10, 0, 0, 0);
    let uuid = uuid::Uuid::from_u128(0x6ccd780c_baba_1026_9564_5b8c656024db);
    assert_eq!((there.price, there.uuid), (Some(1.into()), Some(uuid)));
    assert_eq!((there.day, there.moment, there.hour), (Some(moment.date()), Some(moment), Some(moment.time())));
    for (id, words) in [
        (1, "column `price`: 100000000000000000000000000000.000000000000000000000000000000 does not fit into"),
        (2, "column `price`: 0.000000000000000000000000000010 does not fit into"),
        (3, "column `uuid`: `me` is no UUID"),
        (4, "column `day`: `0000-00-00` is no date"),
        (5, "column `day`: `2026-11-00` is no date"),
        (6, "column `moment`: `0000-00-00 00:00:00` is no date and time"),
        (7, "column `hour`: `-01:00:00` is no time of day"),
        (8, "column `hour`: `838:59:59` is no time of day"),
    ] {
        let refused = stored.get(&id).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
