//! The tables and columns of an aggregate, and its state as rows.
//!
//! A [`Mapping`] is data: a root table, and a table per child collection. `#[derive(Aggregate)]` generates it; a hand-written
//! mapping has the same guarantees. It is not an ORM: it maps whole aggregates by identity, nothing more.
//!
//! # By hand
//!
//! Write by hand what the derive cannot map: the tables, and the state as rows and back. In this example a line is an enum with
//! data, and only a set has parts. If only a child is special and its collection is not, implement [`Entity`](crate::Entity) by
//! hand and keep the rest; [`children`](crate::aggregate::children) has the functions that the derives use.
//!
//! ```
//! use std::sync::LazyLock;
//!
//! use tenure::Aggregate;
//! use tenure::aggregate::mapping::{Column, Mapping, MappingError, Row, Rows, Table};
//! use tenure::aggregate::value::{Kind, Value};
//!
//! #[derive(Debug, PartialEq)]
//! struct Order { no: i64, lines: Vec<Line> }
//!
//! #[derive(Debug, PartialEq)]
//! enum Line {
//!     Single(String),
//!     Set(Vec<String>),
//! }
//!
//! /// Rows of children start with the keys of their parents, then comes their own key: here the positions.
//! static MAPPING: LazyLock<Mapping> = LazyLock::new(|| {
//!     let column = |name: &str, kind| Column::new(name, name, kind);
//!     let (line_no, part_no) = (column("line_no", Kind::Integer), column("part_no", Kind::Integer));
//!     let product = column("product", Kind::Text);
//!     let table = |name: &str, path: &str, parent, columns: Vec<Column>, key| {
//!         let owner = if path.is_empty() { vec![] } else { vec!["order_no".into()] };
//!         Table { name: name.into(), path: path.into(), owner, parent, columns, key }
//!     };
//!     let a_product_unless_a_set = Column { nullable: true, ..product.clone() };
//!     let mapping = Mapping {
//!         name: "Order".into(),
//!         root: table("orders", "", None, vec![column("no", Kind::Integer)], 1),
//!         version: "version".into(),
//!         children: vec![
//!             table("order_line", "lines", None, vec![line_no.clone(), a_product_unless_a_set], 1),
//!             table("order_line_part", "parts", Some(0), vec![line_no, part_no, product], 2),
//!         ],
//!         revisions: 0,
//!         generated: false,
//!         audit: None,
//!     };
//!     mapping.validate().expect("the mapping is valid");
//!     mapping
//! });
//!
//! impl Aggregate for Order {
//!     type Id = i64;
//!
//!     fn id(&self) -> &i64 { &self.no }
//!
//!     fn mapping() -> &'static Mapping { &MAPPING }
//!
//!     fn to_rows(&self) -> Rows {
//!         let (mut lines, mut parts) = (vec![], vec![]);
//!         for (line_no, line) in (1..).zip(&self.lines) {
//!             let product = match line {
//!                 Line::Single(product) => Value::Text(product.clone()),
//!                 Line::Set(products) => {
//!                     let part = |(part_no, product): (i64, &String)| -> Row {
//!                         vec![Value::Integer(line_no), Value::Integer(part_no), Value::Text(product.clone())]
//!                     };
//!                     parts.extend((1..).zip(products).map(part));
//!                     Value::Null(Kind::Text)
//!                 }
//!             };
//!             lines.push(vec![Value::Integer(line_no), product]);
//!         }
//!         Rows { root: vec![Value::Integer(self.no)], children: vec![lines, parts] }
//!     }
//!
//!     /// Rows from the database come in the order of their keys. A part without its line must be detected here.
//!     fn from_rows(rows: &Rows) -> Result<Self, MappingError> {
//!         let misfit = |table: &str| Err(MappingError::new(table, "", "the row is no line of an order"));
//!         let [Value::Integer(no)] = rows.root[..] else { return misfit("orders") };
//!         let (mut lines, mut parts) = (vec![], rows.children[1].iter().peekable());
//!         for line in &rows.children[0] {
//!             lines.push(match &line[..] {
//!                 [_, Value::Text(product)] => Line::Single(product.clone()),
//!                 [line_no, Value::Null(_)] => {
//!                     let mut products = vec![];
//!                     while let Some(part) = parts.next_if(|part| part[0] == *line_no) {
//!                         let Value::Text(product) = &part[2] else { return misfit("order_line_part") };
//!                         products.push(product.clone());
//!                     }
//!                     Line::Set(products)
//!                 }
//!                 _ => return misfit("order_line"),
//!             });
//!         }
//!         if parts.next().is_some() { misfit("order_line_part") } else { Ok(Order { no, lines }) }
//!     }
//! }
//!
//! let set = Line::Set(vec!["cup".into(), "saucer".into()]);
//! let order = Order { no: 17, lines: vec![Line::Single("tea".into()), set] };
//! assert_eq!(Order::from_rows(&order.to_rows())?, order);
//! # Ok::<(), MappingError>(())
//! ```

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::aggregate::value::{Kind, Value, hex};

