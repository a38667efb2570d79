//! Collections of children: `Vec`, `BTreeMap` and `Option` of entities, at any depth.
//!
//! The derives only name the collections; this module maps all of them to rows:
//!
//! | the field | the key of a child's row | its tables |
//! |---|---|---|
//! | `Vec<E>`, and `E` has `#[aggregate(key)]` | those fields | the order is that of the keys |
//! | `Vec<E>`, and `E` has none | its position from 0, in the column that `key = "…"` names | the order is kept |
//! | `BTreeMap<K, E>` | `K`, in the columns that `key = "…"` names | |
//! | `Option<E>` | the fields with `#[aggregate(key)]`, or none | at most one row |
//!
//! The rows of a child of a child start with the key of their parent. So one `select` per table loads any depth, and a
//! save compares row by row, at any depth.
//!
//! A hand-written mapping may use the same collections: the derives call [`Mapping::with_children`], [`Rows::write`] and
//! [`Rows::read`].
//!
//! [`Mapping::with_children`]: crate::aggregate::mapping::Mapping::with_children
//! [`Rows::write`]: crate::aggregate::mapping::Rows::write
//! [`Rows::read`]: crate::aggregate::mapping::Rows::read

mod reader;
mod tables;
mod writer;

use std::collections::BTreeMap;

pub use reader::{ChildReader, Parent};
pub use tables::{ChildTable, Tables};
pub use writer::ChildWriter;

use crate::aggregate::Entity;
use crate::aggregate::mapping::{Column, MappingError, Row};
use crate::aggregate::value::{Kind, RowReader, Value, ValueObject};

/// A collection of children that lives in a table of its own: `Vec<E>`, `BTreeMap<K, E>` or `Option<E>`, where `E` is an
/// [`Entity`].
///
/// ```
/// use std::collections::BTreeMap;
/// use tenure::{Aggregate, Entity};
///
/// #[derive(Aggregate)]
/// #[aggregate(table = "orders")]
/// struct Order {
///     #[aggregate(id)]
///     no: String,
///     #[aggregate(children, table = "order_line", owner = "order_no")]
///     lines: Vec<Line>,
///     #[aggregate(children, table = "order_step", owner = "order_no", key = "position")]
///     steps: Vec<Step>,                                         // in the order of the list
///     #[aggregate(children, table = "order_tag", owner = "order_no", key = "tag")]
///     tags: BTreeMap<String, Step>,
///     #[aggregate(children, table = "order_invoice", owner = "order_no")]
///     invoice: Option<Step>,                                    // at most one row per order
/// }
///
/// #[derive(Entity)]
/// struct Line {
///     #[aggregate(key)]
///     line_no: u32,
///     #[aggregate(children, table = "order_line_part")]         // a child of a child: order_no, line_no, part_no, name
///     parts: Vec<Part>,
/// }
///
/// #[derive(Entity)]
/// struct Part {
///     #[aggregate(key)]
///     part_no: u32,
///     name: String,
/// }
///
/// #[derive(Entity)]
/// struct Step { text: String }
///
/// let [lines, parts, steps, tags, invoice] = &Order::mapping().children[..] else { panic!("five tables") };
/// assert_eq!((lines.key, parts.key, steps.key, tags.key, invoice.key), (1, 2, 1, 1, 0));
/// assert_eq!((&parts.owner[..], parts.columns[0].name.as_str()), (&["order_no".to_owned()][..], "line_no"));
/// assert_eq!((steps.columns[0].name.as_str(), tags.columns[0].name.as_str()), ("position", "tag"));
/// ```
///
/// Implement it for your own collection to use that with `#[aggregate(children, …)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no collection of children",
    label = "not a collection of children",
    note = "use `Vec<T>`, `Option<T>` or `BTreeMap<K, T>`, where `T` derives `Entity`, and `K` is a `ValueObject` and `Ord`"
)]
pub trait Children: Sized {
    /// The type of its elements.
    type Entity: Entity;

    /// The key that the collection provides if its children have none: a map's key, a position.
    type Key;

    /// Number of columns of that key. 0: it provides none.
    const KEY: usize;

