//! Some wrong builds, which the checks of the load have to find. The load on the right build: `cargo xtask chaos --together`.

#![allow(missing_docs)]

/// Runs the program to its end: its exit code, and its output.
fn chaos(arguments: &[&str]) -> (Option<i32>, String) {
    verdict::run(env!("CARGO_BIN_EXE_chaos"), arguments)
}

#[test]
fn run_in_which_too_little_happens_is_invalid() {
    let (code, said) = chaos(&["run", "--backend", "sqlite", "--minutes", "0.02", "--no-faults", "--least", "100000"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("INVALID"), "{said}");
}

#[cfg(feature = "planted")]
#[test]
fn wrong_builds_are_found_and_the_right_one_passes() {
    let bugs = [
        "none",
        "take-over-in-steps",
        "no-lease-check",
        "answer-before-commit",
        "version-compared-in-program",
        "watched-not-locked",
        "remembered-refusal",
        "form-applied-again",
    ];
    let only: Vec<&str> = bugs.iter().flat_map(|bug| ["--only", *bug]).collect();
    let (code, said) = chaos(&[&["planted"], &only[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("found 7 of 7"), "{said}");
}
