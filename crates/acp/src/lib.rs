//! aime as an agent of the [Agent Client Protocol](https://agentclientprotocol.com), version 1: editors start it and speak to it over its standard input and output.
//!
//! A session works in one folder; each prompt is a run there, or goes on with the one before it. [`serve`] speaks the protocol. It carries nothing out itself:
//! whoever starts it gives a [`Workshop`], which opens folders and carries runs out in them. What an editor is shown is made from the run's events alone
//! ([`Updates`]), so a session that is loaded again shows what it showed.
//!
//! ```
//! use aime_acp::{Chosen, Next, next};
//!
//! // The first prompt of a session starts a run.
//! assert_eq!(next(None), Next::Start);
//! assert_eq!(Chosen::default().mode, None);
//! ```

mod agent;
mod choices;
mod folder;
mod person;
mod prompt;
mod session;
mod sessions;
mod turn;
mod updates;

pub use agent::{AcpError, serve};
pub use choices::Chosen;
pub use folder::{Earlier, Folder, KnownRun, OfferedServer, Reach, Refusal, Turn, Work, Workshop};
pub use turn::{Next, next};
pub use updates::{Shown, Updates};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
