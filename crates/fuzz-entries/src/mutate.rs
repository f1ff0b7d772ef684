//! Inputs that differ a little from the seeds: a driver that needs no compiler of its own.

/// Tokens of the formats that are parsed.
const TOKENS: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\\",
    "\\u",
    "\\ud83d",
    "null",
    "true",
    "-",
    "1e999",
    "\n",
    "\r\n",
    "\n\ndata: ",
    "data: [DONE]\n\n",
    "```json\n",
    "```",
    "<think>",
    "</think>",
    "<tool_call>",
    "...",
    "…",
    "：",
    "，",
    "“",
    "\u{feff}",
    "\"id\"",
    "@{steps.a.result}",
];

/// Changes inputs at random, the same way for the same seed.
#[derive(Debug)]
pub struct Mutator(fastrand::Rng);

impl Mutator {
    /// With this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// One of the seeds with one to four changes: bytes, tokens, parts left out, twice, or of another seed. Empty without seeds.
    pub fn next_of(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let random = &mut self.0;
        let Some(mut input) = random.choice(seeds).cloned() else { return Vec::new() };
        for _ in 0..random.usize(1..=4) {
            let from = random.usize(0..=input.len());
            let to = input.len().min(from + random.usize(0..=32));
            match random.u8(0..7) {
                0 => input.truncate(from),
                1 => drop(input.drain(from..to)),
                2 => {
                    let part: Vec<u8> = input.drain(from..to).collect();
                    input.splice(from..from, part.iter().chain(&part).copied());
                }
                3 => {
                    if let Some(byte) = input.get_mut(from) {
                        *byte ^= 1 << random.u8(0..8);
                    }
                }
                4 => {
                    let other = random.choice(seeds).map(Vec::as_slice).unwrap_or_default();
                    let at = random.usize(0..=other.len());
                    input.truncate(from);
                    input.extend_from_slice(other.get(at..).unwrap_or_default());
                }
                _ => {
                    let token = random.choice(TOKENS).unwrap_or_default();
                    input.splice(from..to.min(from + random.usize(0..=2)), token.bytes());
                }
            }
        }
        input
    }
}
