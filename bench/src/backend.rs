//! The three databases, and empty ones of each.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use testkit::Kind;

use crate::{Outcome, pools};

/// The kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
    MySql,
}

impl Backend {
    pub(crate) const ALL: [Backend; 3] = [Backend::Sqlite, Backend::Postgres, Backend::MySql];

    /// Its name in the ids of figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
            Backend::MySql => "mysql",
        }
    }
}

/// Creates empty databases. Files are deleted when it is dropped; databases on a server are deleted with the server.
#[derive(Debug)]
pub(crate) struct Databases {
    folder: TempDir,
    made: AtomicU32,
}

impl Databases {
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Databases { folder: tempfile::Builder::new().prefix("tenure-bench-").tempdir()?, made: AtomicU32::new(0) })
    }

    /// The URL of an empty database: each side of a comparison has its own, so that they do not affect each other.
    pub(crate) fn fresh(&self, backend: Backend) -> String {
        match backend {
            Backend::Sqlite => self.file(self.made.fetch_add(1, Ordering::Relaxed)),
            Backend::Postgres => testkit::new_database(Kind::Postgres),
            Backend::MySql => testkit::new_database(Kind::MariaDb),
        }
    }

    fn file(&self, number: u32) -> String {
        format!("sqlite://{}/{number}.db", self.folder.path().display())
    }

    /// Brings the databases into a steady state. To be called when both sides are open.
    pub(crate) async fn settle(&self, backend: Backend) -> Outcome<()> {
        if backend == Backend::Sqlite {
            for number in 0..self.made.load(Ordering::Relaxed) {
                pools::sqlite::grow_log(&self.file(number)).await?;
            }
        }
        Ok(())
    }

    /// The folder of the files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
