//! Fonts of a PDF: characters and widths of shown strings (ISO 32000-1, 9.6 to 9.10).

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Encoding, Object};

/// Default width of a glyph in thousandths of the font size.
const USUAL_WIDTH: f64 = 500.0;
/// Maximum number of widths of one font: character codes have two bytes.
const MAX_WIDTHS: usize = 65_536;

/// Font of shown text.
pub(super) struct Font<'a> {
    encoding: Option<Encoding<'a>>,
    widths: BTreeMap<u32, f64>,
    usual: f64,
    /// True if character codes have two bytes.
    wide: bool,
}

impl<'a> Font<'a> {
    /// Reads a font. `max_unpacked` is the maximum size of its character map in bytes.
    pub(super) fn new(document: &'a Document, font: &'a Dictionary, max_unpacked: usize) -> Self {
        let encoding = font.get_font_encoding_with_limit(document, max_unpacked).ok();
        let wide = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
        let (widths, usual) = if wide { composite_widths(document, font) } else { (simple_widths(document, font), USUAL_WIDTH) };
        Self { encoding, widths, usual, wide }
    }

    /// Decodes a shown string. Omits codes of unknown characters.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        let text = self.encoding.as_ref().and_then(|encoding| Document::decode_text(encoding, bytes).ok()).unwrap_or_default();
        text.chars().filter(|character| !character.is_control()).fold(String::new(), |mut plain, character| {
            match character {
                'ﬀ' => plain.push_str("ff"),
                'ﬁ' => plain.push_str("fi"),
                'ﬂ' => plain.push_str("fl"),
                'ﬃ' => plain.push_str("ffi"),
                'ﬄ' => plain.push_str("ffl"),
                '\u{a0}' => plain.push(' '),
                '\u{ad}' | '\u{fffd}' => {}
                other => plain.push(other),
            }
            plain
        })
    }

    /// Returns the total width of the glyphs of a shown string in thousandths of the font size, the number of glyphs, and the number of
    /// single-byte spaces; glyphs and spaces each have additional spacing.
    pub(super) fn advance(&self, bytes: &[u8]) -> (f64, f64, f64) {
        let width = |code: u32| self.widths.get(&code).copied().unwrap_or(self.usual);
        if self.wide {
            let codes = bytes.chunks(2).map(|pair| pair.iter().fold(0, |code, byte| code << 8 | u32::from(*byte)));
            let (sum, count) = codes.fold((0.0, 0.0), |(sum, count), code| (sum + width(code), count + 1.0));
            return (sum, count, 0.0);
        }
        bytes.iter().fold((0.0, 0.0, 0.0), |(sum, count, spaces), byte| {
            (sum + width(u32::from(*byte)), count + 1.0, if *byte == b' ' { spaces + 1.0 } else { spaces })
        })
    }
}

fn simple_widths(document: &Document, font: &Dictionary) -> BTreeMap<u32, f64> {
    let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).ok().and_then(|first| u32::try_from(first).ok());
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let (Some(first), Ok(widths)) = (first, widths) else { return BTreeMap::new() };
    (first..).zip(widths.iter().take(256)).filter_map(|(code, width)| Some((code, number(document, width)?))).collect()
}

/// Returns the widths of a composite font by character code, and the default width. Nearly all composite fonts use the codes as glyph
/// identifiers.
fn composite_widths(document: &Document, font: &Dictionary) -> (BTreeMap<u32, f64>, f64) {
    let mut known = BTreeMap::new();
    let descendants = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array);
    let Some(descendant) = descendants.ok().and_then(|fonts| document.dereference(fonts.first()?).ok()?.1.as_dict().ok()) else {
        return (known, 1000.0);
    };
    let usual = descendant.get(b"DW").ok().and_then(|width| number(document, width)).unwrap_or(1000.0);
    let Ok(list) = descendant.get_deref(b"W", document).and_then(Object::as_array) else { return (known, usual) };
    // Either a code and the widths from there on, or a first code, a last code and the width of all between.
    let mut rest = list.iter();
    while let (Some(first), Some(second)) = (rest.next().and_then(|first| code(document, first)), rest.next()) {
        if let Some(widths) = document.dereference(second).ok().and_then(|(_, second)| second.as_array().ok()) {
            known.extend((first..).zip(widths.iter().take(MAX_WIDTHS)).filter_map(|(code, width)| Some((code, number(document, width)?))));
        } else if let (Some(last), Some(width)) = (code(document, second), rest.next().and_then(|width| number(document, width))) {
            known.extend((first..=last).map(|code| (code, width)));
        }
        if known.len() >= MAX_WIDTHS {
            break;
        }
    }
    (known, usual)
}

/// Returns a character code of two bytes.
fn code(document: &Document, object: &Object) -> Option<u32> {
    document.dereference(object).ok()?.1.as_i64().ok().and_then(|code| u16::try_from(code).ok()).map(u32::from)
}

/// Returns an integer or a real number.
pub(super) fn number(document: &Document, object: &Object) -> Option<f64> {
    document.dereference(object).ok()?.1.as_float().ok().map(f64::from).filter(|number| number.is_finite())
}
