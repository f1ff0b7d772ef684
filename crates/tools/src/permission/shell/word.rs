//! Words as the shell understands them: quotes and backslashes are taken away, what is filled in at run time is unknown.

use tree_sitter::Node;

use super::super::sign::Sign;
use super::Word;

/// The word of a node. Anything that is not plainly known is unknown, never guessed.
pub(super) fn word(node: Node<'_>, source: &str) -> Word {
    let mut signs = Vec::new();
    // Braces become several words only with one of these between them.
    let text = source.get(node.byte_range()).unwrap_or_default();
    let braces = text.contains(',') || text.contains("..");
    read(node, source, &mut signs, 3, braces);
    signs
}

fn read(node: Node<'_>, source: &str, signs: &mut Word, deepest: u32, braces: bool) {
    let text = source.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "word" | "number" | "variable_name" | "test_operator" | "extglob_pattern" | "regex" if node.named_child_count() == 0 => {
            bare(text, signs, braces);
        }
        "raw_string" => {
            let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            match inner {
                Some(inner) => signs.extend(inner.chars().map(Sign::Char)),
                None => signs.push(Sign::Any),
            }
        }
        "string" => quoted(node, source, signs),
        "command_name" | "concatenation" | "variable_assignment" if deepest > 0 => {
            let mut end = node.start_byte();
            for child in children(node) {
                // Between the parts of one word there is nothing, or what no part stands for.
                signs.extend((child.start_byte() != end).then_some(Sign::Any));
                end = child.end_byte();
                if child.is_named() {
                    read(child, source, signs, deepest - 1, braces);
                } else {
                    bare(source.get(child.byte_range()).unwrap_or_default(), signs, braces);
                }
            }
            signs.extend((end != node.end_byte()).then_some(Sign::Any));
        }
        _ if !node.is_named() => bare(text, signs, braces),
        _ => signs.push(Sign::Any),
    }
}

pub(super) fn children<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// Text outside of quotes.
fn bare(text: &str, signs: &mut Word, braces: bool) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') => {}
                Some(escaped) => signs.push(Sign::Char(escaped)),
                None => signs.push(Sign::Any),
            },
            '*' | '?' => signs.push(Sign::Glob),
            // `[` alone is a command.
            '[' if text != "[" => signs.push(Sign::Any),
            // `~` may become anything, and here `$` and quotes should not stand.
            '{' | '}' if braces => signs.push(Sign::Any),
            '`' | '$' | '"' | '\'' | '(' | ')' => signs.push(Sign::Any),
            '~' if signs.is_empty() || matches!(signs.last(), Some(Sign::Char('=' | ':'))) => signs.push(Sign::Any),
            other => signs.push(Sign::Char(other)),
        }
    }
}

/// Text in double quotes, of which parts may be filled in.
fn quoted(node: Node<'_>, source: &str, signs: &mut Word) {
    let (start, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
    let mut at = start;
    let literal = |from: usize, to: usize, signs: &mut Word| {
        let mut characters = source.get(from..to).unwrap_or_default().chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek()) {
                ('\\', Some('\n')) => drop(characters.next()),
                ('\\', Some('$' | '`' | '"' | '\\')) => signs.extend(characters.next().map(Sign::Char)),
                // A `$` that no part stands for, such as one before a space.
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