/// One column, and its field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The column's name in the database.
    pub name: String,
    /// The field's path in messages, as in `shipping.address.line1`.
    pub path: String,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// For a column of an optional value with several columns: the path of the whole value. A part of it cannot exist alone.
    pub part_of: Option<String>,
    /// On PostgreSQL the type that written values are cast to, where a text is not enough: an enum, `citext`, or the array
    /// `text[]` of a column of the kind [`Json`](Kind::Json). Other databases ignore it.
    pub sql_type: Option<String>,
    /// Whether it does not count for the version: its change alone raises no version, is recorded nowhere, and conflicts with nothing; the
    /// last write wins. For a counter or a `last_seen`. Only a column of the root that is not in its id can be unversioned, and all columns of
    /// its field are (their paths begin alike), because they are written together.
    #[serde(default)]
    pub unversioned: bool,
}

impl Column {
    /// A column that is never null.
    pub fn new(name: impl Into<String>, path: impl Into<String>, kind: Kind) -> Self {
        let (name, path, nullable, unversioned) = (name.into(), path.into(), false, false);
        Column { name, path, kind, nullable, part_of: None, sql_type: None, unversioned }
    }

    /// The field of the aggregate that it belongs to: the beginning of its path.
    pub(crate) fn field(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// Whether it is an array on PostgreSQL.
    pub(crate) fn is_array(&self) -> bool {
        self.sql_type.as_ref().is_some_and(|name| name.ends_with("[]"))
    }
}

/// A table: the root's, or that of one child collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The table's name, behind that of its schema if it has one: `orders` or `sales.orders`.
    pub name: String,
    /// The field's path in messages: empty for the root, `lines` for the lines of an order. For a nested child it is
    /// relative to its parent: `parts`, shown as `lines[2].parts[7]`.
    pub path: String,
    /// For a child: the columns that refer to its root, in the order of the root's id columns. They are not in
    /// `columns`, because the child does not carry them. Empty for the root, and for a nested child whose table names only
    /// its parent: that table has, of the parent's key, the columns that identify the parent within its own parent. They have
    /// to be unique in the parent's table.
    pub owner: Vec<String>,
    /// For a nested child: the index of its parent's collection in [`Mapping::children`], where parents come
    /// before their children. `None` for the root and its direct children.
    pub parent: Option<usize>,
    /// The columns of the row itself. Those of a nested child start with the columns of its parent's key.
    pub columns: Vec<Column>,
    /// How many of the first `columns` identify the row within its aggregate: the root's id; the child's
    /// key, which for a nested child starts with its parent's. 0 for an optional child without a key.
    pub key: usize,
}

impl Table {
    /// The name in quotes, as in `"sales"."orders"`.
    pub(crate) fn quoted(&self, quote: char) -> String {
        let parts = self.name.split('.').map(|part| format!("{quote}{part}{quote}"));
        parts.collect::<Vec<_>>().join(".")
    }

    /// The same table, reduced to its key.
    pub(crate) fn key_alone(&self) -> Table {
        let Table { name, path, owner, parent, columns, key } = self;
        let (name, path, owner) = (name.clone(), path.clone(), owner.clone());
        Table { name, path, owner, parent: *parent, columns: columns[..*key].to_vec(), key: *key }
    }
}

