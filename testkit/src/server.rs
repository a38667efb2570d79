//! One throw-away server, of either kind.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use crate::builder::Builder;
use crate::client::Client;
use crate::engine::Engine;
use crate::error::StartError;
use crate::home::Home;
use crate::port;
use crate::process::{Process, within};
use crate::programs::Place;
use crate::watchdog::Watchdog;

/// A second attempt is necessary only if another program takes the same port at the same moment.
const TRIES: usize = 5;

/// Messages in the servers' logs about a port that another program uses.
const IN_USE: &str = "Address already in use";

/// A start takes about a second. But other tests may keep the disk busy, and after a kill there is a log to replay.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node of a cluster answers only when it has copied the data of another one.
const PATIENCE_IN_CLUSTER: Duration = Duration::from_secs(240);

/// A server in a temporary folder, on a port of 127.0.0.1. Dropping it ends it and removes the folder.
///
/// All methods take `&self` and block, so that the tests of a program can share it.
#[derive(Debug)]
pub struct Server<E: Engine> {
    engine: E,
    home: Home,
    client: Client,
    settings: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    place: Place,
    /// How long a start may take.
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    process: Option<Process>,
    watchdog: Watchdog,
}

impl<E: Engine> Server<E> {
    /// A server with its data, but not running.
    pub(crate) fn install(
        settings: Vec<(String, String)>,
        files: &[(String, String)],
        place: Place,
        beneath: Option<&Path>,
    ) -> Result<Self, StartError> {
        Self::install_as(settings, files, place, beneath, E::install)
    }

    /// As [`install`](Self::install), with other data.
    pub(crate) fn install_as(
        settings: Vec<(String, String)>,
        files: &[(String, String)],
        place: Place,
        beneath: Option<&Path>,
        install: impl FnOnce(&E, &Home) -> Result<(), StartError>,
    ) -> Result<Self, StartError> {
        let engine = E::find(&place)?;
        // Its port is chosen as late as possible, so that no other program takes it meanwhile.
        let client = Client::local(E::KIND, 0, &place)?;
        let home = Home::new(E::USER, E::KIND, &place, beneath)?;
        let watchdog = Watchdog::new(home.folder(), E::DISCARD).map_err(StartError::system("start /bin/sh"))?;
        install(&engine, &home)?;
        for (name, text) in files {
            home.keep(name, text)?;
        }
        let state = Mutex::new(State { process: None, watchdog });
        Ok(Server { engine, home, client, settings, environment: Vec::new(), place, patience: PATIENCE, state })
    }

    /// Variables for every later start.
    pub(crate) fn set_environment(&mut self, environment: Vec<(String, String)>) {
        self.environment = environment;
    }

    /// Starts it on a free port, and waits until it answers.
    pub(crate) fn start_on_any_port(&mut self) -> Result<(), StartError> {
        let mut tries = 0;
        loop {
            let port = port::free();
            tries += 1;
            match self.start_on(port) {
                // Another program took the port, for some time at least.
                Err(StartError::Exited { log, .. })
                    if tries < TRIES && (log.contains(IN_USE) || !port::is_free(port)) => {}
                result => return result,
            }
        }
    }

    pub(crate) fn start_on(&mut self, port: u16) -> Result<(), StartError> {
        self.client = Client::local(E::KIND, port, &self.place)?;
        self.launch(&mut self.state())
    }

    /// As [`start_on`](Self::start_on), for a node of a cluster. The first one begins the cluster, and has our user; later starts, and the
    /// other nodes, join it and get its data.
    pub(crate) fn start_in_cluster(&mut self, port: u16, first: bool) -> Result<(), StartError> {
        let settings = self.settings.len();
        self.patience = PATIENCE_IN_CLUSTER;
        if first {
            self.settings.push(("wsrep-new-cluster".into(), "ON".into()));
        } else {
            self.set_later("init-file", "");
        }
        let started = self.start_on(port);
        self.settings.truncate(settings);
        // Our user comes with the data of the others.
        self.set_later("init-file", "");
        started
    }

    /// Changes a setting for later starts.
    pub(crate) fn set_later(&mut self, name: &str, value: &str) {
        self.settings.push((name.into(), value.into()));
    }

    /// Kills it, replaces its data, and starts it on the same port.
    pub(crate) fn rebuild(&self, install: impl FnOnce(&Home) -> Result<(), StartError>) -> Result<(), StartError> {
        self.kill();
        let mut state = self.state();
        self.engine.bury(&self.home);
        fs::remove_dir_all(self.home.data()).map_err(StartError::system("remove the former data"))?;
        install(&self.home)?;
        self.launch(&mut state)
    }

    /// The end of its log.
    pub(crate) fn last_words(&self) -> String {
        self.home.last_words()
    }

    /// Starts one with durable settings, and waits until it answers.
    pub fn start() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// For one with other settings.
    pub fn builder() -> Builder<E> {
        Builder::new()
    }

