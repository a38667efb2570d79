//! Random choices that a seed repeats. (SplitMix64: a seed of any value will do.)

use std::time::Duration;

/// A sequence of choices.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed. `part` gives each process and task one of its own.
    pub fn new(seed: u64, part: u64) -> Self {
        let mut random = Random(seed ^ part.wrapping_mul(0xA076_1D64_78BD_642F));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Whether something happens that does so in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// A time in milliseconds from `least` to `most`.
    pub fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most - least + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_choices() {
        let choices = |seed, part| {
            let mut random = Random::new(seed, part);
            (0..5).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(choices(7, 1), choices(7, 1));
        assert_ne!(choices(7, 1), choices(7, 2));
        assert_ne!(choices(7, 1), choices(8, 1));
    }
}
