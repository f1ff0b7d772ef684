//! Scans text for references.

use serde_json::{Map, Value};

use super::{PathSegment, Reference, ReferencePart};
use crate::TaskId;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text.
    Text(&'a str),
    /// `@@{`, an escaped `@{`.
    Escape,
    /// A reference.
    Reference(Reference),
    /// Text that begins like a reference and is none.
    Malformed(&'a str),
}

/// Splits a text into its pieces. Their concatenation gives the text again.
pub(crate) fn scan(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain_from = text;
    while let Some(at) = rest.find("@{") {
        let (before, from) = rest.split_at(at);
        let (consumed, piece) = if before.ends_with('@') { (2, Some(Piece::Escape)) } else { reference_at(from) };
        let Some(piece) = piece else {
            rest = from.get(consumed..).unwrap_or_default();
            continue;
        };
        let start = text.len() - from.len() - usize::from(piece == Piece::Escape);
        let plain_start = text.len() - plain_from.len();
        if let Some(plain) = text.get(plain_start..start).filter(|plain| !plain.is_empty()) {
            pieces.push(Piece::Text(plain));
        }
        pieces.push(piece);
        rest = from.get(consumed..).unwrap_or_default();
        plain_from = rest;
    }
    if !plain_from.is_empty() {
        pieces.push(Piece::Text(plain_from));
    }
    pieces
}

/// Parses the beginning of `from`, which starts with `@{`. Returns its length in bytes, and the piece unless it is
/// literal text.
fn reference_at(from: &str) -> (usize, Option<Piece<'_>>) {
    let inside = from.get(2..).unwrap_or_default();
    if !inside.trim_start().starts_with("steps.") {
        return (2, None);
    }
    let Some(end) = closing_brace(inside) else { return (from.len(), Some(Piece::Malformed(from))) };
    let length = 2 + end + 1;
    let whole = from.get(..length).unwrap_or(from);
    let body = inside.get(..end).unwrap_or_default().trim();
    (length, Some(parse_body(body).map_or(Piece::Malformed(whole), Piece::Reference)))
}

/// Returns the position of the first `}` outside a quoted key.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in inside.char_indices() {
        match (quote, c) {
            (None, '}') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

/// Parses `steps.ID.result…` or `steps.ID.status`. An id may contain dots; the first `.result` or `.status` that is a
/// whole word ends it.
fn parse_body(body: &str) -> Option<Reference> {
    let rest = body.strip_prefix("steps.")?;
    for (at, _) in rest.match_indices('.') {
        let (id, tail) = rest.split_at(at);
        let tail = tail.get(1..)?;
        if tail == "status" {
            return Some(Reference { task: TaskId::new(id).ok()?, part: ReferencePart::Status });
        }
        let Some(path) = tail.strip_prefix("result") else { continue };
        if path.is_empty() || path.starts_with(['.', '[']) {
            return Some(Reference { task: TaskId::new(id).ok()?, part: ReferencePart::Result(parse_path(path)?) });
        }
    }
    None
}

pub(super) fn is_plain_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$')
}

pub(crate) fn parse_path(mut rest: &str) -> Option<Vec<PathSegment>> {
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(|c| !is_plain_key(c)).unwrap_or(tail.len());
            let (key, after) = tail.split_at(end);
            if key.is_empty() {
                return None;
            }
            path.push(PathSegment::Key(key.to_owned()));
            rest = after;
        } else {
            let tail = rest.strip_prefix('[')?;
            if let Some(quote) = tail.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                let (key, after) = tail.get(1..)?.split_once(quote)?;
                path.push(PathSegment::Key(key.to_owned()));
                rest = after.strip_prefix(']')?;
            } else {
                let (index, after) = tail.split_once(']')?;
                path.push(PathSegment::Index(index.trim().parse().ok()?));
                rest = after;
            }
        }
    }
    Some(path)
}

/// Returns the text with every reference to `old` changed to `new`.
pub(crate) fn rename(text: &str, old: &TaskId, new: &TaskId) -> String {
    scan(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Malformed(text) => text.to_owned(),
            Piece::Escape => "@@{".to_owned(),
            Piece::Reference(mut reference) => {
                if reference.task == *old {
                    reference.task = new.clone();
                }
                reference.to_string()
            }
        })
        .collect()
}

/// Changes every reference to `old` to `new`, in every string of the parameters.
pub(crate) fn rename_in(parameters: &mut Map<String, Value>, old: &TaskId, new: &TaskId) {
    parameters.values_mut().for_each(|value| rename_value(value, old, new));
}

fn rename_value(value: &mut Value, old: &TaskId, new: &TaskId) {
    match value {
        Value::String(text) if text.contains("@{") => *text = rename(text, old, new),
        Value::Array(items) => items.iter_mut().for_each(|item| rename_value(item, old, new)),
        Value::Object(members) => members.values_mut().for_each(|member| rename_value(member, old, new)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
