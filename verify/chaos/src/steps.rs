//! Steps of the database's clock, and what its readings say of an order in spite of them.

use crate::clock::ms;

/// By how many milliseconds a reading may miss the moment of a step, besides the time that the step took.
const SLACK_MS: i64 = 50;

/// Calls may be under way for so long around a step.
const AROUND: u64 = ms(5_000);

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Between which moments of the monotonic clock it happened.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// What the clock showed before and after it, in milliseconds since 1970.
    pub(crate) before_ms: i64,
    pub(crate) after_ms: i64,
}

/// All steps of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

impl Steps {
    /// Whether a reading of the clock was surely taken before a higher one. Not if the clock showed both, and was set back in between.
    pub(crate) fn surely_before(&self, one_ms: i64, higher_ms: i64) -> bool {
        let (higher_first, one_last) = (self.showing(higher_ms).next(), self.showing(one_ms).last());
        one_ms < higher_ms && higher_first.zip(one_last).is_none_or(|(higher, one)| one <= higher)
    }

    /// Between which steps the clock may have shown this time: 0 is before the first.
    fn showing(&self, at_ms: i64) -> impl Iterator<Item = usize> {
        let times = self.between().enumerate();
        times.filter(move |(_, (from, to))| *from <= at_ms && at_ms <= *to).map(|(index, _)| index)
    }

    /// What the clock may have shown between the steps, in their order.
    fn between(&self) -> impl Iterator<Item = (i64, i64)> {
        let slack = |step: &Step| SLACK_MS + ((step.to_ns - step.from_ns) / ms(1)) as i64;
        let from = std::iter::once(i64::MIN).chain(self.0.iter().map(move |step| step.after_ms - slack(step)));
        let to = self.0.iter().map(move |step| step.before_ms + slack(step)).chain(std::iter::once(i64::MAX));
        from.zip(to)
    }

    /// Whether the clock was set back between these moments, and may have shown this time or a later one before.
    pub(crate) fn set_back_from(&self, (from_ns, to_ns): (u64, u64), at_ms: i64) -> bool {
        let back = self.0.iter().filter(|step| step.after_ms < step.before_ms);
        let mut within = back.filter(|step| from_ns <= step.to_ns && step.from_ns <= to_ns);
        within.any(|step| at_ms <= step.before_ms + SLACK_MS)
    }

    /// Whether the clock was set back after this moment to before this time, and only later showed the last time: a lease that had expired
    /// may have been live again until then.
    pub(crate) fn set_back_before(&self, after_ns: u64, at_ms: i64, last_ms: i64) -> bool {
        let last = self.showing(last_ms).last();
        self.0.iter().zip(1..).any(|(step, next)| {
            let is_back = step.after_ms < step.before_ms && step.after_ms - SLACK_MS <= at_ms;
            is_back && step.to_ns >= after_ns && last.is_none_or(|last| next <= last)
        })
    }

    /// When the clock stepped forward first after this moment: from then on a lease may have expired early.
    pub(crate) fn next_forward(&self, after_ns: u64) -> u64 {
        let forward = self.0.iter().filter(|step| step.after_ms > step.before_ms && step.to_ns >= after_ns);
        forward.map(|step| step.from_ns).min().unwrap_or(u64::MAX)
    }

    /// Whether the clock stepped in this time, or so shortly before or after it that calls may have met the step.
    pub(crate) fn near(&self, from_ns: u64, to_ns: u64) -> bool {
        let (from, to) = (from_ns.saturating_sub(AROUND), to_ns.saturating_add(AROUND));
        self.0.iter().any(|step| from <= step.to_ns && step.from_ns <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: u64, before_ms: i64, after_ms: i64) -> Step {
        Step { from_ns: ms(at), to_ns: ms(at) + 1, before_ms, after_ms }
    }

    #[test]
    fn readings_of_a_time_that_came_twice_have_no_order() {
        let steps = Steps(vec![step(1_000, 9_000, 4_000)]);
        assert!(!steps.surely_before(5_000, 8_000), "8,000 came before the clock was set back to 4,000");
        assert!(steps.surely_before(3_000, 8_000) && steps.surely_before(5_000, 9_500));
        assert!(!steps.surely_before(8_000, 5_000));
    }

    #[test]
    fn step_that_took_its_time_may_have_happened_at_any_moment_of_it() {
        let step = |took| Step { from_ns: 0, to_ns: ms(took), before_ms: 9_000, after_ms: 4_000 };
        assert!(Steps(vec![step(1)]).surely_before(3_900, 9_000));
        assert!(!Steps(vec![step(90)]).surely_before(8_900, 9_120), "it may have been set back before it showed 8,900");
        assert!(!Steps(vec![step(90)]).surely_before(3_900, 8_900));
    }

    #[test]
    fn several_steps_are_taken_together() {
        // 3 s ahead, right again, and then set back by an hour.
        let hour = 3_600_000;
        let steps = [(1_000, 4_000), (6_000, 3_000), (5_000, 5_000 - hour), (5_500 - hour, 5_500)];
        let steps = Steps(steps.map(|(before, after)| step(0, before, after)).into());
        assert!(!steps.surely_before(5_100 - hour, 5_900), "5,900 was shown before the clock was set back by an hour");
        assert!(steps.surely_before(5_100 - hour, 6_200));
        assert!(steps.surely_before(500, 5_900));
    }

    #[test]
    fn only_a_forward_step_ends_leases_early() {
        let steps = Steps(vec![step(10, 5_000, 1_000), step(20, 2_000, 6_000)]);
        assert_eq!((steps.next_forward(0), steps.next_forward(ms(30))), (ms(20), u64::MAX));
    }

    #[test]
    fn calls_around_a_step_are_near_it() {
        let steps = Steps(vec![step(10_000, 5_000, 1_000)]);
        assert!(
            steps.near(ms(5_500), ms(6_000)) && steps.near(ms(9_000), ms(11_000)) && steps.near(ms(14_000), ms(20_000))
        );
        assert!(!steps.near(ms(1_000), ms(4_000)) && !steps.near(ms(16_000), ms(20_000)));
    }
}
