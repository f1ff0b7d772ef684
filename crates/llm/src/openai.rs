//! The client for model servers, over each of the protocols that they speak.

mod address;
mod answer;
mod answer_reader;
mod body;
mod chat;
mod client;
mod custom_transport;
mod dialect;
mod events;
mod fault;
mod finish;
mod form;
mod gemini;
mod gzip;
mod lenient;
mod messages;
mod provider;
mod responses;
mod served;
mod settings;
#[cfg(test)]
mod tests;
mod transport;
mod waits;
mod wire;
mod wire_cache;

pub use address::shown_address;
pub use client::check_base_url;
pub use custom_transport::{Transport, TransportResponse};
pub use provider::Provider;
pub use served::served_window;
pub use settings::{OpenAiSettings, SettingsError, Timeouts};
