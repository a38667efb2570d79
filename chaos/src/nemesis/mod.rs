//! What goes wrong during a run, in an order that the seed decides.

mod fault;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::Database;

pub(crate) use fault::Fault;

use crate::Result;
use crate::backend::Backend;
use crate::clients::{self, Clients};
use crate::clock::now_ns;
use crate::evidence::Injected;
use crate::proxy::{Lose, Proxy};
use crate::random::Random;
use crate::server::Server;

/// Longer than the other nodes of a cluster wait for one that is silent.
const LONG: Duration = Duration::from_secs(15);

/// Injects faults.
pub(crate) struct Nemesis {
    pub(crate) backend: Backend,
    pub(crate) server: Arc<Server>,
    /// The network of each node; none where there is no network.
    pub(crate) proxies: Vec<Proxy>,
    /// The database without the proxy: to hold a file.
    pub(crate) db: Database,
    pub(crate) faults: Vec<Fault>,
    pub(crate) random: Random,
}

impl Nemesis {
    /// Injects one fault after the other until the time is over. Afterwards everything is whole again.
    pub(crate) async fn run(&mut self, clients: &mut Clients, until: Instant) -> Result<Vec<Injected>> {
        let weighted: Vec<Fault> =
            self.faults.iter().flat_map(|fault| std::iter::repeat_n(*fault, fault.weight())).collect();
        let mut injected = Vec::new();
        while Instant::now() < until {
            let pause = self.random.millis(50, 350);
            tokio::time::sleep(pause).await;
            if weighted.is_empty() {
                continue;
            }
            let fault = *self.random.one_of(&weighted);
            let from_ns = now_ns();
            let hit = self.inject(fault, clients).await?;
            let stands_still = matches!(fault, Fault::StopClient | Fault::StopNode);
            injected.push(Injected { kind: fault.name(), from_ns, to_ns: now_ns(), hit, stands_still });
        }
        Ok(injected)
    }

    /// Whether it hit anything.
    async fn inject(&mut self, fault: Fault, clients: &mut Clients) -> Result<bool> {
        match fault {
            Fault::StopClient => {
                let stopped = clients.stop_one(&mut self.random);
                self.sleep(100, 4000).await;
                Clients::resume(stopped);
                Ok(true)
            }
            Fault::KillClient => clients.replace_one(&mut self.random).map(|()| true),
            Fault::StarveClient => {
                let starved = clients.start_starved()?;
                self.sleep(1500, 2500).await;
                tokio::task::spawn_blocking(move || clients::end(vec![starved]) == 0).await.map_err(Into::into)
            }
            Fault::HoldFile => {
                // Somebody else's transaction. If it cannot begin, others hold the file.
                let Ok(tx) = self.db.begin().await else { return Ok(false) };
                self.sleep(200, 1500).await;
                let _ = tx.rollback().await;
                Ok(true)
            }
            Fault::KillServer => {
                self.on_server(|server, node| {
                    server.kill(node);
                    server.restart(node).map(|()| true)
                })
                .await
            }
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
                self.on_server(|server, node| {
                    server.pause(node, true);
                    std::thread::sleep(LONG);
                    server.pause(node, false);
                    server.rejoin(node).map(|()| true)
                })
                .await
            }
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
                // PostgreSQL's prepared statements say the key, MariaDB's statements that take leases are texts.
                let says = if self.backend.is_mariadb() { "tenure_lock" } else { "w1-" };
                self.cut_at(Lose::Answer, says).await
            }
        }
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

    /// Does something to one of the nodes.
    async fn on_server(&mut self, work: impl FnOnce(&Server, usize) -> Result<bool> + Send + 'static) -> Result<bool> {
        let (server, node) = (Arc::clone(&self.server), self.random.below(self.server.nodes() as u64) as usize);
        tokio::task::spawn_blocking(move || work(&server, node)).await?
    }
}
