//! Assumptions about PostgreSQL, and guarantees there beyond the suite. If a new server version
//! behaves differently, these fail and name the difference.

use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool};
use tenure::{
    Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository, Wait,
    db::ConnectOptions,
    error::{DatabaseError, UpdateError},
};

#[derive(Aggregate, Debug)]
#[aggregate(table = "pinned")]
struct Pinned {
    #[aggregate(id)]
    id: String,
    count: i64,
}

fn url() -> String {
    testkit::server_url(testkit::Kind::Postgres)
}

async fn pinned() -> (Database, Repository<Pinned>, String) {
    let db = Database::connect(&url()).await.unwrap();
    let table =
        "create table if not exists pinned (id text primary key, count integer not null, version bigint not null)";
    // Two tests that create one table concurrently collide in the catalogue, so they queue.
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql("select pg_advisory_xact_lock(7)").execute(tx.postgres().unwrap()).await.unwrap();
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    let pins = Repository::new(&db);
    let id = tenure::LockId::random().reveal();
    pins.insert(&mut tx, Pinned { id: id.clone(), count: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    (db, pins, id)
}

fn add(pinned: &mut Pinned) -> Result<(), std::convert::Infallible> {
    pinned.count += 1;
    Ok(())
}

#[tokio::test]
async fn commit_after_own_swallowed_error_saves_nothing() {
    let (db, pins, id) = pinned().await;
    let mut tx = db.begin().await.unwrap();
    let mut one = pins.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
    one.count = 7;
    pins.save(&mut tx, &mut one).await.unwrap();
    let _swallowed = sqlx::query("select 1 / 0").execute(tx.postgres().unwrap()).await;
    assert!(tx.commit().await.is_err());
    assert_eq!(pins.get(&id).await.unwrap().unwrap().count, 0);
}

/// The reason for a statement before COMMIT: the driver reports the server's ROLLBACK as success.
#[tokio::test]
async fn server_reports_no_error_for_commit_of_an_aborted_one() {
    let mut connection = PgConnection::connect(&url()).await.unwrap();
    sqlx::raw_sql("begin").execute(&mut connection).await.unwrap();
    assert!(sqlx::raw_sql("select 1 / 0").execute(&mut connection).await.is_err());
    assert!(sqlx::raw_sql("commit").execute(&mut connection).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_of_a_row_is_named_with_owner_and_command() {
    // A runtime that waited first and is not driven any more: no wait of another runtime may depend on it.
    let idle = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { drop(pinned().await) });
        runtime
    });
    let idle = idle.join().unwrap();
    let (db, pins, id) = pinned().await;
    let (holding, go_on) = (std::sync::Arc::new(tokio::sync::Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (barrier, other, number) = (holding.clone(), pins.clone(), id.clone());
    let (finish, finished) = go_on;
    // The command is synchronous, so a separate transaction holds the row: begun by an update for its label.
    let holder = tokio::spawn(async move {
        let handle = tokio::runtime::Handle::current();
        let update = other
            .update(&number)
            .by(&Owner::new("kim", "Kim"))
            .command("it's \"counting\"")
            .locking(LockMode::PessimisticWrite);
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
    let waiting = pins.update(&id).locking(LockMode::PessimisticWrite).within(Duration::from_secs(5)).run(add).await;
    finish.send(()).unwrap();
    let Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { waited, holder: Some(named) }))) = waiting
    else {
        panic!("{waiting:?}")
    };
    assert!(named.starts_with("kim: it's \"counting\"") && waited >= Duration::from_millis(300), "{named} {waited:?}");
    holder.await.unwrap().unwrap();
    db.close().await;
    idle.shutdown_background();
}

#[tokio::test]
async fn transaction_settings_do_not_leak_to_the_next_user() {
    let (db, pins, id) = pinned().await;
    let settings = "select current_setting('lock_timeout') || current_setting('application_name') || current_setting('transaction_isolation')";
    let pool: &PgPool = db.postgres().unwrap();
    for _ in 0..3 {
        let update = pins.update(&id).by(&Owner::new("kim", "Kim")).command("count").within(Duration::from_millis(123));
        update.run(add).await.unwrap();
        drop(db.begin_within(Wait::Within(Duration::from_millis(77))).await.unwrap());
        for _ in 0..4 {
            let seen: String = sqlx::query_scalar(settings).fetch_one(pool).await.unwrap();
            assert_eq!(seen, "0tenureread committed");
        }
    }
}

#[tokio::test]
async fn transaction_is_read_committed_whatever_the_default() {
    let (db, _, _) = pinned().await;
    let mut tx = db.begin().await.unwrap();
    let level: String =
        sqlx::query_scalar("show transaction_isolation").fetch_one(tx.postgres().unwrap()).await.unwrap();
    assert_eq!(level, "read committed");
}

#[tokio::test]
async fn heartbeats_are_hot_updates() {
    let (db, _, id) = pinned().await;
    let locks = tenure::LockManager::new(&db);
    let lease = locks.try_lock(&tenure::LockKey::new("Pinned", id), &Owner::new("kim", "Kim")).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let indexed =
        "select exists (select 1 from pg_indexes where tablename = 'tenure_lock' and indexdef like '%expires_at%')";
    let indexed: bool = sqlx::query_scalar(indexed).fetch_one(tx.postgres().unwrap()).await.unwrap();
    let before: i64 = hot(&mut tx).await;
    let beat = "update tenure_lock set expires_at = expires_at + 1
                 where lock_hash = decode(left($1, 12), 'hex') || substring(sha256(decode($1, 'hex')) from 7)";
    let beats = sqlx::query(beat).bind(lease.id().reveal()).execute(tx.postgres().unwrap()).await.unwrap();
    assert_eq!((indexed, beats.rows_affected(), hot(&mut tx).await - before), (false, 1, 1));
}

async fn hot(tx: &mut tenure::Transaction) -> i64 {
    let select = "select pg_stat_get_xact_tuples_hot_updated('tenure_lock'::regclass)";
    sqlx::query_scalar(select).fetch_one(tx.postgres().unwrap()).await.unwrap()
}

#[derive(Aggregate, Debug, PartialEq)]
#[aggregate(table = "stored")]
struct Stored {
    #[aggregate(id)]
    id: i64,
    real: Option<f64>,
    price: Option<rust_decimal::Decimal>,
    day: Option<jiff::civil::Date>,
    moment: Option<jiff::civil::DateTime>,
    hour: Option<jiff::civil::Time>,
}

#[tokio::test]
async fn text_that_is_too_long_for_its_index_does_not_fit() {
    #[derive(Aggregate, Debug)]
    #[aggregate(table = "indexed")]
    struct Indexed {
        #[aggregate(id)]
        id: String,
    }
    let (db, _, _) = pinned().await;
    let mut tx = db.begin().await.unwrap();
    let table = "create table if not exists indexed (id text primary key, version bigint not null)";
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    // Nothing that repeats, because it is compressed before it is measured.
    let id = (0_u32..9_000).filter_map(|n| char::from_u32(0x4e00 + (n.wrapping_mul(2_654_435_761) >> 12) % 20_000));
    let refused = Repository::<Indexed>::new(&db).insert(&mut tx, Indexed { id: id.collect() }).await.unwrap_err();
    let Error::Database(DatabaseError::DoesNotFit(misfit)) = &refused else { panic!("{refused:?}") };
    assert!(misfit.table.as_deref() == Some("indexed") && misfit.problem.contains("maximum size is"), "{misfit}");
}

/// The text of dates depends on settings, and `to_char` prints infinity as an empty text and 44 BC as 44.
#[tokio::test]
async fn postgres_value_outside_the_rust_type_names_the_column() {
    let db = Database::connect(&url()).await.unwrap();
    let stored = Repository::<Stored>::new(&db);
    let mut tx = db.begin().await.unwrap();
    let table = "drop table if exists stored;
                 create table stored (id bigint primary key, real float8, price numeric, day date, moment timestamp, hour time,
                                      version bigint);
                 insert into stored values (0, null, '12.5000', '2026-11-20', '2026-11-20 10:00', '10:00', 1);
                 insert into stored values (1, 'NaN'), (2, 'Infinity');
                 insert into stored (id, price) values (3, 'NaN'), (4, '1e29'), (5, '0.00000000000000000000000000001');
                 insert into stored (id, day) values (6, 'infinity'), (7, '0044-03-15 BC'), (8, '10000-01-01');
                 insert into stored (id, moment) values (9, '-infinity'), (10, '0044-03-15 10:00 BC');
                 insert into stored (id, hour) values (11, '24:00');
                 insert into stored (id, price) values (12, '1.0000000000000000000000000000000000000000');
                 update stored set version = 1;
                 set local datestyle = 'German'; set local timezone = 'Asia/Seoul'; set local intervalstyle = 'sql_standard'";
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    let there = stored.find(&mut tx, &0, LockMode::Optimistic).await.unwrap().unwrap().into_inner();
    let moment = jiff::civil::DateTime::constant(2026, 11, 20, 10, 0, 0, 0);
    let price = Some("12.5".parse().unwrap());
    let (day, hour) = (Some(moment.date()), Some(moment.time()));
    assert_eq!(there, Stored { id: 0, real: None, price, day, moment: Some(moment), hour });
    let one = stored.find(&mut tx, &12, LockMode::Optimistic).await.unwrap().unwrap();
    assert_eq!(one.price, Some(1.into()));
    tx.commit().await.unwrap();
    for (id, words) in [
        (1, "column `real`: NaN is no number that every database can hold"),
        (2, "column `real`: inf is no number"),
        (3, "column `price`: `NaN` is no decimal number"),
        (4, "column `price`: 100000000000000000000000000000 does not fit into rust_decimal::Decimal"),
        (5, "column `price`: 0.00000000000000000000000000001 does not fit into rust_decimal::Decimal"),
        (6, "column `day`: `infinity` is no date"),
        (7, "column `day`: `0044-03-15 BC` is no date"),
        (8, "column `day`: `10000-01-01` is no date"),
        (9, "column `moment`: `-infinity` is no date and time"),
        (10, "column `moment`: `0044-03-15T10:00:00 BC` is no date and time"),
        (11, "column `hour`: `24:00:00` is no time of day"),
    ] {
        let refused = stored.get(&id).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

/// SERIALIZABLE fails transactions on different orders: 40 of 100 tries in a measurement. Each connection sets its own level.
#[tokio::test]
async fn server_with_serializable_default_works() {
    let url = testkit::new_database(testkit::Kind::Postgres);
    let with = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{with}options[default_transaction_isolation]=serializable");
    let db = Database::connect(&url).await.unwrap();
    let isolation = "select current_setting('transaction_isolation')";
    let isolation: String = sqlx::query_scalar(isolation).fetch_one(db.postgres().unwrap()).await.unwrap();
    assert_eq!(isolation, "read committed");
    // It records and does not refuse: a request that failed in a batch is sent again alone.
    let record = "
        create table levels (level text);
        create function record_level() returns trigger language plpgsql as $$ begin
            insert into levels values (current_setting('transaction_isolation'));
            return new;
        end $$;
        create trigger record_level before insert or update on tenure_lock for each row execute function record_level()";
    sqlx::raw_sql(record).execute(db.postgres().unwrap()).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&LockKey::new("Order", "17"), &Owner::new("kim", "Kim")).await.unwrap();
    locks.keep_alive(std::slice::from_ref(lease.id())).await.unwrap().remove(0).unwrap();
    locks.release_lock(lease.id()).await.unwrap();
    let levels = sqlx::query_scalar("select distinct level from levels");
    let levels: Vec<String> = levels.fetch_all(db.postgres().unwrap()).await.unwrap();
    assert_eq!(levels, ["read committed"]);
}

/// The server detects a disconnected client while its statement still waits, and ends an idle transaction.
#[tokio::test]
async fn connections_keep_nothing_of_a_previous_client() {
    let db = Database::connect(&url()).await.unwrap();
    let settings = "select current_setting('idle_in_transaction_session_timeout'),
                           current_setting('client_connection_check_interval'), current_setting('tcp_user_timeout')";
    let settings: (String, String, String) = sqlx::query_as(settings).fetch_one(db.postgres().unwrap()).await.unwrap();
    assert_eq!((&*settings.0, &*settings.1, &*settings.2), ("1min", "5s", "30000"));
    let unlimited = ConnectOptions::new().idle_in_transaction(Duration::ZERO);
    let db = Database::connect_with(&url(), unlimited).await.unwrap();
    let idle = "select current_setting('idle_in_transaction_session_timeout')";
    let idle: String = sqlx::query_scalar(idle).fetch_one(db.postgres().unwrap()).await.unwrap();
    assert_eq!(idle, "0");
}

/// The visible part of a transaction of Kim's.
async fn seen_on_the_server() -> String {
    let (db, pins, id) = pinned().await;
    let watcher = &PgPool::connect(&url()).await.unwrap();
    let ours = Database::connect(&url()).await.unwrap();
    let command = Repository::<Pinned>::new(&ours);
    let (kim, name) = (Owner::new("kim.minji", "Kim Minji"), format!("add {}", &id[..20]));
    let seen = command.update(&id).by(&kim).command(&name).also(|mut tx, _| async move {
        let process: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(tx.postgres()?).await?;
        let shown = "select application_name from pg_stat_activity where pid = $1";
        let shown: String = sqlx::query_scalar(shown).bind(process).fetch_one(watcher).await?;
        Err(DatabaseError::other(shown).into())
    });
    let UpdateError::Failed(Error::Database(shown)) = seen.run(add).await.unwrap_err() else { panic!("no label") };
    assert_eq!(pins.get(&id).await.unwrap().unwrap().count, 0);
    db.close().await;
    shown.to_string().replace(&name, "COMMAND")
}

#[tokio::test]
async fn transaction_name_contains_person_and_command() {
    assert!(seen_on_the_server().await.ends_with(": kim.minji: COMMAND"));
}
