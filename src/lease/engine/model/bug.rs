//! Wrong builds: each has one mistake that lock managers really have, and breaks one promise.

/// A planted mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// Expiry is judged by the clock of the process that asks, and clocks differ.
    ClientClock,
    /// A release ends the lease on the key, whatever lock id it names.
    ReleaseByKey,
    /// A save does not check the lease.
    SaveUnchecked,
    /// A save checks the lease in one transaction and writes in the next.
    CheckThenWrite,
    /// The generation is kept in the row only, which the sweeper deletes.
    GenerationInRow,
    /// How a lease ended is forgotten, so a late duplicate of its request is granted again.
    HistoryForgotten,
    /// A heartbeat revives a lease that ran out.
    HeartbeatRevives,
    /// A holder counts the time to live from the arrival of the answer.
    DeadlineFromReceipt,
    /// A lease that ran out is never taken over.
    ExpiredStays,
    /// An expired lease is deleted in one step and the new one inserted in the next.
    TakenInTwoSteps,
    /// Another lock id of the same owner is granted the lease as well.
    ReentrantByOwner,
    /// A save does not compare the version.
    VersionUnchecked,
    /// A save without a lease does not ask if somebody else holds one.
    LockIgnored,
    /// A commit is answered before it is durable, and the database crashes.
    AsynchronousCommit,
    /// A save is accepted in the very millisecond in which the lease expires, and so is the next holder.
    ExpiryInclusive,
    /// Versions begin at 1 again when an aggregate is deleted and inserted.
    VersionsRestart,
    /// A request for a lease that was handed over is granted to anybody.
    ReservationForAnybody,
    /// A lease is revived although another one followed it.
    ResumeAfterAnother,
}
