//! Prevents the application's own statements from ending a transaction without its owner.
//!
//! SQLite calls a hook before each commit, and after each rollback, for any cause: a statement, a conflict clause, a trigger, a full disk.
//! After a rollback, the connection commits each statement by itself; the commit hook refuses that too.

use std::sync::atomic::{AtomicBool, Ordering};

/// The fence of a connection's transaction.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    shut: AtomicBool,
    hit: AtomicBool,
    /// Whether the transaction has reached its limit: its statements are interrupted.
    over: AtomicBool,
}

impl Fence {
    /// A transaction has begun that only its owner may end.
    pub(crate) fn shut(&self) {
        self.hit.store(false, Ordering::SeqCst);
        // A transaction that was dropped outside a runtime may have reached its limit after its end.
        self.over.store(false, Ordering::SeqCst);
        self.shut.store(true, Ordering::SeqCst);
    }

    /// Its owner ends it.
    pub(crate) fn open(&self) {
        self.shut.store(false, Ordering::SeqCst);
        self.hit.store(false, Ordering::SeqCst);
        self.over.store(false, Ordering::SeqCst);
    }

    /// The transaction has reached its limit.
    pub(crate) fn interrupt(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Whether a statement may go on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::SeqCst)
    }

    /// The transaction is being ended, or has ended. Returns whether someone other than the owner did it.
    pub(crate) fn is_hit(&self) -> bool {
        let shut = self.shut.load(Ordering::SeqCst);
        if shut {
            self.hit.store(true, Ordering::SeqCst);
        }
        shut
    }

    /// Whether it was ended by another cause than its owner.
    pub(crate) fn was_hit(&self) -> bool {
        self.hit.load(Ordering::SeqCst)
    }
}
