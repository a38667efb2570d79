//! One unit of work on one aggregate: begin, check the lock, load, check the version, run the command, save, commit.

use std::time::Duration;

use crate::aggregate::{Aggregate, Loaded};
use crate::backend::{Authorship, Proof, Stored};
use crate::error::{Error, UpdateError};
use crate::lease::{LockId, LockKey, NoLock, Owner, Why};
use crate::lock_mode::{LockMode, Wait};
use crate::repository::{Opened, Repository, describe};
use crate::transaction::Transaction;
use crate::version::Version;

/// An update that is being described; [`run`](Update::run) does it.
///
/// Everything happens in one transaction, in this order: the offline lock is checked, the aggregate is loaded, the
/// version that the person saw is compared, the command runs, the result is saved, the offline lock is released if that
/// was asked, and all of it is committed. Whatever refuses leaves everything as it was.
#[must_use = "an update does nothing until `run`"]
#[derive(Debug)]
pub struct Update<'a, A: Aggregate> {
    repository: &'a Repository<A>,
    id: A::Id,
    expecting: Option<Version>,
    mode: LockMode,
    wait: Wait,
    lock: Lock,
    author: Authorship,
}

/// What the update has to do with offline locks.
#[derive(Debug)]
enum Lock {
    Ignored,
    /// Refuse if anybody holds it, but for the lease of this generation.
    RefusedIfHeld {
        but: Option<i64>,
    },
    Held {
        id: LockId,
        release: bool,
    },
}

impl<'a, A: Aggregate> Update<'a, A> {
    pub(crate) fn new(repository: &'a Repository<A>, id: A::Id) -> Self {
        Update {
            repository,
            id,
            expecting: None,
            mode: LockMode::default(),
            wait: Wait::default(),
            lock: Lock::Ignored,
            author: Authorship::default(),
        }
    }

    /// Refuses with [`Error::VersionConflict`] unless the aggregate is still this version: the one the person saw.
    pub fn expecting(mut self, version: Version) -> Self {
        self.expecting = Some(version);
        self
    }

    /// How the row is locked while the command runs. The default is [`LockMode::Optimistic`].
    pub fn locking(mut self, mode: LockMode) -> Self {
        self.mode = mode;
        self
    }

    /// Waits for others at most this long in total, to the millisecond. The default is 5 seconds.
    pub fn within(mut self, budget: Duration) -> Self {
        self.wait = Wait::Within(budget);
        self
    }

    /// Fails at once if somebody else is in the way.
    pub fn no_wait(mut self) -> Self {
        self.wait = Wait::No;
        self
    }

    /// Refuses with [`Error::NoLock`] unless this lock id holds the aggregate's offline lock. The lock is held to the end
    /// of the transaction: its expiry during the save is harmless.
    pub fn holding(mut self, id: &LockId) -> Self {
        self.lock = Lock::Held { id: id.clone(), release: false };
        self
    }

    /// As [`holding`](Self::holding), and the offline lock is released with the commit: saved and free, or neither.
    pub fn releasing(mut self, id: &LockId) -> Self {
        self.lock = Lock::Held { id: id.clone(), release: true };
        self
    }

    /// Refuses with [`Error::AlreadyLocked`] if somebody holds an exclusive offline lock on the aggregate.
    pub fn unless_locked(mut self) -> Self {
        self.lock = Lock::RefusedIfHeld { but: None };
        self
    }

    /// As [`unless_locked`](Self::unless_locked), but for the lease of this generation: the person has seen who holds it
    /// and goes on regardless. Whoever holds it finds a newer version when they save.
    pub fn unless_locked_except(mut self, generation: i64) -> Self {
        self.lock = Lock::RefusedIfHeld { but: Some(generation) };
        self
    }

    /// Says who makes the change. Later conflicts name them, and a lock id has to be theirs.
    pub fn by(mut self, owner: &Owner) -> Self {
        self.author.by = Some(owner.clone());
        self
    }

