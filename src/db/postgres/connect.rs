//! Connecting: verifies the settings that keep acknowledged locks, and migrates the schema.

mod transport;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool, Postgres, Row};

use super::errors::{classify, read_committed};
use super::pools::Pools;
use crate::clock::{millis, to_micros};
use crate::db::diagnosis::{Diagnosis, Setting, Writers};
use crate::db::migration;
use crate::db::migration::Dialect;
use crate::db::server::address;
use crate::db::server::checkout::{Silence, return_to_pool};
use crate::db::server::durability::Refusals;
use crate::db::server::recent::RecentConnections;
use crate::db::server::reserve;
use crate::db::{Address, ConnectOptions, Connections};
use crate::error::DatabaseError;

/// Connections per process. PostgreSQL backends on two cores use far fewer.
const CONNECTIONS: u32 = 10;

/// The settings of every connection, independent of the server's defaults: batches and loads are transactions of their own, and under
/// SERIALIZABLE would fail because of unrelated transactions. A deferrable transaction is one of ours, see
/// [`OpenTransaction::ours`](super::connection::OpenTransaction::ours).
const SESSION: &str = "set session characteristics as transaction isolation level read committed, not deferrable";

/// The settings of connections for batches. A statement is planned once, for any number of requests, and the statistics at that time may be
/// old: the table may count as empty or small. Then the plan would read all of it for each batch, or even for each request. So the planner
/// has to look up each row by its key. A session that has inserted a row commits it in a moment, unless it is idle: nothing waits longer
/// for it.
pub(crate) const BATCHES: &str = "set session characteristics as transaction isolation level read committed;
    set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_bitmapscan = off;
    set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off; set random_page_cost = 1;
    set jit = off";

/// The number of those connections: for four writing and four reading round trips, the heartbeats of a process, and one spare. They are
/// opened on demand.
const FOR_BATCHES: u32 = 10;

/// The server's settings for clients that disconnected silently: the interval in milliseconds for checking the client during a statement
/// (since PostgreSQL 14, on Linux and macOS), and the time after which it closes a connection that acknowledges nothing. A server without a
/// setting is left as it is.
const CLIENTS: &str = "do $$ declare wanted text[]; begin
        foreach wanted slice 1 in array array[['client_connection_check_interval', '5000'], ['tcp_user_timeout', '30000'],
            ['tcp_keepalives_idle', '30'], ['tcp_keepalives_interval', '10'], ['tcp_keepalives_count', '3']] loop
            begin perform set_config(wanted[1], wanted[2], false); exception when others then null; end;
        end loop;
    end $$";
/// The time limit for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

impl super::Postgres {
    /// Connects and migrates tenure's own tables.
    pub(crate) async fn open(
        address: Address<'_, PgConnectOptions>,
        connect: ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        let (options, second) = reachable(address, &connect).await?;
        let count = connect.connections.map_or(CONNECTIONS, NonZeroU32::get);
        let silence = Silence::default();
        let main = SetUp::of(&connect, SESSION, connect.idle_limit(), Refusals::default());
        let pool = pool(options.clone(), count, &main, &silence);
        let (version, settings) = look(second, &main).await?;
        if settings.iter().any(is_standby) {
            return Err(DatabaseError::ReadOnly);
        }
        if let Some(bad) = settings.iter().find(|setting| !setting.good && !connect.volatile) {
            return Err(DatabaseError::Schema(bad.to_string()));
        }
        // If nothing is missing, the user needs no right to create tables.
        if migration::is_due(&migrator(), &applied(&pool).await?)? {
            migrator().run(&pool).await.map_err(|error| migration::failed(error, classify))?;
        }
        let pools = Pools {
            main: pool.clone(),
            recent: RecentConnections::of(count, return_to_pool),
            batches: self::pool(
                options.clone(),
                FOR_BATCHES,
                &SetUp::of(&connect, BATCHES, connect.idle_limit_of_batches(), main.refusals.clone()),
                &silence,
            ),
            alone: self::pool(options, reserve::CONNECTIONS, &main, &silence),
            silence,
            set_up: main,
        };
        Ok(super::Postgres { pool, pools: Arc::new(pools), clock: connect.clock, version, count })
    }
}

