//! Finding the servers' programs, and running those that end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::error::StartError;
use crate::kind::Kind;

/// The place of the programs of a kind of server: a folder, or installed.
#[derive(Debug, Clone)]
pub struct Place {
    kind: Kind,
    folder: Option<PathBuf>,
}

impl Place {
    /// As set in the environment.
    pub(crate) fn of(kind: Kind) -> Self {
        let folder = env::var_os(kind.programs_variable()).filter(|folder| !folder.is_empty());
        Place { kind, folder: folder.map(PathBuf::from) }
    }

    pub(crate) fn in_folder(kind: Kind, folder: PathBuf) -> Self {
        Place { kind, folder: Some(folder) }
    }

    /// Whether they are not the installed ones.
    pub(crate) fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// A program, never the installed one if a folder is named: a test must not run on another server than it claims.
    pub(crate) fn find(&self, program: &str) -> Result<PathBuf, StartError> {
        let Some(folder) = &self.folder else { return find(program, self.kind) };
        let path = folder.join(program);
        match path.is_file() {
            true => Ok(path),
            false => Err(StartError::NotInFolder {
                program: program.into(),
                folder: folder.clone(),
                variable: self.kind.programs_variable(),
            }),
        }
    }

    /// Whether the folder has this program.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.join(program).is_file())
    }

    /// The client program.
    pub(crate) fn client(&self) -> Result<PathBuf, StartError> {
        let (first, others) = self.kind.clients().split_first().expect("every kind has a client program");
        let other = others.iter().find_map(|name| self.find(name).ok());
        self.find(first).or_else(|missing| other.ok_or(missing))
    }
}

/// The place of this installed program.
fn find(program: &str, kind: Kind) -> Result<PathBuf, StartError> {
    let debian = if kind == Kind::Postgres { debian_postgres() } else { Vec::new() };
    let folders = debian.into_iter().chain(env::split_paths(&search_path()).collect::<Vec<_>>());
    let mut places = folders.map(|folder| folder.join(program));
    places.find(|place| place.is_file()).ok_or_else(|| StartError::Missing { program: program.into(), kind })
}

/// The place of an installed program that is no server of a kind.
pub(crate) fn installed(program: &'static str, package: &'static str) -> Result<PathBuf, StartError> {
    let mut places =
        env::split_paths(&search_path()).map(|folder| folder.join(program)).collect::<Vec<_>>().into_iter();
    places.find(|place| place.is_file()).ok_or(StartError::NotInstalled { program, package })
}

/// Debian keeps one folder per major version, and none of them in PATH. The newest comes first.
fn debian_postgres() -> Vec<PathBuf> {
    let folders = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<f32>().ok();
    let mut found: Vec<_> = folders.filter_map(|entry| Some((version(&entry.path())?, entry.path()))).collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().map(|(_, folder)| folder.join("bin")).collect()
}

/// PATH, and the folders for administrators, which other users on Debian do not have in theirs. mariadbd is in one.
pub(crate) fn search_path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    path.push(":/usr/local/sbin:/usr/sbin:/sbin");
    path
}

/// Removes all variables that could make machines differ: PGHOST, LANG, TZ and so on.
pub(crate) fn cleaned(command: &mut Command) -> &mut Command {
    command.env_clear().env("PATH", search_path()).env("LC_ALL", "C").env("TZ", "UTC").stdin(Stdio::null())
}

/// Runs it to completion and returns its output, without the last line break.
pub(crate) fn run(command: &mut Command) -> Result<String, StartError> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(StartError::system(format!("start {program}")))?;
    let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    Err(StartError::Program { program, output: [printed, said, output.status.to_string()].join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_program_is_named_with_install_advice() {
        for (kind, package) in [(Kind::Postgres, "package postgresql,"), (Kind::MariaDb, "package mariadb-server,")] {
            let error = find("no-such-program", kind).expect_err("there is none").to_string();
            for said in ["no-such-program", package, "cargo xtask test"] {
                assert!(error.contains(said), "{error}");
            }
        }
    }

    #[test]
    fn installed_program_is_no_substitute_for_one_of_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("mysql"), "").expect("a file");
        let place = Place::in_folder(Kind::MariaDb, folder.path().into());
        assert_eq!(place.client().expect("by its other name"), folder.path().join("mysql"));
        let error = place.find("sh").expect_err("it does not exist").to_string();
        assert!(error.contains("TENURE_MYSQL_PROGRAMS") && error.contains("sh"), "{error}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let error = run(Command::new("sh").args(["-c", "echo first; echo second >&2; exit 3"])).expect_err("it fails");
        let error = error.to_string();
        assert!(["sh", "first", "second", "3"].iter().all(|said| error.contains(said)), "{error}");
    }
}
