//! axe-core, with which the browser's stories check accessibility. It is fetched when a step needs it, always the
//! same version, and never becomes a part of the project.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::status_within;

use testkit::tasks::root;

const VERSION: &str = "4.14.1";

/// The variable in which the tests find the path of the script.
pub(crate) const VARIABLE: &str = "TENURE_AXE";

/// A registry that does not answer must fail the step.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// The Debian packages for fetching it: npm, unless it is installed in another way.
pub(crate) fn packages() -> &'static [&'static str] {
    if is_here(&script()) || has_npm() { &[] } else { &["npm"] }
}

/// The path of the script, after it was fetched.
pub(crate) fn fetch() -> Result<PathBuf, String> {
    let script = script();
    if !is_here(&script) {
        install().map_err(|reason| {
            format!("axe-core could not be fetched: {reason}; please see to it that this works: {}", line())
        })?;
    }
    script.canonicalize().map_err(|error| format!("{}: {error}", script.display()))
}

fn install() -> Result<(), String> {
    println!("==> axe-core: {}", line());
    fs::create_dir_all(root().join(DIRECTORY)).map_err(|error| format!("{DIRECTORY}: {error}"))?;
    let mut npm = Command::new("npm");
    npm.args(arguments()).current_dir(root()).stdin(Stdio::null());
    match status_within(LONGEST, &mut npm) {
        Ok(Some(status)) if !status.success() => Err(format!("npm: {status}")),
        Ok(Some(_)) if is_here(&script()) => Ok(()),
        Ok(Some(_)) => Err(format!("npm has brought no {VERSION}")),
        Ok(None) => Err(format!("npm was ended after {} minutes", LONGEST.as_secs() / 60)),
        Err(error) => Err(format!("npm could not be started: {error}")),
    }
}

const DIRECTORY: &str = "target/axe";

fn script() -> PathBuf {
    root().join(DIRECTORY).join("node_modules/axe-core/axe.min.js")
}

/// Without scripts, and without a `package.json`.
fn arguments() -> Vec<String> {
    let fixed = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", DIRECTORY];
    fixed.map(str::to_owned).into_iter().chain([format!("axe-core@{VERSION}")]).collect()
}

fn line() -> String {
    format!("npm {}", arguments().join(" "))
}

/// Whether it is this version: the first line of the script contains it.
fn is_here(script: &Path) -> bool {
    let mut start = [0; 64];
    let read = File::open(script).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    String::from_utf8_lossy(&start[..read]).lines().next().is_some_and(|line| line.ends_with(&format!(" v{VERSION}")))
}

fn has_npm() -> bool {
    let output = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_axe_version_is_accepted() {
        let file = std::env::temp_dir().join(format!("axe-{}.js", std::process::id()));
        for (content, is) in [("4.14.1", true), ("4.14.10", false), ("4.9.0", false)] {
            fs::write(&file, format!("/*! axe v{content}\n * Copyright */")).expect("a file");
            assert_eq!(is_here(&file), is, "{content}");
        }
        fs::remove_file(&file).expect("the file");
        assert!(!is_here(&file));
    }
}
