//! All that the checks look at: the histories of the clients, and what the database has when the run is over.

use std::collections::BTreeMap;

use sqlx::{MySqlPool, PgPool, SqlitePool};

use crate::Result;
use crate::backend::Backend;
use crate::clock::ms;
use crate::history::{Guarded, Operation};
use crate::nemesis::Fault;
use crate::standstill::Standstill;
use crate::steps::Steps;

/// What is known of a run.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Every call, in the order of the calls.
    pub(crate) operations: Vec<Operation>,
    /// The ledgers as they are at the end.
    pub(crate) ledgers: BTreeMap<String, Final>,
    /// The rows that were written along with each write, by ledger and version.
    pub(crate) notes: Vec<Noted>,
    /// The leases, by key and generation. Empty if the database has no record of them.
    pub(crate) leases: Vec<Granted>,
    /// What was injected.
    pub(crate) faults: Vec<Injected>,
    /// When the machine itself stood still.
    pub(crate) standstills: Vec<Standstill>,
    /// Whether the database shows a commit to others before it is flushed, as InnoDB does: a crash may undo what was read.
    pub(crate) shows_unflushed: bool,
    /// Whether the address may lead to a server of a cluster that can only be read, until another one, or the same again, is the writer.
    pub(crate) leads_to_readers: bool,
    /// When the file was replaced by an older copy of it. What follows is about the file that was lost.
    pub(crate) replaced_ns: Option<u64>,
    /// What a node that only applies showed of leases and of the writes under earlier ones.
    pub(crate) shown: Vec<Shown>,
    /// How the database's clock stepped.
    pub(crate) steps: Steps,
    /// What a new client found after everything was whole again.
    pub(crate) aftermath: Aftermath,
}

/// A ledger at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Final {
    pub(crate) version: i64,
    pub(crate) balance: i64,
    /// Its operations, in their order.
    pub(crate) entries: Vec<String>,
}

/// A row of the audit table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) op: String,
    pub(crate) ledger: String,
    pub(crate) version: i64,
    pub(crate) generation: Option<i64>,
    pub(crate) guard: Option<Guarded>,
    pub(crate) at_ms: i64,
}

/// A lease as the database knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) key: String,
    pub(crate) generation: i64,
    pub(crate) since_ms: i64,
    /// When it ended, or will.
    pub(crate) ended_ms: i64,
    /// How it ended; none if it has not been succeeded yet.
    pub(crate) how: Option<String>,
}

/// A lease, and the writes under earlier leases of its key that were there when it was first seen on a node that only applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) key: String,
    pub(crate) generation: i64,
    pub(crate) earlier_writes: i64,
    /// When it was first seen, by the monotonic clock.
    pub(crate) at_ns: u64,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Injected {
    /// Its name.
    pub(crate) kind: &'static str,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Whether it reached what it was meant for: a cut at a commit does not if nobody commits.
    pub(crate) hit: bool,
    /// Whether processes of clients stood still meanwhile, or the whole database did.
    pub(crate) stands_still: bool,
}

/// What a new client found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aftermath {
    /// Keys that were requested.
    pub(crate) requested: u64,
    /// Keys that were not granted in time, and why.
    pub(crate) stuck: Vec<String>,
    /// Transactions that stood open.
    pub(crate) open_transactions: u64,
    /// Clients that did not end when they were told to.
    pub(crate) hung_clients: u64,
}

/// Who reads the tables when the run is over: without tenure, so that a node that accepts no writes will do.
#[derive(Debug)]
pub(crate) enum Reader {
    Sqlite(SqlitePool),
    Postgres(PgPool),
    MySql(MySqlPool),
}

impl Reader {
    pub(crate) async fn connect(backend: Backend, url: &str) -> Result<Self> {
        Ok(match backend {
            Backend::Sqlite => Reader::Sqlite(SqlitePool::connect(url).await?),
            _ if backend.is_postgres() => Reader::Postgres(PgPool::connect(url).await?),
            _ => Reader::MySql(MySqlPool::connect(url).await?),
        })
    }

