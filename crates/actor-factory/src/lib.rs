#![doc = include_str!("../README.md")]

mod factory;
mod history;
mod machine;
mod marks;
mod notes;
mod profile;
mod prompts;
mod repeats;
mod select;
mod spec;
mod text;
mod tools;

pub use factory::{ActorContext, ActorFactory, ComposeError, Composed, Delegated};
pub use machine::{ActorEffect, ActorFact, ActorMachine, ActorStatus, ActorStep, IllegalStep, ModelAnswer, ModelFault, QuestionKind};
pub use marks::marked;
pub use profile::{Complexity, DEFAULT_PROFILE, Profile, ProfileCatalog, ProfileError, SmallModel};
pub use prompts::{PromptError, Prompts, SYSTEM_PROMPT, TASK_PROMPT};
pub use repeats::{CONCLUDE_AFTER, HOPELESS_AFTER, STUCK_AFTER};
pub use select::{Selection, leave_out_unfit, must_write, select};
pub use spec::{ActorInput, ActorSettings, ActorSpec, DEFAULT_MAX_DEPTH, DEFAULT_MAX_STEPS, DEFAULT_TEMPERATURE, Told, effect_prefix};
pub use tools::ActorTools;
