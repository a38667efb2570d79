//! `cargo xtask sql-changes`: makes each change of `changes.txt` in a copy of the project, one after the other, and expects its test to
//! fail. cargo-mutants (`cargo xtask mutants`) changes expressions of Rust; the rules of a statement of SQL are text.
//!
//! The copy is below `target/sql-changes` and stays with its build. The tests start the servers that they need.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use clap::Parser;
use testkit::tasks::{cargo, copy, debian, root};
use testkit::{Kind, status_within};

const CHANGES: &str = include_str!("../changes.txt");

/// A test that hangs has failed.
const LONGEST_TEST: Duration = Duration::from_secs(4 * 60);
const LONGEST_BUILD: Duration = Duration::from_secs(30 * 60);

/// A rule, edits that break it together, and the test that notices.
#[derive(Debug, PartialEq, Eq)]
struct Change<'a> {
    rule: &'a str,
    edits: Vec<Edit<'a>>,
    program: &'a str,
    test: &'a str,
}

/// A text of a file, which occurs exactly once, and its replacement.
#[derive(Debug, PartialEq, Eq)]
struct Edit<'a> {
    file: &'a str,
    old: &'a str,
    new: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// With the message of the first failed test, so that a person can judge the reason.
    Failed(String),
    DidNotCompile,
}

/// Makes each change in a copy of the project, and sees its test fail
#[derive(Parser)]
#[command(name = "sql-changes")]
struct Arguments {
    /// Only changes with this in their rule or test; may be given several times
    #[arg(long, value_name = "SUBSTRING")]
    only: Vec<String>,
}

