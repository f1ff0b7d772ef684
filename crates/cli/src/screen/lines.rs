//! A line for each thing that happens, for pipes, logs and the space above the live view.

use std::collections::BTreeMap;

use aime_orchestrator::{FileChange, PublishedEvent};
use aime_progress::{CallOutcome, PlanChange, ProgressEvent, RecalledFrom, RecalledItem, RunStatus, TaskStatus};
use serde_json::{Map, Value};

use super::{describe_file_change, first_line, span, tree::describe_plan};
use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, plain};

const WIDTH: usize = 160;

/// The line of an event; `None` for what is not worth one.
pub(crate) fn line_of(published: &PublishedEvent) -> Option<String> {
    use ProgressEvent as E;
    let line = match &published.event {
        E::RunStarted { goal, .. } => format!("{BOLD}goal{BOLD:#}    {}", first_line(goal, WIDTH)),
        E::Routed { mode, by, category, reasons, .. } => {
            let category = if category.is_empty() { String::new() } else { format!(", {category}") };
            format!("{BOLD}route{BOLD:#}   {mode} (by {by}{category}: {})", reasons.join("; "))
        }
        E::Recalled { items, left_out, .. } => recalled_lines(items, *left_out),
        E::MemoryFailed { message } => format!("{YELLOW}memory{YELLOW:#}  {}", first_line(message, 2 * WIDTH)),
        E::PlanningStarted { purpose } => {
            let article = if purpose.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{DIM}asking for {article} {purpose} …{DIM:#}")
        }
        E::PlanRefused { attempt, faults } => format!("{YELLOW}refused{YELLOW:#} try {attempt}: {}", plain(&faults.join("; "))),
        E::PlanReused { run } => {
            let whose = run.as_deref().map(|run| format!(" of run {}", plain(run))).unwrap_or_default();
            format!("{BOLD}plan{BOLD:#}    used again: the plan{whose} for the same goal")
        }
        E::PlanCreated { plan, repairs, fallback } => {
            let mut text = format!("{BOLD}plan{BOLD:#}    v1\n{}", describe_plan(plan));
            for repair in repairs {
                text.push_str(&format!("\n  {DIM}mended: {repair}{DIM:#}"));
            }
            if let Some(why) = fallback {
                text.push_str(&format!("\n  {YELLOW}fallback: {why}{YELLOW:#}"));
            }
            text
        }
        E::PlanChanged { decision } => {
            let why: Vec<&str> = decision.triggers.iter().map(|reason| reason.detail.as_str()).collect();
            let mut text = format!("{BOLD}replan{BOLD:#}  v{}: {}", decision.version, plain(&why.join("; ")));
            if !decision.patch.reasoning.is_empty() {
                text.push_str(&format!("\n  because: {}", first_line(&decision.patch.reasoning, WIDTH)));
            }
            for change in &decision.patch.changes {
                text.push_str(&format!("\n  {}", describe_change(change)));
            }
            for lowered in &decision.lowered {
                text.push_str(&format!("\n  {DIM}what failed: {lowered}{DIM:#}"));
            }
            text
        }
        E::TaskStatusChanged { task, to, attempt, for_good, reason, .. } => {
            return status_line(task.as_str(), *to, *attempt, *for_good, reason.as_deref());
        }
        E::TaskConcluded { task, conclusion } => {
            let said = conclusion.error.as_ref().unwrap_or(&conclusion.summary);
            format!("{DIM}{task}: {}{DIM:#}", first_line(said, WIDTH))
        }
        E::ActorCreated { task, profile, model, .. } => format!("{DIM}{task}: actor {profile} on {model}{DIM:#}"),
        E::ToolCallStarted { task, tool, parameters, .. } => {
            format!("{DIM}{task}: {CYAN}{tool}{CYAN:#}{DIM} {}{DIM:#}", parameter_text(parameters))
        }
        E::ToolCallFinished { task, tool, outcome, output, duration_ms, .. } if *outcome != CallOutcome::Ok => {
            format!(
                "{task}: {YELLOW}{tool} {}{YELLOW:#} after {}: {}",
                outcome_word(*outcome),
                span(*duration_ms),
                first_line(output, WIDTH)
            )
        }
        E::ProgressReported { task, report } => {
            format!("{task}: {}: {}", first_line(&report.status, WIDTH), first_line(&report.message, WIDTH))
        }
        E::EvidenceAdded { evidence } => format!("{YELLOW}evidence{YELLOW:#} {}", first_line(&evidence.content, WIDTH)),
        E::ReplanSuppressed { reason, .. } => format!("{YELLOW}no replan{YELLOW:#}: {}", plain(reason)),
        E::QuestionAsked { kind, question, .. } => format!("{BOLD}{kind}{BOLD:#} {}", plain(question)),
        E::QuestionAnswered { answer, .. } => format!("{BOLD}answer{BOLD:#}  {}", first_line(answer, WIDTH)),
        E::ConsentGiven { rules, .. } => format!("{BOLD}always{BOLD:#} {}", plain(&rules.join(", "))),
        E::CriterionChecked { criterion, passed, reason, .. } => {
            let verdict = match passed {
                Some(true) => format!("{GREEN}holds{GREEN:#}  "),
                Some(false) => format!("{RED}fails{RED:#}  "),
                None => format!("{YELLOW}unknown{YELLOW:#}"),
            };
            format!("{verdict} {} {DIM}({}){DIM:#}", first_line(criterion, WIDTH), first_line(reason, WIDTH))
        }
        E::BoundReached { bound, detail } => format!("{RED}bound{RED:#}   {bound}: {}", plain(detail)),
        E::RunInterrupted { reason } => format!("{YELLOW}stopped{YELLOW:#} {}", plain(reason.strip_prefix("stopped ").unwrap_or(reason))),
        E::RunResumed {} => format!("{BOLD}resumed{BOLD:#}"),
        E::RunStatusChanged { to: to @ (RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled), .. } => {
            format!("{BOLD}run{BOLD:#}     {to}")
        }
        E::HistoryCompacted { task, tokens_before, tokens_after } => {
            format!("{DIM}{task}: history shortened from {tokens_before} to {tokens_after} tokens{DIM:#}")
        }
        E::ActorNudged { task, kind, .. } if kind == "stuck" => {
            format!("{YELLOW}{task}: repeats itself; told to try another way{YELLOW:#}")
        }
        E::ActorTold { task, .. } => format!("{DIM}{task}: was told what you said{DIM:#}"),
        E::Noted { topic, detail } if topic == "hook" => hook_line(detail),
        event @ E::Noted { topic, .. } if topic == FileChange::TOPIC => describe_file_change(&FileChange::from_event(event)?),
        E::Noted { topic, detail } if topic == "undo" => {
            let message = detail.get("message").and_then(Value::as_str).unwrap_or_default();
            format!("{YELLOW}undo{YELLOW:#}    {}", first_line(message, 2 * WIDTH))
        }
        _ => return None,
    };
    Some(line)
}

/// What earlier runs learnt on one line, what documents say on another.
fn recalled_lines(items: &[RecalledItem], left_out: u64) -> String {
    let named = |item: &RecalledItem| {
        let title = first_line(&item.title, 60);
        match (item.from, item.line) {
            (RecalledFrom::Document, Some(line)) => format!("{}:{line} {title}", first_line(&item.name, 60)).trim_end().to_owned(),
            _ => format!("{title} ({})", first_line(&item.name, 40)),
        }
    };
    let of = |from: RecalledFrom| items.iter().filter(|item| item.from == from).map(named).collect::<Vec<_>>().join("; ");
    let told = [("recall ", of(RecalledFrom::Memory)), ("known  ", of(RecalledFrom::Document))];
    let mut lines: Vec<String> =
        told.into_iter().filter(|(_, told)| !told.is_empty()).map(|(head, told)| format!("{BOLD}{head}{BOLD:#} {told}")).collect();
    if left_out > 0 {
        lines.push(format!("{DIM}{left_out} more found no room in the prompt{DIM:#}"));
    }
    lines.join("\n")
}

/// What a hook did.
fn hook_line(detail: &BTreeMap<String, Value>) -> String {
    let text = |name: &str| detail.get(name).and_then(Value::as_str).unwrap_or_default();
    let task = if text("task").is_empty() { String::new() } else { format!("{}: ", text("task")) };
    let color = if text("did") == "changed" { DIM } else { YELLOW };
    format!(
        "{task}{color}hook{color:#} {} {} at {}: {}",
        plain(text("hook")),
        text("did"),
        text("point"),
        first_line(text("detail"), WIDTH)
    )
}

fn status_line(task: &str, to: TaskStatus, attempt: u32, for_good: bool, reason: Option<&str>) -> Option<String> {
    let why = reason.map(|reason| format!(": {}", first_line(reason, WIDTH))).unwrap_or_default();
    let line = match to {
        TaskStatus::Running if attempt > 1 => format!("{BOLD}start{BOLD:#}   {task} (attempt {attempt})"),
        TaskStatus::Running => format!("{BOLD}start{BOLD:#}   {task}"),
        TaskStatus::Completed => format!("{GREEN}done{GREEN:#}    {task}"),
        TaskStatus::Failed if for_good => format!("{RED}failed{RED:#}  {task} for good{why}"),
        TaskStatus::Failed => format!("{RED}failed{RED:#}  {task} (attempt {attempt}){why}"),
        TaskStatus::Blocked => format!("{YELLOW}blocked{YELLOW:#} {task}{why}"),
        TaskStatus::Skipped => format!("{YELLOW}skipped{YELLOW:#} {task}{why}"),
        TaskStatus::RolledBack => format!("{YELLOW}undone{YELLOW:#}  {task}{why}"),
        TaskStatus::Pending | TaskStatus::Ready => return None,
    };
    Some(line)
}

const fn outcome_word(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Ok => "ended",
        CallOutcome::Error => "failed",
        CallOutcome::Cancelled => "was stopped",
        CallOutcome::InDoubt => "is in doubt",
    }
}