    /// Number of its tables: its own, then those of nested collections. Do not override.
    const TABLES: usize = 1 + <Self::Entity as Entity>::TABLES;

    /// Number of columns of the key of its children within their parent. Do not override.
    const OWN_KEY: usize = Self::KEY + <Self::Entity as Entity>::KEY;

    /// The declarations of nested collections. Do not override.
    const NESTED: &'static [Nested] = <Self::Entity as Entity>::NESTED;

    /// The reason that this collection cannot have these children, if there is one. The derives turn it into a compile error.
    const MISTAKE: Option<&'static str> = None;

    /// Adds the columns of the key that it provides, [`KEY`](Self::KEY) of them. Their names are those of the declaration;
    /// their paths follow the child's, as in `seats[12].hall`.
    fn key_columns(columns: &mut Vec<Column>);

    /// Its children, each with the values of the key that the collection provides.
    fn entries(&self) -> impl Iterator<Item = (Row, &Self::Entity)>;

    /// Reads the key that the collection provides.
    ///
    /// # Errors
    /// [`MappingError`] when a value does not fit.
    fn read_key(row: &mut RowReader<'_>) -> Result<Self::Key, MappingError>;

    /// Builds the collection from these children. They are in the order of the database, or, read from a revision, in any.
    ///
    /// # Errors
    /// [`MappingError`] if rows are missing, or there are too many. [`Parent::error`] names their parent.
    fn collect(children: Vec<(Self::Key, Self::Entity)>, parent: &Parent<'_>) -> Result<Self, MappingError>;

    /// Adds its table, then those of nested collections. They are written and read in the same order. Do not override
    /// this, nor the two below.
    ///
    /// # Errors
    /// [`MappingError`] if the declaration does not fit: a wrong number of columns.
    fn add_tables(tables: &mut Tables<'_>, declared: ChildTable<'_>) -> Result<(), MappingError> {
        tables.add::<Self>(declared)
    }

    /// Writes the rows of its children and of their nested collections: the next collection of the parent.
    fn write_rows(&self, rows: &mut ChildWriter<'_>) {
        rows.write(self);
    }

    /// Reads its children and their nested collections: the next collection of the parent.
    ///
    /// # Errors
    /// [`MappingError`] when a row does not fit the type, or two rows have one key.
    fn read_rows(rows: &mut ChildReader<'_, '_>) -> Result<Self, MappingError> {
        rows.read()
    }
}

/// Compile-time checks of the derives: `named` is the number of columns that the declaration names for the key that the
/// collection provides, which has `width`.
///
/// # Panics
/// If the declaration is wrong; at compile time, at the place of the caller.
#[track_caller]
pub const fn check(mistake: Option<&'static str>, width: usize, named: usize) {
    if let Some(mistake) = mistake {
        panic!("{}", mistake);
    }
    match (width, named) {
        (0, 1..) => panic!("remove `key`: these children have a key of their own, or there is at most one of them"),
        (1.., 0) => panic!(
            "which column holds the map's key, or the position in the list? Write `key = \"…\"`; or, in a `Vec`, give \
             the children a key of their own with `#[aggregate(key)]`"
        ),
        _ => assert!(width == named, "`key` needs one column per column of the map's key, separated by commas"),
    }
}

/// A collection inside a child, as its declaration describes it. The derives check it at compile time.
#[derive(Debug, Clone, Copy)]
pub struct Nested {
    /// How many columns `owner` names; 0: as in the parent's table.
    pub named: usize,
    /// How many columns the key of its children has within their parent.
    pub key: usize,
    /// The collections inside its children.
    pub nested: &'static [Nested],
}

/// Compile-time check of the derives: every nested collection names the root's id and its parent's key (`inherited` columns),
/// or the part of that key that is its parent's own. `alone`: the parent's table names no more than its own parent.
///
/// # Panics
/// If a declaration is wrong; at compile time, at the place of the caller.
#[track_caller]
pub const fn check_nested(root: usize, inherited: usize, own: usize, alone: bool, nested: &[Nested]) {
    let mut at = 0;
    while at < nested.len() {
        let child = &nested[at];
        let alone = match child.named {
            0 => alone,
            named => named != root + inherited,
        };
        assert!(
            !alone || child.named == 0 || child.named == own,
            "`owner` of a nested collection names the columns of the root's id and then those of its parent's key, or only those \
             of the key of its parent; here it is another number",
        );
        assert!(
            !alone || own > 0,
            "a nested collection that names only its parent needs a parent with a key; name the root's id in `owner` as well",
        );
        check_nested(root, inherited + child.key, child.key, alone, child.nested);
        at += 1;
    }
}

/// By key if the children have one, or else by position.
impl<E: Entity> Children for Vec<E> {
    type Entity = E;
    type Key = i64;

    const KEY: usize = if E::KEY == 0 { 1 } else { 0 };

    fn key_columns(columns: &mut Vec<Column>) {
        if Self::KEY == 1 {
            columns.push(Column::new("", "", Kind::Integer));
        }
    }

    fn entries(&self) -> impl Iterator<Item = (Row, &E)> {
        let key = |position| if Self::KEY == 1 { vec![Value::Integer(position)] } else { Row::new() };
        (0..).map(key).zip(self)
    }

    fn read_key(row: &mut RowReader<'_>) -> Result<i64, MappingError> {
        if Self::KEY == 1 { i64::read(row) } else { Ok(0) }
    }

    /// A gap is an error: a row was lost, or the first position is not 0. Closing the gap silently would hide a lost row.
    fn collect(mut children: Vec<(i64, E)>, parent: &Parent<'_>) -> Result<Self, MappingError> {
        if Self::KEY == 1 {
            children.sort_by_key(|(position, _)| *position);
            if let Some((expected, (found, _))) = (0..).zip(&children).find(|(expected, (found, _))| expected != found)
            {
                let what = format!("expected position {expected}, found {found}; a list counts from 0, without gaps");
                return Err(parent.error(what));
            }
        }
        Ok(children.into_iter().map(|(_, child)| child).collect())
    }
}

impl<K: ValueObject + Ord, E: Entity> Children for BTreeMap<K, E> {
    type Entity = E;
    type Key = K;

    const KEY: usize = K::WIDTH;
    const MISTAKE: Option<&'static str> = if E::KEY == 0 {
        None
    } else {
        Some(
            "in a map the map's key is the key; remove `#[aggregate(key)]` from the fields of the child, or use a `Vec`",
        )
    };

    fn key_columns(columns: &mut Vec<Column>) {
        K::columns("", "", columns);
    }

    fn entries(&self) -> impl Iterator<Item = (Row, &E)> {
        self.iter().map(|(key, child)| {
            let mut row = Row::with_capacity(K::WIDTH);
            key.write(&mut row);
            (row, child)
        })
    }

    fn read_key(row: &mut RowReader<'_>) -> Result<K, MappingError> {
        K::read(row)
    }

    fn collect(children: Vec<(K, E)>, parent: &Parent<'_>) -> Result<Self, MappingError> {
        let (rows, map) = (children.len(), BTreeMap::from_iter(children));
        // Their values differ, or they would have been refused as duplicate rows; only `Ord` treats them as equal.
        match map.len() == rows {
            true => Ok(map),
            false => Err(parent.error("two rows have keys that are the same for the map")),
        }
    }
}

/// At most one child.
impl<E: Entity> Children for Option<E> {
    type Entity = E;
    type Key = ();

    const KEY: usize = 0;

    fn key_columns(_: &mut Vec<Column>) {}

    fn entries(&self) -> impl Iterator<Item = (Row, &E)> {
        self.iter().map(|child| (Row::new(), child))
    }

    fn read_key(_: &mut RowReader<'_>) -> Result<(), MappingError> {
        Ok(())
    }

    fn collect(mut children: Vec<((), E)>, parent: &Parent<'_>) -> Result<Self, MappingError> {
        match children.len() {
            0 | 1 => Ok(children.pop().map(|((), child)| child)),
            rows => Err(parent.error(format!("there are {rows} rows where there may be at most one"))),
        }
    }
}
