//! Small histories for the tests of the checks.

use crate::evidence::{Evidence, Final, Granted, Noted};
use crate::history::{Args, Event, Function, Guarded, Operation, Stage};

/// A call that is answered with success. Times are milliseconds of the monotonic clock.
pub(super) fn ok(f: Function, op: &str, key: &str, at: (u64, u64), call: Args, answer: Args) -> Operation {
    operation(f, op, key, at, call, Some((Stage::Ok, answer)))
}

/// A call that is refused.
pub(super) fn failed(f: Function, op: &str, key: &str, at: (u64, u64), code: &str) -> Operation {
    let answer = Args { code: Some(code.to_owned()), ..Args::default() };
    operation(f, op, key, at, Args::default(), Some((Stage::Fail, answer)))
}

/// A call that was never answered.
pub(super) fn lost(f: Function, op: &str, key: &str, at: u64) -> Operation {
    operation(f, op, key, (at, at), Args::default(), None)
}

fn operation(f: Function, op: &str, key: &str, at: (u64, u64), call: Args, answer: Option<(Stage, Args)>) -> Operation {
    let event = |stage, at, args| Event {
        stage,
        f,
        op: op.to_owned(),
        client: "1.1.0".to_owned(),
        agg: vec![key.to_owned()],
        mono_ns: crate::clock::ms(at),
        args,
    };
    let answer = answer.map(|(stage, args)| event(stage, at.1, args));
    Operation { call: event(Stage::Invoke, at.0, call), answer }
}

/// A granted lease of two seconds.
pub(super) fn lock(op: &str, key: &str, at: (u64, u64), generation: i64) -> Operation {
    let call = Args { lock: Some(op.to_owned()), ..Args::default() };
    let answer = Args { generation: Some(generation), remaining_ms: Some(2000), ..Args::default() };
    ok(Function::Lock, op, key, at, call, answer)
}

/// What is given when a lease is released or extended.
pub(super) fn of_lock(lock: &str) -> Args {
    Args { lock: Some(lock.to_owned()), ..Args::default() }
}

/// A write that made this version.
pub(super) fn append(op: &str, key: &str, at: (u64, u64), version: i64) -> Operation {
    ok(Function::Append, op, key, at, Args::default(), Args { version: Some(version), ..Args::default() })
}

/// A row of the audit table.
pub(super) fn note(op: &str, ledger: &str, version: i64, generation: Option<i64>, at_ms: i64) -> Noted {
    let guard = if generation.is_some() { Guarded::Lease } else { Guarded::Version };
    Noted { op: op.into(), ledger: ledger.into(), version, generation, guard: Some(guard), at_ms }
}

/// A lease as the database knows it.
pub(super) fn granted(key: &str, generation: i64, since_ms: i64, ended_ms: i64, how: Option<&str>) -> Granted {
    Granted { key: key.into(), generation, since_ms, ended_ms, how: how.map(str::to_owned) }
}

/// The evidence of a ledger `a` with these entries, all of them noted.
pub(super) fn ledger(entries: &[&str], operations: Vec<Operation>) -> Evidence {
    let version = i64::try_from(entries.len()).unwrap_or(0) + 1;
    let last = Final { version, balance: 1000, entries: entries.iter().map(|op| (*op).to_owned()).collect() };
    let mut evidence = Evidence { operations, ..Evidence::default() };
    evidence.ledgers.insert("a".to_owned(), last);
    let made = ["made"].iter().chain(entries);
    let notes = made.enumerate().map(|(at, op)| note(op, "a", i64::try_from(at).unwrap_or(0) + 1, None, 0));
    evidence.notes.extend(notes);
    evidence
}
