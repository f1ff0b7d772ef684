//! The run machine: plan, schedule, watch, replan, answer.

mod budget;
mod criteria;
mod fact;
mod human;
mod machine;
mod models;
mod orchestrator;
mod parts;
mod publish;
mod questions;
mod result;
mod runner;
mod settings;

pub use budget::{Budget, BudgetError, Reservation};
pub use criteria::{FileCriterion, read_criterion};
pub use fact::{ChosenRoute, CriterionResult, ModelUse, Planning, RefusedAnswer, Replanning, RunEffect, RunFact};
pub use human::{HumanChannel, HumanQuestion, NobodyThere};
pub use machine::{FailureCode, RunFailure, RunMachine, RunOutput};
pub use models::Models;
pub use orchestrator::{InboxMessage, Orchestrator, OrchestratorError, RunControl, RunRequest, RunView, view};
pub use parts::Parts;
pub use publish::PublishedEvent;
pub use result::{RESULT_SCHEMA, ResultError, RunResult, TaskResult};
pub use runner::answer::{AnswerPrompt, NoFacts};
pub use settings::{Bounds, RunInput, RunSettings};
