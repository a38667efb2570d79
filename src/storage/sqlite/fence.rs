//! What keeps the application's own statements from ending a transaction behind its owner's back.
//!
//! SQLite asks before each commit, and tells of each rollback, whatever made it: a statement, a conflict clause, a trigger, a
//! full disk. After a rollback the connection commits each statement by itself; that is refused as well, because it asks for
//! that, too.

use std::sync::atomic::{AtomicBool, Ordering};

/// Around the transaction of a connection.
#[derive(Debug, Default)]
pub(super) struct Fence {
    shut: AtomicBool,
    hit: AtomicBool,
}

impl Fence {
    /// A transaction has begun that nobody but its owner is to end.
    pub(super) fn shut(&self) {
        self.hit.store(false, Ordering::SeqCst);
        self.shut.store(true, Ordering::SeqCst);
    }

    /// Its owner ends it.
    pub(super) fn open(&self) {
        self.shut.store(false, Ordering::SeqCst);
        self.hit.store(false, Ordering::SeqCst);
    }

    /// Something ends the transaction, or has ended it. Whether it was somebody else.
    pub(super) fn is_hit(&self) -> bool {
        let shut = self.shut.load(Ordering::SeqCst);
        if shut {
            self.hit.store(true, Ordering::SeqCst);
        }
        shut
    }

    /// Whether somebody else has ended it.
    pub(super) fn was_hit(&self) -> bool {
        self.hit.load(Ordering::SeqCst)
    }
}
