//! What goes wrong during a run, in an order that the seed decides.

pub(crate) mod clock;
mod fault;
mod file;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clock::{Clock, OFFSETS_MS};
pub(crate) use fault::Fault;

use crate::Result;
use crate::backend::Backend;
use crate::clients::{self, Clients};
use crate::clock::now_ns;
use crate::disk::Disk;
use crate::evidence::Injected;
use crate::proxy::{Lose, Proxy};
use crate::random::Random;
use crate::server::Server;
use crate::steps::Steps;
use crate::subject::tenure::{Declared, Tenure};

/// Longer than the other nodes of a cluster wait for one that is silent.
const LONG: Duration = Duration::from_secs(15);

/// Injects faults.
pub(crate) struct Nemesis {
    pub(crate) backend: Backend,
    pub(crate) server: Arc<Server>,
    /// The network of the address, or of each node; none where there is no network.
    pub(crate) proxies: Vec<Proxy>,
    /// The clock and the disk of the database, if it has its own.
    pub(crate) clock: Option<Clock>,
    pub(crate) disk: Option<Arc<Disk>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) random: Random,
    /// The longest pause between two of them, on one server.
    pub(crate) rest: Duration,
}

/// The shortest pause between two faults, in milliseconds.
pub(crate) const LEAST_REST_MS: u64 = 50;

/// The longest one, where nothing else is chosen.
pub(crate) const REST_MS: u64 = 350;

/// What went wrong in a run.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    pub(crate) faults: Vec<Injected>,
    pub(crate) steps: Steps,
    /// When the file was replaced.
    pub(crate) replaced_ns: Option<u64>,
}

impl Nemesis {
    /// Injects one fault after the other until the time is over: each kind once, and then by chance. Afterwards everything is whole again,
    /// except for a file that was replaced.
    pub(crate) async fn run(&mut self, clients: &mut Clients, until: Instant) -> Result<Happened> {
        let weighted: Vec<Fault> =
            self.faults.iter().flat_map(|fault| std::iter::repeat_n(*fault, fault.weight())).collect();
        let mut first: Vec<Fault> = self.faults.iter().copied().filter(|fault| fault.weight() > 0).collect();
        let mut happened = Happened::default();
        let mut was_long = false;
        while Instant::now() < until {
            // Clients find the new writer, and work as usual for a while.
            let (least, most) = if was_long { (3_000, 6_000) } else { (LEAST_REST_MS, self.rest.as_millis() as u64) };
            self.sleep(least, most).await;
            if weighted.is_empty() {
                continue;
            }
            let fault = match first.len() as u64 {
                0 => *self.random.one_of(&weighted),
                left => first.swap_remove(self.random.below(left) as usize),
            };
            let from_ns = now_ns();
            let hit = self.inject(fault, clients, &mut happened.steps).await?;
            was_long = self.backend.is_cluster() && fault.is_long();
            happened.add(fault, from_ns, hit);
        }
        if let (Some(file), Some(lost)) = (self.server.file(), self.server.lost_file())
            && self.faults.contains(&Fault::ReplaceFile)
        {
            // A client that was started last has opened the file by then.
            tokio::time::sleep(Duration::from_secs(2)).await;
            happened.replaced_ns = Some(file::replace(&file, &lost, &mut self.random).await?);
            happened.add(Fault::ReplaceFile, happened.replaced_ns.unwrap_or_default(), true);
        }
        Ok(happened)
    }

    /// Whether it hit anything.
    async fn inject(&mut self, fault: Fault, clients: &mut Clients, steps: &mut Steps) -> Result<bool> {
        match fault {
            Fault::StopClient => {
                let stopped = clients.stop_one(&mut self.random);
                self.sleep(100, 4000).await;
                Clients::resume(stopped);
                Ok(true)
            }
            Fault::KillClient => clients.replace_one(&mut self.random).map(|()| true),
            Fault::KillPages => clients.replace_pages(),
            Fault::StarveClient => {
                let starved = clients.start_starved()?;
                self.sleep(1500, 2500).await;
                tokio::task::spawn_blocking(move || clients::end(vec![starved]) == 0).await.map_err(Into::into)
            }
            Fault::HoldFile => self.hold_file().await,
            Fault::KillServer => self.on_server(|server, node| server.crash(node).map(|()| true)).await,
            Fault::StopServer => {
                let pause = self.random.millis(200, 2500);
                self.on_server(move |server, node| {
                    server.pause(node, true);
                    std::thread::sleep(pause);
                    server.pause(node, false);
                    Ok(true)
                })
                .await
            }
            Fault::StopNode => {
                // Patroni gives a primary up after twenty seconds.
                let longer = self.backend == Backend::Patroni && self.random.chance(50);
                let time = if longer { 2 * LONG } else { LONG };
                self.on_server(move |server, node| server.stand_still(node, time).map(|()| true)).await
            }
            Fault::StopOthers => self.on_server(|server, node| server.leave_alone(node, LONG).map(|()| true)).await,
            Fault::Isolate => self.isolate().await,
            Fault::EndSessions => {
                let most = 1 + self.random.below(5);
                self.on_server(move |server, node| server.end_sessions(node, most).map(|ended| ended > 0)).await
            }
            Fault::Reset => Ok(self.a_proxy().is_some_and(|proxy| proxy.cut() > 0)),
            Fault::BlackHole => {
                let Some(proxy) = self.a_proxy() else { return Ok(false) };
                proxy.fall_silent();
                self.sleep(300, 3000).await;
                Ok(proxy.recover() > 0)
            }
            Fault::Delay => {
                let Some(proxy) = self.a_proxy() else { return Ok(false) };
                proxy.delay(self.random.millis(5, 100));
                self.sleep(300, 1500).await;
                proxy.delay(Duration::ZERO);
                Ok(true)
            }
            Fault::CutBeforeCommit => self.cut_at(Lose::Request, "commit").await,
            Fault::CutAfterCommit => self.cut_at(Lose::Answer, "commit").await,
            Fault::CutLock => {
                // PostgreSQL's prepared statements say the key, those of the others that take leases are texts.
                let says = if self.backend.is_mysql() { "tenure_lock" } else { "w1-" };
                self.cut_at(Lose::Answer, says).await
            }
            Fault::StepClock => self.step_clock(steps).await,
            Fault::FillDisk => self.fill_disk().await,
            Fault::CutPower if self.backend.is_server() => self.cut_power_of_server().await,
            Fault::CutPower => self.cut_power_of_clients(clients),
            Fault::ReplaceFile => Ok(false),
        }
    }

