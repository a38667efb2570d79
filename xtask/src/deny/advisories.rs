//! The database of advisories: its place, its age, and the place that cargo-deny reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jiff::civil::Date;

/// The variable with a folder of RustSec's advisory-db.
const VARIABLE: &str = "TENURE_ADVISORY_DB";

/// The name under which cargo-deny looks for RustSec's database.
const NAME: &str = "advisory-db-3157b0e258782691";

/// RustSec publishes several advisories a week. After this number of days a warning says that there are newer ones.
const FRESH_FOR_DAYS: i32 = 90;

const REFRESH: &str = "CONTRIBUTING.md says how to fetch a newer one";

/// A database of advisories on this machine.
pub(crate) struct Found {
    folder: PathBuf,
    newest: Date,
}

impl Found {
    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The database that the environment names; else the one that `cargo deny fetch` or cargo-audit has fetched; else none.
///
/// # Errors
/// The folder in the environment is no database.
pub(crate) fn find() -> Result<Option<Found>, String> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        let found = look(&folder);
        return match found {
            Some(found) => Ok(Some(found)),
            None => Err(format!("{VARIABLE}: there are no advisories in {}", folder.join("crates").display())),
        };
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let places = home.into_iter().flat_map(|home| [home.join("advisory-dbs").join(NAME), home.join("advisory-db")]);
    Ok(places.filter_map(|folder| look(&folder)).max_by_key(|found| found.newest))
}

/// The warning about the data that was used on this day, if any.
pub(crate) fn warning(found: Option<&Found>, today: Date) -> Option<String> {
    let Some(Found { newest, .. }) = found else {
        return Some(format!(
            "no advisory was looked at, because there is no advisory database on this machine ({VARIABLE}); {REFRESH}"
        ));
    };
    let days = (today - *newest).get_days();
    (days > FRESH_FOR_DAYS)
        .then(|| format!("the newest advisory that was looked at is of {newest}, {days} days ago; {REFRESH}"))
}

/// A folder in which cargo-deny finds these advisories, or none at all.
pub(crate) fn prepare(databases: &Path, from: Option<&Path>) -> Result<PathBuf, String> {
    let said = |error: std::io::Error| format!("{}: {error}", databases.display());
    if databases.exists() {
        fs::remove_dir_all(databases).map_err(said)?;
    }
    let database = databases.join(NAME);
    fs::create_dir_all(database.join(".git")).map_err(said)?;
    // cargo-deny requires the time of the fetch, also for a copy without a history.
    fs::write(database.join(".git/FETCH_HEAD"), "").map_err(said)?;
    match from {
        Some(from) => symlink(from.join("crates").canonicalize().map_err(said)?, database.join("crates")),
        // It does not accept an empty database, and looks for yanked crates only together with advisories.
        None => plant(&database, "no-crate-of-this-project"),
    }
    .map_err(said)?;
    databases.canonicalize().map_err(said)
}

/// Writes an advisory about every version of a crate into a database.
pub(crate) fn plant(database: &Path, name: &str) -> std::io::Result<()> {
    let of_crate = database.join("crates").join(name);
    fs::create_dir_all(&of_crate)?;
    let advisory = format!(
        "```toml\n[advisory]\nid = \"RUSTSEC-2000-0001\"\npackage = \"{name}\"\ndate = \"2000-01-01\"\n\n\
         [versions]\npatched = []\n```\n\n# Planted\n\nIt is not true.\n"
    );
    fs::write(of_crate.join("RUSTSEC-2000-0001.md"), advisory)
}

/// The database in this folder, if there is one.
fn look(folder: &Path) -> Option<Found> {
    let files = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let advisories = files(&folder.join("crates")).flat_map(|of_crate| files(&of_crate).collect::<Vec<_>>());
    let newest = advisories.filter_map(|file| published(&fs::read_to_string(file).ok()?)).max()?;
    Some(Found { folder: folder.to_owned(), newest })
}

/// The date of an advisory: its line `date = "2026-08-20"`.
fn published(advisory: &str) -> Option<Date> {
    let date = advisory.lines().find_map(|line| line.strip_prefix("date = \"")?.strip_suffix('"'));
    date?.parse().ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn old_and_missing_data_are_said() {
        let found = |newest| Found { folder: PathBuf::new(), newest };
        let said = |found: Option<&Found>| warning(found, date(2026, 11, 22));
        assert_eq!(said(Some(&found(date(2026, 8, 24)))), None);
        assert!(said(Some(&found(date(2026, 8, 23)))).is_some_and(|said| said.contains("2026-08-23, 91 days ago")));
        assert!(said(None).is_some_and(|said| said.contains("no advisory was looked at")));
    }

    #[test]
    fn the_age_is_that_of_the_newest_advisory() {
        let folder = std::env::temp_dir().join(format!("advisories-{}", std::process::id()));
        for (id, date) in [("RUSTSEC-2020-0001", "2020-02-03"), ("RUSTSEC-2021-0009", "2021-01-30")] {
            let of_crate = folder.join("crates").join(id);
            fs::create_dir_all(&of_crate).expect("a folder");
            let text = format!("```toml\n[advisory]\nid = \"{id}\"\ndate = \"{date}\"\n```\n");
            fs::write(of_crate.join(format!("{id}.md")), text).expect("a file");
        }
        assert_eq!(look(&folder).map(|found| found.newest), Some(date(2021, 1, 30)));
        fs::remove_dir_all(&folder).expect("the folder");
        assert!(look(&folder).is_none());
    }
}
