//! The form of the machine, of which snapshots are kept in journals.

use std::time::Duration;

use aime_durable::{Commit, EffectId, Journal, Machine, NewRun, Order, Outbox, RUN_STREAM, Recorded};
use aime_progress::RunId;
use futures::FutureExt;
use serde_json::Value;

use super::{
    super::RunMachine,
    world::{World, json},
};
use crate::{
    RunFact,
    snapshots::{SNAPSHOT_FACTS, SnapshotsDue},
    standing::{stand, standing},
};

/// Every member of the machine's own. With a change here [`RunMachine::SNAPSHOT`] is raised: a machine with a new member that was left out of a
/// snapshot would not be the one that all facts make.
const FORM: (u32, &str) = (
    1,
    "announced approvals before bounds bounds_reached calls cancelling counter decision ended_by_person executions give_up growth handled input \
     known known_origins last_replan_at leaving memory_faults never_released now open phase plan_origins replans reported said segment_at state \
     to_cancel unmet verified worked_ms",
);

#[test]
fn the_form_of_snapshots_is_raised_with_each_change_of_the_machine() {
    let Value::Object(members) = json(&World::of("a").machine) else { panic!() };
    let mut names: Vec<&str> = members.keys().map(String::as_str).filter(|name| *name != "fault").collect();
    names.sort_unstable();
    assert_eq!((RunMachine::SNAPSHOT, names.join(" ").as_str()), (Some(FORM.0), FORM.1));
}

#[tokio::test]
async fn a_snapshot_is_taken_beside_the_run_when_enough_was_learnt() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path().join("aime.db")).unwrap();
    let run: RunId = "run".parse().unwrap();
    journal.create_run(NewRun { id: "run", at: 0, machine_version: 1, title: "", status: "" }).await.unwrap();
    let mut world = World::of("a; b: a; c");
    world.done("a").crashed();
    let input = Recorded { at: 0, fact: world.input.clone() };
    let facts: Vec<_> = world.facts.iter().map(|(at, fact)| Recorded { at: *at, fact: fact.clone() }).collect();
    let events: Vec<_> = world.events.iter().map(|(at, event)| Recorded { at: *at, fact: event.clone() }).collect();
    let commit = Commit::<RunMachine> { input: Some(&input), facts: &facts, events: &events };
    journal.stream("run", RUN_STREAM).append(commit).await.unwrap();
    let due = SnapshotsDue::after(SNAPSHOT_FACTS - 2);
    due.count(1);
    let kept = || journal.snapshots("run", RUN_STREAM).unwrap();
    let taking = due.take_whenever_due(&journal, &run);
    tokio::pin!(taking);
    assert!(taking.as_mut().now_or_never().is_none() && kept().is_empty(), "not yet");
    due.count(1);
    let looking = async {
        while kept().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = taking => unreachable!(),
        () = looking => {}
    }
    let stands = standing(&journal, &run).unwrap();
    assert_eq!((stands.replayed, stands.unused.len(), stands.events), (0, 0, events.len()));
    assert_eq!(&stands.state, world.state());
    assert_eq!(journal.check_snapshots::<RunMachine>("run", RUN_STREAM).unwrap(), []);
    // What was under way is revoked by whatever comes first: nobody needs to know any more what it was.
    let stood = stand(&journal, &run).unwrap();
    assert_eq!(world.open(), "b c");
    for first in [RunFact::Resumed { bounds: None }, RunFact::CancelRequested { task: None, reason: String::new() }] {
        let (mut machine, mut out) = (stood.standing.machine().clone(), Outbox::default());
        machine.apply(1, &first, &mut out);
        let revoked = |id: &EffectId| out.orders().iter().any(|order| matches!(order, Order::Revoke(revoked, _) if revoked == id));
        assert!(world.under_way.keys().all(revoked), "{first:?}: {:?}", out.orders());
    }
}
