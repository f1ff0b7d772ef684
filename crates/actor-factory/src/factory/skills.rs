//! Skills in an actor's prompt.

use aime_tools::{LOAD_SKILL, SkillCatalog};

use super::fit;
use crate::{
    ActorSpec, Profile,
    prompts::{SkillNote, SkillText},
    text::cut,
};

/// Largest number of skills in the list. Small models have little room.
const MAX_TOLD: usize = 20;
/// Largest length of a skill's description in the list, in characters.
const MAX_DESCRIPTION: usize = 200;

/// Skills whose full texts the prompt holds.
#[derive(Debug, Default)]
pub(super) struct Preloaded {
    pub(super) names: Vec<String>,
    pub(super) texts: Vec<SkillText>,
}

impl Preloaded {
    /// Adds a text, cut to the `left` tokens of the budget. Returns false if the budget is used up.
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

/// Returns the texts of the profile's skills (inline ones first), then those that the caller adds. All together get about `budget` tokens;
/// earlier skills take precedence.
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

/// Lists the skills that the actor can load, one line each. The list is empty if the actor lacks the tool.
pub(super) fn loadable_skills(skills: &SkillCatalog, spec: &ActorSpec) -> Vec<SkillNote> {
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
