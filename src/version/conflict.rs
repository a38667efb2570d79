//! Version conflicts: which fields changed since the form was opened, and who changed them.

use std::fmt;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::lease::Owner;

/// Another user saved between your read and your write. None of your changes was saved, and theirs are not lost.
///
/// ```
/// # use tenure::{Aggregate, Database, Error, Owner, Repository, error::UpdateError};
/// # use std::convert::Infallible;
/// # #[derive(Aggregate)] #[aggregate(table = "note", revisions = 9)]
/// # struct Note { #[aggregate(id)] id: String, title: String, text: String }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/notes.db", directory.path().display())).await?;
/// # let notes = Repository::<Note>::new(&db);
/// # let mut tx = db.begin().await?;
/// # sqlx::raw_sql("create table note (id text primary key, title text, text text, version integer)").execute(tx.sqlite()?).await?;
/// # notes.insert(&mut tx, Note { id: "7".into(), title: String::new(), text: String::new() }).await?;
/// # tx.commit().await?;
/// # let id = String::from("7");
/// # let lee = Owner::new("lee", "Lee Junho");
/// # let set_title = |note: &mut Note| { note.title = "Menu".into(); Ok::<_, Infallible>(()) };
/// # let set_text = |note: &mut Note| { note.text = "Rice".into(); Ok::<_, Infallible>(()) };
/// let seen = notes.get(&id).await?.ok_or("no such note")?.token();
/// notes.update(&id).by(&lee).command("rename").run(set_title).await?;
///
/// let late = notes.update(&id).expecting(seen).run(set_text).await;
/// let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = late else { panic!("Lee's title was lost") };
/// let change = conflict.changed.as_ref().ok_or("revisions are kept")?;
/// assert_eq!((change.by.as_ref(), change.command.as_deref()), (Some(&lee), Some("rename")));
/// let paths: Vec<_> = conflict.fields.iter().map(|field| (&*field.path, field.side())).collect();
/// # use tenure::version::Side;
/// assert_eq!(paths, [("title", Side::Theirs), ("text", Side::Mine)]);
/// assert!(conflict.auto_mergeable());                    // different fields: `merging(Merge::Disjoint)` keeps both
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VersionConflict {
    /// The aggregate's type.
    pub aggregate: String,
    /// Its id.
    pub id: String,
    /// The version on which the change was based.
    pub expected: Version,
    /// The current version; `None` if the aggregate was deleted.
    pub actual: Option<Version>,
    /// The latest change. `None` when the aggregate keeps no revisions.
    pub changed: Option<Change>,
    /// The fields that differ between the three states; children by key, as in `lines[2].quantity`
    /// and `lines[2].parts[7].name`.
    pub fields: Vec<FieldConflict>,
    /// Whether the opened state is known. If not, every `opened` is `None`: the aggregate keeps no revisions, or
    /// the form is older than the oldest one.
    pub opened_known: bool,
    /// Whether your state is known: the domain accepted the command on a copy of the opened state.
    /// If not, every `mine` is `None`.
    pub mine_known: bool,
}

impl fmt::Display for VersionConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VersionConflict { aggregate, id, expected, .. } = self;
        let Some(actual) = self.actual else {
            return write!(f, "{aggregate} {id} was deleted after you opened version {expected}; nothing was saved");
        };
        write!(f, "{aggregate} {id} was changed")?;
        if let Some(change) = self.changed.as_ref().and_then(|change| change.by.as_ref()) {
            write!(f, " by {change}")?;
        }
        write!(
            f,
            " after you opened it: it is version {actual} now, yours is {expected}; compare, and apply yours on top"
        )
    }
}

impl std::error::Error for VersionConflict {}

impl VersionConflict {
    /// Whether the two changes touched different fields, so that yours can be applied on top without undoing theirs, as
    /// [`Merge::Disjoint`](crate::version::Merge::Disjoint) does.
    pub fn auto_mergeable(&self) -> bool {
        self.opened_known && self.mine_known && !self.fields.iter().any(|field| is_contested(field, &self.fields))
    }
}

/// One saved change: author, time and command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The version that it created.
    pub version: Version,
    /// The author, if the saving code set it.
    pub by: Option<Owner>,
    /// The time, by the database's clock.
    #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
    pub at: SystemTime,
    /// The command, if the saving code set it: `start shipping`.
    pub command: Option<String>,
}

/// One field in three states. `None` means that the field does not exist in that state (an added or removed line), or that the state is
/// unknown (see [`VersionConflict::opened_known`] and [`VersionConflict::mine_known`]).
///
/// serde writes values as a page shows them: texts, in which an instant is `2026-11-20T10:00:00Z`; `null` where there is none,
/// and for NULL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldConflict {
    /// The path of the field.
    pub path: String,
    /// The value when you opened it.
    #[serde(serialize_with = "shown")]
    pub opened: Option<Value>,
    /// The current value.
    #[serde(serialize_with = "shown")]
    pub now: Option<Value>,
    /// The value that you want.
    #[serde(serialize_with = "shown")]
    pub mine: Option<Value>,
}

