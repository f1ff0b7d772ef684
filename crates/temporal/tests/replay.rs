//! Replays recorded histories of whole runs with the current code, without an engine. A change that cannot continue
//! them breaks the runs that are in progress when workers are upgraded. `cargo xtask scenario temporal --record NAME`
//! records new ones in a folder of their own; histories of earlier versions stay as long as runs of these versions
//! may be in progress.

#![cfg(test)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use aime_temporal::{ActorWorkflow, BlobCodec, Blobs, RunWorkflow, Seal};
use prost::Message as _;
use tempfile::TempDir;
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};
use temporalio_sdk::workflow_replayer::{WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// Copies the recorded blobs: a replay writes others beside them.
fn copied_blobs() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for folder in fs::read_dir(recorded().join("blobs")).unwrap().map(|entry| entry.unwrap().path()) {
        let to = copy.path().join(folder.file_name().unwrap());
        fs::create_dir(&to).unwrap();
        for blob in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            fs::copy(&blob, to.join(blob.file_name().unwrap())).unwrap();
        }
    }
    copy
}

async fn replay(history: History) -> Result<(), WorkflowReplayError> {
    // The key of the scenario, which has sealed some of them.
    let seal = Seal::read(&"5eed".repeat(16)).unwrap();
    let folder = copied_blobs();
    let blobs = Blobs::in_folder(folder.path()).sealed(Some(seal));
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<RunWorkflow>()
        .unwrap()
        .register_workflow::<ActorWorkflow>()
        .unwrap()
        .data_converter(BlobCodec::converter(blobs))
        .build();
    WorkflowReplayer::new(options).unwrap().replay_workflow(history.into()).await
}

/// Returns all recorded histories, each with the names of its folder and of itself.
fn histories() -> Vec<(String, History)> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let files = entries(recorded()).filter(|folder| folder.is_dir() && !folder.ends_with("blobs")).flat_map(entries);
    let name = |path: &Path| path.strip_prefix(recorded()).unwrap().with_extension("").to_string_lossy().replace('\\', "/");
    let mut found: Vec<_> = files.map(|path| (name(&path), History::decode(&*fs::read(&path).unwrap()).unwrap())).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Returns the kinds of events in a history, by the engine's names.
fn kinds(history: &History) -> BTreeSet<&'static str> {
    history.events.iter().map(|event| event.event_type().as_str_name()).collect()
}

// Requirement: 18.9
#[tokio::test]
async fn runs_that_were_begun_by_earlier_versions_go_on() {
    for (name, history) in histories() {
        replay(history).await.unwrap_or_else(|error| panic!("{name} cannot be gone on with: {error}"));
    }
}

/// Returns a part of the result of a recorded run.
fn result_of(run: &str, part: &str) -> serde_json::Value {
    let (_, history) = histories().into_iter().find(|(name, _)| name.rsplit('/').next() == Some(run)).unwrap();
    let result = history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(ended)) => ended.result.clone(),
        _ => None,
    });
    let result: serde_json::Value = serde_json::from_slice(&result.unwrap().payloads[0].data).unwrap();
    result[part].clone()
}

/// The result of a run on an engine tells its conflicts as that of a run in a folder does.
// Requirement: 9.2
#[test]
fn a_result_tells_the_conflicts_of_hosts() {
    let kept = ".aime/runs/conflict/private/second-1-1/own/page";
    let of_call = serde_json::json!([{"task": "second", "path": "page", "kind": "text", "kept": kept, "resolved": false}]);
    let of_actor = serde_json::json!([{"task": "b", "path": "text", "kind": "text", "resolved": true}]);
    assert_eq!((result_of("conflict", "conflicts"), result_of("resolved", "conflicts")), (of_call, of_actor));
}

#[test]
fn of_each_course_that_a_run_may_take_there_is_a_history() {
    let histories = histories();
    let begun_anew = |history: &History| {
        let first = history.events.first().and_then(|event| event.attributes.as_ref());
        matches!(first, Some(Attributes::WorkflowExecutionStartedEventAttributes(of)) if !of.continued_execution_run_id.is_empty())
    };
    for (name, kind) in [
        ("run", "EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED"),
        ("actor", "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"),
        ("doubt", "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"),
        ("lost", "EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT"),
        ("cancelled", "EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED"),
        ("stopped", "EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED"),
        ("asked", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED"),
        ("answered", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED"),
        ("early", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED"),
        ("delegated", "EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED"),
        ("files", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED"),
        ("trees", "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"),
        ("conflict", "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"),
        ("resolved", "EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED"),
        ("continued", "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW"),
        ("continued-actor", "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW"),
        ("continues", "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"),
        ("busy", "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW"),
        ("forked", "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"),
        ("taken-up", "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"),
    ] {
        let found: Vec<_> = histories.iter().filter(|(of, _)| of.rsplit('/').next() == Some(name)).collect();
        assert!(!found.is_empty(), "there is no history {name}");
        for (of, history) in found {
            assert!(kinds(history).contains(kind), "{of} has no {kind}: {:?}", kinds(history));
            assert_eq!(begun_anew(history), name == "continues", "{of}");
        }
    }
}

#[tokio::test]
async fn another_course_of_things_is_seen() {
    for (name, mut history) in histories() {
        // Simulates code that requests another first effect.
        let wanted = history.events.iter_mut().find_map(|event| match &mut event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => scheduled.activity_type.as_mut(),
            _ => None,
        });
        "aime.other".clone_into(&mut wanted.unwrap().name);
        let error = replay(history).await.unwrap_err();
        assert!(matches!(error, WorkflowReplayError::Replay(_)), "{name}: {error}");
    }
}