/// The tables of an aggregate. serde writes it, for programs that do not know the application's types, such as `tenure doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The aggregate's type in messages and lock keys: `Order`.
    pub name: String,
    /// The root's table.
    pub root: Table,
    /// The root's version column: an integer, 1 after the insert.
    pub version: String,
    /// A table per child collection. Children are read in the order of their keys.
    pub children: Vec<Table>,
    /// How many past versions to keep, so that a conflict can name the changes and their author, and show the state when
    /// the form was opened. 0: none are kept, and saving writes one row less.
    #[serde(default)]
    pub revisions: u32,
    /// Whether the database generates the id of a new aggregate, as `serial`, an identity column or `auto_increment` do. The id is then one
    /// integer column, and an aggregate that is inserted with the id 0 gets the next value.
    #[serde(default)]
    pub generated: bool,
    /// The audit columns of the root, if it has them.
    pub audit: Option<Audit>,
}

/// The audit columns of the root, which every save sets: author, time and command, each if it has a name. tenure writes them, and any
/// program may read them; no field of the aggregate maps to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The author's id ([`Owner::id`](crate::Owner)): text, may be null.
    pub by: Option<String>,
    /// The author's name: text, may be null.
    pub by_name: Option<String>,
    /// The time, by the database's clock: an instant, stored like a field of type [`SystemTime`](std::time::SystemTime).
    /// Without this column no [`Change`](crate::version::Change) is read from the others.
    pub at: Option<String>,
    /// The command, in the terms of the domain: text, may be null.
    pub command: Option<String>,
}

impl Audit {
    /// The four columns in the order of the fields, where they exist.
    pub(crate) fn places(&self) -> [Option<&String>; 4] {
        [&self.by, &self.by_name, &self.at, &self.command].map(Option::as_ref)
    }

    pub(crate) fn columns(&self) -> impl Iterator<Item = &String> + Clone {
        self.places().into_iter().flatten()
    }

    /// The columns as a table should have them.
    pub(crate) fn described(&self) -> impl Iterator<Item = Column> {
        let kinds = [Kind::Text, Kind::Text, Kind::Timestamp, Kind::Text];
        self.places().into_iter().zip(kinds).filter_map(|(name, kind)| {
            name.map(|name| Column { nullable: kind == Kind::Text, ..Column::new(name, "", kind) })
        })
    }
}

