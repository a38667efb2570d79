//! The results of the changes.

use std::time::Duration;

use crate::guarantees::change::{Change, Edit};
use crate::guarantees::document::{Row, Test};
use crate::guarantees::trial::{Outcome, complaint};

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A test failed, as it should, with this message.
    Caught(String),
    /// Every test passed.
    Survived,
    /// The compiler refused it: the tests have shown nothing.
    DidNotCompile,
    /// No test has such a name.
    NoTest,
    /// A text does not occur exactly once.
    DoesNotApply(String),
}

impl Verdict {
    /// The meaning of the tests' outcome for a change.
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Failed => Verdict::Caught(complaint()),
            Outcome::Passed => Verdict::Survived,
            Outcome::DidNotCompile => Verdict::DidNotCompile,
            Outcome::NoTest => Verdict::NoTest,
        }
    }

    fn shown(&self) -> &str {
        match self {
            Verdict::Caught(_) => "caught",
            Verdict::Survived => "SURVIVED",
            Verdict::DidNotCompile => "DID NOT COMPILE",
            Verdict::NoTest => "NO SUCH TEST",
            Verdict::DoesNotApply(_) => "DOES NOT APPLY",
        }
    }
}

/// The verdicts so far.
#[derive(Default)]
pub(super) struct Report {
    caught: usize,
    /// A line for each change that was not caught.
    others: Vec<String>,
}

impl Report {
    /// Records a verdict, and prints it.
    pub(super) fn note(&mut self, row: &Row, mutant: &[Edit], verdict: Verdict, took: Duration) {
        let reason = match &verdict {
            Verdict::Caught(reason) | Verdict::DoesNotApply(reason) => format!(" ({reason})"),
            _ => String::new(),
        };
        let edits: Vec<_> = mutant.iter().map(shown).collect();
        let line =
            format!("{:<15} {}: {}: {}{reason}", verdict.shown(), row.section, row.guarantee, edits.join(" and "));
        println!("{line} [{:.0} s]", took.as_secs_f32());
        if matches!(verdict, Verdict::Caught(_)) {
            self.caught += 1;
        } else {
            self.others.push(line);
        }
    }

    /// Prints the changes that were not caught, and the counts. Returns whether all were caught.
    pub(super) fn show(&self) -> bool {
        println!("\n{} changes were made, {} were caught", self.caught + self.others.len(), self.caught);
        self.others.iter().for_each(|line| println!("{line}"));
        self.others.is_empty()
    }
}

/// A long text in one short line.
fn shown(edit: &Edit) -> String {
    let short = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
    };
    format!("{}: `{}` → `{}`", edit.file, short(&edit.old), short(&edit.new))
}

/// Prints rows with their changes, the counts, and the problems of the document. Returns whether there are none.
pub(super) fn list(rows: &[&Row], problems: &[String]) -> bool {
    let (mut made, mut changes, mut by_hand, mut several) = (0, 0, 0, 0);
    for row in rows {
        let what = match &row.change {
            Ok(Change::Mutants(mutants)) => {
                (made, changes) = (made + 1, changes + mutants.len());
                format!("{} change(s)", mutants.len())
            }
            Ok(Change::ByHand) => {
                by_hand += 1;
                "by hand".to_owned()
            }
            Ok(Change::Several) => {
                several += 1;
                "-".to_owned()
            }
            Err(_) => "not read".to_owned(),
        };
        let tests: Vec<_> = row.tests.iter().map(Test::shown).collect();
        println!("{what:<12} {}: {}: {}", row.section, row.guarantee, tests.join(", "));
    }
    println!(
        "\n{} rows: {made} with {changes} changes, {by_hand} by hand, {several} kept by several lines",
        rows.len()
    );
    problems.iter().for_each(|problem| println!("WRONG {problem}"));
    problems.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarantees::document::Document;

    fn row() -> Row {
        let text = "| guarantee | kept in | test | delete or change to see it fail |\n|---|---|---|---|\n| g | `a.rs` | `t n` | `x` |\n";
        Document::parse(text).expect("a document").rows.remove(0)
    }

    #[test]
    fn only_what_a_test_noticed_counts_as_caught() {
        let row = row();
        let others = [Verdict::Survived, Verdict::DidNotCompile, Verdict::NoTest, Verdict::DoesNotApply(String::new())];
        for other in others {
            let mut report = Report::default();
            report.note(&row, &[], Verdict::Caught(String::new()), Duration::ZERO);
            assert!(report.show());
            report.note(&row, &[], other, Duration::ZERO);
            assert!(!report.show());
            assert_eq!(report.caught, 1);
        }
    }

    #[test]
    fn a_passed_test_means_that_the_change_survived() {
        assert_eq!(Verdict::of(Outcome::Passed), Verdict::Survived);
        assert!(matches!(Verdict::of(Outcome::Failed), Verdict::Caught(_)));
    }
}
