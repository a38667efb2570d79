//! The live tables of an aggregate, compared with its mapping. No I/O here: a database describes its tables, and
//! [`Database::check`](crate::Database::check) asks it.

use std::fmt;

use crate::aggregate::mapping::{Audit, Column, Mapping, Table};
use crate::aggregate::value::Kind;

/// A table as the database describes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveTable {
    pub columns: Vec<LiveColumn>,
    /// The columns of every unique key that holds for all rows.
    pub unique: Vec<Vec<String>>,
    /// The columns of every index, unique or not, in its order.
    pub indexes: Vec<Vec<String>>,
    /// Whether names that differ in the case of letters are different.
    pub exact_names: bool,
    /// Why it cannot keep what a transaction promises, if so.
    pub breaks: Option<String>,
    /// Whether a policy decides which rows this user may write.
    pub policed: bool,
}

/// A column as the database describes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveColumn {
    pub name: String,
    /// Its type, as the database names it.
    pub type_name: String,
    /// The kinds that it stores; `None` if the type is not known.
    pub kinds: Option<&'static [Kind]>,
    /// The type that values have to be cast to: an enum of PostgreSQL.
    pub cast: Option<String>,
    pub nullable: bool,
    /// Whether an insert may leave it out: it has a default, or is generated.
    pub filled: bool,
    /// The collation under which different spellings are equal.
    pub folds: Option<String>,
    /// How the database computes it, if no statement may write it.
    pub computed: Option<String>,
    /// Its type with its width, as in `numeric(4,0)`, where it has one.
    pub width: Option<String>,
}

/// The severity of a [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// It works. It may be slow, or refuse what users expect to be accepted.
    Warning,
    /// A load or a save fails, or would store something else than it was given.
    Error,
}

/// One difference between a mapping and a live table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The table.
    pub table: String,
    /// The column, if it is about one.
    pub column: Option<String>,
    /// The severity.
    pub severity: Severity,
    /// The problem, and the remedy.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: table `{}`", self.table)?;
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Every difference between the mapping of an aggregate and the live tables. [`Database::check`](crate::Database::check)
/// makes it. It prints one finding per line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaReport {
    /// The aggregate's type, as in [`Mapping::name`].
    pub aggregate: String,
    /// The differences: errors first, in the order of the mapping.
    pub findings: Vec<Finding>,
}

impl SchemaReport {
    /// Whether no finding is an error.
    pub fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Error)
    }

    /// The report if no finding is an error: for `db.check::<Order>().await?.require()?` when a program starts.
    ///
    /// # Errors
    /// [`SchemaMismatch`] with the same findings if one of them is an error.
    pub fn require(self) -> Result<Self, SchemaMismatch> {
        if self.is_ok() { Ok(self) } else { Err(SchemaMismatch(self)) }
    }
}

impl fmt::Display for SchemaReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} findings", self.aggregate, self.findings.len())?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}

/// The live tables do not fit the mapping of an aggregate. Its text lists every finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the tables do not fit the mapping of {0}")]
pub struct SchemaMismatch(pub SchemaReport);

/// Compares a mapping with its live tables: the root's, then those of the children in the order of the mapping.
pub(crate) fn compare(mapping: &Mapping, live: &[Option<LiveTable>]) -> SchemaReport {
    let mut comparison = Comparison { mapping, findings: Vec::new() };
    for (table, live) in std::iter::once(&mapping.root).chain(&mapping.children).zip(live) {
        match live {
            Some(live) => comparison.table(table, live),
            None => comparison.add(table, None, Severity::Error, "there is no such table"),
        }
    }
    let mut findings = comparison.findings;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    SchemaReport { aggregate: mapping.name.clone(), findings }
}

struct Comparison<'a> {
    mapping: &'a Mapping,
    findings: Vec<Finding>,
}