/// Examines a database without changing it.
pub(crate) async fn diagnose(url: &str, connect: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
    let (options, second) = reachable(Address::Url(url), &connect).await?;
    let set_up = SetUp { examines: true, ..SetUp::of(&connect, SESSION, connect.idle_limit(), Refusals::default()) };
    let pool = pool(options.clone(), CONNECTIONS, &set_up, &Silence::default());
    let transport = transport::used(&pool, &options).await?;
    let (version, settings) = look(second, &set_up).await?;
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

/// The maximum number of connections of a process.
pub(crate) fn connections(application: u32) -> Connections {
    Connections { application, lock_table: FOR_BATCHES, reserve: reserve::CONNECTIONS, writer: 0 }
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

/// The options, as the URL or the application has set them; and the URL without the password.
fn prepared(
    address: Address<'_, PgConnectOptions>,
    plaintext: bool,
) -> Result<(PgConnectOptions, String), DatabaseError> {
    let (options, url) = address::read(address, "postgres", transport::known)?;
    let shown = format!(
        "postgres://{}@{}:{}/{}",
        options.get_username(),
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_default()
    );
    let unreachable = |problem| DatabaseError::Unreachable { url: shown.clone(), problem };
    let options = transport::protected(options.application_name("tenure"), &url, plaintext).map_err(unreachable)?;
    Ok((options, shown))
}

/// The options for all connections; one connection was tested, and another one is returned.
async fn reachable(
    address: Address<'_, PgConnectOptions>,
    connect: &ConnectOptions,
) -> Result<(PgConnectOptions, PgConnection), DatabaseError> {
    let plaintext = connect.plaintext;
    let (options, shown) = prepared(address, plaintext)?;
    let unreachable = |problem| DatabaseError::Unreachable { url: shown.clone(), problem };
    let way = transport::way(&options, plaintext);
    // Not through a pool: it would retry for seconds and then only report that it gave up.
    let open = async || match tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options)).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(unreachable(way.advice(&error).unwrap_or_else(|| advice(&error)))),
        Err(_) => Err(unreachable("no answer within 5 s; check host, port and network".into())),
    };
    let (mut first, mut second) = (open().await?, open().await?);
    // Before anything is set.
    if are_shared(&mut first, &mut second).await.map_err(classify)? {
        return Err(DatabaseError::Unsupported(SHARED));
    }
    let set = first.execute(AssertSqlSafe(connect.first(SESSION))).await;
    set.map_err(|error| unreachable(format!("{error}; check the statements of `after_connect`")))?;
    first.close().await.map_err(classify)?;
    Ok((options, second))
}

/// Whether a pooler gives the sessions of idle connections to others. Then two open connections have the same session, or one of them changes
/// it.
async fn are_shared(first: &mut PgConnection, second: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let session = session_of(first).await?;
    Ok(session == session_of(second).await? || session != session_of(first).await?)
}

