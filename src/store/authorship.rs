//! The author of a change.

use crate::aggregate::mapping::Audit;
use crate::aggregate::value::{Kind, Value};
use crate::error::Error;
use crate::lease::{Owner, is_plain};

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
