//! Medians, percentiles and ratios. Nothing here measures.

/// The value below which this percentage of them lies, by nearest rank; not a number if there are none.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The middle one, or the mean of the two in the middle; not a number if there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match (sorted.get(half), sorted.len() % 2) {
        (None, _) => f64::NAN,
        (Some(middle), 1) => *middle,
        (Some(above), _) => (sorted[half - 1] + above) / 2.0,
    }
}

/// The percentiles of latencies, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
}

impl Percentiles {
    pub(crate) fn of(values: &[f64]) -> Self {
        Percentiles { p50: percentile(values, 50.0), p95: percentile(values, 95.0), p99: percentile(values, 99.0) }
    }
}

/// A value per round: the median, and the range of the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
        Spread { median: median(values), min: extreme(f64::min), max: extreme(f64::max) }
    }

    /// From the ratios of each round: one side's value divided by the other's value in the same round.
    pub(crate) fn of_ratios(ours: &[f64], theirs: &[f64]) -> Self {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        Self::of(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_between_two_their_mean() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(Percentiles::of(&hundred), Percentiles { p50: 50.0, p95: 95.0, p99: 99.0 });
        assert_eq!(percentile(&[7.0], 99.0), 7.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 50.0), 2.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 0.0), 1.0);
        assert!(percentile(&[], 50.0).is_nan());
    }

    #[test]
    fn a_ratio_is_made_per_round_so_that_a_slow_round_hits_both() {
        // The second round was ten times slower for both.
        let ratio = Spread::of_ratios(&[2.0, 22.0, 3.0], &[2.0, 20.0, 2.0]);
        assert_eq!(ratio, Spread { median: 1.1, min: 1.0, max: 1.5 });
    }
}
