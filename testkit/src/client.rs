//! SQL through the server's own client program, so that no test needs a driver to prepare its database.

use std::path::PathBuf;

use crate::address::Address;
use crate::error::StartError;
use crate::kind::Kind;
use crate::programs::{self, Place};

/// The client program, and its connection.
#[derive(Debug)]
pub(crate) struct Client {
    program: PathBuf,
    address: Address,
}

impl Client {
    /// For a running server at this address.
    pub(crate) fn new(address: Address) -> Result<Self, StartError> {
        Ok(Client { program: Place::of(address.kind).client()?, address })
    }

    /// For a server of ours.
    pub(crate) fn local(kind: Kind, port: u16, place: &Place) -> Result<Self, StartError> {
        Ok(Client { program: place.client()?, address: Address::local(kind, port) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port
    }

    pub(crate) fn url(&self, database: &str) -> String {
        self.address.url(database)
    }

    /// Runs it and returns what it printed, without the last line break.
    pub(crate) fn query(&self, database: &str, sql: &str) -> Result<String, StartError> {
        programs::run(programs::cleaned(&mut self.address.client(&self.program, database, sql)))
    }

    /// The data folder of the server that answers.
    pub(crate) fn data_folder(&self) -> Result<String, StartError> {
        self.query(self.address.kind.system_database(), self.address.kind.whose_data())
    }

    pub(crate) fn create_database(&self, name: &str) -> Result<(), StartError> {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        assert!(!name.is_empty() && name.chars().all(plain), "{name:?}: database names are made of a-z, 0-9 and _");
        let kind = self.address.kind;
        self.query(kind.system_database(), &kind.create_database(name)).map(drop)
    }
}
