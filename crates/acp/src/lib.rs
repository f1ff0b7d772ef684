//! aime as an agent of the [Agent Client Protocol](https://agentclientprotocol.com), version 1: editors start it and
//! communicate over its standard input and output.
//!
//! A session works in one folder; each prompt starts a run there, or continues the previous one. [`serve`] speaks the
//! protocol over a [`FolderService`], which opens folders and carries out runs in them: [`Folders`] does so by `aime-runs`,
//! as the folders are configured. The updates for an editor are made from the run's events alone ([`Updates`]), so a session that is
//! loaded again looks the same.
//!
//! ```
//! use aime_acp::{SessionChoices, Next, next};
//!
//! // The first prompt of a session starts a run.
//! assert_eq!(next(None, SessionChoices::default()), Next::Start);
//! ```

mod agent;
mod choices;
mod folder;
mod folders;
mod person;
mod prompt;
mod session;
mod sessions;
mod turn;
mod updates;

pub use agent::{AcpError, Introduction, serve};
pub use choices::SessionChoices;
pub use folder::{EarlierRun, Folder, FolderService, KnownRun, OfferedServer, Reach, Refusal, Turn, Work};
pub use folders::Folders;
pub use turn::{Next, next};
pub use updates::{UpdateSink, Updates};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
