//! Runs goals in folders, with the configuration of each folder.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use aime_runs::{Drive, RunUpdate, Runs};
//!
//! let runs = Runs::open("my/project".as_ref())?;
//! let mut run = runs.start(runs.request("Say hello"), Drive::default()).await?;
//! while let Some(update) = run.next().await {
//!     if let RunUpdate::Event(event) = update {
//!         println!("{}", event.event.name());
//!     }
//! }
//! println!("{}", run.result().await?.answer);
//! runs.end().await;
//! # Ok(())
//! # }
//! ```

pub mod config;
#[cfg(feature = "temporal")]
pub mod engine;
pub mod models;

mod caller;
mod consents;
mod environment;
mod error;
mod files;
mod hint;
mod run_service;
mod service;
mod setup;

/// Crates whose types are part of this crate's API; `orchestrator` has those of models, tools and plans.
pub use {aime_messages as messages, aime_orchestrator as orchestrator, aime_progress_management as progress};

pub use self::{
    caller::{Caller, Notice},
    consents::{Consent, Consents},
    environment::Environment,
    error::{ErrorKind, RunsError, with_causes},
    files::{is_path_of_file, write_whole},
    hint::{EngineStep, Hint, NameKind},
    run_service::{Delivery, HistoryTimes, RunListing, RunService},
    service::{
        AnswerReceipt, Cancelled, ChangeTurns, CheckerParts, Drive, Forecast, ForecastBasis, PlanCheck, Review, RunHandle, RunUpdate,
        RunWatch, Runs, UndoReport, WatchUpdate, ended_error, json_fault, list_document, matching_runs, outcome, raise_reached_bounds,
        remember, report_view, rfc3339, settings_of, state_of_version, stats_document,
    },
    setup::{FoundSkills, PromptOverrides, Servers, Setup, SetupBuilder, WatchedRun, working_folder},
};
