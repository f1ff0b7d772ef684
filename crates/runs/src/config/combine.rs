//! Faults of the merged settings, with the source that completes each of them.

use std::path::Path;

use serde_json::Value;

use super::{
    Config, ConfigFault,
    check::{OtherKey, ValueFault, combination_faults},
    read::Document,
};

/// Source of settings, as far as they are in force.
pub(super) struct Source<'a> {
    /// Settings in force.
    pub(super) value: Value,
    /// Place of the source in messages.
    pub(super) place: SourcePlace<'a>,
}

/// Place of a source.
pub(super) enum SourcePlace<'a> {
    /// A file, which has lines and columns.
    File(&'a Path, Document),
    /// A variable.
    Variable(&'a str),
}

/// Returns the faults that only the merged settings show. Each names the last source that sets a part of it.
pub(super) fn faults(config: &Config, sources: &[Source<'_>]) -> Vec<ConfigFault> {
    let found = combination_faults(config).into_iter().filter(|fault| !is_superseded(fault, sources));
    found.map(|fault| place(fault, sources)).collect()
}

/// Returns true if a later source has decided otherwise, so that aime ignores the setting.
fn is_superseded(fault: &ValueFault, sources: &[Source<'_>]) -> bool {
    let Some(OtherKey::Decides(decides)) = &fault.other else { return false };
    last(decides, sources) > last(&fault.key, sources)
}

/// Returns the number of the last source that sets a key.
fn last(key: &str, sources: &[Source<'_>]) -> Option<usize> {
    sources.iter().rposition(|source| known_part(&source.value, key) == key.len())
}

fn place(fault: ValueFault, sources: &[Source<'_>]) -> ConfigFault {
    let other = fault.other.iter().map(|(OtherKey::Conflicts(key) | OtherKey::Decides(key))| key.as_str());
    let set = std::iter::once(fault.key.as_str()).chain(other).filter_map(|key| Some((last(key, sources)?, key))).max();
    // If nothing sets the key itself, the source that names the longest part of it comes closest.
    let closest =
        || sources.iter().enumerate().max_by_key(|(_, source)| known_part(&source.value, &fault.key)).map(|(at, _)| (at, &*fault.key));
    let place = set.or_else(closest).and_then(|(at, key)| Some(sources.get(at)?.place.of(key)));
    ConfigFault::new(place.unwrap_or_else(|| "configuration".to_owned()), fault.message)
}

impl SourcePlace<'_> {
    fn of(&self, key: &str) -> String {
        match self {
            Self::File(path, document) => document.place_of(path, key),
            Self::Variable(name) => (*name).to_owned(),
        }
    }
}

/// Returns the length of the part of a dotted key that a document names. Its own keys may have dots too.
fn known_part(document: &Value, key: &str) -> usize {
    let members = document.as_object().into_iter().flatten();
    let parts = members.filter_map(|(name, value)| match key.strip_prefix(name.as_str())? {
        "" => Some(name.len()),
        behind => behind.strip_prefix('.').map(|behind| {
            let known = known_part(value, behind);
            name.len() + if known == 0 { 0 } else { known + 1 }
        }),
    });
    parts.max().unwrap_or_default()
}