/// `path=a.txt content="…"`.
pub(super) fn parameter_text(parameters: &Map<String, Value>) -> String {
    let parts: Vec<String> = parameters
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={}", first_line(text, 60)),
            other => format!("{name}={}", first_line(&other.to_string(), 60)),
        })
        .collect();
    first_line(&parts.join(" "), WIDTH)
}

/// A change of the plan in plain words.
pub(crate) fn describe_change(change: &PlanChange) -> String {
    match change {
        PlanChange::AddTask { task, replaces } if replaces.is_empty() => format!("+ {}: {}", task.id, first_line(task.title(), WIDTH)),
        PlanChange::AddTask { task, replaces } => {
            let replaced: Vec<&str> = replaces.iter().map(aime_progress::TaskId::as_str).collect();
            format!("+ {} in place of {}: {}", task.id, replaced.join(", "), first_line(task.title(), WIDTH))
        }
        PlanChange::ModifyTask { id, .. } => format!("~ {id} is changed"),
        PlanChange::RemoveTask { id, reason } => format!("- {id}: {}", first_line(reason, WIDTH)),
        PlanChange::MergeTasks { ids, task } => {
            let merged: Vec<&str> = ids.iter().map(aime_progress::TaskId::as_str).collect();
            format!("= {} become {}", merged.join(", "), task.id)
        }
        PlanChange::BlockTask { id, reason } => format!("! {id} is held back: {}", first_line(reason, WIDTH)),
        PlanChange::UnblockTask { id } => format!("> {id} may run again"),
        PlanChange::CancelTask { id, reason } => format!("x {id} is cancelled: {}", first_line(reason, WIDTH)),
        PlanChange::AddEdge { edge } => format!("+ {} before {}", edge.from, edge.to),
        PlanChange::RemoveEdge { from, to } => format!("- {from} before {to}"),
        PlanChange::SetStrategic { .. } => "~ the strategy is changed".to_owned(),
    }
}
