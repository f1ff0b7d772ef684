//! Choosing the next token.

use toktrie::SimpleVob;

/// Small models say the same over and over, and do not leave such a circle before the bound on the answer. A stretch of so many tokens may stand in an
/// answer so many times; when it comes once more, what followed it before is not chosen.
const STRETCH: usize = 16;
const MOST_TIMES: usize = 3;

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
        let barred = worn(said);
        if candidates.iter().any(|(token, _)| !barred.contains(token)) {
            candidates.retain(|(token, _)| !barred.contains(token));
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

/// What followed the last stretch of what was said wherever it stood before, if that was often.
fn worn(said: &[u32]) -> Vec<u32> {
    let Some((before, last)) = said.len().checked_sub(STRETCH).and_then(|at| said.split_at_checked(at)) else { return Vec::new() };
    let mut followers = Vec::new();
    let mut free = 0;
    for (at, stretch) in before.windows(STRETCH).enumerate() {
        if at >= free && stretch == last {
            followers.extend(said.get(at + STRETCH));
            free = at + STRETCH;
        }
    }
    if followers.len() < MOST_TIMES { Vec::new() } else { followers }
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
    fn what_was_said_too_often_is_not_said_again() {
        let over = |stretch: &[u32], times: usize| stretch.repeat(times);
        let lines = |ends: &[u32]| ends.iter().flat_map(|end| (10..26).chain([*end])).chain(10..26).collect::<Vec<u32>>();
        let table = [
            // what was said, the next token
            (vec![], 1),
            (over(&[1], 4 * STRETCH - 1), 1),
            (over(&[1], 4 * STRETCH), 2),
            (over(&[1, 2], 2 * STRETCH), 2),
            (over(&[2, 1], 2 * STRETCH), 1),
            (over(&[0, 1, 2, 3], STRETCH), 1),
            (lines(&[1, 1]), 1),
            (lines(&[1, 1, 1]), 2),
            (lines(&[1, 2, 1]), 3),
            (lines(&[1, 2, 3]), 0),
            ([over(&[7], 50), lines(&[2, 2, 2])].concat(), 1),
            ([lines(&[1, 1, 1]), vec![9]].concat(), 1),
        ];
        for (said, expected) in table {
            assert_eq!(next(&said, None), Some(expected), "{said:?}");
        }
        assert_eq!(next(&lines(&[1, 1, 1]), Some(&[1])), Some(1), "what must be said is said");
        assert_eq!(next(&lines(&[1, 1, 1]), Some(&[1, 0])), Some(0));
        assert_eq!(next(&[], Some(&[])), None);
    }
}
