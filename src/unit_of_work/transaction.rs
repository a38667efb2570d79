//! A transaction: all of its changes are committed, or none.

use std::sync::Arc;

use crate::aggregate::Stored;
use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Mapping, MappingError, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Backend, Connection, RowLock};
use crate::error::{DatabaseError, Error};
use crate::lease::{LockId, LockKey, Owner};
use crate::row_lock::{LockMode, Wait};
use crate::store::operation::{OperationId, resolve};
use crate::store::plan::Rules;
use crate::store::{Authorship, Save, Saved};
use crate::store::{insert, live, load, save};
use crate::telemetry::work::traced;
use crate::unit_of_work::database::Database;
use crate::unit_of_work::explain::Opened;
use crate::unit_of_work::poisonable::Poisonable;
use crate::unit_of_work::versions::{Versions, Watched};

/// A writing transaction. Dropping it rolls back.
///
/// After an error, or after one of its operations was dropped half-way, the transaction is poisoned: every further operation and
/// [`commit`](Transaction::commit) fail with the first cause. So a commit that returns `Ok` has committed everything.
pub struct Transaction {
    /// The backend's transaction, reachable only through this.
    pub(crate) database: Poisonable,
    pub(crate) author: Authorship,
    /// The versions that it requires, and those that it has raised.
    pub(super) versions: Versions,
    /// The backend that resolves a commit whose answer was lost, if that is enabled.
    resolver: Option<Arc<Backend>>,
    /// Its database, and the budget for all of its waits.
    pub(super) home: Database,
    pub(super) wait: Wait,
    /// The offline locks that the commit releases, and their types.
    pub(super) releases: Vec<(LockId, String)>,
}

impl Transaction {
    pub(crate) fn new(
        inner: Connection,
        author: Authorship,
        resolver: Option<Arc<Backend>>,
        home: &Database,
        wait: Wait,
    ) -> Self {
        Transaction {
            database: Poisonable::new(inner, home.guard_limit()),
            author,
            versions: Versions::default(),
            resolver,
            home: home.clone(),
            wait,
            releases: Vec::new(),
        }
    }

    /// Sets the author of the changes of this transaction. Later conflicts contain it. An invalid owner is refused by the next change:
    /// [`Error::InvalidOwner`].
    pub fn by(&mut self, owner: &Owner) -> &mut Self {
        self.author.by = Some(owner.clone());
        self
    }

    /// Sets the command of the changes of this transaction, in the terms of the domain: `start shipping`. If it is not one plain line, the
    /// next change is refused: [`Error::InvalidCommand`].
    pub fn command(&mut self, command: impl Into<String>) -> &mut Self {
        self.author.command = Some(command.into());
        self
    }

    /// Commits, after it has checked the versions that it requires: an aggregate that was loaded with [`Optimistic`](LockMode::Optimistic)
    /// and not saved must still have the loaded version, and one that was loaded with a mode that forces an increment, and not saved, is
    /// raised now.
    ///
    /// # Errors
    /// [`Error::OptimisticLockingFailure`] if one of those versions has changed. [`Error::Database`] with [`DatabaseError::Poisoned`] after
    /// an earlier failure, and with [`DatabaseError::CommitUnknown`] if the database's answer was lost; after every other error nothing was
    /// committed.
    pub async fn commit(mut self) -> Result<(), Error> {
        let commit = async {
            if let Err(poisoned) = self.database.check() {
                return self.give_up(poisoned.into()).await;
            }
            if let Err(error) = self.author.check() {
                return self.give_up(error).await;
            }
            // In the order of their keys, as in every transaction.
            for (key, watched) in std::mem::take(&mut self.versions.watched) {
                if let Err(error) = self.answer_for(&key, watched).await {
                    return self.give_up(error).await;
                }
            }
            if let Err(error) = self.release_noted().await {
                return self.give_up(error).await;
            }
            match self.resolver {
                None => self.database.commit(None).await?,
                Some(resolver) => {
                    let operation = OperationId::random()?;
                    match self.database.commit(Some(&operation)).await {
                        Err(DatabaseError::CommitUnknown(cause)) => match resolve(&resolver, &operation).await {
                            Some(true) => {}
                            Some(false) => return Err(DatabaseError::ConnectionLost(cause).into()),
                            None => return Err(DatabaseError::CommitUnknown(cause).into()),
                        },
                        answer => answer?,
                    }
                }
            }
            Ok(())
        };
        traced("commit", None, |()| None, Box::pin(commit)).await
    }

