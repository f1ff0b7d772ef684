//! Choosing the next token.

use toktrie::SimpleVob;

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

    /// The next token, of those that are allowed. `None` where there is none.
    pub(crate) fn choose(&mut self, scores: &[f32], allowed: Option<&SimpleVob>) -> Option<u32> {
        let mut candidates: Vec<(u32, f32)> = (0u32..)
            .zip(scores.iter().copied())
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
