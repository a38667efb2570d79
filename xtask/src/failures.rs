//! The failed tests of a step, for the last lines of a run: of a long log, often only its end is kept.

/// More would hide the other steps.
const MOST: usize = 20;

/// The failed tests in the output of Rust's test programs, and where each panicked, with its message.
pub(crate) fn failures(log: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            failures.push(format!("{line} {}", lines.next().unwrap_or_default()));
        } else if let Some(test) = line.strip_suffix(" ... FAILED") {
            failures.push(test.to_owned());
        }
    }
    failures.truncate(MOST);
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_test_and_its_panic_are_named() {
        let log = "test good ... ok\ntest links ... FAILED\nthread 'links' (7) panicked at tests/repository/guide.rs:165:45:\n\
                   src/lib.rs does not say where [clusters] leads\n";
        let panic = "thread 'links' (7) panicked at tests/repository/guide.rs:165:45: src/lib.rs does not say where [clusters] leads";
        assert_eq!(failures(log), ["test links", panic]);
    }
}
