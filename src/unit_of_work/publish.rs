//! Handing recorded events to the application, inside the transaction that saves their aggregate.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;

use crate::aggregate::events::RecordsEvents;
use crate::aggregate::{Aggregate, Loaded};
use crate::error::{DatabaseError, Error};
use crate::unit_of_work::transaction::Transaction;

/// Where the events of an aggregate go: an outbox table, an audit table. See [`Repository::publishing`](crate::Repository::publishing).
pub trait PublishEvents<A: RecordsEvents>: Send + Sync + 'static {
    /// Stores the events in the transaction that has just written the aggregate: they are committed together, or not at all. An
    /// aggregate that was deleted is given as it was. Do nothing here that a rollback does not undo: a transaction that is run again
    /// calls it again.
    ///
    /// # Errors
    /// Any: nothing of the transaction can be committed then.
    fn publish(
        &self,
        tx: &mut Transaction,
        aggregate: &Loaded<A>,
        events: &[A::Event],
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The same for a repository, which does not know whether its aggregates record any.
#[async_trait]
pub(super) trait Publisher<A: Aggregate>: Send + Sync {
    /// Hands over what was recorded. It stays recorded until it is [`forgotten`](Self::forget).
    async fn publish(&self, tx: &mut Transaction, aggregate: &mut Loaded<A>) -> Result<(), Error>;

    /// Empties the list.
    fn forget(&self, aggregate: &mut A);

    /// Moves what was recorded to another state of the same aggregate.
    fn carry(&self, from: &mut A, to: &mut A);
}

/// A publisher of events that are recorded.
pub(super) struct To<P>(pub(super) P);

#[async_trait]
impl<A: RecordsEvents, P: PublishEvents<A>> Publisher<A> for To<P> {
    async fn publish(&self, tx: &mut Transaction, aggregate: &mut Loaded<A>) -> Result<(), Error> {
        let events = aggregate.events().take();
        if events.is_empty() {
            return Ok(());
        }
        // Until it has ended well, nothing can be committed: the save without its events is half of the work.
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

/// As a repository keeps it.
pub(super) type AnyPublisher<A> = Option<Arc<dyn Publisher<A>>>;
