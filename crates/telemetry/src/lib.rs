//! Runs as OpenTelemetry traces, metrics and logs: a view of their events.
//!
//! [`Spans`] turns the events of one run into spans, [`Measures`] what its models cost into histograms; both are pure. [`Telemetry`] sends them, and a record of each moment that
//! people look for, by OTLP over HTTP, as [`TelemetrySettings`] say, which are read from the standard variables.
//!
//! ```
//! use aime_telemetry::TelemetrySettings;
//!
//! let variable = |name: &str| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| "http://127.0.0.1:4318".to_owned());
//! let (settings, notes) = TelemetrySettings::read(variable);
//! assert_eq!(settings.and_then(|settings| settings.traces).map(|signal| signal.url).as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
//! assert!(notes.is_empty());
//! // Nothing is set: nothing is made and nothing is sent.
//! assert_eq!(TelemetrySettings::read(|_| None), (None, vec![]));
//! ```

mod attributes;
mod exporter;
mod ids;
mod logs;
mod measures;
mod providers;
mod settings;
mod spans;

pub use exporter::{Telemetry, TelemetryError, WatchedRun};
pub use ids::trace_parent;
pub use measures::Measures;
pub use providers::Providers;
pub use settings::{Signal, TelemetrySettings};
pub use spans::Spans;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
