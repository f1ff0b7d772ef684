//! Cache of computed sequences, so that a new request does not compute a shared prefix again.

use super::Sequence;

/// Cached sequences, the least recently used first.
#[derive(Debug, Default)]
pub(crate) struct Store {
    sequences: Vec<Sequence>,
}

/// Length below which a common prefix is not worth copying.
const MIN_PREFIX_TOKENS: usize = 8;

impl Store {
    /// Returns the longest prefix of `tokens` that is cached or that one of the `running` sequences has computed. It excludes the last
    /// token, whose scores must be computed. A cached sequence that continues differently stays cached.
    pub(crate) fn take<'a>(&mut self, tokens: &[u32], layers: usize, running: impl Iterator<Item = &'a Sequence>) -> Sequence {
        let most = tokens.len().saturating_sub(1);
        let kept = self.sequences.iter().enumerate().map(|(place, sequence)| (sequence.common(tokens).min(most), place)).max();
        let other = running.map(|sequence| (sequence.common(tokens).min(most), sequence)).max_by_key(|(common, _)| *common);
        match (kept, other) {
            (_, Some((common, sequence))) if common >= MIN_PREFIX_TOKENS && kept.is_none_or(|(of_kept, _)| of_kept < common) => {
                sequence.prefix(common)
            }
            (Some((common, place)), _) if common >= MIN_PREFIX_TOKENS => {
                let sequence = self.sequences.remove(place);
                // A request that continues nearly all of a sequence takes it over; one that diverges early takes a copy.
                if sequence.tokens.len() - common <= common / 4 {
                    let mut sequence = sequence;
                    sequence.truncate(common);
                    sequence
                } else {
                    let copy = sequence.prefix(common);
                    self.sequences.push(sequence);
                    copy
                }
            }
            _ => Sequence::new(layers),
        }
    }

    /// Adds a sequence, and drops those that are prefixes of it.
    pub(crate) fn put(&mut self, sequence: Sequence) {
        if sequence.tokens.len() < MIN_PREFIX_TOKENS {
            return;
        }
        self.sequences.retain(|kept| kept.common(&sequence.tokens) < kept.tokens.len());
        self.sequences.push(sequence);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.sequences.iter().map(Sequence::bytes).sum()
    }

    /// Drops the least recently used sequences until the total is at most `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        while !self.sequences.is_empty() && self.bytes() > bytes {
            self.sequences.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(tokens: &[u32]) -> Sequence {
        let mut sequence = Sequence::new(1);
        for token in tokens {
            sequence.tokens.push(*token);
            sequence.layers[0].keys.extend([*token as i16; 4]);
            sequence.layers[0].key_scales.push(*token as f32);
            sequence.layers[0].values.extend([*token as i16; 4]);
            sequence.layers[0].value_scales.push(*token as f32);
        }
        sequence
    }

    #[test]
    fn the_longest_common_beginning_is_found_and_the_oldest_goes_first() {
        let tokens: Vec<u32> = (0..40).collect();
        let mut store = Store::default();
        store.put(sequence(&tokens[..20]));
        let mut other = tokens[..30].to_vec();
        other[25] = 99;
        store.put(sequence(&other));
        let found = store.take(&tokens, 1, [].into_iter());
        assert_eq!(found.tokens, tokens[..25]);
        assert_eq!(found.layers[0].keys.len(), 100);
        assert_eq!(found.layers[0].key_scales, tokens[..25].iter().map(|token| *token as f32).collect::<Vec<_>>());

        store.put(sequence(&tokens));
        assert_eq!(store.sequences.len(), 1, "the shorter one is part of the longer one, the other was taken over");
        let early = store.take(&[&tokens[..10], &[77; 30]].concat(), 1, [].into_iter());
        assert_eq!(early.tokens, tokens[..10]);
        assert_eq!(store.sequences.len(), 1, "a sequence that goes on differently stays");
        let running = sequence(&(100..150).collect::<Vec<_>>());
        let found = store.take(&(100..140).collect::<Vec<_>>(), 1, [&running].into_iter());
        assert_eq!(found.tokens.len(), 39, "the last token is always computed");
        store.put(running);
        let one = store.sequences[1].bytes();
        store.shrink(one);
        assert_eq!(store.sequences[0].tokens[0], 100);
        store.shrink(0);
        assert_eq!(store.bytes(), 0);
    }
}
