//! Choosing the next token.

use toktrie::SimpleVob;

/// A model may say the same stretch of tokens over and over for so many tokens; then none of the stretch is chosen next. Small models get into such
/// circles, and do not leave them before the bound on the answer.
const MOST_REPEATED: usize = 160;
/// The longest stretch that is looked for, in tokens.
const LONGEST_STRETCH: usize = 64;

/// How the next token is chosen.
#[derive(Debug)]
pub(crate) struct Sampler {
    temperature: f32,
    top_p: f32,
    top_k: usize,
    random: fastrand::Rng,
}

impl Sampler {
    /// At a temperature of 0 always the best; otherwise among the `top_k` best whose shares reach `top_p` together. The same seed gives the
    /// same choices.
    pub(crate) fn new(temperature: f32, top_p: f32, top_k: usize, seed: Option<u64>) -> Self {
        let random = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { temperature, top_p, top_k: top_k.max(1), random }
    }

    /// The next token after what was `said`, of those that are allowed. `None` where there is none.
    pub(crate) fn choose(&mut self, scores: &[f32], allowed: Option<&SimpleVob>, said: &[u32]) -> Option<u32> {
        let mut candidates: Vec<(u32, f32)> = (0u32..)
            .zip(scores.iter().copied())
            .filter(|(token, score)| !score.is_nan() && allowed.is_none_or(|allowed| allowed.is_allowed(*token)))
            .collect();
        if let Some(stretch) = circle(said)
            && candidates.iter().any(|(token, _)| !stretch.contains(token))
        {
            candidates.retain(|(token, _)| !stretch.contains(token));
        }
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

/// The stretch of tokens that the end of what was said consists of, if it has been repeated for too long.
fn circle(said: &[u32]) -> Option<&[u32]> {
    let end = said.get(said.len().checked_sub(MOST_REPEATED)?..)?;
    let length = (1..=LONGEST_STRETCH).find(|length| end.iter().zip(end.iter().skip(*length)).all(|(before, after)| before == after))?;
    end.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a sampler says that likes token 1 best, then 2, then 3.
    fn next(said: &[u32], allowed: Option<&[u32]>) -> Option<u32> {
        let allowed = allowed.map(|tokens| {
            let mut set = SimpleVob::alloc(4);
            tokens.iter().for_each(|token| set.allow_token(*token));
            set
        });
        Sampler::new(0.0, 1.0, 4, None).choose(&[0.0, 9.0, 8.0, 7.0], allowed.as_ref(), said)
    }

    #[test]
    fn a_circle_is_left_after_a_while() {
        let circle = |stretch: &[u32], length: usize| stretch.iter().copied().cycle().take(length).collect::<Vec<u32>>();
        let long: Vec<u32> = (100..100 + LONGEST_STRETCH as u32).chain([1]).collect();
        let table = [
            // what was said, the next token
            (vec![], 1),
            (circle(&[1], MOST_REPEATED - 1), 1),
            (circle(&[1], MOST_REPEATED), 2),
            (circle(&[1, 2], MOST_REPEATED), 3),
            ([vec![7; 50], circle(&[2, 1], MOST_REPEATED)].concat(), 3),
            ([circle(&[1, 2], MOST_REPEATED), vec![3]].concat(), 1),
            (circle(&long[1..], 3 * MOST_REPEATED), 2),
            (circle(&long, 3 * MOST_REPEATED), 1),
            (circle(&[0, 1, 2, 3], MOST_REPEATED), 1),
        ];
        for (said, expected) in table {
            assert_eq!(next(&said, None), Some(expected), "{said:?}");
        }
        assert_eq!(next(&circle(&[1, 2], MOST_REPEATED), Some(&[1, 2])), Some(1), "what must be said is said");
        assert_eq!(next(&circle(&[1, 2], MOST_REPEATED), Some(&[1, 0])), Some(0));
        assert_eq!(next(&[], Some(&[])), None);
    }
}
