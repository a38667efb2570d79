//! Reproducible random numbers.

/// A linear congruential generator with Knuth's constants: good enough for demo data, and for nothing else.
pub(super) struct Dice(u64);

impl Dice {
    /// Dice with a reproducible sequence for a seed.
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number from 0 to `sides - 1`.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The low bits of such a generator repeat soon; the high bits do not.
        (self.0 >> 33) as usize % sides
    }

    /// A random element.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_uniform_and_reproducible() {
        let thrown = || {
            let mut dice = Dice::new(1);
            let mut sides = [0; 6];
            (0..6000).for_each(|_| sides[dice.roll(6)] += 1);
            sides
        };
        assert!(thrown().iter().all(|count| (900..1100).contains(count)), "{:?}", thrown());
        assert_eq!(thrown(), thrown());
    }
}
