//! A server's processes: the one we started, and its children.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};

/// How long the system may take to remove killed processes. One that waits for a disk cannot end before that.
const BURIAL: Duration = Duration::from_secs(30);

/// A running server. Only this struct waits for it, so its id stays valid until then.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it in a process group of its own, so that Ctrl-C at the terminal does not end it too early.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Self> {
        Ok(Process { child: command.process_group(0).spawn()? })
    }

    /// Starts it in the process group of the terminal, so that Ctrl-C ends it too.
    fn beside(command: &mut Command) -> std::io::Result<Self> {
        Ok(Process { child: command.spawn()? })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("only we wait for this child")
    }

    /// Sends a signal to it and all its children. Stopped, it cannot have more children while they are counted.
    pub(crate) fn signal_all(&self, signal: Signal) {
        signal_family(Pid::from_child(&self.child), signal);
    }

    /// Stops it and all its children. None of them runs when this returns.
    pub(crate) fn stop_all(&self) {
        stop_family(Pid::from_child(&self.child));
    }

    /// Sends a signal and waits. Returns whether it ended in time.
    pub(crate) fn end_by(&mut self, signal: Signal, limit: Duration) -> bool {
        if self.ended().is_none() {
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
        within(limit, || self.ended().is_some())
    }

    /// SIGKILL for it and all its children. Afterwards none of them runs.
    ///
    /// PostgreSQL puts each child in a session of its own, so no process group contains all of them. And a child that
    /// outlives the others keeps their shared memory, without which the server does not start again.
    pub(crate) fn kill(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let root = Pid::from_child(&self.child);
        let children = signal_killed(root);
        let _ = self.child.wait();
        // The adopting process may be slow to reap the children: dead is enough.
        within(BURIAL, || children.iter().all(is_dead));
    }
}

/// Sends a signal to a process and all its children.
pub(crate) fn signal_family(root: Pid, signal: Signal) {
    for pid in [root].into_iter().chain(descendants(root)) {
        let _ = kill_process(pid, signal);
    }
}

/// Stops a process and all its children. None of them runs when this returns.
pub(crate) fn stop_family(root: Pid) {
    let is_still = |pid: &Pid| stat(*pid).is_none_or(|stat| "TZX".contains(stat.state));
    // Only then it cannot have more children.
    let _ = kill_process(root, Signal::STOP);
    within(BURIAL, || is_still(&root));
    let children = descendants(root);
    for child in &children {
        let _ = kill_process(*child, Signal::STOP);
    }
    within(BURIAL, || children.iter().all(is_still));
}

/// Kills a process that is not our child, and all its children. Afterwards none of them runs.
pub(crate) fn kill_family(root: Pid) {
    let children = signal_killed(root);
    within(BURIAL, || children.iter().chain([&root]).all(is_dead));
}

/// Sends SIGKILL to a process and all its children; returns the children.
fn signal_killed(root: Pid) -> Vec<Pid> {
    // While it is stopped, it cannot start more children.
    let _ = kill_process(root, Signal::STOP);
    within(BURIAL, || stat(root).is_none_or(|stat| "TZX".contains(stat.state)));
    let children = descendants(root);
    for pid in children.iter().copied().chain([root]) {
        let _ = kill_process(pid, Signal::KILL);
    }
    children
}

fn is_dead(pid: &Pid) -> bool {
    stat(*pid).is_none_or(|stat| "ZX".contains(stat.state))
}

/// Runs a command with a time limit; returns its status, or `None` if it was killed, with all processes that it had started.
///
/// # Errors
/// If it cannot be started.
pub fn status_within(limit: Duration, command: &mut Command) -> std::io::Result<Option<ExitStatus>> {
    let mut running = Process::beside(command)?;
    let mut status = None;
    within(limit, || {
        status = running.ended();
        status.is_some()
    });
    running.kill();
    Ok(status)
}

/// Stops a process that another one has started, and all its children: what a laptop does when it is closed.
pub fn stop_tree(id: u32) {
    signal_tree(id, Signal::STOP);
}

/// Lets all of them go on.
pub fn continue_tree(id: u32) {
    signal_tree(id, Signal::CONT);
}

/// Kills all of them. None of them can start another one meanwhile.
pub fn kill_tree(id: u32) {
    signal_tree(id, Signal::STOP);
    signal_tree(id, Signal::KILL);
    let root = i32::try_from(id).ok().and_then(Pid::from_raw);
    within(BURIAL, || root.and_then(stat).is_none_or(|stat| "ZX".contains(stat.state)));
}

fn signal_tree(id: u32, signal: Signal) {
    let Some(root) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    for pid in [root].into_iter().chain(descendants(root)) {
        let _ = kill_process(pid, signal);
    }
}

/// The data of the system about a process.
struct Stat {
    state: char,
    parent: Option<Pid>,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The program's name comes before, in brackets, and may contain anything.
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

/// Repeats the check until it succeeds. Returns whether it did in time.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn command_is_killed_with_its_children() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg("sleep 600 & echo $! > \"$0\"; wait").arg(file.path());
        let mut running = Process::beside(&mut command).unwrap();
        let mut child = String::new();
        assert!(within(BURIAL, || {
            child = fs::read_to_string(file.path()).unwrap();
            child.ends_with('\n')
        }));
        running.kill();
        let child = Pid::from_raw(child.trim().parse().unwrap()).unwrap();
        assert!(stat(child).is_none_or(|stat| "ZX".contains(stat.state)));
    }

    #[test]
    fn stopped_process_goes_on_when_it_is_told_to() {
        let mut command = Command::new("/bin/sh");
        let mut running = Process::beside(command.args(["-c", "sleep 600"])).unwrap();
        let id = Pid::from_child(&running.child);
        let is_stopped = || stat(id).is_some_and(|stat| stat.state == 'T');
        running.stop_all();
        assert!(is_stopped());
        running.signal_all(Signal::CONT);
        assert!(within(BURIAL, || !is_stopped()));
        running.kill();
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let mut command = Command::new("/bin/sh");
        assert!(status_within(Duration::ZERO, command.args(["-c", "sleep 600"])).unwrap().is_none());
    }

    #[test]
    fn a_command_that_ends_in_time_says_how() {
        let mut command = Command::new("/bin/sh");
        let status = status_within(BURIAL, command.args(["-c", "exit 3"])).unwrap();
        assert_eq!(status.unwrap().code(), Some(3));
    }
}
