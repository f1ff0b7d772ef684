#![doc = include_str!("../README.md")]

mod actor_tools;
mod factory;
mod history;
mod machine;
mod marks;
mod notes;
mod profile;
mod prompts;
mod repeats;
mod run;
mod select;
mod spec;
mod text;
mod work;

/// Crates whose types are part of this crate's API.
pub use {aime_durable as durable, aime_llm as llm, aime_progress_management as progress, aime_tools as tools};

pub use factory::{ActorContext, ActorFactory, ComposeError, ComposedActor, Delegated};
pub use history::{ASK_HUMAN, waits_for_others};
pub use machine::{
    ActorEffect, ActorFact, ActorMachine, ActorOutput, ActorStatus, ActorStep, IllegalStep, LeadRest, ModelAnswer, ModelFault,
    QuestionKind, last_wake,
};
pub use marks::marked;
pub use profile::{Complexity, Profile, ProfileCatalog, ProfileError, SmallModel};
pub use prompts::{ActorPromptError, Prompts};

pub use actor_tools::ActorTools;
pub(crate) use repeats::{ABORT_AFTER_REPEATS, CONCLUDE_AFTER_REPEATS, WARN_AFTER_REPEATS};
pub use run::{RunError, run};
pub use select::Selection;
pub use spec::{ActorInput, ActorSettings, ActorSpec, LEAD_PREFIX, LeadSettings, LeadWake, PersonMessage, effect_prefix};
