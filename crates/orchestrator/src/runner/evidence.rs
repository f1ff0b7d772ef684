//! Evidence for a verifier: recorded actions first, claims of actors last.

use std::collections::BTreeMap;

use aime_actor_factory::{ActorInput, ActorMachine, effect_prefix};
use aime_durable::{Journal, replay};
use aime_progress_management::{CallOutcome, Conclusion, ProgressEvent, ProgressState, TaskId, TaskStatus};
use aime_redact::is_credential_file;
use aime_sandbox::{ConfinedFolder, EntryKind};
use aime_tools::DELEGATE_TASK;
use serde::{Deserialize, Serialize};

use super::checks::head_and_tail;
use crate::criteria::paths_named;

/// Maximum number of characters of each text for a verifier: a call's parameters, its output, a task's result.
const EVIDENCE_CHARS: usize = 1_500;
/// Maximum number of files whose current content a verifier reads.
const FILES: usize = 4;
/// Maximum size in bytes of a file whose beginning a verifier reads.
const FILE_BYTES: u64 = 1_000_000;
/// Calls that only claim something.
const CLAIMS: [&str; 3] = ["terminate", "todo", "update_progress"];
/// Maximum number of calls of a task for a verifier: the last ones.
const CALLS: usize = 20;

/// Returns the evidence of a whole run: results, references, failures. Cuts long results unless they are to be `whole`.
pub(super) fn of_run(state: &ProgressState, whole: bool) -> String {
    let mut lines = Vec::new();
    for task in state.tasks.values() {
        let Some(conclusion) = &task.conclusion else {
            lines.push(format!("- {} ({})", task.spec.title(), task.status));
            continue;
        };
        let text = match task.status {
            TaskStatus::Completed => conclusion.text().to_owned(),
            _ => conclusion.explanation().to_string(),
        };
        lines.push(format!("- {} ({}): {}", task.spec.title(), task.status, if whole { text.clone() } else { cut(&text) }));
        if !conclusion.references.is_empty() {
            lines.push(format!("  made: {}", conclusion.references.join(", ")));
        }
    }
    lines.join("\n")
}

/// Returns the evidence of a task that an actor executed: the journaled calls of all its executions so far, and of the
/// actors below it.
pub(super) fn of_actor(journal: &Journal, run: &str, task: &TaskId, execution: u32) -> Result<String, String> {
    let mut record = CallRecord::default();
    for execution in 1..=execution {
        of_journal(journal, run, &effect_prefix(task, execution, None), &mut record)?;
    }
    Ok(record.evidence())
}

/// Adds the calls of an actor, read from its journal. For a call that another actor answered, adds that actor's calls
/// instead.
fn of_journal(journal: &Journal, run: &str, stream: &str, record: &mut CallRecord) -> Result<(), String> {
    let Some(loaded) = journal.load::<ActorMachine>(run, stream).map_err(|error| error.to_string())? else { return Ok(()) };
    let ActorInput { spec, execution, .. } = &loaded.input.fact;
    for event in replay::<ActorMachine>(&loaded.input, &loaded.facts).events {
        if let ProgressEvent::ToolCallFinished { call, tool, .. } = &event.fact
            && tool == DELEGATE_TASK
        {
            of_journal(journal, run, &effect_prefix(&spec.task, *execution, Some(call)), record)?;
        } else {
            record.observe(&event.fact);
        }
    }
    Ok(())
}

/// The finished calls in the attempts at a task, one line each, for a verifier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Parameters of calls that have not ended.
    started: BTreeMap<String, String>,
    /// Lines of the calls that have ended.
    lines: Vec<String>,
}

impl CallRecord {
    /// Takes in an actor's events, in order. Ignores all but calls.
    pub fn observe(&mut self, event: &ProgressEvent) {
        match event {
            ProgressEvent::ToolCallStarted { call, parameters, .. } => {
                self.started.insert(call.clone(), serde_json::Value::Object(parameters.clone()).to_string());
            }
            ProgressEvent::ToolCallFinished { tool, .. } if CLAIMS.contains(&tool.as_str()) => {}
            ProgressEvent::ToolCallFinished { call: id, tool, outcome, output, .. } => {
                self.lines.push(call(tool, &self.started.remove(id).unwrap_or_default(), *outcome, output));
                self.lines.drain(..self.lines.len().saturating_sub(CALLS));
            }
            _ => {}
        }
    }

    /// Returns the text for a verifier: the last calls.
    pub(crate) fn evidence(mut self) -> String {
        if self.lines.is_empty() {
            self.lines.push("- no tool was called".to_owned());
        }
        self.lines.join("\n")
    }
}

/// Returns an actor's statement on its result, for a verifier that sees nothing else of the actor.
pub(super) fn of_words(claim: &str) -> String {
    format!("Handed over, in the worker's own words: {}", cut(claim))
}

/// Returns the evidence of a tool task: its single call.
pub(super) fn of_tool(tool: &str, parameters: &str, conclusion: &Conclusion) -> String {
    call(tool, parameters, CallOutcome::Ok, conclusion.text())
}

/// Returns the current content of the files that the criteria name, which is better evidence than a claim. Includes
/// only files that exist and that `may_read` allows.
pub(super) fn of_files(folder: &ConfinedFolder, criteria: &[String], may_read: impl Fn(&str) -> bool) -> String {
    let mut named: Vec<String> = Vec::new();
    for path in criteria.iter().flat_map(|criterion| paths_named(criterion)) {
        if !named.contains(&path) {
            named.push(path);
        }
    }
    let shown = named.iter().filter_map(|path| {
        // Permission to read a link does not cover its target.
        let real = folder.resolve(path).ok()?;
        let facts = folder.facts(path).ok().filter(|facts| facts.kind == EntryKind::File)?;
        if is_credential_file(path) || is_credential_file(real.to_str()?) {
            return Some(format!("{path} looks like a file of keys or passwords, and is not shown"));
        }
        if !may_read(path) || !may_read(real.to_str()?) {
            return None;
        }
        if facts.size > FILE_BYTES {
            return Some(format!("{path} has {} bytes", facts.size));
        }
        let bytes = folder.read(path).ok()?;
        Some(match std::str::from_utf8(&bytes) {
            Ok("") => format!("{path} is empty"),
            Ok(text) => format!("{path} holds now:\n{}", cut(text.trim_end())),
            Err(_) => format!("{path} has {} bytes and is no text", facts.size),
        })
    });
    shown.take(FILES).collect::<Vec<_>>().join("\n")
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
    head_and_tail(text, EVIDENCE_CHARS / 2)
}
