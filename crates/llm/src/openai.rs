//! The client for servers that speak OpenAI's chat completions.

mod answer;
mod carrier;
mod client;
mod dialect;
mod events;
mod fault;
mod finish;
mod provider;
mod request;
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
