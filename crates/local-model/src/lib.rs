#![doc = include_str!("../README.md")]

#[cfg(feature = "engine")]
mod settings;

#[cfg(feature = "engine")]
pub use settings::LocalModelSettings;
