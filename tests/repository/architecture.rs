//! The order of imports of ARCHITECTURE.md, checked on the source: which folder may name what.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Code under `#[cfg(test)]` and comments are not checked.
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            found.push((path, code));
        }
    }
    assert!(!found.is_empty(), "no source under {directory}");
    found
}

fn nobody_names(sources: &[(PathBuf, String)], words: &[&str]) {
    for (path, code) in sources {
        for word in words {
            assert!(!code.contains(word), "{} names `{word}`, which belongs in another room", path.display());
        }
    }
}

/// The folders of the library, in order. A folder imports only earlier folders.
const ROOMS: [&str; 14] = [
    "clock",
    "aggregate",
    "lease",
    "row_lock",
    "version",
    "error",
    "db",
    "store",
    "telemetry",
    "lock_table",
    "unit_of_work",
    "lock_manager",
    "sea_orm",
    "fuzzing",
];

/// How many of the folders, from the first on, do no I/O.
const PURE: usize = 6;

fn room(path: &Path) -> Option<usize> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let first = path.strip_prefix(source).unwrap().components().next().unwrap().as_os_str().to_owned();
    match ROOMS.iter().position(|room| first == *room) {
        None if first == "lib.rs" => None,
        None => panic!("{} is in no room that this test knows", path.display()),
        room => room,
    }
}

/// The folders that a source names: `crate::folder`, also in the groups of `use crate::{...}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let named = at > 0 && (code.as_bytes()[at - 1].is_ascii_alphanumeric() || code.as_bytes()[at - 1] == b'_');
        let rest = &code[at + "crate::".len()..];
        assert!(!rest.starts_with('{'), "one `use crate::room::...` per room, so that this test can read it");
        if !named {
            found.push(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

#[test]
fn folders_import_only_earlier_folders() {
    let mut read = 0;
    for (path, code) in sources("src") {
        let Some(own) = room(&path) else { continue };
        for import in imports(&code) {
            let other = ROOMS.iter().position(|room| *room == import);
            let other =
                other.unwrap_or_else(|| panic!("{} imports `crate::{import}`, which is no room", path.display()));
            assert!(other <= own, "{} imports `{import}`, which stands above `{}`", path.display(), ROOMS[own]);
            read += 1;
        }
    }
    assert!(read > 500, "only {read} imports were found");
}

#[test]
fn source_folder_contains_only_folders() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.path().is_dir() || entry.file_name() == "lib.rs", "{} is in no room", entry.path().display());
    }
    for name in ROOMS {
        let head = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name).join("mod.rs");
        assert!(fs::read_to_string(head).unwrap().starts_with("//! "), "{name} does not say what is in it");
    }
}

#[test]
fn vocabulary_does_no_io() {
    let words = ["sqlx", "tokio", "async ", ".await", "axum"];
    let pure: Vec<_> =
        sources("src").into_iter().filter(|(path, _)| room(path).is_some_and(|room| room < PURE)).collect();
    assert!(pure.len() > 40);
    nobody_names(&pure, &words);
    nobody_names(
        &sources("shop/src/domain"),
        &["sqlx", "tokio", "axum", "async ", ".await", "crate::use_cases", "crate::pages"],
    );
}

#[test]
fn sql_is_only_in_the_store_and_what_differs_in_db() {
    let verbs = [
        "\"select ",
        "\"insert ",
        "\"update ",
        "\"delete ",
        "\"create ",
        "\"SELECT ",
        "\"INSERT ",
        "\"UPDATE ",
        "\"DELETE ",
    ];
    for directory in ["src", "web/src", "shop/src"] {
        let outside: Vec<_> = sources(directory)
            .into_iter()
            .filter(|(path, _)| {
                let rooms = ["db", "store", "storage"];
                !path.components().any(|part| rooms.iter().any(|room| part.as_os_str() == *room))
            })
            .collect();
        nobody_names(&outside, &verbs);
    }
}

#[test]
fn library_has_no_http_and_only_db_and_store_know_databases() {
    let library = sources("src");
    nobody_names(&library, &["axum", "hyper", "tower"]);
    let above: Vec<_> = library
        .into_iter()
        .filter(|(path, _)| !["/src/db/", "/src/store/"].iter().any(|room| path.to_string_lossy().contains(room)))
        .collect();
    nobody_names(&above, &["sqlx::query", "PoolConnection", "pragma"]);
}

#[test]
fn pages_go_through_use_cases_and_use_cases_know_no_pages() {
    nobody_names(&sources("shop/src/pages"), &["sqlx", "Repository", "LockManager", ".begin()"]);
    nobody_names(&sources("shop/src/use_cases"), &["axum", "askama", "crate::pages", "crate::texts", "sqlx"]);
}
