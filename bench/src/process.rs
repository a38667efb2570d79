//! The resources of processes, from the kernel's `/proc`.

use std::fs;

use crate::Outcome;

/// Ticks per second of the times in `/proc`: the same on every Linux that this builds for.
const TICKS: f64 = 100.0;

/// Seconds of one core that this process has used.
pub(crate) fn own_cpu() -> Outcome<f64> {
    Ok(stat("self")?.own)
}

/// Bytes of memory that this process has in use.
pub(crate) fn resident() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024.0)
}

/// A server: its first process, and that one's children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server(u32);

impl Server {
    pub(crate) fn of(first: u32) -> Self {
        Server(first)
    }

    /// From a child of the first process.
    pub(crate) fn of_child(child: u32) -> Outcome<Self> {
        Ok(Server(stat(&child.to_string())?.parent))
    }

    /// Seconds of one core that it has used, with those of children that have ended.
    pub(crate) fn cpu(self) -> Outcome<f64> {
        let first = stat(&self.0.to_string())?;
        let processes = fs::read_dir("/proc")?.flatten();
        // A process that ends meanwhile is in the sum of its parent's ended children a moment later.
        let all = processes.filter_map(|process| stat(process.file_name().to_str()?).ok());
        let children: f64 = all.filter(|stat| stat.parent == self.0).map(|stat| stat.own).sum();
        Ok(first.own + first.ended_children + children)
    }
}

/// The fields of `/proc/…/stat` that are read.
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

fn stat(process: &str) -> Outcome<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The program's name comes before, in brackets, and may contain anything.
    let rest = text.rsplit_once(')').ok_or("/proc/…/stat has no name in it")?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| -> Outcome<f64> { Ok(fields.get(at).ok_or("/proc/…/stat is too short")?.parse()?) };
    Ok(Stat {
        parent: number(1)? as u32,
        own: (number(11)? + number(12)?) / TICKS,
        ended_children: (number(13)? + number(14)?) / TICKS,
    })
}
