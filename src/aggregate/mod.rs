//! Aggregates: the traits that the derives implement, the mapping of a type to tables, the values of columns,
//! children, and a loaded aggregate. Nothing here depends on locks, transactions or a database.

pub mod children;
pub(crate) mod diff;
pub mod mapping;
pub mod schema;
mod stored;
pub mod value;
pub(crate) mod version;

use std::fmt::Display;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use children::{ChildReader, ChildWriter, Nested, Tables};
use mapping::{Column, Mapping, MappingError, Rows};
use value::{RowReader, Value};

pub use children::Children;
pub(crate) use stored::Stored;
pub use value::ValueObject;
pub use version::{InvalidVersion, Version};

/// A cluster of objects that is changed as one, through its root.
///
/// The domain type contains neither version nor lock; [`Loaded`], which wraps it, carries them. Derive the trait:
///
/// ```
/// use tenure::{Aggregate, Entity, ValueObject};
///
/// #[derive(Aggregate, Debug)]
/// #[aggregate(table = "orders", revisions = 50)]
/// struct Order {
///     #[aggregate(id)]
///     no: String,
///     ship_to: Address,                                         // ship_to_line1, ship_to_zip
///     #[aggregate(children, table = "order_line", owner = "order_no")]
///     lines: Vec<OrderLine>,
/// }
///
/// #[derive(ValueObject, Debug)]
/// struct Address { line1: String, zip: String }
///
/// #[derive(Entity, Debug)]
/// struct OrderLine {
///     #[aggregate(key)]
///     line_no: u32,
///     quantity: u32,
/// }
///
/// assert_eq!(Order::mapping().root.columns[1].name, "ship_to_line1");
/// ```
///
/// A field with `children` is one of the [`Children`] collections: a `Vec`, a `BTreeMap` or an `Option` of
/// an [`Entity`], which may have such fields itself, to any depth. Write by hand what the derive cannot map: see
/// [`mapping`].
pub trait Aggregate: Sized + Send + Sync + 'static {
    /// The type of its identity.
    type Id: AggregateId;

    /// Its identity.
    fn id(&self) -> &Self::Id;

    /// Its mapping; the same on every call.
    fn mapping() -> &'static Mapping;

    /// Its state as rows.
    fn to_rows(&self) -> Rows;

    /// Builds the aggregate with this state.
    ///
    /// # Errors
    /// [`MappingError`] if a row does not fit the type.
    fn from_rows(rows: &Rows) -> Result<Self, MappingError>;
}

/// The identity of an aggregate: a value object with a text form. Its text names the aggregate in lock keys and
/// messages, so two ids must never print alike.
pub trait AggregateId: ValueObject + Display + Clone + PartialEq + Send + Sync + 'static {}

impl<T: ValueObject + Display + Clone + PartialEq + Send + Sync + 'static> AggregateId for T {}

/// A child inside an aggregate: a line of an order, a part of a line. It is stored in one of the
/// [`Children`] collections of
/// the root or of another child.
///
/// Derive it. `#[aggregate(key)]` marks the fields that identify a child within its parent; without such
/// fields, the collection provides the key: a map its own, a list the position. A child may have `children` too:
///
/// ```
/// use std::collections::BTreeMap;
/// use tenure::aggregate::value::Value;
/// use tenure::{Aggregate, Entity};
///
/// #[derive(Aggregate, Debug, PartialEq)]
/// #[aggregate(table = "orders")]
/// struct Order {
///     #[aggregate(id)]
///     no: String,
///     #[aggregate(children, table = "order_line", owner = "order_no")]
///     lines: Vec<Line>,                                         // order_no, line_no
/// }
///
/// #[derive(Entity, Debug, PartialEq)]
/// struct Line {
///     #[aggregate(key)]
///     line_no: u32,
///     #[aggregate(children, table = "order_line_part", key = "serial")]
///     parts: BTreeMap<String, Part>,                            // order_no, line_no, serial, weight
/// }
///
/// #[derive(Entity, Debug, PartialEq)]
/// struct Part { weight: u32 }
///
/// let parts = BTreeMap::from([("X-1".to_owned(), Part { weight: 70 })]);
/// let order = Order { no: "17".into(), lines: vec![Line { line_no: 1, parts }] };
/// let rows = order.to_rows();
/// assert_eq!(rows.children[1], [[Value::Integer(1), Value::Text("X-1".into()), Value::Integer(70)]]);
/// assert_eq!(Order::from_rows(&rows)?, order);
/// # Ok::<(), tenure::aggregate::mapping::MappingError>(())
/// ```
///
/// Implement it by hand for types that the derive cannot map, for instance an enum with data. See [`children`].
///
/// [`children`]: crate::aggregate::children
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no child of an aggregate",
    label = "not an `Entity`",
    note = "derive `Entity` for it"
)]
pub trait Entity: Sized {
    /// Number of columns of its own key. 0: it has none, and the collection provides one if there may be several.
    const KEY: usize;

