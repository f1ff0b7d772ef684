//! Derives lines and words from the positions of glyphs, because a PDF contains neither (ISO 32000-1, 9.4).

use std::{collections::BTreeMap, rc::Rc};

use lopdf::{Dictionary, Document, Object, ObjectId, content::Content};

use super::font::{Font, number};

/// Maximum nesting of forms.
const MAX_FORMS: usize = 8;
/// Maximum number of operations that are read of one page with its forms: a form may be drawn any number of times.
const MAX_OPERATIONS: usize = 1_000_000;
/// Maximum number of saved graphics states.
const MAX_KEPT: usize = 256;
/// Minimum gaps of a new word, a new line and a new paragraph, as fractions of the font size.
const WORD: f64 = 0.18;
const LINE: f64 = 0.4;
const PARAGRAPH: f64 = 1.9;

/// Transformation matrix `[a b c d e f]` of ISO 32000-1, 8.3.3.
type Matrix = [f64; 6];
const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// Returns the transformation that applies `a`, then `b`.
fn product(a: &Matrix, b: &Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}

/// Reader for pages of one document.
pub(super) struct PageReader<'a> {
    document: &'a Document,
    max_unpacked: usize,
    /// Cache of fonts by the address of their dictionary in the document.
    fonts: BTreeMap<*const Dictionary, Rc<Font<'a>>>,
}

/// Text placement part of the graphics state.
#[derive(Clone)]
struct State<'a> {
    page: Matrix,
    font: Option<Rc<Font<'a>>>,
    size: f64,
    leading: f64,
    character_spacing: f64,
    word_spacing: f64,
    scale: f64,
}

/// State while a page is read.
struct Page {
    text: String,
    /// Position on the page at which the last string ended.
    end: Option<(f64, f64)>,
    /// Remaining numbers of operations and characters.
    operations: usize,
    room: usize,
}

impl<'a> PageReader<'a> {
    /// Creates a reader. `max_unpacked` is the maximum size of each stream in bytes.
    pub(super) const fn new(document: &'a Document, max_unpacked: usize) -> Self {
        Self { document, max_unpacked, fonts: BTreeMap::new() }
    }

    /// Returns the text of a page, about `room` characters at most. Omits parts that cannot be read.
    pub(super) fn read(&mut self, id: ObjectId, room: usize) -> String {
        let document = self.document;
        let mut page = Page { text: String::new(), end: None, operations: MAX_OPERATIONS, room };
        let (own, inherited) = document.get_page_resources(id).unwrap_or_default();
        let inherited = inherited.into_iter().filter_map(|id| document.get_dictionary(id).ok());
        let resources: Vec<_> = own.into_iter().chain(inherited).collect();
        if let Ok(content) = document.get_page_content_with_limit(id, self.max_unpacked) {
            let state =
                State { page: IDENTITY, font: None, size: 1.0, leading: 0.0, character_spacing: 0.0, word_spacing: 0.0, scale: 1.0 };
            self.draw(&content, &resources, state, &mut page, 0);
        }
        let lines: Vec<&str> = page.text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_matches('\n').to_owned()
    }

