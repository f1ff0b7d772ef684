//! The validator's errors in words.

use std::collections::BTreeSet;

use aime_messages::{Message, message};
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
    paths::{Location, LocationSegment},
};
use serde_json::Value;

use super::SchemaFault;

/// Maximum number of characters of a value that are shown.
const SHOWN: usize = 60;
/// Maximum number of allowed values that are listed.
const LISTED: usize = 30;

/// Adds the faults that an error represents, once each.
pub(super) fn add(error: &ValidationError<'_>, faults: &mut Vec<SchemaFault>) {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => alternatives(error, context, faults),
        ValidationErrorKind::PropertyNames { error } => add(error, faults),
        _ => push(faults, place(error.instance_path()), message(error)),
    }
}

fn push(faults: &mut Vec<SchemaFault>, place: String, message: Message) {
    let fault = SchemaFault { place, message };
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

/// Adds the faults for a value that fits no alternative: those of the alternative that the model meant, if that can
/// be determined.
fn alternatives(error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>], faults: &mut Vec<SchemaFault>) {
    let here = error.instance_path();
    let same_type: Vec<&Vec<ValidationError<'static>>> =
        branches.iter().filter(|branch| !branch.iter().any(|fault| is_type_fault_at(fault, here))).collect();
    if same_type.is_empty() {
        let wanted: BTreeSet<&str> = branches.iter().flatten().flat_map(wanted_types).collect();
        return push(faults, place(here), message!("fit-type", value = value_text(error.instance()), kind = types(wanted)));
    }
    // Properties that every alternative requires come first. This is usually the tag, such as `op`, that selects the
    // alternative.
    let wanted_by_all = same_type.iter().map(|branch| missing(branch, here)).reduce(|a, b| a.intersection(&b).cloned().collect());
    let wanted_by_all = wanted_by_all.unwrap_or_default();
    if same_type.len() > 1 && !wanted_by_all.is_empty() {
        return wanted_by_all.iter().for_each(|name| push(faults, place(here), message!("fit-lacks", name = format!("{name:?}"))));
    }
    let untagged: Vec<_> = same_type.iter().filter(|branch| !branch.iter().any(|fault| is_tag_fault(fault, here))).collect();
    match untagged.iter().min_by_key(|branch| branch.len()) {
        Some(meant) => meant.iter().for_each(|fault| add(fault, faults)),
        None => {
            let tags: Vec<_> = same_type.iter().filter_map(|branch| branch.iter().find(|fault| is_tag_fault(fault, here))).collect();
            let allowed: Vec<String> = tags.iter().flat_map(|fault| allowed(fault)).collect();
            if let Some(first) = tags.first() {
                push(faults, place(first.instance_path()), must_be_one_of(first.instance(), &allowed));
            }
        }
    }
}

fn is_type_fault_at(fault: &ValidationError<'_>, place: &Location) -> bool {
    matches!(fault.kind(), ValidationErrorKind::Type { .. }) && fault.instance_path() == place
}

/// Returns true if the fault is a wrong constant, at the place itself or one property below.
fn is_tag_fault(fault: &ValidationError<'_>, here: &Location) -> bool {
    matches!(fault.kind(), ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. })
        && fault.instance_path().segments().count() <= here.segments().count() + 1
}

fn missing(branch: &[ValidationError<'_>], here: &Location) -> BTreeSet<String> {
    branch
        .iter()
        .filter(|fault| fault.instance_path() == here)
        .filter_map(|fault| match fault.kind() {
            ValidationErrorKind::Required { property } => property.as_str().map(ToOwned::to_owned),
            _ => None,
        })
        .collect()
}

fn allowed(fault: &ValidationError<'_>) -> Vec<String> {
    match fault.kind() {
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.to_string()],
        ValidationErrorKind::Enum { options } => options.as_array().into_iter().flatten().map(Value::to_string).collect(),
        _ => Vec::new(),
    }
}

fn wanted_types<'a>(fault: &'a ValidationError<'_>) -> Vec<&'a str> {
    match fault.kind() {
        ValidationErrorKind::Type { kind } => names_of(kind),
        _ => Vec::new(),
    }
}

fn names_of(kind: &TypeKind) -> Vec<&str> {
    match kind {
        TypeKind::Single(kind) => vec![kind.as_str()],
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.as_str()).collect(),
    }
}

/// Describes a choice of types, with `null` as the last.
fn types<'a>(names: impl IntoIterator<Item = &'a str>) -> Message {
    let one = |name: &str| match name {
        "array" => message!("type-array"),
        "boolean" => message!("type-boolean"),
        "integer" => message!("type-integer"),
        "null" => message!("type-null"),
        "number" => message!("type-number"),
        "object" => message!("type-object"),
        _ => message!("type-string"),
    };
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| *name == "null");
    names.into_iter().map(one).reduce(|one, other| message!("type-or", one, other)).unwrap_or_default()
}

fn must_be_one_of(value: &Value, allowed: &[String]) -> Message {
    let more = if allowed.len() > LISTED { ", …" } else { "" };
    let listed: Vec<&str> = allowed.iter().take(LISTED).map(String::as_str).collect();
    match listed.as_slice() {
        [only] => message!("fit-one", value = value_text(value), wanted = only),
        _ => message!("fit-one-of", value = value_text(value), wanted = format!("{}{more}", listed.join(", "))),
    }
}

fn message(error: &ValidationError<'_>) -> Message {
    use ValidationErrorKind as Kind;
    let value = error.instance();
    match error.kind() {
        Kind::Required { property } => message!("fit-lacks", name = property),
        Kind::Type { kind } => message!("fit-type", value = value_text(value), kind = types(names_of(kind))),
        Kind::Constant { .. } | Kind::Enum { .. } => must_be_one_of(value, &allowed(error)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().take(LISTED).map(|name| format!("{name:?}")).collect();
            message!("fit-extra", names = names.join(", "))
        }
        Kind::MinItems { limit } => message!("fit-few", items = length(value), limit),
        Kind::MaxItems { limit } => message!("fit-many", items = length(value), limit),
        Kind::MinLength { limit } => message!("fit-short", value = value_text(value), characters = limit),
        Kind::MaxLength { limit } => message!("fit-long", characters = length(value), limit),
        Kind::Minimum { limit } => message!("fit-least", value = value_text(value), limit),
        Kind::Maximum { limit } => message!("fit-most", value = value_text(value), limit),
        Kind::ExclusiveMinimum { limit } => message!("fit-more", value = value_text(value), limit),
        Kind::ExclusiveMaximum { limit } => message!("fit-less", value = value_text(value), limit),
        Kind::Pattern { pattern } => message!("fit-pattern", value = value_text(value), pattern = format!("{pattern:?}")),
        Kind::UniqueItems => message!("fit-twice"),
        Kind::FalseSchema => message!("fit-not-there"),
        Kind::OneOfMultipleValid { .. } => message!("fit-several", value = value_text(value)),
        _ => {
            let text: String = error.masked().to_string().chars().take(200).collect();
            message!("fit-other", value = value_text(value), text)
        }
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::String(text) => text.chars().count(),
        _ => 0,
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > 3 => return format!("an array of {}", items.len()),
        Value::Object(object) if object.len() > 3 => return "an object".to_owned(),
        _ => {}
    }
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// `/tasks/2/id` as `tasks[2].id`.
fn place(location: &Location) -> String {
    let mut place = String::new();
    for segment in location.segments() {
        match segment {
            LocationSegment::Index(index) => place.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&name);
            }
        }
    }
    place
}
