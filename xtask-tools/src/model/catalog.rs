//! Models for the server on this machine, and the pinned server itself.

use aime_local_model::{CatalogModel, find_model};
use anyhow::{Context, Result};
use clap::ValueEnum;

/// The models that can be fetched, by the size people call them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Qwen2.5-Coder 1.5B Instruct: plans and executes, slowly; 1.1 GB
    #[value(name = "1.5b")]
    Qwen1b5,
    /// Qwen2.5-Coder 0.5B Instruct: a realistic bad planner; 490 MB
    #[value(name = "0.5b")]
    Qwen0b5,
    /// SmolLM2 135M Instruct: fits a schema, understands nothing; 98 MB
    #[value(name = "135m")]
    Smol135m,
}

/// Wheel with pinned bytes.
pub(crate) struct Wheel {
    /// The package.
    pub(crate) package: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The SHA-256 of the wheel.
    pub(crate) sha256: &'static str,
    /// Folder in the wheel with the server, a Python module.
    pub(crate) folder: &'static str,
}

/// llama.cpp's server, build 11549, for Python 3.10 or later on x86-64 Linux with glibc 2.17 or later, and any processor with AVX2.
pub(crate) const SERVER: Wheel = Wheel {
    package: "xllamacpp",
    version: "2026.10.11549",
    sha256: "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
    folder: "xllamacpp",
};

/// Qwen2.5's template, with tool calls in a fenced `json` block, which is the form that the Coder models were seen to write. With their own
/// template the server recognises none of their calls.
const QWEN_FENCE: &str = include_str!("qwen-fence.jinja");

impl Name {
    /// Returns the short name in aime's catalog.
    pub(crate) const fn alias(self) -> &'static str {
        match self {
            Self::Qwen1b5 => "1.5b",
            Self::Qwen0b5 => "0.5b",
            Self::Smol135m => "135m",
        }
    }

    /// Returns the model of aime's catalog.
    pub(crate) fn model(self) -> Result<CatalogModel> {
        find_model(self.alias()).with_context(|| format!("the catalog has no model {}", self.alias()))
    }

    /// Returns the chat template for the server, if the model's own is unsuitable.
    pub(crate) const fn template(self) -> Option<&'static str> {
        match self {
            Self::Qwen1b5 | Self::Qwen0b5 => Some(QWEN_FENCE),
            Self::Smol135m => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_has_every_model() {
        for name in Name::value_variants() {
            assert_eq!(name.model().unwrap().alias, name.alias());
        }
    }
}