fn main() -> ExitCode {
    match make_all(&Arguments::parse().only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED sql-changes: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the changes with one of these texts in their rule or test, or all.
fn make_all(only: &[String]) -> Result<(), String> {
    let mut changes = changes(CHANGES)?;
    let is_in = |change: &Change<'_>, text: &str| [change.rule, change.program, change.test].join(" ").contains(text);
    changes.retain(|change| only.is_empty() || only.iter().any(|text| is_in(change, text)));
    if changes.is_empty() {
        return Err(format!("no rule and no test of verify/sql_changes/changes.txt contains {}", only.join(" or ")));
    }
    debian::install(&[Kind::Postgres.package(), Kind::MariaDb.package()])?;
    let folder = root().join("target/sql-changes");
    let copy = Copy { tree: copy::refresh(&folder.join("tree"))?, folder };
    println!("==> first the tests of {} changes, without any change", changes.len());
    let mut programs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    changes.iter().for_each(|change| programs.entry(change.program).or_default().push(change.test));
    for (program, tests) in programs {
        match copy.test(program, &tests)? {
            Outcome::Passed => {}
            other => return Err(format!("without any change, {program}: {other:?}; see {}", copy.log().display())),
        }
    }
    let mut missed = Vec::new();
    for change in &changes {
        let begun = Instant::now();
        let line = match copy.changed(change)? {
            Outcome::Failed(reason) => format!("caught          {} ({reason})", change.rule),
            Outcome::Passed => format!("SURVIVED        {}", change.rule),
            Outcome::DidNotCompile => format!("DID NOT COMPILE {}", change.rule),
        };
        println!("{line} [{:.0} s]", begun.elapsed().as_secs_f32());
        missed.extend((!line.starts_with("caught")).then_some(line));
    }
    println!("{} of {} changes were caught", changes.len() - missed.len(), changes.len());
    if missed.is_empty() { Ok(()) } else { Err(missed.join("\n")) }
}

/// A copy of the project.
struct Copy {
    folder: PathBuf,
    tree: PathBuf,
}

impl Copy {
    /// Runs the test of a change while it is made. (What a killed run leaves is undone by the next one, which refreshes the copy.)
    fn changed(&self, change: &Change<'_>) -> Result<Outcome, String> {
        let mut before = Vec::new();
        let mut outcome = Ok(());
        for edit in &change.edits {
            let path = self.tree.join(edit.file);
            outcome = outcome.and_then(|()| {
                let text = read(&path)?;
                let changed = edit.apply(&text)?;
                before.push((path.clone(), text));
                copy::write(&path, changed.as_bytes())
            });
        }
        let outcome = outcome.and_then(|()| self.test(change.program, &[change.test]));
        // The last first: a file may have been edited twice.
        for (path, text) in before.iter().rev() {
            copy::write(path, text.as_bytes())?;
        }
        outcome
    }

    fn test(&self, program: &str, tests: &[&str]) -> Result<Outcome, String> {
        let build = self.cargo(program, LONGEST_BUILD, &["--no-run"])?;
        match build {
            Some(status) if status.success() => {}
            Some(_) => return Ok(Outcome::DidNotCompile),
            None => return Err(format!("{program} was not built in {} s", LONGEST_BUILD.as_secs())),
        }
        let status = self.cargo(program, LONGEST_TEST, &[&["--"], tests, others(program)].concat())?;
        let log = read(&self.log())?;
        match status {
            Some(status) if status.success() => match tests.iter().find(|test| !has_run(&log, test)) {
                Some(test) => Err(format!("{program} has no test {test}")),
                None => Ok(Outcome::Passed),
            },
            Some(_) => Ok(Outcome::Failed(complaint(&log))),
            None => Ok(Outcome::Failed(format!("it was ended after {} s", LONGEST_TEST.as_secs()))),
        }
    }

    /// Cargo in the copy, with its output in a file.
    fn cargo(&self, program: &str, limit: Duration, more: &[&str]) -> Result<Option<ExitStatus>, String> {
        let log = File::create(self.log()).map_err(|error| format!("{}: {error}", self.log().display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command: Command = cargo();
        let of = if program == "sqlite" { "on_sqlite" } else { "on_servers" };
        command.args(["test", "--workspace", "--all-features", "--test", of]).args(more);
        command.current_dir(&self.tree).stdout(log).stderr(errors).env("RUST_BACKTRACE", "0");
        command.env("CARGO_TARGET_DIR", self.tree.with_file_name("build"));
        status_within(limit, &mut command).map_err(|error| format!("cargo could not be started: {error}"))
    }

    /// The last output of cargo.
    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

/// The options that leave out the tests of the other server: both are in one program.
fn others(database: &str) -> &'static [&'static str] {
    match database {
        "postgres" => &["--skip", "mysql::", "--skip", "both::"],
        "mysql" => &["--skip", "postgres::", "--skip", "both::"],
        _ => &[],
    }
}

impl Edit<'_> {
    /// The text after this edit.
    ///
    /// # Errors
    /// If the old text does not occur exactly once.
    fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(self.old).count() {
            1 => Ok(text.replacen(self.old, self.new, 1)),
            times => Err(format!("{}: `{}` occurs {times} times, and has to occur once", self.file, self.old)),
        }
    }
}

/// Reads the changes: paragraphs of a rule; of `in FILE`, `- OLD` and, unless it is deleted, `+ NEW`, for each edit; and of `test DATABASE NAME`.
/// Lines that begin with `#` are comments.
fn changes(text: &str) -> Result<Vec<Change<'_>>, String> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        paragraph.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect::<Vec<_>>()
    });
    paragraphs.filter(|lines| !lines.is_empty()).map(|lines| change(&lines)).collect()
}

fn change<'a>(lines: &[&'a str]) -> Result<Change<'a>, String> {
    let wrong = |why: &str| format!("verify/sql_changes/changes.txt: {why}: {}", lines.join(" / "));
    let [rule, edited @ .., test] = lines else { return Err(wrong("a change has a rule, edits and a test")) };
    let (program, test) = test
        .strip_prefix("test ")
        .and_then(|test| test.split_once(' '))
        .ok_or_else(|| wrong("the last line is not `test DATABASE NAME`"))?;
    let (mut edits, mut file) = (Vec::new(), None);
    for line in edited {
        match (line.split_once(' '), file, edits.last_mut()) {
            (Some(("in", path)), ..) => file = Some(path),
            (Some(("-", old)), Some(file), _) => edits.push(Edit { file, old, new: "" }),
            (Some(("+", new)), _, Some(edit)) if edit.new.is_empty() => edit.new = new,
            _ => return Err(wrong(&format!("`{line}` is no `in FILE`, `- OLD` or `+ NEW` at this place"))),
        }
    }
    if edits.is_empty() { Err(wrong("it changes nothing")) } else { Ok(Change { rule, edits, program, test }) }
}

