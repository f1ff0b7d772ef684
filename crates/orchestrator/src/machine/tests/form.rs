//! The form of the machine, of which snapshots are kept in journals.

use aime_durable::{EffectId, Machine, Recorded};
use aime_progress::{ProgressEvent, ProgressState};
use serde_json::Value;

use super::{
    super::RunMachine,
    world::{World, json},
};
use crate::{RunFact, RunInput};

/// Every member of the machine's own. With a change here [`RunMachine::SNAPSHOT`] is raised: a machine with a new member that was left out of a
/// snapshot would not be the one that all facts make.
const FORM: (u32, &str) = (
    3,
    "announced approvals before bounds bounds_reached calls cancelling counter decision early ended_by_person executions give_up growth handled input \
     known known_origins last_replan_at leaving left_open memory_faults never_released now open phase plan_origins replans reported said segment_at state \
     to_cancel unmet verified worked_ms",
);

#[test]
fn the_form_of_snapshots_is_raised_with_each_change_of_the_machine() {
    let Value::Object(members) = json(&World::of("a").machine) else { panic!() };
    let mut names: Vec<&str> = members.keys().map(String::as_str).filter(|name| *name != "fault").collect();
    names.sort_unstable();
    assert_eq!((RunMachine::SNAPSHOT, names.join(" ").as_str()), (Some(FORM.0), FORM.1));
}

/// A run that was cut off while two tasks were under way.
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
