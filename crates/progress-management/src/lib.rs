#![doc = include_str!("../README.md")]

mod advance;
mod apply_patch;
mod check;
mod condition;
mod consistency;
mod diff;
mod event;
mod evidence;
mod fault;
mod fold;
mod graph;
mod id;
mod lowering;
mod markdown;
mod patch;
mod plan;
mod priority;
#[cfg(test)]
mod properties;
mod recalled;
mod reference;
mod schema;
mod settle;
mod snapshot;
mod state;
mod status;
mod store;
mod task;
#[cfg(test)]
mod testing;
mod time;
mod todo;

pub use condition::{Condition, InvalidCondition};
pub use consistency::Inconsistency;
pub use diff::{ChangedMember, ChangedTask, PlanDiff, RemovedTask};
pub use event::{CallOutcome, EVENT_SCHEMA, PlanMode, ProgressEvent, Spent, Timed};
pub use evidence::{Decision, Evidence, EvidenceKind, Significance, TriggerKind, TriggerReason};
pub use fault::{Fault, Faults, PatchFaults, PlanFaults, Problem};
pub use fold::{FoldError, fold};
pub use graph::TaskGraph;
pub use id::{ActorId, EvidenceId, InvalidId, MAX_ID_BYTES, PlanId, QuestionId, RunId, TaskId};
pub use lowering::{Lowered, Lowering, lowering};
pub use patch::{PATCH_SCHEMA, PlanChange, PlanPatch, TaskChange};
pub use plan::{Edge, EdgeType, PLAN_SCHEMA, Phase, Plan, Risk, Strategic, TaskKind, TaskSpec};
pub use recalled::{RecalledFrom, RecalledItem};
pub use reference::{Part, Reference, ReferenceError, Segment, expand, expand_text, references_in, references_in_text};
pub use schema::{event_schema, patch_schema, plan_schema, progress_schema};
pub use settle::{DependencyState, StatusChange};
pub use snapshot::{PROGRESS_SCHEMA, Snapshot, SnapshotError, read_snapshot, write_snapshot};
pub use state::{ProgressState, Question, RunStatus};
pub use status::IllegalTransition;
pub use store::{LiveStore, StoreError};
pub use task::{Conclusion, FailureCause, Outcome, ProgressReport, Task, TaskStatus};
pub use time::Timestamp;
pub use todo::{MAX_TODOS, TodoError, TodoItem, TodoList, TodoStatus, render_todos};