/// By a simple message, because a prepared statement may be gone with its session.
async fn session_of(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::raw_sql("select pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

const SHARED: &str = "a pooler shares the sessions of the server between clients, as PgBouncer does in transaction and statement mode, so the \
                      settings of one client would reach another; let it use `pool_mode = session`, or connect to the server itself";

/// The settings of a pool's connections.
#[derive(Debug, Clone)]
pub(crate) struct SetUp {
    text: Arc<str>,
    /// Whether settings that lose acknowledged locks are accepted.
    pub(crate) volatile: bool,
    /// Whether the server is only examined: any is accepted.
    examines: bool,
    /// The longest life of a connection.
    lifetime: Option<Duration>,
    pub(crate) refusals: Refusals,
}

impl SetUp {
    fn of(connect: &ConnectOptions, session: &str, idle: Duration, refusals: Refusals) -> Self {
        let idle = format!("set idle_in_transaction_session_timeout = {}", millis(idle));
        let text = format!("{}; {idle}; {CLIENTS}; {PINNED}; {SETTINGS}", connect.first(session)).into();
        SetUp { text, volatile: connect.volatile, examines: false, lifetime: connect.lifetime(), refusals }
    }

    /// Sets up a new connection, and refuses it if its server does not accept writes, or would lose acknowledged commits.
    pub(crate) async fn apply(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        self.run(Arc::clone(&self.text), connection).await
    }

    /// Brings a connection back that the application has used, outside a transaction.
    pub(crate) async fn bring_back(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        self.run(format!("{RESET}; {}", self.text).into(), connection).await
    }

    async fn run(&self, text: Arc<str>, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(connection).await?;
        let Some(row) = rows.last().filter(|_| !self.examines) else { return Ok(()) };
        if is_standby(&recovery(row)?) {
            return Err(self.refusals.refuse(DatabaseError::ReadOnly));
        }
        if self.volatile { Ok(()) } else { self.refusals.check(&durability(row)?) }
    }
}

/// Ends everything that a session may have set. (`discard all` would also end the statements that the driver has prepared.)
const RESET: &str = "reset session authorization; reset role; reset all; discard temp; unlisten *; close all;
    select pg_advisory_unlock_all();
    do $$ declare own text; begin
        for own in select name from pg_prepared_statements where from_sql loop execute format('deallocate %I', own); end loop;
    end $$";

/// A later change of the server's configuration does not change it on this connection.
const PINNED: &str = "select set_config('synchronous_commit', current_setting('synchronous_commit'), false)";

fn pool(options: PgConnectOptions, connections: u32, set_up: &SetUp, silence: &Silence) -> PgPool {
    let (silence, set_up) = (silence.clone(), set_up.clone());
    PgPoolOptions::new()
        .max_connections(connections)
        .max_lifetime(set_up.lifetime)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(move |connection, metadata| {
            let silence = silence.clone();
            Box::pin(async move { silence.is_alive::<Postgres>(connection, &metadata).await })
        })
        .after_connect(move |connection, _| {
            let set_up = set_up.clone();
            Box::pin(async move { set_up.apply(connection).await })
        })
        .connect_lazy_with(options)
}

/// tenure's tables have their own ledger, separate from the application's migrations.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("migrations/postgres");
    migrator.dangerous_set_table_name("_tenure_migrations");
    migrator
}

const SETTINGS: &str = "
    select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
           current_setting('full_page_writes'), case when pg_is_in_recovery() then 'on' else 'off' end,
           current_setting('transaction_isolation'), current_setting('idle_in_transaction_session_timeout'),
           current_setting('synchronous_standby_names'), current_setting('server_encoding')";

/// The server's version, and the settings that decide whether it keeps acknowledged locks.
async fn look(mut connection: PgConnection, set_up: &SetUp) -> Result<(String, Vec<Setting>), DatabaseError> {
    sqlx::raw_sql(AssertSqlSafe(Arc::clone(&set_up.text))).fetch_all(&mut connection).await.map_err(classify)?;
    // Again, because one text is one transaction, and the isolation level is that of the next.
    let rows = sqlx::raw_sql(SETTINGS).fetch_all(&mut connection).await.map_err(classify)?;
    connection.close().await.map_err(classify)?;
    let row = rows.last().ok_or_else(|| classify(sqlx::Error::RowNotFound))?;
    let text = |at: usize| row.try_get::<String, _>(at).map_err(classify);
    read_committed(&text(5)?)?;
    let mut settings = durability(row).map_err(classify)?;
    settings.push(recovery(row).map_err(classify)?);
    settings.push(encoding(text(8)?));
    settings.push(Setting {
        name: "idle_in_transaction_session_timeout",
        value: format!("{} (set by tenure for its own connections)", text(6)?),
        wanted: "any",
        good: true,
        risk: "",
    });
    Ok((text(0)?, settings))
}

/// The characters that the database stores.
fn encoding(value: String) -> Setting {
    let value = match &*value {
        "UTF8" => value,
        "SQL_ASCII" => format!("{value} (texts are stored as they come, and their length is that of their bytes)"),
        _ => format!("{value} (a text with other characters is refused: `does-not-fit`)"),
    };
    Setting { name: "server_encoding", value, wanted: "UTF8", good: true, risk: "" }
}

/// Whether the server is a standby, in a row of [`SETTINGS`].
fn recovery(row: &PgRow) -> Result<Setting, sqlx::Error> {
    Ok(Setting::new("in recovery", row.try_get(4)?, "off", "This is a standby: connect to the primary."))
}

fn is_standby(setting: &Setting) -> bool {
    setting.name == "in recovery" && !setting.good
}

/// The settings in a row of [`SETTINGS`] that decide whether the server keeps acknowledged locks.
fn durability(row: &PgRow) -> Result<Vec<Setting>, sqlx::Error> {
    let text = |at: usize| row.try_get::<String, _>(at);
    let forgets = "In a crash the server may forget a lock after it said that it was granted.";
    Ok(vec![
        Setting::new("fsync", text(1)?, "on", forgets),
        synchronous_commit(text(2)?, &text(7)?),
        Setting::new("full_page_writes", text(3)?, "on", "A power cut may tear pages of the lock table."),
    ])
}

/// Whether an acknowledged commit is flushed: on this server, and with synchronous standbys also on as many of them as the commit waits
/// for.
fn synchronous_commit(value: String, standbys: &str) -> Setting {
    let name = "synchronous_commit";
    let risk = "At a failover to a standby the server may forget a lock after it said that it was granted.";
    match &*value {
        // `local` waits for no standby, `remote_write` only for its memory.
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
        Some("08P01") if error.to_string().contains("startup parameter") => {
            format!(
                "{error}; for PgBouncer, write `ignore_startup_parameters = extra_float_digits` in its configuration"
            )
        }
        Some("53300") => format!("{error}; close other connections, or raise max_connections"),
        _ => format!("{error}; check host and port, and that the server is running"),
    }
}

/// The migrations that are missing, as a script for `psql`.
pub(crate) fn script(applied: &[i64]) -> String {
    migration::script(&migrator(), applied, &DIALECT)
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
