//! Several aggregates at once, with and without locks; past states.

use std::collections::BTreeMap;

use crate::aggregate::mapping::Row;
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded, id_values};
use crate::db::RowLock;
use crate::error::{DatabaseError, Error};
use crate::lease::LockKey;
use crate::row_lock::LockMode;
use crate::store::load;
use crate::telemetry::work::traced;
use crate::unit_of_work::repository::{Repository, loaded};
use crate::unit_of_work::transaction::Transaction;

impl<A: Aggregate> Repository<A> {
    /// The aggregates with these ids, in the order of the ids; `None` where there is none. One statement loads 32 of them with
    /// all their children. Each is consistent; aggregates of different statements may be of different times.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Repository};
    /// # #[derive(Aggregate, Debug)]
    /// # #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let mut tx = db.begin().await?;
    /// # sqlx::query("create table orders (no text primary key, version integer not null)").execute(tx.sqlite()?).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// # for no in ["1", "2", "3"] { orders.insert(&mut tx, Order { no: no.into() }).await?; }
    /// # tx.commit().await?;
    /// let found = orders.get_many(&["2".to_owned(), "7".to_owned()]).await?;
    /// assert!(found[0].is_some() && found[1].is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get), for the first id with an error.
    pub async fn get_many(&self, ids: &[A::Id]) -> Result<Vec<Option<Loaded<A>>>, Error> {
        let (mapping, (keys, rows)) = (self.mapping()?, in_lock_order::<A>(ids));
        let found =
            if rows.is_empty() { Vec::new() } else { self.database.backend().load_many(mapping, &rows).await? };
        let found: BTreeMap<_, _> = keys.into_iter().zip(found).collect();
        let one = |id: &A::Id| {
            let key = LockKey::of::<A>(id);
            let stored = found.get(&key).cloned().flatten();
            loaded(&key, stored, LockMode::None)
        };
        ids.iter().map(one).collect()
    }

    /// Loads the aggregates with these ids inside a transaction, with this lock mode, in the order of the ids: each once, also where an id is
    /// given twice, and only those that exist. For rows that a statement of the application has chosen:
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, LockMode, Repository, sqlx};
    /// # #[derive(Aggregate)]
    /// # #[aggregate(table = "job")]
    /// # struct Job { #[aggregate(id)] no: i64, done: bool }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/jobs.db", directory.path().display())).await?;
    /// # let mut tx = db.begin().await?;
    /// # sqlx::query("create table job (no integer primary key, done integer, version integer)").execute(tx.sqlite()?).await?;
    /// # let jobs = Repository::<Job>::new(&db);
    /// # for no in 1..=12 { jobs.insert(&mut tx, Job { no, done: no == 2 }).await?; }
    /// # tx.commit().await?;
    /// let mut tx = db.begin().await?;
    /// // On PostgreSQL and MariaDB with `for update skip locked`.
    /// let next = sqlx::query_scalar("select no from job where not done order by no limit 10");
    /// let claimed = next.fetch_all(tx.sqlite()?).await?;
    /// for mut job in jobs.find_many(&mut tx, &claimed, LockMode::PessimisticWrite).await? {
    ///     job.done = true;
    ///     jobs.save(&mut tx, &mut job).await?;
    /// }
    /// tx.commit().await?;
    /// # assert_eq!((claimed.len(), jobs.get(&11).await?.ok_or("none")?.done), (10, true));
    /// # Ok(()) }
    /// ```
    ///
    /// The roots are locked before a child is read, one after the other, in the same order as by [`lock_all`](crate::Transaction::lock_all)
    /// and [`save_all`](Self::save_all): overlapping sets cannot deadlock. That is one round trip per aggregate; then one statement reads 32
    /// of them with all their children. Without a lock only the latter.
    ///
    /// # Errors
    /// As [`find`](Self::find), for the first id with an error; with a pessimistic mode, all of its waits share the transaction's deadline.
    pub async fn find_many(
        &self,
        tx: &mut Transaction,
        ids: &[A::Id],
        mode: LockMode,
    ) -> Result<Vec<Loaded<A>>, Error> {
        self.load_many(tx, ids, mode, mode.into()).await
    }

    /// As [`find_many`](Self::find_many) with [`LockMode::PessimisticWrite`], but without waiting, and without those that another transaction
    /// holds: workers use it to share a list of work.
    ///
    /// # Errors
    /// As [`find_many`](Self::find_many); [`DatabaseError::Unsupported`] if locks are on the whole database, see
    /// [`Capabilities::granularity`](crate::db::Capabilities::granularity).
    pub async fn find_many_skip_locked(&self, tx: &mut Transaction, ids: &[A::Id]) -> Result<Vec<Loaded<A>>, Error> {
        self.load_many(tx, ids, LockMode::PessimisticWrite, RowLock::SkipLocked).await
    }

    async fn load_many(
        &self,
        tx: &mut Transaction,
        ids: &[A::Id],
        mode: LockMode,
        lock: RowLock,
    ) -> Result<Vec<Loaded<A>>, Error> {
        let load = async {
            let (mapping, (keys, rows)) = (self.mapping()?, in_lock_order::<A>(ids));
            let found = tx.database.run(async |tx| load::load_many(tx, mapping, &rows, lock).await).await?;
            let mut found: BTreeMap<_, _> = keys.into_iter().zip(found).collect();
            let mut all = Vec::with_capacity(found.len());
            for id in ids {
                let key = LockKey::of::<A>(id);
                let Some(stored) = found.remove(&key).flatten() else { continue };
                all.extend(loaded(&key, Some(stored.clone()), mode)?);
                tx.versions.loaded(&key, mapping, &stored, mode);
            }
            Ok(all)
        };
        traced("load", Some(&A::mapping().name), |_| None, load).await
    }

    /// The aggregate as it was at this version; `None` if that version is not stored (any more), or was stored
    /// with other columns. It is a plain value: it cannot be saved.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if the mapping keeps no revisions; [`Error::Database`].
    pub async fn get_at(&self, id: &A::Id, version: Version) -> Result<Option<A>, Error> {
        let mapping = self.mapping()?;
        if mapping.revisions == 0 {
            return Err(DatabaseError::Unsupported(
                "this aggregate keeps no past states; write `revisions = 20` above its type to keep the last 20",
            )
            .into());
        }
        let state = self.database.backend().state_at(mapping, &LockKey::of::<A>(id), version).await?;
        Ok(state.map(|rows| A::from_rows(&rows)).transpose()?)
    }
}

/// Each id once, in the order in which every transaction locks.
fn in_lock_order<A: Aggregate>(ids: &[A::Id]) -> (Vec<LockKey>, Vec<Row>) {
    let once: BTreeMap<_, _> = ids.iter().map(|id| (LockKey::of::<A>(id), id_values(id))).collect();
    once.into_iter().unzip()
}
