//! What became of the mutants.

use std::path::Path;

use serde_json::Value;

/// The numbers of one room.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) caught: u64,
    /// The tests did not end.
    pub(super) timeout: u64,
    /// The change does not compile.
    pub(super) unviable: u64,
    pub(super) missed: u64,
    /// Left out by `.cargo/mutants.toml`, with a reason.
    pub(super) explained: u64,
}

impl Outcome {
    /// From a file of cargo-mutants.
    ///
    /// # Errors
    /// The problem of the file.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let problem = |error: &dyn ToString| format!("{}: {}", path.display(), error.to_string());
        let text = std::fs::read_to_string(path).map_err(|error| problem(&error))?;
        let outcomes: Value = serde_json::from_str(&text).map_err(|error| problem(&error))?;
        let number = |name: &str| outcomes[name].as_u64().ok_or_else(|| problem(&format!("no number `{name}`")));
        Ok(Outcome {
            caught: number("caught")?,
            timeout: number("timeout")?,
            unviable: number("unviable")?,
            missed: number("missed")?,
            explained: 0,
        })
    }

    /// All mutants of the room.
    fn all(self) -> u64 {
        self.caught + self.timeout + self.unviable + self.missed + self.explained
    }
}

/// The head of the table, and a line for each room.
pub(super) fn table(rooms: &[(&str, Outcome)]) -> Vec<String> {
    let head = "| code | mutants | caught | timeout | unviable | missed | explained |".to_owned();
    let line = |(name, outcome): &(&str, Outcome)| {
        let Outcome { caught, timeout, unviable, missed, explained } = outcome;
        format!("| {name} | {} | {caught} | {timeout} | {unviable} | {missed} | {explained} |", outcome.all())
    };
    [head, "|---|---|---|---|---|---|---|".to_owned()].into_iter().chain(rooms.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_shown_with_their_sum() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = r#"{"outcomes": [], "total_mutants": 10, "missed": 1, "caught": 6, "timeout": 1, "unviable": 2}"#;
        std::fs::write(file.path(), text).expect("a file");
        let outcome = Outcome { explained: 3, ..Outcome::read(file.path()).expect("numbers") };
        assert_eq!(table(&[("errors", outcome)])[2], "| errors | 13 | 6 | 1 | 2 | 1 | 3 |");
        std::fs::write(file.path(), "{}").expect("a file");
        assert!(Outcome::read(file.path()).is_err_and(|problem| problem.ends_with("no number `caught`")));
    }
}
