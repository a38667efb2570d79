//! The input and the result of a save.

use crate::aggregate::Stored;
use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Audit, Mapping, Rows};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::error::Error;
use crate::lease::{LockKey, Owner, is_plain};

/// The author of a change, and its command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Authorship {
    pub by: Option<Owner>,
    pub command: Option<String>,
}

impl Authorship {
    /// Whether it can be stored, and shown with other people's changes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.by.as_ref().map_or(Ok(()), Owner::check)?;
        match self.command.as_deref().is_none_or(is_plain) {
            true => Ok(()),
            false => Err(Error::InvalidCommand),
        }
    }

    /// The values of the audit columns that exist, in their order; `None` is the time.
    pub(crate) fn audit(&self, audit: &Audit) -> Vec<Option<Value>> {
        let text = |text: Option<&String>| Some(text.cloned().map_or(Value::Null(Kind::Text), Value::Text));
        let by = self.by.as_ref();
        let values = [text(by.map(|by| &by.id)), text(by.map(|by| &by.name)), None, text(self.command.as_ref())];
        audit.places().into_iter().zip(values).filter_map(|(name, value)| name.map(|_| value)).collect()
    }

    /// The label for the sessions that the transaction blocks: `kim: start shipping`.
    pub(crate) fn label(&self) -> Option<String> {
        match (&self.by, &self.command) {
            (Some(by), Some(command)) => Some(format!("{}: {command}", by.id)),
            (Some(by), None) => Some(by.id.clone()),
            (None, command) => command.clone(),
        }
    }
}

/// Another transaction holds the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLocked;

/// The input of a save.
#[derive(Debug)]
pub(crate) struct Save<'a> {
    pub mapping: &'static Mapping,
    pub key: &'a LockKey,
    /// The version that must be stored now.
    pub from: Version,
    /// The version after the save: the next one, or the same if this transaction has raised it already.
    pub to: Version,
    pub diff: &'a Diff<'a>,
    pub rows: &'a Rows,
    pub author: &'a Authorship,
}

/// The result of a save or a delete.
#[derive(Debug)]
pub(crate) enum Saved {
    /// Done.
    Done,
    /// The stored version is not the expected one; nothing was written. Contains the stored state, read with a lock.
    Stale(Option<Stored>),
}
