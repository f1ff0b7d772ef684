//! Random events, derived from the seed. The same question gets the same answer.

use fastrand::Rng;

/// Source of random events. The same question gives the same result, independent of the questions in between, so that a run that was
/// interrupted and resumed meets the same world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chances(pub(crate) u64);

impl Chances {
    /// Returns the random generator for one question.
    pub(crate) fn of(self, what: &str) -> Rng {
        // FNV-1a, because its results never change between versions.
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325 ^ self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Rng::with_seed(hash.wrapping_add(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Returns true with a probability of `per_mille` in 1,000.
    pub(crate) fn happens(self, what: &str, per_mille: u32) -> bool {
        self.of(what).u32(0..1_000) < per_mille
    }
}
