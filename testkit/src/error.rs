//! What kept a server from doing as it was told.

use std::io;
use std::time::Duration;

use crate::kind::Kind;

/// Why there is no such server, or why it did not do as it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The server is not installed.
    #[error(
        "the program {program} was not found: install Debian's package {package}, or run `cargo xtask test`, which does",
        package = kind.package()
    )]
    Missing {
        /// What was looked for.
        program: String,
        /// Which server it belongs to.
        kind: Kind,
    },
    /// The folder with the programs of a server lacks one.
    #[error(
        "{} has no program {program}: {variable} must name a folder with the programs of a server, as `cargo xtask engines` makes it",
        folder.display()
    )]
    NotInFolder {
        /// What was looked for.
        program: String,
        /// Where.
        folder: std::path::PathBuf,
        /// What named the folder.
        variable: &'static str,
    },
    /// We are root, the server must not be, and this machine has no user for it.
    #[error("root must not run the server, and there is no user {user}: Debian's package {package} makes one", package = kind.package())]
    NoUser {
        /// The user that Debian's package makes.
        user: &'static str,
        /// Which server.
        kind: Kind,
    },
    /// The temporary folder, or a process, could not be made.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A program that prepares or asks the server failed.
    #[error("{program} failed: {output}")]
    Program {
        /// Which program.
        program: String,
        /// What it said.
        output: String,
    },
    /// The server ended instead of answering.
    #[error("the server ended at its start ({status}); it had written:\n{log}")]
    Exited {
        /// How it ended.
        status: String,
        /// The end of its log.
        log: String,
    },
    /// The server did not answer in time.
    #[error("the server did not answer within {} s ({answer}); it had written:\n{log}", waited.as_secs())]
    NotReady {
        /// How long we waited.
        waited: Duration,
        /// What the client program said at last.
        answer: String,
        /// The end of its log.
        log: String,
    },
}

impl StartError {
    /// Names what was tried, for `map_err`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> StartError {
        let what = what.into();
        |source| StartError::System { what, source }
    }
}
