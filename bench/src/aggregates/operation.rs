//! The operations on an order.

/// A unit of work: one transaction, but for [`Load`](Operation::Load) one that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Load it, change a field of the root and one line, save.
    ChangeOne,
    /// The same with the last 20 versions kept. The by-hand side keeps none, so this is the cost of revisions.
    ChangeOneWithRevisions,
    /// The same as `ChangeOne`, with an expected version.
    VersionCheck,
    /// Load it and raise its version, with no change.
    ForcedIncrement,
    /// Load it locked, and commit.
    PessimisticLoad,
    /// Load it in a consistent state.
    Load,
    /// Insert it.
    Insert,
    /// One statement of the application, on the connection of a transaction.
    OwnStatement,
    /// Save 20 changed orders that were loaded before.
    SaveAll,
}

impl Operation {
    pub(crate) const ALL: [Operation; 9] = [
        Operation::ChangeOne,
        Operation::ChangeOneWithRevisions,
        Operation::VersionCheck,
        Operation::ForcedIncrement,
        Operation::PessimisticLoad,
        Operation::Load,
        Operation::Insert,
        Operation::OwnStatement,
        Operation::SaveAll,
    ];

    /// Those that a request of a person is, one aggregate each.
    pub(crate) const OF_CALLERS: [Operation; 6] = [
        Operation::ChangeOne,
        Operation::VersionCheck,
        Operation::ForcedIncrement,
        Operation::PessimisticLoad,
        Operation::Load,
        Operation::Insert,
    ];

    /// Its name in the ids of figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::ChangeOne => "change_one",
            Operation::ChangeOneWithRevisions => "change_one_with_revisions",
            Operation::VersionCheck => "version_check",
            Operation::ForcedIncrement => "forced_increment",
            Operation::PessimisticLoad => "pessimistic_load",
            Operation::Load => "load",
            Operation::Insert => "insert",
            Operation::OwnStatement => "own_statement",
            Operation::SaveAll => "save_all",
        }
    }
}
