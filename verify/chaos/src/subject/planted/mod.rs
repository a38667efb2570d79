//! A lock manager and a store of ledgers in plain SQL on PostgreSQL, as people write them by hand: right, or with one mistake.
//!
//! The mistakes are those of real lock managers. The checks have to find each of them, and nothing in the one without a mistake: so
//! a check that finds nothing in tenure does not do so because it cannot.

mod bug;
mod ledgers;
mod locks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool};
use tenure::LockId;

pub(crate) use bug::Bug;

use super::{Answer, Append, Appended, Grant, Refusal, Seen, Subject, Transfer};
use crate::Result;

/// The time to live of a lease, in milliseconds.
const TTL_MS: i64 = 2000;

/// How long the wrong build remembers that a key is held.
const REMEMBERED: Duration = Duration::from_secs(1);

/// The table of the leases.
pub(crate) const TABLES: &str = "
    create table planted_lock (key text primary key, owner text not null, token text not null, generation bigint not null,
        created_ms bigint not null, expires_ms bigint not null, ended boolean not null);
    create sequence planted_generation;";

/// Ledgers and locks with this mistake.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pool: PgPool,
    bug: Bug,
    /// By how much the clock of this process is wrong.
    skew_ms: i64,
    /// What this process remembers of its leases, by their tokens.
    held: Arc<Mutex<HashMap<String, Remembered>>>,
    /// When this process was told that a key is held.
    refused: Arc<Mutex<HashMap<String, Instant>>>,
}

/// A lease, as the process that holds it remembers it.
#[derive(Debug, Clone)]
struct Remembered {
    key: String,
    owner: String,
    grant: Grant,
    /// Counted from the arrival of the answer.
    deadline: Instant,
}

impl Planted {
    /// Connects a process.
    pub(crate) fn connect(url: &str, bug: Bug, number: u64, connections: u32) -> Result<Self> {
        let limits = [("statement_timeout", "5000"), ("idle_in_transaction_session_timeout", "3000")];
        let options: PgConnectOptions = url.parse()?;
        let pool = PgPoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_secs(5));
        let pool = pool.connect_lazy_with(options.options(limits));
        let skew_ms = (i64::try_from(number % 3)? - 1) * 1500;
        let planted = Planted { pool, bug, skew_ms, held: Arc::default(), refused: Arc::default() };
        if bug == Bug::SweeperByAge {
            tokio::spawn(planted.clone().sweep_by_age());
        }
        Ok(planted)
    }

    fn is(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Remembered>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, token: &str) -> Answer<Remembered> {
        self.held().get(token).cloned().ok_or_else(|| Refusal::sure("lock-unknown"))
    }

    /// The time that decides: the server's, at this moment.
    async fn now_ms(&self, connection: &mut PgConnection) -> Answer<i64> {
        if self.is(Bug::AppClock) {
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
            return Ok(i64::try_from(now).unwrap_or(i64::MAX) + self.skew_ms);
        }
        let now = sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000)::bigint");
        now.fetch_one(connection).await.map_err(before_commit)
    }

    /// Whether a lease is live, for its holder.
    fn is_live(&self, expires_ms: i64, now_ms: i64) -> bool {
        match self.bug {
            Bug::ExpiryShared => expires_ms / 1000 >= now_ms / 1000,
            _ => expires_ms > now_ms,
        }
    }

    /// Whether a lease may be given to somebody else.
    fn has_expired(&self, expires_ms: i64, now_ms: i64) -> bool {
        match self.bug {
            Bug::ExpiryShared => expires_ms / 1000 <= now_ms / 1000,
            Bug::ExpiredNeverTaken => false,
            _ => expires_ms <= now_ms,
        }
    }
}

/// An error before the COMMIT was sent: nothing happened.
fn before_commit(error: sqlx::Error) -> Refusal {
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        Some("23505") => Refusal::sure("already-exists"),
        _ => Refusal::sure("connection-lost"),
    }
}

