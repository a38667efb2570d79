//! What clients do. Each workload has ledgers of its own, because each promises something else about them.

mod form;
mod keys;
mod lease;
mod mixed;
mod row;
mod transfer;
mod version;

use std::time::Duration;

use tenure::LockId;

pub(crate) use keys::Keys;

use crate::browser::Browser;
use crate::history::{Args, Function, Recorder};
use crate::random::Random;
use crate::subject::{Answer, Append, Appended, Guard, Refusal, Seen, Subject};

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub(crate) enum Workload {
    /// W1: a lease is held while somebody thinks; every write is under one.
    Lease,
    /// W2: a row lock in one transaction.
    Row,
    /// W3: versions, no lock.
    Version,
    /// W4: holders of leases, writers without one, and somebody who ends leases.
    Mixed,
    /// W5: amounts move between several ledgers.
    Transfer,
    /// W6: forms in browsers, sent once, twice, again after Stop or Back.
    Form,
}

impl Workload {
    /// All of them.
    pub(crate) const ALL: [Workload; 6] =
        [Workload::Lease, Workload::Row, Workload::Version, Workload::Mixed, Workload::Transfer, Workload::Form];

    /// Those that call the library, or a wrong build, without an application in between.
    #[cfg(feature = "planted")]
    pub(crate) const DIRECT: [Workload; 5] =
        [Workload::Lease, Workload::Row, Workload::Version, Workload::Mixed, Workload::Transfer];

    /// What the names of its ledgers begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Workload::Lease => "w1",
            Workload::Row => "w2",
            Workload::Version => "w3",
            Workload::Mixed => "w4",
            Workload::Transfer => "w5",
            Workload::Form => "w6",
        }
    }

    /// The workload of a ledger.
    pub(crate) fn of(ledger: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| ledger.starts_with(workload.prefix()))
    }
}

/// One task of a client.
#[derive(Debug)]
pub(crate) struct Task<S> {
    pub(crate) subject: S,
    pub(crate) recorder: Recorder,
    pub(crate) random: Random,
    pub(crate) keys: Keys,
    pub(crate) owner: String,
    /// The browser of the task, if there is an application with forms.
    pub(crate) browser: Option<Browser>,
    /// How many of a thousand transactions pause for as long as a lease lives.
    pub(crate) pausing: u64,
    /// Whether its writes are run again where that is safe, and unknown commits are resolved.
    pub(crate) resolving: bool,
    /// How many of a hundred calls about leases are dropped.
    pub(crate) dropping: u64,
}

impl<S: Subject> Task<S> {
    /// Does one thing of a workload.
    pub(crate) async fn step(&mut self, workload: Workload) {
        let result = match workload {
            Workload::Lease => self.with_lease(Workload::Lease).await,
            Workload::Row => self.with_row_lock().await,
            Workload::Version => self.with_version(Workload::Version).await,
            Workload::Mixed => self.mixed().await,
            Workload::Transfer => self.transfer().await,
            Workload::Form => self.with_form().await,
        };
        if let Err(refusal) = result {
            // While the database is away, retries without a pause would be all that the history has.
            let pause = if refusal.is_unavailable() { self.random.millis(20, 80) } else { self.random.millis(0, 10) };
            tokio::time::sleep(pause).await;
        }
    }

    fn pick(&mut self, workload: Workload) -> String {
        self.keys.pick(workload.prefix(), &mut self.random)
    }

    async fn read(&mut self, ledger: &str) -> Answer<Seen> {
        let (op, subject) = (self.recorder.next_id(), &self.subject);
        let read = subject.read(ledger);
        let seen = self.recorder.call(Function::Read, &op, &[ledger], Args::default(), read).await;
        if seen.as_ref().is_err_and(Refusal::is_not_found) {
            self.insert(ledger).await?;
        }
        seen
    }

    async fn insert(&mut self, ledger: &str) -> Answer<Appended> {
        let op = self.recorder.next_id();
        let insert = self.subject.insert(ledger, &op);
        // One attempt, and the question what became of its commit.
        let limit_ms = self.resolving.then_some(25_000);
        self.recorder.call(Function::Insert, &op, &[ledger], Args { limit_ms, ..Args::default() }, insert).await
    }

    /// Appends; makes the ledger first if it is not there.
    async fn append(&mut self, ledger: &str, lock: Option<&str>, guard: Guard<'_>) -> Answer<Appended> {
        let appended = self.append_once(ledger, lock, guard).await;
        if !appended.as_ref().is_err_and(Refusal::is_not_found) {
            return appended;
        }
        // Somebody else may make it at the same moment.
        if let Err(refusal) = self.insert(ledger).await
            && refusal.code != "already-exists"
        {
            return Err(refusal);
        }
        self.append_once(ledger, lock, guard).await
    }

    async fn append_once(&mut self, ledger: &str, lock: Option<&str>, guard: Guard<'_>) -> Answer<Appended> {
        let op = self.recorder.next_id();
        let (pause, limit) = (self.pause(), self.limit());
        let drop_after = lock.and_then(|_| self.drop_after(Function::Append));
        let append = Append { ledger, op: &op, owner: &self.owner, guard, pause, limit };
        let args = Args {
            lock: lock.map(str::to_owned),
            generation: guard.generation(),
            guard: Some(guard.kind()),
            limit_ms: self.stated(limit),
            drop_after,
            ..Args::default()
        };
        let appended = self.recorder.call(Function::Append, &op, &[ledger], args, self.subject.append(&append)).await;
        if let Ok(Appended { version: Some(version), .. }) = appended {
            self.keys.seen(ledger, version);
        }
        appended
    }

    /// Whether a call is dropped, and at which poll: at any that such a call has.
    fn drop_after(&mut self, f: Function) -> Option<u64> {
        let polls = self.recorder.polls(f).max(1);
        self.random.chance(self.dropping).then(|| self.random.below(polls))
    }

    /// Mostly none. Sometimes as long as a lease lives, between the save and the commit.
    fn pause(&mut self) -> Duration {
        match self.random.below(1000) {
            chosen if chosen < self.pausing => self.random.millis(200, 2000),
            chosen if chosen < 100 => self.random.millis(1, 20),
            _ => Duration::ZERO,
        }
    }

    /// What a write may take: three attempts, and twenty seconds to find out what became of a commit, if it has those.
    fn stated(&self, limit: Duration) -> Option<u64> {
        let limit = u64::try_from(limit.as_millis()).ok()?;
        Some(if self.resolving { 3 * limit + 20_000 } else { limit })
    }

    fn limit(&mut self) -> Duration {
        Duration::from_millis(*self.random.one_of(&[100, 500, 1000, 5000]))
    }
}

/// A lease that a task holds, or held.
#[derive(Debug)]
struct Held {
    id: LockId,
    /// The operation that requested it.
    op: String,
    generation: i64,
}
