//! What happened, for a verifier: what was recorded comes first, what somebody says of it last.

use aime_actors::ActorMachine;
use aime_durable::{Journal, replay};
use aime_progress::{CallOutcome, Conclusion, ProgressEvent, ProgressState, TaskId, TaskStatus};

/// How much of each text a verifier reads, in characters: a call's parameters, its output, a task's result.
const EVIDENCE_CHARS: usize = 1_500;
/// Calls that do nothing but claim something.
const CLAIMS: [&str; 3] = ["terminate", "todo", "update_progress"];
/// How many calls of a task a verifier sees: the last ones.
const CALLS: usize = 20;

/// Of a whole run: results, references, failures.
pub(super) fn of_run(state: &ProgressState) -> String {
    let mut lines = Vec::new();
    for task in state.tasks.values() {
        let Some(conclusion) = &task.conclusion else {
            lines.push(format!("- {} ({})", task.spec.title(), task.status));
            continue;
        };
        let text = match task.status {
            TaskStatus::Completed => conclusion.text.as_ref().unwrap_or(&conclusion.summary),
            _ => conclusion.error.as_ref().unwrap_or(&conclusion.summary),
        };
        lines.push(format!("- {} ({}): {}", task.spec.title(), task.status, cut(text)));
        if !conclusion.references.is_empty() {
            lines.push(format!("  made: {}", conclusion.references.join(", ")));
        }
    }
    lines.join("\n")
}

/// Of a task that an actor carried out: the calls of all its executions so far, as their journals have them, then the actor's words.
pub(super) fn of_actor(journal: &Journal, run: &str, task: &TaskId, execution: u32, conclusion: &Conclusion) -> Result<String, String> {
    let mut lines = Vec::new();
    for execution in 1..=execution {
        let stream = format!("{task}/{execution}");
        let Some(loaded) = journal.load::<ActorMachine>(run, &stream).map_err(|error| error.to_string())? else { continue };
        let events = replay::<ActorMachine>(&loaded.input, &loaded.facts).events;
        lines.extend(calls(events.into_iter().map(|event| event.fact)));
    }
    lines.drain(..lines.len().saturating_sub(CALLS));
    if lines.is_empty() {
        lines.push("- no tool was called".to_owned());
    }
    lines.push(format!("Handed over, in the worker's own words: {}", cut(conclusion.text())));
    Ok(lines.join("\n"))
}

/// Of a tool task: its one call.
pub(super) fn of_tool(tool: &str, parameters: &str, conclusion: &Conclusion) -> String {
    call(tool, parameters, CallOutcome::Ok, conclusion.text())
}

/// A line for each call that ended.
fn calls(events: impl Iterator<Item = ProgressEvent>) -> Vec<String> {
    let mut started = std::collections::HashMap::new();
    events
        .filter_map(|event| match event {
            ProgressEvent::ToolCallStarted { call, parameters, .. } => {
                started.insert(call, serde_json::Value::Object(parameters).to_string());
                None
            }
            ProgressEvent::ToolCallFinished { tool, .. } if CLAIMS.contains(&tool.as_str()) => None,
            ProgressEvent::ToolCallFinished { call: id, tool, outcome, output, .. } => {
                Some(call(&tool, &started.remove(&id).unwrap_or_default(), outcome, &output))
            }
            _ => None,
        })
        .collect()
}

fn call(tool: &str, parameters: &str, outcome: CallOutcome, output: &str) -> String {
    let how = match outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::Error => "error",
        CallOutcome::Cancelled => "cancelled",
        CallOutcome::InDoubt => "outcome unknown",
    };
    format!("- {tool} {}: {how}: {}", cut(parameters), cut(output.trim()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(EVIDENCE_CHARS) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
