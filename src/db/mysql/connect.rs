//! Connecting: verifies the settings that keep acknowledged locks, and migrates the schema.

mod transport;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlRow};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, MySqlPool, Row};

use super::blocker::Labels;
use super::connection::{Connections, whole_seconds};
use super::deadline::{Flavour, Waits};
use super::errors::{classify, number};
use super::migrate::{Whose, migrate, migrator};
use super::several_writers;
use super::{MySql, in_flight};
use crate::clock::to_micros;
use crate::db::diagnosis::{Diagnosis, Setting, Writers};
use crate::db::migration;
use crate::db::migration::Dialect;
use crate::db::server::address;
use crate::db::server::checkout::Silence;
use crate::db::server::durability::Refusals;
use crate::db::server::recent::RecentConnections;
use crate::db::server::reserve;
use crate::db::{Address, ConnectOptions};
use crate::error::DatabaseError;

/// Connections per process. Threads on two cores use far fewer.
const CONNECTIONS: u32 = 10;
/// Connections that only acquire and keep leases, so that leases do not expire because all others are busy: for four writing and four
/// reading round trips, the heartbeats of a process, and one spare. They never wait for a lock, and are opened on demand.
const CONNECTIONS_FOR_LEASES: u32 = 10;

/// The time limit for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// The settings of every connection, independent of the server's defaults. The mode refuses values that do not fit their column, instead of
/// truncating them.
macro_rules! session {
    ($more:literal) => {
        concat!(
            "set sql_select_limit = 18446744073709551615;
             set session transaction isolation level read committed;
             set names utf8mb4;
             set time_zone = '+00:00', autocommit = 1,
                 sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION')",
            $more
        )
    };
}

const SESSION: &str = session!("");

/// Newer versions of MariaDB take a snapshot for every locking statement, and refuse it with 1020 if the row changed while it waited. At
/// READ COMMITTED the wait is there to see that change.
const SESSION_WITHOUT_SNAPSHOTS: &str = session!(", innodb_snapshot_isolation = off");

impl MySql {
    /// Connects and migrates tenure's own tables.
    pub(crate) async fn open(
        address: Address<'_, MySqlConnectOptions>,
        connect: ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        let (options, server) = look(address, &connect).await?;
        server.usable()?;
        several_writers::refused(&server.writers)?;
        if let Some(bad) = server.settings.iter().find(|setting| !setting.good && !connect.volatile) {
            return Err(DatabaseError::Schema(bad.to_string()));
        }
        let (silence, idle) = (Silence::default(), connect.idle_limit());
        let first = |session: String| connect.first(&session);
        let refusals = Refusals::default();
        let checks =
            Checks { variables: server.checked.clone(), volatile: connect.volatile, refusals: refusals.clone() };
        let life = (connect.lifetime(), &silence);
        let idle_of_batches = connect.idle_limit_of_batches();
        let session = first(server.session(idle_of_batches));
        let leases = pool(options.clone(), &session, CONNECTIONS_FOR_LEASES, &checks, life);
        let alone = pool(options.clone(), &first(server.session(idle)), reserve::CONNECTIONS, &checks, life);
        let count = connect.connections.map_or(CONNECTIONS, NonZeroU32::get);
        let pool = pool(options, &first(server.session(idle)), count, &checks, life);
        // If nothing is missing, the user needs no right to create tables.
        if migration::is_due(&migrator(), &applied(&pool).await?)? {
            migrate(&pool, &migrator(), Whose::Tenure).await?;
        }
        let connections = Connections {
            pool,
            recent: RecentConnections::of(count, in_flight::return_to_pool),
            leases,
            alone,
            flavour: server.flavour,
            silence,
            refusals,
            idle,
            idle_of_batches,
            waits: server.waits,
            largest_packet: server.largest_packet,
            labels: Labels::default(),
        };
        Ok(MySql { connections, clock: connect.clock, version: server.version, count })
    }
}

