//! The repository itself: the order of imports, what documents name, the programs of `examples/`, the texts that the changes of SQL need.

#![cfg(feature = "sqlite")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod architecture;
mod documents;
mod dropped_calls;
mod examples;
mod guide;
mod guide_testing;
#[path = "../../verify/sql_changes/src/changes.rs"]
mod sql_changes;

/// All migrations of a database, in their order.
fn migrations(database: &str) -> String {
    let folder = std::fs::read_dir(testkit::tasks::root().join("migrations").join(database)).unwrap();
    let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}
