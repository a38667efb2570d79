//! The checks: pure functions from the evidence of a run to what it violates. Each can fail; its tests show by what.

mod answers;
mod appends;
mod cycles;
mod dropped;
mod enough;
mod exclusion;
mod fencing;
mod leases;
mod lost_file;
mod mutex;
mod order;
pub(crate) mod pauses;
#[cfg(test)]
mod samples;
mod stuck;
mod versions;

use std::fmt;

use crate::evidence::Evidence;

pub(crate) use dropped::Asked;
pub(crate) use enough::{LATE_MS, Least, Tally};
pub(crate) use mutex::Judged;

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which check found it.
    pub(crate) check: &'static str,
    /// What is wrong.
    pub(crate) what: String,
    /// When it happened, by the monotonic clock; none if that is not known.
    pub(crate) at_ns: Option<u64>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.what)
    }
}

/// A check.
pub(crate) struct Check {
    /// Its number in the programme, and its name.
    pub(crate) name: &'static str,
    /// What it finds.
    pub(crate) run: fn(&Evidence) -> Vec<Violation>,
}

/// All checks of safety and liveness. Whether a run is valid at all is asked by [`enough`].
pub(crate) const CHECKS: [Check; 13] = [
    Check { name: exclusion::NAME, run: exclusion::check },
    Check { name: leases::NAME, run: leases::check },
    Check { name: fencing::NAME, run: fencing::check },
    Check { name: order::NAME, run: order::check },
    Check { name: appends::NAME, run: appends::check },
    Check { name: appends::SUM, run: appends::check_sum },
    Check { name: versions::NAME, run: versions::check },
    Check { name: stuck::NAME, run: stuck::check },
    Check { name: mutex::NAME, run: mutex::check },
    Check { name: cycles::NAME, run: cycles::check },
    Check { name: lost_file::NAME, run: lost_file::check },
    Check { name: answers::NAME, run: answers::check },
    Check { name: dropped::NAME, run: dropped::check },
];

/// Everything that any check finds, the earliest first.
#[cfg_attr(not(feature = "planted"), allow(dead_code, reason = "the report runs one after the other"))]
pub(crate) fn all(evidence: &Evidence) -> Vec<Violation> {
    let mut found: Vec<_> = CHECKS.iter().flat_map(|check| (check.run)(evidence)).collect();
    found.sort_by_key(|violation| violation.at_ns.unwrap_or(u64::MAX));
    found
}
