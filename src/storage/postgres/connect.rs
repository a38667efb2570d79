//! Connecting: the settings that keep acknowledged locks are verified, the schema is brought up to date.

mod transport;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool, Postgres, Row};

use super::Time;
use super::errors::{classify, read_committed};
use super::pools::Pools;
use crate::clock::{millis, to_micros};
use crate::error::DatabaseError;
use crate::storage::checkout::{Silence, give_back};
use crate::storage::diagnosis::{Diagnosis, Setting, Writers};
use crate::storage::kept::Kept;
use crate::storage::migration::Dialect;
use crate::storage::{ConnectOptions, Connections, Place, migration, reserve};

/// Connections per process. Two cores' worth of PostgreSQL backends are busy with far fewer.
const CONNECTIONS: u32 = 10;

/// What every connection is set to, whatever the server's default is: batches and loads are transactions of their own, and
/// under SERIALIZABLE would fail because of others that they have nothing to do with. And a transaction that is deferrable is
/// one of ours, see [`OpenTransaction::ours`](super::connection::OpenTransaction::ours).
const SESSION: &str = "set session characteristics as transaction isolation level read committed, not deferrable";

/// What connections are set to that ask for many rows at once. A statement is planned once, for any number of questions, and what
/// the server knows of the table by then may be old: that it is empty, or small. Then it would read all of it for each batch,
/// or even for each question. So it has to look for each row by its key. And whoever has made a row and not committed it yet does
/// so in a moment, unless they stand still: nobody waits for them for longer.
pub(super) const BATCHES: &str = "set session characteristics as transaction isolation level read committed;
    set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off;
    set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off; set random_page_cost = 1;
    set jit = off; set lock_timeout = '1s'";

/// How many of those: four rounds that write, four that read, a process's heartbeats, and one to spare. They are only opened when
/// they are needed.
const FOR_BATCHES: u32 = 10;

/// What the server is to do about a program that has gone without a word: after how many milliseconds it looks whether the
/// client of a statement that still runs is there (since PostgreSQL 14, on Linux and macOS), and after how long it gives up a
/// connection that acknowledges nothing. A server that does not know a setting goes without it.
const CLIENTS: &str = "do $$ declare wanted text[]; begin
        foreach wanted slice 1 in array array[['client_connection_check_interval', '5000'], ['tcp_user_timeout', '30000'],
            ['tcp_keepalives_idle', '30'], ['tcp_keepalives_interval', '10'], ['tcp_keepalives_count', '3']] loop
            begin perform set_config(wanted[1], wanted[2], false); exception when others then null; end;
        end loop;
    end $$";
/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

impl super::Postgres {
    /// Connects and migrates tenure's own tables.
    pub(crate) async fn open(
        place: Place<'_, PgConnectOptions>,
        connect: ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        let options = reachable(place, &connect).await?;
        let count = connect.connections.map_or(CONNECTIONS, NonZeroU32::get);
        let (silence, idle) = (Silence::default(), connect.idle_limit());
        let pool = pool(options.clone(), count, &connect.first(SESSION), idle, &silence);
        let (version, settings) = look(&pool).await?;
        if let Some(bad) = settings.iter().find(|setting| !setting.good && !connect.volatile) {
            return Err(DatabaseError::Schema(bad.to_string()));
        }
        // Where nothing is left to do, the user needs no right to make tables.
        let known: Vec<i64> = migrator().iter().map(|migration| migration.version).collect();
        if applied(&pool).await? != known {
            migrator().run(&pool).await.map_err(|error| migration::failed(error, classify))?;
        }
        let pools = Pools {
            main: pool.clone(),
            kept: Kept::of(count, give_back),
            batches: self::pool(options.clone(), FOR_BATCHES, &connect.first(BATCHES), idle, &silence),
            alone: self::pool(options, reserve::CONNECTIONS, &connect.first(SESSION), idle, &silence),
            silence,
        };
        Ok(super::Postgres { pool, pools: Arc::new(pools), time: Time(connect.clock), version, count })
    }
}

