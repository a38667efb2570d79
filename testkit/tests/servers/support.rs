use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The processes with this working folder: servers use the one with their data.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    processes().filter(|pid| working_folder(*pid).is_some_and(|place| place.starts_with(folder))).collect()
}

/// The working folders of this process's children.
pub(crate) fn folders_of_children(parent: u32) -> Vec<PathBuf> {
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.split_whitespace().nth(1) == Some(parent.to_string().as_str())
    };
    processes().filter(is_child).filter_map(working_folder).filter(|folder| *folder != Path::new("/")).collect()
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn soon(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        sleep(Duration::from_millis(10));
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// `None` for dead processes, and for those that we may not inspect.
fn working_folder(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