impl Comparison<'_> {
    fn add(&mut self, table: &Table, column: Option<&str>, severity: Severity, message: impl Into<String>) {
        let (table, column) = (table.name.clone(), column.map(str::to_owned));
        self.findings.push(Finding { table, column, severity, message: message.into() });
    }

    fn table(&mut self, table: &Table, live: &LiveTable) {
        if let Some(problem) = &live.breaks {
            self.add(table, None, Severity::Error, problem);
        }
        if live.policed {
            let message = "row security applies to this user: where it may read a row and not write it, saves fail as `NotWritten`";
            self.add(table, None, Severity::Warning, message);
        }
        let expected = self.expected(table);
        for column in &expected {
            match live.columns.iter().find(|found| live.same(&found.name, &column.name)) {
                Some(found) => self.column(table, column, found),
                None => {
                    let known = live.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
                    let message = format!("the table has no such column; it has {known}");
                    self.add(table, Some(&column.name), Severity::Error, message);
                }
            }
        }
        if let Some(id) = table.columns.first().filter(|_| table.path.is_empty() && self.mapping.generated)
            && live.columns.iter().any(|found| live.same(&found.name, &id.name) && !found.filled)
        {
            let message = "it has no default, and the mapping says that the database makes the id; make it an identity column, or \
                           remove `generated`";
            self.add(table, Some(&id.name), Severity::Error, message);
        }
        for found in &live.columns {
            let mapped = expected.iter().any(|column| live.same(&found.name, &column.name));
            if !mapped && !found.nullable && !found.filled {
                let message = "it is `not null` without a default, and no field maps to it, so every insert fails; map it, \
                               or give it a default";
                self.add(table, Some(&found.name), Severity::Error, message);
            }
        }
        self.keys(table, live);
    }

    /// The columns that statements name, each as the mapping wants it.
    fn expected(&self, table: &Table) -> Vec<Column> {
        let id = &self.mapping.root.columns[..self.mapping.root.key];
        let owner = table.owner.iter().zip(id).map(|(name, id)| Column { name: name.clone(), ..id.clone() });
        let own = table.columns[self.mapping.not_stored(table)..].iter().cloned();
        let mut expected: Vec<_> = owner.chain(own).collect();
        if table.path.is_empty() {
            expected.push(Column::new(&self.mapping.version, "", Kind::Integer));
            expected.extend(self.mapping.audit.iter().flat_map(Audit::described));
        }
        expected
    }

    fn column(&mut self, table: &Table, column: &Column, found: &LiveColumn) {
        let name = Some(column.name.as_str());
        // The schema of the type is not compared; an array takes another array's elements.
        let wanted = column.sql_type.as_deref().map(|name| name.rsplit('.').next().unwrap_or(name));
        let fits = |cast: &str| wanted == Some(cast) || (column.is_array() && cast.ends_with("[]"));
        if let Some(cast) = found.cast.as_deref().filter(|cast| !fits(cast)) {
            let message = format!(
                "its type is `{cast}`, which takes no text without a cast; write `#[aggregate(sql_type = \"{cast}\")]` above the type \
                 of the field"
            );
            self.add(table, name, Severity::Error, message);
        } else if found.kinds.is_some_and(|kinds| !kinds.contains(&column.kind)) && column.sql_type.is_none() {
            let message = format!(
                "its type is `{}`, and the field's values are of the kind {:?}; change the column or the field",
                found.type_name, column.kind
            );
            self.add(table, name, Severity::Error, message);
        }
        let by_database = table.path.is_empty() && self.mapping.generated && table.columns[0].name == column.name;
        if let Some(how) = found.computed.as_deref().filter(|_| !by_database) {
            let message = format!("it is {how}, so every insert fails; make it an ordinary column, or do not map it");
            self.add(table, name, Severity::Error, message);
        }
        let is_version = table.path.is_empty() && column.name == self.mapping.version;
        if let Some(highest) = found.width.as_deref().filter(|_| is_version).and_then(highest) {
            let width = found.width.as_deref().unwrap_or_default();
            let message = format!("as `{width}` it ends at {highest}, and then every save fails; make it a `bigint`");
            self.add(table, name, Severity::Warning, message);
        }
        let is_time = matches!(column.kind, Kind::Timestamp | Kind::DateTime | Kind::Time);
        let of_a_field = table.columns.iter().any(|own| own.name == column.name);
        if let Some(width) = found.width.as_deref().filter(|width| of_a_field && is_time && second_parts(width) < 6) {
            let message = format!(
                "as `{width}` it keeps {} digits of a second, so a time is not read as it was saved; give it 6",
                second_parts(width)
            );
            self.add(table, name, Severity::Warning, message);
        }
        match (column.nullable, found.nullable) {
            // Of an audit column: rows that were saved before it existed have none.
            (false, true) if of_a_field || is_version => {
                let message = "it may be NULL, and the field is no `Option`, so a row with NULL cannot be loaded; make the column \
                               `not null`, or the field an `Option`";
                self.add(table, name, Severity::Warning, message);
            }
            (true, false) if !table.columns.iter().any(|c| c.name == column.name && c.part_of.is_some()) => {
                let message = "it is `not null`, and the field is an `Option`, so `None` cannot be saved; allow NULL, or change \
                               the field";
                self.add(table, name, Severity::Warning, message);
            }
            _ => {}
        }
    }

    fn keys(&mut self, table: &Table, live: &LiveTable) {
        let skipped = self.mapping.not_stored(table);
        let key: Vec<&str> = table
            .owner
            .iter()
            .chain(table.columns[skipped..table.key].iter().map(|column| &column.name))
            .map(String::as_str)
            .collect();
        let parent = match (&table.owner[..], self.mapping.inherited(table)) {
            ([], inherited) => table.columns[skipped..inherited].iter().map(|column| &column.name).collect::<Vec<_>>(),
            (owner, _) => owner.iter().collect(),
        };
        let kinds = table.columns[skipped..table.key].iter().map(|column| (&column.name, column.kind));
        let owners = table.owner.iter().zip(self.mapping.root.columns.iter().map(|column| column.kind));
        let texts: Vec<_> = owners.chain(kinds).filter(|(_, kind)| *kind == Kind::Text).map(|(name, _)| name).collect();
        for name in texts {
            let found = live.columns.iter().find(|found| live.same(&found.name, name));
            if let Some(collation) = found.and_then(|found| found.folds.as_deref()) {
                let message = format!(
                    "by `{collation}` different spellings are one row, and only the stored one is accepted; normalise ids before \
                     they are used, or let the column compare bytes"
                );
                self.add(table, Some(name), Severity::Warning, message);
            }
        }
        let has = |unique: &Vec<String>, exactly: bool| {
            (!exactly || unique.len() == key.len())
                && unique.iter().all(|column| key.iter().any(|key| live.same(key, column)))
        };
        let root = table.path.is_empty();
        if !live.unique.iter().any(|unique| has(unique, root)) && live.has_all(&key) {
            let message = format!(
                "no primary or unique key on ({}): two rows could have one {}",
                key.join(", "),
                if root { "id" } else { "key" }
            );
            self.add(table, None, Severity::Error, message);
        }
        // Columns that the children refer to without the root's id must be unique by themselves, or two aggregates would share children.
        if let Some(at) = self.mapping.children.iter().position(|child| child == table)
            && self.mapping.children.iter().any(|child| child.parent == Some(at) && child.owner.is_empty())
        {
            let own: Vec<_> = table.columns[self.mapping.inherited(table)..table.key].iter().map(|c| &c.name).collect();
            let within = |unique: &&Vec<String>| unique.iter().all(|name| own.iter().any(|own| live.same(own, name)));
            if !live.unique.iter().any(|unique| within(&unique)) {
                let names = own.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
                let message = format!(
                    "its children refer to ({names}) alone, which no key makes unique: two rows would share their children"
                );
                self.add(table, None, Severity::Error, message);
            }
        }
        let leads = |index: &Vec<String>| {
            index.len() >= parent.len()
                && index[..parent.len()].iter().all(|column| parent.iter().any(|name| live.same(name, column)))
        };
        if !root && !live.indexes.iter().any(leads) {
            let names = parent.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!("no index begins with ({names}): each load and save reads the whole table");
            self.add(table, None, Severity::Warning, message);
        }
    }
}

