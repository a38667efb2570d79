//! The state of the model: the database, the clients, their messages, and the facts by which the promises are judged.

use std::collections::BTreeSet;

use crate::lease::engine::Rows;

/// A lock id: a client, and the number of its request.
pub(super) type Lock = u8;
/// A client, by its index.
pub(super) type ClientId = usize;

/// A version as a client has read it. The library's tokens carry no incarnation: two incarnations never share a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Seen {
    pub life: u8,
    pub version: i64,
}

/// The aggregate's row, and the data that survives its deletion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AggregateRow {
    pub exists: bool,
    pub at: Seen,
    /// The clients that wrote, in order.
    pub log: Vec<ClientId>,
}

/// The contents of the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub rows: Rows,
    pub aggregate: AggregateRow,
}

/// A request of a client to the database, executed in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Take(Lock),
    Keep(Lock),
    Resume(Lock),
    /// Change the aggregate under a lease.
    Save(Lock, Seen),
    Release(Lock),
    /// Read the version and the lease.
    Read,
    /// Change the aggregate unless it is locked.
    SaveFree(Seen),
    /// Delete it unless it is locked, and insert it again.
    Replace(Seen),
    Break(i64),
    TakeOver(Lock, i64),
}

/// An answer of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The lease is this client's; the aggregate is at this version.
    Granted(Seen),
    /// The version, and the generation of the live lease if there is one.
    Read(Seen, Option<i64>),
    Done,
    Refused,
}

/// A message in flight. It may arrive at any time, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Message {
    pub client: ClientId,
    pub op: Op,
    /// When the request was sent.
    pub sent: i64,
    pub answer: Option<Outcome>,
}

/// The program of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Acquires a lease, may keep it alive, saves under it, releases it.
    Editor,
    /// Like an editor; it resumes a lease that expired.
    Returning,
    /// Reads, and saves unless the aggregate is locked.
    Writer,
    /// Reads, deletes and inserts unless the aggregate is locked.
    Replacer,
    /// Reads, and breaks the observed lease.
    Breaking,
    /// Reads, takes over the observed lease, and continues like an editor.
    TakingOver,
}

/// The progress of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Start,
    /// Has read the version and the generation.
    HasRead(Seen, Option<i64>),
    /// Was granted a lease, and read this version.
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
    /// The id of its owner: two tabs of one person have the same one.
    pub owner: u8,
    pub phase: Phase,
    /// The time until which it believes that it holds the lease, by a clock that is never adjusted.
    pub believes_until: i64,
    /// The request whose answer it waits for.
    pub waits_for: Option<Op>,
    /// The number of heartbeats that it may still send.
    pub heartbeats: u8,
}

/// A lease as the promises mean it, kept apart from the engine's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Live {
    pub lock: Lock,
    pub generation: i64,
    pub until: i64,
}

/// The promises.
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
    /// A save without a lease is accepted only while no other owner holds one.
    SavedBesideNobody,
    /// A save is accepted only for the version that the client read.
    SavedOnSeenVersion,
}

/// The events that really happened, by which the promises are judged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Facts {
    pub lease: Option<Live>,
    pub highest: i64,
    /// Lock ids whose lease ended for good.
    pub ended: BTreeSet<Lock>,
    /// The clients whose saves were acknowledged.
    pub acknowledged: BTreeSet<ClientId>,
    /// The clients whose saves were committed.
    pub committed: Vec<ClientId>,
    pub broken: BTreeSet<Promise>,
    /// A lease expired, and another client got the next one.
    pub followed: bool,
}

/// A transaction that a faulty variant has split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Half {
    Write(Message),
    Insert(Message),
}

/// One state of the whole system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// True time.
    pub time: i64,
    /// The offset of the database's clock.
    pub skew: i64,
    pub store: Store,
    /// The durable state, if it is behind the acknowledged one.
    pub durable: Option<Box<Store>>,
    pub clients: Vec<Client>,
    /// Sorted, so that two states that differ only in the order are equal.
    pub network: Vec<Message>,
    pub halves: Vec<Half>,
    pub facts: Facts,
    /// How many requests may be sent twice.
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
