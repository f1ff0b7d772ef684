//! Versions of the plan, with their changes and reasons.

use aime_messages::Message;
use aime_progress_management::{ChangedMember, DroppedChange, Edge, PlanDiff, ProgressEvent, ProgressState, Timestamp};
use serde_json::Value;

use super::{
    Change, Graph, Version,
    build::{LONG, Titles, nothing, word},
    graph::graph,
};
use crate::text::Reader;

/// Largest number of versions with a picture; below, that of tasks in one.
const PICTURES: usize = 24;
const IN_PICTURE: usize = 80;
/// Largest number of changes shown of one version.
const CHANGES: usize = 200;
/// Longest changed value, in characters.
const VALUE: usize = 300;

pub(super) fn versions(events: &[(Timestamp, &ProgressEvent)], titles: &Titles, reader: &Reader<'_>) -> Vec<Version> {
    let mut state: Option<ProgressState> = None;
    let mut before: Option<ProgressState> = None;
    let mut versions = Vec::new();
    // Repairs of the patch from which the next version is made.
    let mut repaired: Vec<String> = Vec::new();
    for (at, event) in events {
        // The events of a valid journal can be folded. After an invalid event no further versions are shown.
        let folded = match &mut state {
            None => ProgressState::start(*at, event).map(|begun| state = Some(begun)),
            Some(state) => state.apply(*at, event),
        };
        if folded.is_err() {
            break;
        }
        let Some(state) = &state else { break };
        let pictured = versions.len() < PICTURES && state.tasks.len() <= IN_PICTURE;
        let version = match event {
            ProgressEvent::PlanCreated { repairs, fallback, .. } => {
                let mut lowered: Vec<String> = repairs.iter().map(|repair| write_repair(repair, reader)).collect();
                lowered.extend(fallback.iter().map(|why| format!("a fallback: {}", reader.text(&why.to_string(), LONG).counted())));
                Version { reasoning: reader.text("The first plan.", LONG), lowered, ..empty(state.version, *at) }
            }
            ProgressEvent::PlanChanged { decision } => Version {
                reasoning: reader.text(&decision.patch.reasoning, LONG),
                triggers: decision
                    .triggers
                    .iter()
                    .map(|reason| (word(&reason.kind), reader.text(&reason.detail.to_string(), LONG)))
                    .collect(),
                evidence: used(state, decision, reader),
                lowered: {
                    let lowered = decision.lowered.iter().map(|lowered| reader.line(&lowered.to_string(), VALUE));
                    let no_longer_fits = |dropped: &DroppedChange| format!("a change was dropped: {}", dropped.faults.join("; "));
                    let dropped = decision.dropped.iter().map(|dropped| reader.line(&no_longer_fits(dropped), VALUE));
                    repaired.drain(..).chain(lowered).chain(dropped).collect()
                },
                ..empty(state.version, *at)
            },
            ProgressEvent::PlanningStarted { .. } => {
                repaired.clear();
                continue;
            }
            ProgressEvent::PatchRepaired { repairs } => {
                repaired.extend(repairs.iter().map(|repair| write_repair(repair, reader)));
                continue;
            }
            _ => continue,
        };
        let (changes, left_out) = changes(before.as_ref(), state, titles, reader);
        let is_new = |id: &aime_progress_management::TaskId| before.as_ref().is_some_and(|before| !before.tasks.contains_key(id));
        let picture: Option<Graph> = pictured.then(|| graph(state, titles, |_| String::new(), is_new));
        versions.push(Version { changes, left_out, graph: picture, ..version });
        before = Some(state.clone());
    }
    versions
}

fn write_repair(repair: &Message, reader: &Reader<'_>) -> String {
    format!("repaired: {}", reader.text(&repair.to_string(), LONG).counted())
}

fn empty(number: u32, at: Timestamp) -> Version {
    Version {
        number,
        at,
        reasoning: nothing(),
        triggers: Vec::new(),
        evidence: Vec::new(),
        lowered: Vec::new(),
        changes: Vec::new(),
        left_out: 0,
        graph: None,
    }
}

fn used(state: &ProgressState, decision: &aime_progress_management::Decision, reader: &Reader<'_>) -> Vec<crate::text::Text> {
    let used = state.evidence.iter().filter(|evidence| decision.evidence.contains(&evidence.id));
    used.map(|evidence| reader.text(&evidence.content, LONG)).collect()
}

/// Returns the differences from the previous version. In the first version every task is new.
fn changes(before: Option<&ProgressState>, state: &ProgressState, titles: &Titles, reader: &Reader<'_>) -> (Vec<Change>, usize) {
    let none = ProgressState::new(state.plan_id.clone(), String::new(), state.started_at);
    let diff = PlanDiff::between(before.unwrap_or(&none), state);
    let change = |sign, what: String, detail: &str| Change { sign, what, detail: reader.text(detail, LONG) };
    let mut changes = Vec::new();
    for id in &diff.added {
        let description = state.tasks.get(id).map(|task| task.spec.description.as_str()).unwrap_or_default();
        let title = titles.title(id);
        changes.push(change('+', title.clone(), if description == title { "" } else { description }));
    }
    changes.extend(
        diff.removed.iter().map(|removed| change('-', titles.title(&removed.id), &removed.reason.clone().unwrap_or_default().to_string())),
    );
    for changed in &diff.changed {
        let members: Vec<String> = changed.members.iter().map(|changed| member(changed, reader)).collect();
        changes.push(change('~', titles.title(&changed.id), &members.join("\n")));
    }
    let edge = |edge: &Edge| {
        let condition = edge.condition.as_deref().map(|condition| format!(" if {condition}")).unwrap_or_default();
        format!("{} → {}{condition}", titles.title(&edge.from), titles.title(&edge.to))
    };
    if before.is_some() {
        changes.extend(diff.edges_added.iter().map(|added| change('+', edge(added), word(&added.kind).as_str())));
        changes.extend(diff.edges_removed.iter().map(|removed| change('-', edge(removed), word(&removed.kind).as_str())));
        changes.extend(diff.strategic.iter().map(|changed| change('~', "the strategic part".to_owned(), &member(changed, reader))));
    }
    let left_out = changes.len().saturating_sub(CHANGES);
    changes.truncate(CHANGES);
    (changes, left_out)
}

fn member(changed: &ChangedMember, reader: &Reader<'_>) -> String {
    let shown = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => reader.whole(text),
        other => reader.whole(&other.to_string()),
    };
    let cut = |text: String| if text.chars().count() > VALUE { text.chars().take(VALUE).chain(['…']).collect() } else { text };
    format!("{}: {} → {}", changed.member.replace('_', " "), cut(shown(&changed.before)), cut(shown(&changed.after)))
}