    /// Rolls back, and returns the first error. (An error of the rollback adds no information.)
    async fn give_up(self, first: Error) -> Result<(), Error> {
        if let Err(error) = self.database.rollback().await {
            tracing::debug!(%error, "the rollback of a transaction that could not be committed had no answer");
        }
        Err(first)
    }

    /// Requires a version to the end of the transaction, or raises it.
    async fn answer_for(&mut self, key: &LockKey, watched: Watched) -> Result<(), Error> {
        let Watched { mapping, stored, raise } = watched;
        let id = &stored.rows.root[..mapping.root.key];
        let now = if raise {
            let diff = Diff::between(mapping, &stored.rows, &stored.rows);
            let to = self.version_after(mapping, key, stored.version)?;
            match self.write(mapping, key, (stored.version, to), &diff, (&stored.rows, &stored.rows)).await? {
                Saved::Done => return Ok(()),
                Saved::Stale(now) => now,
            }
        } else {
            let held = self.database.run(async |tx| load::version(tx, mapping, id, RowLock::Share).await).await?;
            if held == Some(stored.version) {
                return Ok(());
            }
            self.load(key, mapping, id, LockMode::PessimisticRead).await?
        };
        let opened = Opened { version: stored.version, rows: Some(stored.rows) };
        let conflict = self.explain(mapping, key, opened, now, None).await?;
        Err(Error::OptimisticLockingFailure(Box::new(conflict)))
    }