/// Examines a database without changing it.
pub(crate) async fn diagnose(url: &str, connect: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
    let (options, server) = look(Address::Url(url), &connect).await?;
    // Any server is examined.
    let checks = Checks { variables: Arc::default(), volatile: true, refusals: Refusals::default() };
    let pool = pool(options.clone(), &connect.first(server.session), CONNECTIONS, &checks, (None, &Silence::default()));
    let transport = transport::used(&pool, &options).await?;
    let asked = SystemTime::now();
    let clock = "select cast(unix_timestamp(sysdate(6)) * 1000000 as signed)";
    let clock: i64 = sqlx::query_scalar(clock).fetch_one(&pool).await.map_err(classify)?;
    let here = (to_micros(asked) + to_micros(SystemTime::now())) / 2;
    let applied = applied(&pool).await?;
    let allowed = "select cast(@@max_connections as signed)";
    let allowed: i64 = sqlx::query_scalar(allowed).fetch_one(&pool).await.map_err(classify)?;
    pool.close().await;
    Ok(Diagnosis {
        connections: connections(connect.connections.map_or(CONNECTIONS, NonZeroU32::get)),
        connections_allowed: u32::try_from(allowed).ok(),
        capabilities: super::capabilities(server.flavour, &server.version),
        transport,
        writers: server.writers,
        settings: server.settings,
        clock_ahead_ms: (clock - here) / 1000,
        applied,
        known: migrator().iter().map(|migration| migration.version).collect(),
    })
}

/// The maximum number of connections of a process.
pub(crate) fn connections(application: u32) -> crate::db::Connections {
    let (lock_table, reserve) = (CONNECTIONS_FOR_LEASES, reserve::CONNECTIONS);
    crate::db::Connections { application, lock_table, reserve, writer: 0 }
}

/// The numbers of the migrations that were applied.
async fn applied(pool: &MySqlPool) -> Result<Vec<i64>, DatabaseError> {
    let ledger = "select count(*) from information_schema.tables
                   where table_schema = database() and table_name = '_tenure_migrations'";
    let ledger: i64 = sqlx::query_scalar(ledger).fetch_one(pool).await.map_err(classify)?;
    if ledger == 0 {
        return Ok(Vec::new());
    }
    let applied = "select version from _tenure_migrations where success order by version";
    sqlx::query_scalar(applied).fetch_all(pool).await.map_err(classify)
}

fn pool(
    options: MySqlConnectOptions,
    session: &str,
    connections: u32,
    checks: &Checks,
    (lifetime, silence): (Option<Duration>, &Silence),
) -> MySqlPool {
    let session: Arc<str> = format!("{session}{}", checks.question()).into();
    let (silence, checks) = (silence.clone(), checks.clone());
    MySqlPoolOptions::new()
        .max_connections(connections)
        .max_lifetime(lifetime)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(move |connection, metadata| {
            let silence = silence.clone();
            Box::pin(async move { silence.is_alive::<sqlx::MySql>(connection, &metadata).await })
        })
        .after_connect(move |connection, _| {
            let (session, checks) = (AssertSqlSafe(Arc::clone(&session)), checks.clone());
            Box::pin(async move {
                let rows = sqlx::raw_sql(session).fetch_all(&mut *connection).await?;
                checks.apply(rows.last())
            })
        })
        .connect_lazy_with(options)
}

/// The questions to each new connection: whether its server accepts writes, and keeps acknowledged locks.
#[derive(Debug, Clone)]
struct Checks {
    /// The variables that this server has; none if any value is accepted.
    variables: Arc<[&'static str]>,
    /// Whether settings that lose acknowledged locks are accepted.
    volatile: bool,
    refusals: Refusals,
}

impl Checks {
    const VARIABLES: [&str; 8] = [
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "log_bin",
        "sync_binlog",
        "binlog_format",
        READ_ONLY[0],
        READ_ONLY[1],
        READ_ONLY[2],
    ];

    /// The text that follows the settings of a connection.
    fn question(&self) -> String {
        let texts: Vec<_> = self.variables.iter().map(|name| format!("cast(@@{name} as char)")).collect();
        if texts.is_empty() { String::new() } else { format!("; select {}", texts.join(", ")) }
    }

