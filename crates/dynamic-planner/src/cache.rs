//! Plans of goals that were planned before: the same goal's is used again, a similar one's is an example.

use std::collections::VecDeque;

use aime_progress::{Plan, PlanMode};
use serde::{Deserialize, Serialize};

use crate::{PlanRequest, PlannerSettings, Prompts};

/// How similar two goals must be for the plan of one to be an example for the other: the part of letter pairs that they share, 0 to 1.
const SIMILAR: f64 = 0.55;

/// What makes two requests for a plan the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanKey {
    /// The goal, without spaces around it.
    pub goal: String,
    /// The mode.
    pub mode: PlanMode,
    /// A digest of what else shapes a plan: images of the goal, tools, profiles, bundles, project notes, settings, prompts and the model. Not of what is
    /// known of the goal, which every run adds to, nor of the folder, which [`KeptPlan::folders`] tells.
    pub with: u64,
}

impl PlanKey {
    /// The key of a request to a planner with these settings and prompts that asks this model.
    #[must_use]
    pub fn of(request: &PlanRequest, settings: &PlannerSettings, prompts: &Prompts, model: &str) -> Self {
        let mut digest = Digest::new();
        for tool in request.tools.iter() {
            [&tool.name, &tool.description, &tool.parameters.to_string()].into_iter().for_each(|text| digest.add(text));
        }
        digest.part(request.images.iter().map(|image| &image.data));
        digest.part(&request.actor_tools);
        digest.part(request.profiles.iter().flat_map(|profile| [&profile.name, &profile.description]));
        digest.part(&request.bundles);
        digest.part([&request.project, &format!("{settings:?}"), model]);
        digest.part(prompts.planning_texts());
        Self { goal: request.goal.trim().to_owned(), mode: request.mode, with: digest.0 }
    }

    /// A name for the key that is valid as the name of a file: 16 hexadecimal digits. Two keys may share one, though hardly ever.
    #[must_use]
    pub fn name(&self) -> String {
        let mut digest = Digest::new();
        digest.part([&self.goal, &self.mode.to_string(), &self.with.to_string()]);
        format!("{:016x}", digest.0)
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every version.
struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a text and a byte that occurs in none, so that `ab, c` and `a, bc` differ.
    fn add(&mut self, text: &str) {
        self.bytes(text.bytes().chain([0xff]));
    }

    /// Adds a list, and another such byte.
    fn part(&mut self, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        self.bytes([0xfe]);
        texts.into_iter().for_each(|text| self.add(text.as_ref()));
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A plan of before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptPlan {
    /// What it was asked for with.
    pub key: PlanKey,
    /// What the working folder held when the plan was made and, where that is known, when it had been carried out. In any other folder the plan
    /// is not used again: it may name files that are gone, or know nothing of new ones.
    pub folders: Vec<String>,
    /// The plan.
    pub plan: Plan,
    /// Whose it is, such as the name of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When it was last used, in milliseconds since 1970.
    #[serde(default)]
    pub used_at: i64,
}

/// Plans by request, the least recently used one leaving first.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanCache {
    capacity: usize,
    /// The most recently used one last.
    entries: VecDeque<KeptPlan>,
}

impl PlanCache {
    /// A cache of at most `capacity` plans.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { capacity, entries: VecDeque::new() }
    }

    /// The plan of the same request, over a folder that holds the same.
    pub fn get(&mut self, key: &PlanKey, folder: &str) -> Option<&KeptPlan> {
        let same = |kept: &KeptPlan| kept.key == *key && kept.folders.iter().any(|held| held.trim() == folder.trim());
        let at = self.entries.iter().position(same)?;
        let entry = self.entries.remove(at)?;
        self.entries.push_back(entry);
        self.entries.back()
    }

    /// The plan of the goal that is most similar to this key's, in the same mode; none where no goal is similar enough.
    ///
    /// Goals are compared by the pairs of letters that they share (Sørensen–Dice), which serves scripts without spaces too.
    #[must_use]
    pub fn similar(&self, key: &PlanKey) -> Option<&KeptPlan> {
        let goal = letters(&key.goal);
        let rated = self.entries.iter().filter(|kept| kept.key.mode == key.mode);
        let rated = rated.map(|kept| (likeness(&letters(&kept.key.goal), &goal), kept));
        let (rating, kept) = rated.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        (rating >= SIMILAR).then_some(kept)
    }

    /// Keeps a plan, in the place of one of the same request.
    pub fn insert(&mut self, kept: KeptPlan) {
        self.remove(&kept.key);
        self.entries.push_back(kept);
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// Forgets the plan of a request.
    pub fn remove(&mut self, key: &PlanKey) {
        self.entries.retain(|kept| kept.key != *key);
    }

    /// How many plans it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A goal as it is compared: without case and spaces.
fn letters(goal: &str) -> String {
    goal.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// The part of their letter pairs that two texts share, 0 to 1.
fn likeness(one: &str, other: &str) -> f64 {
    let pairs = |one: usize, other: usize| (one + other).saturating_sub(2).max(1) as f64;
    // The library divides by bytes where it means letters.
    let mend = pairs(one.len(), other.len()) / pairs(one.chars().count(), other.chars().count());
    (strsim::sorensen_dice(one, other) * mend).min(1.0)
}

#[cfg(test)]
mod tests;
