//! Checks that the document's names exist: programs, tests, files, and each text exactly once. It runs nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::guarantees::change::Change;
use crate::guarantees::document::{Document, Row, Test};
use crate::servers::root;

/// The number of rows for a person. Converting a row lowers the number; none may be added.
const BY_HAND: usize = 12;
/// The number of rows without a single responsible line.
const SEVERAL: usize = 8;

/// The problems of the document.
pub(super) fn problems(document: &Document) -> Vec<String> {
    let known = Known::of_the_project();
    let mut problems: Vec<_> = document.rows.iter().flat_map(|row| of_row(document, &known, row)).collect();
    let count = |change: &Change| document.rows.iter().filter(|row| row.change.as_ref() == Ok(change)).count();
    for (what, found, allowed) in
        [("by hand", count(&Change::ByHand), BY_HAND), ("with a dash", count(&Change::Several), SEVERAL)]
    {
        if found != allowed {
            problems.push(format!("{found} rows are {what}, and {allowed} in {}: it may only fall", file!()));
        }
    }
    problems
}

fn of_row(document: &Document, known: &Known, row: &Row) -> Vec<String> {
    let tests = row.tests.iter().filter_map(|test| of_test(document, known, test));
    let files = row.files.iter().filter(|file| known.lacks(file)).map(|file| format!("there is no file {file}"));
    let none = row.tests.is_empty().then(|| "it names no test".to_owned());
    let edits = match &row.change {
        Ok(Change::Mutants(mutants)) => mutants
            .iter()
            .flatten()
            .filter_map(|edit| {
                let text =
                    fs::read_to_string(root().join(&edit.file)).map_err(|error| format!("{}: {error}", edit.file));
                text.and_then(|text| edit.apply(&text)).err()
            })
            .collect(),
        Ok(Change::Several | Change::ByHand) => Vec::new(),
        Err(reason) => vec![reason.clone()],
    };
    tests
        .chain(files)
        .chain(none)
        .chain(edits)
        .map(|what| format!("{}: {}: {what}", row.section, row.guarantee))
        .collect()
}

fn of_test(document: &Document, known: &Known, test: &Test) -> Option<String> {
    if document.program(&test.program).is_none() {
        return Some(format!("there is no program {}", test.program));
    }
    let name = test.name.as_ref()?;
    (!known.names.contains(name)).then(|| format!("there is no test {name}"))
}

/// The files of the project, and the names of tests.
struct Known {
    files: Vec<PathBuf>,
    /// Functions and modules.
    names: BTreeSet<String>,
}

impl Known {
    fn of_the_project() -> Self {
        let (mut files, mut names) = (Vec::new(), BTreeSet::new());
        let mut left = vec![root()];
        while let Some(path) = left.pop() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_ours = name != "target" && name != ".git" && name != "node_modules";
                let entries = is_ours.then(|| fs::read_dir(&path)).into_iter().flatten().flatten();
                left.extend(entries.flatten().map(|entry| entry.path()));
            } else {
                if path.extension().is_some_and(|extension| extension == "rs") {
                    names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
                    names.extend(functions(&fs::read_to_string(&path).unwrap_or_default()));
                }
                files.push(path);
            }
        }
        Known { files, names }
    }

    /// Whether this is a path or file name that does not exist. Paths with alternatives mean several files.
    fn lacks(&self, named: &str) -> bool {
        let path = Path::new(named.trim_start_matches('/'));
        let is_file =
            path.extension().is_some_and(|extension| !extension.is_empty() && named.len() > extension.len() + 1);
        let is_choice = named.contains(['{', '*', '…', ' ', '(']);
        is_file && !is_choice && !self.files.iter().any(|file| file.ends_with(path))
    }
}

/// The names of the functions of a file.
fn functions(text: &str) -> impl Iterator<Item = String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split("fn ").skip(1).map(move |rest| rest.chars().take_while(|letter| is_of_name(*letter)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_document_resolves() {
        let document = Document::read().expect("the document");
        assert!(document.rows.len() > 200, "the tables are not found: {}", document.rows.len());
        assert_eq!(problems(&document), Vec::<String>::new());
    }

    /// The problems of a row whose cells are these.
    fn of_cells(kept_in: &str, test: &str, change: &str) -> Vec<String> {
        let text = format!(
            "| program | command | needs |\n|---|---|---|\n| `sqlite` | `cargo test` | |\n\n\
             | guarantee | kept in | test | delete or change to see it fail |\n|---|---|---|---|\n\
             | g | {kept_in} | {test} | {change} |\n"
        );
        let document = Document::parse(&text).expect("a document");
        of_row(&document, &Known::of_the_project(), &document.rows[0])
    }

    const FILE: &str = "`clippy.toml`";
    const TEST: &str = "`sqlite every_row_of_the_document_resolves`";
    const CHANGE: &str = "`large-error-threshold = 512` → `large-error-threshold = 1`";

    #[test]
    fn a_row_that_resolves_has_no_problem() {
        assert_eq!(of_cells(FILE, TEST, CHANGE), Vec::<String>::new());
        assert_eq!(of_cells(FILE, "`sqlite`", "by hand: look at it"), Vec::<String>::new());
    }

    #[test]
    fn each_name_that_does_not_resolve_is_a_problem() {
        let wrong = [
            ("`gone.toml`", TEST, CHANGE),
            (FILE, "`sqlite gone_test`", CHANGE),
            (FILE, "", CHANGE),
            (FILE, "`elsewhere every_row_of_the_document_resolves`", CHANGE),
            (FILE, TEST, "`no such text`"),
            (FILE, TEST, "`512`"),
            (FILE, TEST, "`gone.toml`: `a`"),
            (FILE, TEST, "the line"),
        ];
        for (kept_in, test, change) in wrong {
            assert!(!of_cells(kept_in, test, change).is_empty(), "{kept_in} {test} {change}");
        }
    }
}
