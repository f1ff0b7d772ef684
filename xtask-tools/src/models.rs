//! `cargo xtask models`: writes the catalog of model data from the table that the Python package `litellm` publishes.
//!
//! `models/requirements.txt` pins the package by version and hash. None of its code is run: two files are read from its wheel. To refresh
//! the catalog, change the pin and [`SHUT_DOWN_BEFORE`](table::SHUT_DOWN_BEFORE), run the task and review the difference.

mod table;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::install::{PYTHON, answer, once};
use xtask::workspace::{root, run, target_folder};

/// Pinned package.
const REQUIREMENTS: &str = include_str!("models/requirements.txt");

/// Folder of the catalog, relative to the workspace.
const DATA: &str = "crates/llm/data";

/// Table inside the wheel.
const TABLE: &str = "litellm/model_prices_and_context_window_backup.json";

/// Manual corrections of the table.
const OVERLAY: &str = "models_overlay.toml";

/// Arguments of `cargo xtask models`.
#[derive(Args)]
pub(crate) struct ModelsArguments {
    /// Fail if the catalog is not what the pinned package gives, and write nothing
    #[arg(long)]
    check: bool,
}

/// Writes the catalog, or compares it with the pinned package.
pub(crate) fn models(arguments: &ModelsArguments) -> Result<()> {
    let folder = root().join(DATA);
    let wheel = wheel()?;
    let overlay = fs::read_to_string(folder.join(OVERLAY)).with_context(|| format!("could not read {DATA}/{OVERLAY}"))?;
    let version = version().context("models/requirements.txt does not pin litellm")?;
    let catalog = table::catalog(&member(&wheel, TABLE)?, &overlay, version)?;
    let licence = member(&wheel, &format!("litellm-{version}.dist-info/licenses/LICENSE"))?;
    for (name, text) in [("models.json", &catalog.text), ("LICENSE-litellm", &licence)] {
        let file = folder.join(name);
        if !arguments.check {
            fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
        } else if fs::read_to_string(&file).ok().as_ref() != Some(text) {
            bail!("{DATA}/{name} is not what litellm {version} gives: run `cargo xtask models` and review the difference");
        }
    }
    println!("{DATA}/models.json: {} models, {} bytes, from litellm {version}", catalog.models, catalog.text.len());
    Ok(())
}

/// Returns the pinned version.
fn version() -> Option<&'static str> {
    REQUIREMENTS.strip_prefix("litellm==")?.split_whitespace().next()
}

/// Returns the wheel, downloaded once for each pin. pip refuses other bytes.
fn wheel() -> Result<PathBuf> {
    answer(Command::new("python3").args(["-I", "-m", "pip", "--version"]), PYTHON)?;
    let folder = target_folder().join("models");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    once(&folder, "litellm", &[REQUIREMENTS], |place| {
        fs::write(place.join("requirements.txt"), REQUIREMENTS)?;
        // The table is the same in every wheel, so one wheel is pinned for all machines.
        let wheel = ["--platform", "manylinux_2_28_x86_64", "--implementation", "cp", "--python-version", "3.12", "--abi", "abi3"];
        let pip = ["-I", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
        run(Command::new("python3").args(pip).args(wheel).args(["--dest", ".", "-r", "requirements.txt"]).current_dir(place))
    })?;
    let files = fs::read_dir(folder.join("litellm"))?.filter_map(|entry| Some(entry.ok()?.path()));
    files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "whl")).context("pip left no wheel of litellm")
}

/// Returns the text of one file in a wheel.
fn member(wheel: &Path, name: &str) -> Result<String> {
    let file = File::open(wheel).with_context(|| format!("could not open {}", wheel.display()))?;
    let mut archive = zip::ZipArchive::new(file).with_context(|| format!("{} is not a wheel", wheel.display()))?;
    let mut text = String::new();
    archive.by_name(name).with_context(|| format!("the wheel has no {name}"))?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_pin_one_version_by_hash() {
        let version = version().unwrap();
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{version}");
        assert_eq!(REQUIREMENTS.matches("--hash=sha256:").count(), 1);
    }

    #[test]
    fn overlay_is_in_the_catalog() {
        let data = root().join(DATA);
        let overlay = fs::read_to_string(data.join(OVERLAY)).unwrap();
        let catalog = fs::read_to_string(data.join("models.json")).unwrap();
        let corrections = table::corrections(&overlay).unwrap();
        assert!(!corrections.is_empty());
        for correction in corrections {
            let line = catalog.lines().find(|line| line.starts_with(&format!("{{\"model\":\"{}\"", correction.model)));
            let found: table::Entry = serde_json::from_str(line.unwrap().trim_end_matches(',')).unwrap();
            assert_eq!(found.clone().corrected(&correction), found, "run `cargo xtask models`");
        }
    }
}
