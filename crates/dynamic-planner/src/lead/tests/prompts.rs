//! The prompt that begins the lead's conversation.

use aime_llm::estimate_tokens;
use aime_progress_management::PlanMode;

use super::*;
use crate::{PlanLimits, Prompts, Strategy, ToolLine};

fn brief(strategy: Strategy, mode: Option<PlanMode>) -> LeadBrief {
    LeadBrief { strategy, mode, attended: true, ..LeadBrief::new("Count the TODO comments", PlanLimits::default()) }
}

fn system(strategy: Strategy, mode: Option<PlanMode>) -> String {
    Prompts::default().lead(&brief(strategy, mode)).unwrap().system
}

#[test]
fn the_prompt_of_a_lead_that_chooses() {
    let names = Names::new();
    let brief = LeadBrief {
        environment: "Linux, 2026-11-25. Commands may write the working folder and reach no network.".to_owned(),
        folder: "src/\n  main.rs\nMakefile".to_owned(),
        git: "branch main, clean".to_owned(),
        instructions: "AGENTS.md: run `make check` before you finish.".to_owned(),
        known: "An earlier run found 58 TODO comments.".to_owned(),
        profiles: names.profiles.clone(),
        bundles: aime_tools::BUNDLES.iter().map(BundleBrief::from).take(2).collect(),
        tools: vec![ToolLine::of(&names.tools[0])],
        ..brief(Strategy::Adaptive, None)
    };
    let LeadPrompt { system, task } = Prompts::default().lead(&brief).unwrap();
    insta::assert_snapshot!(format!("{system}\n\n=== user ===\n\n{task}"));
}

/// Snapshots the lines that each variant of the prompt adds to the usual one.
#[test]
fn the_prompt_differs_by_strategy_and_mode() {
    let usual = system(Strategy::Adaptive, None);
    let variants = [
        (Strategy::Always, None),
        (Strategy::Never, None),
        (Strategy::Adaptive, Some(PlanMode::Simple)),
        (Strategy::Adaptive, Some(PlanMode::Complex)),
        (Strategy::Always, Some(PlanMode::Emergent)),
    ];
    let shown = variants.map(|(strategy, mode)| {
        let text = system(strategy, mode);
        let added: Vec<&str> = text.lines().filter(|line| !usual.lines().any(|usual| usual == *line)).collect();
        format!("{strategy:?} {mode:?}\n{}", added.join("\n"))
    });
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn the_system_message_is_a_page_and_the_same_for_every_goal() {
    let usual = system(Strategy::Adaptive, None);
    assert!(estimate_tokens(&usual) <= 1_000, "{}", estimate_tokens(&usual));
    let other = LeadBrief { goal: "Another".to_owned(), folder: "a".to_owned(), ..brief(Strategy::Adaptive, None) };
    assert_eq!(Prompts::default().lead(&other).unwrap().system, usual);
}
