//! Third-party programs that tasks run: always the same version, built from its crate if it is missing, and kept in `target/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::status_within;

use testkit::tasks::{cargo, root};

/// Each builds in less than 200 seconds of one core. A registry that does not answer must fail the step.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A program to install.
pub(crate) struct Tool {
    /// Its crate, and its name.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The arguments with which it prints its version.
    pub(crate) asked: &'static [&'static str],
    /// Its output before its version.
    pub(crate) prints: &'static str,
    /// The options of cargo besides the version.
    pub(crate) options: &'static [&'static str],
}

impl Tool {
    /// Installs it, unless it is installed. Returns its path.
    pub(crate) fn installed(&self) -> Result<PathBuf, String> {
        let folder = root().join("target/tools");
        let program = folder.join("bin").join(self.name);
        let Tool { name, version, .. } = self;
        if !self.is_wanted(&program) {
            self.install(&folder).map_err(|reason| format!("{name} {version} could not be installed: {reason}"))?;
        }
        match self.is_wanted(&program) {
            true => Ok(program),
            false => Err(format!("{} is not {name} {version}", program.display())),
        }
    }

    fn install(&self, folder: &Path) -> Result<(), String> {
        println!("==> {}: building {} once", self.name, self.version);
        let mut install = cargo();
        // It need not be fast for its purpose.
        install.args(["install", self.name, "--version", self.version, "--locked", "--debug", "--force"]);
        install.args(self.options).arg("--root").arg(folder).stdin(Stdio::null()).current_dir(root());
        match status_within(LONGEST, &mut install) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(format!("cargo install: {status}")),
            Ok(None) => Err(format!("cargo install was ended after {} minutes", LONGEST.as_secs() / 60)),
            Err(error) => Err(format!("cargo could not be started: {error}")),
        }
    }

    fn is_wanted(&self, program: &Path) -> bool {
        let output = Command::new(program).args(self.asked).stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.stdout.trim_ascii() == format!("{}{}", self.prints, self.version).as_bytes())
    }
}
