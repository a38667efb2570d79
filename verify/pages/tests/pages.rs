//! A short run of people at forms in real browsers with faults. Long ones, and wrong builds of the pages: `cargo xtask chaos --pages`.

#![allow(missing_docs, clippy::unwrap_used)]

use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Two loads at the same time on one machine would test its scheduler.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the program to its end: its exit code, and what it printed.
fn pages(arguments: &[&str]) -> (Option<i32>, String) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pages"));
    let output = command.arg("run").args(arguments).arg("--folder").arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    (output.status.code(), said)
}

#[test]
fn faults_at_the_forms_lose_no_text() {
    // On a slow machine, two people may not meet within one round.
    let (code, said) = pages(&["--minutes", "0.7", "--seed", "2026", "--further", "3"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn run_in_which_too_little_happens_is_invalid() {
    let (code, said) = pages(&["--minutes", "0.01", "--no-faults"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("INVALID"), "{said}");
}