impl Mapping {
    /// Validates the names that SQL is generated from: only letters, digits and underscores, and keys within the columns.
    ///
    /// # Errors
    /// [`MappingError`] naming the table and the column.
    pub fn validate(&self) -> Result<(), MappingError> {
        for table in std::iter::once(&self.root).chain(&self.children) {
            let names = table.owner.iter().chain(table.columns.iter().map(|column| &column.name));
            let names = names.chain(self.audit.iter().flat_map(Audit::columns));
            if !is_table_name(&table.name) {
                let what = "a table's name is letters, digits and underscores, at most 63, and does not start with a digit; the \
                            name of its schema may stand before it, with a dot between them";
                return Err(MappingError::new(&table.name, "", what));
            }
            for name in names.chain([&self.version]) {
                if !is_identifier(name) {
                    return Err(MappingError::new(
                        &table.name,
                        name,
                        "names are letters, digits and underscores, at most 63, and do not start with a digit",
                    ));
                }
            }
            if table.key > table.columns.len() {
                return Err(MappingError::new(&table.name, "", "the key has more columns than the table"));
            }
            if let Some(column) = table.columns[..table.key].iter().find(|column| column.nullable) {
                return Err(MappingError::new(&table.name, &column.name, "a column of the key must not be null"));
            }
            if let Some(column) = table.columns[..table.key].iter().find(|column| !column.kind.identifies()) {
                let what = "decimals and JSON cannot be keys, because what is equal may be spelled differently; use an \
                            integer, a text or a UUID";
                return Err(MappingError::new(&table.name, &column.name, what));
            }
            let versioned = if table.path.is_empty() { table.key } else { table.columns.len() };
            if let Some(column) = table.columns[..versioned].iter().find(|column| column.unversioned) {
                let what = "only a column of the root that is not in its id can be unversioned: the version tells of every change of a \
                            child";
                return Err(MappingError::new(&table.name, &column.name, what));
            }
            let unlike = |other: &Column| {
                table.columns.iter().any(|one| one.unversioned && !other.unversioned && one.field() == other.field())
            };
            if let Some(column) = table.columns.iter().find(|column| unlike(column)) {
                let what = format!("all columns of `{}` are unversioned, or none", column.field());
                return Err(MappingError::new(&table.name, &column.name, what));
            }
            let is_type = |name: &str| is_table_name(name.strip_suffix("[]").unwrap_or(name));
            let cast = |column: &&Column| column.sql_type.as_ref().is_some_and(|name| !is_type(name));
            if let Some(column) = table.columns.iter().find(cast) {
                let what =
                    "a type's name is letters, digits and underscores, with that of its schema before it if need be";
                return Err(MappingError::new(&table.name, &column.name, what));
            }
            let names = table.owner.iter().chain(table.columns.iter().map(|column| &column.name));
            let own = [&self.version].into_iter().chain(self.audit.iter().flat_map(Audit::columns));
            let own = own.filter(|_| table.path.is_empty());
            let names = names.chain(own);
            if let Some(name) = twice(names) {
                return Err(MappingError::new(&table.name, name, "two fields share this column; rename one of them"));
            }
        }
        if let Some(name) = twice(std::iter::once(&self.root).chain(&self.children).map(|table| &table.name)) {
            return Err(MappingError::new(name, "", "two collections share this table; give each its own"));
        }
        if self.generated && (self.root.key != 1 || self.root.columns[0].kind != Kind::Integer) {
            let what = "a generated id is one column of integers; without `generated` the application makes the id";
            return Err(MappingError::new(&self.root.name, "", what));
        }
        self.validate_depth()?;
        let names_root = |child: &&Table| child.owner.len() == self.root.key || self.names_parent_only(child);
        match self.children.iter().find(|child| !names_root(child)) {
            Some(child) => Err(MappingError::new(&child.name, "", "a child needs one owner column per id column")),
            None => Ok(()),
        }
    }

    /// Validates the parents of children.
    fn validate_depth(&self) -> Result<(), MappingError> {
        if self.root.key == 0 || self.root.parent.is_some() {
            let what = "the root needs an id of one or more columns, and no parent";
            return Err(MappingError::new(&self.root.name, "", what));
        }
        for (at, child) in self.children.iter().enumerate() {
            if child.parent.is_some_and(|parent| parent >= at) {
                return Err(MappingError::new(
                    &child.name,
                    "",
                    "a parent's table must come before those of its children",
                ));
            }
            let kinds = |table: &Table| table.columns[..table.key].iter().map(|column| column.kind).collect::<Vec<_>>();
            let parent = child.parent.map(|parent| &self.children[parent]);
            if let Some(parent) = parent.filter(|parent| !kinds(child).starts_with(&kinds(parent))) {
                let what =
                    format!("its key must start with the columns of the key of `{}`, of the same kinds", parent.name);
                return Err(MappingError::new(&child.name, "", what));
            }
            if let Some(parent) = parent.filter(|parent| child.owner.is_empty() && parent.key == self.inherited(parent))
            {
                let what = format!(
                    "it names only its parent, and a row of `{}` has no key of its own; name the root as well in `owner`",
                    parent.name
                );
                return Err(MappingError::new(&child.name, "", what));
            }
            if child.columns.len() == self.inherited(child) {
                return Err(MappingError::new(&child.name, "", "a child needs a column of its own"));
            }
        }
        Ok(())
    }

    /// The audit columns and their time column, if there is one.
    pub(crate) fn dated_audit(&self) -> Option<(&Audit, &String)> {
        self.audit.as_ref().and_then(|audit| Some((audit, audit.at.as_ref()?)))
    }

    /// Whether the table of a nested child has no columns for the root's id, only some that identify its parent.
    pub(crate) fn names_parent_only(&self, table: &Table) -> bool {
        table.parent.is_some() && table.owner.is_empty()
    }

