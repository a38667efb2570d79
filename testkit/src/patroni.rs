//! PostgreSQL under Patroni: two servers with synchronous replication. Patroni keeps in etcd who is the primary, promotes the standby, and ends
//! a primary that cannot reach etcd.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::DATABASE;
use crate::address::port_of;
use crate::client::Client;
use crate::error::StartError;
use crate::etcd::Etcd;
use crate::home::Home;
use crate::kind::Kind;
use crate::port;
use crate::postgres::release_memory;
use crate::process::{Process, kill_family, signal_family, stop_family};
use crate::programs::{Place, installed};
use crate::proxy::Proxy;
use crate::watchdog::Watchdog;

/// A failover takes up to twenty seconds, the time to live of the primary's key, and a former primary then copies what it has missed.
const PATIENCE: Duration = Duration::from_secs(180);

/// Two throw-away servers on 127.0.0.1 with their Patroni, and etcd. Dropping it ends all of them.
#[derive(Debug)]
pub struct Patroni {
    members: Vec<Member>,
    etcd: Etcd,
}

/// A server with its Patroni.
#[derive(Debug)]
struct Member {
    home: Home,
    client: Client,
    /// The network to etcd, and that of the other member for the replication from this one.
    etcd: Proxy,
    network: Proxy,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    process: Option<Process>,
    watchdog: Watchdog,
}

impl Patroni {
    /// The environment variable that names Patroni's program, where it is not the installed one.
    pub const VARIABLE: &str = "TENURE_PATRONI_PROGRAM";

    /// Starts both, with room for this number of connections. The database [`DATABASE`] exists, and no client needs a password.
    pub fn start(connections: u32) -> Result<Self, StartError> {
        let etcd = Etcd::start()?;
        let mut patroni = Patroni { members: Vec::new(), etcd };
        for at in 0..2 {
            let member = Member::install(at, connections, patroni.etcd.port())?;
            member.start()?;
            patroni.members.push(member);
            if at == 0 {
                patroni.wait_for(|patroni| Ok(patroni.primary()?.is_some()))?;
                patroni.members[0].client.create_database(DATABASE)?;
            }
        }
        patroni.wait_for_the_standby()?;
        Ok(patroni)
    }

