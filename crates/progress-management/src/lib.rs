#![doc = include_str!("../README.md")]

mod advance;
mod apply_patch;
mod census;
mod check;
mod condition;
mod conflict;
mod consistency;
mod criterion;
mod diff;
mod event;
mod evidence;
mod fault;
mod fold;
mod frontier;
mod graph;
mod id;
mod lead;
mod lowering;
mod markdown;
mod origin;
mod patch;
mod plan;
mod priority;
#[cfg(test)]
mod properties;
mod rebase;
mod recalled;
mod reference;
mod schema;
mod settle;
mod snapshot;
mod spent;
mod state;
mod status;
mod store;
mod task;
#[cfg(test)]
mod testing;
mod time;
mod todo;

pub use advance::AfterFailure;
pub use census::Census;
pub use condition::{Condition, InvalidCondition};
pub use conflict::{ConflictKind, MergeConflict};
pub use consistency::Inconsistency;
pub use criterion::{
    Check, CommandCheck, CommandResult, Criterion, Expectation, FileCheck, FileFact, InvalidExpectation, JsonPath, Owner, Pattern,
};
pub use diff::{ChangedMember, ChangedTask, PlanDiff, RemovedTask};
pub use event::{CallOutcome, EVENT_SCHEMA, GoalImage, PlanMode, ProgressEvent, Timed};
pub use evidence::{Decision, Evidence, EvidenceKind, Significance, TriggerKind, TriggerReason};
pub use fault::{Fault, Faults, Problem};
pub use fold::{FoldError, fold};
pub use frontier::Frontier;
pub use graph::TaskGraph;
pub use id::{ActorId, EvidenceId, InvalidId, MAX_ID_BYTES, PlanId, QuestionId, RunId, TaskId};
pub use lead::LeadCommand;
pub use lowering::{Lowered, Lowering, lowering};
pub use origin::Origin;
pub use patch::{PATCH_SCHEMA, PlanChange, PlanPatch, StrategicChange, TaskChange};
pub use plan::{Edge, EdgeType, PLAN_SCHEMA, Phase, Plan, ReasoningEffort, Risk, Strategic, TaskKind, TaskSpec};
pub use rebase::{DroppedChange, RebasedPatch};
pub use recalled::{RecalledFrom, RecalledItem};
pub use reference::{Part, Reference, ReferenceError, Segment, expand, expand_text, references_in};
pub use schema::{event_schema, patch_schema, plan_schema, progress_schema};
pub(crate) use settle::DependencyState;
pub use settle::StatusChange;
pub(crate) use snapshot::PROGRESS_SCHEMA;
pub use snapshot::{Snapshot, SnapshotError, read_snapshot, write_snapshot};
pub use spent::{Spent, SpentBy};
pub use state::{AmendedCriterion, CheckMethod, CheckedCriterion, ProgressState, Question, RunStatus, TriedCriterion, Turn};
pub use status::IllegalTransition;
pub use store::{LiveStore, StoreError};
pub use task::{Conclusion, FailureCause, Outcome, ProgressReport, Task, TaskActor, TaskStatus};
pub use time::Timestamp;
pub use todo::{TodoError, TodoItem, TodoList, TodoStatus, render_todos};