    /// Rolls back, and waits for its completion. (Dropping the transaction does the same in the background.)
    ///
    /// # Errors
    /// [`DatabaseError`] if the database did not answer; the changes are still rolled back. Except for
    /// [`TransactionEnded`](DatabaseError::TransactionEnded): the application's own statement had ended it before, and its committed
    /// changes stay.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        self.database.rollback().await
    }

    /// Loads an aggregate, with this lock mode.
    pub(crate) async fn load(
        &mut self,
        key: &LockKey,
        mapping: &'static Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        let stored = self.database.run(async |tx| load::load(tx, mapping, id, mode.into()).await).await?;
        if let Some(stored) = &stored {
            self.versions.loaded(key, mapping, stored, mode);
        }
        Ok(stored)
    }

    /// Inserts an aggregate whose id the database generates, and sets that id in the rows; returns its version. `key_of` returns the key of
    /// these rows. Both steps are one operation, so a cancelled one is never committed.
    pub(crate) async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &mut Rows,
        key_of: impl Fn(&Rows) -> Result<LockKey, MappingError>,
    ) -> Result<Version, DatabaseError> {
        let (author, rules) = (self.author.clone(), self.rules(mapping).await?);
        let insert = self.database.run(async |tx| {
            rows.root[0] = Value::Integer(insert::insert_generated(tx, mapping, rows, &author).await?);
            let key = key_of(rows)?;
            let version = insert::complete_generated(tx, mapping, &key, rows, &author, &rules).await?;
            Ok((key, version))
        });
        let (key, version) = insert.await?;
        self.versions.written(&key, version);
        Ok(version)
    }

    /// Inserts an aggregate; returns its version. `None`: the id exists already.
    pub(crate) async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
    ) -> Result<Option<Version>, DatabaseError> {
        let (author, rules) = (self.author.clone(), self.rules(mapping).await?);
        let insert = self.database.run(async |tx| insert::insert(tx, mapping, key, rows, &author, &rules).await);
        let inserted = insert.await?;
        if let Some(version) = inserted {
            self.versions.written(key, version);
        }
        Ok(inserted)
    }

    /// Writes a difference, and the [version after it](Self::version_after).
    pub(crate) async fn write(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        (from, to): (Version, Version),
        diff: &Diff<'_>,
        (old, rows): (&Rows, &Rows),
    ) -> Result<Saved, DatabaseError> {
        let (author, rules) = (self.author.clone(), self.rules(mapping).await?);
        let save = Save { mapping, key, from, to, diff, old, rows, rules: &rules, author: &author };
        let saved = self.database.run(async |tx| save::save(tx, &save).await).await?;
        if let Saved::Done = saved {
            self.versions.written(key, to);
        }
        Ok(saved)
    }

    /// Writes unversioned columns alone, and watches the version as before. Returns whether the aggregate is still there.
    pub(crate) async fn write_unversioned(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        loaded: Version,
        rows: &Rows,
        diff: &Diff<'_>,
    ) -> Result<bool, DatabaseError> {
        self.rules(mapping).await?;
        let (root, changed) = (&rows.root, &diff.root);
        self.database.run(async |tx| save::save_unversioned(tx, mapping, key, loaded, root, changed).await).await
    }

    /// What this database said of the tables of a mapping. The first save of the process asks, and is refused if they cannot keep a promise.
    async fn rules(&mut self, mapping: &'static Mapping) -> Result<Arc<Rules>, DatabaseError> {
        if let Some(rules) = self.home.names().rules(mapping) {
            return Ok(rules);
        }
        let rules = self.database.run(async |tx| live::rules(tx, mapping).await).await?;
        Ok(self.home.names().keep_rules(mapping, rules))
    }

    /// The version of an aggregate after its save: it rises once, even if the transaction saves it several times.
    pub(crate) fn version_after(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        from: Version,
    ) -> Result<Version, MappingError> {
        self.versions.after(key, from).ok_or_else(|| {
            let what =
                format!("{key} has the highest version that there is, so it cannot be saved; set it back by hand");
            MappingError::new(&mapping.root.name, &mapping.version, what)
        })
    }

    /// Deletes an aggregate.
    pub(crate) async fn delete(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        old: &Stored,
    ) -> Result<Saved, DatabaseError> {
        let rules = self.rules(mapping).await?;
        let deleted = self.database.run(async |tx| save::delete(tx, mapping, key, old, &rules).await).await?;
        if let Saved::Done = deleted {
            self.versions.deleted(key);
        }
        Ok(deleted)
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "sqlite")]
impl Transaction {
    /// The connection of the transaction. Do not end the transaction through it: your own commit is refused and rolls back, and writes
    /// after your own rollback are refused. After that, and after an error that rolls back (`insert or rollback`, `raise(rollback, …)`, a
    /// full disk), every further operation fails with [`DatabaseError::TransactionEnded`], and nothing is stored.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, LockMode, Repository};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String, note: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// let mut tx = db.begin().await?;
    /// sqlx::raw_sql("create table orders (no text primary key, note text, version integer); create table visit (no text)")
    ///     .execute(tx.sqlite()?)
    ///     .await?;
    /// orders.insert(&mut tx, Order { no: "1".into(), note: String::new() }).await?;
    /// sqlx::query("insert into visit (no) values (?)").bind("1").execute(tx.sqlite()?).await?;
    /// tx.commit().await?;                                    // the tables, the order and the visit: all, or nothing
    /// let visits: i64 = sqlx::query_scalar("select count(*) from visit").fetch_one(db.sqlite()?).await?;
    /// assert_eq!(visits, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is not SQLite, [`DatabaseError::Poisoned`] after an earlier failure.
    pub fn sqlite(&mut self) -> Result<&mut sqlx::SqliteConnection, DatabaseError> {
        self.database.lend()?.as_sqlite().ok_or(DatabaseError::Unsupported("this database is not SQLite"))
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "postgres")]
impl Transaction {
    /// The connection of the transaction. Do not end the transaction through it: your own commit stores the earlier changes, and every
    /// further operation fails with [`DatabaseError::TransactionEnded`]. An error of your own statement aborts the transaction in the
    /// server, and the commit then fails, even if you swallowed the error.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is not PostgreSQL, [`DatabaseError::Poisoned`] after an earlier failure.
    pub fn postgres(&mut self) -> Result<&mut sqlx::PgConnection, DatabaseError> {
        self.database.lend()?.as_postgres().ok_or(DatabaseError::Unsupported("this database is not PostgreSQL"))
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "mysql")]
impl Transaction {
    /// The connection of the transaction. Do not end the transaction through it: your own commit, and each statement with an implicit
    /// commit, such as a change of a table, stores the earlier changes, and every further operation fails with
    /// [`DatabaseError::TransactionEnded`]. The same happens after a deadlock in your own statement, which rolls back everything in the
    /// server, even if you swallowed the error. A savepoint of your own ends with the next operation of the transaction. Your own
    /// statements wait for locks up to the server's limit (`innodb_lock_wait_timeout`), not up to the deadline of the transaction.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is neither MariaDB nor MySQL, [`DatabaseError::Poisoned`] after an earlier failure.
    pub fn mysql(&mut self) -> Result<&mut sqlx::MySqlConnection, DatabaseError> {
        self.database.lend()?.as_mysql().ok_or(DatabaseError::Unsupported("this database is neither MariaDB nor MySQL"))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("database", &self.database).field("author", &self.author).finish()
    }
}
