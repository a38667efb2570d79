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
    environment: Vec<(String, String)>,
    beneath: Option<PathBuf>,
    place: Place,
    engine: PhantomData<E>,
}

impl<E: Engine> Builder<E> {
    pub(crate) fn new() -> Self {
        Builder {
            settings: Vec::new(),
            files: Vec::new(),
            environment: Vec::new(),
            beneath: None,
            place: Place::of(E::KIND),
            engine: PhantomData,
        }
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

    /// Sets a variable in the environment of the server. It has few others.
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Puts the server's folder into this one, such as a disk of its own, which must allow everybody to enter it.
    pub fn beneath(mut self, folder: impl Into<PathBuf>) -> Self {
        self.beneath = Some(folder.into());
        self
    }

    /// Starts the programs in this folder, not the installed ones.
    pub fn programs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.place = Place::in_folder(E::KIND, folder.into());
        self
    }

    /// Starts it, and waits until it answers.
    pub fn start(self) -> Result<Server<E>, StartError> {
        let mut server = Server::install(self.settings, &self.files, self.place, self.beneath.as_deref())?;
        server.set_environment(self.environment);
        server.start_on_any_port()?;
        server.create_database(DATABASE)?;
        Ok(server)
    }
}
