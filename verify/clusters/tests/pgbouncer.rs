//! PgBouncer between tenure and PostgreSQL: works in session mode, and is refused by name in the other modes, whatever it does with prepared
//! statements. In no mode does a setting of tenure reach another application.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tenure::error::DatabaseError;
use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository};
use testkit::{DATABASE, Postgres};

#[derive(Aggregate, Debug)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

/// A running pooler. Its end ends it.
struct Pooler {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The versions from 1.21 on follow prepared statements from session to session.
fn follows_prepared() -> bool {
    let version = String::from_utf8(Command::new("pgbouncer").arg("--version").output().unwrap().stdout).unwrap();
    let numbers = version.split_whitespace().nth(1).unwrap().split('.');
    numbers.map(|number| number.parse::<u32>().unwrap()).collect::<Vec<_>>() >= vec![1, 21]
}

fn pooler(server: &Postgres, mode: &str, prepared: bool) -> Pooler {
    let folder = tempfile::tempdir().unwrap();
    // The pooler connects next; the port is free until then.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = server.url(DATABASE);
    let (user, host) = url.strip_prefix("postgres://").unwrap().split_once('@').unwrap();
    let (name, password) = user.split_once(':').unwrap();
    let (host, server_port) = host.split_once('/').unwrap().0.split_once(':').unwrap();
    let prepared = if prepared { "max_prepared_statements = 200" } else { "" };
    let configuration = format!(
        "[databases]\n* = host={host} port={server_port} user={name} password={password}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n\
         default_pool_size = 60\nignore_startup_parameters = extra_float_digits\n{prepared}\n"
    );
    let file = folder.path().join("pgbouncer.ini");
    std::fs::write(&file, configuration).unwrap();
    let mut command = Command::new("pgbouncer");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        // It refuses to run as root, and changes its user after it has read the file.
        command.args(["-u", "nobody"]);
    }
    let process = command.arg("-q").arg(&file).spawn().unwrap();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the pooler does not listen");
        std::thread::yield_now();
    }
    let url = format!("postgres://{user}@127.0.0.1:{port}/{DATABASE}");
    Pooler { process, url, _folder: folder }
}

const SETTINGS: &str = "select string_agg(name || '=' || setting, ', ' order by name) from pg_settings where name in
    ('enable_seqscan', 'enable_hashjoin', 'plan_cache_mode', 'jit', 'lock_timeout', 'idle_in_transaction_session_timeout',
     'default_transaction_isolation', 'random_page_cost', 'search_path', 'client_connection_check_interval')";

/// The settings that other applications find on this many sessions at the same time.
async fn settings(url: &str, sessions: usize) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let mut connection = PgConnection::connect(url).await.unwrap();
        // In a transaction, so that the next one gets another session.
        sqlx::raw_sql("begin").execute(&mut connection).await.unwrap();
        let row = sqlx::raw_sql(SETTINGS).fetch_one(&mut connection).await.unwrap();
        found.push(sqlx::Row::try_get(&row, 0).unwrap());
        open.push(connection);
    }
    found
}

#[tokio::test]
async fn session_mode_works_and_leaves_no_setting_behind() {
    let server = Postgres::start().unwrap();
    let untouched = settings(&server.url(DATABASE), 1).await;
    let pooler = pooler(&server, "session", false);
    let db = Database::connect(&pooler.url).await.unwrap();
    let (orders, locks) = (Repository::<Order>::new(&db), LockManager::new(&db));
    let mut tx = db.begin().await.unwrap();
    let table = "create table orders (no text primary key, note text not null, version bigint not null)";
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    orders.insert(&mut tx, Order { no: "1".into(), note: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    let lease = locks.try_lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).await.unwrap();
    let change = |order: &mut Order| {
        order.note = "a".into();
        Ok::<_, std::convert::Infallible>(())
    };
    orders.update(&"1".into()).holding(lease.id()).run(change).await.unwrap();
    db.close().await;
    let left = settings(&pooler.url, 10).await;
    assert!(left.iter().all(|left| *left == untouched[0]), "{left:?}");
}

#[tokio::test]
async fn shared_sessions_are_refused_by_name_before_anything_is_set() {
    let server = Postgres::start().unwrap();
    let untouched = settings(&server.url(DATABASE), 1).await;
    let ways = [("transaction", false), ("statement", false), ("transaction", true)];
    for (mode, prepared) in ways.into_iter().filter(|(_, prepared)| !prepared || follows_prepared()) {
        let pooler = pooler(&server, mode, prepared);
        let refused = Database::connect(&pooler.url).await;
        let Err(DatabaseError::Unsupported(why)) = refused else { panic!("{mode}: {refused:?}") };
        assert!(why.contains("PgBouncer") && why.contains("pool_mode = session"), "{why}");
        // Statement mode allows no transaction, so one session is all that others see.
        if mode == "transaction" {
            let left = settings(&pooler.url, 5).await;
            assert!(left.iter().all(|left| *left == untouched[0]), "{left:?}");
        }
    }
}
