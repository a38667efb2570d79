//! What differs between the databases in the texts of statements.

use crate::aggregate::mapping::Column;
use crate::aggregate::value::Kind;
use crate::db::{self, RowLock, Text};

/// The databases whose texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "a build may lack a database")]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
    MariaDb,
    MySql,
}

impl Dialect {
    pub(crate) const COUNT: usize = 4;
}

/// The sheet of a database. A placeholder is the text of a parameter, such as `$1`.
pub(crate) struct Sheet {
    pub dialect: Dialect,
    /// Whether the database reads numbered parameters.
    pub numbers: bool,
    /// The quote of names. SQLite reads an unknown name in double quotes as a text: a missing column would equal its own name, and a child
    /// table without its owner's column would have no children.
    pub quote: char,

    /// The time in milliseconds: that of a test, which is in this placeholder, or else the database's at this moment.
    pub now: fn(&str) -> String,
    /// That time as a column of an audit stores it.
    pub audited_at: fn(&str) -> String,
    /// The milliseconds in a column of an audit.
    pub millis_of: fn(&str) -> String,
    /// The beginning of what an insert does instead if a row with these columns exists.
    pub on_conflict: fn(&str) -> String,
    /// There, the new value of a column.
    pub new: fn(&str) -> String,
    /// What an insert into a table does instead if a row with this column exists: nothing.
    pub or_nothing: fn(&str, &str) -> String,
    /// Whether three columns are after a place in their order, by three parameters; or else: before it, or there.
    pub after: fn([&str; 3], [&str; 3], bool) -> String,
    /// The rows of a parameter, which is a list in JSON, as rows `new` with these columns. Another parameter is their number, which informs
    /// the planner: it would expect many rows of a function, and join those with the whole table.
    pub list: fn(&str, &str, &[db::Column]) -> String,
    /// The greatest of several values.
    pub greatest: &'static str,
    /// A part of a key, as text.
    pub key_text: fn(&str) -> String,
    /// Whether a column of text is equal to a parameter by its bytes. `column $1`.
    pub same: fn(&str, &str) -> String,
    /// Bytes in hexadecimal digits.
    pub bytes: fn(&str) -> String,

    /// A column, named and quoted, as the kind of its mapping: an `integer`, a `bigint` and a `numeric` are all numbers.
    pub read: fn(&Column, &str) -> String,
    /// A number as a column.
    pub constant: fn(usize) -> String,
    /// Null as that kind.
    pub null: fn(Kind) -> &'static str,
    /// The parameter that is stored in a column, or compared with it. Its type is that of the kind and not of the value. A cast is on its
    /// side, so that an index on the column is used.
    pub place: fn(&Column, &str) -> String,
    /// A parameter of text.
    pub text: fn(&str) -> String,
    /// Whether a text may contain NUL. Otherwise the database refuses to compare with one, and no statement is sent: no row has such an id.
    pub has_nul: bool,
    /// What stands before a list of rows that others are compared with.
    pub rows: &'static str,
    /// Whether a subquery of `delete` runs for each row of the table, so that rows are found by a join, or by `limit`: each statement in its own
    /// way, so this is no text.
    pub slow_subqueries: bool,

    /// Locks of rows. `None`: a writing transaction has locked all of them.
    pub row_locks: Option<RowLocks>,
    /// How an insert of a root answers.
    pub inserts: Inserts,
    /// The application's tables.
    pub catalog: &'static Catalog,
}

/// What the database says of the application's tables.
pub(crate) struct Catalog {
    /// Whether it tells names apart that differ in case.
    pub exact_names: bool,
    /// The columns of the table `$2` of the schema `$1`, in their order: name, type, the type by which its kinds are known, what values have to
    /// be cast to, whether it may be null, whether an insert may leave it out, the collation under which different spellings are equal, how the
    /// database computes it if no statement may write it, and the type with its width, if it has one.
    pub columns: Text,
    /// The parts of its indexes, one index after the other: its name; whether it is unique as far as this part decides: 2 if so, 1 if only the
    /// rows that meet a condition are; the column.
    pub indexes: Text,
    /// The parts of its foreign keys, one after the other: its name, the table that it refers to, the column, the column there.
    pub references: Text,
    /// Why it cannot keep what a transaction promises, if so; and whether a policy decides which rows the user may write. `None`: every table
    /// keeps it.
    pub storage: Option<Text>,
    /// The kinds that the statements of a mapping can write to a column of this type.
    pub kinds: fn(&str) -> Option<&'static [Kind]>,
}

