//! Display of a model download: a bar on a terminal, otherwise a line for each tenth.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use aime_local_model::{CatalogModel, FetchEvent, ModelStore, Presence};
use aime_messages::Describe;
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

use crate::{
    i18n::{msg, print},
    output::{self, BOLD},
    screen::column,
};

/// Interval at which the bar is redrawn without progress, so that it does not look frozen.
const FRAME: std::time::Duration = std::time::Duration::from_millis(200);

/// Displayed download.
pub(super) struct FetchDisplay {
    bar: Option<ProgressBar>,
    /// Number of tenths that were reported.
    tenths: AtomicU64,
    source: Mutex<String>,
}

impl FetchDisplay {
    pub(super) fn new(total: u64, is_dumb: bool) -> Self {
        let watched = output::is_watched() && !output::is_quiet() && !is_dumb;
        let bar = watched.then(|| {
            let rest = msg!("fetch-bar", total = "{decimal_total_bytes}", speed = "{decimal_bytes_per_sec}", left = "{eta}");
            let style = ProgressStyle::with_template(&format!("        {{bar:28}} {{decimal_bytes}} {rest} {{wide_msg}}"));
            let bar = ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(FRAME);
            bar
        });
        Self { bar, tenths: AtomicU64::new(0), source: Mutex::default() }
    }

    /// Removes the bar.
    pub(super) fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn print(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(output::painted(&format!("        {text}"))),
            None => output::note(&format!("        {text}")),
        }
    }
}

impl FetchDisplay {
    /// Shows the progress of the download.
    pub(super) fn show(&self, event: &FetchEvent<'_>) {
        match event {
            FetchEvent::Waiting { .. } => self.print(&msg!("fetch-waits")),
            FetchEvent::Asking { source, kept, total } => {
                self.tenths.store(kept * 10 / total.max(&1), Ordering::Relaxed);
                if let Some(bar) = &self.bar {
                    bar.set_position(*kept);
                    bar.reset_eta();
                }
                let shown = source.to_string();
                let mut before = self.source.lock().unwrap_or_else(PoisonError::into_inner);
                if *before != shown {
                    before.replace_range(.., &shown);
                    drop(before);
                    self.print(&msg!("fetch-asking", reason = **source));
                }
            }
            FetchEvent::Progress { done, total } => match &self.bar {
                Some(bar) => bar.set_position(*done),
                None => {
                    let tenths = done * 10 / total.max(&1);
                    if tenths > self.tenths.swap(tenths, Ordering::Relaxed) {
                        self.print(&msg!("fetch-of", done = DecimalBytes(*done), total = DecimalBytes(*total)));
                    }
                }
            },
            FetchEvent::Again { reason } => self.print(&msg!("fetch-going-on", reason = **reason)),
            FetchEvent::BeginsAnew { .. } => self.print(&msg!("fetch-anew")),
            FetchEvent::Failed { failure, next: Some(_) } => self.print(&msg!("fetch-next", reason = failure.describe())),
            // The final error lists all failed sources.
            FetchEvent::Failed { next: None, .. } => {}
            _ => {}
        }
    }
}

/// Announces a download: the model with its size, source and licence.
pub(super) fn announce(model: &CatalogModel, store: &ModelStore) {
    let CatalogModel { name, bytes, licence, .. } = model;
    match store.presence(model) {
        Presence::Damaged { file, bytes: found } => {
            output::note(&msg!("models-replaced", file = file.display(), number = found, wanted = bytes));
        }
        Presence::Absent { kept } if kept > 0 => output::note(&msg!("models-kept", size = DecimalBytes(kept), model = name)),
        _ => {}
    }
    let mut sources = String::new();
    for source in &model.sources {
        let source = print(&source.describe());
        sources.push_str(&if sources.is_empty() { source } else { msg!("fetch-else", source) });
    }
    let folder = store.folder().display();
    let what = msg!("fetch-what", model = name, size = DecimalBytes(*bytes), licence, sources, folder);
    output::note(&format!("{}{what}", column(&format!("{BOLD}{}{BOLD:#}", msg!("fetch-head")), 8)));
}