    fn draw(&mut self, content: &[u8], resources: &[&'a Dictionary], mut state: State<'a>, page: &mut Page, depth: usize) {
        let document = self.document;
        let Ok(content) = Content::decode(content) else { return };
        let mut kept = Vec::new();
        let (mut line, mut text) = (IDENTITY, IDENTITY);
        for operation in &content.operations {
            if page.operations == 0 || page.room == 0 {
                return;
            }
            page.operations -= 1;
            let operands = &operation.operands;
            let at = |place: usize| operands.get(place).and_then(|operand| number(document, operand));
            let matrix = || Some([at(0)?, at(1)?, at(2)?, at(3)?, at(4)?, at(5)?]);
            let mut move_line = |x: f64, y: f64, text: &mut Matrix| {
                line = product(&[1.0, 0.0, 0.0, 1.0, x, y], &line);
                *text = line;
            };
            match operation.operator.as_str() {
                "q" if kept.len() < MAX_KEPT => kept.push(state.clone()),
                "Q" => state = kept.pop().unwrap_or(state),
                "cm" => state.page = matrix().map_or(state.page, |matrix| product(&matrix, &state.page)),
                "BT" => (line, text) = (IDENTITY, IDENTITY),
                "Tf" => {
                    let font = operands.first().and_then(|name| named_resource(document, resources, b"Font", name)?.as_dict().ok());
                    state.font = font.map(|font| self.font(font));
                    state.size = at(1).unwrap_or(state.size);
                }
                "TL" => state.leading = at(0).unwrap_or(0.0),
                "Tc" => state.character_spacing = at(0).unwrap_or(0.0),
                "Tw" => state.word_spacing = at(0).unwrap_or(0.0),
                "Tz" => state.scale = at(0).unwrap_or(100.0) / 100.0,
                "Td" => move_line(at(0).unwrap_or(0.0), at(1).unwrap_or(0.0), &mut text),
                "TD" => {
                    state.leading = -at(1).unwrap_or(0.0);
                    move_line(at(0).unwrap_or(0.0), -state.leading, &mut text);
                }
                "T*" => move_line(0.0, -state.leading, &mut text),
                "Tm" => {
                    line = matrix().unwrap_or(line);
                    text = line;
                }
                "Tj" | "TJ" => show(operands, document, &state, &mut text, page),
                "'" | "\"" => {
                    if let (Some(word), Some(character)) = (at(0), at(1)) {
                        (state.word_spacing, state.character_spacing) = (word, character);
                    }
                    move_line(0.0, -state.leading, &mut text);
                    show(operands, document, &state, &mut text, page);
                }
                "Do" if depth < MAX_FORMS => {
                    let form = operands.first().and_then(|name| named_resource(document, resources, b"XObject", name)?.as_stream().ok());
                    let Some(form) =
                        form.filter(|form| form.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Form"))
                    else {
                        continue;
                    };
                    let Ok(content) = form.get_plain_content_with_limit(self.max_unpacked) else { continue };
                    // Unpacking a form takes time even if it draws little.
                    page.operations = page.operations.saturating_sub(content.len() / 16);
                    let own = form.dict.get_deref(b"Resources", document).and_then(Object::as_dict).ok();
                    let within = own.map_or_else(|| resources.to_vec(), |own| vec![own]);
                    let mut inside = state.clone();
                    if let Some(matrix) = form.dict.get_deref(b"Matrix", document).ok().and_then(|matrix| of_six(document, matrix)) {
                        inside.page = product(&matrix, &inside.page);
                    }
                    self.draw(&content, &within, inside, page, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn font(&mut self, dictionary: &'a Dictionary) -> Rc<Font<'a>> {
        let (document, max_unpacked) = (self.document, self.max_unpacked);
        let read = || Rc::new(Font::new(document, dictionary, max_unpacked));
        Rc::clone(self.fonts.entry(std::ptr::from_ref(dictionary)).or_insert_with(read))
    }
}

/// Returns the resource of a kind with this name.
fn named_resource<'a>(document: &'a Document, resources: &[&'a Dictionary], kind: &[u8], name: &Object) -> Option<&'a Object> {
    let name = name.as_name().ok()?;
    let kinds = resources.iter().filter_map(|resources| resources.get_deref(kind, document).and_then(Object::as_dict).ok());
    kinds.filter_map(|all| all.get_deref(name, document).ok()).next()
}

fn of_six(document: &Document, object: &Object) -> Option<Matrix> {
    let numbers: Vec<f64> = object.as_array().ok()?.iter().filter_map(|part| number(document, part)).collect();
    numbers.try_into().ok()
}

/// Shows strings, and moves the position by the numbers between them.
fn show(operands: &[Object], document: &Document, state: &State<'_>, text: &mut Matrix, page: &mut Page) {
    let Some(font) = &state.font else { return };
    for operand in operands {
        match operand {
            Object::Array(parts) => {
                for part in parts {
                    match part {
                        Object::String(bytes, _) => show_one(bytes, font, state, text, page),
                        part => {
                            let back = number(document, part).unwrap_or(0.0) / 1000.0 * state.size * state.scale;
                            *text = product(&[1.0, 0.0, 0.0, 1.0, -back, 0.0], text);
                        }
                    }
                }
            }
            Object::String(bytes, _) => show_one(bytes, font, state, text, page),
            _ => {}
        }
    }
}

fn show_one(bytes: &[u8], font: &Font<'_>, state: &State<'_>, text: &mut Matrix, page: &mut Page) {
    let (widths, glyphs, spaces) = font.advance(bytes);
    let advance = (widths / 1000.0 * state.size + glyphs * state.character_spacing + spaces * state.word_spacing) * state.scale;
    let placed = product(text, &state.page);
    *text = product(&[1.0, 0.0, 0.0, 1.0, advance, 0.0], text);
    let after = product(text, &state.page);
    let shown = font.text(bytes);
    if shown.is_empty() {
        return;
    }
    page.separate(&placed, state.size);
    page.end = Some((after[4], after[5]));
    let fitting: String = shown.chars().take(page.room).collect();
    page.room -= fitting.chars().count();
    // Merge consecutive gaps of one kind.
    let again = page.text.ends_with([' ', '\n']) || page.text.is_empty();
    page.text.push_str(if again { fitting.trim_start() } else { &fitting });
}

impl Page {
    /// Appends the separator for the distance between two strings: nothing, a space, a line break or a paragraph. Distances are measured
    /// along and across the direction of the second string.
    fn separate(&mut self, placed: &Matrix, size: f64) {
        let Some((x, y)) = self.end else { return };
        let [a, b, c, d, ..] = *placed;
        let (along, across) = (a.hypot(b), c.hypot(d));
        let size = size.abs() * if across > 0.0 { across } else { along };
        if size <= 0.0 || along <= 0.0 {
            return;
        }
        let (dx, dy) = (placed[4] - x, placed[5] - y);
        let forward = (dx * a + dy * b) / along / size;
        let aside = ((dy * a - dx * b) / along / size).abs();
        if aside > LINE || forward < -3.0 {
            let end = self.text.trim_end_matches([' ', '\n']).len();
            self.text.truncate(end);
            self.text.push_str(if aside > PARAGRAPH { "\n\n" } else { "\n" });
        } else if forward > WORD && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }
}
