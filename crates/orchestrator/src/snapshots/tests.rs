//! Snapshots are taken in parallel with a run, and damage before a snapshot is harmless.

use std::{path::Path, time::Duration};

use aime_durable::{Commit, EffectId, Machine, NewRun, Order, Outbox};
use futures::FutureExt;

use super::*;
use crate::{
    RunFact, RunPart, check_run,
    machine::tests::form::CutOff,
    run_status::{load_machine, run_status},
};

/// Returns a journal with this run.
async fn kept(folder: &Path, run: &CutOff) -> Journal {
    let journal = Journal::open(folder.join("aime.db")).unwrap();
    journal.create_run(NewRun { id: "run", at: 0, machine_version: 1, title: "", status: "" }).await.unwrap();
    let commit = Commit::<RunMachine> { input: Some(&run.input), facts: &run.facts, events: (&run.events).into() };
    journal.stream("run", RUN_STREAM).append(commit).await.unwrap();
    journal
}

#[test]
fn all_snapshots_of_a_run_cost_as_much_as_the_run_is_long() {
    for facts in [9_999, 10_000, 100_000, 1_000_000, 10_000_000] {
        let (mut at, mut written, mut taken) = (0, 0, 0);
        while at + facts_to_next_snapshot(at) <= facts {
            at += facts_to_next_snapshot(at);
            (written, taken) = (written + at, taken + 1);
        }
        assert!(written <= 5 * facts && taken <= 40, "{taken} snapshots with {written} facts in all, of {facts}");
        assert!(facts - at <= MIN_FACTS.max(facts / 5), "{} of {facts} facts are replayed", facts - at);
    }
}

#[tokio::test]
async fn snapshots_are_due_at_growing_distances() {
    let due = SnapshotsDue::after(80_000, 0);
    let signalled = || due.due.notified().now_or_never().is_some();
    due.count(19_999);
    assert!(!signalled());
    due.count(1);
    assert!(signalled());
    due.count(24_999);
    assert!(!signalled());
    due.count(1);
    assert!(signalled());
}

// Requirement: 7.20
#[tokio::test]
async fn what_is_damaged_before_a_snapshot_is_said_and_not_cut() {
    let folder = tempfile::tempdir().unwrap();
    let run_cut_off = CutOff::new();
    let journal = kept(folder.path(), &run_cut_off).await;
    let run: RunId = "run".parse().unwrap();
    journal.keep_snapshot(journal.take_snapshot::<RunMachine>("run", RUN_STREAM).unwrap().unwrap()).await.unwrap();
    drop(journal);
    let path = folder.path().join("aime.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let mark = br#""fact":"task_ended""#;
    let places: Vec<usize> = (0..bytes.len() - mark.len()).filter(|at| bytes[*at..].starts_with(mark)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|place| bytes[*place + 8] ^= 0x20);
    std::fs::write(&path, &bytes).unwrap();
    let journal = Journal::open(&path).unwrap();
    for repair in [false, true] {
        let checked = check_run(&journal, folder.path(), &run, repair, 7, std::ffi::OsString::new()).await.unwrap();
        let [finding] = checked.findings.as_slice() else { panic!("{checked:?}") };
        assert_eq!((finding.place, &finding.repair), (RunPart::Journal, &None));
        assert!(finding.detail.to_string().contains("the run continues from it"), "{}", finding.detail);
        let status = run_status(&journal, &run).unwrap();
        assert_eq!((&status.state, status.damage), (&run_cut_off.state, None), "nothing of it is lost");
    }
}

// Requirement: 7.20
#[tokio::test]
async fn a_snapshot_is_taken_beside_the_run_when_enough_was_learnt() {
    let folder = tempfile::tempdir().unwrap();
    let run_cut_off = CutOff::new();
    let journal = kept(folder.path(), &run_cut_off).await;
    let run: RunId = "run".parse().unwrap();
    let due = SnapshotsDue::after(0, MIN_FACTS - 2);
    due.count(1);
    let snapshots = || journal.snapshots("run", RUN_STREAM).unwrap();
    let taking = due.take_whenever_due(&journal, &run);
    tokio::pin!(taking);
    assert!(taking.as_mut().now_or_never().is_none() && snapshots().is_empty(), "not yet");
    due.count(1);
    let looking = async {
        while snapshots().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = taking => unreachable!(),
        () = looking => {}
    }
    let status = run_status(&journal, &run).unwrap();
    assert_eq!((status.replayed, status.unused.len(), status.events), (0, 0, run_cut_off.events.len()));
    assert_eq!(&status.state, &run_cut_off.state);
    assert_eq!(journal.check_snapshots::<RunMachine>("run", RUN_STREAM).unwrap(), []);
    // The first fact revokes all effects in progress, so nobody needs their purpose any more.
    let snapshot = load_machine(&journal, &run).unwrap();
    for first in [RunFact::Resumed { bounds: None }, RunFact::CancelRequested { task: None, reason: "".into(), message: None }] {
        let (mut machine, mut out) = (snapshot.state.machine().clone(), Outbox::default());
        machine.apply(1, &first, &mut out);
        let revoked = |id: &EffectId| out.orders().iter().any(|order| matches!(order, Order::Revoke(revoked, _) if revoked == id));
        assert!(run_cut_off.under_way.iter().all(revoked), "{first:?}: {:?}", out.orders());
    }
}
