//! Histories that an engine recorded of whole runs are replayed by the code as it is, without an engine: a change that does not go on with
//! them breaks the runs that are under way when workers are upgraded. `cargo xtask scenario temporal --record` records new ones; those of
//! earlier versions stay for as long as runs of theirs may be under way.

#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use aime_temporal::{ActorWorkflow, BlobCodec, Blobs, RunWorkflow, Seal};
use prost::Message as _;
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};
use temporalio_sdk::workflow_replayer::{WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

async fn replay(history: History) -> Result<(), WorkflowReplayError> {
    // The key of the scenario, which has sealed some of them.
    let seal = Seal::read(&"5eed".repeat(16)).unwrap();
    let blobs = Blobs::new(recorded().join("blobs")).sealed(Some(seal));
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<RunWorkflow>()
        .unwrap()
        .register_workflow::<ActorWorkflow>()
        .unwrap()
        .data_converter(BlobCodec::converter(blobs))
        .build();
    WorkflowReplayer::new(options).unwrap().replay_workflow(history.into()).await
}

fn histories() -> Vec<(String, History)> {
    let files = fs::read_dir(recorded()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "pb"));
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut found: Vec<_> = files.map(|path| (name(&path), History::decode(&*fs::read(&path).unwrap()).unwrap())).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

#[tokio::test]
async fn runs_that_were_begun_by_earlier_versions_go_on() {
    let histories = histories();
    let names: Vec<&str> = histories.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["actor", "answered", "delegated", "doubt", "files", "run", "told", "trees"]);
    for (name, history) in histories {
        replay(history).await.unwrap_or_else(|error| panic!("{name} cannot be gone on with: {error}"));
    }
}

#[tokio::test]
async fn another_course_of_things_is_seen() {
    for (name, mut history) in histories() {
        // As if the code had wanted another effect at first.
        let wanted = history.events.iter_mut().find_map(|event| match &mut event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => scheduled.activity_type.as_mut(),
            _ => None,
        });
        "aime.other".clone_into(&mut wanted.unwrap().name);
        let error = replay(history).await.unwrap_err();
        assert!(matches!(error, WorkflowReplayError::Replay(_)), "{name}: {error}");
    }
}
