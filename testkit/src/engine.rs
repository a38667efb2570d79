//! The differences between the two kinds of servers.

use std::process::Command;

use rustix::process::Signal;

use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::programs::Place;

/// The programs of one kind of server, and how to use them.
pub trait Engine: Sized + Send + Sync + 'static {
    /// The kind.
    const KIND: Kind;
    /// The user that Debian's package creates.
    const USER: &'static str;
    /// Stops it gracefully.
    const STOP: Signal;
    /// Stops it as fast as possible, when its data is not needed again, and leaves nothing outside its folder.
    const DISCARD: Signal;

    /// Looks for the programs.
    fn find(place: &Place) -> Result<Self, StartError>;

    /// Creates the data folder, with our user and password.
    fn install(&self, home: &Home) -> Result<(), StartError>;

    /// The command of the server: our settings, then those of the test.
    fn serve(&self, home: &Home, port: u16, settings: &[(String, String)]) -> Command;

    /// Cleans up the remains of a killed server outside its folder.
    fn bury(&self, _home: &Home) {}
}
