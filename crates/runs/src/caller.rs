//! The program that opened a folder: it hears notices, and a person at it may interrupt a wait.

use std::future;

#[cfg(feature = "local-model")]
use aime_local_model::{CatalogModel, FetchNews, ModelStore};
use futures::future::BoxFuture;

use crate::{Setup, models::Choice};

/// The program that opened a folder. Every method has a default, so `()` is a caller that hears nothing.
pub trait Caller: Send + Sync {
    /// Takes a notice.
    fn hear(&self, _notice: &Notice<'_>) {}

    /// Ends when a person interrupts what takes long, such as fetching a model.
    fn interrupted(&self) -> BoxFuture<'static, ()> {
        Box::pin(future::pending())
    }
}

impl Caller for () {}

/// Something that a caller may show and that is no error.
#[non_exhaustive]
pub enum Notice<'a> {
    /// One English sentence, such as which setting was left out. Servers and files have a part in it: it may hold control characters.
    Text(&'a str),
    /// A model was chosen for runs of this folder, and is about to be made ready.
    Model {
        /// The models, and why the default one was chosen.
        choice: &'a Choice,
        /// The folder.
        setup: &'a Setup,
    },
    /// Telemetry was lost.
    TelemetryLost {
        /// Spans, measures and records.
        pieces: u64,
    },
    /// A model is about to be fetched.
    #[cfg(feature = "local-model")]
    FetchBegins {
        /// The model.
        model: &'a CatalogModel,
        /// The place where it is kept.
        store: &'a ModelStore,
        /// True if the network may be used; the fetch fails otherwise.
        online: bool,
    },
    /// How far a fetch is.
    #[cfg(feature = "local-model")]
    Fetch(&'a FetchNews<'a>),
    /// A fetch ended, with the file or without.
    #[cfg(feature = "local-model")]
    FetchEnds {
        /// The file of the model, if it is here.
        file: Option<&'a std::path::Path>,
    },
}
