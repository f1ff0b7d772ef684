//! Reports that actors had journaled when the process died and that the run had not taken.

use std::collections::BTreeSet;

use aime_actor_factory::{ActorMachine, effect_prefix};
use aime_durable::replay;
use aime_progress_management::{ModelCost, ProgressEvent};
use aime_tools::DELEGATE_TASK;

use crate::{ActorReport, OrchestratorError, Parts, RunMachine};

/// Returns the reports that the run has not taken, of the actors of unsettled tasks and of the actors to which they
/// delegated. A resumed actor sends them again. An actor whose task is given up before that cannot, so the run would
/// miss the calls that it made.
///
/// # Errors
///
/// When a journal cannot be read.
pub(crate) fn undelivered_reports(parts: &Parts, machine: &RunMachine, run: &str) -> Result<Vec<ActorReport>, OrchestratorError> {
    let streams: BTreeSet<String> = parts.journal.streams(run)?.into_iter().collect();
    let mut reports = Vec::new();
    for (task, execution) in machine.executions_under_way() {
        let mut calls = vec![None];
        while let Some(call) = calls.pop() {
            let stream = effect_prefix(task, execution, call.as_deref());
            if !streams.contains(&stream) {
                continue;
            }
            let Some(loaded) = parts.journal.load::<ActorMachine>(run, &stream)? else { continue };
            let delivered = machine.reports_of(&stream);
            let events = replay::<ActorMachine>(&loaded.input, &loaded.facts).events.into_iter().map(|recorded| recorded.fact);
            let made = parts.actor_created(Some(task), &loaded.input.fact, Vec::new());
            for (number, event) in (0..).zip(std::iter::once(made).chain(events)) {
                if let ProgressEvent::ToolCallStarted { call, tool, .. } = &event
                    && tool == DELEGATE_TASK
                {
                    calls.push(Some(call.clone()));
                }
                if number >= delivered {
                    reports.push(ActorReport { task: task.clone(), execution, call: call.clone(), number, event });
                }
            }
        }
    }
    Ok(reports)
}

/// Returns the tool calls and the model usage in reports.
pub(crate) fn cost_of(reports: &[ActorReport]) -> (u64, ModelCost) {
    let (mut calls, mut total) = (0, ModelCost::default());
    for report in reports {
        match &report.event {
            ProgressEvent::ToolCallStarted { .. } => calls += 1,
            ProgressEvent::ModelCalled { spent, .. } => total.add(spent),
            _ => {}
        }
    }
    (calls, total)
}
