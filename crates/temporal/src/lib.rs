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
mod orders;
mod queues;
mod run;
mod seal;
mod tree;
mod trees;
mod worker;
mod workflow_context;
mod workflow_driver;

pub use activities::Effects;
pub use actor::ActorWorkflow;
pub use begin::{MachineStart, PartialJournal, Timestamped};
pub use blobs::{BlobError, Blobs, Bucket, BucketError, BucketKeys};
pub use client::{Access, Address, AddressError, Certificates, EngineError, ListedRun, Runs, connect};
pub use codec::{BlobCodec, INLINE};
pub use effect::{EffectOrder, HEARTBEAT, LOST_AFTER, alive, options, perform};
pub use effect_queue::{Command, EffectQueue, Step, TemporalHost};
pub use orders::{
    ActOrder, ActorAnswer, ActorBegin, ActorCreation, ActorEnd, ActorJournaled, CallReply, DelegateCreation, DelegateOrder, EndOrder,
    Journaled, JudgeOrder, MakeOrder, RestOrder, RunBegin, RunOrder, StoppedActor, WakeComposition, WakeOrder, WatchReply, Wire,
    actor_workflow, lead_workflow, moves_on, run_workflow,
};
pub use queues::{Capability, Queues};
pub use run::RunWorkflow;
pub use seal::{Seal, SealError};
/// A connection to an engine, as its own library makes it.
pub use temporalio_client::Client;
pub use trees::{Handover, ImportOutcome, MergeOrder, MergeOutcome, Side, TaskWork, Tree, TreeError, Trees, importer};
pub use worker::{WorkError, WorkerResources, work};
pub use workflow_driver::{DriveOutcome, RunningEffect, WorkflowDriver, drive_workflow};