    /// Where the address leads elsewhere, the clients of an isolated primary are cut off.
    async fn isolate(&mut self) -> Result<bool> {
        let node = self.target().await?;
        self.on_node(node, |server, node| server.isolate(node).map(|()| true)).await?;
        self.on_node(node, |server, node| server.reconnect(node).map(|()| true)).await
    }

    /// Somebody else's transaction. If it cannot begin, others hold the file.
    async fn hold_file(&mut self) -> Result<bool> {
        let url = self.server.url()?;
        let db = Tenure::connect(self.backend, &url, 1, Declared::default()).await?.database().clone();
        let Ok(tx) = db.begin().await else { return Ok(false) };
        self.sleep(200, 1500).await;
        let _ = tx.rollback().await;
        db.close().await;
        Ok(true)
    }

    /// There and back.
    async fn step_clock(&mut self, steps: &mut Steps) -> Result<bool> {
        let offset = *self.random.one_of(&OFFSETS_MS);
        let Some(clock) = &mut self.clock else { return Ok(false) };
        steps.0.push(clock.step_to(offset)?);
        let pause = self.random.millis(300, 2000);
        tokio::time::sleep(pause).await;
        steps.0.push(clock.step_to(0)?);
        Ok(true)
    }

    async fn fill_disk(&mut self) -> Result<bool> {
        let Some(disk) = self.disk.clone() else { return Ok(false) };
        disk.fill()?;
        self.sleep(300, 1500).await;
        disk.free()?;
        self.on_server(|server, node| server.revive(node).map(|()| true)).await
    }

    async fn cut_power_of_server(&mut self) -> Result<bool> {
        let Some(disk) = self.disk.clone() else { return Ok(false) };
        self.on_server(move |server, node| {
            server.pause(node, true);
            disk.copy()?;
            server.kill(node);
            disk.continue_with_the_copy()?;
            server.restart(node).map(|()| true)
        })
        .await
    }

    /// The programs that write a file are the clients.
    fn cut_power_of_clients(&mut self, clients: &mut Clients) -> Result<bool> {
        let Some(disk) = self.disk.clone() else { return Ok(false) };
        clients.pause_all()?;
        disk.copy()?;
        clients.replace_all(|| disk.continue_with_the_copy())?;
        Ok(true)
    }

    async fn cut_at(&mut self, what: Lose, says: &str) -> Result<bool> {
        let Some(proxy) = self.a_proxy() else { return Ok(false) };
        proxy.lose(what, says);
        self.sleep(20, 120).await;
        Ok(proxy.lost())
    }

    async fn sleep(&mut self, least: u64, most: u64) {
        let pause = self.random.millis(least, most);
        tokio::time::sleep(pause).await;
    }

    /// The network of one of the nodes.
    fn a_proxy(&mut self) -> Option<Proxy> {
        let at = self.random.below(self.proxies.len().max(1) as u64) as usize;
        self.proxies.get(at).cloned()
    }

    /// Does something to the node that faults are about.
    async fn on_server(&mut self, work: impl FnOnce(&Server, usize) -> Result<bool> + Send + 'static) -> Result<bool> {
        let node = self.target().await?;
        self.on_node(node, work).await
    }

    async fn on_node(
        &self,
        node: usize,
        work: impl FnOnce(&Server, usize) -> Result<bool> + Send + 'static,
    ) -> Result<bool> {
        let server = Arc::clone(&self.server);
        tokio::task::spawn_blocking(move || work(&server, node)).await?
    }

    async fn target(&mut self) -> Result<usize> {
        let (server, one) = (Arc::clone(&self.server), self.random.below(self.server.nodes() as u64) as usize);
        tokio::task::spawn_blocking(move || server.target(one)).await?
    }
}

impl Happened {
    fn add(&mut self, fault: Fault, from_ns: u64, hit: bool) {
        let stands_still = matches!(fault, Fault::StopClient | Fault::StopNode | Fault::FillDisk | Fault::CutPower);
        self.faults.push(Injected { kind: fault.name(), from_ns, to_ns: now_ns(), hit, stands_still });
    }
}
