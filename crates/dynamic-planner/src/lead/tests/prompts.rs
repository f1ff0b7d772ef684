//! The prompt that begins the lead's conversation.

use aime_llm::estimate_tokens;
use aime_progress_management::PlanMode;

use super::*;
use crate::{PlanLimits, Prompts, ToolLine};

fn brief(must_plan: bool, mode: Option<PlanMode>) -> LeadBrief {
    let names = Names::new();
    LeadBrief {
        must_plan,
        mode,
        attended: true,
        profiles: names.profiles.clone(),
        models: names.models.clone(),
        bundles: aime_tools::BUNDLES.iter().map(BundleBrief::from).take(2).collect(),
        tools: vec![ToolLine::of(&names.tools[0])],
        ..LeadBrief::new("Count the TODO comments", PlanLimits::default())
    }
}

#[test]
fn the_prompt_of_a_lead_that_chooses() {
    let brief = LeadBrief {
        environment: "Linux, 2026-11-25. Commands may write the working folder and reach no network.".to_owned(),
        instructions: "AGENTS.md: run `make check` before you finish.".to_owned(),
        known: "An earlier run found 58 TODO comments.".to_owned(),
        ..brief(false, None)
    };
    let LeadPrompt { system, task } = Prompts::default().lead(&brief).unwrap();
    insta::assert_snapshot!(format!("{system}\n\n=== user ===\n\n{task}"));
}

/// Snapshots the lines that each variant of the prompt adds to the usual one.
#[test]
fn the_prompt_differs_by_policy_and_mode() {
    let system = |must_plan, mode| Prompts::default().lead(&brief(must_plan, mode)).unwrap().system;
    let usual = system(false, None);
    let variants = [None, Some(PlanMode::Simple), Some(PlanMode::Complex), Some(PlanMode::Emergent)];
    let mut seen: Vec<String> = usual.lines().map(str::to_owned).collect();
    let shown = variants.map(|mode| {
        let text = system(true, mode);
        let added: Vec<String> = text.lines().filter(|line| !seen.iter().any(|seen| seen == line)).map(str::to_owned).collect();
        seen.extend(added.iter().cloned());
        format!("{mode:?}\n{}", added.join("\n"))
    });
    insta::assert_snapshot!(shown.join("\n\n"));
}

/// A lead that works alone is told nothing of profiles, bundles and edges.
#[test]
fn only_a_lead_that_must_plan_is_told_how() {
    let prompts = Prompts::default();
    let guide = prompts.plan_guide(&brief(false, None)).unwrap();
    assert!(guide.contains("oracle: Is oracle.") && guide.contains("bash(command): Does bash"), "{guide}");
    let system = |must_plan| prompts.lead(&brief(must_plan, None)).unwrap().system;
    assert!(!system(false).contains("oracle") && system(true).contains(&guide));
}

#[test]
fn the_system_message_is_short_and_the_same_for_every_goal() {
    let system = |brief: &LeadBrief| Prompts::default().lead(brief).unwrap().system;
    let usual = system(&brief(false, None));
    assert!(estimate_tokens(&usual) <= 500, "{}", estimate_tokens(&usual));
    let other = LeadBrief { goal: "Another".to_owned(), known: "a".to_owned(), ..brief(false, None) };
    assert_eq!(system(&other), usual);
}