/// Looks at a database without changing it.
pub(crate) async fn diagnose(url: &str, connect: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
    let (options, idle) = (reachable(Place::Url(url), &connect).await?, connect.idle_limit());
    let pool = pool(options.clone(), CONNECTIONS, &connect.first(SESSION), idle, &Silence::default());
    let transport = transport::used(&pool, &options).await?;
    let (version, settings) = look(&pool).await?;
    let asked = SystemTime::now();
    let clock = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
    let clock: i64 = sqlx::query_scalar(clock).fetch_one(&pool).await.map_err(classify)?;
    let here = (to_micros(asked) + to_micros(SystemTime::now())) / 2;
    let applied = applied(&pool).await?;
    let allowed = "select current_setting('max_connections')::bigint";
    let allowed: i64 = sqlx::query_scalar(allowed).fetch_one(&pool).await.map_err(classify)?;
    pool.close().await;
    Ok(Diagnosis {
        connections: connections(connect.connections.map_or(CONNECTIONS, NonZeroU32::get)),
        connections_allowed: u32::try_from(allowed).ok(),
        capabilities: super::capabilities(&version),
        transport,
        writers: Writers::One,
        settings,
        clock_ahead_ms: (clock - here) / 1000,
        applied,
        known: migrator().iter().map(|migration| migration.version).collect(),
    })
}

/// The most connections of a process.
pub(super) fn connections(application: u32) -> Connections {
    Connections { application, lock_table: FOR_BATCHES, reserve: reserve::CONNECTIONS, listener: 1, writer: 0 }
}

/// The numbers of the migrations that were applied.
async fn applied(pool: &PgPool) -> Result<Vec<i64>, DatabaseError> {
    let ledger = "select to_regclass('_tenure_migrations')::text";
    let ledger: Option<String> = sqlx::query_scalar(ledger).fetch_one(pool).await.map_err(classify)?;
    if ledger.is_none() {
        return Ok(Vec::new());
    }
    let applied = "select version from _tenure_migrations where success order by version";
    sqlx::query_scalar(applied).fetch_all(pool).await.map_err(classify)
}

/// How to get to the server, for all connections; one has been there.
async fn reachable(
    place: Place<'_, PgConnectOptions>,
    connect: &ConnectOptions,
) -> Result<PgConnectOptions, DatabaseError> {
    let plaintext = connect.plaintext;
    let not_understood = |problem: String| DatabaseError::Unreachable {
        url: "postgres://…".into(),
        problem: format!("the URL is not understood: {problem}"),
    };
    let (options, url) = match place {
        Place::Url(url) => {
            let url = transport::known(url).map_err(not_understood)?;
            let options = url.parse().map_err(|error: sqlx::Error| not_understood(error.to_string()))?;
            (options, url)
        }
        Place::Options(options) => (*options, String::new()),
    };
    // Without the password.
    let shown = format!(
        "postgres://{}@{}:{}/{}",
        options.get_username(),
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_default()
    );
    let unreachable = |problem| DatabaseError::Unreachable { url: shown.clone(), problem };
    let options = options.application_name("tenure");
    let options = transport::protected(options, &url, plaintext).map_err(unreachable)?;
    let way = transport::way(&options, plaintext);
    // One connection first: a pool would try again for seconds and then only say that it gave up.
    let first = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options)).await;
    match first {
        Ok(Ok(mut connection)) => {
            let settings = AssertSqlSafe(connect.first(SESSION));
            let set = connection.execute(settings).await;
            set.map_err(|error| unreachable(format!("{error}; check the statements of `after_connect`")))?;
            connection.close().await.map_err(classify)?;
        }
        Ok(Err(error)) => return Err(unreachable(way.advice(&error).unwrap_or_else(|| advice(&error)))),
        Err(_) => return Err(unreachable("no answer within 5 s; check host and port, and the way there".into())),
    }
    Ok(options)
}

fn pool(options: PgConnectOptions, connections: u32, settings: &str, idle: Duration, silence: &Silence) -> PgPool {
    let silence = silence.clone();
    let idle = format!("set idle_in_transaction_session_timeout = {}", millis(idle));
    let settings: Arc<str> = format!("{settings}; {idle}; {CLIENTS}").into();
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(move |connection, metadata| {
            let silence = silence.clone();
            Box::pin(async move { silence.is_alive::<Postgres>(connection, &metadata).await })
        })
        .after_connect(move |connection, _| {
            let settings = AssertSqlSafe(Arc::clone(&settings));
            Box::pin(async move { connection.execute(settings).await.map(drop) })
        })
        .connect_lazy_with(options)
}

