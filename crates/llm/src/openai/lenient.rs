//! Reads the JSON of an event, including lone UTF-16 surrogates.

use serde_json::Value;

/// First character of the part of the Private Use Area that represents lone surrogates until they are joined.
const PRIVATE_USE_START: u32 = 0x10_F000;
const HIGH_SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDBFF;
const LOW_SURROGATES: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

/// Reads the JSON of an event. A server that cuts its text between UTF-16 units escapes the two surrogates of an emoji in two events;
/// each becomes a private character, and [`Joiner`] joins them again. Returns `None` for invalid JSON.
pub(super) fn event(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&escape_lone_surrogates(text)?).ok())
}

/// Returns the text with each lone surrogate as a private character; `None` if there is none.
fn escape_lone_surrogates(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let surrogate = unit(escape);
        let pair = surrogate.is_some_and(|unit| HIGH_SURROGATES.contains(&unit))
            && escape.get(6..).and_then(unit).is_some_and(|unit| LOW_SURROGATES.contains(&unit));
        let length = match surrogate {
            _ if pair => 12,
            Some(unit) if HIGH_SURROGATES.contains(&unit) || LOW_SURROGATES.contains(&unit) => {
                out.extend(char::from_u32(PRIVATE_USE_START + (unit - HIGH_SURROGATES.start())));
                found = true;
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(escape.get(..length).unwrap_or(escape));
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Returns the UTF-16 unit of an escape `\uXXXX` at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Returns the surrogate that a private character represents.
fn surrogate(letter: char) -> Option<u32> {
    let unit = u32::from(letter).checked_sub(PRIVATE_USE_START)? + HIGH_SURROGATES.start();
    LOW_SURROGATES.end().ge(&unit).then_some(unit)
}

/// Joins surrogate pairs across the pieces of one text.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    first: Option<u32>,
}

impl Joiner {
    /// Returns the piece with its halves joined. A first surrogate at its end waits for the next piece.
    pub(super) fn join(&mut self, piece: &str) -> String {
        if self.first.is_none() && !piece.chars().any(|letter| surrogate(letter).is_some()) {
            return piece.to_owned();
        }
        let mut out = String::with_capacity(piece.len());
        for letter in piece.chars() {
            match (self.first.take(), surrogate(letter)) {
                (Some(first), Some(second)) if LOW_SURROGATES.contains(&second) => {
                    let whole = 0x1_0000 + ((first - HIGH_SURROGATES.start()) << 10) + (second - LOW_SURROGATES.start());
                    out.push(char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (first, second) => {
                    if first.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match second {
                        Some(unit) if HIGH_SURROGATES.contains(&unit) => self.first = Some(unit),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                        None => out.push(letter),
                    }
                }
            }
        }
        out
    }

    /// Returns the replacement for a first surrogate whose second never arrived.
    pub(super) fn finish(&mut self) -> Option<char> {
        self.first.take().map(|_| char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_halves_in_two_events_are_one_letter() {
        let mut joiner = Joiner::default();
        let mut text = String::new();
        for event_text in [r#"{"t":"a \\ud83d \n\ud83d"}"#, r#"{"t":"\ude00!"}"#, r#"{"t":"\ud83d\ude00\ud83d"}"#, r#"{"t":"x\ude00"}"#] {
            let event = event(event_text).unwrap();
            text += &joiner.join(event["t"].as_str().unwrap());
        }
        assert_eq!(text, "a \\ud83d \n😀!😀\u{fffd}x\u{fffd}");
    }

    #[test]
    fn only_json_is_read() {
        assert_eq!(event(r#"{"a":1}"#), Some(json!({"a": 1})));
        assert_eq!(event(r#"{"a":"\ud83d"#), None);
        assert_eq!(event(": OPENROUTER PROCESSING"), None);
    }
}
