//! `aime plan`: creates a plan without running it. `run --review` and the MCP server plan by it too.

use std::{io, path::Path, sync::Arc};

use aime_dynamic_planner::{dot, mermaid};
use aime_messages::message;
use aime_orchestrator::{
    HumanChannel, LeadConversation, ModelUse, Models, NoHuman, PlanResult, PublishedEvent, RunRequest, RunSettings, new_run_id,
};
use aime_progress_management::{ModelCost, Plan, ProgressEvent, RunStatus};
use aime_runs::{Review, Runs, RunsError, models, settings_of, write_whole};
use tokio_util::sync::CancellationToken;

use super::{
    input::{read_goal, read_images},
    models_in_use::{by_flag, print_unpriced},
    settings::{bounds, mode_of},
};
use crate::{
    args::{PlanArgs, PlanFormat},
    failure::Failure,
    i18n::{msg, print},
    notices::model_line,
    output::{self, BOLD, DIM, count, plain},
    person::AtTerminal,
    screen::{NoPause, describe_plan, line_of, plan_notes, span},
    signals::{Interruptions, interrupted_failure, interruptions, stop_on_interruptions, unless_interrupted},
};

pub(super) async fn plan(args: PlanArgs, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let goal = read_goal(&args.goal)?;
    let images = read_images(&args.image)?;
    let to = args.output_file.as_deref().filter(|path| *path != Path::new("-"));
    if let Some((path, error)) = to.and_then(|path| Some((path, never_written(path)?))) {
        let failure = Failure::usage(message!("plan-not-written", file = path.display(), error));
        return Err(failure.hint(message!("plan-not-written-hint")));
    }
    let mut interruptions = interruptions();
    let choice = models::choose(&setup.config, &setup.environment, args.choice.model.as_deref().map(by_flag))?
        .ok_or_else(models::none_configured)?;
    if choice.because == models::no_other() {
        output::first_note(&model_line(Some(&choice), setup));
    } else {
        output::release_notes();
    }
    unless_interrupted(&mut interruptions, runs.ready()).await?;
    let models = unless_interrupted(&mut interruptions, models::ready(&choice, setup)).await?;
    let configured = settings_of(&setup.config);
    let settings = RunSettings {
        mode: args.choice.mode.map_or(configured.mode, mode_of),
        bounds: bounds(&args.bounds, configured.bounds.clone()),
        ..configured
    };
    print_unpriced(&settings.bounds, Some(&choice), setup)?;
    let request = RunRequest { images, settings, ..RunRequest::new(new_run_id(), goal) };
    let plan = plan_here(request, models.clone(), None, runs, &mut interruptions).await?.plan;
    output::note(&format!("{DIM}{}{DIM:#}", forecast_line(&plan, &models, runs)?));
    if args.format == PlanFormat::Json && to.is_none() {
        output::json(&plan, true)?;
        return Ok(0);
    }
    let text = match args.format {
        PlanFormat::Text => text(&plan),
        PlanFormat::Json => serde_json::to_string_pretty(&plan).map_err(Failure::internal)?,
        PlanFormat::Mermaid => mermaid(&plan),
        PlanFormat::Dot => dot(&plan),
    };
    match to {
        Some(path) => write_whole(path, &format!("{}\n", anstream::adapter::strip_str(&text)), true)
            .map_err(|error| Failure::usage(message!("plan-not-written", file = path.display(), error)))?,
        None => output::result(&text),
    }
    Ok(0)
}

/// Returns the reason why a file can certainly not be written, before anything is paid for its content.
fn never_written(path: &Path) -> Option<io::Error> {
    if path.is_dir() {
        return Some(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    folder.metadata().map_or_else(Some, |found| (!found.is_dir()).then(|| io::ErrorKind::NotADirectory.into()))
}

/// Plans a goal for the person at this terminal: shows events and costs, and stops at Ctrl-C. A second Ctrl-C ends the wait for
/// that. Returns the plan and the model calls.
pub(super) async fn plan_here(
    request: RunRequest,
    models: Models,
    review: Option<&Review>,
    runs: &Runs,
    interruptions: &mut Interruptions,
) -> Result<PlannedHere, Failure> {
    let stop = CancellationToken::new();
    let show = |event: PublishedEvent| planning_line(&event).iter().for_each(|line| output::note(line));
    let human: Arc<dyn HumanChannel> =
        if output::can_type() && !request.settings.unattended { Arc::new(AtTerminal::new(Arc::new(NoPause))) } else { Arc::new(NoHuman) };
    let result = tokio::select! {
        result = runs.plan(request, models, review, human, stop.clone(), show) => result?,
        () = stop_on_interruptions(interruptions, &stop) => return Err(interrupted_failure()),
    };
    print_cost(&result.calls);
    let PlanResult { plan, calls, conversation } = result;
    Ok(PlannedHere { plan: plan.map_err(RunsError::from)?, calls, conversation })
}

/// Plan with what the run of it needs to know.
pub(super) struct PlannedHere {
    pub(super) plan: Plan,
    pub(super) calls: Vec<ModelUse>,
    pub(super) conversation: Option<LeadConversation>,
}

/// Returns what a plan will use, about, and what that is computed from.
pub(super) fn forecast_line(plan: &Plan, models: &Models, runs: &Runs) -> Result<String, Failure> {
    Ok(print(&runs.forecast(plan, models)?.message()))
}

/// Formats an event. The plan itself is the result of the command, so only the notes on it are shown.
fn planning_line(published: &PublishedEvent) -> Option<String> {
    match &published.event {
        // The lead says why it leaves a plan as it is.
        ProgressEvent::RunStatusChanged { to: RunStatus::Executing, reason: Some(reason), .. } => Some(plain(&print(reason)).into_owned()),
        ProgressEvent::RunStarted { .. } | ProgressEvent::RunStatusChanged { .. } => None,
        ProgressEvent::PlanCreated { repairs, fallback, .. } => {
            let notes = plan_notes(repairs, fallback.as_ref());
            (!notes.is_empty()).then(|| notes.join("\n"))
        }
        _ => line_of(published),
    }
}

fn print_cost(calls: &[ModelUse]) {
    let mut spent = ModelCost::default();
    calls.iter().for_each(|call| spent.add(&call.spent));
    if spent.requests == 0 {
        return;
    }
    let took = msg!(
        "run-took",
        span = span(calls.iter().map(|call| call.duration_ms).sum()),
        tokens = spent.input_tokens + spent.output_tokens,
        requests = count(usize::try_from(spent.requests).unwrap_or(usize::MAX), "request"),
    );
    let cost = if spent.cost_usd > 0.0 { format!(", ${:.4}", spent.cost_usd) } else { String::new() };
    output::note(&format!("{DIM}{took}{cost}{DIM:#}"));
}

/// Formats a plan for people: the strategy, then the checklist.
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