    /// Says what the change is for, in the words of the domain: `start shipping`.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.author.command = Some(command.into());
        self
    }

    /// Does it. The command is synchronous, because the domain does no I/O.
    ///
    /// When the version is not the expected one, the command is not run on the aggregate. If the state as it was opened
    /// is still kept, it is run on a copy of that, so that the conflict can show what it would have changed; so a
    /// command must not do anything but change the aggregate it is given.
    ///
    /// # Errors
    /// [`UpdateError::Refused`] with the domain's refusal, untouched; [`UpdateError::Failed`] with [`Error::NotFound`],
    /// [`Error::VersionConflict`], [`Error::AlreadyLocked`], [`Error::NoLock`] or [`Error::Database`].
    ///
    /// # Cancel safety
    /// Dropping the future rolls back; only when it is dropped during the commit itself the change may have been saved.
    pub async fn run<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<Loaded<A>, UpdateError<E>> {
        let key = LockKey::of::<A>(&self.id);
        let mut tx = self.repository.database.begin_for(self.wait, self.author.clone()).await?;
        self.check_lock(&mut tx, &key).await?;
        let found = self.repository.find(&mut tx, &self.id, self.mode).await?;
        let Some(mut loaded) = found else {
            let (aggregate, id) = (key.kind().to_owned(), key.id().to_owned());
            return Err(Error::NotFound { aggregate, id }.into());
        };
        if let Some(seen) = self.expecting.filter(|seen| !loaded.matches_version(*seen)) {
            return Err(refuse(&mut tx, &key, seen, loaded.stored(), command).await?.into());
        }
        command(&mut loaded).map_err(UpdateError::Refused)?;
        self.repository.save(&mut tx, &mut loaded).await?;
        if let Lock::Held { id, release: true } = &self.lock {
            let released = tx.usable()?.release_lock(&self.proof(id)).await;
            tx.note(released)?.map_err(|no_lock| Error::NoLock(Box::new(no_lock)))?;
        }
        tx.commit().await?;
        Ok(loaded)
    }

    async fn check_lock(&self, tx: &mut Transaction, key: &LockKey) -> Result<(), Error> {
        match &self.lock {
            Lock::Ignored => Ok(()),
            Lock::RefusedIfHeld { but } => {
                let holder = tx.usable()?.holder(key).await;
                match tx.note(holder)?.filter(|holder| Some(holder.generation) != *but) {
                    Some(holder) => Err(Error::AlreadyLocked(Box::new(holder))),
                    None => Ok(()),
                }
            }
            Lock::Held { id, .. } => {
                let guarded = tx.usable()?.guard(&self.proof(id)).await;
                match tx.note(guarded)? {
                    Ok(holder) if holder.key == *key => Ok(()),
                    Ok(holder) => {
                        let no_lock = NoLock { key: Some(holder.key), why: Why::OtherAggregate, held_now: None };
                        Err(Error::NoLock(Box::new(no_lock)))
                    }
                    Err(no_lock) => Err(Error::NoLock(Box::new(no_lock))),
                }
            }
        }
    }

    fn proof(&self, id: &LockId) -> Proof {
        Proof { lock: id.hash(), owner: self.author.by.as_ref().map(|by| by.id.clone()) }
    }
}

/// The conflict between what the person saw and what is there now.
async fn refuse<A: Aggregate, E>(
    tx: &mut Transaction,
    key: &LockKey,
    seen: Version,
    now: Stored,
    command: impl FnOnce(&mut A) -> Result<(), E>,
) -> Result<Error, Error> {
    let revisions = tx.usable()?.revisions(A::mapping(), key, seen).await;
    let (rows, changed) = tx.note(revisions)?;
    let mine = rows.as_ref().and_then(|rows| {
        let mut copy = A::from_rows(rows).ok()?;
        command(&mut copy).ok()?;
        Some(copy.to_rows())
    });
    let opened = Opened { version: seen, rows };
    Ok(Error::VersionConflict(Box::new(describe::<A>(key, &opened, Some(now), mine.as_ref(), changed))))
}
