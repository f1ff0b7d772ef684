//! `aime resume`.

use std::collections::BTreeSet;

use aime_durable::RunRecord;
use aime_orchestrator::{Bounds, Models, RunOutput, RunResult, RunStanding, standing};
use aime_progress::{RunId, RunStatus};

use super::{
    run::{Carry, Work, at_hand, bounds, carry_out, failure_of, tell_model, tell_unpriced, told_as_result},
    steering::has_ended,
};
use crate::{
    args::{Global, ResumeArgs},
    config::RunConfig,
    failure::Failure,
    models,
    wiring::Setup,
};

pub(super) async fn resume(args: ResumeArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let run = find_run(&args.run, setup)?;
    let seen = resumable(&run, setup)?;
    let wanted = raised(bounds(&args.bounds, seen.bounds.clone()), &seen.bounds_reached, &setup.config.run);
    let models = models_for(&seen, &wanted, args.model.as_deref(), setup).await.map_err(|failure| {
        let as_it_stands = |failed| RunOutput { status: seen.state.status, error: Some(failed) };
        told_as_result(failure, args.output, |failed| RunResult::new(run.clone(), &seen.state, &as_it_stands(failed)))
    })?;
    let bounds = (wanted != seen.bounds).then(|| wanted.clone());
    let carry = Carry { run, output: args.output, unattended: seen.input.settings.unattended, models, bounds: wanted };
    carry_out(carry, global, setup, Work::Resume { bounds, before: Box::new(seen.state) }).await
}

/// The models that a run goes on with, within these bounds.
async fn models_for(seen: &RunStanding, bounds: &Bounds, named: Option<&str>, setup: &Setup) -> Result<Option<Models>, Failure> {
    let choice = models::choose(&setup.config, &setup.environment, named)?;
    match &choice {
        Some(choice) if seen.input.can_plan && !seen.over => {
            tell_model(Some(choice), setup);
            let models = models::ready(choice, setup).await?;
            tell_unpriced(bounds, Some(choice), setup)?;
            Ok(Some(models))
        }
        None if seen.input.can_plan && !seen.over => Err(models::none_configured()),
        _ => Ok(at_hand(choice.as_ref(), setup)),
    }
}

/// A run that can go on, or gives its result again.
pub(super) fn resumable(run: &RunId, setup: &Setup) -> Result<RunStanding, Failure> {
    let seen = standing(&setup.journal()?, run).map_err(|error| failure_of(&error))?;
    if let Some(damage) = &seen.damage {
        crate::output::note(&format!("the journal of {run} was damaged: {damage}; going on from the last good record"));
    }
    for unused in &seen.unused {
        crate::output::note(&format!("{unused}; the run is read from the beginning of its journal"));
    }
    if seen.state.status == RunStatus::Cancelled { Err(has_ended(run, &seen.state)) } else { Ok(seen) }
}

/// A count that no flag sets and that was reached goes on with what the configuration says now, where that is more.
pub(super) fn raised(mut bounds: Bounds, reached: &BTreeSet<String>, run: &RunConfig) -> Bounds {
    for bound in reached {
        match bound.as_str() {
            "tool_calls" => bounds.max_tool_calls = bounds.max_tool_calls.max(run.max_tool_calls),
            "actors" => bounds.max_actors = bounds.max_actors.max(run.max_actors),
            _ => {}
        }
    }
    bounds
}

/// The run that is meant: by its name, by the beginning of it, or `last`.
pub(super) fn find_run(text: &str, setup: &Setup) -> Result<RunId, Failure> {
    if text.is_empty() {
        return Err(Failure::usage("the name of the run is empty").hint("`last` is the newest run; `aime runs` lists all of this folder"));
    }
    let unknown = |hint| Failure::usage(format!("there is no run {text:?} in {}", setup.folder.display())).hint(hint);
    let none_yet = "nothing has run there yet: `aime run \"…\"` does, and -C names another folder";
    let Some(journal) = setup.existing_journal()? else { return Err(unknown(none_yet)) };
    let runs = journal.runs().map_err(|error| Failure::caused(crate::failure::code::USAGE, &error))?;
    let found = named(text, &runs);
    match found.as_slice() {
        [one] => RunId::new(*one).map_err(Failure::usage),
        [] if runs.is_empty() => Err(unknown(none_yet)),
        [] => Err(unknown("`aime runs` lists the runs of this folder")),
        many => Err(Failure::usage(format!("{text:?} may mean {}", many.join(", "))).hint("write more of its name")),
    }
}

/// The runs that a text may mean: the one of this name, else those whose names begin with it; the newest for `last`. Nothing means none, though every
/// name begins with it.
pub(super) fn named<'a>(text: &str, runs: &'a [RunRecord]) -> Vec<&'a str> {
    match text {
        "" => Vec::new(),
        "last" => runs.iter().max_by_key(|run| run.created_at).map(|run| run.id.as_str()).into_iter().collect(),
        _ => match runs.iter().find(|run| run.id == text) {
            Some(run) => vec![run.id.as_str()],
            None => runs.iter().map(|run| run.id.as_str()).filter(|id| id.starts_with(text)).collect(),
        },
    }
}
