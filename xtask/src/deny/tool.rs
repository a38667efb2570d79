//! cargo-deny itself: always the same version, built from its crate when it is missing, and kept in `target/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::status_within;

use crate::servers::{cargo, root};

const VERSION: &str = "0.20.2";

/// It builds in about 100 seconds of one core. A registry that does not answer is to fail the step by its name.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// cargo-deny of the version that is wanted.
pub(crate) struct CargoDeny {
    program: PathBuf,
}

/// What cargo-deny says of a graph of crates.
pub(crate) struct Said {
    /// Whether every rule holds.
    pub(crate) is_ok: bool,
    /// Its findings, and one line with what was checked.
    pub(crate) text: String,
}

impl CargoDeny {
    /// Installs it, unless it is there.
    pub(crate) fn installed() -> Result<CargoDeny, String> {
        let folder = root().join("target/tools");
        let program = folder.join("bin/cargo-deny");
        if !is_wanted(&program) {
            install(&folder).map_err(|reason| format!("cargo-deny {VERSION} could not be installed: {reason}"))?;
        }
        match is_wanted(&program) {
            true => Ok(CargoDeny { program }),
            false => Err(format!("{} is not cargo-deny {VERSION}", program.display())),
        }
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
        // An exception that nothing needs any more is an open door.
        command.args(["check", "--hide-inclusion-graph", "-D", "unmatched-skip", "-D", "unnecessary-skip"]);
        let output = command.current_dir(root()).stdin(Stdio::null()).output().map_err(said)?;
        let text = [output.stderr, output.stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok(Said { is_ok: output.status.success(), text })
    }
}

fn install(folder: &Path) -> Result<(), String> {
    println!("==> cargo-deny: building {VERSION} once");
    let mut install = cargo();
    // For a graph of some hundred crates it need not be fast.
    install.args(["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--force", "--root"]);
    install.arg(folder).stdin(Stdio::null()).current_dir(root());
    match status_within(LONGEST, &mut install) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("cargo install: {status}")),
        Ok(None) => Err(format!("cargo install was ended after {} minutes", LONGEST.as_secs() / 60)),
        Err(error) => Err(format!("cargo could not be started: {error}")),
    }
}

fn is_wanted(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == format!("cargo-deny {VERSION}").as_bytes())
}

fn own_rules() -> Result<String, String> {
    let rules = root().join("deny.toml");
    fs::read_to_string(&rules).map_err(|error| format!("{}: {error}", rules.display()))
}

/// The rules, with advisories from this folder. Their age is looked at here: cargo-deny goes by the time of the last fetch, which
/// says nothing of a copy.
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
