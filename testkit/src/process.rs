//! A server's processes: the one we started, and its children.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};

/// How long the system may take to do away with killed processes. One that waits for a disk cannot die before it is done.
const BURIAL: Duration = Duration::from_secs(30);

/// A running server. Nobody else waits for it, so its id stays its own until we do.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it in a process group of its own, where Ctrl-C at the terminal does not reach it before its time.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Self> {
        Ok(Process { child: command.process_group(0).spawn()? })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("only we wait for this child")
    }

    /// Sends a signal and waits. Whether it ended in time.
    pub(crate) fn end_by(&mut self, signal: Signal, limit: Duration) -> bool {
        if self.ended().is_none() {
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
        within(limit, || self.ended().is_some())
    }

    /// SIGKILL for it and all its children. Afterwards none of them runs any more.
    ///
    /// PostgreSQL puts each child in a session of its own, so there is no group that has them all. And a child that
    /// outlives the others keeps their shared memory, without which the server does not start again.
    pub(crate) fn kill(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let root = Pid::from_child(&self.child);
        // Stopped, it cannot have more children while we count them.
        let _ = kill_process(root, Signal::STOP);
        within(BURIAL, || stat(root).is_none_or(|stat| "TZX".contains(stat.state)));
        let children = descendants(root);
        for pid in children.iter().copied().chain([root]) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.wait();
        // Whoever adopts the children may be slow to bury them: dead is enough.
        within(BURIAL, || children.iter().all(|pid| stat(*pid).is_none_or(|stat| "ZX".contains(stat.state))));
    }
}

/// What the system says about a process.
struct Stat {
    state: char,
    parent: Option<Pid>,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The program's name comes before, in brackets, and may have anything in it.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(Stat { state, parent: fields.next()?.parse().ok().and_then(Pid::from_raw) })
}

fn descendants(root: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let pairs: Vec<_> = pids.filter_map(|pid| Some((pid, stat(pid)?.parent?))).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(pairs.iter().filter(|(_, other)| *other == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family.split_off(1)
}

/// Asks again and again until the answer is yes. Whether it was in time.
pub(crate) fn within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
