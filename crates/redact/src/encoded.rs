//! The writings of a value by which it is commonly passed on: base64, hexadecimal, percent signs, JSON.

use std::fmt::Write;

/// Minimum length of a value whose encodings are removed. Encodings of shorter values occur too often by chance.
const MIN_VALUE_BYTES: usize = 10;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the value, and its encodings.
pub(crate) fn writings(value: &str) -> Vec<String> {
    let mut writings = vec![value.to_owned()];
    let json = serde_json::Value::from(value).to_string();
    writings.push(json.trim_matches('"').to_owned());
    if value.len() >= MIN_VALUE_BYTES {
        for before in 0..3 {
            let within = base64_within(value.as_bytes(), before);
            // The alphabet for addresses.
            writings.push(within.replace('+', "-").replace('/', "_"));
            writings.push(within);
        }
        let mut hex = String::new();
        let mut percent = String::new();
        for byte in value.bytes() {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                percent.push(char::from(byte));
            } else {
                let _ = write!(percent, "%{byte:02X}");
            }
        }
        writings.push(hex.to_uppercase());
        writings.push(hex);
        writings.push(percent);
    }
    writings.sort();
    writings.dedup();
    writings
}

/// Returns the base64 letters that depend on the value alone, if `before` bytes (of a group of three) precede it.
fn base64_within(value: &[u8], before: usize) -> String {
    let mut letters = String::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in std::iter::repeat_n(0, before).chain(value.iter().copied()) {
        bits = (bits << 8) | u32::from(byte);
        held += 8;
        while held >= 6 {
            held -= 6;
            let letter = BASE64.get(usize::try_from((bits >> held) & 0x3f).unwrap_or_default()).copied().unwrap_or_default();
            letters.push(char::from(letter));
        }
    }
    // The first letters hold bits of the bytes before the value.
    letters.split_off((before * 8).div_ceil(6))
}

/// Returns the bytes of a text in base64, with or without `=` at its end; `None` if it is none.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for letter in text.trim_end_matches('=').bytes() {
        let value = BASE64.iter().position(|known| *known == letter)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [("bWU6cHc=", Some("me:pw")), ("bWU6cHc", Some("me:pw")), ("", Some("")), ("a-b", None), ("a=b", None)] {
            assert_eq!(decoded(text).as_deref(), bytes.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn base64_is_found_at_every_place() {
        // printf 'correct-horse', printf 'xcorrect-horse', printf 'xxcorrect-horse' | base64
        for (before, encoded) in [(0, "Y29ycmVjdC1ob3JzZQ=="), (1, "eGNvcnJlY3QtaG9yc2U="), (2, "eHhjb3JyZWN0LWhvcnNl")] {
            let within = base64_within(b"correct-horse", before);
            assert!(encoded.contains(&within) && within.len() >= 15, "{within} in {encoded}");
        }
    }

    #[test]
    fn short_values_have_no_encodings() {
        assert_eq!(writings("hunter2"), ["hunter2"]);
        assert!(writings("a\"b").contains(&"a\\\"b".to_owned()));
        assert!(writings("hunter2 is it").contains(&"hunter2%20is%20it".to_owned()));
        assert!(writings("hunter2 is it").contains(&"68756e746572322069732069 74".replace(' ', "")));
    }
}
