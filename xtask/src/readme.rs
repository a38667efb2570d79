//! `cargo xtask readme`: a reader copies the README's install lines and its example into a new crate, and the crate runs.
//!
//! The crate is created in a temporary folder, outside the workspace: settings of the workspace, such as features that another member
//! requires, do not reach it. Third-party crates are those of `Cargo.lock`, so nothing new is fetched.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use testkit::tasks::{cargo, root};

/// The expected output of the example: the conflict of the story.
const PRINTED: &str = "ship_to.line1: was Some(Text(\"Teheran-ro 1\")), is Some(Text(\"Sejong-daero 9\"))";

/// Creates the crate and runs it.
pub(crate) fn run() -> ExitCode {
    match copied() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("the README's example does not run when it is copied: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn copied() -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let root = root().canonicalize().map_err(text)?;
    let readme = fs::read_to_string(root.join("README.md")).map_err(text)?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).map_err(text)?;
    let program = block(&readme, "```rust\n").ok_or("it has no block of Rust")?;
    let folder = tempfile::tempdir().map_err(text)?;
    fs::create_dir(folder.path().join("src")).map_err(text)?;
    fs::write(folder.path().join("src/main.rs"), program).map_err(text)?;
    fs::write(folder.path().join("Cargo.toml"), manifest(&readme, &lock, &root)?).map_err(text)?;
    fs::write(folder.path().join("Cargo.lock"), lock).map_err(text)?;
    let mut command = cargo();
    command.args(["run", "--offline"]).current_dir(folder.path()).env("CARGO_TARGET_DIR", root.join("target/readme"));
    let output = command.stderr(std::process::Stdio::inherit()).output().map_err(text)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    if !printed.contains(PRINTED) {
        return Err(format!("it does not print `{PRINTED}`"));
    }
    Ok(())
}

/// The text of the first block that begins like this.
fn block<'a>(document: &'a str, fence: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(fence)?;
    rest.split_once("```").map(|(block, _)| block)
}

/// The result of `cargo add`, by the README's lines: tenure from here, the others in the versions of the lock file.
fn manifest(readme: &str, lock: &str, root: &Path) -> Result<String, String> {
    let mut manifest = String::from(
        "[package]\nname = \"copied\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n",
    );
    let install = readme.split_once("## Install").ok_or("it has no part about installing")?.1;
    let lines = block(install, "```text\n").ok_or("it has no install lines")?;
    for line in lines.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let (name, features) = match words[..] {
            // The path is that of a reader's clone.
            ["cargo", "add", name] | ["cargo", "add", name, "--path", _] => (name, String::new()),
            ["cargo", "add", name, "--features", features] => {
                (name, format!(", features = {:?}", features.split(',').collect::<Vec<_>>()))
            }
            _ => return Err(format!("`{line}` is not an install line that is understood here")),
        };
        let source = if name == "tenure" {
            format!("path = {:?}", root.display().to_string())
        } else {
            format!("version = \"={}\"", version(lock, name).ok_or_else(|| format!("{name} is not in Cargo.lock"))?)
        };
        let _ = writeln!(manifest, "{name} = {{ {source}{features} }}");
    }
    Ok(manifest)
}

/// The version of a crate in a lock file.
fn version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("\nname = \"{name}\"\nversion = \""))?;
    rest.split_once('"').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "\n[[package]]\nname = \"tokio-util\"\nversion = \"0.7.0\"\n\n[[package]]\nname = \"tokio\"\nversion = \"1.54.0\"\n";

    #[test]
    fn install_lines_become_dependencies() {
        let readme =
            "## Install\n\n```text\ncargo add tenure --path ../tenure\ncargo add tokio --features macros,rt\n```\n";
        let manifest = manifest(readme, LOCK, Path::new("/here")).expect("it is understood");
        let (_, dependencies) = manifest.split_once("[dependencies]\n").expect("they are there");
        assert_eq!(
            dependencies,
            "tenure = { path = \"/here\" }\ntokio = { version = \"=1.54.0\", features = [\"macros\", \"rt\"] }\n"
        );
    }

    #[test]
    fn another_line_or_crate_is_an_error() {
        for lines in ["pip install tenure", "cargo add serde"] {
            let readme = format!("## Install\n\n```text\n{lines}\n```\n");
            assert!(manifest(&readme, LOCK, Path::new("/here")).is_err(), "{lines}");
        }
    }
}
