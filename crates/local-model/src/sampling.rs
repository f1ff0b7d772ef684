//! Sampling of the next token.

use std::collections::BTreeSet;

use toktrie::SimpleVob;

use crate::engine::Sampling;

/// Number of recent tokens of an answer to which the repetition penalty applies.
const JUST_SAID: usize = 64;

/// Sampler of the next token.
#[derive(Debug)]
pub(crate) struct Sampler {
    temperature: f32,
    top_p: f32,
    top_k: usize,
    repetition_penalty: f32,
    random: fastrand::Rng,
}

impl Sampler {
    /// Creates a sampler. At temperature 0 it always takes the best token; otherwise it chooses among the `top_k` best whose shares reach
    /// `top_p` together. The penalty, a factor from 1, lowers the scores of recent tokens, because small models otherwise repeat
    /// themselves. The same seed gives the same choices.
    pub(crate) fn new(sampling: Sampling, seed: Option<u64>) -> Self {
        let Sampling { temperature, top_p, top_k, repetition_penalty } = sampling;
        let random = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { temperature, top_p, top_k: top_k.max(1), repetition_penalty, random }
    }

    /// Chooses the next token after the tokens `sampled` so far in this answer, among the allowed ones. Returns `None` if there is none.
    pub(crate) fn choose(&mut self, scores: &[f32], allowed: Option<&SimpleVob>, sampled: &[u32]) -> Option<u32> {
        let recent: BTreeSet<u32> = sampled.iter().rev().take(JUST_SAID).copied().collect();
        let mut scores = scores.to_vec();
        for token in recent {
            // Keskar et al. 2019, CTRL, section 4.1: a positive score is divided by the penalty, another one multiplied.
            if let Some(score) = scores.get_mut(token as usize) {
                *score = if *score > 0.0 { *score / self.repetition_penalty } else { *score * self.repetition_penalty };
            }
        }
        let mut candidates: Vec<(u32, f32)> = (0u32..)
            .zip(scores)
            .filter(|(token, score)| !score.is_nan() && allowed.is_none_or(|allowed| allowed.is_allowed(*token)))
            .collect();
        let better = |one: &(u32, f32), other: &(u32, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
        if self.temperature <= 0.0 {
            return candidates.into_iter().min_by(better).map(|(token, _)| token);
        }
        if candidates.len() > self.top_k {
            candidates.select_nth_unstable_by(self.top_k, better);
            candidates.truncate(self.top_k);
        }
        candidates.sort_unstable_by(better);
        let best = candidates.first()?.1;
        let mut shares: Vec<(u32, f32)> =
            candidates.iter().map(|(token, score)| (*token, ((score - best) / self.temperature).exp())).collect();
        let sum: f32 = shares.iter().map(|(_, share)| share).sum();
        let mut reached = 0.0;
        let within = shares.iter().take_while(|(_, share)| {
            let go_on = reached < self.top_p * sum;
            reached += share;
            go_on
        });
        let within = within.count().max(1);
        shares.truncate(within);
        let mut point = self.random.f32() * shares.iter().map(|(_, share)| share).sum::<f32>();
        for (token, share) in &shares {
            point -= share;
            if point <= 0.0 {
                return Some(*token);
            }
        }
        shares.last().map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the choice of a sampler with penalty 2 that prefers token 1, then 2, then 3, and excludes 0.
    fn next(sampled: &[u32], allowed: Option<&[u32]>) -> Option<u32> {
        let allowed = allowed.map(|tokens| {
            let mut set = SimpleVob::alloc(4);
            tokens.iter().for_each(|token| set.allow_token(*token));
            set
        });
        let sampling = Sampling { temperature: 0.0, top_p: 1.0, top_k: 4, repetition_penalty: 2.0 };
        Sampler::new(sampling, None).choose(&[-1.0, 9.0, 8.0, 3.0], allowed.as_ref(), sampled)
    }

    #[test]
    fn what_was_just_said_is_liked_less() {
        let either: Option<&[u32]> = Some(&[0, 3]);
        let table = [
            (vec![], None, Some(1)),
            (vec![1], None, Some(2)),
            (vec![1, 2], None, Some(1)),
            ([vec![1], vec![7; JUST_SAID - 1]].concat(), None, Some(2)),
            ([vec![1], vec![7; JUST_SAID]].concat(), None, Some(1)),
            (vec![1, 2], either, Some(3)),
            (vec![3], either, Some(3)),
        ];
        for (sampled, allowed, expected) in table {
            assert_eq!(next(&sampled, allowed), expected, "{sampled:?} {allowed:?}");
        }
        assert_eq!(next(&[], Some(&[])), None);
    }
}
