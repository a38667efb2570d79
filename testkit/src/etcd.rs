//! A node of etcd, in which Patroni keeps who is the primary.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;

use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::port;
use crate::process::{Process, within};
use crate::programs::{Place, installed};
use crate::watchdog::Watchdog;

/// A start takes less than a second; other tests may keep the disk busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The version that its nodes have agreed on. Until they have, Patroni ends with an error.
const CLUSTER: &str = "etcdcluster";
const UNDECIDED: &str = "not_decided";

/// One throw-away node on 127.0.0.1. Dropping it ends it, and removes its folder.
#[derive(Debug)]
pub(crate) struct Etcd {
    home: Home,
    process: Process,
    watchdog: Watchdog,
    port: u16,
}

impl Etcd {
    /// Starts one, and waits until it is ready for clients.
    pub(crate) fn start() -> Result<Self, StartError> {
        let home = Home::new("postgres", Kind::Postgres, &Place::of(Kind::Postgres), None)?;
        let mut watchdog = Watchdog::new(home.folder(), Signal::TERM).map_err(StartError::system("start /bin/sh"))?;
        let [port, peers] = [(); 2].map(|()| port::free());
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let mut command = home.command(&installed("etcd", "etcd-server")?);
        command.arg("--data-dir").arg(home.data()).args(["--name", "etcd"]);
        command.args(["--listen-client-urls", &at(port), "--advertise-client-urls", &at(port)]);
        command.args(["--listen-peer-urls", &at(peers), "--initial-advertise-peer-urls", &at(peers)]);
        command.args(["--initial-cluster", &format!("etcd={}", at(peers))]);
        let log = home.log()?;
        command.stdout(log.try_clone().map_err(StartError::system("share the log of etcd"))?).stderr(log);
        let process = Process::spawn(&mut command).map_err(StartError::system("start etcd"))?;
        watchdog.watch(process.id()).map_err(StartError::system("tell the watchdog"))?;
        let etcd = Etcd { home, process, watchdog, port };
        let mut answer = Ok(String::new());
        let ready = || {
            answer = version(port);
            answer.as_ref().is_ok_and(|answer| answer.contains(CLUSTER) && !answer.contains(UNDECIDED))
        };
        match within(PATIENCE, ready) {
            true => Ok(etcd),
            false => {
                let (answer, log) = (answer.unwrap_or_else(|error| error.to_string()), etcd.home.last_words());
                Err(StartError::NotReady { waited: PATIENCE, answer, log })
            }
        }
    }

    /// The port for its clients.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// What it says of its versions.
fn version(port: u16) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /version HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.process.kill();
        self.watchdog.forget();
    }
}
