//! Checks names in the user's own files. A run would silently use the default, or nothing, for an unknown name.

use std::iter;

use aime_messages::{Message, message, nearest};

use toml::de::DeTable;

use crate::{
    config::position,
    error::RunsError,
    hint::{Hint, NameKind},
};

/// Things that profiles and categories name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named {
    Profile,
    Model,
    Skills,
}

impl Named {
    /// Returns the key of the name.
    const fn key(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Model => "model",
            Self::Skills => "skills",
        }
    }

    fn missing(self, place: &str, name: &str) -> Message {
        match self {
            Self::Profile => message!("own-no-profile", place, name),
            Self::Model => message!("own-no-model", place, name),
            Self::Skills => message!("own-no-skill", place, name),
        }
    }

    const fn listed(self) -> NameKind {
        match self {
            Self::Profile => NameKind::Profiles,
            Self::Model => NameKind::Models,
            Self::Skills => NameKind::Skills,
        }
    }
}

/// Returns a fault for each unknown name that a file (a profile, or tables of categories) gives under a key, with its place and the nearest
/// known name.
pub(super) fn unknown((source, text): (&str, &str), named: Named, known: &[&str]) -> Vec<RunsError> {
    // The code that reads the file reports a syntax error.
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let categories = root.get_ref().get("category").and_then(|categories| categories.get_ref().as_array());
    let tables = iter::once(root.get_ref()).chain(categories.into_iter().flatten().filter_map(|category| category.get_ref().as_table()));
    let mut found = Vec::new();
    for value in tables.filter_map(|table| table.get(named.key())) {
        let values = value.get_ref().as_array().map_or_else(|| vec![value], |list| list.iter().collect());
        for value in values {
            let Some(name) = value.get_ref().as_str().filter(|name| !name.is_empty() && !known.contains(name)) else { continue };
            let (line, column) = position(text, value.span().start);
            let place = format!("{source}:{line}:{column}");
            let hint = Hint::List { kind: named.listed(), near: nearest(name, known.iter().copied()).map(str::to_owned) };
            found.push(RunsError::usage(named.missing(&place, &format!("{name:?}"))).hint(hint));
        }
    }
    found
}