    /// The URL of one of its databases, such as [`DATABASE`](crate::DATABASE).
    pub fn url(&self, database: &str) -> String {
        self.client.url(database)
    }

    /// Creates an empty database. Its name may contain `a-z`, `0-9` and `_`.
    pub fn create_database(&self, name: &str) -> Result<(), StartError> {
        self.client.create_database(name)
    }

    /// Runs SQL with the server's own client program, and returns its output: bare values, one row a line.
    pub fn query(&self, database: &str, sql: &str) -> Result<String, StartError> {
        self.client.query(database, sql)
    }

    /// The folder with its data, and with its log in `log`.
    pub fn folder(&self) -> &Path {
        self.home.folder()
    }

    /// The id of its first process, the parent of any others; none after [`kill`](Self::kill) and [`stop`](Self::stop).
    pub fn process(&self) -> Option<u32> {
        self.state().process.as_ref().map(Process::id)
    }

    /// Whether its first process still runs. A server may end by itself, such as one whose disk is full.
    pub fn is_running(&self) -> bool {
        self.state().process.as_mut().is_some_and(|process| process.ended().is_none())
    }

    /// Kills all its processes with SIGKILL. None of them can clean up, and none is left when this returns.
    pub fn kill(&self) {
        let mut state = self.state();
        if let Some(mut process) = state.process.take() {
            process.kill();
            state.watchdog.forget();
        }
    }

    /// Stops all its processes with SIGSTOP: connections stay open, and nothing is answered until [`resume`](Self::resume). None of them
    /// runs when this returns.
    pub fn pause(&self) {
        if let Some(process) = &self.state().process {
            process.stop_all();
        }
    }

    /// Lets its processes go on after [`pause`](Self::pause).
    pub fn resume(&self) {
        if let Some(process) = &self.state().process {
            process.signal_all(Signal::CONT);
        }
    }

    /// Stops it gracefully, and keeps its data for [`restart`](Self::restart).
    ///
    /// # Panics
    ///
    /// If it does not end.
    pub fn stop(&self) {
        drop(self.stopped());
    }

    /// Starts it again on the same port with the same data, and waits until it answers. Stops it first if it still runs.
    ///
    /// # Panics
    ///
    /// If it still ran, and does not end.
    pub fn restart(&self) -> Result<(), StartError> {
        let mut state = self.stopped();
        self.launch(&mut state)
    }

    fn stopped(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        assert!(state.end(E::STOP), "the server did not stop; it had written:\n{}", self.home.last_words());
        state
    }

    /// A panic of another test does not make the server unusable.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn launch(&self, state: &mut State) -> Result<(), StartError> {
        let mut command = self.engine.serve(&self.home, self.client.port(), &self.settings);
        let log = self.home.log()?;
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdout(log.try_clone().map_err(StartError::system("share the server's log"))?).stderr(log);
        let mut process = Process::spawn(&mut command).map_err(StartError::system("start the server"))?;
        let watched = state.watchdog.watch(process.id()).map_err(StartError::system("tell the watchdog"));
        if let Err(error) = watched.and_then(|()| self.wait_for(&mut process)) {
            process.kill();
            state.watchdog.forget();
            return Err(error);
        }
        state.process = Some(process);
        Ok(())
    }

    /// Waits until it answers itself: the port may belong to another server, with the same password.
    fn wait_for(&self, process: &mut Process) -> Result<(), StartError> {
        let mut status = None;
        let mut answer = "nobody listens".to_owned();
        let ready = || {
            status = process.ended();
            if status.is_some() {
                return true;
            }
            // A client program for every check would use a whole core.
            if TcpStream::connect(("127.0.0.1", self.client.port())).is_err() {
                return false;
            }
            match self.client.data_folder() {
                Ok(folder) if Path::new(&folder) == self.home.data() => return true,
                Ok(folder) => answer = format!("the port belongs to the server of {folder}"),
                Err(error) => answer = error.to_string(),
            }
            false
        };
        let in_time = within(self.patience, ready);
        let log = || self.home.last_words();
        match status {
            Some(status) => Err(StartError::Exited { status: status.to_string(), log: log() }),
            None if in_time => Ok(()),
            None => Err(StartError::NotReady { waited: self.patience, answer, log: log() }),
        }
    }
}

impl State {
    /// Ends the process, by force if necessary. Returns whether the signal was enough.
    fn end(&mut self, signal: Signal) -> bool {
        let Some(mut process) = self.process.take() else { return true };
        let in_time = process.end_by(signal, PATIENCE);
        process.kill();
        self.watchdog.forget();
        in_time
    }
}

impl<E: Engine> Drop for Server<E> {
    fn drop(&mut self) {
        self.state().end(E::DISCARD);
        self.engine.bury(&self.home);
        // The watchdog then removes the folder.
    }
}