    /// The URLs of the database on both servers.
    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.client.url(DATABASE)).collect()
    }

    /// Runs SQL with the server's own client program, and returns its output: bare values, one row a line.
    pub fn query(&self, member: usize, sql: &str) -> Result<String, StartError> {
        self.members[member].client.query(DATABASE, sql)
    }

    /// Which server accepts writes.
    pub fn primary(&self) -> Result<Option<usize>, StartError> {
        // A server that starts answers nothing.
        let is_primary = |member: &Member| {
            member.client.query("postgres", "select pg_is_in_recovery()").is_ok_and(|answer| answer == "f")
        };
        Ok(self.members.iter().position(is_primary))
    }

    /// Kills a server and its Patroni, with all their processes.
    pub fn kill(&self, member: usize) {
        self.members[member].kill();
    }

    /// Starts a killed Patroni again. It starts its server, as a standby if another one is the primary.
    pub fn restart(&self, member: usize) -> Result<(), StartError> {
        self.members[member].start()
    }

    /// Stops a server and its Patroni with SIGSTOP. None of their processes runs when this returns.
    pub fn pause(&self, member: usize) {
        let member = &self.members[member];
        if let Some(process) = &member.state().process {
            process.stop_all();
        }
        member.postmaster().into_iter().for_each(stop_family);
    }

    /// Lets them go on.
    pub fn resume(&self, member: usize) {
        let member = &self.members[member];
        member.postmaster().into_iter().for_each(|postmaster| signal_family(postmaster, Signal::CONT));
        if let Some(process) = &member.state().process {
            process.signal_all(Signal::CONT);
        }
    }

    /// Cuts a member off from etcd and from its standby, without an error: nothing passes. Its clients still reach it.
    pub fn isolate(&self, member: usize) {
        self.members[member].etcd.fall_silent();
        self.members[member].network.fall_silent();
    }

    /// Ends [`isolate`](Self::isolate).
    pub fn reconnect(&self, member: usize) {
        self.members[member].etcd.recover();
        self.members[member].network.recover();
    }

    /// Waits until another member than this one is the primary.
    pub fn wait_until_replaced(&self, member: usize) -> Result<(), StartError> {
        let other = 1 - member;
        self.wait_for(|patroni| {
            Ok(patroni.query(other, "select pg_is_in_recovery()").is_ok_and(|answer| answer == "f"))
        })
    }

    /// Waits until one is the primary, and its commits wait for the other one.
    pub fn wait_for_the_standby(&self) -> Result<(), StartError> {
        self.wait_for(|patroni| {
            let Some(primary) = patroni.primary()? else { return Ok(false) };
            let waits = "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum') and state = 'streaming'";
            Ok(patroni.query(primary, waits).is_ok_and(|answer| answer == "1"))
        })
    }

    fn wait_for(&self, condition: impl Fn(&Self) -> Result<bool, StartError>) -> Result<(), StartError> {
        let begun = Instant::now();
        while !condition(self)? {
            self.members.iter().try_for_each(Member::must_run)?;
            if begun.elapsed() > PATIENCE {
                let log = self.members.iter().map(|member| member.home.last_words()).collect::<Vec<_>>().join("\n");
                return Err(StartError::NotReady {
                    waited: PATIENCE,
                    answer: "Patroni's state did not come".into(),
                    log,
                });
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Member {
    fn install(at: usize, connections: u32, etcd: u16) -> Result<Self, StartError> {
        let place = Place::of(Kind::Postgres);
        let home = Home::new("postgres", Kind::Postgres, &place, None)?;
        let watchdog = Watchdog::new(home.folder(), Signal::TERM).map_err(StartError::system("start /bin/sh"))?;
        let [port, rest] = [(); 2].map(|()| port::free());
        let client = Client::local(Kind::Postgres, port, &place)?;
        let network = |url: String| Proxy::to(&url).map_err(StartError::system("listen for a network"));
        let (etcd, network) = (network(format!("http://x@127.0.0.1:{etcd}/"))?, network(client.url("postgres"))?);
        let programs = place.find("postgres")?;
        let settings = include_str!("patroni.yml")
            .replace("{name}", &format!("member{at}"))
            .replace("{rest}", &rest.to_string())
            .replace("{etcd}", port_of(etcd.url()).unwrap_or_default())
            .replace("{connections}", &connections.to_string())
            .replace("{port}", &port.to_string())
            .replace("{network}", port_of(network.url()).unwrap_or_default())
            .replace("{data}", &home.data().display().to_string())
            .replace("{folder}", &home.folder().display().to_string())
            .replace("{programs}", &programs.parent().unwrap_or(&programs).display().to_string());
        home.keep("patroni.yml", &settings)?;
        let state = Mutex::new(State { process: None, watchdog });
        Ok(Member { home, client, etcd, network, state })
    }

    fn start(&self) -> Result<(), StartError> {
        let mut command = self.home.command(&program()?);
        // Python needs to know that the texts of its files are Unicode.
        command.env("LC_ALL", "C.UTF-8").arg(self.home.folder().join("patroni.yml"));
        let log = self.home.log()?;
        command.stdout(log.try_clone().map_err(StartError::system("share the log"))?).stderr(log);
        let process = Process::spawn(&mut command).map_err(StartError::system("start patroni"))?;
        let mut state = self.state();
        state.watchdog.watch(process.id()).map_err(StartError::system("tell the watchdog"))?;
        state.process = Some(process);
        Ok(())
    }

    /// An error if its Patroni has ended by itself.
    fn must_run(&self) -> Result<(), StartError> {
        match self.state().process.as_mut().and_then(Process::ended) {
            Some(status) => Err(StartError::Exited { status: status.to_string(), log: self.home.last_words() }),
            None => Ok(()),
        }
    }

    fn kill(&self) {
        let mut state = self.state();
        let postmaster = self.postmaster();
        if let Some(mut process) = state.process.take() {
            process.kill();
            state.watchdog.forget();
        }
        // It is no child of Patroni.
        postmaster.into_iter().for_each(kill_family);
    }

    /// The first process of PostgreSQL, if it runs.
    fn postmaster(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.home.data().join("postmaster.pid")).ok()?;
        let id = text.lines().next()?.trim().parse().ok().and_then(Pid::from_raw)?;
        // The file of a killed one stays, and its number may belong to another program.
        let program = fs::read_link(format!("/proc/{}/exe", id.as_raw_nonzero())).ok()?;
        program.ends_with("postgres").then_some(id)
    }

    /// A panic of another test does not make the member unusable.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn program() -> Result<PathBuf, StartError> {
    match env::var_os(Patroni::VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Ok(path.into()),
        None => installed("patroni", "patroni"),
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
        release_memory(&self.home);
        // The watchdog then removes the folder.
    }
}
