//! The application's own row in the transaction of each write: by it an unknown outcome is resolved after the run.

use std::io;
use std::time::Duration;

use tenure::Transaction;
use tenure::error::DatabaseError;

use crate::backend::Backend;
use crate::history::Guarded;

/// What is noted of one write to one ledger.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) op: String,
    pub(crate) ledger: String,
    pub(crate) version: i64,
    pub(crate) generation: Option<i64>,
    pub(crate) guard: Option<Guarded>,
}

/// An application's own statement has no deadline of tenure's. On Galera even an insert waits for the other nodes.
const LIMIT: Duration = Duration::from_secs(5);

/// Writes the note with the database's clock at this moment.
pub(crate) async fn write(tx: &mut Transaction, backend: Backend, note: &Note) -> Result<(), DatabaseError> {
    let sql = backend.with_placeholders(
        "insert into chaos_audit (op, ledger, version, generation, guard, at_ms) values (?, ?, ?, ?, ?, CLOCK)",
    );
    let sql = sql.replace("CLOCK", backend.clock_ms());
    let guard = note.guard.map(guard_text);
    macro_rules! insert {
        ($connection:expr) => {{
            let query = sqlx::query(sqlx::AssertSqlSafe(sql));
            let query = query.bind(&note.op).bind(&note.ledger).bind(note.version).bind(note.generation).bind(guard);
            let written = tokio::time::timeout(LIMIT, query.execute($connection)).await;
            written.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))?;
        }};
    }
    match backend {
        Backend::Sqlite => insert!(tx.sqlite()?),
        _ if backend.is_postgres() => insert!(tx.postgres()?),
        _ => insert!(tx.mysql()?),
    }
    Ok(())
}

/// The guard as the table has it.
pub(crate) fn guard_text(guard: Guarded) -> &'static str {
    match guard {
        Guarded::Lease => "lease",
        Guarded::LeaseReleased => "lease-released",
        Guarded::Row => "row",
        Guarded::Version => "version",
        Guarded::UnlessLocked => "unless-locked",
        Guarded::Form => "form",
    }
}
