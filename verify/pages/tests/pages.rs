//! A short run of people at forms in real browsers with faults. Long ones, and wrong builds of the pages: `cargo xtask chaos --pages`.

#![allow(missing_docs)]

/// Runs the program to its end: its exit code, and its output.
fn pages(arguments: &[&str]) -> (Option<i32>, String) {
    verdict::run(env!("CARGO_BIN_EXE_pages"), &[&["run"], arguments].concat())
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
