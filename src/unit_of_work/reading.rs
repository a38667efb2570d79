//! Reading without locks: several aggregates at once, past states.

use crate::aggregate::mapping::Row;
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded, Stored, id_values};
use crate::error::{DatabaseError, Error};
use crate::lease::LockKey;
use crate::row_lock::LockMode;
use crate::unit_of_work::repository::{Repository, loaded};

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
        let mapping = self.mapping()?;
        let asked: Vec<_> = ids.iter().map(id_values).collect();
        let mut once: Vec<Row> = Vec::with_capacity(asked.len());
        for id in &asked {
            if !once.contains(id) {
                once.push(id.clone());
            }
        }
        let backend = self.database.backend();
        let own = |stored: &Stored, id: &[Value]| stored.rows.root[..mapping.root.key] == *id;
        let found = if once.is_empty() { Vec::new() } else { backend.load_many(mapping, &once).await? };
        // A missing id may be another spelling of a requested row: only the stored spelling is accepted.
        once.retain(|id| !found.iter().any(|stored| own(stored, id)));
        let text = mapping.root.columns[..mapping.root.key].iter().any(|column| column.kind == Kind::Text);
        let spelled = text && !once.is_empty() && !backend.load_many(mapping, &once).await?.is_empty();
        let mut all = Vec::with_capacity(ids.len());
        for (id, values) in ids.iter().zip(&asked) {
            let stored = match found.iter().find(|stored| own(stored, values)) {
                None if spelled => backend.load(mapping, values).await?,
                stored => stored.cloned(),
            };
            all.push(loaded(&LockKey::of::<A>(id), stored, LockMode::None)?);
        }
        Ok(all)
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
