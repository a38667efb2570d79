//! The client processes, as the driver sees them.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;
use crate::backend::Backend;
use crate::random::Random;
use crate::subject::tenure::Declared;
use crate::workload::Workload;

/// How long clients may take to end what they are doing: longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all clients of a run are told.
#[derive(Debug, Clone)]
pub(crate) struct Crew {
    pub(crate) backend: Backend,
    /// Of the address, or of each node. A client uses one of them.
    pub(crate) urls: Vec<String>,
    pub(crate) histories: PathBuf,
    pub(crate) seed: u64,
    pub(crate) tasks: u64,
    pub(crate) connections: u32,
    pub(crate) workloads: Vec<Workload>,
    /// The application with forms, if a workload needs it.
    pub(crate) pages: Option<Pages>,
    /// What they declare of a cluster.
    pub(crate) declared: Declared,
    /// Variables for all of them: on SQLite they are the database's programs.
    pub(crate) environment: Vec<(String, String)>,
    /// The name of a wrong build, instead of tenure.
    pub(crate) planted: Option<String>,
}

/// The application with forms.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    pub(crate) port: u16,
    /// Whether it has a mistake: a form that is sent again is applied again.
    pub(crate) applies_again: bool,
}

impl Pages {
    /// On a port below those that the system gives to outgoing connections: otherwise one of them could have it while the application is
    /// away. Not by the seed: two runs at the same time would send their forms to one application.
    pub(crate) fn new(applies_again: bool) -> Self {
        const PORTS: std::ops::Range<u16> = 12_000..20_000;
        let first = std::process::id() as usize * 101 % PORTS.len();
        let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let port = PORTS.cycle().skip(first).take(1000).find(free).unwrap_or(PORTS.start);
        Pages { port, applies_again }
    }
}

/// The clients of a run.
#[derive(Debug)]
pub(crate) struct Clients {
    crew: Crew,
    /// The process of the application with forms.
    application: Option<Child>,
    running: Vec<Child>,
    /// How many were started so far.
    started: u64,
}

impl Clients {
    /// Starts so many.
    pub(crate) fn start(crew: Crew, count: u64) -> Result<Self> {
        let mut clients = Clients { crew, application: None, running: Vec::new(), started: 0 };
        clients.application = clients.spawn_pages()?;
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
        if let Some(pages) = &crew.pages {
            command.args(["--pages", &format!("127.0.0.1:{}", pages.port)]);
        }
        command.args(crew.declared.options());
        command.envs(crew.environment.iter().map(|(name, value)| (name, value)));
        if let Some(bug) = &crew.planted {
            command.args(["--planted", bug]);
        }
        let said = File::create(crew.histories.join(format!("client-{number:04}.err")))?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(said);
        Ok(command.spawn()?)
    }

    /// Starts the application with forms, if there is to be one.
    fn spawn_pages(&self) -> Result<Option<Child>> {
        let crew = &self.crew;
        let Some(pages) = &crew.pages else { return Ok(None) };
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("pages").args(["--backend", &crew.backend.to_string(), "--url", &crew.urls[0]]);
        command.args(["--port", &pages.port.to_string(), "--connections", &crew.connections.to_string()]);
        command.args(crew.declared.options());
        command.envs(crew.environment.iter().map(|(name, value)| (name, value)));
        if pages.applies_again {
            command.arg("--applies-again");
        }
        let said = File::options().create(true).append(true).open(crew.histories.join("pages.err"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(said);
        Ok(Some(command.spawn()?))
    }

    /// Stops all processes, the application among them. None of them runs when this returns.
    pub(crate) fn pause_all(&self) -> Result<()> {
        let all: Vec<Pid> = self.running.iter().chain(&self.application).map(Pid::from_child).collect();
        for id in &all {
            kill_process(*id, Signal::STOP)?;
        }
        let begun = Instant::now();
        while !all.iter().all(|id| is_still(*id)) {
            if begun.elapsed() > PATIENCE {
                return Err("a client could not be stopped".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Kills all processes with SIGKILL, does something, and starts as many.
    pub(crate) fn replace_all(&mut self, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
        let count = self.running.len();
        for mut killed in std::mem::take(&mut self.running).into_iter().chain(self.application.take()) {
            killed.kill()?;
            killed.wait()?;
        }
        meanwhile()?;
        self.application = self.spawn_pages()?;
        for _ in 0..count {
            let (tasks, connections) = (self.crew.tasks, self.crew.connections);
            let client = self.spawn(tasks, connections)?;
            self.running.push(client);
        }
        Ok(())
    }

    /// Kills the application with SIGKILL, and starts it again. Whether there is one.
    pub(crate) fn replace_pages(&mut self) -> Result<bool> {
        let Some(mut killed) = self.application.take() else { return Ok(false) };
        let sent = killed.kill();
        killed.wait()?;
        self.application = self.spawn_pages()?;
        Ok(sent.is_ok())
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
        let hung = end(running);
        // Those who use it are gone.
        hung + end(self.application.take().into_iter().collect())
    }
}

/// Whether a process stands still, or has ended.
fn is_still(id: Pid) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).unwrap_or_default();
    // The program's name comes before, in brackets, and may contain anything.
    let state = text.rsplit_once(')').and_then(|(_, fields)| fields.trim_start().chars().next());
    state.is_none_or(|state| "TZX".contains(state))
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
        for client in self.running.iter_mut().chain(&mut self.application) {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// The name of a workload on the command line.
pub(crate) fn name(workload: Workload) -> String {
    use clap::ValueEnum;
    workload.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
