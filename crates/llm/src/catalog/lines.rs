//! The data files, read line by line.

use std::cmp::Ordering;

use serde::Deserialize;

use super::names::{Name, TUNED};
use crate::{Effort, Prices};

/// Entries of single models, sorted by name, one a line.
pub(super) const MODELS: &str = include_str!("../../data/models.json");

/// Rules for families of models, one a line.
pub(super) const FAMILIES: &str = include_str!("../../data/families.json");

/// The text before the name in each line.
const START: &str = "{\"model\":\"";

/// One line of either file. Absent members are unknown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record<'a> {
    /// Provider and name of an entry, in small letters; the pattern of a rule.
    #[cfg_attr(not(test), expect(dead_code, reason = "found by its text"))]
    pub(super) model: &'a str,
    pub(super) window: Option<u32>,
    pub(super) answer: Option<u32>,
    pub(super) input: Option<f64>,
    pub(super) cached_input: Option<f64>,
    pub(super) cache_write: Option<f64>,
    pub(super) output: Option<f64>,
    pub(super) search: Option<f64>,
    pub(super) images: Option<bool>,
    pub(super) tools: Option<bool>,
    pub(super) forced_tool_choice: Option<bool>,
    pub(super) sampling: Option<bool>,
    pub(super) prompt_caching: Option<bool>,
    pub(super) efforts: Option<Vec<Effort>>,
    pub(super) small: Option<bool>,
    /// The page that a rule is from.
    #[cfg_attr(not(test), expect(dead_code, reason = "for those who check it"))]
    pub(super) source: Option<&'a str>,
}

impl Record<'_> {
    pub(super) fn prices(&self) -> Option<Prices> {
        let Self { cached_input, cache_write, search, .. } = *self;
        Some(Prices { input: self.input?, cached_input, cache_write, output: self.output?, search })
    }
}

/// Finds the entry of a model by `provider/name`.
pub(super) fn entry(key: &str) -> Option<Record<'static>> {
    read(line_of(body(MODELS), key)?)
}

/// Finds the rule that fits a name best: the one with the most letters.
pub(super) fn family(name: &Name) -> Option<Record<'static>> {
    let names = name.spellings.iter().map(|spelling| spelling.name.strip_prefix(TUNED).unwrap_or(&spelling.name));
    let fits = |pattern: &str| names.clone().any(|name| fits(pattern, name));
    let rules = body(FAMILIES).lines().filter_map(|line| Some((key(line)?, line))).filter(|(pattern, _)| fits(pattern));
    let best = rules.max_by_key(|(pattern, _)| pattern.bytes().filter(|byte| *byte != b'*').count());
    best.and_then(|(_, line)| read(line))
}

/// Returns the lines between the first, which says where they are from, and the last.
fn body(file: &'static str) -> &'static str {
    let start = file.find('\n').map_or(0, |end| end + 1);
    file.get(start..).and_then(|rest| rest.strip_suffix("\n]}\n")).unwrap_or_default()
}

/// Returns the record of a line.
pub(super) fn read(line: &str) -> Option<Record<'_>> {
    serde_json::from_str(line.trim_end_matches(',')).ok()
}

/// Returns the name or pattern at the beginning of a line.
pub(super) fn key(line: &str) -> Option<&str> {
    line.strip_prefix(START)?.split('"').next()
}

/// Finds the line of a key among sorted lines.
pub(super) fn line_of<'a>(lines: &'a str, wanted: &str) -> Option<&'a str> {
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let start = lines.get(low..middle)?.rfind('\n').map_or(low, |end| low + end + 1);
        let end = lines.get(middle..high)?.find('\n').map_or(high, |length| middle + length);
        let line = lines.get(start..end)?;
        match key(line)?.cmp(wanted) {
            Ordering::Equal => return Some(line),
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
        }
    }
    None
}

/// Matches a whole name against a pattern, in which `*` matches any text.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    rest.is_empty() || (0..=name.len()).filter_map(|at| name.get(at..)).any(|tail| fits(rest, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_line_is_found_by_its_key() {
        for count in 0..40 {
            let keys: Vec<String> = (0..count).map(|number| format!("k{:02}{}", number * 2, "x".repeat(number % 5))).collect();
            let lines: Vec<String> = keys.iter().map(|key| format!("{START}{key}\"}}")).collect();
            let text = lines.join(",\n");
            for (key, line) in keys.iter().zip(&lines) {
                assert_eq!(line_of(&text, key).map(|found| found.trim_end_matches(',')), Some(line.as_str()));
            }
            for absent in ["", "k", "k01", "k03x", "k99", "z"] {
                assert_eq!(line_of(&text, absent), None, "{absent} in {keys:?}");
            }
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("a*", "a", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*b*", "abc", true),
            ("a*-5*", "a-x-5-1", true),
            ("a*-5*", "a-x-4", false),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("a", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
