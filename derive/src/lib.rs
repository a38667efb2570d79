//! The derives of [tenure](https://docs.rs/tenure): `Aggregate`, `Entity` and `ValueObject`.
//!
//! They are re-exported by `tenure` beside the traits they implement; depend on `tenure`, never on this crate. All of
//! them use one attribute, `#[aggregate(...)]`, and every mistake in it is a compile error
//! that says what to write instead.
//!
//! A derive only generates code that could be written by hand: it is the shortest way to a `Mapping`, not the only one.

mod aggregate;
mod attributes;
mod collection;
mod entity;
mod fields;
mod value_object;

use proc_macro::TokenStream;
use syn::DeriveInput;

/// Maps a struct with named fields to a root table, and its child collections to tables of their own.
///
/// ```text
/// #[derive(Aggregate)]
/// #[aggregate(table = "orders", revisions = 50)]
/// struct Order {
///     #[aggregate(id)]
///     no: OrderNo,
///     #[aggregate(column = "ship_to")]
///     receiver: Receiver,                                       // ship_to_name, ship_to_phone
///     #[aggregate(children, table = "order_line", owner = "order_no")]
///     lines: Vec<OrderLine>,
///     #[aggregate(children, table = "order_step", owner = "order_no", key = "position")]
///     steps: Vec<Step>,
///     #[aggregate(children, table = "order_invoice", owner = "order_no")]
///     invoice: Option<Invoice>,
/// }
/// ```
///
/// | on the struct | |
/// |---|---|
/// | `table = "orders"` | the root's table; required. `"sales.orders"` with its schema |
/// | `name = "Order"` | the aggregate's name in lock keys and messages; the struct's own name if not given |
/// | `version = "version"` | the version column; `version` if not given. No field maps to it: `Loaded` carries it |
/// | `revisions = 50` | how many past versions to keep; none if not given |
/// | `audit_by = "x"`, `audit_by_name`, `audit_at`, `audit_command` | the same columns one by one, as many as the table has |
/// | `audit`, `audit = "changed"` | the root has audit columns for the latest change: `changed_by`, `changed_by_name`, `changed_at`, `changed_command` |
///
/// | on a field | |
/// |---|---|
/// | `id, generated` | the database generates the id, an integer column: an aggregate that is inserted with the id 0 gets the next one |
/// | `skip` | the field is not stored; it has its `Default` when the aggregate is loaded |
/// | `id` | the identity, exactly one field. A composite id is one `ValueObject` of several columns |
/// | `column = "x"` | the column, or the prefix of the columns; the field's own name if not given. `""`: no prefix |
/// | `unversioned` | the field does not count for the version: its change alone raises no version and conflicts with nothing; the last write wins |
/// | `children` | a `Vec`, a `BTreeMap` or an `Option` of entities, in a table of its own |
///
/// | beside `children` | |
/// |---|---|
/// | `table = "t"` | the collection's table; required |
/// | `owner = "c"` | the columns that refer to the root, one per column of its id, separated by commas; required |
/// | `key = "k"` | the columns of the key that the collection provides: those of a map's key, or the one of the position in a `Vec` whose entities have no key of their own. Required there, and refused elsewhere |
///
/// The id's columns come first and form the key; the other fields follow in declaration order. `mapping()` panics if
/// the mapping is invalid as a whole, for instance because a prefix made a column's name too long.
#[proc_macro_derive(Aggregate, attributes(aggregate))]
pub fn derive_aggregate(input: TokenStream) -> TokenStream {
    expand(input, aggregate::derive)
}

/// Maps a struct with named fields to a child inside an aggregate.
///
/// ```text
/// #[derive(Entity)]
/// struct OrderLine {
///     #[aggregate(key)]
///     line_no: u32,
///     product: ProductId,
///     #[aggregate(column = "qty")]
///     quantity: u32,
///     #[aggregate(children, table = "order_line_label", key = "language")]
///     labels: BTreeMap<String, Label>,                          // order_no, line_no, language, …
/// }
/// ```
///
/// | on a field | |
/// |---|---|
/// | `key` | one of the fields that identify a child within its parent; their columns come first. Without any, the collection provides the key; in a `BTreeMap` that is always so |
/// | `column = "x"`, `skip` | as for an `Aggregate` |
/// | `children` | a collection inside the child, to any depth |
///
/// | beside `children` | |
/// |---|---|
/// | `table = "t"` | the collection's table; required |
/// | `owner = "c"` | the columns that refer to the root, then those that refer to the parent by its key; as in the parent's own table if not given. A table that names only its parent has the columns of its parent's key alone, which must be unique in the parent's table |
/// | `key = "k"` | as for an `Aggregate` |
///
/// The columns that refer to the root and the parent are not fields: the collection names them.
#[proc_macro_derive(Entity, attributes(aggregate))]
pub fn derive_entity(input: TokenStream) -> TokenStream {
    expand(input, entity::derive)
}

/// Stores a type in one or more columns.
///
/// ```text
/// #[derive(ValueObject)]
/// struct OrderNo(String);                                       // one column, the inner type's
///
/// #[derive(ValueObject)]
/// struct Receiver {                                             // as field `receiver`:
///     name: String,                                             // receiver_name
///     #[aggregate(column = "tel")]
///     phone: Option<String>,                                    // receiver_tel
/// }
///
/// #[derive(ValueObject)]
/// enum OrderState {                                             // one text column
///     Preparing,                                                // 'Preparing'
///     #[aggregate(rename = "sent")]
///     Shipped,                                                  // 'sent'
/// }
/// ```
///
/// | on the type | |
/// |---|---|
/// | `integer` | an enum is stored as numbers, `Shipped = 2`. Each variant must state its number |
/// | `sql_type = "order_state"` | on PostgreSQL values are cast to this type: an enum of the database, `citext`. Other databases ignore it |
/// | `try_from = "String"` | a newtype is read through `TryFrom<String>`. A refusal is an error with the table, the column and the id |
///
/// A field of a struct may have `skip`: it is not stored, and has its `Default` when the value is loaded.
///
/// A text without a variant is an error when the aggregate is loaded; the error contains the text and the known texts.
#[proc_macro_derive(ValueObject, attributes(aggregate))]
pub fn derive_value_object(input: TokenStream) -> TokenStream {
    expand(input, value_object::derive)
}

fn expand(input: TokenStream, derive: fn(&DeriveInput) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
