//! One line per event, for pipes, logs and the space above the live view.

use aime_messages::{Describe as _, Message};
use aime_orchestrator::PublishedEvent;
use aime_orchestrator::withdrawal;
use aime_progress_management::{
    CallOutcome, GoalImage, HookAction, HookOutcome, MergeConflict, PlanChange, ProgressEvent, RecalledFrom, RecalledItem, RunStatus,
    TaskId, TaskStatus, TriggerKind, TriggerReason,
};
use anstyle::Style;
use serde_json::{Map, Value};

use super::{column, describe_file_change, first_line, span, summary_line, tree::describe_plan};
use crate::{
    i18n::{messages, msg, plain_message, print, print_question, word_name},
    output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, count, plain},
};

const WIDTH: usize = 160;
/// Tools whose calls are shown by their effect: a conclusion, a report, a question, a plan.
const SHOWN_BY_EFFECT: [&str; 6] = ["terminate", "update_progress", "report_evidence", "ask_human", "submit_plan", "change_plan"];
/// Width of the leading word of a line, in columns.
const HEAD: usize = 8;

/// Formats the leading word of a line, padded.
pub(crate) fn head(style: Style, id: &str) -> String {
    format!("{style}{}", column(&format!("{}{style:#}", plain_message(id)), HEAD))
}

/// Returns the task of an event, or the lead for events before its own work.
fn actor_name(task: Option<&TaskId>) -> String {
    task.map_or_else(|| plain_message("head-lead"), ToString::to_string)
}

/// Lists the names of images on one line.
fn images_line(images: &[GoalImage]) -> Option<String> {
    let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    (!names.is_empty()).then(|| first_line(&names.join(", "), WIDTH))
}

/// Formats an answer. For a withdrawn question it is the run's own text.
fn answered(answer: &str) -> String {
    withdrawal(answer).map_or_else(|| word_name("answer", answer), |message| print(&message))
}