    /// Number of tables of its collections, including nested ones.
    const TABLES: usize = 0;

    /// The declarations of its collections, for the check of the aggregate that contains it: the derives compute it.
    const NESTED: &'static [Nested] = &[];

    /// Adds its columns, its key first. Their paths are relative to the child.
    fn columns(columns: &mut Vec<Column>);

    /// Adds the tables of its collections.
    ///
    /// # Errors
    /// [`MappingError`] if a declaration does not fit.
    fn tables(tables: &mut Tables<'_>) -> Result<(), MappingError> {
        let _ = tables;
        Ok(())
    }

    /// Adds its values.
    fn write(&self, row: &mut Vec<Value>);

    /// Writes its collections, in the order of [`tables`](Self::tables).
    fn write_children(&self, children: &mut ChildWriter<'_>) {
        let _ = children;
    }

    /// Reads it back: its values, and its collections in the order of [`tables`](Self::tables).
    ///
    /// # Errors
    /// [`MappingError`] if a value does not fit.
    fn read(row: &mut RowReader<'_>, children: &mut ChildReader<'_, '_>) -> Result<Self, MappingError>;
}

/// The values of an id, in the order of the root's key columns.
pub(crate) fn id_values<I: AggregateId>(id: &I) -> Vec<Value> {
    let mut values = Vec::with_capacity(I::WIDTH);
    id.write(&mut values);
    values
}

/// An aggregate with the version and the state that it was loaded with.
///
/// It dereferences to the aggregate, so domain code need not know it. Saving compares the current state with the loaded
/// one, and writes the difference.
#[derive(Debug, Clone)]
pub struct Loaded<A> {
    aggregate: A,
    pub(crate) version: Version,
    pub(crate) opened: Arc<Rows>,
    pub(crate) force_increment: bool,
}

impl<A: Aggregate> Loaded<A> {
    pub(crate) fn new(rows: Arc<Rows>, version: Version) -> Result<Self, MappingError> {
        Ok(Loaded { aggregate: A::from_rows(&rows)?, version, opened: rows, force_increment: false })
    }

    /// The version that it was loaded with, or saved as since.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether a form that was opened at `version` still shows the latest state.
    pub fn matches_version(&self, version: Version) -> bool {
        self.version == version
    }

    /// The aggregate itself, without its version.
    pub fn into_inner(self) -> A {
        self.aggregate
    }

    /// The state that it was loaded with.
    pub(crate) fn stored(&self) -> Stored {
        Stored { version: self.version, rows: Arc::clone(&self.opened) }
    }

    pub(crate) fn saved(&mut self, version: Version, rows: Arc<Rows>) {
        self.version = version;
        self.opened = rows;
        self.force_increment = false;
    }
}

impl<A> Deref for Loaded<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.aggregate
    }
}

impl<A> DerefMut for Loaded<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.aggregate
    }
}
