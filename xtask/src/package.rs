//! `cargo xtask package`: the content of a release. Every published crate is packed, built from its package in the order of their
//! dependencies, and not uploaded. Then the files of each package are checked: required and forbidden ones.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, ExitCode};

use testkit::tasks::{cargo, root};

/// The published crates, in the order of a release, with their folders.
const CRATES: [(&str, &str); 4] =
    [("tenure-derive", "derive"), ("tenure", "."), ("tenure-web", "web"), ("tenure-server", "server")];

/// The web kit leaves the choice of a database to the application, but is built alone here.
const WEB_DATABASE: &str = "tenure-web/sqlite";

/// Files that every package has.
const NEEDED: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src"];

/// Files that only the repository needs.
const REFUSED: [&str; 13] = [
    ".cargo",
    ".ci",
    "tests",
    "bench",
    "browser",
    "verify",
    "testkit",
    "xtask",
    "shop",
    "target",
    "clippy.toml",
    "deny.toml",
    "rustfmt.toml",
];

/// Fields that the registry requires or shows.
const METADATA: [&str; 6] = ["description", "documentation", "readme", "license", "rust-version", "keywords"];

/// Packs, builds and checks.
pub(crate) fn run() -> ExitCode {
    match packed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("this cannot be published: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn packed() -> Result<(), String> {
    // `--no-verify` would not build them; `--allow-dirty`, because CI is also run before a commit.
    let mut publish = cargo();
    publish.args(["publish", "--dry-run", "--allow-dirty", "--features", WEB_DATABASE]).current_dir(root());
    for (name, _) in CRATES {
        publish.args(["--package", name]);
    }
    let status = publish.status().map_err(|error| format!("cargo could not be started: {error}"))?;
    if !status.success() {
        return Err(format!("`cargo publish --dry-run`: {status}"));
    }
    for (name, folder) in CRATES {
        let mut list = cargo();
        list.args(["package", "--list", "--allow-dirty", "--package", name]).current_dir(root());
        let problems = problems(&printed(&mut list)?.lines().collect());
        let folder = root().join(folder);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(|error| error.to_string())?;
        let missing = METADATA.iter().filter(|key| !has_key(&manifest, key)).map(|key| format!("no `{key}`"));
        let licences = ["LICENSE-APACHE", "LICENSE-MIT"].into_iter().filter(|file| {
            fs::read(folder.join(file)).ok().is_none_or(|text| fs::read(root().join(file)).ok() != Some(text))
        });
        let licences = licences.map(|file| format!("its {file} is not the project's"));
        let problems: Vec<_> = problems.into_iter().chain(missing).chain(licences).collect();
        if !problems.is_empty() {
            return Err(format!("{name}: {}", problems.join("; ")));
        }
        println!("{name}: packed, and built from its package");
    }
    Ok(())
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Missing and superfluous files of a package.
fn problems(files: &BTreeSet<&str>) -> Vec<String> {
    let has = |name: &str| files.iter().any(|file| file.split(['/', '\\']).next() == Some(name));
    let missing = NEEDED.iter().filter(|name| !has(name)).map(|name| format!("it lacks {name}"));
    let refused = REFUSED.iter().filter(|name| has(name)).map(|name| format!("it contains {name}"));
    missing.chain(refused).collect()
}

/// Whether the package's own part of a manifest sets this key, itself or by the workspace.
fn has_key(manifest: &str, key: &str) -> bool {
    let package = manifest.split_once("[package]").map_or("", |(_, rest)| rest);
    let package = package.split("\n[").next().unwrap_or(package);
    package.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '='])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_with_ci_and_without_licence_is_refused() {
        let files = BTreeSet::from(["Cargo.toml", "LICENSE-MIT", "README.md", "src/lib.rs", ".ci/run"]);
        assert_eq!(problems(&files), ["it lacks LICENSE-APACHE", "it contains .ci"]);
    }

    #[test]
    fn keys_of_other_parts_do_not_count() {
        let manifest = "[package]\nname = \"x\"\nlicense.workspace = true\n\n[dependencies]\nreadme = \"1\"\n";
        assert!(has_key(manifest, "license") && !has_key(manifest, "readme"));
    }
}
