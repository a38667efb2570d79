//! Ends a server whose test program has gone.
//!
//! Drop does not run for statics, nor when a test program is killed or aborts. So a shell waits at the other end of a
//! pipe, which the system closes whatever happens to us. (Linux can also signal a process whose parent has died, but it
//! means the *thread* that started it, and every test has its own. And nobody would remove the folder.)

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Signal;

/// The shell, and the pipe it waits at.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Watches over this folder, and over a server that `signal` ends without traces.
    pub(crate) fn new(folder: &Path, signal: Signal) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", include_str!("watchdog.sh"), "testkit-watchdog"]).arg(folder);
        command.arg(signal.as_raw().to_string()).current_dir("/");
        // Whoever reads what the tests print must not have to wait for the watchdog too.
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

    /// There is no such process any more, so its id may soon be somebody else's.
    pub(crate) fn forget(&mut self) {
        // If the shell is gone, it kills nobody.
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
