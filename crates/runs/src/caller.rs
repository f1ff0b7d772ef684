//! Interface to the program that opened a folder: it receives notices, and a person may interrupt a wait there.

use std::future;

#[cfg(feature = "local-model")]
use aime_local_model::{CatalogModel, FetchEvent, ModelStore};
use aime_messages::Message;
use futures::future::BoxFuture;

use crate::{Hint, Setup, models::Choice};

/// Program that opened a folder. Every method has a default, so `()` is a caller that ignores everything.
pub trait Caller: Send + Sync {
    /// Receives a notice.
    fn on_notice(&self, _notice: &Notice<'_>) {}

    /// Completes when a person interrupts a long operation, such as the download of a model.
    fn interrupted(&self) -> BoxFuture<'static, ()> {
        Box::pin(future::pending())
    }
}

impl Caller for () {}

/// Information for the caller that is not an error.
#[non_exhaustive]
pub enum Notice<'a> {
    /// A message, for example on a setting that was left out. It may quote servers and files, and so contain control characters.
    Message(&'a Message),
    /// A message about a part that cannot be used, with the next step for a person.
    Advice {
        /// The message.
        message: &'a Message,
        /// The next step.
        hint: &'a Hint,
    },
    /// A model was chosen for the runs of this folder and is about to be prepared.
    Model {
        /// The models, with the reason for the default one.
        choice: &'a Choice,
        /// The folder.
        setup: &'a Setup,
    },
    /// Telemetry could not be sent.
    TelemetryLost {
        /// Number of lost spans, metrics and log records.
        pieces: u64,
    },
    /// A model is about to be downloaded.
    #[cfg(feature = "local-model")]
    FetchBegins {
        /// The model.
        model: &'a CatalogModel,
        /// Store that will keep its file.
        store: &'a ModelStore,
        /// True if the network may be used; the download fails otherwise.
        online: bool,
    },
    /// Progress of a download.
    #[cfg(feature = "local-model")]
    Fetch(&'a FetchEvent<'a>),
    /// A download ended, successfully or not.
    #[cfg(feature = "local-model")]
    FetchEnds {
        /// File of the model, if the download succeeded.
        file: Option<&'a std::path::Path>,
    },
}
