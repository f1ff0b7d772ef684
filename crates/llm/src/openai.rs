//! The client for servers that speak OpenAI's Responses or chat completions.

mod address;
mod answer;
mod body;
mod carrier;
mod chat;
mod client;
mod dialect;
mod events;
mod fault;
mod finish;
mod form;
mod gzip;
mod lenient;
mod provider;
mod responses;
mod settings;
#[cfg(test)]
mod tests;
mod transport;
mod wire;
mod written;

pub use carrier::{CarriedAnswer, Carrier};
pub use client::{OpenAiModel, check_base_url};
pub use provider::Provider;
pub use settings::{OpenAiSettings, SettingsError, Timeouts};