    /// Whether keys are binary.
    fn has_binary_keys(&self) -> bool {
        matches!(self, Reader::MySql(_))
    }
}

/// Fetches rows by the pool of whichever database it is.
macro_rules! fetch {
    ($reader:expr, $sql:expr) => {
        match $reader {
            Reader::Sqlite(pool) => sqlx::query_as($sql).fetch_all(pool).await?,
            Reader::Postgres(pool) => sqlx::query_as($sql).fetch_all(pool).await?,
            Reader::MySql(pool) => sqlx::query_as($sql).fetch_all(pool).await?,
        }
    };
}

/// How long a flush may take.
const FLUSH: u64 = ms(1_000);

impl Evidence {
    /// Whether what a call saw may have been undone, because the server ended before it was flushed.
    pub(crate) fn may_be_undone(&self, called_ns: u64, answered_ns: u64) -> bool {
        let ends =
            |fault: &&Injected| [Fault::KillServer, Fault::CutPower].iter().any(|kind| kind.name() == fault.kind);
        let just_before =
            |fault: &Injected| called_ns <= fault.to_ns && fault.from_ns <= answered_ns.saturating_add(FLUSH);
        self.shows_unflushed && self.faults.iter().filter(ends).any(just_before)
    }

    /// Reads what the database has.
    pub(crate) async fn read_database(&mut self, reader: &Reader) -> Result<()> {
        self.read_ledgers(reader).await?;
        self.read_leases(reader).await
    }

    /// Reads the application's own tables.
    pub(crate) async fn read_ledgers(&mut self, reader: &Reader) -> Result<()> {
        let rows: Vec<(String, i64, i64)> = fetch!(reader, "select id, balance, version from chaos_ledger");
        for (id, balance, version) in rows {
            self.ledgers.insert(id, Final { version, balance, entries: Vec::new() });
        }
        let rows: Vec<(String, String)> =
            fetch!(reader, "select ledger, op from chaos_entry order by ledger, position");
        for (ledger, op) in rows {
            self.ledgers.entry(ledger).or_default().entries.push(op);
        }
        type Row = (String, String, i64, Option<i64>, Option<String>, i64);
        let rows: Vec<Row> = fetch!(
            reader,
            "select op, ledger, version, generation, guard, at_ms from chaos_audit order by ledger, version"
        );
        for (op, ledger, version, generation, guard, at_ms) in rows {
            let guard = guard.map(|guard| serde_json::from_value(guard.into())).transpose()?;
            self.notes.push(Noted { op, ledger, version, generation, guard, at_ms });
        }
        Ok(())
    }

    /// Reads the leases: those that ended from the history, those that were not succeeded yet from the lock table.
    async fn read_leases(&mut self, reader: &Reader) -> Result<()> {
        let id = if reader.has_binary_keys() { "convert(id using utf8mb4)" } else { "id" };
        let ended =
            format!("select {id}, generation, since, ended_at, how from tenure_lock_history where kind = 'Ledger'");
        let rows: Vec<(String, i64, i64, i64, String)> = fetch!(reader, sqlx::AssertSqlSafe(ended.clone()));
        for (key, generation, since_ms, ended_ms, how) in rows {
            self.leases.push(Granted { key, generation, since_ms, ended_ms, how: Some(how) });
        }
        let live =
            format!("select {id}, generation, since, expires_at from tenure_lock where kind = 'Ledger' and not ended");
        let rows: Vec<(String, i64, i64, i64)> = fetch!(reader, sqlx::AssertSqlSafe(live.clone()));
        for (key, generation, since_ms, ended_ms) in rows {
            self.leases.push(Granted { key, generation, since_ms, ended_ms, how: None });
        }
        self.leases.sort_by(|one, other| (&one.key, one.generation).cmp(&(&other.key, other.generation)));
        Ok(())
    }
}
