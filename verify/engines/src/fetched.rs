//! Packages of another suite of Debian, unpacked into a folder. apt-get and dpkg-deb do it, with separate lists, cache and status file,
//! so that the machine's packages are not affected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::catalog::Engine;

/// The maximum age of the lists of a suite.
const FRESH: Duration = Duration::from_secs(12 * 3600);
/// A mirror that does not answer must fail the step.
const TIMEOUT: &str = "30";

/// Downloads the engine's packages with the libraries that they need, also the loader and libc, and unpacks them into
/// `place/{name}`.
pub(crate) fn fetch(engine: &Engine, place: &Path) -> Result<(), String> {
    println!("==> {}: downloading {} from Debian's suite {}", engine.name, engine.packages.join(" "), engine.suite);
    let apt = Apt::of(engine.suite, &place.join("apt").join(engine.suite))?;
    apt.update()?;
    let unpacked = place.join(format!("{}.part", engine.name));
    let packages = unpacked.join("packages");
    // The remains of an earlier attempt.
    remove(&unpacked)?;
    fs::create_dir_all(&packages).map_err(|error| failed(&packages, &error))?;
    let wanted = apt.wanted(engine.packages, engine.besides)?;
    // As root it would use a user who may not write here.
    output(apt.get("download", &["--option", "APT::Sandbox::User=root"]).args(&wanted).current_dir(&packages))?;
    for entry in fs::read_dir(&packages).map_err(|error| failed(&packages, &error))? {
        let package = entry.map_err(|error| failed(&packages, &error))?.path();
        output(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    }
    remove(&packages)?;
    let done = place.join(engine.name);
    remove(&done)?;
    fs::rename(&unpacked, &done).map_err(|error| failed(&done, &error))
}

struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn of(suite: &str, folder: &Path) -> Result<Self, String> {
        for part in ["lists/partial", "cache/archives/partial", "parts"] {
            fs::create_dir_all(folder.join(part)).map_err(|error| failed(folder, &error))?;
        }
        let mirror = mirror()?;
        let source = |suite: &str| {
            format!("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} main\n")
        };
        // Packages in `experimental` need packages in `sid`.
        let sources = match suite {
            "experimental" => source(suite) + &source("sid"),
            suite => source(suite),
        };
        // The status of a machine without any package, so that all required ones are listed.
        for (name, text) in [("sources.list", sources.as_str()), ("status", "")] {
            fs::write(folder.join(name), text).map_err(|error| failed(folder, &error))?;
        }
        Ok(Apt { folder: folder.to_owned() })
    }

    fn get(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("apt-get");
        let at = |name: &str| self.folder.join(name).display().to_string();
        let mut option = |name: &str, value: &str| {
            command.arg("--option").arg(format!("{name}={value}"));
        };
        option("Dir::Etc::sourcelist", &at("sources.list"));
        option("Dir::Etc::sourceparts", &at("parts"));
        option("Dir::Etc::preferencesparts", &at("parts"));
        option("Dir::State", &at(""));
        option("Dir::State::lists", &at("lists"));
        option("Dir::State::status", &at("status"));
        option("Dir::Cache", &at("cache"));
        option("Dir::Cache::archives", &at("cache/archives"));
        option("Acquire::Languages", "none");
        option("Acquire::Retries", "3");
        option("Acquire::http::Timeout", TIMEOUT);
        option("APT::Update::Post-Invoke", "");
        option("APT::Update::Post-Invoke-Success", "");
        option("Debug::NoLocking", "1");
        command.args(["--quiet=2", "--yes", "--no-install-recommends", verb]).args(arguments);
        command
    }

    /// Reads the lists of the suite, unless they are a few hours old.
    fn update(&self) -> Result<(), String> {
        let mark = self.folder.join("updated");
        let age = fs::metadata(&mark).and_then(|mark| mark.modified()).ok();
        if age.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age < FRESH) {
            return Ok(());
        }
        output(&mut self.get("update", &["--option", "APT::Sandbox::User=root", "--error-on=any"]))?;
        fs::write(&mark, "").map_err(|error| failed(&mark, &error))
    }

    /// The packages and the libraries that they need, each with its version: `libpq5=18.6-3`.
    fn wanted(&self, packages: &[&str], besides: &[&str]) -> Result<Vec<String>, String> {
        let listed = output(self.get("install", &["--print-uris"]).args(packages).args(besides))?;
        let found: Vec<_> = listed.lines().filter_map(package_of).collect();
        let wanted = found.iter().filter(|(name, _)| packages.contains(name) || is_needed(name));
        match packages.iter().find(|package| !found.iter().any(|(name, _)| name == *package)) {
            Some(missing) => Err(format!("the suite has no package {missing}")),
            None => Ok(wanted.map(|(name, version)| format!("{name}={version}")).collect()),
        }
    }
}

/// The package and its version in a line `'URL' name_version_architecture.deb size digest`, which writes a colon as `%3a`.
fn package_of(line: &str) -> Option<(&str, String)> {
    let file = line.split_whitespace().nth(1).filter(|_| line.starts_with('\''))?;
    let (name, rest) = file.split_once('_')?;
    let (version, _) = rest.split_once('_')?;
    Some((name, version.replace("%3a", ":")))
}

/// Whether a server may load something of this package. It does not load the languages of packages' scripts.
fn is_needed(name: &str) -> bool {
    let scripts = ["libperl", "libpython", "libjs-", "libapt-", "libllvm", "libdpkg"];
    name == "zlib1g" || (name.starts_with("lib") && !scripts.iter().any(|script| name.starts_with(script)))
}

/// The mirror of this machine's own packages.
fn mirror() -> Result<String, String> {
    let targets = output(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let found = targets.lines().find(|uri| uri.trim_end_matches('/').ends_with("/debian"));
    found.map(str::to_owned).ok_or_else(|| "this machine's apt has no mirror of Debian".to_owned())
}

/// The output of a program, or its last lines as the error.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("{program} could not be started: {error}"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<_> = said.lines().collect();
    Err(format!("{program}: {}: {}", done.status, lines[lines.len().saturating_sub(5)..].join(" / ")))
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(folder, &error)),
        _ => Ok(()),
    }
}

fn failed(place: &Path, error: &io::Error) -> String {
    format!("{}: {error}", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_fetched_and_script_languages_are_not() {
        let line = "'http://mirror/pool/libssl3t64_3.6.5-1_amd64.deb' libssl3t64_3.6.5-1_amd64.deb 2400000 SHA256:00";
        assert_eq!(package_of(line), Some(("libssl3t64", "3.6.5-1".into())));
        let epoch = "'http://mirror/pool/zlib1g_1.3-3_amd64.deb' zlib1g_1%3a1.3-3_amd64.deb 90000 SHA256:00";
        assert_eq!(package_of(epoch), Some(("zlib1g", "1:1.3-3".into())));
        assert_eq!(package_of("Reading package lists..."), None);
        assert!(["libssl3t64", "zlib1g", "libc6"].into_iter().all(is_needed));
        assert!(!["perl", "libperl5.40", "libpython3.13", "systemd", "adduser"].into_iter().any(is_needed));
    }
}
