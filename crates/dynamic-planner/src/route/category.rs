//! Categories of goals: data that maps a kind of goal to a profile, a model and skills.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keywords::contains;

/// A category of goals, with the actor for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Name of the category, such as `coding`.
    pub name: String,
    /// Words that indicate the category. Latin words match whole words, others match anywhere.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Profile of the actor.
    pub profile: String,
    /// Name of the model; the default model if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Skills of the actor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// A category file: `[[category]]` tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategoryFile {
    /// The categories.
    #[serde(default)]
    pub category: Vec<Category>,
}

/// The built-in category file, as a basis for your own.
pub const DEFAULT_CATEGORIES: &str = include_str!("../../data/categories.toml");

/// Reason why a category file was refused.
#[derive(Debug, thiserror::Error)]
pub enum CategoryError {
    /// It is not TOML, or has unknown or missing members; the text shows the place.
    #[error("{place}: {source}")]
    Unreadable {
        /// The file.
        place: String,
        /// The error and its place.
        #[source]
        source: toml::de::Error,
    },
    /// Two categories have the same name.
    #[error("{place}: the category {name:?} is defined twice: rename or remove one")]
    Twice {
        /// The file.
        place: String,
        /// The name.
        name: String,
    },
}

/// Parses a category file. `place` is its name in errors.
///
/// # Errors
///
/// [`CategoryError`] if the file is invalid, or contains a name twice.
pub fn read_categories(place: &str, text: &str) -> Result<Vec<Category>, CategoryError> {
    let file: CategoryFile = toml::from_str(text).map_err(|source| CategoryError::Unreadable { place: place.to_owned(), source })?;
    for (at, category) in file.category.iter().enumerate() {
        if file.category.iter().take(at).any(|other| other.name == category.name) {
            return Err(CategoryError::Twice { place: place.to_owned(), name: category.name.clone() });
        }
    }
    Ok(file.category)
}

/// Returns the built-in categories: `coding`, `research`, `writing`, `analysis`, `quick`, `general`.
#[must_use]
pub fn default_categories() -> Vec<Category> {
    read_categories("data/categories.toml", DEFAULT_CATEGORIES).unwrap_or_default()
}

/// The category of a goal, and the confidence in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CategoryMatch {
    /// The category's name; `general` when no keyword was found.
    pub name: String,
    /// The keywords that were found.
    pub keywords: Vec<String>,
    /// True if two keywords or more were found, and no other category has more than half as many.
    pub clear: bool,
}

/// Finds the category of a goal by its keywords. Of two categories with the same number, the first one wins.
#[must_use]
pub(crate) fn match_category(goal: &str, categories: &[Category]) -> CategoryMatch {
    let text = goal.to_lowercase();
    let mut best: Option<(&Category, Vec<String>)> = None;
    let mut second = 0;
    for category in categories {
        let keywords: Vec<String> = category.keywords.iter().filter(|k| contains(&text, &k.to_lowercase())).cloned().collect();
        let most = best.as_ref().map_or(0, |(_, found)| found.len());
        if keywords.len() > most {
            second = most;
            best = Some((category, keywords));
        } else {
            second = second.max(keywords.len());
        }
    }
    match best {
        Some((category, keywords)) => {
            let clear = keywords.len() >= 2 && keywords.len() >= 2 * second;
            CategoryMatch { name: category.name.clone(), keywords, clear }
        }
        None => CategoryMatch { name: "general".to_owned(), keywords: Vec::new(), clear: false },
    }
}