/// tenure's tables have a ledger of their own, so that the application's migrations stay the application's.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("migrations/postgres");
    migrator.dangerous_set_table_name("_tenure_migrations");
    migrator
}

const SETTINGS: &str = "
    select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
           current_setting('full_page_writes'), case when pg_is_in_recovery() then 'on' else 'off' end,
           current_setting('transaction_isolation'), current_setting('idle_in_transaction_session_timeout'),
           current_setting('synchronous_standby_names')";

/// The server's version, and the settings that decide whether it keeps what it acknowledged.
async fn look(pool: &PgPool) -> Result<(String, Vec<Setting>), DatabaseError> {
    let row = sqlx::query(SETTINGS).fetch_one(pool).await.map_err(classify)?;
    let text = |at: usize| row.try_get::<String, _>(at).map_err(classify);
    read_committed(&text(5)?)?;
    let forgets = "In a crash the server may forget a lock after it said that it was granted.";
    let settings = vec![
        Setting::new("fsync", text(1)?, "on", forgets),
        synchronous_commit(text(2)?, &text(7)?),
        Setting::new("full_page_writes", text(3)?, "on", "A power cut may tear pages of the lock table."),
        Setting::new("in recovery", text(4)?, "off", "This is a standby: connect to the primary."),
        Setting {
            name: "idle_in_transaction_session_timeout",
            value: format!("{} (set by tenure for its own connections)", text(6)?),
            wanted: "any",
            good: true,
            risk: "",
        },
    ];
    Ok((text(0)?, settings))
}

/// Whether an acknowledged commit is flushed: here, and where standbys are synchronous also on as many of them as are waited for.
fn synchronous_commit(value: String, standbys: &str) -> Setting {
    let name = "synchronous_commit";
    let risk = "At a failover to a standby the server may forget a lock after it said that it was granted.";
    match &*value {
        // The one waits for no standby, the other for one that has it in its memory.
        "local" | "remote_write" if !standbys.trim().is_empty() => {
            let wanted = "on or remote_apply, because synchronous_standby_names is set";
            Setting { name, value, wanted, good: false, risk }
        }
        _ => Setting::new(
            name,
            value,
            "not off",
            "In a crash the server may forget a lock after it said that it was granted.",
        ),
    }
}

fn advice(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some("28P01" | "28000") => format!("{error}; check the user and the password in the URL"),
        Some("3D000") => format!("{error}; create it, or name another in the URL"),
        Some("53300") => format!("{error}; close other connections, or raise max_connections"),
        _ => format!("{error}; check host and port, and that the server is running"),
    }
}

/// The migrations that are missing, as a script for `psql`.
pub(crate) async fn script(url: &str, connect: ConnectOptions) -> Result<String, DatabaseError> {
    let diagnosis = diagnose(url, connect).await?;
    diagnosis.not_newer()?;
    Ok(migration::script(&migrator(), &diagnosis.applied, &DIALECT))
}

const DIALECT: Dialect = Dialect {
    ledger: "create table if not exists _tenure_migrations (version bigint primary key, description text not null,
    installed_on timestamptz not null default now(), success boolean not null,
    checksum bytea not null, execution_time bigint not null);\n",
    bytes: ("'\\x", "'"),
    transaction: ("begin;\n", "\ncommit;\n"),
};
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commits_that_reach_a_synchronous_standby_are_good() {
        for (value, standbys, good) in [
            ("on", "", true),
            ("local", "", true),
            ("remote_write", " ", true),
            ("off", "", false),
            ("off", "s1", false),
            ("local", "s1", false),
            ("remote_write", "ANY 1 (s1, s2)", false),
            ("on", "s1", true),
            ("remote_apply", "s1", true),
        ] {
            assert_eq!(synchronous_commit(value.to_owned(), standbys).good, good, "{value} {standbys:?}");
        }
    }
}
