//! The serialized form of the machine, as journals keep it in snapshots.

use aime_durable::{EffectId, Machine, Recorded};
use aime_progress_management::{ProgressEvent, ProgressState};
use serde_json::Value;

use super::{
    super::RunMachine,
    world::{World, json},
};
use crate::{RunFact, RunInput};

/// The members of the machine and of its parts. Raise [`RunMachine::SNAPSHOT`] with every change here: an old snapshot
/// lacks a new member, so the machine read from it would differ from a replay of all facts.
const FORM: (u32, &str) = (
    14,
    "budgets.bounds budgets.last_fact_at budgets.reached budgets.segment_at budgets.worked_ms cancellations.requested cancellations.stopping \
     criteria.has_unchecked criteria.looked_at criteria.unmet effects.numbered effects.open executions.awaiting_folder executions.called executions.checking executions.claims executions.current executions.rejections executions.reports executions.returned input lead memory.faults memory.origins \
     memory.text now people.amendments people.approvals people.follow_ups people.messages people.resumed phase plan_origins replans.announced replans.count replans.decision replans.growth \
     replans.handled replans.last_at replans.left_open state.calls state.state stopping.ended_by_lead stopping.ended_by_person stopping.given_up stopping.leaving \
     stopping.never_released",
);

/// The parts whose members are listed too.
const PARTS: [&str; 10] =
    ["budgets", "cancellations", "criteria", "effects", "executions", "memory", "people", "replans", "state", "stopping"];

// Requirement: 7.20
#[test]
fn the_form_of_snapshots_is_raised_with_each_change_of_the_machine() {
    let Value::Object(members) = json(&World::of("a").machine) else { panic!() };
    let mut names: Vec<String> = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| *name != "fault") {
        match value {
            Value::Object(part) if PARTS.contains(&name.as_str()) => names.extend(part.keys().map(|member| format!("{name}.{member}"))),
            _ => names.push(name.clone()),
        }
    }
    names.sort_unstable();
    assert_eq!((RunMachine::SNAPSHOT, names.join(" ").as_str()), (Some(FORM.0), FORM.1));
}

/// A run that was interrupted while two tasks were in progress.
pub(crate) struct CutOff {
    pub(crate) input: Recorded<RunInput>,
    pub(crate) facts: Vec<Recorded<RunFact>>,
    pub(crate) events: Vec<Recorded<ProgressEvent>>,
    pub(crate) state: ProgressState,
    pub(crate) under_way: Vec<EffectId>,
}

impl CutOff {
    pub(crate) fn new() -> Self {
        let mut world = World::of("a; b: a; c");
        world.done("a").crashed();
        assert_eq!(world.open(), "b c");
        Self {
            input: Recorded { at: 0, fact: world.input.clone() },
            facts: world.facts.iter().map(|(at, fact)| Recorded { at: *at, fact: fact.clone() }).collect(),
            events: world.events.iter().map(|(at, event)| Recorded { at: *at, fact: event.clone() }).collect(),
            state: world.state().clone(),
            under_way: world.under_way.keys().cloned().collect(),
        }
    }
}