/// The highest number of a type that is narrower than a `bigint`.
fn highest(width: &str) -> Option<i64> {
    let (word, rest) = width.split_at(width.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(width.len()));
    let bits = match word {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" | "integer" => 32,
        "numeric" | "decimal" => {
            let (digits, scale) = rest.strip_prefix('(')?.split_once(')')?.0.split_once(',')?;
            let digits = digits.trim().parse::<u32>().ok()?.checked_sub(scale.trim().parse().ok()?)?;
            return Some(10_i64.checked_pow(digits)? - 1);
        }
        _ => return None,
    };
    let bits = if rest.contains("unsigned") { bits } else { bits - 1 };
    Some((1 << bits) - 1)
}

/// The digits of a second that a type of times keeps. PostgreSQL's say something of a zone, and have six without a number.
fn second_parts(width: &str) -> u8 {
    let digits = width.split_once('(').and_then(|(_, rest)| rest.split_once(')')?.0.parse().ok());
    digits.unwrap_or(if width.contains("zone") { 6 } else { 0 })
}

impl LiveTable {
    fn same(&self, one: &str, other: &str) -> bool {
        if self.exact_names { one == other } else { one.eq_ignore_ascii_case(other) }
    }

    fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.columns.iter().any(|column| self.same(&column.name, name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_types_have_a_highest_number() {
        for (width, number) in [
            ("smallint", Some(32_767)),
            ("smallint(5) unsigned", Some(65_535)),
            ("integer", Some(2_147_483_647)),
            ("int(11)", Some(2_147_483_647)),
            ("numeric(4,0)", Some(9_999)),
            ("decimal(6,2)", Some(9_999)),
            ("numeric", None),
            ("numeric(19,0)", None),
            ("bigint", None),
            ("bigint(20) unsigned", None),
            ("double precision", None),
        ] {
            assert_eq!(highest(width), number, "{width}");
        }
    }

    #[test]
    fn times_keep_some_digits_of_a_second() {
        for (width, digits) in [
            ("datetime", 0),
            ("datetime(6)", 6),
            ("timestamp(3)", 3),
            ("timestamp with time zone", 6),
            ("timestamp(0) without time zone", 0),
            ("time without time zone", 6),
        ] {
            assert_eq!(second_parts(width), digits, "{width}");
        }
    }
}
