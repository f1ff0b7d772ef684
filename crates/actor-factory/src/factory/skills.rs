//! What an actor is told of skills.

use aime_tools::{LOAD_SKILL, SkillCatalog};

use super::fit;
use crate::{
    ActorSpec, Profile,
    prompts::{SkillNote, SkillText},
    text::cut,
};

/// So many skills are told; small models have little room.
const MAX_TOLD: usize = 20;
/// So many characters of a description are told.
const MAX_DESCRIPTION: usize = 200;

/// Skills that stand whole in a prompt.
#[derive(Debug, Default)]
pub(super) struct Preloaded {
    pub(super) names: Vec<String>,
    pub(super) texts: Vec<SkillText>,
}

impl Preloaded {
    /// Adds a text, cut to what is left of the tokens that skills may take, and says whether anything was left.
    fn add(&mut self, name: &str, text: &str, left: &mut u64) -> bool {
        if *left == 0 {
            return false;
        }
        let body = fit(text, *left);
        *left = left.saturating_sub(aime_llm::estimate_tokens(&body));
        self.names.push(name.to_owned());
        self.texts.push(SkillText { name: name.to_owned(), body });
        true
    }
}

/// The skills of the profile, those that stand in it first, and those that the caller adds. Together they get about `budget` tokens, the first
/// ones first.
pub(super) fn preload<'a>(
    skills: &SkillCatalog,
    profile: &'a Profile,
    added: impl Iterator<Item = &'a String>,
    budget: u64,
    reasons: &mut Vec<String>,
) -> Preloaded {
    let mut preloaded = Preloaded::default();
    let mut left = budget;
    let no_room = |name: &str| format!("without the skill `{name}` in the prompt: those before it take all the room that skills may take");
    for (name, text) in &profile.inline_skills {
        if !preloaded.add(name, text.trim(), &mut left) {
            reasons.push(no_room(name));
        }
    }
    for name in profile.skills.iter().chain(added) {
        if preloaded.names.contains(name) {
            continue;
        }
        let Some(known) = skills.get(name) else {
            reasons.push(format!("without the skill `{name}`: it does not exist here"));
            continue;
        };
        if !preloaded.add(name, &known.skill.body, &mut left) {
            reasons.push(no_room(name));
        }
    }
    preloaded
}

/// The skills that the actor can read, in a line each; none where it has no tool for it.
pub(super) fn told(skills: &SkillCatalog, spec: &ActorSpec) -> Vec<SkillNote> {
    if spec.tool(LOAD_SKILL).is_none() {
        return Vec::new();
    }
    let others = skills.iter().filter(|known| !spec.skills.contains(&known.skill.name));
    let mut notes: Vec<SkillNote> = others
        .map(|known| {
            let words: Vec<&str> = known.skill.description.split_whitespace().collect();
            SkillNote { name: known.skill.name.clone(), description: cut(&words.join(" "), MAX_DESCRIPTION) }
        })
        .collect();
    if notes.len() > MAX_TOLD {
        let more = notes.split_off(MAX_TOLD).into_iter().map(|note| note.name).collect::<Vec<_>>().join(", ");
        notes.push(SkillNote { name: "more".to_owned(), description: cut(&more, MAX_DESCRIPTION) });
    }
    notes
}
