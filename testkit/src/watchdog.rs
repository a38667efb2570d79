//! Ends a server whose test program has gone.
//!
//! Drop does not run for statics, nor when a test program is killed or aborts. So a shell waits at the other end of a pipe, which the
//! system closes in any case. (Linux can also signal a process whose parent has died, but the parent is the *thread* that started it, and
//! every test has its own. And the folder would stay.)

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Signal;

/// The shell, and its pipe.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Watches this folder, and a server that `signal` ends without remains.
    pub(crate) fn new(folder: &Path, signal: Signal) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", include_str!("watchdog.sh"), "testkit-watchdog"]).arg(folder);
        command.arg(signal.as_raw().to_string()).current_dir("/");
        // A reader of the tests' output must not wait for the watchdog.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C at the terminal is for the test program alone.
        let mut shell = command.process_group(0).spawn()?;
        let pipe = shell.stdin.take();
        Ok(Watchdog { shell, pipe })
    }

    /// The server's process is now this one.
    pub(crate) fn watch(&mut self, pid: u32) -> io::Result<()> {
        self.write(&format!("{pid}\n"))
    }

    /// The process does not exist any more, so its id may soon belong to another one.
    pub(crate) fn forget(&mut self) {
        // If the shell is gone, it kills nothing.
        let _ = self.write("\n");
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        self.pipe.as_mut().expect("taken only by drop").write_all(line.as_bytes())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.shell.wait();
    }
}
