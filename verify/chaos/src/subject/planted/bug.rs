//! The mistakes.

use crate::workload::Workload;

/// One mistake, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Bug {
    /// None: nothing may be found.
    None,
    /// The clock of the process decides, and clocks differ by a second.
    AppClock,
    /// The classic: select, delete if it has expired, insert.
    TakeOverInSteps,
    /// A release deletes the row that has the generation.
    FenceInDeletedRow,
    /// A release ends the lease of the key, also that of another holder.
    ReleaseByKey,
    /// A write does not check the lease.
    NoLeaseCheck,
    /// A write checks the lease in one transaction, and writes in the next.
    CheckInAnotherTransaction,
    /// A write relies upon a deadline that counts from the arrival of the answer.
    LocalDeadline,
    /// In the second of the expiry the lease is live, and may be taken over as well.
    ExpiryShared,
    /// An extension does not ask who holds the lease now.
    ExtendByKey,
    /// A sweeper deletes leases that are old, also those that were extended.
    SweeperByAge,
    /// A request with the name of the holder gets the lease as well.
    ReentrantByOwner,
    /// An expired lease is not given to others.
    ExpiredNeverTaken,
    /// A commit whose answer was lost is done again.
    BlindRetry,
    /// The answer is sent before the commit.
    AnswerBeforeCommit,
    /// A commit whose answer was lost is called a failure.
    LostAnswerAsFailure,
    /// The version is compared in the program, and raised whatever it is by then.
    VersionComparedInProgram,
    /// The row is read without a lock, changed and written back.
    ReadModifyWrite,
    /// The error of a statement is ignored, and the transaction committed: the server rolls it back, and the driver says nothing.
    SwallowedError,
    /// The audit row is written after the commit.
    NoteOutside,
    /// A write that is to respect leases does not ask for them.
    UnlessLockedNotAsked,
    /// A transfer commits after each ledger.
    TransferInSteps,
    /// A transfer does not lock what it only reads.
    WatchedNotLocked,
    /// A refusal is remembered for a second, and given again without asking.
    RememberedRefusal,
    /// A form that is sent again is applied again.
    FormAppliedAgain,
    /// The root and its entries are read by two statements, each at a moment of its own.
    TornRead,
}

impl Bug {
    /// The workloads that it is about; all of them for the right build.
    pub(crate) fn workloads(self) -> Vec<Workload> {
        use Bug::*;
        match self {
            AppClock
            | TakeOverInSteps
            | FenceInDeletedRow
            | ReleaseByKey
            | NoLeaseCheck
            | CheckInAnotherTransaction
            | LocalDeadline
            | ExpiryShared
            | ExtendByKey
            | SweeperByAge
            | ReentrantByOwner
            | RememberedRefusal
            | ExpiredNeverTaken => vec![Workload::Lease],
            UnlessLockedNotAsked => vec![Workload::Mixed],
            TornRead | VersionComparedInProgram => vec![Workload::Version],
            TransferInSteps | WatchedNotLocked => vec![Workload::Transfer],
            FormAppliedAgain => vec![Workload::Form],
            _ => Workload::DIRECT.to_vec(),
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