/// Formats an event; `None` if it needs no line.
pub(crate) fn line_of(published: &PublishedEvent) -> Option<String> {
    use ProgressEvent as E;
    let line = match &published.event {
        E::RunStarted { goal, images, .. } => {
            let goal = format!("{}{}", head(BOLD, "head-goal"), first_line(goal, WIDTH));
            match images_line(images) {
                Some(images) => format!("{goal}\n{}{images}", head(BOLD, "head-images")),
                None => goal,
            }
        }
        E::Routed { mode, by, category, reasons, .. } => {
            let (mode, by, reasons) = (word_name("mode", &mode.to_string()), word_name("by", by), messages(reasons));
            let route = match category.as_str() {
                "" => msg!("line-route", mode, by, reasons),
                category => msg!("line-route-category", mode, by, category, reasons),
            };
            head(BOLD, "head-route") + &route
        }
        E::Recalled { items, left_out, .. } => recalled_lines(items, *left_out),
        E::MemoryFailed { message } => format!("{}{}", head(YELLOW, "head-memory"), first_line(&print(message), 2 * WIDTH)),
        // The lead's own lines follow.
        E::PlanningStarted { purpose } if purpose == "lead" => return None,
        E::PlanningStarted { purpose } => {
            format!("{DIM}{}{DIM:#}", msg!("line-asking", what = word_name("purpose", purpose)))
        }
        E::PlanRefused { attempt, faults } => {
            format!("{}{}", head(YELLOW, "head-refused"), msg!("line-refused", attempt, faults = plain(&messages(faults))))
        }
        E::PlanReused { run } => {
            let origin = match run.as_deref() {
                Some(run) => msg!("line-reused-of", run = plain(run)),
                None => msg!("line-reused"),
            };
            head(BOLD, "head-plan") + &origin
        }
        E::PlanCreated { plan, repairs, fallback } => {
            let notes = plan_notes(repairs, fallback.as_ref());
            // The goal is shown already.
            if plan.is_direct() && notes.is_empty() {
                return None;
            }
            let mut text = format!("{}v1\n{}", head(BOLD, "head-plan"), describe_plan(plan));
            notes.iter().for_each(|note| text.push_str(&format!("\n  {note}")));
            text
        }
        E::PlanChanged { decision } => {
            let why = why_changed(&decision.triggers);
            let mut text = format!("{}v{}: {why}", head(BOLD, "head-replan"), decision.version);
            if !decision.patch.reasoning.is_empty() {
                text.push_str(&format!("\n  {}", msg!("line-because", why = first_line(&decision.patch.reasoning, WIDTH))));
            }
            for change in &decision.patch.changes {
                text.push_str(&format!("\n  {}", describe_change(change)));
            }
            for dropped in &decision.dropped {
                let why = first_line(&dropped.faults.join("; "), WIDTH);
                text.push_str(&format!("\n  {DIM}{}{DIM:#}", msg!("line-dropped-change", change = describe_change(&dropped.change), why)));
            }
            for lowered in &decision.lowered {
                text.push_str(&format!("\n  {DIM}{}{DIM:#}", msg!("line-lowered", what = print(&lowered.describe()))));
            }
            text
        }
        E::TaskStatusChanged { task, to, attempt, for_good, reason, .. } => {
            return status_line(task.as_str(), *to, *attempt, *for_good, reason.as_ref());
        }
        E::TaskConcluded { task, conclusion } => {
            // The status that follows has the error.
            if conclusion.error.is_some() {
                return None;
            }
            // The actor wrote the summary itself, so it is not translated.
            format!("{DIM}{task}: {}{DIM:#}", first_line(&conclusion.summary, WIDTH))
        }
        E::ActorCreated { task, profile, model, .. } => {
            let task = actor_name(task.as_ref());
            format!("{DIM}{task}: {}{DIM:#}", msg!("line-actor", profile, model))
        }
        E::ToolCallStarted { tool, .. } if SHOWN_BY_EFFECT.contains(&tool.as_str()) => return None,
        E::ToolCallStarted { task, tool, parameters, .. } => {
            let task = actor_name(task.as_ref());
            format!("{DIM}{task}: {CYAN}{tool}{CYAN:#}{DIM} {}{DIM:#}", parameter_text(parameters))
        }
        E::ToolCallFinished { task, tool, outcome, output, duration_ms, .. } if *outcome != CallOutcome::Ok => {
            let task = actor_name(task.as_ref());
            let what = format!("{YELLOW}{tool} {}{YELLOW:#}", word_name("outcome", outcome_word(*outcome)));
            format!("{task}: {}", msg!("line-call", what, span = span(*duration_ms), output = first_line(end_line(output), WIDTH)))
        }
        E::ProgressReported { task, report } => {
            let task = actor_name(task.as_ref());
            format!("{task}: {}: {}", word_name("status", &first_line(&report.status, WIDTH)), first_line(&report.message, WIDTH))
        }
        E::EvidenceAdded { evidence } => format!("{}{}", head(YELLOW, "head-evidence"), first_line(&evidence.content, WIDTH)),
        E::ReplanSuppressed { reason, .. } => format!("{YELLOW}{}{YELLOW:#}: {}", msg!("head-no-replan"), plain(&print(reason))),
        E::QuestionAsked { kind, question, .. } => {
            format!("{BOLD}{}{BOLD:#} {}", word_name("kind", kind), plain(&print_question(question)))
        }
        E::QuestionAnswered { answer, .. } => format!("{}{}", head(BOLD, "head-answer"), first_line(&answered(answer), WIDTH)),
        E::ConsentGiven { rules, .. } => format!("{}{}", head(BOLD, "head-always"), plain(&rules.join(", "))),
        E::CriterionChecked { criterion, how, passed, reason, .. } => {
            let verdict = match passed {
                Some(true) => head(GREEN, "head-holds"),
                Some(false) => head(RED, "head-fails"),
                None => head(YELLOW, "head-unknown"),
            };
            let how = word_name("checked", how.word());
            format!("{verdict}{} {DIM}({how}: {}){DIM:#}", first_line(criterion, WIDTH), first_line(&print(reason), WIDTH))
        }
        E::MergeConflicted { conflicts, .. } => conflicts.iter().map(conflict_line).collect::<Vec<_>>().join("\n"),
        E::BoundReached { bound, detail } => {
            format!("{}{}: {}", head(RED, "head-bound"), word_name("bound", bound), plain(&print(detail)))
        }
        E::RunInterrupted { reason } => {
            format!("{}{}", head(YELLOW, "head-run"), plain(&print(reason)))
        }
        E::RunContinued { goal } => format!("{}{}", head(BOLD, "head-follow-up"), first_line(goal, WIDTH)),
        E::RunResumed {} => format!("{BOLD}{}{BOLD:#}", msg!("head-resumed")),
        E::RunStatusChanged { to: to @ (RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled), .. } => {
            format!("{}{}", head(BOLD, "head-run"), word_name("status", &to.to_string()))
        }
        E::HistoryCompacted { task, tokens_before, tokens_after } => {
            let task = actor_name(task.as_ref());
            format!("{DIM}{task}: {}{DIM:#}", msg!("line-compacted", before = tokens_before, after = tokens_after))
        }
        E::ActorNudged { task, kind, .. } if kind == "stuck" => {
            format!("{YELLOW}{}: {}{YELLOW:#}", actor_name(task.as_ref()), msg!("line-stuck"))
        }
        E::MessageDelivered { task, .. } => format!("{DIM}{}: {}{DIM:#}", actor_name(task.as_ref()), msg!("line-message-delivered")),
        E::HookActed(act) => hook_line(act),
        E::FileChanged(change) => describe_file_change(change),
        // A line for each of the first files follows.
        E::ChangesMerged { files: 0, .. } => return None,
        E::ChangesMerged { task, files, .. } => {
            format!("{}{}", head(GREEN, "head-merged"), msg!("line-merged", task = task, files = count(*files, "file")))
        }
        E::UndoLost { reason } => format!("{}{}", head(YELLOW, "head-undo"), first_line(&msg!("undo-stopped", reason), 2 * WIDTH)),
        E::FolderAwaited { task } => format!("{YELLOW}{task}: {}{YELLOW:#}", msg!("line-folder-awaited")),
        E::CancelRefused { task, faults } => {
            format!("{YELLOW}{task}: {}{YELLOW:#}", msg!("line-not-cancelled", why = first_line(&messages(faults), 2 * WIDTH)))
        }
        E::LeadGaveUp {} => format!("{}{}", head(YELLOW, "head-lead"), msg!("line-lead-gave-up")),
        E::PatchRepaired { repairs } => {
            let notes: Vec<String> = repairs.iter().map(|repair| msg!("line-repaired", repair = print(repair))).collect();
            format!("{}{DIM}{}{DIM:#}", head(BOLD, "head-replan"), notes.join("; "))
        }
        _ => return None,
    };
    Some(line)
}