/// Whether a test is among those that passed.
fn has_run(log: &str, test: &str) -> bool {
    let passed = log.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    passed.into_iter().any(|name| name.rsplit("::").next() == Some(test))
}

/// The first line with a message, after the line with the place of the panic.
fn complaint(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains(" panicked at "));
    lines.nth(1).unwrap_or("no test said why").chars().take(120).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moved code needs its change to follow.
    #[test]
    fn every_change_finds_its_text_and_its_test() {
        let tests = [
            "tests/conformance",
            "tests/conformance/classic",
            "tests/lost_answers",
            "tests/on_servers/mysql",
            "tests/on_servers/postgres",
            "tests/on_sqlite",
        ];
        let files = tests.iter().flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder"));
        let tests: String = files.filter_map(|file| fs::read_to_string(file.expect("a file").path()).ok()).collect();
        let changes = changes(CHANGES).expect("the changes are read");
        assert!(changes.len() >= 30, "only {} changes", changes.len());
        let mut wrong = Vec::new();
        for change in changes {
            for edit in &change.edits {
                wrong.extend(read(&root().join(edit.file)).and_then(|text| edit.apply(&text)).err());
            }
            let is_there = tests.contains(&format!("fn {}(", change.test));
            let is_database = ["sqlite", "postgres", "mysql"].contains(&change.program);
            wrong.extend((!is_there || !is_database).then(|| format!("no test {} {}", change.program, change.test)));
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn a_change_is_read_with_its_edits_and_its_test() {
        let text = "# A comment.\n\nA rule\nin a.rs\n- old one\n+ new one\n- gone\nin b.rs\n- x\ntest sqlite name\n";
        let edit = |file, old, new| Edit { file, old, new };
        let edits = vec![edit("a.rs", "old one", "new one"), edit("a.rs", "gone", ""), edit("b.rs", "x", "")];
        let expected = Change { rule: "A rule", edits, program: "sqlite", test: "name" };
        assert_eq!(changes(text), Ok(vec![expected]));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for text in [
            "A rule",
            "A rule\ntest sqlite name",
            "A rule\nin a.rs\n- x",
            "A rule\nin a.rs\n- x\ntest sqlite",
            "A rule\n- x\ntest sqlite name",
            "A rule\nin a.rs\n+ x\ntest sqlite name",
            "A rule\nin a.rs\n- x\n+ y\n+ z\ntest sqlite name",
            "A rule\nin a.rs\n- x\nor y\ntest sqlite name",
        ] {
            assert!(changes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_has_to_occur_exactly_once() {
        let edit = Edit { file: "", old: "a", new: "b" };
        assert_eq!(edit.apply("xay").as_deref(), Ok("xby"));
        assert!(edit.apply("a a").is_err() && edit.apply("x").is_err());
    }

    #[test]
    fn only_a_test_of_that_name_that_passed_has_run() {
        let log = "running 2 tests\ntest leases::one ... ok\ntest leases::one_more ... FAILED\n";
        assert!(has_run(log, "one"));
        assert!(!has_run(log, "more") && !has_run(log, "one_more"));
    }

    #[test]
    fn a_failed_test_is_shown_by_what_it_said() {
        let log = "running 1 test\nthread 'a' panicked at a.rs:1:2:\nassertion failed\nnote: b\nthread 'c' panicked at c\nd\n";
        assert_eq!(complaint(log), "assertion failed");
        assert_eq!(complaint("running 1 test\n"), "no test said why");
    }
}
