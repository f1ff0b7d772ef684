//! Profiles: kinds of actors. They are data, and users add their own as TOML.

use std::collections::BTreeMap;

use aime_llm::Effort;
use aime_messages::nearest;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Keys of a profile file, used to suggest the nearest one for a misspelt key.
const KEYS: [&str; 17] = [
    "name",
    "description",
    "category",
    "domains",
    "capabilities",
    "complexity",
    "bundles",
    "tools",
    "denied_tools",
    "skills",
    "prompt",
    "model",
    "effort",
    "temperature",
    "max_steps",
    "small_model",
    "inline_skills",
];

/// Longest persona, in characters. A longer one would leave small models little room.
const MAX_PROMPT_CHARACTERS: usize = 8_000;

/// Difficulty of the tasks that a profile fits best.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// Any task alike.
    #[default]
    Any,
    /// One or two steps.
    Low,
    /// A handful of steps.
    Medium,
    /// Many steps, or much thought.
    High,
}

/// Kind of actor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Unique name; 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// Purpose in one sentence. Planners choose by it.
    pub description: String,
    /// Category of goals that it serves best: `coding`, `research`, `writing`, `quick`, `analysis`, `general`, or a user's own.
    #[serde(default)]
    pub category: String,
    /// Words of the tasks that it is made for.
    #[serde(default)]
    pub domains: Vec<String>,
    /// Capabilities: `read`, `search`, `write`, `execute`, `web`, `advise`. An empty list means all; a list without `write` means
    /// read-only.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Difficulty of its tasks.
    #[serde(default)]
    pub complexity: Complexity,
    /// Tool bundles that its actors always get.
    #[serde(default)]
    pub bundles: Vec<String>,
    /// Single tools that its actors always get.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Tools that its actors never get, whoever asks for them.
    #[serde(default)]
    pub denied_tools: Vec<String>,
    /// Skills whose full texts its actors get.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Persona: the beginning of the system prompt.
    pub prompt: String,
    /// Role of the model, as in `[models.ROLE]`; the run's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reasoning effort of its model; the model's own setting if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Temperature, 0 to 2; the server's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Number of model answers that it may use. The run's limit also holds; if this is absent, only that one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Replacements if the actor's model is [small](aime_llm::ModelLimits::small).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_model: Option<SmallModel>,
    /// Texts of skills that the profile defines itself, by name. Its actors get them in full, before the named ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inline_skills: BTreeMap<String, String>,
    /// True if an external agent does its tasks. Its settings name the program, so a profile file cannot say this.
    #[serde(default, skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
}

/// Instructions of external agents.
const AGENT_PROMPT: &str = include_str!("../prompts/agent.md");
/// Tool bundles that serve the requests of an external agent.
const AGENT_BUNDLES: [&str; 2] = ["files", "shell"];

/// Replacements for small models, which choose badly among many tools, forget long prompts, and copy example commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallModel {
    /// All tools that its actors get, besides `terminate` and the tools of task bundles that the profile's own bundles lack.
    pub tools: Vec<String>,
    /// Persona.
    pub prompt: String,
}