    fn apply(&self, row: Option<&MySqlRow>) -> Result<(), sqlx::Error> {
        let Some(row) = row.filter(|_| !self.variables.is_empty()) else { return Ok(()) };
        let mut values = HashMap::new();
        for (at, name) in self.variables.iter().enumerate() {
            let value = row.try_get::<String, _>(at)?.to_uppercase();
            // A select shows switches as numbers, unlike `show variables`.
            let value = match (*name, &*value) {
                ("log_bin" | "innodb_doublewrite", "0") => "OFF".to_owned(),
                ("log_bin" | "innodb_doublewrite", "1") => "ON".to_owned(),
                _ => value,
            };
            values.insert((*name).to_owned(), value);
        }
        match read_only(&values) {
            Some(_) => Err(self.refusals.refuse(DatabaseError::ReadOnly)),
            None if self.volatile => Ok(()),
            None => self.refusals.check(&durability(&values)),
        }
    }
}

/// The variables by which a server says that it does not accept writes.
const READ_ONLY: [&str; 3] = ["read_only", "super_read_only", "innodb_read_only"];

/// The one of them that is set, with its value.
fn read_only(variables: &HashMap<String, String>) -> Option<(&'static str, &str)> {
    let values = READ_ONLY.into_iter().filter_map(|name| variables.get(name).map(|value| (name, &**value)));
    values.into_iter().find(|(_, value)| !["", "OFF", "0"].contains(value))
}

/// The facts about a server.
struct Server {
    flavour: Flavour,
    version: String,
    /// The settings that decide whether it keeps acknowledged locks.
    settings: Vec<Setting>,
    read_only: bool,
    /// The nodes that accept writes.
    writers: Writers,
    isolation: String,
    waits: Waits,
    /// `max_allowed_packet`, in bytes.
    largest_packet: usize,
    /// The settings of every connection.
    session: &'static str,
    /// The variables for [`Checks`].
    checked: Arc<[&'static str]>,
    sql_mode: String,
}

impl Server {
    /// The settings of connections, including the idle limit of transactions. On MySQL a transaction sets it itself,
    /// and its end resets it.
    fn session(&self, idle: Duration) -> String {
        let session = match self.flavour {
            Flavour::MariaDb => format!("{}, idle_transaction_timeout = {}", self.session, whole_seconds(idle)),
            Flavour::MySql => self.session.to_owned(),
        };
        match self.writers {
            Writers::OneNodeOf(cluster) if cluster == several_writers::Cluster::Galera.name() => {
                format!("{session}, {}", several_writers::GALERA)
            }
            _ => session,
        }
    }

