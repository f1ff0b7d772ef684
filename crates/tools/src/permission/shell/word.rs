//! Words of shell commands, without quotes and backslashes. Parts that are filled in at run time are unknown.

use tree_sitter::Node;

use super::super::sign::Sign;
use super::Word;

/// Returns the word of a node. Anything ambiguous is unknown; nothing is guessed.
pub(super) fn word(node: Node<'_>, source: &str) -> Word {
    let text = source.get(node.byte_range()).unwrap_or_default();
    if text == "[" || text == "[[" {
        return text.chars().map(Sign::Char).collect();
    }
    // Braces expand to several words only if they contain one of these.
    let braces = text.contains(',') || text.contains("..");
    let mut reading = WordParser { signs: Vec::new(), braces, shapeless: false };
    reading.read(node, source, 3);
    if reading.shapeless { vec![Sign::Any] } else { reading.signs }
}

struct WordParser {
    signs: Word,
    /// True if braces are expanded.
    braces: bool,
    /// True if some of its characters match others, as in `[ab]`: the whole word is unknown then.
    shapeless: bool,
}

impl WordParser {
    fn read(&mut self, node: Node<'_>, source: &str, deepest: u32) {
        let text = source.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "word" | "number" | "variable_name" | "test_operator" | "extglob_pattern" | "regex" if node.named_child_count() == 0 => {
                self.bare(text);
            }
            "raw_string" => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
                Some(inner) => self.signs.extend(inner.chars().map(Sign::Char)),
                None => self.signs.push(Sign::Any),
            },
            "string" => quoted(node, source, &mut self.signs),
            "command_name" | "concatenation" | "variable_assignment" if deepest > 0 => {
                let mut end = node.start_byte();
                for child in children(node) {
                    // A gap between the parts of one word is text that no part covers.
                    self.signs.extend((child.start_byte() != end).then_some(Sign::Any));
                    end = child.end_byte();
                    self.read(child, source, deepest - 1);
                }
                self.signs.extend((end != node.end_byte()).then_some(Sign::Any));
            }
            _ if !node.is_named() => self.bare(text),
            _ => self.signs.push(Sign::Any),
        }
    }

    /// Reads text outside of quotes.
    fn bare(&mut self, text: &str) {
        let Self { signs, braces, shapeless } = self;
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some('\n') => {}
                    Some(escaped) => signs.push(Sign::Char(escaped)),
                    None => signs.push(Sign::Any),
                },
                '*' | '?' => signs.push(Sign::Glob),
                '[' | '(' | ')' => *shapeless = true,
                '{' | '}' if *braces => *shapeless = true,
                // `$` and quotes are unexpected here.
                '`' | '$' | '"' | '\'' => signs.push(Sign::Any),
                '~' if signs.is_empty() || matches!(signs.last(), Some(Sign::Char('=' | ':'))) => signs.push(Sign::Any),
                other => signs.push(Sign::Char(other)),
            }
        }
    }
}

pub(super) fn children<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// Reads text in double quotes, with parts that may be filled in at run time.
fn quoted(node: Node<'_>, source: &str, signs: &mut Word) {
    let (start, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
    let mut at = start;
    let literal = |from: usize, to: usize, signs: &mut Word| {
        let mut characters = source.get(from..to).unwrap_or_default().chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek()) {
                ('\\', Some('\n')) => drop(characters.next()),
                ('\\', Some('$' | '`' | '"' | '\\')) => signs.extend(characters.next().map(Sign::Char)),
                // A `$` that no part covers, such as one before a space.
                ('`' | '"', _) => signs.push(Sign::Any),
                (other, _) => signs.push(Sign::Char(other)),
            }
        }
    };
    for child in children(node) {
        let known = matches!(child.kind(), "string_content" | "\"");
        if known {
            continue;
        }
        literal(at, child.start_byte().max(at), signs);
        if child.kind() == "$" {
            signs.push(Sign::Char('$'));
        } else {
            signs.push(Sign::Any);
        }
        at = child.end_byte();
    }
    literal(at, end.max(at), signs);
}
