//! The verdict of a run: words and exit codes that the load with faults and the people at the pages share.

use std::error::Error;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The exit code of a run in which too little happened.
const INVALID: u8 = 3;

/// The exit code when the test itself did not work.
const BROKEN: u8 = 4;

/// Whatever can go wrong with the test itself.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The given seed, or one of the clock.
pub fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()))
}

/// Prints how a run was, and says it by the exit code: 0 passed, 1 violated, 3 invalid.
pub fn of(violations: usize, missing: &[String]) -> ExitCode {
    for lack in missing {
        println!("missing: {lack}");
    }
    if violations > 0 {
        println!("VIOLATED: {violations} violations");
        return ExitCode::FAILURE;
    }
    if !missing.is_empty() {
        println!("INVALID: too little happened to say anything");
        return ExitCode::from(INVALID);
    }
    println!("PASSED: nothing was found");
    ExitCode::SUCCESS
}

/// Prints how a hunt for wrong builds was, and says it by the exit code. `missed` were not found, and `is_right_found` says that a check
/// found something in the right build.
pub fn of_hunt(found: usize, missed: usize, is_right_found: bool) -> ExitCode {
    println!("found {found} of {}", found + missed);
    if missed == 0 && !is_right_found { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The exit code of a program: its own, or 4 if the test itself did not work.
pub fn ended(ended: Result<ExitCode>) -> ExitCode {
    ended.unwrap_or_else(|error| {
        eprintln!("the test itself failed: {error}");
        ExitCode::from(BROKEN)
    })
}

/// Runs a program to its end, with a temporary folder for its histories: its exit code, and its output. One at a time: two loads on one
/// machine would test its scheduler.
///
/// # Panics
/// If it cannot be started.
pub fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(program);
    let output = command.args(arguments).arg("--folder").arg(folder.path()).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    (output.status.code(), said)
}
