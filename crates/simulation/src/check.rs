//! Invariants of every run, at every step and at its end.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use aime_durable::Journal;
use aime_orchestrator::{PublishedEvent, RunResult, RunView};
use aime_progress_management::{CallOutcome, ProgressEvent, ProgressState, RunStatus, TaskId, TaskStatus, TimedEvent, fold};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    Story,
    life::RUN,
    model::NEVER,
    tools::{LOOK, MARK, NOTE},
    world::World,
};

/// Maximum tokens of an answer and a model call beyond the reservation.
const ONE_CALL: u64 = 6_000;
/// Possible ends of a run.
const ENDS: [&str; 7] = ["completed", "failed", "cancelled", "goal_not_reached", "model_unavailable", "bound_reached", "waiting_for_human"];

/// Checks each event as it becomes durable: none is missing or duplicated, each fits the state, and no state contradicts itself.
pub(crate) async fn watch(world: Arc<World>, journal: Journal, mut events: UnboundedReceiver<PublishedEvent>) {
    let before = timed(&journal);
    let mut last = before.len() as u64;
    let mut state = fold(&before).ok();
    while let Some(PublishedEvent { seq, at, event }) = events.recv().await {
        if seq <= last {
            // The event was in the journal before the watch began.
            continue;
        }
        if seq != last + 1 {
            world.fault(format!("event {seq} comes after event {last}"));
        }
        last = seq;
        let applied = match &mut state {
            Some(state) => state.apply(at, &event).map_err(|error| error.to_string()),
            None => fold(&[TimedEvent { at, event: event.clone() }]).map(|first| state = Some(first)).map_err(|error| error.to_string()),
        };
        if let Err(error) = applied {
            world.fault(format!("event {seq}, {}, does not fit: {error}", event.name()));
        }
        consistent(&world, state.as_ref(), &format!("after event {seq}"));
    }
}

fn consistent(world: &World, state: Option<&ProgressState>, when: &str) {
    for contradiction in state.map(ProgressState::inconsistencies).unwrap_or_default() {
        world.fault(format!("{when}: {contradiction}"));
    }
}

fn timed(journal: &Journal) -> Vec<TimedEvent> {
    let records = journal.events(RUN, 1, usize::MAX).unwrap_or_default();
    let event = |record: &aime_durable::EventRecord| {
        Some(TimedEvent {
            at: aime_progress_management::Timestamp::from_millis(record.at),
            event: serde_json::from_str(&record.body).ok()?,
        })
    };
    records.iter().filter_map(event).collect()
}

/// Checks that replaying the facts gives the same events and the same state, whichever process wrote them.
pub(crate) fn journal(world: &World, journal: &Journal, seen: &RunView) {
    if let Some(damage) = &seen.damage {
        world.fault(format!("its journal is damaged: {damage}"));
    }
    let kept = timed(journal);
    let follows = seen.events.iter().map(|published| (&published.at, &published.event));
    if !kept.iter().map(|timed| (&timed.at, &timed.event)).eq(follows) {
        world.fault(format!("{} events are kept, and {} others follow from the facts", kept.len(), seen.events.len()));
    }
    match fold(&kept) {
        Ok(state) if state == seen.state => {}
        Ok(_) => world.fault("the events do not make the state that the facts make".to_owned()),
        Err(error) => world.fault(format!("the events make no state: {error}")),
    }
    for contradiction in &seen.inconsistencies {
        world.fault(format!("in the journal: {contradiction}"));
    }
}

/// Checks a process that ended by itself: the result has a code and a message, and no call is running.
pub(crate) fn left(world: &World, result: &RunResult) {
    let end = result.error.as_ref().map_or_else(|| result.status.to_string(), |error| error.code.to_string());
    if !ENDS.contains(&end.as_str()) && end != "interrupted" {
        world.fault(format!("it ended as {end}: {:?}", result.error));
    }
    if result.error.as_ref().is_some_and(|error| error.message.is_empty()) {
        world.fault(format!("it ended as {end} without a word"));
    }
    if world.is_busy() {
        world.fault(format!("{} calls outlive it", world.at_work.load(Ordering::Relaxed)));
    }
    if let Some(task) = result.tasks.iter().find(|task| task.status == TaskStatus::Running) {
        world.fault(format!("{} is left running", task.id));
    }
}

/// Checks that no bound is exceeded by more than one call, if nothing was interrupted; after an interruption read-only calls are repeated.
pub(crate) fn bounds(world: &World, seen: &RunView) {
    let bounds = &world.scenario.settings.bounds;
    if world.was_cut_off() || seen.bounds != *bounds {
        return;
    }
    let called = world.effects().values().map(|tally| u64::from(tally.begun)).sum::<u64>();
    if called > bounds.max_tool_calls {
        world.fault(format!("{called} tool calls were made of {}", bounds.max_tool_calls));
    }
    let tokens = world.tokens.load(Ordering::Relaxed);
    if let Some(most) = bounds.max_tokens.filter(|most| tokens > most + ONE_CALL) {
        world.fault(format!("{tokens} tokens were spent of {most}"));
    }
    if seen.actors > bounds.max_actors {
        world.fault(format!("{} actors were used of {}", seen.actors, bounds.max_actors));
    }
}

