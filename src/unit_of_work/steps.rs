//! Steps of the application in the saving transaction of an update.
//!
//! A step gets the transaction and the aggregate by value, as [`Lent`] handles: a closure that borrows them makes a future that the
//! compiler does not accept as `Send` in a handler of axum. Dropping the handles returns the values.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use crate::aggregate::{Aggregate, Loaded};
use crate::error::{DatabaseError, UpdateError};
use crate::unit_of_work::transaction::Transaction;

/// The transaction, or the saved aggregate, lent to a step of [`Update::also`](crate::unit_of_work::Update::also) until it ends. It
/// dereferences to that. Do not keep it: a step that ends without returning one fails, and nothing is saved.
pub struct Lent<T> {
    /// `None` only while it is dropped.
    value: Option<T>,
    owner: Arc<Mutex<Option<T>>>,
}

impl<T> Lent<T> {
    /// Lends the value; returns the handle and the place to which it returns.
    fn out(value: T) -> (Self, Returned<T>) {
        let owner = Arc::new(Mutex::new(None));
        (Lent { value: Some(value), owner: Arc::clone(&owner) }, Returned(owner))
    }
}

/// The place to which a value returns.
struct Returned<T>(Arc<Mutex<Option<T>>>);

impl<T> Returned<T> {
    /// The value, if it was returned.
    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = self.value.take();
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until it is dropped")
    }
}

/// The aggregate was saved before the step, so a step only reads it.
impl DerefMut for Lent<Transaction> {
    fn deref_mut(&mut self) -> &mut Transaction {
        self.value.as_mut().expect("it is there until it is dropped")
    }
}

impl<T: fmt::Debug> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A step.
type Step<'a, A, E> = Box<dyn Fn(Lent<Transaction>, Lent<Loaded<A>>) -> StepFuture<'a, E> + Send + Sync + 'a>;

/// The future of a step.
type StepFuture<'a, E> = Pin<Box<dyn Future<Output = Result<(), UpdateError<E>>> + Send + 'a>>;

/// The steps of an update whose command refuses with `E`: [`NoSteps`] or [`Also`]. For functions that take an update with or
/// without steps, and add one:
///
/// ```
/// use tenure::{Aggregate, unit_of_work::{Also, Steps, Update}};
///
/// fn noted<'u, A: Aggregate, E: 'u>(update: Update<'u, A, impl Steps<'u, A, E>>) -> Update<'u, A, Also<'u, A, E>> {
///     update.also(|mut tx, saved| async move { /* insert a row */ Ok(()) })
/// }
/// ```
pub trait Steps<'a, A: Aggregate, E>: sealed::Steps<'a, A, E> {}

mod sealed {
    use super::{Aggregate, Step};

    /// The operations of the update on its steps.
    pub trait Steps<'a, A: Aggregate, E>: Send + Sync {
        fn list(&self) -> &[Step<'a, A, E>];
        fn into_list(self) -> Vec<Step<'a, A, E>>;
    }
}

/// No steps: the initial state of an update.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSteps;

/// The steps that were added to an update, in their order.
pub struct Also<'a, A: Aggregate, E>(pub(super) Vec<Step<'a, A, E>>);

impl<A: Aggregate, E> fmt::Debug for Also<'_, A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Also").field(&self.0.len()).finish()
    }
}

impl<'a, A: Aggregate, E> Steps<'a, A, E> for NoSteps {}
impl<'a, A: Aggregate, E> Steps<'a, A, E> for Also<'a, A, E> {}

impl<'a, A: Aggregate, E> sealed::Steps<'a, A, E> for NoSteps {
    fn list(&self) -> &[Step<'a, A, E>] {
        &[]
    }

    fn into_list(self) -> Vec<Step<'a, A, E>> {
        Vec::new()
    }
}

impl<'a, A: Aggregate, E> sealed::Steps<'a, A, E> for Also<'a, A, E> {
    fn list(&self) -> &[Step<'a, A, E>] {
        &self.0
    }

    fn into_list(self) -> Vec<Step<'a, A, E>> {
        self.0
    }
}

/// Runs the steps one after the other. If one fails, the transaction is dropped, which rolls it back.
pub(super) async fn run<'a, A: Aggregate, E>(
    steps: &impl Steps<'a, A, E>,
    mut tx: Transaction,
    mut saved: Loaded<A>,
) -> Result<(Transaction, Loaded<A>), UpdateError<E>> {
    for step in steps.list() {
        let ((lent_tx, owned_tx), (lent_saved, owned_saved)) = (Lent::out(tx), Lent::out(saved));
        step(lent_tx, lent_saved).await?;
        (tx, saved) = owned_tx.take().zip(owned_saved.take()).ok_or(DatabaseError::TransactionEnded(KEPT))?;
    }
    Ok((tx, saved))
}

const KEPT: &str =
    "a step of `Update::also` ended and kept the transaction, or the aggregate, that it was lent; nothing was saved";
