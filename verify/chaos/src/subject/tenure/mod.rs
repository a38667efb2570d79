//! tenure itself, by its public interface.

pub(crate) mod audit;
pub(crate) mod ledger;
mod writes;

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use tenure::db::ConnectOptions;
use tenure::lease::LockPolicy;
use tenure::{Database, Lease, LockId, LockKey, LockManager, Owner, Repository};

use self::audit::Note;
use self::ledger::Ledger;
use super::{Answer, Append, Appended, Grant, Refusal, Seen, Subject, Transfer};
use crate::Result;
use crate::backend::Backend;

/// The shortest time to live that a policy accepts. The workloads shorten most leases.
pub(crate) const TTL: Duration = Duration::from_secs(3);

/// How long a transaction may stand still before the server ends it: others wait so long for a client that is stopped.
pub(crate) const IDLE: Duration = Duration::from_secs(3);

/// What a process declares of a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Declared {
    /// Declare that one node of the cluster accepts writes
    #[arg(long = "declare-one-writer-node")]
    pub(crate) one_writer_node: bool,
}

impl Declared {
    /// As options of a command line.
    pub(crate) fn options(self) -> Vec<&'static str> {
        self.one_writer_node.then_some("--declare-one-writer-node").into_iter().collect()
    }
}

/// Ledgers in one database.
#[derive(Debug, Clone)]
pub(crate) struct Tenure {
    backend: Backend,
    db: Database,
    ledgers: Repository<Ledger>,
    locks: LockManager,
    /// Whether updates are run again where that is safe.
    retries: bool,
}

/// What a lease says of itself.
pub(crate) fn lease(lease: &Lease) -> Grant {
    let holder = lease.holder();
    let since = holder.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Grant { generation: holder.generation, since_ms, remaining: holder.remaining }
}

/// The lock key of a ledger.
pub(crate) fn key(ledger: &str) -> LockKey {
    LockKey::of::<Ledger>(&ledger.to_owned())
}

fn owner(id: &str) -> Owner {
    Owner::new(id, format!("client {id}"))
}

impl Tenure {
    /// Connects a process that opens at most so many connections for its transactions.
    pub(crate) async fn connect(backend: Backend, url: &str, connections: u32, declared: Declared) -> Result<Self> {
        let options = ConnectOptions::new().idle_in_transaction(IDLE);
        let options = options.max_connections(NonZeroU32::new(connections).ok_or("a client needs a connection")?);
        let options = if declared.one_writer_node { options.one_writer_node() } else { options };
        let db = Database::connect_with(url, options).await?;
        let policy = LockPolicy::exclusive().ttl(TTL)?;
        let locks = LockManager::new(&db).with_policy_for::<Ledger>(policy);
        Ok(Tenure { backend, ledgers: Repository::new(&db), locks, db, retries: false })
    }

    /// The same, with operation ids: an unknown commit is resolved by the library, and updates are run again where that is safe.
    pub(crate) fn resolving(self) -> Self {
        let db = self.db.resolving_commits();
        Tenure { ledgers: Repository::new(&db), retries: true, db, ..self }
    }

    /// Its locks.
    pub(crate) fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// The database.
    pub(crate) fn database(&self) -> &Database {
        &self.db
    }
}

impl Subject for Tenure {
    async fn lock(&self, ledger: &str, by: &str, lock: &LockId) -> Answer<Grant> {
        Ok(lease(&self.locks.try_lock_as(&key(ledger), &owner(by), lock.clone()).await?))
    }

    async fn lock_within(&self, ledger: &str, by: &str, lock: &LockId, wait: Duration) -> Answer<Grant> {
        let waiting = self.locks.lock(&key(ledger), &owner(by)).with_id(lock.clone()).within(wait);
        Ok(lease(&waiting.await?))
    }

    async fn keep_alive(&self, lock: &LockId) -> Answer<Grant> {
        let kept = self.locks.keep_alive(std::slice::from_ref(lock)).await?.pop();
        let kept = kept.ok_or_else(|| Refusal::sure("no-result"))?;
        Ok(lease(&kept.map_err(|no_lock| Refusal::sure(no_lock.code().as_str()))?))
    }

    async fn shorten(&self, lock: &LockId, within: Duration) -> Answer<Grant> {
        Ok(lease(&self.locks.expire_within(lock, within).await?))
    }

    async fn extend(&self, lock: &LockId, by: Duration) -> Answer<Grant> {
        Ok(lease(&self.locks.extend_lock_expiration(lock, by).await?))
    }

    async fn release(&self, lock: &LockId) -> Answer<()> {
        Ok(self.locks.release_lock(lock).await?)
    }

    async fn check(&self, lock: &LockId) -> Answer<Grant> {
        Ok(lease(&self.locks.check_lock(lock).await?))
    }

    async fn holder(&self, ledger: &str) -> Answer<Option<i64>> {
        Ok(self.locks.holders(&key(ledger)).await?.first().map(|holder| holder.generation))
    }

    async fn break_lock(&self, ledger: &str, generation: i64, by: &str) -> Answer<()> {
        Ok(self.locks.break_lock(&key(ledger), generation, &owner(by), "chaos").await.map(drop)?)
    }

    async fn insert(&self, ledger: &str, op: &str) -> Answer<Appended> {
        let mut tx = self.db.begin().await?;
        let made = self.ledgers.insert(&mut tx, Ledger::new(ledger)).await?;
        let version = made.version().number();
        let note = Note { op: op.to_owned(), ledger: ledger.to_owned(), version, generation: None, guard: None };
        audit::write(&mut tx, self.backend, &note).await?;
        tx.commit().await?;
        Ok(Appended { version: Some(version), ..Appended::default() })
    }

    async fn read(&self, ledger: &str) -> Answer<Seen> {
        let loaded = self.ledgers.get(&ledger.to_owned()).await?.ok_or_else(|| Refusal::sure("not-found"))?;
        let operations = loaded.entries.iter().map(|entry| entry.op.clone()).collect();
        Ok(Seen { version: loaded.version().number(), operations })
    }

    async fn append(&self, append: &Append<'_>) -> Answer<Appended> {
        self.append_to_one(append).await
    }

    async fn transfer(&self, transfer: &Transfer<'_>) -> Answer<Appended> {
        self.append_to_several(transfer).await
    }
}
