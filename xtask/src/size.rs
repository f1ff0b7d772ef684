//! `cargo xtask size`: what the release binary weighs, and what its start costs.
//!
//! On demand, and no part of `ci`: the release build takes some ten minutes.

mod start;

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace::{build_aime, root};
use start::{Calls, Starts};

/// Without a model in it the binary is under 20 MB, with one under 40 MB.
const LEAN_BYTES: u64 = 20_000_000;
const WITH_MODEL_BYTES: u64 = 40_000_000;
/// The feature that brings the model.
const MODEL_FEATURE: &str = "local-model";

/// What is built.
#[derive(Args)]
pub(crate) struct SizeArguments {
    /// Build without the default features, so without a model in the binary
    #[arg(long)]
    no_default_features: bool,
}

/// Builds the release binary, prints what was measured, and fails with everything that is over its bound.
pub(crate) fn size(arguments: &SizeArguments) -> Result<()> {
    let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).context("could not read the manifest of aime")?;
    let with_model = !arguments.no_default_features && is_default(&manifest, MODEL_FEATURE)?;
    let without: &[&str] = if arguments.no_default_features { &["--no-default-features"] } else { &[] };
    let program = build_aime(&[&["--release"], without].concat())?;
    let bytes = fs::metadata(&program).with_context(|| format!("could not look at {}", program.display()))?.len();
    let bound = if with_model { WITH_MODEL_BYTES } else { LEAN_BYTES };

    println!("binary     {bytes} bytes; at most {bound} {} a model in it", if with_model { "with" } else { "without" });
    let starts = Starts::measure(&program)?;
    println!("--version  {starts}");
    let calls = Calls::trace(&program)?;
    match &calls {
        Some(calls) => println!("--version  {calls}"),
        None => println!("--version  its system calls were not counted: there is no strace"),
    }

    let mut faults = Vec::new();
    if bytes > bound {
        faults.push(format!("the binary has {bytes} bytes, {} too many", bytes - bound));
    }
    faults.extend(starts.fault());
    faults.extend(calls.iter().flat_map(Calls::faults));
    if faults.is_empty() {
        return Ok(());
    }
    bail!("over the bounds:\n  {}", faults.join("\n  "))
}

/// Whether a manifest has a feature among its default ones.
fn is_default(manifest: &str, feature: &str) -> Result<bool> {
    let manifest: toml::Table = manifest.parse().context("the manifest of aime is no TOML")?;
    let default = manifest.get("features").and_then(|features| features.get("default")).and_then(toml::Value::as_array);
    Ok(default.is_some_and(|default| default.iter().any(|name| name.as_str() == Some(feature))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_the_default_features() {
        let cases = [
            ("", false),
            ("[features]\nlocal-model = []", false),
            ("[features]\ndefault = [\"other\"]", false),
            ("[features]\ndefault = [\"other\", \"local-model\"]", true),
        ];
        for (manifest, expected) in cases {
            assert_eq!(is_default(manifest, MODEL_FEATURE).unwrap(), expected, "{manifest}");
        }
        assert!(is_default("[features", MODEL_FEATURE).is_err());
    }
}
