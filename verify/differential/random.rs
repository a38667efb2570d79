//! Random numbers that a seed reproduces.

/// SplitMix64: small, and the same on every machine.
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: u64,
    /// Part of every hash, so that no other run has the same one. Nothing depends on it.
    mark: [u8; 8],
}

impl Random {
    pub(super) fn new(seed: u64, mark: [u8; 8]) -> Self {
        Random { state: seed, mark }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).expect("a small number");
        usize::try_from(self.next() % limit).expect("a small number")
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(super) fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    pub(super) fn hash(&mut self) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.chunks_mut(8).for_each(|bytes| bytes.copy_from_slice(&self.next().to_be_bytes()));
        hash[24..].copy_from_slice(&self.mark);
        hash
    }
}
