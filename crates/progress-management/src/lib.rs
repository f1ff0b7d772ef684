//! Plans, tasks, events and the progress of a run: pure types and rules.

mod event;
mod evidence;
mod id;
mod patch;
mod plan;
mod state;
mod task;
mod time;
mod todo;

pub use event::{CallOutcome, EVENT_SCHEMA, PlanMode, ProgressEvent, Spent, Timed};
pub use evidence::{Decision, Evidence, EvidenceKind, Significance, TriggerKind, TriggerReason};
pub use id::{ActorId, EvidenceId, InvalidId, MAX_ID_BYTES, PlanId, QuestionId, RunId, TaskId};
pub use patch::{PATCH_SCHEMA, PlanChange, PlanPatch, TaskChange};
pub use plan::{Edge, EdgeType, PLAN_SCHEMA, Phase, Plan, Risk, Strategic, TaskKind, TaskSpec};
pub use state::{ProgressState, Question, RunStatus};
pub use task::{Conclusion, FailureCause, Outcome, ProgressReport, Task, TaskStatus};
pub use time::Timestamp;
pub use todo::{MAX_TODOS, TodoItem, TodoStatus};
