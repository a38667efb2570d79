//! The use cases of the shop: one function per use case, one unit of work each.
//!
//! A use case checks the permission, names the locks and versions it relies on, and runs one command of the domain. The
//! pages decide how a refusal is presented.

mod browse;
mod change_order;
mod edit_order;
mod first_edit;
mod forms;
mod note;
mod now;
mod passwords;
mod save_both;
mod sessions;
mod sign_in;
mod standing;
mod stock;
mod supervise;

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Database, LockManager, LockPolicy, Owner, Repository, VersionConflict,
    clock::ManualClock,
    error::{BreakError, LeaseError, ListError, LockError, UpdateError},
    lease::Acquire,
};
use tenure_web::browser_key::ServerSecret;

use crate::clock::Clock;
use crate::domain::{Invalid, Member, MemberId, Note, Order, OrderError, OrderNo, Product, Role};
use crate::gate::Gate;

pub use crate::gate::Person;
pub use browse::{Only, OrderFilter, OrderPage, OrderRow, OrderView};
pub use edit_order::{Editing, WholeForm};
pub use first_edit::ShippingForm;
pub use forms::{Doing, Kept, Once, SavedForm, UnsavedText};
pub use note::{EditingNote, NoteBefore};
pub(crate) use now::Live;
pub use now::{Known, Leases, NoteNow, OrderNow};
pub(crate) use passwords::hashed;
pub use passwords::{MemberRefusal, PasswordChange};
pub use save_both::{Changes, SavedBoth};
pub use sessions::{Current, NewSession, Session, SessionId};
pub use sign_in::{Knock, SignIn};
pub(crate) use standing::problem;
pub use stock::{ProductRow, Short};
pub use supervise::HeldPage;

/// The shop: its aggregates and their locks. Clones share them.
#[derive(Debug, Clone)]
pub struct Shop {
    pub(crate) db: Database,
    /// The same database, whose commits leave no row: for what may be lost with the answer.
    pub(crate) unresolved: Database,
    pub(crate) orders: Repository<Order>,
    pub(crate) notes: Repository<Note>,
    pub(crate) members: Repository<Member>,
    pub(crate) products: Repository<Product>,
    pub(crate) locks: LockManager,
    /// Whether the members of the demo may sign in, with their public password.
    pub(crate) has_demo: bool,
    pub(crate) clock: Clock,
    pub(crate) gate: Arc<Gate>,
    /// What open pages are told.
    live: Live,
    /// With which the keys of browsers are derived from their cookies.
    pub(crate) secret: ServerSecret,
}

/// The time without input after which a form loses its lock, though it is open: long enough for a telephone call about the order.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// The lock policy of orders. Most people who open the delivery address only read.
pub(crate) fn order_policy() -> LockPolicy {
    unattended(LockPolicy::exclusive().acquiring(Acquire::OnFirstEdit))
}

/// The lock policy of notes. Two operators may write the note of an order at the same time; both see that.
pub(crate) fn note_policy() -> LockPolicy {
    unattended(LockPolicy::advisory())
}

fn unattended(policy: LockPolicy) -> LockPolicy {
    policy.idle_limit(IDLE).expect("fifteen minutes are between the time to live and the absolute limit")
}

impl Shop {
    /// The shop in this database, which already has the shop's tables. Its secret is new: [`open`](crate::open) reads the one of the database.
    pub fn new(db: Database) -> Self {
        let locks = LockManager::new(&db).with_policy("Order", order_policy()).with_policy("Note", note_policy());
        Shop {
            orders: Repository::new(&db),
            notes: Repository::new(&db),
            members: Repository::new(&db),
            products: Repository::new(&db),
            live: Live::new(&db, &locks, now::EVERY),
            locks,
            has_demo: false,
            clock: Clock::default(),
            gate: Arc::new(Gate::new()),
            secret: ServerSecret::random(),
            unresolved: db.clone(),
            db,
        }
    }

    /// Sets the clock of sessions and rate limits: for tests.
    pub fn clock(self, clock: ManualClock) -> Self {
        Shop { clock: Clock::Given(clock), ..self }
    }

    /// Whether the members of the demo may sign in.
    pub fn has_demo(&self) -> bool {
        self.has_demo
    }

    /// Sets the maximum age of what open pages are told: for tests that ask at once.
    pub fn live_every(self, every: Duration) -> Self {
        Shop { live: Live::new(&self.db, &self.locks, every), ..self }
    }

    /// Counts a lock of this member against the rate limit. Each is a row of history that is kept for a year, so the limit is
    /// what one person can do by hand.
    ///
    /// # Errors
    /// [`Refusal::TooManyLocks`]
    pub(crate) fn counts_lock(&self, actor: &Member) -> Result<(), Refusal> {
        let admitted = self.gate.admit_lock(actor.id().as_str(), self.clock.now());
        admitted.map_err(|wait| Refusal::TooManyLocks { wait })
    }

    /// Sets another lock policy for orders.
    pub fn with_order_policy(self, policy: LockPolicy) -> Self {
        let locks = self.locks.with_policy("Order", policy);
        Shop { live: Live::new(&self.db, &locks, self.live.every), locks, ..self }
    }

    /// The database, for tests and tools.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// The locks, for the heartbeat endpoints.
    pub fn locks(&self) -> &LockManager {
        &self.locks
    }
}

/// The reason that a use case failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The member lacks the role.
    #[error("only for {needs:?}s")]
    NotAllowed {
        /// The required role.
        needs: Role,
    },
    /// The order's own rules refuse it.
    #[error(transparent)]
    Order(OrderError),
    /// The note is invalid.
    #[error(transparent)]
    Note(Invalid),
    /// The delivery is invalid.
    #[error(transparent)]
    Stock(Invalid),
    /// The transaction was refused: not found, conflict, locked, lock lost, or the database failed.
    #[error(transparent)]
    Failed(#[from] tenure::Error),
    /// The lock could not be acquired.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The lease is gone.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The lease of another owner could not be ended.
    #[error(transparent)]
    Break(#[from] BreakError),
    /// This member has opened too many forms in a short time.
    #[error("too many locks in a short time; try again in {} s", wait.as_secs() + 1)]
    TooManyLocks {
        /// How long until the next one.
        wait: Duration,
    },
    /// The leases could not be listed.
    #[error(transparent)]
    List(#[from] ListError),
}

impl Refusal {
    /// Whether the database failed: then the outcome is unknown, and the request may be repeated.
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

    /// Whether the request itself was malformed: no page of the shop sends it.
    pub fn is_about_the_request(&self) -> bool {
        matches!(self, Refusal::Failed(tenure::Error::VersionTokenMismatch { .. }))
    }

    /// The conflict of versions, if it is one.
    pub fn of_version(&self) -> Option<&VersionConflict> {
        match self {
            Refusal::Failed(
                tenure::Error::VersionConflict(conflict) | tenure::Error::OptimisticLockingFailure(conflict),
            ) => Some(conflict),
            _ => None,
        }
    }

    /// The order's own refusal, if any.
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

    /// Customers may see and change their own orders; operators all of them.
    fn may_see(&self, order: &Order) -> bool {
        self.may_see_orders_of(order.orderer())
    }

    fn may_see_orders_of(&self, orderer: &MemberId) -> bool {
        self.is_operator() || orderer == self.id()
    }
}

/// For other customers an order does not exist.
fn no_such_order(no: &OrderNo) -> Refusal {
    Refusal::Failed(tenure::Error::NotFound { aggregate: "Order".into(), id: no.to_string() })
}
