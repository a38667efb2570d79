//! One line of a history.

use serde::{Deserialize, Serialize};

/// What was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Function {
    /// The lease of a key is requested.
    Lock,
    /// The lease of a key is requested, and waited for.
    Wait,
    /// The time to live of a lease is shortened.
    Shorten,
    /// A lease is extended.
    Extend,
    /// A lease is released.
    Release,
    /// Whether a lock id holds a lease is asked.
    Check,
    /// The lease of somebody else is ended.
    Break,
    /// A ledger is made.
    Insert,
    /// The operation's id is appended to one ledger.
    Append,
    /// The operation's id is appended to several ledgers, and an amount moves between them.
    Transfer,
    /// A ledger is read.
    Read,
    /// A form is sent, once or several times: the operation's id is appended to one ledger.
    Form,
}

/// Where the call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    /// It is about to be sent.
    Invoke,
    /// It surely happened.
    Ok,
    /// It surely did not happen, and never will.
    Fail,
    /// Nobody knows.
    Info,
}

/// What a write relies upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Guarded {
    /// A lease, which is kept.
    Lease,
    /// A lease, which the write releases.
    LeaseReleased,
    /// A row lock in its own transaction.
    Row,
    /// The version that was read before.
    Version,
    /// The version that was read before, and that nobody holds the lease.
    UnlessLocked,
    /// The lease that the form has, which the write releases, or else the version in it, and that nobody else holds the lease.
    Form,
}

/// How a form is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Gesture {
    /// Once.
    Click,
    /// Twice at the same time.
    DoubleClick,
    /// The browser is told to stop before the answer is there, and the person goes away.
    Stop,
    /// As [`Stop`](Self::Stop), and then the person sends the form again.
    StopAndAgain,
    /// The person gets the answer, goes back, and sends the form again.
    Back,
}

/// What a call was given, or what its answer says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Args {
    /// The operation that requested the lease that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lock: Option<String>,
    /// The fencing number of that lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
    /// What is left of the lease, by the database's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remaining_ms: Option<u64>,
    /// To what a lease is shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) within_ms: Option<u64>,
    /// When the lease was granted, by the database's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since_ms: Option<i64>,
    /// What a write relies upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) guard: Option<Guarded>,
    /// The version of the ledger: expected, read or made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<i64>,
    /// How many operations a ledger had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) len: Option<u64>,
    /// A digest of their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<u64>,
    /// From when on the row was surely locked, and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row_ns: Option<(u64, u64)>,
    /// The ledgers that a transfer has to find unchanged, and does not write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) watched: Vec<String>,
    /// The versions of those ledgers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) saw: Vec<(String, i64)>,
    /// How a form is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gesture: Option<Gesture>,
    /// The limit that the call was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit_ms: Option<u64>,
    /// The call is dropped if it is not ready after so many further polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drop_after: Option<u64>,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// The text of an error that should not occur.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Whether it is the call or its answer.
    #[serde(rename = "type")]
    pub(crate) stage: Stage,
    /// What was called.
    pub(crate) f: Function,
    /// The operation's id, which no other operation of the run has.
    pub(crate) op: String,
    /// The client: a process, one of its tasks, and a number that rises when an outcome is unknown.
    #[serde(rename = "proc")]
    pub(crate) client: String,
    /// The ledgers, or the keys of locks.
    pub(crate) agg: Vec<String>,
    /// When, by the monotonic clock.
    pub(crate) mono_ns: u64,
    /// What was given, or answered.
    #[serde(default)]
    pub(crate) args: Args,
}
