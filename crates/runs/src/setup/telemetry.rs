//! Telemetry: sends runs as OpenTelemetry traces, metrics and logs if the standard variables name a receiver.

#[cfg(feature = "otel")]
use std::sync::Arc;

#[cfg(not(feature = "otel"))]
use aime_orchestrator::PublishedEvent;
use aime_orchestrator::TraceParents;
use aime_progress_management::RunId;
#[cfg(feature = "otel")]
use aime_telemetry::{Providers, Telemetry, TelemetrySettings};

use super::Setup;
use crate::environment::Environment;
#[cfg(feature = "otel")]
use crate::{config::Provider, models};

#[cfg(feature = "otel")]
pub use aime_telemetry::WatchedRun;

/// Uninhabited: this build sends nothing.
#[cfg(not(feature = "otel"))]
pub enum WatchedRun {}

#[cfg(not(feature = "otel"))]
impl WatchedRun {
    /// Does nothing.
    pub fn observe(&mut self, _: &PublishedEvent) {
        match *self {}
    }
}

impl Setup {
    /// Watches a run for telemetry, if telemetry is configured.
    #[cfg(feature = "otel")]
    pub fn watch(&self, run: &RunId) -> Option<WatchedRun> {
        let begin = || {
            let (settings, notes) = TelemetrySettings::read(|name| self.environment.text(name).map(str::to_owned));
            notes.iter().for_each(|note| self.note(note));
            let choice = models::choose(&self.config, &self.environment, None).ok().flatten();
            let configured = choice.iter().flat_map(|choice| &choice.models);
            let by_model = configured.clone().map(|(_, model)| (models::model_name(model), name_of(model.provider)));
            let default = configured.clone().find(|(role, _)| *role == "default").map_or(Provider::Openai, |(_, model)| model.provider);
            let providers = Providers::new(name_of(default), by_model);
            let begun = settings.map(|settings| Telemetry::begin(settings, providers, env!("CARGO_PKG_VERSION")));
            begun.transpose().unwrap_or_else(|error| {
                self.note(error.to_string());
                None
            })
        };
        self.telemetry.get_or_init(begin).as_ref().map(|telemetry| telemetry.watch(run))
    }

    /// Returns the trace contexts that calls pass to servers, if traces are sent.
    #[cfg(feature = "otel")]
    pub(super) fn trace_parents(&self) -> Option<TraceParents> {
        let (settings, _) = TelemetrySettings::read(|name| self.environment.text(name).map(str::to_owned));
        settings?.traces.map(|_| Arc::new(aime_telemetry::trace_parent) as TraceParents)
    }

    /// Returns none, because this build sends nothing.
    #[cfg(not(feature = "otel"))]
    pub(super) const fn trace_parents(&self) -> Option<TraceParents> {
        None
    }

    /// Returns none, because this build sends nothing.
    #[cfg(not(feature = "otel"))]
    pub fn watch(&self, _: &RunId) -> Option<WatchedRun> {
        None
    }

    /// Sends the remaining telemetry within at most five seconds.
    #[cfg(feature = "otel")]
    pub async fn end_telemetry(&self) {
        let Some(telemetry) = self.telemetry.get().and_then(Option::as_ref) else { return };
        match telemetry.end().await {
            0 => {}
            pieces => self.caller().on_notice(&crate::Notice::TelemetryLost { pieces }),
        }
    }

    /// Does nothing.
    #[cfg(not(feature = "otel"))]
    pub async fn end_telemetry(&self) {}
}

/// Returns the name that the conventions give to a provider. They have none for OpenRouter and for models in this process.
#[cfg(feature = "otel")]
const fn name_of(provider: Provider) -> &'static str {
    match provider {
        // Also any server that speaks one of OpenAI's protocols.
        Provider::Openai => "openai",
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gcp.gemini",
        Provider::Deepseek => "deepseek",
        Provider::Openrouter => "openrouter",
        Provider::Mistral => "mistral_ai",
        Provider::Local => "aime",
    }
}

/// Returns the secrets in the telemetry variables.
#[cfg(feature = "otel")]
pub(super) fn secrets(environment: &Environment) -> Vec<String> {
    let (settings, _) = TelemetrySettings::read(|name| environment.text(name).map(str::to_owned));
    settings.map(|settings| settings.secrets()).unwrap_or_default()
}

#[cfg(not(feature = "otel"))]
pub(super) const fn secrets(_: &Environment) -> Vec<String> {
    Vec::new()
}
