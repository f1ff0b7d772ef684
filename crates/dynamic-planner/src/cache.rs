//! Cache of plans: the plan of an identical request is reused, that of a similar goal serves as an example.

use std::collections::VecDeque;

use aime_progress_management::{Plan, PlanMode};
use serde::{Deserialize, Serialize};

use crate::{PlanRequest, PlannerSettings, Prompts};

/// Minimum similarity of two goals for using one's plan as an example for the other: the share of common letter pairs,
/// 0 to 1.
const SIMILAR: f64 = 0.55;

/// Key of a plan: two requests with equal keys are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanKey {
    /// The goal, trimmed.
    pub goal: String,
    /// The mode.
    pub mode: PlanMode,
    /// Digest of the other inputs of a plan: images of the goal, tools, profiles, bundles, project notes, settings,
    /// prompts and the model. It excludes recalled texts, which every run extends, and the folder, which
    /// [`KeptPlan::folders`] describes.
    pub with: u64,
}

impl PlanKey {
    /// Returns the key of a request to a planner with these settings and prompts and this model.
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

    /// Returns a name for the key that is valid as a file name: 16 hexadecimal digits. Collisions are possible but
    /// unlikely.
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

    /// Adds a text and a byte that occurs in no text, so that `ab, c` and `a, bc` differ.
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

/// A plan of an earlier request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptPlan {
    /// Key of the request.
    pub key: PlanKey,
    /// Descriptions of the working folder's content when the plan was made and, if known, after it was executed. The
    /// plan is not reused for another content, because it may name missing files or ignore new ones.
    pub folders: Vec<String>,
    /// The plan.
    pub plan: Plan,
    /// Owner of the plan, such as the name of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Time of the last use, in milliseconds since 1970.
    #[serde(default)]
    pub used_at: i64,
}

/// Plans by request. Evicts the least recently used one first.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanCache {
    capacity: usize,
    /// Entries from the least to the most recently used.
    entries: VecDeque<KeptPlan>,
}

impl PlanCache {
    /// Creates a cache of at most `capacity` plans.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { capacity, entries: VecDeque::new() }
    }

    /// Returns the plan of the same request, if the folder has the same content.
    pub fn get(&mut self, key: &PlanKey, folder: &str) -> Option<&KeptPlan> {
        let same = |kept: &KeptPlan| kept.key == *key && kept.folders.iter().any(|held| held.trim() == folder.trim());
        let at = self.entries.iter().position(same)?;
        let entry = self.entries.remove(at)?;
        self.entries.push_back(entry);
        self.entries.back()
    }

    /// Returns the plan of the most similar goal in the same mode, or `None` if no goal is similar enough.
    ///
    /// Goals are compared by their common pairs of letters (Sørensen–Dice), which also works for scripts without
    /// spaces.
    #[must_use]
    pub fn similar(&self, key: &PlanKey) -> Option<&KeptPlan> {
        let goal = letters(&key.goal);
        let rated = self.entries.iter().filter(|kept| kept.key.mode == key.mode);
        let rated = rated.map(|kept| (likeness(&letters(&kept.key.goal), &goal), kept));
        let (rating, kept) = rated.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        (rating >= SIMILAR).then_some(kept)
    }

    /// Adds a plan, replacing one of the same request.
    pub fn insert(&mut self, kept: KeptPlan) {
        self.remove(&kept.key);
        self.entries.push_back(kept);
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// Removes the plan of a request.
    pub fn remove(&mut self, key: &PlanKey) {
        self.entries.retain(|kept| kept.key != *key);
    }

    /// Returns the number of plans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no plans.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Returns a goal without case and spaces, for comparison.
fn letters(goal: &str) -> String {
    goal.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Returns the share of common letter pairs of two texts, 0 to 1.
fn likeness(one: &str, other: &str) -> f64 {
    let pairs = |one: usize, other: usize| (one + other).saturating_sub(2).max(1) as f64;
    // The library divides by the number of bytes instead of letters.
    let repair = pairs(one.len(), other.len()) / pairs(one.chars().count(), other.chars().count());
    (strsim::sorensen_dice(one, other) * repair).min(1.0)
}

#[cfg(test)]
mod tests;
