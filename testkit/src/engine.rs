//! What the two kinds of servers do differently.

use std::process::Command;

use rustix::process::Signal;

use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::programs::Place;

/// The programs of one kind of server, and how to use them.
pub trait Engine: Sized + Send + Sync + 'static {
    /// Which kind.
    const KIND: Kind;
    /// The user that Debian's package makes.
    const USER: &'static str;
    /// Ends it in good order.
    const STOP: Signal;
    /// Ends it as fast as may be, when its data will not be needed again, and leaves nothing outside its folder.
    const DISCARD: Signal;

    /// Looks for the programs.
    fn find(place: &Place) -> Result<Self, StartError>;

    /// Makes the data folder, with our user and password.
    fn install(&self, home: &Home) -> Result<(), StartError>;

    /// The server, about to start: what comes from us, and then what the test asks for.
    fn serve(&self, home: &Home, port: u16, settings: &[(String, String)]) -> Command;

    /// Clears up what a killed server leaves outside its folder.
    fn bury(&self, _home: &Home) {}
}
