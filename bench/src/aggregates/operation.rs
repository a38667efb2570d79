//! What is done with an order.

/// A unit of work: one transaction, but for [`Load`](Operation::Load) one that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Load it, change a field of the root and one line, save.
    ChangeOne,
    /// The same, where the last 20 versions are kept. By hand none are, so this is what they cost.
    ChangeOneWithRevisions,
    /// The same as `ChangeOne`, if it is still the version that somebody saw.
    VersionCheck,
    /// Load it and raise its version, with no change.
    ForcedIncrement,
    /// Load it locked, and commit.
    PessimisticLoad,
    /// Load it as it is at one moment.
    Load,
    /// Insert it.
    Insert,
    /// Save 20 that were changed, and were loaded before.
    SaveAll,
}

impl Operation {
    pub(crate) const ALL: [Operation; 8] = [
        Operation::ChangeOne,
        Operation::ChangeOneWithRevisions,
        Operation::VersionCheck,
        Operation::ForcedIncrement,
        Operation::PessimisticLoad,
        Operation::Load,
        Operation::Insert,
        Operation::SaveAll,
    ];

    /// As it stands in the ids of figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::ChangeOne => "change_one",
            Operation::ChangeOneWithRevisions => "change_one_with_revisions",
            Operation::VersionCheck => "version_check",
            Operation::ForcedIncrement => "forced_increment",
            Operation::PessimisticLoad => "pessimistic_load",
            Operation::Load => "load",
            Operation::Insert => "insert",
            Operation::SaveAll => "save_all",
        }
    }
}
