//! The cores on which the measured processes may run.
//!
//! With one caller, the client and the server take turns, so that one core is enough. With two, the scheduler decides by chance whether the
//! next one runs on a core that is awake: waking one takes longer than a statement, and the choice stays for seconds, so that two equal
//! sides are measured to differ by a factor of two.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Outcome;

/// Holds this process, and all servers that it has started or will start, on one core, until it is dropped. A server that another program
/// has started is not held: its figures are those of several cores.
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn children_are_held_on_one_core_and_released() {
        let pid = |process: u32| i32::try_from(process).ok().and_then(Pid::from_raw);
        let cores = |process: u32| sched_getaffinity(pid(process)).map(|set| set.count());
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let before = cores(child.id());
        let one = OneCore::hold().expect("one core");
        assert_eq!(cores(child.id()), Ok(1));
        let mut later = Command::new("sleep").arg("60").spawn().expect("a child");
        assert_eq!(cores(later.id()), Ok(1));
        drop(one);
        assert_eq!((cores(child.id()), cores(later.id())), (before, before));
        for child in [&mut child, &mut later] {
            child.kill().and_then(|()| child.wait()).expect("the child ends");
        }
    }
}