/// Journal entries on the calls with one key.
#[derive(Default)]
struct CallEntries {
    started: u32,
    ok: u32,
    errors: u32,
    in_doubt: u32,
}

/// Checks the end of a run: no task is lost or open, every call has one end, and no effect was repeated or lost without a report.
pub(crate) fn ended(world: &World, journal: &Journal, seen: &RunView, story: &mut Story) {
    bounds(world, seen);
    let state = &seen.state;
    if !matches!(state.status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled) {
        world.fault(format!("it is over and stands as {}", state.status));
    }
    for task in state.tasks.values() {
        let (id, status) = (&task.spec.id, task.status);
        if status.is_open() {
            world.fault(format!("{id} is left {status}"));
        }
        story.tasks.push((id.to_string(), status));
    }
    if let Some(plan) = &world.scenario.plan {
        for task in plan.tasks.iter().filter(|task| !state.tasks.contains_key(&task.id)) {
            world.fault(format!("{} is lost", task.id));
        }
    }
    if state.answer.as_deref().is_none_or(str::is_empty) {
        world.fault("it says nothing at its end".to_owned());
    }
    if let Some(question) = state.questions.iter().find(|question| question.answer.is_none()) {
        world.fault(format!("the question {} is left open", question.id));
    }
    story.events = seen.events.len();
    story.record = journal.events(RUN, 1, usize::MAX).unwrap_or_default().into_iter().map(|event| event.body).collect();
    let recorded = calls(world, seen);
    story.in_doubt = recorded.values().map(|entries| entries.in_doubt as usize).sum();
    for (key, tally) in world.effects() {
        if key.contains(NEVER) {
            world.fault(format!("a call that was cut off was made: {key}"));
        }
        let Some(entries) = recorded.get(&key) else {
            world.fault(format!("{key} was done, and nothing is told of it"));
            continue;
        };
        let shown = format!(
            "{key}: begun {}, done {}, told: started {}, ok {}, failed {}, in doubt {}",
            tally.begun, tally.done, entries.started, entries.ok, entries.errors, entries.in_doubt
        );
        let repeats = !key.starts_with(MARK);
        if tally.begun > entries.started && !repeats {
            world.fault(format!("repeated in silence: {shown}"));
        }
        if entries.ok > tally.done {
            world.fault(format!("told and not done: {shown}"));
        }
        if tally.done > entries.ok + entries.errors + entries.in_doubt && !repeats {
            world.fault(format!("done and not told: {shown}"));
        }
    }
}

/// Returns the name of a task, for messages; empty for the lead before it works itself.
fn named(task: Option<&TaskId>) -> String {
    task.map(ToString::to_string).unwrap_or_default()
}

/// Returns the calls of the three tools by key. Checks that each has exactly one end.
fn calls(world: &World, seen: &RunView) -> BTreeMap<String, CallEntries> {
    let mut entries: BTreeMap<String, CallEntries> = BTreeMap::new();
    let mut open: BTreeMap<(String, String), String> = BTreeMap::new();
    for published in &seen.events {
        match &published.event {
            ProgressEvent::ToolCallStarted { task, call, tool, parameters } if [MARK, NOTE, LOOK].contains(&tool.as_str()) => {
                let key = format!("{tool} {}", parameters.get("key").and_then(|key| key.as_str()).unwrap_or_default());
                entries.entry(key.clone()).or_default().started += 1;
                if open.insert((named(task.as_ref()), call.clone()), key).is_some() {
                    world.fault(format!("the call {call} of {} was started twice", named(task.as_ref())));
                }
            }
            ProgressEvent::ToolCallFinished { task, call, tool, outcome, .. } if [MARK, NOTE, LOOK].contains(&tool.as_str()) => {
                let Some(key) = open.remove(&(named(task.as_ref()), call.clone())) else {
                    // The call was refused before it was started.
                    continue;
                };
                let entry = entries.entry(key).or_default();
                match outcome {
                    CallOutcome::Ok => entry.ok += 1,
                    CallOutcome::Error => entry.errors += 1,
                    CallOutcome::InDoubt | CallOutcome::Cancelled => entry.in_doubt += 1,
                }
            }
            _ => {}
        }
    }
    for ((task, call), key) in open {
        world.fault(format!("the call {call} of {task} ({key}) has no end"));
    }
    entries
}