/// Describes the causes of a change of the plan. Lines above tell why tasks failed or are blocked.
pub(crate) fn why_changed(triggers: &[TriggerReason]) -> String {
    let why = |reason: &TriggerReason| {
        let tasks = reason.tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
        match reason.kind {
            TriggerKind::TaskFailed if !tasks.is_empty() => msg!("line-task-failed", tasks),
            TriggerKind::Blocked if !tasks.is_empty() => msg!("line-task-blocked", tasks),
            _ => first_line(&print(&reason.detail), WIDTH),
        }
    };
    triggers.iter().map(why).collect::<Vec<_>>().join(&msg!("row-separator"))
}

/// Describes a conflict between the changes of tasks in one line.
pub(crate) fn conflict_line(conflict: &MergeConflict) -> String {
    let MergeConflict { task, path, kind, kept, resolved } = conflict;
    let kind = word_name("conflict", kind.name());
    let (style, text) = if *resolved {
        (GREEN, msg!("line-conflict-resolved", task, path, kind))
    } else {
        (RED, msg!("line-conflict-open", task, path, kind))
    };
    let kept = kept.as_ref().map_or_else(String::new, |kept| format!("; {}", msg!("line-conflict-kept", kept)));
    format!("{}{}", head(style, "head-conflict"), plain(&format!("{text}{kept}")))
}

/// Formats the notes on a new plan: repaired faults, and the reason for a fallback.
pub(crate) fn plan_notes(repairs: &[Message], fallback: Option<&Message>) -> Vec<String> {
    let repairs = repairs.iter().map(|repair| format!("{DIM}{}{DIM:#}", msg!("line-repaired", repair = print(repair))));
    let fallback = fallback.map(|why| format!("{YELLOW}{}{YELLOW:#}", msg!("line-fallback", why = print(why))));
    repairs.chain(fallback).collect()
}

/// Returns what the last line of an output says about the end of a program, or else the output itself.
fn end_line(output: &str) -> &str {
    let last = output.lines().next_back().unwrap_or_default();
    last.strip_prefix('[').and_then(|last| last.strip_suffix(']')).unwrap_or(output)
}

/// Formats recalled items: memories of earlier runs on one line, passages of documents on another.
fn recalled_lines(items: &[RecalledItem], left_out: u64) -> String {
    let named = |item: &RecalledItem| {
        let title = first_line(&item.title, 60);
        match (item.from, item.line) {
            (RecalledFrom::Document, Some(line)) => format!("{}:{line} {title}", first_line(&item.name, 60)).trim_end().to_owned(),
            _ => format!("{title} ({})", first_line(&item.name, 40)),
        }
    };
    let of = |from: RecalledFrom| items.iter().filter(|item| item.from == from).map(named).collect::<Vec<_>>().join("; ");
    let sources = [("head-recall", of(RecalledFrom::Memory)), ("head-known", of(RecalledFrom::Document))];
    let mut lines: Vec<String> =
        sources.into_iter().filter(|(_, titles)| !titles.is_empty()).map(|(id, titles)| format!("{}{titles}", head(BOLD, id))).collect();
    if left_out > 0 {
        lines.push(format!("{DIM}{}{DIM:#}", msg!("line-left-out", number = left_out)));
    }
    lines.join("\n")
}

