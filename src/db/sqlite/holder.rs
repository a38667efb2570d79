//! The other process that writes to the file, as far as the system reports it.

use std::path::{Path, PathBuf};

/// The byte of the shared-memory file that a writer locks: <https://www.sqlite.org/walformat.html#locks>.
const WRITER: &str = "120";

/// The process that has the write lock, in words: `process 4711 (shop), which is stopped`. It is for messages only, so errors are ignored.
/// Linux only.
///
/// The file must not be opened for this: closing it again would release all locks that this process has on it.
pub(crate) fn of(file: &Path) -> Option<String> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let mut memory = file.as_os_str().to_owned();
    memory.push("-shm");
    let process = writer(&locks, inode(&PathBuf::from(memory))?)?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    Some(described(process, &status))
}

#[cfg(unix)]
fn inode(file: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|metadata| metadata.ino())
}

#[cfg(not(unix))]
fn inode(_: &Path) -> Option<u64> {
    None
}

/// The holder of the lock, from lines such as `12: POSIX  ADVISORY  WRITE 4711 08:01:9437197 120 120`.
fn writer(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", process, file, first, last] = words[..] else { return None };
        let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
        let process = process.parse().ok().filter(|process| *process > 0)?;
        (is_file && first == WRITER && last == WRITER).then_some(process)
    })
}

fn described(process: u32, status: &str) -> String {
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let name = line("Name:").map(|name| format!(" ({name})")).unwrap_or_default();
    let stopped = line("State:").is_some_and(|state| state.starts_with(['T', 't']));
    format!("process {process}{name}{}", if stopped { ", which is stopped" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_read_off_the_systems_list_of_locks() {
        let locks = "1: POSIX  ADVISORY  READ 10 08:01:77 124 124\n\
                     1: -> POSIX  ADVISORY  WRITE 11 08:01:77 120 120\n\
                     2: POSIX  ADVISORY  WRITE 12 08:01:78 120 120\n\
                     3: POSIX  ADVISORY  WRITE 13 08:01:77 120 120\n";
        assert_eq!(writer(locks, 77), Some(13));
        assert_eq!(writer(locks, 79), None);
        assert_eq!(described(13, "Name:\tshop\nState:\tT (stopped)\n"), "process 13 (shop), which is stopped");
        assert_eq!(described(13, "Name:\tshop\nState:\tS (sleeping)\n"), "process 13 (shop)");
        assert_eq!(described(13, ""), "process 13");
    }
}
