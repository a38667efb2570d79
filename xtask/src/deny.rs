//! `cargo xtask deny`: the crates of Cargo.lock against the rules of `deny.toml`. cargo-deny applies them, without a network: the advisory
//! database is a folder that was fetched before. First, planted crates show that each rule can fail.

mod advisories;
mod planted;
mod tool;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::deny::advisories::Found;
use crate::deny::tool::CargoDeny;
use testkit::tasks::{cargo, root};

/// Checks, and prints the findings.
pub(crate) fn run() -> ExitCode {
    match check() {
        Ok(warnings) => {
            warnings.iter().for_each(|warning| println!("WARNING deny: {warning}"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED deny: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Checks the project. Missing or old data is a warning.
fn check() -> Result<Vec<String>, String> {
    let deny = CargoDeny::installed()?;
    let metadata = metadata()?;
    planted::each_rule_fails(&deny, &metadata)?;
    let found = advisories::find()?;
    let database = advisories::prepare(&root().join("target/deny/advisory-dbs"), found.as_ref().map(Found::folder))?;
    let said = deny.check(&metadata, &database)?;
    if !said.is_ok {
        return Err(format!("the rules are in deny.toml\n{}", said.text));
    }
    print!("{}", said.text);
    Ok(advisories::warning(found.as_ref(), jiff::Zoned::now().date()).into_iter().collect())
}

/// The whole graph of crates, from cargo. The crates of other platforms are fetched for it, from Cargo's own registry.
fn metadata() -> Result<serde_json::Value, String> {
    let mut fetch = cargo();
    fetch.args(["fetch", "--locked", "--quiet"]).current_dir(root());
    output_of(&mut fetch)?;
    let mut metadata = cargo();
    metadata.args(["metadata", "--locked", "--offline", "--all-features", "--format-version=1"]).current_dir(root());
    let json = output_of(&mut metadata)?;
    serde_json::from_slice(&json).map_err(|error| format!("cargo metadata: {error}"))
}

/// The output of a program, if it succeeds; otherwise its errors.
fn output_of(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{program}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
