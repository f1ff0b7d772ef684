//! What actors had written down when their process died, and the run had not: told before anybody is given up.

use std::collections::BTreeSet;

use aime_actors::{ActorMachine, effect_prefix};
use aime_durable::replay;
use aime_progress::{ProgressEvent, Spent};
use aime_tools::DELEGATE_TASK;

use crate::{ActorReport, OrchestratorError, Parts, RunMachine};

/// The reports of the actors of tasks that are not settled, and of those to which they delegated, which the run has not heard. An actor tells them
/// again when it is taken up; one whose task is given up before that cannot, and a call that it made would be known to nobody.
///
/// # Errors
/// When a journal cannot be read.
pub(crate) fn unheard(parts: &Parts, machine: &RunMachine, run: &str) -> Result<Vec<ActorReport>, OrchestratorError> {
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
            let heard = machine.heard_of(&stream);
            let told = replay::<ActorMachine>(&loaded.input, &loaded.facts).events.into_iter().map(|recorded| recorded.fact);
            let made = parts.actor_created(task, &loaded.input.fact.spec, Vec::new());
            for (number, event) in (0..).zip(std::iter::once(made).chain(told)) {
                if let ProgressEvent::ToolCallStarted { call, tool, .. } = &event
                    && tool == DELEGATE_TASK
                {
                    calls.push(Some(call.clone()));
                }
                if number >= heard {
                    reports.push(ActorReport { task: task.clone(), execution, call: call.clone(), number, event });
                }
            }
        }
    }
    Ok(reports)
}

/// The calls of tools and the requests to models that reports tell of.
pub(crate) fn what_they_took(reports: &[ActorReport]) -> (u64, Spent) {
    let (mut calls, mut total) = (0, Spent::default());
    for report in reports {
        match &report.event {
            ProgressEvent::ToolCallStarted { .. } => calls += 1,
            ProgressEvent::ModelCalled { spent, .. } => total.add(spent),
            _ => {}
        }
    }
    (calls, total)
}
