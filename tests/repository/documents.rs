//! The tests and files named in the tables of `docs/` exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 13] = [
    "src",
    "tests",
    "derive",
    "web",
    "server",
    "shop",
    "browser",
    "testkit",
    "xtask",
    "bench",
    "verify",
    "migrations",
    "docs",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the project's folders, by its path from the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<_> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    found
}

/// The names of the functions in each file of Rust: tests, and the cases of the conformance suite.
fn functions() -> BTreeMap<PathBuf, BTreeSet<String>> {
    let rust = files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let names = |text: &str| {
        let after = text.split("fn ").skip(1);
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        after.map(|rest| rest.split(|letter| !is_of_name(letter)).next().unwrap().to_owned()).collect()
    };
    rust.map(|path| (path.clone(), names(&fs::read_to_string(root().join(&path)).unwrap()))).collect()
}

/// The cells of the rows of a document's tables, without heads and rules.
fn rows(document: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let is_rule = |line: &str| line.starts_with("|-");
    let is_row = |at: usize| {
        let is_head = lines.get(at + 1).is_some_and(|next| is_rule(next));
        lines[at].starts_with('|') && !is_rule(lines[at]) && !is_head
    };
    let cells = |line: &str| {
        let line = line.trim_matches('|').replace("\\|", "\u{0}");
        line.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    (0..lines.len()).filter(|at| is_row(*at)).map(|at| cells(lines[at])).collect()
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// A row names its tests as `path/from/the/root.rs::name`.
fn missing(cell: &str, functions: &BTreeMap<PathBuf, BTreeSet<String>>) -> Vec<String> {
    let named =
        quoted(cell).into_iter().filter_map(|quoted| quoted.split_once("::").map(|(file, name)| (file, name, quoted)));
    let is_there = |file: &str, name: &str| functions.get(Path::new(file)).is_some_and(|names| names.contains(name));
    named.filter(|(file, name, _)| !is_there(file, name)).map(|(_, _, quoted)| quoted.to_owned()).collect()
}

#[test]
fn every_threat_names_a_test_that_is_there() {
    let functions = functions();
    let rows = rows("docs/evidence/threat-model.md");
    assert!(rows.len() > 40, "the tables are not found");
    let mut wrong = Vec::new();
    for row in &rows {
        let tests = row.last().unwrap();
        let names_one = quoted(tests).iter().any(|quoted| quoted.contains("::"));
        if !names_one {
            wrong.push(format!("{}: no test", row[0]));
        }
        wrong.extend(missing(tests, &functions));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_guarantee_names_tests_and_rooms_that_are_there() {
    let functions = functions();
    let rows = rows("docs/evidence/guarantees.md");
    assert!(rows.len() > 40, "the tables are not found");
    let mut wrong = Vec::new();
    for row in &rows {
        let [guarantee, tests, rooms] = &row[..] else { panic!("{row:?} has no three cells") };
        if !matches!(quoted(tests).len(), 1..=3) || !quoted(tests).iter().all(|test| test.contains("::")) {
            wrong.push(format!("{guarantee}: it names one to three tests, as file::name"));
        }
        wrong.extend(missing(tests, &functions));
        if quoted(rooms).is_empty() {
            wrong.push(format!("{guarantee}: no file or folder that keeps it"));
        }
        wrong.extend(quoted(rooms).iter().filter(|room| !root().join(room).exists()).map(|room| (*room).to_owned()));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_gesture_at_a_form_names_tests_that_are_there() {
    let functions = functions();
    let rows = rows("docs/evidence/forms.md");
    assert!(rows.len() > 30, "the tables are not found");
    for row in &rows {
        let [gesture, tests] = &row[..] else { panic!("{row:?} has no two cells") };
        assert!(tests.contains("::"), "{gesture}: no test");
        assert_eq!(missing(tests, &functions), Vec::<String>::new());
    }
}

#[test]
fn every_state_of_a_page_is_listed_with_tests_that_are_there() {
    let functions = functions();
    let rows = rows("docs/states.md");
    assert!(rows.len() > 60, "the tables are not found");
    let text = fs::read_to_string(root().join("docs/states.md")).unwrap();
    assert_eq!(missing(&text, &functions), Vec::<String>::new());
    let is_said = |cell: &str| ["*waiting*", "not built", "none: "].iter().any(|word| cell.starts_with(word));
    for row in &rows {
        let [state, _, tests, _] = &row[..] else { panic!("{row:?} has no four cells") };
        assert!(tests.contains("::") || is_said(tests), "{state}: no test");
    }
    let listed: BTreeSet<String> = rows.iter().flat_map(|row| states_in(&row[0])).collect();
    let of = |page: &str, last: u8| (1..=last).map(|number| format!("{page}-{number}")).collect::<Vec<_>>();
    // The states that were agreed on. 0, 0b: nothing is reserved yet.
    let agreed =
        [of("OL", 14), of("OV", 7), of("OE", 29), of("LP", 18), of("CP", 14), of("HI", 3), of("AC", 14)].concat();
    let agreed = agreed.into_iter().chain(["OE-0".to_owned(), "OE-0b".to_owned()]);
    assert_eq!(agreed.filter(|state| !listed.contains(state)).collect::<Vec<_>>(), [""; 0], "not in docs/states.md");
    for path in files().into_iter().filter(|path| path.starts_with("shop/src/pages")) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for code in text.split('"').filter(|text| is_state(text)) {
            assert!(listed.contains(code), "{}: {code} is not in docs/states.md", path.display());
        }
    }
}

/// The states in the first cell of a row: `OL-3, OL-4`, `LP-10 to LP-13`.
fn states_in(cell: &str) -> Vec<String> {
    let states: Vec<_> = cell.split([',', ' ', '`']).filter(|text| is_state(text)).map(str::to_owned).collect();
    let Some((page, [first, last])) = cell.split_once(" to ").and_then(|_| {
        let number = |state: &String| state.split_once('-')?.1.parse::<u8>().ok();
        Some((states.first()?.split_once('-')?.0, [number(states.first()?)?, number(states.last()?)?]))
    }) else {
        return states;
    };
    (first..=last).map(|number| format!("{page}-{number}")).collect()
}

/// Two letters, a dash, a number, and perhaps a letter.
fn is_state(text: &str) -> bool {
    let Some((page, number)) = text.split_once('-') else { return false };
    let number = number.trim_end_matches('b');
    ["OL", "OV", "OE", "LP", "CP", "HI", "AC"].contains(&page) && number.parse::<u8>().is_ok()
}

#[test]
fn every_requirement_has_a_verdict_and_evidence() {
    const VERDICTS: [&str; 3] = ["met", "not met", "n/a"];
    let (functions, files) = (functions(), files());
    let rows = rows("docs/evidence/asvs.md");
    let numbers: BTreeSet<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!((rows.len(), numbers.len()), (253, 253), "ASVS 5.0 has 253 requirements up to level 2");
    let mut wrong = Vec::new();
    for row in &rows {
        let [number, _, verdict, shown] = &row[..] else { panic!("{row:?} has no four cells") };
        let is_said = VERDICTS.contains(&verdict.as_str()) && !shown.is_empty();
        let needs_more = verdict == "met" && quoted(shown).is_empty();
        if !is_said || needs_more {
            wrong.push(format!("{number}: {verdict}: {shown}"));
        }
        wrong.extend(missing(shown, &functions));
        let paths = quoted(shown).into_iter().filter(|quoted| quoted.contains('/') && !quoted.contains("::"));
        let is_file = |path: &str| Path::new(path).extension().is_some();
        wrong.extend(
            paths.filter(|path| is_file(path) && !files.iter().any(|file| file == Path::new(path))).map(str::to_owned),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Sentences with figures, and the line of the program that makes each true: a change of one is a change of the other.
#[test]
fn figures_of_the_documents_are_those_of_the_program() {
    const SHIPPING: (&str, &str) =
        ("shop/src/use_cases/stock.rs", "SHIPPING_DEADLINE: Duration = Duration::from_secs(2)");
    const GUARDED: (&str, &str) = ("src/db/connect_options.rs", "self.guarded.unwrap_or(Duration::from_secs(60))");
    const MYSQL: (&str, &str) = ("verify/engines/src/catalog.rs", "name: \"mysql-9.7\"");
    let claims = [
        ("ARCHITECTURE.md", "within two seconds for all waits (`SHIPPING_DEADLINE`", SHIPPING),
        ("docs/guide/several.md", "at most two seconds in all", SHIPPING),
        ("docs/guide/offline.md", "60 s (`ConnectOptions::guarded_transaction`)", GUARDED),
        ("docs/guide/from-hibernate.md", "One that holds a lease is ended after 60 s", GUARDED),
        ("docs/databases.md", "MySQL 9.7 (8.0 and 8.4: never run)", MYSQL),
    ];
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    for (document, sentence, (file, line)) in claims {
        assert!(read(document).contains(sentence), "{document} does not say `{sentence}` any more");
        assert!(read(file).contains(line), "{file} has another `{line}`; {document} says `{sentence}`");
    }
}

#[test]
fn every_source_file_that_a_document_names_is_there() {
    let files = files();
    let mut wrong = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/evidence/decisions.md", "docs/locks.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let prose: String = text.split("```").step_by(2).collect();
        let named = quoted(&prose).into_iter().filter(|name| name.ends_with(".rs") && !name.contains(' '));
        let is_missing = |name: &&str| !files.iter().any(|file| file.ends_with(name));
        wrong.extend(named.filter(is_missing).map(|name| format!("{document}: {name}")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_table_of_the_library_is_named_to_those_who_let_it_create_tables() {
    let texts = ["sqlite", "postgres", "mysql"].map(crate::migrations).concat();
    let name = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
    let texts = texts.replace("if not exists ", "");
    let mut tables: BTreeSet<_> = texts.split("create table ").skip(1).map(name).collect();
    assert!(tables.len() >= 6, "{tables:?}");
    tables.insert("_tenure_migrations".into());
    for page in ["docs/guide/questions.md", "docs/guide/ko/questions.md"] {
        let page = fs::read_to_string(root().join(page)).unwrap();
        let named: BTreeSet<_> = quoted(&page)
            .into_iter()
            .filter(|text| text.trim_start_matches('_').starts_with("tenure_") && !text.contains(':'))
            .map(str::to_owned)
            .collect();
        assert_eq!(named, tables);
    }
}

/// Words that CONTRIBUTING.md replaces.
#[test]
fn texts_use_the_words_of_the_glossary() {
    const PLACES: [&str; 6] = ["src", "web/src", "derive/src", "server/src", "shop/src", "docs"];
    const AVOIDED: [&str; 2] = ["whoever", "in the way"];
    let mut texts = files();
    texts.retain(|path| PLACES.iter().any(|place| path.starts_with(place)) && !path.starts_with("docs/guide/ko"));
    assert!(texts.len() > 200, "the files are not found");
    texts.extend(["README.md".into(), "ARCHITECTURE.md".into()]);
    let mut wrong = Vec::new();
    for path in texts {
        // Pictures are no texts.
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        let lines = text.lines().enumerate();
        let found = lines.filter(|(_, line)| AVOIDED.iter().any(|word| line.to_lowercase().contains(word)));
        wrong.extend(found.map(|(at, line)| format!("{}:{}: {}", path.display(), at + 1, line.trim())));
    }
    assert_eq!(wrong, Vec::<String>::new());
}
