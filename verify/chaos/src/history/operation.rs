//! Calls with their answers, read from files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::history::{Args, Event, Function, Stage};
use crate::subject::DROPPED;

/// What is known of an operation when the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It surely happened.
    Ok,
    /// It surely did not.
    Fail,
    /// Nobody knows: the answer says so, or there was none.
    Info,
}

/// A call, and its answer if there was one.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// The call.
    pub(crate) call: Event,
    /// The answer.
    pub(crate) answer: Option<Event>,
}

impl Operation {
    pub(crate) fn id(&self) -> &str {
        &self.call.op
    }

    pub(crate) fn is(&self, function: Function) -> bool {
        self.call.f == function
    }

    /// Whether it requests a lease.
    pub(crate) fn requests(&self) -> bool {
        matches!(self.call.f, Function::Lock | Function::Wait)
    }

    /// Whether its future was dropped before it was ready.
    pub(crate) fn is_dropped(&self) -> bool {
        self.code() == Some(DROPPED)
    }

    /// Whether it appends to ledgers.
    pub(crate) fn appends(&self) -> bool {
        matches!(self.call.f, Function::Append | Function::Transfer | Function::Form)
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self.answer.as_ref().map(|answer| answer.stage) {
            Some(Stage::Ok) => Outcome::Ok,
            Some(Stage::Fail) => Outcome::Fail,
            Some(Stage::Info | Stage::Invoke) | None => Outcome::Info,
        }
    }

    /// What its answer says, if it surely happened.
    pub(crate) fn ok(&self) -> Option<&Args> {
        self.answer.as_ref().filter(|answer| answer.stage == Stage::Ok).map(|answer| &answer.args)
    }

    /// The code of its error.
    pub(crate) fn code(&self) -> Option<&str> {
        self.answer.as_ref()?.args.code.as_deref()
    }

    pub(crate) fn called_at(&self) -> u64 {
        self.call.mono_ns
    }

    /// When the answer came; never if there was none.
    pub(crate) fn answered_at(&self) -> u64 {
        self.answer.as_ref().map_or(u64::MAX, |answer| answer.mono_ns)
    }

    /// The key or ledger that it is about, or the first of them.
    pub(crate) fn key(&self) -> &str {
        self.call.agg.first().map_or("", String::as_str)
    }
}

/// Reads all histories of a folder, in the order of the calls.
///
/// The last line of a file may be cut: its client was killed. Any other line that is not an event is an error, because a history
/// that is not understood must not pass.
pub(crate) fn read(folder: &Path) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            operations
                .extend(parse(&fs::read_to_string(&path)?).map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    operations.sort_by_key(Operation::called_at);
    Ok(operations)
}

fn parse(text: &str) -> Result<Vec<Operation>> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut places = HashMap::new();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { break };
        let event: Event = serde_json::from_str(line)?;
        if event.stage == Stage::Invoke {
            if places.insert(event.op.clone(), operations.len()).is_some() {
                return Err(format!("the operation {} is called twice", event.op).into());
            }
            operations.push(Operation { call: event, answer: None });
        } else {
            let place = *places.get(&event.op).ok_or_else(|| format!("{} is answered and was not called", event.op))?;
            if operations[place].answer.replace(event).is_some() {
                return Err(format!("the operation {} is answered twice", operations[place].id()).into());
            }
        }
    }
    Ok(operations)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"type":"invoke","f":"append","op":"1","proc":"0","agg":["a"],"mono_ns":5}"#;
    const ANSWER: &str =
        r#"{"type":"ok","f":"append","op":"1","proc":"0","agg":["a"],"mono_ns":9,"args":{"version":2}}"#;

    #[test]
    fn answer_is_found_for_its_call() {
        let read = parse(&format!("{CALL}\n{ANSWER}\n")).unwrap();
        assert_eq!((read.len(), read[0].outcome(), read[0].answered_at()), (1, Outcome::Ok, 9));
        assert_eq!(read[0].ok().unwrap().version, Some(2));
    }

    #[test]
    fn cut_last_line_leaves_the_outcome_unknown() {
        let read = parse(&format!("{CALL}\n{}", &ANSWER[..40])).unwrap();
        assert_eq!((read.len(), read[0].outcome()), (1, Outcome::Info));
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(parse("nonsense\n").is_err());
        assert!(parse(&format!("{ANSWER}\n")).is_err());
        assert!(parse(&format!("{CALL}\n{CALL}\n")).is_err());
        assert!(parse(&format!("{CALL}\n{ANSWER}\n{ANSWER}\n")).is_err());
    }
}
