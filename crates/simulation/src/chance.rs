//! What comes by chance: all of it from the seed, and the same for the same question.

use fastrand::Rng;

/// A source of chances. What is asked about twice comes out the same twice, whatever was asked between: a run that was cut and goes on meets the
/// world that it would have met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chances(pub(crate) u64);

impl Chances {
    /// The chances of one thing.
    pub(crate) fn of(self, what: &str) -> Rng {
        // FNV-1a, which is the same in every version of everything.
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325 ^ self.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Rng::with_seed(hash.wrapping_add(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Whether something happens that does so in so many of 1,000 cases.
    pub(crate) fn happens(self, what: &str, per_mille: u32) -> bool {
        self.of(what).u32(0..1_000) < per_mille
    }
}
