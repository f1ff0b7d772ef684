//! Checks names in the user's own files. A run would silently use the default, or nothing, for an unknown name.

use std::iter;

use toml::de::DeTable;

use crate::{
    config::{nearest, position},
    error::RunsError,
};

/// Returns a fault for each unknown name that a file (a profile, or tables of categories) gives under a key, with its place and the nearest
/// known name. `missing` and `listed` are for people: the kind of thing that is missing, and the command that lists what exists.
pub(super) fn unknown((source, text): (&str, &str), key: &str, (missing, listed): (&str, &str), known: &[&str]) -> Vec<RunsError> {
    // The code that reads the file reports a syntax error.
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let categories = root.get_ref().get("category").and_then(|categories| categories.get_ref().as_array());
    let tables = iter::once(root.get_ref()).chain(categories.into_iter().flatten().filter_map(|category| category.get_ref().as_table()));
    let mut found = Vec::new();
    for value in tables.filter_map(|table| table.get(key)) {
        let values = value.get_ref().as_array().map_or_else(|| vec![value], |list| list.iter().collect());
        for value in values {
            let Some(name) = value.get_ref().as_str().filter(|name| !name.is_empty() && !known.contains(name)) else { continue };
            let (line, column) = position(text, value.span().start);
            let near = nearest(name, known).map(|near| format!("did you mean {near:?}? ")).unwrap_or_default();
            found.push(RunsError::usage(format!("{source}:{line}:{column}: {missing} {name:?}")).hint(near + listed));
        }
    }
    found
}
