//! Providers of models, by the names of the conventions.

use std::collections::BTreeMap;

/// Names that the conventions give to the providers of models, such as `anthropic`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Providers {
    default: String,
    by_model: BTreeMap<String, String>,
}

impl Providers {
    /// Creates the providers: one for each of these models, and `default` for all others.
    pub fn new<M: Into<String>, P: Into<String>>(default: &str, by_model: impl IntoIterator<Item = (M, P)>) -> Self {
        let by_model = by_model.into_iter().map(|(model, provider)| (model.into(), provider.into()));
        Self { default: default.to_owned(), by_model: by_model.collect() }
    }

    /// Returns the provider of a model.
    pub(crate) fn of(&self, model: &str) -> &str {
        self.by_model.get(model).unwrap_or(&self.default)
    }
}

impl From<&str> for Providers {
    fn from(provider: &str) -> Self {
        Self { default: provider.to_owned(), by_model: BTreeMap::new() }
    }
}
