//! What happened, for a verifier: what was recorded comes first, what somebody says of it last.

use std::collections::BTreeMap;

use aime_actors::{ActorInput, ActorMachine, effect_prefix};
use aime_durable::{Journal, replay};
use aime_progress::{CallOutcome, Conclusion, ProgressEvent, ProgressState, TaskId, TaskStatus};
use aime_redact::is_credential_file;
use aime_sandbox::{ConfinedFolder, EntryKind};
use aime_tools::DELEGATE_TASK;
use serde::{Deserialize, Serialize};

use super::checks::head_and_tail;
use crate::criteria::paths_named;

/// How much of each text a verifier reads, in characters: a call's parameters, its output, a task's result.
const EVIDENCE_CHARS: usize = 1_500;
/// How many files a verifier is shown as they are now.
const FILES: usize = 4;
/// The largest file of which a verifier is shown the beginning, in bytes.
const FILE_BYTES: u64 = 1_000_000;
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

/// Of a task that an actor carried out: the calls of all its executions so far, and of the actors below it, as their journals have them.
pub(super) fn of_actor(journal: &Journal, run: &str, task: &TaskId, execution: u32) -> Result<String, String> {
    let mut record = CallRecord::default();
    for execution in 1..=execution {
        of_journal(journal, run, &effect_prefix(task, execution, None), &mut record)?;
    }
    Ok(record.evidence())
}

/// Takes in the calls of an actor, from its journal. What another actor did in a call stands in the place of the call.
fn of_journal(journal: &Journal, run: &str, stream: &str, record: &mut CallRecord) -> Result<(), String> {
    let Some(loaded) = journal.load::<ActorMachine>(run, stream).map_err(|error| error.to_string())? else { return Ok(()) };
    let ActorInput { spec, execution, .. } = &loaded.input.fact;
    for event in replay::<ActorMachine>(&loaded.input, &loaded.facts).events {
        if let ProgressEvent::ToolCallFinished { call, tool, .. } = &event.fact
            && tool == DELEGATE_TASK
        {
            of_journal(journal, run, &effect_prefix(&spec.task, *execution, Some(call)), record)?;
        } else {
            record.take(&event.fact);
        }
    }
    Ok(())
}

/// The calls that ended in the attempts at a task, a line each, for whoever judges what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The parameters of calls that have not ended.
    started: BTreeMap<String, String>,
    /// What ended.
    lines: Vec<String>,
}

impl CallRecord {
    /// Takes in what an actor tells, in order. All but calls are let pass.
    pub fn take(&mut self, event: &ProgressEvent) {
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

    /// What a verifier reads: the last calls.
    pub(crate) fn evidence(mut self) -> String {
        if self.lines.is_empty() {
            self.lines.push("- no tool was called".to_owned());
        }
        self.lines.join("\n")
    }
}

/// The words of an actor on its result, for a verifier that sees no more of them.
pub(super) fn of_words(claim: &str) -> String {
    format!("Handed over, in the worker's own words: {}", cut(claim))
}

/// Of a tool task: its one call.
pub(super) fn of_tool(tool: &str, parameters: &str, conclusion: &Conclusion) -> String {
    call(tool, parameters, CallOutcome::Ok, conclusion.text())
}

/// Of files as they are now: what stands in them nobody has to claim. Only of those that exist and `may_read` allows.
pub(super) fn of_files(folder: &ConfinedFolder, criteria: &[String], may_read: impl Fn(&str) -> bool) -> String {
    let mut named: Vec<String> = Vec::new();
    for path in criteria.iter().flat_map(|criterion| paths_named(criterion)) {
        if !named.contains(&path) {
            named.push(path);
        }
    }
    let shown = named.iter().filter_map(|path| {
        // Permission for a link is none for what it leads to.
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
