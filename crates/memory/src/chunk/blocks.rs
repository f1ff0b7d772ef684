//! A document as headings and paragraphs. Of Markdown, what is needed to find them: headings of both forms, fences, front matter.

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block<'a> {
    /// A heading of level 1 to 6.
    Heading { level: usize, title: &'a str, line: usize },
    /// Lines without an empty one between them, or a fence: bytes `begin..end`.
    Text { begin: usize, end: usize, line: usize },
}

/// Returns the parts of a document in order. Lines count from 1.
pub(super) fn blocks(text: &str, markdown: bool) -> Vec<Block<'_>> {
    let mut reader = Reader { blocks: Vec::new(), open: None, fence: None };
    let front = if markdown { front_matter(text) } else { 0 };
    let mut begin = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let at = Line { begin, end: begin + line.len(), number: number + 1 };
        begin = at.end;
        if number < front {
            reader.add(at);
        } else if markdown {
            reader.markdown(text, line, at);
        } else if line.trim().is_empty() {
            reader.close();
        } else {
            reader.add(at);
        }
    }
    reader.close();
    reader.blocks
}

#[derive(Clone, Copy)]
struct Line {
    begin: usize,
    end: usize,
    number: usize,
}

struct Reader<'a> {
    blocks: Vec<Block<'a>>,
    /// The paragraph: where it begins and ends, its first line, and how many lines it has.
    open: Option<(usize, usize, usize, usize)>,
    /// Character of the open fence, and its number of repetitions.
    fence: Option<(char, usize)>,
}

impl<'a> Reader<'a> {
    fn markdown(&mut self, text: &'a str, line: &'a str, at: Line) {
        let plain = line.trim();
        let indented = line.len() - line.trim_start_matches(' ').len() > 3;
        if let Some((sign, length)) = self.fence {
            self.add(at);
            if !indented && plain.len() >= length && plain.chars().all(|c| c == sign) {
                self.fence = None;
                self.close();
            }
        } else if plain.is_empty() {
            self.close();
        } else if indented {
            self.add(at);
        } else if let Some(fence) = fence(plain) {
            self.close();
            self.fence = Some(fence);
            self.add(at);
        } else if let Some((level, title)) = heading(plain) {
            self.close();
            self.blocks.push(Block::Heading { level, title, line: at.number });
        } else if let Some((level, title, number)) = self.underlined(text, plain) {
            self.open = None;
            self.blocks.push(Block::Heading { level, title, line: number });
        } else {
            self.add(at);
        }
    }

    /// Returns the heading if the line underlines a single line before it.
    fn underlined(&self, text: &'a str, plain: &str) -> Option<(usize, &'a str, usize)> {
        let level = match plain {
            _ if plain.len() < 3 => None,
            _ if plain.chars().all(|c| c == '=') => Some(1),
            _ if plain.chars().all(|c| c == '-') => Some(2),
            _ => None,
        }?;
        let (begin, end, number, lines) = self.open?;
        let title = text.get(begin..end)?.trim();
        (lines == 1 && !title.starts_with(['-', '*', '>', '|'])).then_some((level, title, number))
    }

    fn add(&mut self, at: Line) {
        let (begin, _, number, lines) = self.open.unwrap_or((at.begin, at.end, at.number, 0));
        self.open = Some((begin, at.end, number, lines + 1));
    }

    fn close(&mut self) {
        if let Some((begin, end, line, _)) = self.open.take() {
            self.blocks.push(Block::Text { begin, end, line });
        }
    }
}

/// Returns the sign and length of a fence that a line opens.
fn fence(plain: &str) -> Option<(char, usize)> {
    let sign = plain.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = plain.trim_start_matches(sign);
    let length = plain.len() - rest.len();
    (length >= 3 && !(sign == '`' && rest.contains('`'))).then_some((sign, length))
}

/// Level and title of a heading with number signs.
fn heading(plain: &str) -> Option<(usize, &str)> {
    let rest = plain.trim_start_matches('#');
    let level = plain.len() - rest.len();
    let title = rest.trim().trim_end_matches('#').trim_end();
    (matches!(level, 1..=6) && rest.starts_with(char::is_whitespace) && !title.is_empty()).then_some((level, title))
}

/// Returns the number of lines of the front matter at the top of a file.
fn front_matter(text: &str) -> usize {
    let mut lines = text.lines();
    match lines.next() {
        Some("---") => lines.take(200).position(|line| line == "---").map_or(0, |end| end + 2),
        _ => 0,
    }
}
