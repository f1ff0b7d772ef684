//! Telemetry: runs as OpenTelemetry traces, metrics and logs, where the standard variables name who receives them.

#[cfg(not(feature = "otel"))]
use aime_orchestrator::PublishedEvent;
use aime_progress::RunId;
#[cfg(feature = "otel")]
use aime_telemetry::{Telemetry, TelemetrySettings};

use super::Setup;
use crate::config::Environment;
#[cfg(feature = "otel")]
use crate::{config::Provider, models, output};

#[cfg(feature = "otel")]
pub(crate) use aime_telemetry::Watched;

/// Nobody: this build sends nothing.
#[cfg(not(feature = "otel"))]
pub(crate) enum Watched {}

#[cfg(not(feature = "otel"))]
impl Watched {
    pub(crate) fn take(&mut self, _: &PublishedEvent) {
        match *self {}
    }
}

impl Setup {
    /// Watches a run for telemetry, where some is wanted.
    #[cfg(feature = "otel")]
    pub(crate) fn watch(&self, run: &RunId) -> Option<Watched> {
        let begin = || {
            let (settings, notes) = TelemetrySettings::read(|name| self.environment.text(name).map(str::to_owned));
            notes.iter().for_each(|note| output::note(note));
            let choice = models::choose(&self.config, &self.environment, None).ok().flatten();
            let local = choice.is_some_and(|choice| choice.models.get("default").is_some_and(|model| model.provider == Provider::Local));
            // The word for whoever is asked by OpenAI's protocol and is not known better.
            let provider = if local { "aime" } else { "openai" };
            let begun = settings.map(|settings| Telemetry::begin(settings, provider, env!("CARGO_PKG_VERSION")));
            begun.transpose().unwrap_or_else(|error| {
                output::note(&error.to_string());
                None
            })
        };
        self.telemetry.get_or_init(begin).as_ref().map(|telemetry| telemetry.watch(run))
    }

    #[cfg(not(feature = "otel"))]
    pub(crate) fn watch(&self, _: &RunId) -> Option<Watched> {
        None
    }

    /// Sends what is left of telemetry; five seconds at most.
    #[cfg(feature = "otel")]
    pub(crate) async fn end_telemetry(&self) {
        let Some(telemetry) = self.telemetry.get().and_then(Option::as_ref) else { return };
        match telemetry.end().await {
            0 => {}
            lost => {
                let pieces = output::count(usize::try_from(lost).unwrap_or(usize::MAX), "piece");
                output::note(&crate::words::msg!("telemetry-lost", pieces = pieces));
            }
        }
    }

    #[cfg(not(feature = "otel"))]
    pub(crate) async fn end_telemetry(&self) {}
}

/// What the variables of telemetry hold that nobody else must see.
#[cfg(feature = "otel")]
pub(super) fn secrets(environment: &Environment) -> Vec<String> {
    let (settings, _) = TelemetrySettings::read(|name| environment.text(name).map(str::to_owned));
    settings.map(|settings| settings.secrets()).unwrap_or_default()
}

#[cfg(not(feature = "otel"))]
pub(super) const fn secrets(_: &Environment) -> Vec<String> {
    Vec::new()
}
