//! cargo-deny itself, and its input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::Tool;
use testkit::tasks::root;

const TOOL: Tool =
    Tool { name: "cargo-deny", version: "0.20.2", asked: &["--version"], prints: "cargo-deny ", options: &[] };

/// cargo-deny in the required version.
pub(crate) struct CargoDeny {
    program: PathBuf,
}

/// The result of cargo-deny for a graph of crates.
pub(crate) struct Said {
    /// Whether every rule holds.
    pub(crate) is_ok: bool,
    /// Its findings, and one line with the checked rules.
    pub(crate) text: String,
}

impl CargoDeny {
    /// Installs it, unless it is installed.
    pub(crate) fn installed() -> Result<CargoDeny, String> {
        Ok(CargoDeny { program: TOOL.installed()? })
    }

    /// Checks this graph by the project's rules, with the advisories of the folder `databases`.
    pub(crate) fn check(&self, metadata: &serde_json::Value, databases: &Path) -> Result<Said, String> {
        let said = |error: std::io::Error| format!("{}: {error}", databases.display());
        let (graph, rules) = (databases.join("metadata.json"), databases.join("deny.toml"));
        fs::write(&graph, metadata.to_string()).map_err(said)?;
        fs::write(&rules, with_databases(&own_rules()?, databases)).map_err(said)?;
        let mut command = Command::new(&self.program);
        command.args(["--offline", "--workspace", "--color=never", "--config"]).arg(&rules);
        command.arg("--metadata-path").arg(&graph);
        // An unused exception could hide a later violation.
        command.args(["check", "--hide-inclusion-graph", "-D", "unmatched-skip", "-D", "unnecessary-skip"]);
        let output = command.current_dir(root()).stdin(Stdio::null()).output().map_err(said)?;
        let text = [output.stderr, output.stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok(Said { is_ok: output.status.success(), text })
    }
}

fn own_rules() -> Result<String, String> {
    let rules = root().join("deny.toml");
    fs::read_to_string(&rules).map_err(|error| format!("{}: {error}", rules.display()))
}

/// The rules, with advisories from this folder. Their age is checked here: cargo-deny uses the time of the last fetch, which
/// is meaningless for a copy.
fn with_databases(rules: &str, databases: &Path) -> String {
    let here =
        format!("[advisories]\ndb-path = {:?}\nmaximum-db-staleness = \"P100Y\"\n", databases.display().to_string());
    rules.replacen("[advisories]\n", &here, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_have_a_place_for_the_database() {
        let rules = with_databases(&own_rules().expect("deny.toml"), Path::new("/somewhere"));
        assert!(rules.contains("[advisories]\ndb-path = \"/somewhere\"\n"), "{rules}");
    }
}
