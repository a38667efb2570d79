//! What people do in the shop: one function per use case, one unit of work each.
//!
//! A use case decides who may do it, names the locks and versions it relies on, and runs one command of the domain. How
//! a refusal is told to a person is for the pages.

mod browse;
mod change_order;
mod edit_order;
mod first_edit;
mod forms;
mod note;
mod passwords;
mod save_both;
mod sessions;
mod sign_in;
mod standing;
mod supervise;

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Database, LockManager, LockPolicy, Owner, Repository,
    clock::ManualClock,
    error::{BreakError, LeaseError, ListError, LockError, UpdateError},
    lease::Acquire,
};

use crate::clock::Clock;
use crate::domain::{Invalid, Member, Note, Order, OrderError, OrderNo, Role};
use crate::gate::Gate;

pub use browse::{OrderFilter, OrderPage, OrderRow, OrderView};
pub use edit_order::{Editing, WholeForm};
pub use first_edit::ShippingForm;
pub use forms::{Doing, Kept, Once, SavedForm};
pub use note::EditingNote;
pub(crate) use passwords::hashed;
pub use passwords::{MemberRefusal, PasswordChange};
pub use save_both::{Changes, SavedBoth};
pub use sessions::{Current, NewSession, Session, SessionId};
pub use sign_in::{Knock, SignIn};
pub use supervise::HeldPage;

/// The shop: its aggregates and their locks. Clones are the same shop.
#[derive(Debug, Clone)]
pub struct Shop {
    pub(crate) db: Database,
    pub(crate) orders: Repository<Order>,
    pub(crate) notes: Repository<Note>,
    pub(crate) members: Repository<Member>,
    pub(crate) locks: LockManager,
    /// Whether the members of the demo may sign in, with the password that everybody knows.
    pub(crate) has_demo: bool,
    pub(crate) clock: Clock,
    pub(crate) gate: Arc<Gate>,
}

/// How orders are locked. Most people who open where an order goes only look.
pub(crate) fn order_policy() -> LockPolicy {
    LockPolicy::exclusive().acquiring(Acquire::OnFirstEdit)
}

/// How notes are locked. Two operators may write the note of an order at the same time; both see that.
pub(crate) fn note_policy() -> LockPolicy {
    LockPolicy::advisory()
}

impl Shop {
    /// The shop in this database, which has the shop's tables already.
    pub fn new(db: Database) -> Self {
        Shop {
            orders: Repository::new(&db),
            notes: Repository::new(&db),
            members: Repository::new(&db),
            locks: LockManager::new(&db).with_policy("Order", order_policy()).with_policy("Note", note_policy()),
            has_demo: false,
            clock: Clock::default(),
            gate: Arc::new(Gate::new()),
            db,
        }
    }

    /// The shop whose sessions and limits go by this clock: for tests.
    pub fn clock(self, clock: ManualClock) -> Self {
        Shop { clock: Clock::Given(clock), ..self }
    }

    /// Whether the members of the demo may sign in.
    pub fn has_demo(&self) -> bool {
        self.has_demo
    }

    /// Counts a lock that this member takes. Each is a row of history that is kept for a year, so nobody takes more than
    /// hands can do.
    ///
    /// # Errors
    /// [`Refusal::TooManyLocks`]
    pub(crate) fn counts_lock(&self, actor: &Member) -> Result<(), Refusal> {
        let admitted = self.gate.admit_lock(actor.id().as_str(), self.clock.now());
        admitted.map_err(|wait| Refusal::TooManyLocks { wait })
    }

    /// The shop with other locks on its orders.
    pub fn with_order_policy(self, policy: LockPolicy) -> Self {
        Shop { locks: self.locks.with_policy("Order", policy), ..self }
    }

    /// The database, for tests and tools.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// The locks, for the endpoints that open forms beat on.
    pub fn locks(&self) -> &LockManager {
        &self.locks
    }
}

/// Why a use case did not happen. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// This is for others to do.
    #[error("only for {needs:?}s")]
    NotAllowed {
        /// Whose business it is.
        needs: Role,
    },
    /// The order's own rules are against it.
    #[error(transparent)]
    Order(OrderError),
    /// The note cannot be like that.
    #[error(transparent)]
    Note(Invalid),
    /// The transaction was refused: not found, conflict, locked, lock lost, or the database failed.
    #[error(transparent)]
    Failed(#[from] tenure::Error),
    /// The lock was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The lease is gone.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The lease of somebody else could not be ended.
    #[error(transparent)]
    Break(#[from] BreakError),
    /// This member has opened too many forms in a short time.
    #[error("too many locks in a short time; try again in {} s", wait.as_secs() + 1)]
    TooManyLocks {
        /// How long until the next one.
        wait: Duration,
    },
    /// What is being edited could not be listed.
    #[error(transparent)]
    List(#[from] ListError),
}

impl Refusal {
    /// Whether the database failed: then nothing is known of the order, and the same may be tried again.
    pub fn is_of_database(&self) -> bool {
        matches!(
            self,
            Refusal::Failed(tenure::Error::Database(_))
                | Refusal::Lock(LockError::Database(_))
                | Refusal::Lease(LeaseError::Database(_))
                | Refusal::Break(BreakError::Database(_))
                | Refusal::List(ListError::Database(_))
        )
    }

    /// Whether the request was wrong in itself: no page of ours sends it.
    pub fn is_about_the_request(&self) -> bool {
        matches!(self, Refusal::Failed(tenure::Error::VersionTokenMismatch { .. }))
    }

    /// The order's own refusal, if it is one.
    pub fn of_order(&self) -> Option<&OrderError> {
        match self {
            Refusal::Order(error) => Some(error),
            _ => None,
        }
    }
}

impl From<tenure::error::DatabaseError> for Refusal {
    fn from(error: tenure::error::DatabaseError) -> Self {
        Refusal::Failed(error.into())
    }
}

impl From<UpdateError<OrderError>> for Refusal {
    fn from(error: UpdateError<OrderError>) -> Self {
        match error {
            UpdateError::Refused(error) => Refusal::Order(error),
            UpdateError::Failed(error) => Refusal::Failed(error),
        }
    }
}

impl Member {
    /// The member as the owner of locks and the author of changes.
    pub fn owner(&self) -> Owner {
        Owner::new(self.id().as_str(), self.name())
    }

    fn must_be(&self, needs: Role) -> Result<(), Refusal> {
        if self.role() == needs { Ok(()) } else { Err(Refusal::NotAllowed { needs }) }
    }

    /// Customers see and change their own orders; operators all of them.
    fn may_see(&self, order: &Order) -> bool {
        self.is_operator() || order.orderer() == self.id()
    }
}

/// To whom an order does not belong, it does not exist.
fn no_such_order(no: &OrderNo) -> Refusal {
    Refusal::Failed(tenure::Error::NotFound { aggregate: "Order".into(), id: no.to_string() })
}
