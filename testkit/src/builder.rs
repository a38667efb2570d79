//! Choosing settings, and the first start.

use std::marker::PhantomData;
use std::path::PathBuf;

use crate::DATABASE;
use crate::engine::Engine;
use crate::error::StartError;
use crate::programs::Place;
use crate::server::Server;

/// A server that is not started yet.
#[derive(Debug)]
pub struct Builder<E> {
    settings: Vec<(String, String)>,
    files: Vec<(String, String)>,
    place: Place,
    engine: PhantomData<E>,
}

impl<E: Engine> Builder<E> {
    pub(crate) fn new() -> Self {
        Builder { settings: Vec::new(), files: Vec::new(), place: Place::of(E::KIND), engine: PhantomData }
    }

    /// Changes a setting of the server, by the name it has in the server's configuration.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds a file that only the server's user may read, beside the folder with its data: a setting names it as `../{name}`.
    pub fn file(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.push((name.into(), text.into()));
        self
    }

    /// Starts the programs in this folder, not the installed ones.
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.place = Place::in_folder(E::KIND, folder.into());
        self
    }

    /// Starts it, and waits until it answers.
    pub fn start(self) -> Result<Server<E>, StartError> {
        let mut server = Server::install(self.settings, &self.files, self.place)?;
        server.start_on_any_port()?;
        server.create_database(DATABASE)?;
        Ok(server)
    }
}
