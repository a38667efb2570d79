//! The arrow of ARCHITECTURE.md, held by reading the source: which room may name what.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // What stands under `#[cfg(test)]`, or in a comment, belongs to no room.
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

fn is(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path.ends_with(name))
}

#[test]
fn who_decides_without_waiting_does_no_io() {
    let pure = [
        "lease.rs",
        "lease/key.rs",
        "lease/lock_id.rs",
        "lease/no_lock.rs",
        "lease/owner.rs",
        "version.rs",
        "lock_mode.rs",
        "policy.rs",
        "conflict.rs",
        "diff.rs",
        "mapping.rs",
        "children.rs",
        "children/reader.rs",
        "children/tables.rs",
        "children/writer.rs",
        "value.rs",
        "error.rs",
        "error/locks.rs",
        "error/people.rs",
        "request.rs",
        "presence.rs",
        "limits.rs",
        "shown.rs",
        "cursor.rs",
        "lease_set.rs",
        "listing.rs",
        "error/maintenance.rs",
        "error/several.rs",
        // With the diff of aggregates, that of two looks at a lock.
        "watch/event.rs",
        "watch/seen.rs",
        "watch/told.rs",
    ];
    // Files of the backends may have the names of what they store.
    let above = |path: &Path| !path.to_string_lossy().contains("/src/backend/");
    let mut pure: Vec<_> = sources("src").into_iter().filter(|(path, _)| above(path) && is(path, &pure)).collect();
    assert_eq!(pure.len(), 32);
    pure.extend(sources("src/value"));
    nobody_names(
        &pure,
        &["sqlx", "tokio", "async ", ".await", "crate::backend", "crate::database", "crate::transaction"],
    );
    nobody_names(
        &sources("shop/src/domain"),
        &["sqlx", "tokio", "axum", "async ", ".await", "crate::use_cases", "crate::pages"],
    );
}

#[test]
fn sql_is_only_under_backend_and_migrations() {
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
                !path.components().any(|part| part.as_os_str() == "backend") && !path.ends_with("backend.rs")
            })
            .collect();
        nobody_names(&outside, &verbs);
    }
}

#[test]
fn the_library_knows_nothing_of_http_and_only_its_backends_know_a_database() {
    let library = sources("src");
    nobody_names(&library, &["axum", "hyper", "tower"]);
    let above: Vec<_> =
        library.into_iter().filter(|(path, _)| !path.to_string_lossy().contains("/src/backend/")).collect();
    nobody_names(&above, &["sqlx::query", "PoolConnection", "pragma"]);
}

#[test]
fn pages_go_through_use_cases_and_use_cases_know_no_pages() {
    nobody_names(&sources("shop/src/pages"), &["sqlx", "Repository", "LockManager", ".begin()"]);
    nobody_names(&sources("shop/src/use_cases"), &["axum", "askama", "crate::pages", "crate::texts", "sqlx"]);
}