    /// Refuses properties that no option can make acceptable.
    fn usable(&self) -> Result<(), DatabaseError> {
        let oldest = match self.flavour {
            Flavour::MariaDb => (10, 6),
            Flavour::MySql => (8, 0),
        };
        let mut numbers = self.version.split('.').map(|number| number.parse().unwrap_or(0));
        if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < oldest {
            return Err(DatabaseError::Unsupported("this server is too old: MariaDB 10.6 or MySQL 8.0 is the oldest"));
        }
        if self.sql_mode.split(',').any(|mode| mode == "ORACLE") {
            return Err(DatabaseError::Unsupported(
                "`sql_mode` contains ORACLE, in which this server reads another dialect of SQL; remove it from the server's \
                 configuration, or set `sql_mode` without it by `ConnectOptions::after_connect`",
            ));
        }
        if self.read_only {
            return Err(DatabaseError::ReadOnly);
        }
        match self.isolation.as_str() {
            "READ-COMMITTED" => Ok(()),
            other => Err(DatabaseError::Schema(format!(
                "transactions run at {other} although READ COMMITTED was set; a proxy may be in between: connect to the \
                 server itself"
            ))),
        }
    }
}

/// The options, as the URL or the application has set them; and the URL without the password.
fn prepared(
    address: Address<'_, MySqlConnectOptions>,
    plaintext: bool,
) -> Result<(MySqlConnectOptions, String), DatabaseError> {
    let (options, url) = address::read(address, "mysql", transport::known)?;
    let shown = format!(
        "mysql://{}@{}:{}/{}",
        options.get_username(),
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_default()
    );
    let unreachable = |problem| DatabaseError::Unreachable { url: shown.clone(), problem };
    if options.get_database().is_none_or(str::is_empty) {
        return Err(unreachable("the URL names no database; add one: mysql://user@host/database".into()));
    }
    let options = transport::protected(options, &url, plaintext).map_err(unreachable)?;
    Ok((options, shown))
}

/// Connects to the server; reads its version, and the settings that decide whether it keeps acknowledged locks.
async fn look(
    address: Address<'_, MySqlConnectOptions>,
    connect: &ConnectOptions,
) -> Result<(MySqlConnectOptions, Server), DatabaseError> {
    let plaintext = connect.plaintext;
    let (options, shown) = prepared(address, plaintext)?;
    let unreachable = |problem| DatabaseError::Unreachable { url: shown.clone(), problem };
    let way = transport::way(&options, plaintext);
    // Not through a pool: it would retry for seconds and then only report that it gave up.
    let first = tokio::time::timeout(PATIENCE, MySqlConnection::connect_with(&options)).await;
    let mut first = match first {
        Ok(connected) => {
            connected.map_err(|error| unreachable(way.advice(&error).unwrap_or_else(|| advice(&error))))?
        }
        Err(_) => return Err(unreachable("no answer within 5 s; check host, port and network".into())),
    };
    let session = AssertSqlSafe(connect.first(SESSION));
    first.execute(session).await.map_err(classify)?;
    let rows = sqlx::raw_sql("show session variables").fetch_all(&mut first).await.map_err(classify)?;
    let mut variables = HashMap::new();
    for row in rows {
        let pair: (String, String) = (row.try_get(0).map_err(classify)?, row.try_get(1).map_err(classify)?);
        variables.insert(pair.0, pair.1.to_uppercase());
    }
    let cluster = several_writers::find(&mut first, &variables).await.map_err(classify)?;
    first.close().await.map_err(classify)?;
    let server = server(&variables, several_writers::writers(cluster, connect.one_writer));
    Ok((options, server))
}

/// The facts in the variables of a server; their values are in upper case.
fn server(variables: &HashMap<String, String>, writers: Writers) -> Server {
    // A variable that this server does not have is empty.
    let value = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let is = |name: &str, wanted: &str| value(name) == wanted;
    let version = value("version");
    let patience = ["innodb_lock_wait_timeout", "lock_wait_timeout"].map(|name| value(name).parse().unwrap_or(0));
    let mut settings = durability(variables);
    let read_only = read_only(variables);
    let replica = "This may be a replica: connect to the primary.";
    let (name, is_read_only) = read_only.unwrap_or((READ_ONLY[0], "off"));
    settings.push(Setting::new(name, is_read_only.to_owned(), "off", replica));
    let flavour = if version.contains("MARIADB") { Flavour::MariaDb } else { Flavour::MySql };
    let limit = match flavour {
        Flavour::MariaDb => format!(
            "{} s, and 60 s (ConnectOptions::idle_in_transaction) on connections of tenure",
            value("idle_transaction_timeout")
        ),
        Flavour::MySql => format!(
            "none for others; 60 s (ConnectOptions::idle_in_transaction) in transactions of tenure, by wait_timeout, which is {} s",
            value("wait_timeout")
        ),
    };
    settings.push(Setting { name: "idle_transaction_timeout", value: limit, wanted: "any", good: true, risk: "" });
    let mode = format!("{} (on connections of tenure)", value("sql_mode").to_lowercase());
    settings.push(Setting { name: "sql_mode", value: mode, wanted: "any", good: true, risk: "" });
    let columns = value("character_set_database").to_lowercase();
    let columns = match &*columns {
        "utf8mb4" => columns,
        _ => format!("{columns} (of columns that name none; a text with other characters is refused: `does-not-fit`)"),
    };
    let name = "character_set_database";
    settings.push(Setting { name, value: columns, wanted: "utf8mb4", good: true, risk: "" });
    Server {
        flavour,
        version: version.split('-').next().unwrap_or_default().to_owned(),
        settings,
        read_only: read_only.is_some(),
        writers,
        waits: Waits {
            patience: Duration::from_secs(patience.into_iter().min().unwrap_or(0)),
            roll_back: is("innodb_rollback_on_timeout", "ON"),
        },
        largest_packet: value("max_allowed_packet").parse().unwrap_or(usize::MAX),
        // MariaDB before 11.1 only has the older name.
        isolation: variables.get("transaction_isolation").unwrap_or(&value("tx_isolation")).clone(),
        checked: Checks::VARIABLES.into_iter().filter(|name| variables.contains_key(*name)).collect(),
        sql_mode: value("sql_mode"),
        session: if variables.contains_key("innodb_snapshot_isolation") { SESSION_WITHOUT_SNAPSHOTS } else { SESSION },
    }
}

/// The settings among these variables that decide whether a server keeps acknowledged locks.
fn durability(variables: &HashMap<String, String>) -> Vec<Setting> {
    // A variable that this server does not have is empty.
    let value = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let is = |name: &str, wanted: &str| value(name) == wanted;
    let setting = |name, wanted, good, risk| Setting { name, value: value(name), wanted, good, risk };
    let forgets = "In a crash the server may forget a lock after it said that it was granted.";
    let mut settings = vec![
        setting(
            "innodb_flush_log_at_trx_commit",
            "1, by `set global innodb_flush_log_at_trx_commit = 1` and in my.cnf",
            is("innodb_flush_log_at_trx_commit", "1"),
            forgets,
        ),
        setting(
            "innodb_doublewrite",
            "on, in my.cnf",
            !is("innodb_doublewrite", "OFF") && !is("innodb_doublewrite", "DETECT_ONLY"),
            "A power cut may tear pages of the lock table.",
        ),
    ];
    if is("log_bin", "ON") {
        // After a crash, InnoDB undoes transactions that are not in the binary log.
        let wanted = "1, by `set global sync_binlog = 1` and in my.cnf";
        settings.push(setting("sync_binlog", wanted, is("sync_binlog", "1"), forgets));
        let wanted = "row or mixed, by `set global binlog_format = 'ROW'` and in my.cnf";
        let refuses = "READ COMMITTED cannot be logged as statements: the server refuses every write.";
        settings.push(setting("binlog_format", wanted, !is("binlog_format", "STATEMENT"), refuses));
    }
    settings
}

fn advice(error: &sqlx::Error) -> String {
    if matches!(error, sqlx::Error::Configuration(_)) && error.to_string().contains("RSA") {
        return NEEDS_TLS.to_owned();
    }
    match number(error) {
        Some(1045 | 1698) => format!("{error}; check the user and the password in the URL"),
        Some(1044) => format!("{error}; check the database in the URL, or grant this user the right to it"),
        Some(1049) => format!("{error}; create it, or name another in the URL"),
        Some(1040 | 1203 | 1226) => format!("{error}; close other connections, or raise max_connections"),
        Some(1129 | 1130) => format!("{error}; allow this host to connect"),
        _ => format!("{error}; check host and port, and that the server is running"),
    }
}

/// The migrations that are missing, as a script for `mariadb` or `mysql`.
pub(crate) fn script(applied: &[i64]) -> String {
    migration::script(&migrator(), applied, &DIALECT)
}

const DIALECT: Dialect = Dialect {
    ledger: "create table if not exists _tenure_migrations (version bigint primary key, description text not null,
    installed_on timestamp not null default current_timestamp, success boolean not null,
    checksum blob not null, execution_time bigint not null);\n",
    bytes: ("x'", "'"),
    transaction: ("", ""),
};

/// The alternative of that plugin is RSA, and the only implementation for this driver has an advisory without a fix.
const NEEDS_TLS: &str = "the server wants this user's password by `caching_sha2_password` or `sha256_password`, which send it over \
                         TLS only; build with the feature `tls`, leave `ssl-mode=disabled` out of the URL, and check that the server \
                         offers TLS, as MySQL does by default";
