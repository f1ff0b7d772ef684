//! `aime plan`: a plan and nothing else.

use std::{path::Path, sync::Arc};

use aime_durable::{Clock, SystemClock};
use aime_llm::Tiers;
use aime_orchestrator::{KnownContext, Models, PublishedEvent, RunMemory};
use aime_planner::{PlanRequest, Planner, PlannerError, Route, Routed, ask_route, direct_plan, route};
use aime_progress::{Plan, PlanMode, ProgressEvent, Timestamp};

use super::{
    check::checker_parts,
    read_goal,
    run::{configured, mode_of, model_line},
    write_whole,
};
use crate::{
    args::{ModeArg, PlanArgs, PlanFormat},
    failure::{Failure, code},
    models,
    output::{self, BOLD, DIM},
    plan_formats,
    screen::{describe_plan, line_of},
    wiring::Setup,
    words::{msg, named, row, said},
};

pub(super) async fn plan(args: PlanArgs, setup: &Setup) -> Result<u8, Failure> {
    let goal = read_goal(&args.goal)?;
    let to = args.output_file.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = to {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
            return Err(
                Failure::usage(format!("the plan cannot be written to {}", path.display())).hint("name a file in a folder that is there")
            );
        }
    }
    let choice = models::choose(&setup.config, &setup.environment, args.choice.model.as_deref())?.ok_or_else(models::none_configured)?;
    if choice.because == models::NO_OTHER {
        output::note(&model_line(Some(&choice), setup));
    }
    let models = models::ready(&choice, setup).await?.redacted(setup.redactor());
    let plan = make(goal, args.choice.mode, &models, setup).await?;
    if args.format == PlanFormat::Json && to.is_none() {
        output::json(&plan, true)?;
        return Ok(0);
    }
    let text = match args.format {
        PlanFormat::Text => text(&plan),
        PlanFormat::Json => serde_json::to_string_pretty(&plan).map_err(Failure::internal)?,
        PlanFormat::Mermaid => plan_formats::mermaid(&plan),
        PlanFormat::Dot => plan_formats::dot(&plan),
    };
    match to {
        Some(path) => write_whole(path, &format!("{}\n", anstream::adapter::strip_str(&text)), true)
            .map_err(|error| Failure::usage(format!("the plan cannot be written to {}: {error}", path.display())))?,
        None => output::result(&text),
    }
    Ok(0)
}

/// Chooses the mode and makes the plan.
pub(super) async fn make(goal: String, mode: Option<ModeArg>, models: &Models, setup: &Setup) -> Result<Plan, Failure> {
    let (prompts, categories) = setup.planning_parts()?;
    let (prompts, tiers) = (Arc::new(prompts), Arc::new(Tiers::new()));

    let mut settings = setup.route();
    settings.mode = mode.map_or_else(|| configured(&setup.config).mode, mode_of);
    let routed = match route(&goal, &settings, &categories) {
        Route::Decided(routed) => routed,
        Route::AskModel(undecided) => {
            let asked = ask_route(models.role("classifier").as_ref(), &tiers, &prompts, &goal, undecided).await;
            asked.map_err(|error| Failure::caused(code::USAGE, &error))?.routed
        }
    };
    let (mode, by) = (named("mode", &routed.mode.to_string()), named("by", &routed.by.to_string()));
    let how = msg!("line-route", mode = mode, by = by, reasons = row(&routed.reasons));
    output::note(&format!("{BOLD}{}{BOLD:#} {how}", msg!("head-route")));
    let profile = categories.iter().find(|category| category.name == routed.category).map(|category| category.profile.clone());
    if routed.mode == PlanMode::Direct {
        return Ok(direct_plan(&goal, profile.as_deref()));
    }
    let planner = Planner::new(models.role("planner"), setup.planner()).with_prompts(prompts).with_tiers(tiers);
    let known = recall(&goal, models, setup).await?;
    ask(&planner, (goal, known), &routed, profile, setup).await
}

/// What earlier runs and documents say of the goal, as a run would know it.
async fn recall(goal: &str, models: &Models, setup: &Setup) -> Result<String, Failure> {
    let Some(settings) = setup.memory().filter(|memory| memory.knowledge.is_some() || memory.file.exists()) else {
        return Ok(String::new());
    };
    setup.made_keep()?;
    let window = ["planner", "default"].map(|role| models.role(role).limits().context_tokens);
    let (goal, now) = (goal.to_owned(), SystemClock.now());
    let window = window.into_iter().min().unwrap_or_default();
    let recalled = tokio::task::spawn_blocking(move || RunMemory::new(settings).recall_for(&goal, now, window));
    let KnownContext { text, items, tokens, left_out, faults, .. } = recalled.await.map_err(Failure::internal)?;
    let at = Timestamp::from_millis(now);
    let told = faults.into_iter().map(|message| ProgressEvent::MemoryFailed { message });
    let recalled = (!items.is_empty()).then_some(ProgressEvent::Recalled { items, tokens, left_out });
    for event in told.chain(recalled) {
        line_of(&PublishedEvent { seq: 0, at, event }).into_iter().for_each(|line| output::line(&line));
    }
    Ok(text)
}

async fn ask(
    planner: &Planner,
    (goal, known): (String, String),
    routed: &Routed,
    profile: Option<String>,
    setup: &Setup,
) -> Result<Plan, Failure> {
    let parts = checker_parts(setup)?;
    let request = PlanRequest {
        known,
        project: setup.project(),
        tools: parts.tools.into(),
        actor_tools: parts.actor_tools,
        profiles: parts.profiles,
        models: parts.models,
        bundles: parts.bundles,
        category_profile: profile,
        ..PlanRequest::new(goal, routed.mode)
    };
    let planned = planner.plan(&request).await.map_err(|error| {
        let (exit, hint) = match &error {
            PlannerError::Model { source, .. } => (code::MODEL, source.hint()),
            _ => (code::NOT_REACHED, None),
        };
        Failure { hint, ..Failure::caused(exit, &error) }
    })?;
    for refused in &planned.refused {
        let told = msg!("line-refused", attempt = refused.attempt, faults = row(&refused.faults));
        output::note(&format!("{} {told}", msg!("head-refused")));
    }
    for repair in &planned.repairs {
        output::note(&format!("{DIM}{}{DIM:#}", msg!("line-mended", repair = said(repair))));
    }
    if let Some(why) = &planned.fallback {
        output::note(&msg!("line-fallback", why = said(why)));
    }
    Ok(planned.plan)
}

/// A plan for people: the strategy, then the checklist.
fn text(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let strategic = &plan.strategic;
    if !strategic.approach.is_empty() {
        lines.push(format!("{BOLD}approach{BOLD:#} {}", strategic.approach));
    }
    lines.extend(strategic.phases.iter().map(|phase| format!("{BOLD}phase{BOLD:#}    {}: {}", phase.name, phase.objective)));
    lines.extend(strategic.risks.iter().map(|risk| format!("{BOLD}risk{BOLD:#}     {} → {}", risk.description, risk.mitigation)));
    lines.extend(strategic.success_criteria.iter().map(|criterion| format!("{BOLD}success{BOLD:#}  {criterion}")));
    lines.push(describe_plan(plan));
    lines.join("\n")
}