    /// Number of the first columns of a row that its table does not have: where it names only its parent, the key of the
    /// parent's parent.
    pub(crate) fn not_stored(&self, table: &Table) -> usize {
        match table.parent {
            Some(parent) if table.owner.is_empty() => self.inherited(&self.children[parent]),
            _ => 0,
        }
    }

    /// The values of a child's row, or of its key, as its table stores them: the root's id first, where it names the root.
    pub(crate) fn stored<'v>(
        &self,
        table: &Table,
        id: &'v [Value],
        row: &'v [Value],
    ) -> impl Iterator<Item = &'v Value> + use<'v> {
        let id = if self.names_parent_only(table) { &[] } else { id };
        id.iter().chain(&row[self.not_stored(table)..])
    }

    /// Number of columns of a table that are the parent's key: 0 unless it is a nested child.
    pub(crate) fn inherited(&self, table: &Table) -> usize {
        table.parent.map_or(0, |parent| self.children[parent].key)
    }
}

impl Mapping {
    /// A short fingerprint of the columns: a stored state can only be read with the same columns.
    pub(crate) fn shape(&self) -> String {
        let mut hash = Sha256::new();
        for table in std::iter::once(&self.root).chain(&self.children) {
            hash.update(format!("{};{};", table.name, table.key));
            for column in &table.columns {
                hash.update(format!("{}:{:?},", column.name, column.kind));
            }
        }
        hex(&hash.finalize()[..8])
    }
}

/// The first duplicate name; databases fold the case of names.
fn twice<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().find(|name| !seen.insert(name.to_ascii_lowercase()))
}

fn is_identifier(name: &str) -> bool {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && name.len() <= 63 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_table_name(name: &str) -> bool {
    match name.split_once('.') {
        Some((schema, name)) => is_identifier(schema) && is_identifier(name),
        None => is_identifier(name),
    }
}

/// The values of one row, in the order of [`Table::columns`].
pub type Row = Vec<Value>;

/// The state of one aggregate as rows: loaded, to be saved, or compared in a conflict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The root's row.
    pub root: Row,
    /// The rows of each child collection, in the order of [`Mapping::children`].
    pub children: Vec<Vec<Row>>,
}

impl Rows {
    /// All values, each with its table and its column.
    pub(crate) fn values<'r>(
        &'r self,
        mapping: &'r Mapping,
    ) -> impl Iterator<Item = (&'r Table, &'r Column, &'r Value)> {
        let children = mapping.children.iter().zip(&self.children);
        let rows = children.flat_map(|(table, rows)| rows.iter().map(move |row| (table, row)));
        let rows = std::iter::once((&mapping.root, &self.root)).chain(rows);
        rows.flat_map(|(table, row)| table.columns.iter().zip(row).map(move |(column, value)| (table, column, value)))
    }
}

/// The stored data and the type do not fit: the schema or the mapping was changed by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "table `{table}`{}: {what}{}; compare the table with the mapping of the aggregate",
    in_column(.column),
    in_aggregate(.aggregate)
)]
pub struct MappingError {
    table: String,
    column: String,
    /// Which aggregate the row belongs to, as in `Order 17`; empty if that is not known.
    aggregate: String,
    what: String,
}

fn in_column(column: &str) -> String {
    if column.is_empty() { String::new() } else { format!(", column `{column}`") }
}

fn in_aggregate(aggregate: &str) -> String {
    if aggregate.is_empty() { String::new() } else { format!(" (in {aggregate})") }
}

impl MappingError {
    /// An error about a column of a table.
    pub fn new(table: impl Into<String>, column: impl Into<String>, what: impl Into<String>) -> Self {
        MappingError { table: table.into(), column: column.into(), aggregate: String::new(), what: what.into() }
    }

    /// The same error, which names the aggregate that it is about.
    pub(crate) fn in_aggregate(self, mapping: &Mapping, id: &[Value]) -> Self {
        let id = id.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        MappingError { aggregate: format!("{} {id}", mapping.name), ..self }
    }
}
