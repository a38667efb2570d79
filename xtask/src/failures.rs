//! The failed tests of a step, for the last lines of a run: of a long log, often only its end is kept.

use std::io::{BufRead, BufReader, Result};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// More would hide the other steps.
const MOST: usize = 20;

/// Time for the rest of the output once the command has ended. A process that it left behind may keep the output open.
const REST: Duration = Duration::from_secs(5);

/// The standard output of a command, printed as it comes.
pub(crate) struct Output(Receiver<String>);

impl Output {
    /// Takes over the standard output of a command that has not been started.
    pub(crate) fn of(command: &mut Command) -> Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer);
        let (sender, failures) = channel();
        thread::spawn(move || {
            let mut lines = Lines::default();
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                if let Some(failure) = lines.read(&line) {
                    let _ = sender.send(failure);
                }
            }
        });
        Ok(Output(failures))
    }

    /// The failed tests, and where each panicked, once the command has ended and has been dropped.
    pub(crate) fn failures(self) -> Vec<String> {
        self.failures_within(REST)
    }

    fn failures_within(self, rest: Duration) -> Vec<String> {
        let next = || self.0.recv_timeout(rest).ok();
        std::iter::from_fn(next).take(MOST).collect()
    }
}

/// Reads the output of Rust's test programs line by line.
#[derive(Default)]
struct Lines {
    /// The last line was the place of a panic, and its message comes next.
    panicked: Option<String>,
}

impl Lines {
    /// What this line says about a failed test.
    fn read(&mut self, line: &str) -> Option<String> {
        if let Some(place) = self.panicked.take() {
            return Some(format!("{place} {line}"));
        }
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            self.panicked = Some(line.to_owned());
            return None;
        }
        line.strip_suffix(" ... FAILED").map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_test_and_its_panic_are_named() {
        let mut command = Command::new("printf");
        command.args([
            "%s\\n",
            "test good ... ok",
            "test links ... FAILED",
            "thread 'links' (7) panicked at tests/guide.rs:165:45:",
            "src/lib.rs does not say where [clusters] leads",
        ]);
        let output = Output::of(&mut command).expect("a pipe");
        assert!(command.status().expect("printf").success());
        drop(command);
        let panic =
            "thread 'links' (7) panicked at tests/guide.rs:165:45: src/lib.rs does not say where [clusters] leads";
        assert_eq!(output.failures(), ["test links", panic]);
    }

    #[test]
    fn process_that_stays_does_not_delay_the_report_for_long() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo 'test one ... FAILED'; sleep 600 2> /dev/null & echo $! >&2"])
            .stderr(std::process::Stdio::piped());
        let output = Output::of(&mut command).expect("a pipe");
        let left = command.output().expect("a shell").stderr;
        drop(command);
        assert_eq!(output.failures_within(Duration::from_millis(500)), ["test one"]);
        let id = String::from_utf8_lossy(&left).trim().parse().expect("a process id");
        testkit::kill_tree(id);
    }
}