/// The words at the end of a locking `select`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowLocks {
    pub share: &'static str,
    pub key_share: &'static str,
    pub no_key_update: &'static str,
    pub update: &'static str,
    pub skip_locked: &'static str,
    pub no_key_update_skip_locked: &'static str,
    /// Whether a policy may hide from a locking `select` a row that others return.
    pub may_be_hidden: bool,
    /// A locking `select` of columns from rows, and, as `clock`, of the time when each row was locked (that of a test is in the parameter).
    pub with_clock: fn(&str, &str, &str) -> String,
    /// The lock of what is read under another one. MySQL 9.7 was seen to release the locks of a transaction a moment before others see all of
    /// its changes, so there such a read waits for them.
    pub rereads: RowLock,
    /// Whether only a locking `select` can wait for less than a second, so that another statement locks a row before it is written.
    pub lock_before_write: bool,
}

/// How the insert of a root says that its id exists, and which version was deleted under it. That version is read when no other transaction
/// can delete the id any more: after the insert, where it waits for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "a build may lack a database")]
pub(crate) enum Inserts {
    /// It returns no row if the id exists, and else the version by this function.
    OrNothing(&'static str),
    /// It fails if the id exists, and else returns the version by a subquery.
    Returning,
    /// It fails if the id exists, and cannot return anything.
    Silent,
}

impl Sheet {
    /// A text with what is in its braces written for this database.
    pub(crate) fn write(&self, template: &str) -> String {
        let (mut written, mut rest) = (String::with_capacity(template.len() + 64), template);
        while let Some((before, braced)) = rest.split_once('{') {
            let (word, after) = braced.split_once('}').expect("a brace is closed");
            written += before;
            written += &self.fragment(word);
            rest = after;
        }
        written + rest
    }

    /// The end of a `select` with this lock.
    pub(crate) fn clause(&self, lock: RowLock) -> &'static str {
        let Some(locks) = &self.row_locks else { return "" };
        match lock {
            RowLock::None => "",
            RowLock::Share => locks.share,
            RowLock::KeyShare => locks.key_share,
            RowLock::NoKeyUpdate => locks.no_key_update,
            RowLock::Update => locks.update,
            RowLock::SkipLocked => locks.skip_locked,
            RowLock::NoKeyUpdateSkipLocked => locks.no_key_update_skip_locked,
        }
    }

    fn fragment(&self, word: &str) -> String {
        let (name, argument) = word.split_once(' ').unwrap_or((word, ""));
        match name {
            "now" => (self.now)(argument),
            "on_conflict" => (self.on_conflict)(argument),
            "new" => (self.new)(argument),
            "greatest" => self.greatest.to_owned(),
            "key" => (self.key_text)(argument),
            "bytes" => (self.bytes)(argument),
            "or_nothing" => {
                let (table, column) = argument.split_once(' ').expect("a table and a column");
                (self.or_nothing)(table, column)
            }
            "after" | "upto" => {
                let words: Vec<_> = argument.split(' ').collect();
                let [a, b, c, x, y, z] = words[..] else { unreachable!("three columns and three parameters") };
                (self.after)([a, b, c], [x, y, z], name == "after")
            }
            "text" => (self.text)(argument),
            "same" => {
                let (column, place) = argument.split_once(' ').expect("a column and a parameter");
                (self.same)(column, place)
            }
            "skip_locked" => self.clause(RowLock::SkipLocked).to_owned(),
            _ => unreachable!("a text of this crate asks for {{{word}}}"),
        }
    }
}

/// The sheet of a database that differs in nothing.
#[cfg(test)]
pub(crate) static PLAIN: Sheet = Sheet {
    dialect: Dialect::MySql,
    numbers: false,
    quote: '`',
    now: |text| text.to_owned(),
    audited_at: |text| text.to_owned(),
    millis_of: |text| text.to_owned(),
    on_conflict: |text| text.to_owned(),
    new: |text| text.to_owned(),
    or_nothing: |_, _| String::new(),
    after: |_, _, _| String::new(),
    list: |place, _, _| place.to_owned(),
    greatest: "greatest",
    key_text: |text| text.to_owned(),
    same: |column, place| format!("{column} = {place}"),
    bytes: |text| text.to_owned(),
    read: |_, name| name.to_owned(),
    constant: |number| number.to_string(),
    null: |_| "null",
    place: |_, place| place.to_owned(),
    text: |text| text.to_owned(),
    has_nul: true,
    rows: "",
    slow_subqueries: false,
    row_locks: None,
    inserts: Inserts::Silent,
    catalog: &NOTHING,
};

#[cfg(test)]
static NOTHING: Catalog = Catalog {
    exact_names: true,
    columns: Text::new(""),
    indexes: Text::new(""),
    references: Text::new(""),
    storage: None,
    kinds: |_| None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_written_by_the_sheet() {
        let sheet = Sheet { now: |given| format!("clock({given})"), ..PLAIN };
        assert_eq!(sheet.write("a < {now $1} and {same b $2}"), "a < clock($1) and b = $2");
    }
}
