//! The checks: pure functions from the evidence of a round to what it violates. Each can fail; its tests show by what.

mod called;
mod kept;
mod overwritten;
mod private;
mod returned;
#[cfg(test)]
mod samples;
mod saved;
mod unfinished;
mod whole;

use std::fmt;

use super::evidence::Evidence;

pub(super) use kept::{Fate, fates};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) check: &'static str,
    pub(super) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.what)
    }
}

/// A check.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) run: fn(&Evidence) -> Vec<Violation>,
}

pub(super) const CHECKS: [Check; 8] = [
    Check { name: saved::NAME, run: saved::check },
    Check { name: kept::NAME, run: kept::check },
    Check { name: overwritten::NAME, run: overwritten::check },
    Check { name: private::NAME, run: private::check },
    Check { name: whole::NAME, run: whole::check },
    Check { name: returned::NAME, run: returned::check },
    Check { name: called::NAME, run: called::check },
    Check { name: unfinished::NAME, run: unfinished::check },
];

/// Everything that any check finds.
pub(super) fn all(evidence: &Evidence) -> Vec<Violation> {
    CHECKS.iter().flat_map(|check| (check.run)(evidence)).collect()
}
