//! What a person sees while a model is fetched: a bar on a terminal, a line for each tenth elsewhere.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use aime_local_model::{FetchNews, FetchObserver};
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

use crate::{
    output,
    wiring::Setup,
    words::{msg, said},
};

/// How often the bar is drawn where nothing comes, so that it is seen to live.
const FRAME: std::time::Duration = std::time::Duration::from_millis(200);

/// A fetch as it is shown.
pub(super) struct Shown {
    bar: Option<ProgressBar>,
    /// Tenths that were told.
    tenths: AtomicU64,
    source: Mutex<String>,
}

impl Shown {
    pub(super) fn new(total: u64, setup: &Setup) -> Self {
        let watched = output::is_watched() && !output::is_quiet() && setup.environment.text("TERM") != Some("dumb");
        let bar = watched.then(|| {
            let rest = msg!("fetch-bar", total = "{decimal_total_bytes}", speed = "{decimal_bytes_per_sec}", left = "{eta}");
            let style = ProgressStyle::with_template(&format!("        {{bar:28}} {{decimal_bytes}} {rest} {{wide_msg}}"));
            let bar = ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(FRAME);
            bar
        });
        Self { bar, tenths: AtomicU64::new(0), source: Mutex::default() }
    }

    /// Takes the bar away.
    pub(super) fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(output::painted(&format!("        {}", said(text)))),
            None => output::line(&format!("        {}", said(text))),
        }
    }
}

impl FetchObserver for Shown {
    fn tell(&self, news: &FetchNews<'_>) {
        match news {
            FetchNews::Waiting { .. } => self.say("another aime fetches it: waiting for that one"),
            FetchNews::Asking { source, kept, total } => {
                self.tenths.store(kept * 10 / total.max(&1), Ordering::Relaxed);
                if let Some(bar) = &self.bar {
                    bar.set_position(*kept);
                    bar.reset_eta();
                }
                let mut before = self.source.lock().unwrap_or_else(PoisonError::into_inner);
                if before.as_str() != *source {
                    before.replace_range(.., source);
                    drop(before);
                    self.say(&format!("asking {source}"));
                }
            }
            FetchNews::Progress { done, total } => match &self.bar {
                Some(bar) => bar.set_position(*done),
                None => {
                    let tenths = done * 10 / total.max(&1);
                    if tenths > self.tenths.swap(tenths, Ordering::Relaxed) {
                        self.say(&msg!("fetch-of", done = DecimalBytes(*done), total = DecimalBytes(*total)));
                    }
                }
            },
            FetchNews::Again { reason } => self.say(&format!("{reason}; going on")),
            FetchNews::BeginsAnew { .. } => self.say("what was here from before is not right: beginning anew"),
            FetchNews::Failed { failure, next: Some(_) } => self.say(&format!("{failure}; trying the next")),
            // The error tells all of them.
            FetchNews::Failed { next: None, .. } => {}
            _ => {}
        }
    }
}
