//! Faulty variants: each has one mistake that real lock managers have made, and breaks one promise.

/// A planted mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// Expiry is judged by the clock of the requesting process, and clocks differ.
    ClientClock,
    /// A release ends the lease on the key without comparing the lock id.
    ReleaseByKey,
    /// A save does not check the lease.
    SaveUnchecked,
    /// A save checks the lease in one transaction and writes in the next.
    CheckThenWrite,
    /// The generation is stored only in the row, which the sweeper deletes.
    GenerationInRow,
    /// The history does not record how a lease ended, so a late duplicate of its request is granted again.
    HistoryForgotten,
    /// A heartbeat revives an expired lease.
    HeartbeatRevives,
    /// A holder counts the time to live from the receipt of the answer.
    DeadlineFromReceipt,
    /// An expired lease is never replaced.
    ExpiredStays,
    /// An expired lease is deleted in one step and the new one inserted in the next.
    TakenInTwoSteps,
    /// Another lock id of the same owner is granted the lease too.
    ReentrantByOwner,
    /// A save does not compare the version.
    VersionUnchecked,
    /// A save without a lease does not check whether another owner holds one.
    LockIgnored,
    /// A commit is confirmed before it is durable, and the database crashes.
    AsynchronousCommit,
    /// At the exact millisecond of the expiry both a save under the lease and the next holder are accepted.
    ExpiryInclusive,
    /// Versions start at 1 again when an aggregate is deleted and inserted.
    VersionsRestart,
    /// A lease is revived although a newer lease was granted.
    ResumeAfterAnother,
}