impl Profile {
    /// Returns the profile of an external agent that may change files and run commands.
    #[must_use]
    pub fn of_agent(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            category: String::new(),
            domains: Vec::new(),
            capabilities: Vec::new(),
            complexity: Complexity::Any,
            bundles: AGENT_BUNDLES.map(str::to_owned).to_vec(),
            tools: Vec::new(),
            denied_tools: Vec::new(),
            skills: Vec::new(),
            prompt: AGENT_PROMPT.to_owned(),
            model: None,
            effort: None,
            temperature: None,
            max_steps: None,
            small_model: None,
            inline_skills: BTreeMap::new(),
            agent: true,
        }
    }

    /// Returns true if it has `capability`.
    #[must_use]
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.is_empty() || self.capabilities.iter().any(|c| c == capability)
    }

    /// Returns true if its actors change nothing. Such an actor never gets a tool that could.
    #[must_use]
    pub fn read_only(&self) -> bool {
        !self.can("write")
    }

    fn fault(&self) -> Option<String> {
        let named = (1..=64).contains(&self.name.len()) && self.name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !named {
            return Some(format!("`name` is {:?}: use 1 to 64 of A-Z a-z 0-9 _ -", self.name));
        }
        for prompt in [Some(&self.prompt), self.small_model.as_ref().map(|small| &small.prompt)].into_iter().flatten() {
            if prompt.trim().is_empty() {
                return Some("`prompt` is empty: say in a few sentences who the actor is".to_owned());
            }
            let length = prompt.chars().count();
            if length > MAX_PROMPT_CHARACTERS {
                return Some(format!("`prompt` has {length} characters, at most {MAX_PROMPT_CHARACTERS} are allowed"));
            }
        }
        if let Some(t) = self.temperature.filter(|t| !(0.0..=2.0).contains(t)) {
            return Some(format!("`temperature` is {t}: use 0 to 2"));
        }
        (self.max_steps == Some(0)).then(|| "`max_steps` is 0: use at least 1".to_owned())
    }
}

/// Reason why a profile file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The file is not TOML, lacks a key, or has a value of the wrong type.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Description of the error.
        message: String,
    },
    /// The file has an unknown key.
    #[error("{file}:{line}: a profile has no key `{key}`; the nearest is `{nearest}`")]
    UnknownKey {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// Nearest known key.
        nearest: String,
    },
    /// A value is invalid.
    #[error("{file}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Description of the error and of valid values.
        message: String,
    },
}

/// Known profiles by name, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileCatalog {
    profiles: IndexMap<String, Profile>,
}

/// Profile that is chosen if none fits better.
pub(crate) const DEFAULT_PROFILE: &str = "sisyphus";

impl ProfileCatalog {
    /// Returns the profiles of this crate: `sisyphus`, `oracle`, `librarian`, `explore`, `atlas`.
    #[must_use]
    pub fn builtin() -> Self {
        let mut catalog = Self::default();
        for (source, text) in BUILTIN {
            // A test checks that all of them are valid; an invalid one would be missing.
            let _ = catalog.add_toml(text, source);
        }
        catalog
    }

    /// Adds the profile that `text` describes and returns its name. It replaces a profile of the same name, so users can change the
    /// built-in ones.
    ///
    /// # Errors
    /// [`ProfileError`], which names `source` (a file name), the line and, for a misspelt key, the nearest one.
    pub fn add_toml(&mut self, text: &str, source: &str) -> Result<String, ProfileError> {
        let profile: Profile = toml::from_str(text).map_err(|error| explain(text, source, &error))?;
        if let Some(message) = profile.fault() {
            return Err(ProfileError::Invalid { file: source.to_owned(), message });
        }
        let name = profile.name.clone();
        self.profiles.insert(name.clone(), profile);
        Ok(name)
    }

    /// Adds a profile. It replaces a profile of the same name.
    ///
    /// # Errors
    /// [`ProfileError::Invalid`], which names `source`.
    pub fn add(&mut self, profile: Profile, source: &str) -> Result<(), ProfileError> {
        if let Some(message) = profile.fault() {
            return Err(ProfileError::Invalid { file: source.to_owned(), message });
        }
        self.profiles.insert(profile.name.clone(), profile);
        Ok(())
    }

    /// Returns the profile with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// Iterates over all profiles, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// Returns the known name nearest to `name`, for error messages.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.profiles.keys().map(String::as_str))
    }

    /// Returns the profile for tasks that no other fits better: `sisyphus`, or the first that can write, or the first.
    #[must_use]
    pub fn fallback(&self) -> Option<&Profile> {
        self.get(DEFAULT_PROFILE).or_else(|| self.iter().find(|p| !p.read_only())).or_else(|| self.iter().next())
    }
}

