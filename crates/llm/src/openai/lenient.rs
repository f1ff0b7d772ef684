//! Reading one event, also when it holds half a letter.

use serde_json::Value;

/// First letter of a private area. Lone surrogates are kept in a text as letters of this area until they are joined.
const AREA: u32 = 0x10_F000;
const FIRST_HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDBFF;
const SECOND_HALVES: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

/// Reads the JSON of an event. A server that cuts its text between UTF-16 units escapes the two halves of an emoji in two events; each half
/// becomes a private letter, which [`Joiner`] puts together again. Returns `None` for what is no JSON.
pub(super) fn event(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&with_private_halves(text)?).ok())
}

/// Returns the text with each lone half written as a private letter; `None` where it has none.
fn with_private_halves(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let half = unit(escape);
        let pair = half.is_some_and(|unit| FIRST_HALVES.contains(&unit))
            && escape.get(6..).and_then(unit).is_some_and(|unit| SECOND_HALVES.contains(&unit));
        let length = match half {
            _ if pair => 12,
            Some(unit) if FIRST_HALVES.contains(&unit) || SECOND_HALVES.contains(&unit) => {
                out.extend(char::from_u32(AREA + (unit - FIRST_HALVES.start())));
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

/// Returns the surrogate that a private letter represents.
fn half(letter: char) -> Option<u32> {
    let unit = u32::from(letter).checked_sub(AREA)? + FIRST_HALVES.start();
    SECOND_HALVES.end().ge(&unit).then_some(unit)
}

/// Joins the halves of letters across the pieces of one text.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    first: Option<u32>,
}

impl Joiner {
    /// Returns the piece with its halves joined. A first half at its end waits for the next piece.
    pub(super) fn join(&mut self, piece: &str) -> String {
        if self.first.is_none() && !piece.chars().any(|letter| half(letter).is_some()) {
            return piece.to_owned();
        }
        let mut out = String::with_capacity(piece.len());
        for letter in piece.chars() {
            match (self.first.take(), half(letter)) {
                (Some(first), Some(second)) if SECOND_HALVES.contains(&second) => {
                    let whole = 0x1_0000 + ((first - FIRST_HALVES.start()) << 10) + (second - SECOND_HALVES.start());
                    out.push(char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (first, second) => {
                    if first.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match second {
                        Some(unit) if FIRST_HALVES.contains(&unit) => self.first = Some(unit),
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
