//! Events as lines, without the calls of tasks, which the tasks show.

use aime_messages::{Message, message};
use aime_progress_management::{FileChangeKind, ProgressEvent, Timestamp, TriggerReason};

use super::{
    Moment,
    build::{LONG, Titles, first_and_last, word},
    spending::for_the_run,
};
use crate::{text::Reader, time::count};

/// Largest number of moments.
const MAX_MOMENTS: usize = 2_000;

pub(super) fn story(events: &[(Timestamp, &ProgressEvent)], titles: &Titles, reader: &Reader<'_>) -> (Vec<Moment>, usize) {
    let moments = events.iter().zip(1_u64..).filter_map(|((at, event), seq)| Some((seq, *at, *event, words(event, titles)?)));
    let (moments, left_out) = first_and_last(moments.collect::<Vec<_>>(), MAX_MOMENTS);
    let moment = |(seq, at, event, words): (u64, Timestamp, &ProgressEvent, String)| Moment {
        seq,
        at,
        kind: event.name().replace('_', " "),
        text: reader.text(&words, LONG),
    };
    (moments.into_iter().map(moment).collect(), left_out)
}

fn words(event: &ProgressEvent, titles: &Titles) -> Option<String> {
    let because = |reason: &Option<Message>| reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let triggers = |reasons: &[TriggerReason]| {
        reasons.iter().map(|reason| format!("{} ({})", reason.detail, word(&reason.kind))).collect::<Vec<_>>().join("; ")
    };
    Some(match event {
        ProgressEvent::RunStarted { .. } => "the run began".to_owned(),
        ProgressEvent::Recalled { items, left_out, .. } => {
            let names: Vec<&str> = items.iter().map(|item| item.title.as_str()).collect();
            format!("{} of memory and documents, {left_out} more without room: {}", count(items.len(), "piece"), names.join("; "))
        }
        ProgressEvent::MemoryFailed { message } => message.to_string(),
        ProgressEvent::Routed { mode, by, category, reasons, .. } => {
            format!("{mode}, {category}, by {by}: {}", Message::list("; ", reasons))
        }
        ProgressEvent::PlanningStarted { purpose } => for_the_run(purpose),
        ProgressEvent::PlanRefused { attempt, faults } => format!("try {attempt} was refused: {}", Message::list("; ", faults)),
        ProgressEvent::PlanReused { run } => {
            format!("a plan of before is used again{}", run.as_deref().map(|run| format!(", of run {run}")).unwrap_or_default())
        }
        ProgressEvent::PlanCreated { plan, fallback, .. } => {
            format!("v1 with {}{}", count(plan.tasks.len(), "task"), because(fallback))
        }
        ProgressEvent::PlanChanged { decision } => format!("v{}: {}", decision.version, decision.patch.reasoning),
        ProgressEvent::TaskStatusChanged { task, to, reason, .. } => format!("{}: {to}{}", titles.title(task), because(reason)),
        ProgressEvent::EvidenceAdded { evidence } => format!("{}: {}", word(&evidence.significance), evidence.content),
        ProgressEvent::TriggersFired { reasons } => triggers(reasons),
        ProgressEvent::ReplanSuppressed { reason, triggers: by } => format!("{reason}; asked for by {}", triggers(by)),
        ProgressEvent::EvidenceProcessed { reason, .. } | ProgressEvent::RunInterrupted { reason } => reason.to_string(),
        ProgressEvent::TaskClaimed { task, by, .. } => {
            format!("{} was taken over by the worker of {}", titles.title(task), titles.title(by))
        }
        ProgressEvent::MessageDelivered { task, .. } => {
            let who = task.as_ref().map_or_else(|| "the lead".to_owned(), |task| titles.title(task).to_string());
            format!("{who} heard what a person said")
        }
        ProgressEvent::QuestionAsked { kind, question, .. } => format!("{kind}: {question}"),
        ProgressEvent::QuestionAnswered { answer, .. } => answer.clone(),
        ProgressEvent::ConsentGiven { rules, .. } => rules.join("; "),
        ProgressEvent::CriterionChecked { criterion, passed, reason, .. } => {
            let held = match passed {
                Some(true) => "holds",
                Some(false) => "does not hold",
                None => "could not be told",
            };
            format!("{criterion}: {held}; {reason}")
        }
        ProgressEvent::MergeConflicted { task, conflicts } => {
            let texts = conflicts.iter().map(|conflict| {
                let state = if conflict.resolved { "resolved" } else { "not resolved: it is as the others left it" };
                let kept = conflict.kept.as_ref().map(|kept| format!("; the version of the task is kept in {kept}")).unwrap_or_default();
                format!("{} ({}): {state}{kept}", conflict.path, word(&conflict.kind))
            });
            format!("{} and others changed the same files: {}", titles.title(task), texts.collect::<Vec<_>>().join("; "))
        }
        ProgressEvent::CriterionTried { criterion, held: true, .. } => {
            format!("{criterion}: held already before the work, so it proves nothing about the work")
        }
        ProgressEvent::BoundReached { bound, detail } => format!("{bound}: {detail}"),
        ProgressEvent::RunStatusChanged { from, to, reason } => format!("{from} → {to}{}", because(reason)),
        ProgressEvent::RunResumed {} => "the run goes on".to_owned(),
        ProgressEvent::RunContinued { goal } => goal.clone(),
        ProgressEvent::Answered { .. } => "the answer stands".to_owned(),
        ProgressEvent::FileChanged(change) if change.did == FileChangeKind::NotWatched => {
            format!("{} could not be watched as a whole: changes of files that run later may be missed there", change.path)
        }
        // The section on files shows the changes of tools.
        ProgressEvent::FileChanged(_) | ProgressEvent::ChangesMerged { .. } => return None,
        ProgressEvent::PatchRepaired { repairs } => format!("repaired: {}", Message::list("; ", repairs)),
        ProgressEvent::LeadGaveUp {} => "the lead makes no plan that can be used: rules plan from here on".to_owned(),
        ProgressEvent::CancelRefused { task, faults } => {
            format!("{} is not cancelled: {}", titles.title(task), Message::list("; ", faults))
        }
        ProgressEvent::FolderAwaited { task } => {
            format!("{} waits until no other task writes in the working folder", titles.title(task))
        }
        ProgressEvent::HookActed(act) => {
            let task = act.task.as_ref().map(|task| format!("{}: ", titles.title(task))).unwrap_or_default();
            format!("{task}the hook {} {} at {}: {}", act.hook, act.did.name(), act.point, act.detail)
        }
        ProgressEvent::UndoLost { reason } => message!("undo-stopped", reason).to_string(),
        _ => return None,
    })
}
