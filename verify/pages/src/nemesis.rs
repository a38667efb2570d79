//! What goes wrong with the network and the server during a round, in an order that the seed decides.

use std::time::{Duration, Instant};

use testkit::Random;
use tokio::time::sleep;

use super::Result;
use super::evidence::Injected;
use super::fault::Fault;
use super::network::{Cut, Network};
use super::server::Server;

/// How long a cut waits for a save.
const CUT_WAITS: Duration = Duration::from_secs(4);

/// Injects faults.
pub(super) struct Nemesis {
    pub(super) server: Server,
    pub(super) network: Network,
    pub(super) random: Random,
}

impl Nemesis {
    /// Injects one fault after the other until the time is over: each kind once, and then by chance. Afterwards everything is whole.
    pub(super) async fn run(mut self, until: Instant) -> Result<Vec<Injected>> {
        let weighted: Vec<Fault> =
            Fault::ALL.into_iter().flat_map(|fault| std::iter::repeat_n(fault, fault.weight())).collect();
        let (mut first, mut injected) = (Fault::ALL.to_vec(), Vec::new());
        loop {
            sleep(self.random.millis(200, 1_200)).await;
            if Instant::now() >= until {
                return Ok(injected);
            }
            let fault = match first.len() as u64 {
                0 => *self.random.one_of(&weighted),
                left => first.swap_remove(self.random.below(left) as usize),
            };
            let hit = self.inject(fault).await?;
            injected.push(Injected { kind: fault.name(), hit });
        }
    }

    /// Whether it hit anything.
    async fn inject(&mut self, fault: Fault) -> Result<bool> {
        match fault {
            Fault::CutBefore => Ok(self.cut(Cut::Before).await),
            Fault::CutWithin => Ok(self.cut(Cut::Within).await),
            Fault::CutAfter => Ok(self.cut(Cut::After).await),
            Fault::Reset => Ok(self.network.reset() > 0),
            Fault::Silence => {
                self.network.fall_silent();
                sleep(self.random.millis(300, 3_000)).await;
                Ok(self.network.recover() > 0)
            }
            Fault::Delay => {
                self.network.delay(self.random.millis(20, 300));
                sleep(self.random.millis(500, 2_500)).await;
                self.network.delay(Duration::ZERO);
                Ok(true)
            }
            Fault::KillServer => self.kill().await.map(|()| true),
            Fault::KillAtSave => {
                let hit = self.cut(Cut::Nowhere).await;
                // The save is on its way, at the database, or being answered.
                sleep(self.random.millis(0, 25)).await;
                self.kill().await.map(|()| hit)
            }
            Fault::StopServer => {
                self.server.pause(true);
                sleep(self.random.millis(200, 2_500)).await;
                self.server.pause(false);
                Ok(true)
            }
        }
    }

    async fn kill(&mut self) -> Result<()> {
        self.server.kill();
        sleep(self.random.millis(0, 1_500)).await;
        let server = self.server.clone();
        tokio::task::spawn_blocking(move || server.start_again()).await?
    }

    /// Whether a save has met it.
    async fn cut(&self, cut: Cut) -> bool {
        self.network.cut_next_save(cut);
        let until = Instant::now() + CUT_WAITS;
        while !self.network.is_cut() && Instant::now() < until {
            sleep(Duration::from_millis(2)).await;
        }
        self.network.end_cut()
    }
}