const BUILTIN: [(&str, &str); 5] = [
    ("sisyphus.toml", include_str!("../data/profiles/sisyphus.toml")),
    ("oracle.toml", include_str!("../data/profiles/oracle.toml")),
    ("librarian.toml", include_str!("../data/profiles/librarian.toml")),
    ("explore.toml", include_str!("../data/profiles/explore.toml")),
    ("atlas.toml", include_str!("../data/profiles/atlas.toml")),
];

fn explain(text: &str, source: &str, error: &toml::de::Error) -> ProfileError {
    let start = error.span().map_or(0, |span| span.start);
    let line = text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
    let message = error.message();
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    match unknown.and_then(|key| Some((key, nearest(key, KEYS)?))) {
        Some((key, nearest)) => {
            ProfileError::UnknownKey { file: source.to_owned(), line, key: key.to_owned(), nearest: nearest.to_owned() }
        }
        None => ProfileError::Syntax { file: source.to_owned(), line, message: message.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 4.5
    #[test]
    fn every_built_in_profile_is_sound() {
        for (source, text) in BUILTIN {
            let mut catalog = ProfileCatalog::default();
            let name = catalog.add_toml(text, source).unwrap();
            assert_eq!(format!("{name}.toml"), source);
            let profile = catalog.get(&name).unwrap();
            assert!(profile.prompt.chars().count() < 500, "{name}: personas are short, for small models");
        }
        let names: Vec<_> = ProfileCatalog::builtin().iter().map(|p| (p.name.clone(), p.read_only())).collect();
        let expected = [("sisyphus", false), ("oracle", true), ("librarian", false), ("explore", true), ("atlas", false)];
        assert_eq!(names, expected.map(|(name, read_only)| (name.to_owned(), read_only)));
    }

    // Requirement: 4.7
    #[test]
    fn a_bad_file_is_refused_with_the_place_and_the_hint() {
        let cases = [
            ("name = \"x\"\ndescription = \"d\"\npromt = \"p\"\n", "mine.toml:3: a profile has no key `promt`; the nearest is `prompt`"),
            ("name = \"x\"\ndescription = \n", "mine.toml:2: "),
            ("name = \"x\"\ndescription = \"d\"\nprompt = \"p\"\nmax_steps = \"many\"\n", "mine.toml:4: invalid type"),
            (
                "name = \"x\"\ndescription = \"d\"\nprompt = \"p\"\neffort = \"huge\"\n",
                "mine.toml:4: unknown variant `huge`, expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`",
            ),
            ("name = \"x\"\nprompt = \"p\"\n", "missing field `description`"),
            ("name = \"a b\"\ndescription = \"d\"\nprompt = \"p\"\n", "mine.toml: `name` is \"a b\": use 1 to 64"),
            ("name = \"x\"\ndescription = \"d\"\nprompt = \" \"\n", "mine.toml: `prompt` is empty"),
            ("name = \"x\"\ndescription = \"d\"\nprompt = \"p\"\ntemperature = 3.0\n", "`temperature` is 3: use 0 to 2"),
            ("name = \"x\"\ndescription = \"d\"\nprompt = \"p\"\nmax_steps = 0\n", "`max_steps` is 0"),
        ];
        for (text, expected) in cases {
            let error = ProfileCatalog::builtin().add_toml(text, "mine.toml").unwrap_err().to_string();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
        }
    }

    // Requirement: 4.7
    #[test]
    fn a_users_profile_replaces_the_built_in_one_of_its_name() {
        let mut catalog = ProfileCatalog::builtin();
        let count = catalog.iter().count();
        catalog.add_toml("name = \"atlas\"\ndescription = \"mine\"\nprompt = \"p\"\n", "atlas.toml").unwrap();
        assert_eq!(catalog.get("atlas").unwrap().description, "mine");
        assert_eq!(catalog.iter().count(), count);
        assert_eq!(catalog.nearest("sysiphus"), Some("sisyphus"));
    }
}
