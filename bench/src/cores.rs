//! The cores on which the measured processes may run.
//!
//! With one caller, the client and the server take turns, so that one core is enough. With two, the scheduler decides by chance whether the
//! next one runs on a core that is awake: waking one takes longer than a statement, and the choice stays for seconds, so that two equal
//! sides are measured to differ by a factor of two.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Outcome;

/// Holds this process, and all servers that it has started, on one core, until it is dropped.
#[derive(Debug)]
pub(crate) struct OneCore {
    before: CpuSet,
}

impl OneCore {
    pub(crate) fn hold() -> Outcome<Self> {
        let before = sched_getaffinity(None)?;
        let mut one = CpuSet::new();
        let first = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core)).ok_or("this process has no core")?;
        one.set(first);
        move_all(&one);
        Ok(OneCore { before })
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        move_all(&self.before);
    }
}

/// Processes that are started later inherit the cores of their parent.
fn move_all(cores: &CpuSet) {
    let mut family = vec![std::process::id()];
    let mut next = 0;
    while let Some(process) = family.get(next).copied() {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for thread in threads.flatten() {
            if let Some(thread) = thread.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
            {
                // A process that has just ended needs no core.
                let _ = sched_setaffinity(Some(thread), cores);
            }
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
}
