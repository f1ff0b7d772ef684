//! Terminal as the caller of `aime-runs`: prints notices, and Ctrl-C interrupts a download.

#[cfg(feature = "local-model")]
use std::sync::{Mutex, PoisonError};

use aime_runs::{Caller, Notice, Setup, models};
use futures::future::BoxFuture;

#[cfg(feature = "local-model")]
use crate::fetching;
use crate::{
    hints,
    i18n::{self, msg},
    output::{self, BOLD, DIM},
    screen::column,
};

/// Prints notices on standard error.
pub(crate) struct NoticePrinter {
    /// True if the terminal can only show lines.
    #[cfg_attr(not(feature = "local-model"), expect(dead_code, reason = "only a fetch is drawn"))]
    is_dumb: bool,
    /// Download that is shown now.
    #[cfg(feature = "local-model")]
    fetch_display: Mutex<Option<fetching::FetchDisplay>>,
}

impl NoticePrinter {
    pub(crate) fn new(is_dumb: bool) -> Self {
        Self {
            is_dumb,
            #[cfg(feature = "local-model")]
            fetch_display: Mutex::default(),
        }
    }
}

impl Caller for NoticePrinter {
    fn on_notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Message(message) => output::note(&output::plain(&i18n::print(message))),
            Notice::Advice { message, hint } => {
                output::note(&output::plain(&i18n::print(message)));
                output::note(&msg!("failure-hint", label = msg!("hint-label"), hint = hints::hint(hint)));
            }
            Notice::Model { choice, setup } => output::note(&model_line(Some(choice), setup)),
            Notice::TelemetryLost { pieces } => {
                let pieces = output::count(usize::try_from(*pieces).unwrap_or(usize::MAX), "piece");
                output::note(&msg!("telemetry-lost", pieces));
            }
            #[cfg(feature = "local-model")]
            Notice::FetchBegins { model, store, online } => {
                if *online {
                    fetching::announce(model, store);
                }
                *self.fetch_display() = Some(fetching::FetchDisplay::new(model.bytes, self.is_dumb));
            }
            #[cfg(feature = "local-model")]
            Notice::Fetch(event) => self.fetch_display().iter().for_each(|shown| shown.show(event)),
            #[cfg(feature = "local-model")]
            Notice::FetchEnds { file } => {
                self.fetch_display().take().iter().for_each(fetching::FetchDisplay::close);
                if let Some(file) = file {
                    output::note(&format!("{BOLD}{}{BOLD:#} {}", msg!("fetched-head"), file.display()));
                }
            }
            _ => {}
        }
    }

    fn interrupted(&self) -> BoxFuture<'static, ()> {
        Box::pin(crate::signals::interrupted())
    }
}

#[cfg(feature = "local-model")]
impl NoticePrinter {
    fn fetch_display(&self) -> std::sync::MutexGuard<'_, Option<fetching::FetchDisplay>> {
        self.fetch_display.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names the model in use and the reason.
pub(crate) fn model_line(choice: Option<&models::Choice>, setup: &Setup) -> String {
    let head = column(&format!("{BOLD}{}{BOLD:#}", msg!("head-model")), 8);
    match choice.and_then(|choice| Some((choice, choice.models.get("default")?))) {
        Some((choice, model)) => {
            let (name, place) = (models::model_name(model), models::place(model, &setup.environment));
            format!("{head}{name} {} {DIM}({}){DIM:#}", i18n::print(&place), i18n::print(&choice.because))
        }
        None => format!("{head}{}", msg!("model-none", because = format!("{DIM}({}){DIM:#}", msg!("model-not-needed")))),
    }
}
