//! The changes of `changes.txt`. `tests/repository` compiles this file as well, so that code that moves without its change is noticed early.

use std::fs;
use std::path::Path;

pub(crate) const CHANGES: &str = include_str!("../changes.txt");

/// A rule, edits that break it together, and the test that notices.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    pub(crate) rule: &'a str,
    pub(crate) edits: Vec<Edit<'a>>,
    pub(crate) program: &'a str,
    pub(crate) test: &'a str,
}

/// A text of a file, which occurs exactly once, and its replacement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edit<'a> {
    pub(crate) file: &'a str,
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
}

impl Edit<'_> {
    /// The text after this edit.
    ///
    /// # Errors
    /// If the old text does not occur exactly once.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(self.old).count() {
            1 => Ok(text.replacen(self.old, self.new, 1)),
            times => Err(format!("{}: `{}` occurs {times} times, and has to occur once", self.file, self.old)),
        }
    }
}

/// Reads the changes: paragraphs of a rule; of `in FILE`, `- OLD` and, unless it is deleted, `+ NEW`, for each edit; and of `test DATABASE NAME`.
/// Lines that begin with `#` are comments.
pub(crate) fn changes(text: &str) -> Result<Vec<Change<'_>>, String> {
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

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::tasks::root;

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
}
