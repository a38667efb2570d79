//! `cargo xtask guarantees`: makes each change of `docs/guarantees.md`, one after the other, in a copy of the project, and checks that a
//! test fails. A change without a failing test is a finding.

mod change;
mod check;
mod document;
mod report;
mod scratch;
mod shard;
mod tables;
mod trial;

use std::process::ExitCode;
use std::time::Instant;

use crate::guarantees::change::{Change, Mutant};
use crate::guarantees::document::{Document, Row, Test};
use crate::guarantees::report::{Report, Verdict};
use crate::guarantees::scratch::Scratch;
pub(crate) use crate::guarantees::shard::Shard;
use crate::guarantees::trial::{Outcome, Trials, log};
use crate::{quick, steps, verify};

/// Runs the rows of a shard with one of these texts in their section, guarantee or tests, or lists them.
pub(crate) fn run(only: &[String], shard: Shard, list: bool) -> ExitCode {
    let ran = Document::read().and_then(|document| {
        let rows: Vec<_> = shard.of(document.rows.iter().filter(|row| is_chosen(row, only))).collect();
        if list { Ok(report::list(&rows, &check::problems(&document))) } else { make_all(&document, &rows) }
    });
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("FAILED guarantees: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn is_chosen(row: &Row, only: &[String]) -> bool {
    let is_in = |part: &String| {
        row.section.contains(part)
            || row.guarantee.contains(part)
            || row.tests.iter().any(|test| test.shown().contains(part))
    };
    only.is_empty() || only.iter().any(is_in)
}

/// Makes every change of these rows. Returns whether each was caught.
fn make_all(document: &Document, rows: &[&Row]) -> Result<bool, String> {
    // The tests of the rows start the servers and browsers of the steps.
    steps::install(quick::steps().chain(&verify::PARTS))?;
    let scratch = Scratch::refresh()?;
    let mut trials = Trials::new(document, &scratch);
    let chosen: Vec<_> = rows.iter().filter_map(|row| Some((*row, mutants(row)?))).collect();
    // A test that fails without a change, or does not exist, shows nothing when it fails.
    let tests: Vec<_> = chosen.iter().flat_map(|(row, _)| &row.tests).collect();
    println!("==> {} rows: first their tests, without any change", chosen.len());
    let before = trials.run(&tests)?;
    if before != Outcome::Passed {
        return Err(format!("without any change: {before:?}; see {}", log().display()));
    }
    let mut report = Report::default();
    for (row, mutants) in chosen {
        let tests: Vec<&Test> = row.tests.iter().collect();
        for mutant in mutants {
            let start = Instant::now();
            let verdict = match scratch.make(mutant) {
                Ok(_made) => Verdict::of(trials.run(&tests)?),
                Err(reason) => Verdict::DoesNotApply(reason),
            };
            report.note(row, mutant, verdict, start.elapsed());
        }
    }
    Ok(report.show())
}

/// The changes that a machine can make for a row, if any.
fn mutants(row: &Row) -> Option<&[Mutant]> {
    match &row.change {
        Ok(Change::Mutants(mutants)) => Some(mutants),
        _ => None,
    }
}