fn shown<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if !value.is_null() => serializer.collect_str(value),
        _ => serializer.serialize_none(),
    }
}

/// The side that changed a field since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// Only you.
    Mine,
    /// Only the others.
    Theirs,
    /// Both, to different values.
    Both,
    /// Both, to the same value.
    Same,
}

impl FieldConflict {
    /// The side that changed it.
    pub fn side(&self) -> Side {
        if self.now == self.mine {
            Side::Same
        } else if self.opened == self.now {
            Side::Mine
        } else if self.opened == self.mine {
            Side::Theirs
        } else {
            Side::Both
        }
    }
}

/// Whether a person has to decide about a field: both sides changed it, or they added it to a child that you removed.
pub(crate) fn is_contested<'f>(field: &FieldConflict, all: impl IntoIterator<Item = &'f FieldConflict>) -> bool {
    let removed = |other: &FieldConflict| other.opened.is_some() && other.mine.is_none();
    let inside = |other: &FieldConflict| {
        let outer = other.path.rsplit_once('.').map_or("", |(outer, _)| outer);
        !outer.is_empty() && field.path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
    };
    match field.side() {
        Side::Both => true,
        Side::Theirs => field.opened.is_none() && all.into_iter().any(|other| removed(other) && inside(other)),
        Side::Mine | Side::Same => false,
    }
}

/// The location of a field in the rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// The child collection and the key of the row in it; `None` for the root.
    pub(crate) child: Option<(usize, Vec<Value>)>,
    /// The index of the column.
    pub(crate) column: usize,
}

/// Compares three states field by field; fields that are equal in all known states are left out, and unversioned ones.
pub(crate) fn compare(
    mapping: &Mapping,
    opened: Option<&Rows>,
    now: Option<&Rows>,
    mine: Option<&Rows>,
) -> Vec<FieldConflict> {
    compare_cells(mapping, opened, now, mine).into_iter().map(|(_, field)| field).collect()
}

/// As [`compare`], with the location of each field.
pub(crate) fn compare_cells(
    mapping: &Mapping,
    opened: Option<&Rows>,
    now: Option<&Rows>,
    mine: Option<&Rows>,
) -> Vec<(Cell, FieldConflict)> {
    let mut fields = Vec::new();
    let known = [opened.is_some(), true, mine.is_some()];
    let roots = [opened, now, mine].map(|rows| rows.map(|rows| &rows.root));
    compare_rows(&mapping.root, "", None, known, roots, 0, &mut fields);
    for (index, table) in mapping.children.iter().enumerate() {
        let collections = [opened, now, mine].map(|rows| rows.map_or(&[] as &[Row], |rows| &rows.children[index]));
        let mut keys: Vec<&[Value]> = Vec::new();
        for row in collections.into_iter().flatten() {
            if !keys.contains(&&row[..table.key]) {
                keys.push(&row[..table.key]);
            }
        }
        for key in keys {
            let rows = collections.map(|rows| rows.iter().find(|row| &row[..table.key] == key));
            let (path, child) = (path(mapping, table, key), Some((index, key)));
            compare_rows(table, &path, child, known, rows, mapping.inherited(table), &mut fields);
        }
    }
    fields
}

/// The path of the child with this key: `lines[2].parts[7]`.
fn path(mapping: &Mapping, table: &Table, key: &[Value]) -> String {
    let parent = table.parent.map(|parent| &mapping.children[parent]);
    let (inherited, own) = key.split_at(mapping.inherited(table));
    let outer = parent.map_or(String::new(), |parent| path(mapping, parent, inherited) + ".");
    let own: Vec<_> = own.iter().map(Value::to_string).collect();
    // An optional child occurs once and needs no key in the path.
    if own.is_empty() { outer + &table.path } else { format!("{outer}{}[{}]", table.path, own.join(",")) }
}

/// Compares the columns from `first` on; those before are the parent's key, which is in the path.
fn compare_rows(
    table: &Table,
    path: &str,
    child: Option<(usize, &[Value])>,
    known: [bool; 3],
    rows: [Option<&Row>; 3],
    first: usize,
    fields: &mut Vec<(Cell, FieldConflict)>,
) {
    for (index, column) in table.columns.iter().enumerate().skip(first).filter(|(_, column)| !column.unversioned) {
        let [opened, now, mine] = rows.map(|row| row.map(|row| row[index].clone()));
        let states = [&opened, &now, &mine];
        let mut seen = states.iter().zip(known).filter(|(_, known)| *known).map(|(state, _)| *state);
        let one = seen.next();
        if seen.any(|state| Some(state) != one) {
            let cell = Cell { child: child.map(|(table, key)| (table, key.to_vec())), column: index };
            // A map's key and a position are no fields of the child: they are shown as the child itself.
            let between = if path.is_empty() || column.path.is_empty() { "" } else { "." };
            fields.push((cell, FieldConflict { path: format!("{path}{between}{}", column.path), opened, now, mine }));
        }
    }
}

#[cfg(test)]
mod tests;
