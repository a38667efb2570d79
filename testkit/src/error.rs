//! Errors of starting and using a server.

use std::io;
use std::time::Duration;

use crate::kind::Kind;

/// The reason that there is no such server, or that a command of it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The server is not installed.
    #[error(
        "the program {program} was not found: install Debian's package {package}, or run `cargo xtask test`, which does",
        package = kind.package()
    )]
    Missing {
        /// The missing program.
        program: String,
        /// Its kind of server.
        kind: Kind,
    },
    /// A program besides the servers is not installed.
    #[error("the program {program} was not found: install Debian's package {package}")]
    NotInstalled {
        /// The missing program.
        program: &'static str,
        /// Debian's package with it.
        package: &'static str,
    },
    /// The folder with the programs of a server lacks one.
    #[error(
        "{} has no program {program}: {variable} must name a folder with the programs of a server, as `cargo xtask engines` makes it",
        folder.display()
    )]
    NotInFolder {
        /// The missing program.
        program: String,
        /// The folder.
        folder: std::path::PathBuf,
        /// The variable that names the folder.
        variable: &'static str,
    },
    /// We are root, the server must not be, and this machine has no user for it.
    #[error("root must not run the server, and there is no user {user}: Debian's package {package} makes one", package = kind.package())]
    NoUser {
        /// The user that Debian's package creates.
        user: &'static str,
        /// The kind of server.
        kind: Kind,
    },
    /// The temporary folder, or a process, could not be created.
    #[error("cannot {what}: {source}")]
    System {
        /// The attempted action.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A program that prepares or queries the server failed.
    #[error("{program} failed: {output}")]
    Program {
        /// The program.
        program: String,
        /// Its output.
        output: String,
    },
    /// The server ended instead of answering.
    #[error("the server ended at its start ({status}); it had written:\n{log}")]
    Exited {
        /// Its exit status.
        status: String,
        /// The end of its log.
        log: String,
    },
    /// The server did not answer in time.
    #[error("the server did not answer within {} s ({answer}); it had written:\n{log}", waited.as_secs())]
    NotReady {
        /// The length of the wait.
        waited: Duration,
        /// The last output of the client program.
        answer: String,
        /// The end of its log.
        log: String,
    },
}

impl StartError {
    /// Adds the attempted action, for `map_err`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> StartError {
        let what = what.into();
        |source| StartError::System { what, source }
    }
}
