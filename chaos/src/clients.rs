//! The client processes, as the driver sees them.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;
use crate::backend::Backend;
use crate::random::Random;
use crate::workload::Workload;

/// How long clients may take to end what they are doing: longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all clients of a run are told.
#[derive(Debug, Clone)]
pub(crate) struct Crew {
    pub(crate) backend: Backend,
    /// Of each node. A client uses one of them.
    pub(crate) urls: Vec<String>,
    pub(crate) histories: PathBuf,
    pub(crate) seed: u64,
    pub(crate) tasks: u64,
    pub(crate) connections: u32,
    pub(crate) workloads: Vec<Workload>,
    /// Whether they declare that one node accepts writes.
    pub(crate) one_writer_node: bool,
    /// The name of a wrong build, instead of tenure.
    pub(crate) planted: Option<String>,
}

/// The clients of a run.
#[derive(Debug)]
pub(crate) struct Clients {
    crew: Crew,
    running: Vec<Child>,
    /// How many were started so far.
    started: u64,
}

impl Clients {
    /// Starts so many.
    pub(crate) fn start(crew: Crew, count: u64) -> Result<Self> {
        let mut clients = Clients { crew, running: Vec::new(), started: 0 };
        for _ in 0..count {
            let (tasks, connections) = (clients.crew.tasks, clients.crew.connections);
            let client = clients.spawn(tasks, connections)?;
            clients.running.push(client);
        }
        Ok(clients)
    }

    fn spawn(&mut self, tasks: u64, connections: u32) -> Result<Child> {
        let (crew, number) = (&self.crew, self.started);
        self.started += 1;
        let workloads: Vec<String> = crew.workloads.iter().map(|workload| name(*workload)).collect();
        let url = &crew.urls[number as usize % crew.urls.len()];
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("client").args(["--backend", &crew.backend.to_string(), "--url", url]);
        command.arg("--histories").arg(&crew.histories).arg("--workloads").arg(workloads.join(","));
        for (option, value) in [("--number", number), ("--seed", crew.seed), ("--tasks", tasks)] {
            command.arg(option).arg(value.to_string());
        }
        command.arg("--connections").arg(connections.to_string());
        if crew.one_writer_node {
            command.arg("--one-writer-node");
        }
        if let Some(bug) = &crew.planted {
            command.args(["--planted", bug]);
        }
        let said = File::create(crew.histories.join(format!("client-{number:04}.err")))?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(said);
        Ok(command.spawn()?)
    }

    /// Stops one of them with SIGSTOP; [`resume`](Self::resume) lets it go on.
    pub(crate) fn stop_one(&self, random: &mut Random) -> Pid {
        let id = Pid::from_child(random.one_of(&self.running));
        let _ = kill_process(id, Signal::STOP);
        id
    }

    /// Lets a stopped one go on.
    pub(crate) fn resume(id: Pid) {
        let _ = kill_process(id, Signal::CONT);
    }

    /// Kills one of them with SIGKILL, and starts another one.
    pub(crate) fn replace_one(&mut self, random: &mut Random) -> Result<()> {
        let at = random.below(self.running.len() as u64) as usize;
        let (tasks, connections) = (self.crew.tasks, self.crew.connections);
        let next = self.spawn(tasks, connections)?;
        let mut killed = std::mem::replace(&mut self.running[at], next);
        let sent = killed.kill();
        killed.wait()?;
        Ok(sent?)
    }

    /// Starts one that has far more tasks than connections.
    pub(crate) fn start_starved(&mut self) -> Result<Child> {
        self.spawn(24, 1)
    }

    /// Tells all to end. How many did not, and were killed.
    pub(crate) fn end(&mut self) -> u64 {
        let running = std::mem::take(&mut self.running);
        end(running)
    }
}

/// Tells clients to end what they are doing. How many did not in time, and were killed.
pub(crate) fn end(mut clients: Vec<Child>) -> u64 {
    for client in &mut clients {
        drop(client.stdin.take());
    }
    let begun = Instant::now();
    let mut hung = 0;
    for mut client in clients {
        while client.try_wait().is_ok_and(|status| status.is_none()) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        if client.try_wait().is_ok_and(|status| status.is_none()) {
            hung += 1;
            let _ = client.kill();
        }
        let _ = client.wait();
    }
    hung
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.running {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// The name of a workload on the command line.
fn name(workload: Workload) -> String {
    use clap::ValueEnum;
    workload.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
