//! Events that the domain code of an aggregate records, until its save publishes them.

use std::fmt;

use crate::aggregate::mapping::{Column, MappingError};
use crate::aggregate::value::{RowReader, Value};
use crate::aggregate::{Aggregate, ValueObject};

/// The events that an aggregate recorded since it was loaded, in a field without a column. A save of a [`Repository`](crate::Repository)
/// with [`publishing`](crate::Repository::publishing) passes them to the application inside its transaction, and empties the list.
///
/// ```
/// use tenure::{Aggregate, aggregate::{Events, RecordsEvents}};
///
/// #[derive(Aggregate, Debug)]
/// #[aggregate(table = "orders")]
/// struct Order {
///     #[aggregate(id)]
///     no: String,
///     shipped: bool,
///     events: Events<OrderEvent>,
/// }
///
/// #[derive(Debug)]
/// enum OrderEvent { Shipped { no: String } }
///
/// impl Order {
///     fn ship(&mut self) {
///         self.shipped = true;
///         self.events.record(OrderEvent::Shipped { no: self.no.clone() });
///     }
/// }
///
/// impl RecordsEvents for Order {
///     type Event = OrderEvent;
///
///     fn events(&mut self) -> &mut Events<OrderEvent> {
///         &mut self.events
///     }
/// }
///
/// assert_eq!(Order::mapping().root.columns.len(), 2);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Events<E>(Vec<E>);

impl<E> Events<E> {
    /// None yet.
    pub const fn new() -> Self {
        Events(Vec::new())
    }

    /// Adds one.
    pub fn record(&mut self, event: E) {
        self.0.push(event);
    }

    /// The recorded events, in order.
    pub fn as_slice(&self) -> &[E] {
        &self.0
    }

    /// Removes and returns the events, for an application that stores them itself before the commit.
    pub fn take(&mut self) -> Vec<E> {
        std::mem::take(&mut self.0)
    }

    /// Puts the events back, before those that were recorded since they were taken.
    pub(crate) fn put_back(&mut self, mut taken: Vec<E>) {
        taken.append(&mut self.0);
        self.0 = taken;
    }
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: fmt::Debug> fmt::Debug for Events<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// Events are not stored with the aggregate: a loaded aggregate has none.
impl<E> ValueObject for Events<E> {
    const WIDTH: usize = 0;

    fn columns(_: &str, _: &str, _: &mut Vec<Column>) {}

    fn write(&self, _: &mut Vec<Value>) {}

    fn write_null(_: &mut Vec<Value>) {}

    fn read(_: &mut RowReader<'_>) -> Result<Self, MappingError> {
        Ok(Self::new())
    }
}

/// An aggregate whose domain code records [`Events`].
pub trait RecordsEvents: Aggregate {
    /// An event, in the terms of the domain.
    type Event: Send + Sync + 'static;

    /// The events that were recorded since it was loaded.
    fn events(&mut self) -> &mut Events<Self::Event>;
}