/// An error at COMMIT, or of a statement that commits by itself: only what the server itself says is sure.
fn at_commit(error: sqlx::Error) -> Refusal {
    let refused = error.as_database_error().and_then(|error| error.code()).is_some_and(|code| !code.starts_with("57"));
    if refused { before_commit(error) } else { Refusal::unknown("commit-unknown") }
}

impl Subject for Planted {
    async fn lock(&self, key: &str, owner: &str, lock: &LockId) -> Answer<Grant> {
        let token = lock.reveal();
        if self.is(Bug::RememberedRefusal) && self.refused().get(key).is_some_and(|at| at.elapsed() < REMEMBERED) {
            return Err(Refusal::sure("already-locked"));
        }
        let granted = match self.bug {
            Bug::TakeOverInSteps => self.lock_in_steps(key, owner, &token).await,
            _ => self.lock_in_one(key, owner, &token).await,
        };
        if granted.as_ref().is_err_and(|refusal| refusal.code == "already-locked") {
            self.refused().insert(key.to_owned(), Instant::now());
        }
        let grant = granted?;
        let deadline = Instant::now() + grant.remaining;
        let (key, owner) = (key.to_owned(), owner.to_owned());
        self.held().insert(token, Remembered { key, owner, grant: grant.clone(), deadline });
        Ok(grant)
    }

    async fn lock_within(&self, key: &str, owner: &str, lock: &LockId, _wait: Duration) -> Answer<Grant> {
        self.lock(key, owner, lock).await
    }

    async fn keep_alive(&self, lock: &LockId) -> Answer<Grant> {
        self.extend(lock, Duration::from_millis(TTL_MS.unsigned_abs())).await
    }

    async fn shorten(&self, lock: &LockId, within: Duration) -> Answer<Grant> {
        self.set_expiry(&lock.reveal(), within, false).await
    }

    async fn extend(&self, lock: &LockId, by: Duration) -> Answer<Grant> {
        self.set_expiry(&lock.reveal(), by, true).await
    }

    async fn release(&self, lock: &LockId) -> Answer<()> {
        self.release_token(&lock.reveal()).await
    }

    // Nobody asks: none of its calls is dropped.
    async fn check(&self, lock: &LockId) -> Answer<Grant> {
        self.remembered(&lock.reveal()).map(|lease| lease.grant)
    }

    async fn holder(&self, key: &str) -> Answer<Option<i64>> {
        let sql = "select generation from planted_lock where key = $1 and not ended
                   and expires_ms > extract(epoch from clock_timestamp()) * 1000";
        sqlx::query_scalar(sql).bind(key).fetch_optional(&self.pool).await.map_err(before_commit)
    }

    async fn break_lock(&self, key: &str, generation: i64, _by: &str) -> Answer<()> {
        let sql = "update planted_lock set ended = true where key = $1 and generation = $2 and not ended";
        let ended = sqlx::query(sql).bind(key).bind(generation).execute(&self.pool).await.map_err(at_commit)?;
        if ended.rows_affected() == 1 { Ok(()) } else { Err(Refusal::sure("holder-changed")) }
    }

    async fn insert(&self, ledger: &str, op: &str) -> Answer<Appended> {
        self.insert_ledger(ledger, op).await
    }

    async fn read(&self, ledger: &str) -> Answer<Seen> {
        self.read_ledger(ledger).await
    }

    async fn append(&self, append: &Append<'_>) -> Answer<Appended> {
        let appended = self.append_to_ledger(append).await;
        match (&appended, self.bug) {
            (Err(refusal), Bug::BlindRetry) if refusal.unknown => self.append_to_ledger(append).await,
            (Err(refusal), Bug::LostAnswerAsFailure) if refusal.unknown => Err(Refusal::sure("connection-lost")),
            _ => appended,
        }
    }

    async fn transfer(&self, transfer: &Transfer<'_>) -> Answer<Appended> {
        self.transfer_between(transfer).await
    }
}
