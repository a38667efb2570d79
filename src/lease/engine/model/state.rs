//! What the model consists of: the database, the clients, the messages between them, and the facts that the promises are judged by.

use std::collections::BTreeSet;

use crate::lease::engine::Rows;

/// A lock id: which client it belongs to, and which of its requests.
pub(super) type Lock = u8;
/// A client, by its place.
pub(super) type ClientId = usize;

/// A version as a client has seen it. The library's tokens carry no life: two lives never share a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Seen {
    pub life: u8,
    pub version: i64,
}

/// The aggregate's row, and what outlives it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AggregateRow {
    pub exists: bool,
    pub at: Seen,
    /// Who wrote, in order.
    pub log: Vec<ClientId>,
}

/// All that the database keeps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub rows: Rows,
    pub aggregate: AggregateRow,
}

/// What a client asks of the database, in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Take(Lock),
    Keep(Lock),
    Resume(Lock),
    /// Change the aggregate under a lease.
    Save(Lock, Seen),
    Release(Lock),
    /// Which version there is, and which lease.
    Read,
    /// Change the aggregate unless it is locked.
    SaveFree(Seen),
    /// Delete it unless it is locked, and insert it anew.
    Replace(Seen),
    Break(i64),
    TakeOver(Lock, i64),
    Ask(i64),
    HandOver(Lock),
}

/// What the database answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The lease is this client's; the aggregate is at this version.
    Granted(Seen),
    /// The version, and the generation of the live lease if there is one.
    Read(Seen, Option<i64>),
    Done,
    Refused,
}

/// A message on its way. It may arrive at any time, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Message {
    pub client: ClientId,
    pub op: Op,
    /// When the request was sent.
    pub sent: i64,
    pub answer: Option<Outcome>,
}

/// Which program a client runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Takes a lease, may keep it alive, saves under it, releases it.
    Editor,
    /// As an editor; if the lease ran out, it is resumed.
    Returning,
    /// Takes a lease and hands it over to whom asks.
    Giving,
    /// Asks for the lease, then takes it as an editor.
    Asking,
    /// Reads, and saves unless the aggregate is locked.
    Writer,
    /// Reads, deletes and inserts unless the aggregate is locked.
    Replacer,
    /// Reads, and ends the lease that it has seen.
    Breaking,
    /// Reads, takes over the lease that it has seen, and goes on as an editor.
    TakingOver,
}

/// How far a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Start,
    /// Has read the version and the generation.
    HasRead(Seen, Option<i64>),
    /// Was granted a lease when this version was there.
    Holds(Seen),
    /// Its save was acknowledged.
    Saved,
    /// It stops, with or without success.
    Ended,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub role: Role,
    /// The id of its owner: two tabs of a person share it.
    pub owner: u8,
    pub phase: Phase,
    /// Until when it believes that it holds the lease, by a clock that nobody sets.
    pub believes_until: i64,
    /// What it waits for.
    pub waits_for: Option<Op>,
    /// So many heartbeats it may send.
    pub heartbeats: u8,
}

/// A lease as the promises mean it, kept apart from the engine's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Live {
    pub lock: Lock,
    pub generation: i64,
    pub until: i64,
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Promise {
    /// No lease is granted while another one is alive.
    OneLiveLease,
    /// Every lease has a higher generation than all before it.
    GenerationRises,
    /// A lock id never gets a second lease, and a lease that ended is not alive again.
    EndedStaysEnded,
    /// A save under a lease is accepted only while that lease is alive.
    SavedUnderLiveLease,
    /// A save without a lease is accepted only while nobody else holds one.
    SavedBesideNobody,
    /// A save is accepted only on the version that was seen.
    SavedOnSeenVersion,
    /// A lease that was handed over goes to whom it was handed.
    HandedToAsker,
}

/// What has really happened, by which the promises are judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Facts {
    pub lease: Option<Live>,
    /// For which owner the key is reserved, and until when.
    pub reserved: Option<(u8, i64)>,
    pub highest: i64,
    /// Lock ids whose lease ended for good.
    pub ended: BTreeSet<Lock>,
    /// Whose saves were acknowledged.
    pub acknowledged: BTreeSet<ClientId>,
    /// Whose saves were committed.
    pub committed: Vec<ClientId>,
    pub broken: BTreeSet<Promise>,
    /// A lease ran out, and another client got the next one.
    pub followed: bool,
}

/// A transaction that a wrong build has split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Half {
    Write(Message),
    Insert(Message),
}

/// One state of everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// Time as it passes for everybody.
    pub time: i64,
    /// How far the database's clock is from it.
    pub skew: i64,
    pub store: Store,
    /// What is durable, if that is less than what was answered.
    pub durable: Option<Box<Store>>,
    pub clients: Vec<Client>,
    /// In order, so that two states that differ by nothing else are one.
    pub network: Vec<Message>,
    pub halves: Vec<Half>,
    pub facts: Facts,
    /// So many requests may be sent twice.
    pub repeats: u8,
    pub crashes: u8,
    pub steps: u8,
    pub sweeps: u8,
}

impl State {
    /// The database's clock.
    pub(super) fn now(&self) -> i64 {
        self.time + self.skew
    }

    pub(super) fn send(&mut self, message: Message) {
        let at = self.network.binary_search(&message).unwrap_or_else(|at| at);
        self.network.insert(at, message);
    }

    pub(super) fn is_live(&self) -> bool {
        self.facts.lease.is_some_and(|lease| lease.until > self.now())
    }
}