/// Describes the action of a hook.
fn hook_line(HookAction { hook, point, task, did, detail }: &HookAction) -> String {
    let task = task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    let color = if *did == HookOutcome::Changed { DIM } else { YELLOW };
    let what = msg!("line-hook", hook = plain(hook), did = word_name("did", did.name()), point = point);
    format!("{task}{color}{}{color:#} {what}: {}", msg!("head-hook"), first_line(detail, WIDTH))
}

fn status_line(task: &str, to: TaskStatus, attempt: u32, for_good: bool, reason: Option<&Message>) -> Option<String> {
    let why = reason.map(|reason| format!(": {}", first_line(&print(reason), WIDTH))).unwrap_or_default();
    let line = match to {
        TaskStatus::Running if attempt > 1 => format!("{}{task} {}", head(BOLD, "head-start"), msg!("attempt", number = attempt)),
        TaskStatus::Running => format!("{}{task}", head(BOLD, "head-start")),
        TaskStatus::Completed => format!("{}{task}", head(GREEN, "head-done")),
        TaskStatus::Failed if for_good => format!("{}{}{why}", head(RED, "head-failed"), msg!("line-for-good", task)),
        TaskStatus::Failed => format!("{}{task} {}{why}", head(RED, "head-failed"), msg!("attempt", number = attempt)),
        TaskStatus::Blocked => format!("{}{task}{why}", head(YELLOW, "head-blocked")),
        TaskStatus::Skipped => format!("{}{task}{why}", head(YELLOW, "head-skipped")),
        TaskStatus::RolledBack => format!("{}{task}{why}", head(YELLOW, "head-undone")),
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

/// Formats parameters: `path=a.txt content=12 lines`, `command=cargo test … +3 lines`.
pub(super) fn parameter_text(parameters: &Map<String, Value>) -> String {
    let parts: Vec<String> = parameters
        .iter()
        .map(|(name, value)| match value {
            // The whole text of a file.
            Value::String(text) if name == "content" => format!("{name}={}", count(text.lines().count(), "line")),
            Value::String(text) => {
                let more = text.trim().lines().count().saturating_sub(1);
                let more = if more > 0 { format!(" {}", msg!("line-more", lines = count(more, "line"))) } else { String::new() };
                format!("{name}={}{more}", first_line(summary_line(text), 60))
            }
            other => format!("{name}={}", first_line(&other.to_string(), 60)),
        })
        .collect();
    first_line(&parts.join(" "), WIDTH)
}

/// Describes a change of the plan in plain words.
pub(crate) fn describe_change(change: &PlanChange) -> String {
    match change {
        PlanChange::AddTask { task, replaces } if replaces.is_empty() => format!("+ {}: {}", task.id, first_line(task.title(), WIDTH)),
        PlanChange::AddTask { task, replaces } => {
            let replaced: Vec<&str> = replaces.iter().map(TaskId::as_str).collect();
            let title = first_line(task.title(), WIDTH);
            format!("+ {}", msg!("change-replaced", task = task.id, replaced = replaced.join(", "), title))
        }
        PlanChange::ModifyTask { id, .. } => format!("~ {}", msg!("change-changed", task = id)),
        PlanChange::RemoveTask { id, reason } => format!("- {id}: {}", first_line(reason, WIDTH)),
        PlanChange::MergeTasks { ids, task } => {
            let merged: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
            format!("= {}", msg!("change-merged", merged = merged.join(", "), task = task.id))
        }
        PlanChange::BlockTask { id, reason } => format!("! {}", msg!("change-held", task = id, reason = first_line(reason, WIDTH))),
        PlanChange::UnblockTask { id } => format!("> {}", msg!("change-released", task = id)),
        PlanChange::CancelTask { id, reason, .. } => {
            format!("x {}", msg!("change-cancelled", task = id, reason = first_line(reason, WIDTH)))
        }
        PlanChange::AddEdge { edge } => format!("+ {}", msg!("change-edge", from = edge.from, to = edge.to)),
        PlanChange::RemoveEdge { from, to } => format!("- {}", msg!("change-edge", from, to)),
        PlanChange::SetStrategic { .. } => format!("~ {}", msg!("change-strategy")),
        PlanChange::AmendCriterion { number, criterion, evidence, .. } => {
            let (criterion, evidence) = (first_line(&criterion.to_string(), WIDTH), first_line(evidence, WIDTH));
            format!("~ {}", msg!("change-criterion", number, criterion, evidence))
        }
    }
}
