//! An update that may run more than once: again after a lost race, or merged with changes of others.

use std::fmt;

use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded};
use crate::error::{Error, ErrorCode, UpdateError};
use crate::lease::LockKey;
use crate::unit_of_work::retry::{Retry, RetryOutcome};
use crate::unit_of_work::steps::{NoSteps, Steps};
use crate::unit_of_work::transaction::Transaction;
use crate::unit_of_work::update::{Update, after};
use crate::version::conflict::VersionConflict;
use crate::version::merge::{Merge, is_torn, put_back};

/// An [`Update`] whose command may run more than once, and so is an `Fn`; [`run`](RepeatableUpdate::run) executes it.
#[must_use = "an update does nothing until `run`"]
pub struct RepeatableUpdate<'a, A: Aggregate, S = NoSteps> {
    update: Update<'a, A, S>,
    retry: Retry,
    merge: Merge,
}

impl<'a, A: Aggregate, S> RepeatableUpdate<'a, A, S> {
    pub(crate) fn new(update: Update<'a, A, S>) -> Self {
        RepeatableUpdate { update, retry: Retry::transient(1), merge: Merge::Never }
    }

    /// Retries the whole update with a new load after a transient failure: see [`Database::retry`](crate::Database::retry). Each attempt
    /// compares the version that the person saw, so it never overwrites changes that they did not see.
    pub fn retrying(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Continues if the version is stale, as far as the policy allows.
    ///
    /// The command runs on a copy of the opened state, to find the fields that it changes. They are compared with the changes of others. If
    /// no field was changed by both, the command runs on the current aggregate, and the fields of others are reset to their current
    /// values, including fields that the command sets without changing them, as a command does that sets all fields of a form. So the
    /// domain checks its rules on the state that is saved; after a reset, the command runs once more on a copy of the result, and may
    /// refuse it. A command whose result depends on others' changes and replaces them, such as one that rewrites a whole collection, cannot
    /// be merged: it is a conflict.
    ///
    /// It requires revisions (`#[aggregate(revisions = 20)]`): if the opened state is not stored any more, or the command was refused on
    /// it, there is nothing to compare, and it is a conflict.
    pub fn merging(mut self, merge: Merge) -> Self {
        self.merge = merge;
        self
    }

    /// Executes it.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Repository, version::Merge, unit_of_work::Retry};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders", revisions = 9)]
    /// # struct Order { #[aggregate(id)] no: String, phone: String, note: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table orders (no text primary key, phone text, note text, version integer)").execute(tx.sqlite()?).await?;
    /// # orders.insert(&mut tx, Order { no: "1".into(), phone: "1".into(), note: String::new() }).await?;
    /// # tx.commit().await?;
    /// # let no = String::from("1");
    /// # let set = |phone: &str| { let phone = phone.to_owned(); move |order: &mut Order| { order.phone = phone; Ok::<_, std::convert::Infallible>(()) } };
    /// let seen = orders.get(&no).await?.expect("it is there").token();
    /// orders.update(&no).run(set("010-1234")).await.expect("nobody else is here");
    ///
    /// let ring_twice = |order: &mut Order| { order.note = "ring twice".into(); Ok::<_, std::convert::Infallible>(()) };
    /// let saved = orders.update(&no).expecting(seen).merging(Merge::Disjoint).retrying(Retry::transient(3));
    /// let saved = saved.run(ring_twice).await.expect("phone and note are different fields");
    /// assert_eq!((saved.loaded.phone.as_str(), saved.loaded.note.as_str(), saved.attempts()), ("010-1234", "ring twice", 1));
    /// assert_eq!(saved.merged.as_ref().expect("it says with what").fields.len(), 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Update::run`], for the last attempt.
    pub async fn run<E>(
        self,
        command: impl Fn(&mut A) -> Result<(), E> + Send + Sync,
    ) -> Result<Updated<A>, UpdateError<E>>
    where
        S: Steps<'a, A, E>,
    {
        let done = self.update.repository.database.retry(self.retry, || self.attempt(&command)).await?;
        let RetryOutcome { value: (loaded, merged), reasons } = done;
        Ok(Updated { loaded, merged, reasons })
    }

    async fn attempt<E>(
        &self,
        command: &(impl Fn(&mut A) -> Result<(), E> + Send + Sync),
    ) -> Result<(Loaded<A>, Option<Box<VersionConflict>>), UpdateError<E>>
    where
        S: Steps<'a, A, E>,
    {
        let key = self.update.key();
        let (mut tx, mut loaded) = self.update.load(&key).await?;
        let merged = match self.update.outdated(&loaded) {
            None => {
                command(&mut loaded).map_err(UpdateError::Refused)?;
                None
            }
            Some(seen) => Some(self.merge(&mut tx, &key, seen, &mut loaded, command).await?),
        };
        Ok((self.update.save(tx, loaded).await?, merged))
    }

    /// Applies the command to the state with the changes of others, or refuses.
    async fn merge<E>(
        &self,
        tx: &mut Transaction,
        key: &LockKey,
        seen: Version,
        loaded: &mut Loaded<A>,
        command: &(impl Fn(&mut A) -> Result<(), E> + Send + Sync),
    ) -> Result<Box<VersionConflict>, UpdateError<E>> {
        let (mapping, now) = (A::mapping(), loaded.opened.clone());
        let opened = tx.opened_at(mapping, key, seen).await?;
        let mine = opened.rows.as_ref().and_then(|rows| after(rows, command));
        let theirs = match (&opened.rows, &mine) {
            (Some(opened), Some(mine)) => self.merge.decide(mapping, opened, &now, mine),
            _ => None,
        };
        let conflict = Box::new(tx.explain(mapping, key, opened, Some(loaded.stored()), mine.as_ref()).await?);
        let Some(theirs) = theirs else { return Err(Error::VersionConflict(conflict).into()) };
        command(loaded).map_err(UpdateError::Refused)?;
        let after = loaded.to_rows();
        let mut merged = after.clone();
        put_back(&theirs, &now, &mut merged);
        if merged != after {
            if mine.as_ref().is_some_and(|mine| is_torn(mapping, &theirs, mine, &after, &merged)) {
                return Err(Error::VersionConflict(conflict).into());
            }
            // If the merged fields are inconsistent (a part without its line, a gap in a list), a person has to decide.
            let whole = || A::from_rows(&merged);
            let (Ok(mut tried), Ok(whole)) = (whole(), whole()) else {
                return Err(Error::VersionConflict(conflict).into());
            };
            command(&mut tried).map_err(UpdateError::Refused)?;
            **loaded = whole;
        }
        Ok(conflict)
    }
}

impl<A: Aggregate, S> fmt::Debug for RepeatableUpdate<'_, A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RepeatableUpdate { update, retry, merge } = self;
        f.debug_struct("RepeatableUpdate")
            .field("key", &update.key())
            .field("retry", retry)
            .field("merge", merge)
            .finish()
    }
}

/// The result of a [`RepeatableUpdate`].
#[derive(Debug, Clone)]
pub struct Updated<A> {
    /// The aggregate and its new version.
    pub loaded: Loaded<A>,
    /// The changes of others that it was merged with; `None` if there were none.
    pub merged: Option<Box<VersionConflict>>,
    /// The reasons of the failed attempts, in order.
    pub reasons: Vec<ErrorCode>,
}

impl<A> Updated<A> {
    /// The number of attempts, including the successful one.
    pub fn attempts(&self) -> usize {
        self.reasons.len() + 1
    }
}
