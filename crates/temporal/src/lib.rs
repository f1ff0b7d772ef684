#![doc = include_str!("../README.md")]
#![expect(unnameable_types, reason = "the SDK makes a private type of each activity and workflow method")]

mod activities;
mod actor;
mod begin;
mod blobs;
mod child;
mod client;
mod codec;
mod effect;
mod effect_queue;
mod messages;
mod queues;
mod run;
mod seal;
mod worker;
mod workflow_context;
mod workflow_driver;
mod workflow_workspace;
mod workspace_store;

pub use activities::Effects;
pub use actor::ActorWorkflow;
pub use begin::{JournalResume, MachineStart, Timestamped};
pub use blobs::{BlobError, Blobs, Bucket, BucketError, BucketKeys};
pub use client::{Access, Address, AddressError, Certificates, EngineError, ListedRun, RunsClient, connect};
pub use codec::{BlobCodec, MAX_INLINE_BYTES};
pub use effect::{EffectInput, HEARTBEAT, LOST_AFTER, effect_options, run_effect_activity, with_heartbeats};
pub use effect_queue::{Command, EffectQueue, QueueHost, Step};
pub use messages::{
    ActorAnswer, ActorCreation, ActorEffectInput, ActorEnd, ActorJournalPage, ActorWorkflowInput, CallReply, DelegateCreation,
    DelegateInput, EndRunInput, JournalPage, JudgeInput, LeadCheckInput, MakeActorInput, RunEffectInput, RunWorkflowInput, StoppedActor,
    WakeComposition, WakeInput, WatchReply, Wire, actor_workflow, lead_workflow, resumes_run, run_workflow,
};
pub use queues::{Capability, Queues};
pub use run::RunWorkflow;
pub use seal::{Seal, SealError};
/// A connection to an engine, as its own library makes it.
pub use temporalio_client::Client;
pub use worker::{WorkError, WorkerResources, work};
pub use workflow_driver::{DriveOutcome, RunningEffect, WorkflowDriver, drive_workflow};
pub use workspace_store::{
    Handover, ImportOutcome, MergeInput, MergeOutcome, Side, TaskWork, TreeError, WorkspaceSnapshot, WorkspaceStore, import_author,
};
