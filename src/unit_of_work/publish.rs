//! Publishes recorded events inside the transaction that saves their aggregate.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;

use crate::aggregate::events::RecordsEvents;
use crate::aggregate::{Aggregate, Loaded};
use crate::error::{DatabaseError, Error};
use crate::unit_of_work::transaction::Transaction;

/// The destination of an aggregate's events: an outbox table, an audit table. See
/// [`Repository::publishing`](crate::Repository::publishing).
pub trait PublishEvents<A: RecordsEvents>: Send + Sync + 'static {
    /// Stores the events in the transaction that has just written the aggregate: they are committed together, or not at all. A deleted
    /// aggregate is passed in its last state. Do only things that a rollback undoes: a retried transaction calls it again.
    ///
    /// # Errors
    /// Any error: it prevents the commit.
    fn publish(
        &self,
        tx: &mut Transaction,
        aggregate: &Loaded<A>,
        events: &[A::Event],
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The same for a repository, whose aggregates may record no events.
#[async_trait]
pub(super) trait Publisher<A: Aggregate>: Send + Sync {
    /// Publishes the recorded events. They stay recorded until [`forget`](Self::forget).
    async fn publish(&self, tx: &mut Transaction, aggregate: &mut Loaded<A>) -> Result<(), Error>;

    /// Empties the list.
    fn forget(&self, aggregate: &mut A);

    /// Moves the recorded events to another state of the same aggregate.
    fn carry(&self, from: &mut A, to: &mut A);
}

/// A publisher for an aggregate that records events.
pub(super) struct To<P>(pub(super) P);

#[async_trait]
impl<A: RecordsEvents, P: PublishEvents<A>> Publisher<A> for To<P> {
    async fn publish(&self, tx: &mut Transaction, aggregate: &mut Loaded<A>) -> Result<(), Error> {
        let events = aggregate.events().take();
        if events.is_empty() {
            return Ok(());
        }
        // Until it has succeeded, nothing can be committed: the save without its events would be incomplete.
        tx.unpublished = Some(DatabaseError::Cancelled);
        let published = self.0.publish(tx, aggregate, &events).await;
        tx.unpublished = published.as_ref().err().map(|error| match error {
            Error::Database(error) => error.clone(),
            error => DatabaseError::other(error.clone()),
        });
        aggregate.events().put_back(events);
        published
    }

    fn forget(&self, aggregate: &mut A) {
        aggregate.events().take();
    }

    fn carry(&self, from: &mut A, to: &mut A) {
        to.events().put_back(from.events().take());
    }
}

/// The form that a repository stores.
pub(super) type AnyPublisher<A> = Option<Arc<dyn Publisher<A>>>;
