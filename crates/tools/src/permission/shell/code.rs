//! Parts of a shell command that are code in another language, or prose: a name in them opens a file only if that code does so.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    tree::{ends_where_it_says, parse},
    word::{children, word},
    wrap::is_run_as_shell,
};
use crate::permission::sign::text_of;

/// Programs that run code in another language.
const INTERPRETERS: [&str; 7] = ["bun", "deno", "node", "perl", "php", "python", "ruby"];
/// Signs of parts that the shell runs inside of a quoted text.
const SUBSTITUTIONS: [&str; 3] = ["`", "$(", "<("];

/// Returns the byte ranges of such parts: quoted arguments of several words or with code, and here-documents for an interpreter or a file.
/// Empty if the text cannot be parsed, or if any of its commands may run a text as shell commands.
pub(super) fn code(text: &str) -> Vec<Range<usize>> {
    let Some(tree) = parse(text).filter(|tree| !tree.root_node().has_error()) else { return Vec::new() };
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        match node.kind() {
            "function_definition" => return Vec::new(),
            "command" => {
                let words = children(node).into_iter().filter(|child| !child.kind().ends_with("redirect"));
                let words: Vec<Option<String>> = words.map(|child| text_of(&word(child, text))).collect();
                let Some(Some(name)) = words.first() else { return Vec::new() };
                let is_unknown = name == "." || (name.contains('/') && !is_interpreter(name));
                if is_unknown || words.iter().flatten().any(|word| is_run_as_shell(word)) {
                    return Vec::new();
                }
                found.extend(children(node).into_iter().filter(|child| is_code(*child, text)).map(|child| child.byte_range()));
            }
            "heredoc_redirect" => found.extend(body(node, text)),
            _ => {}
        }
        open.extend(children(node));
    }
    found
}

/// Returns true for an interpreter with or without its folder and version, such as `/usr/bin/python3.12`.
fn is_interpreter(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    INTERPRETERS.contains(&name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.'))
}

/// Returns true for a quoted argument that is more than the path of one file. A path from elsewhere may have blanks.
fn is_code(argument: Node<'_>, source: &str) -> bool {
    let text = source.get(argument.byte_range()).unwrap_or_default();
    let plain = match argument.kind() {
        "raw_string" => true,
        "string" => !SUBSTITUTIONS.iter().any(|sign| text.contains(sign)),
        _ => false,
    };
    let from_elsewhere = text.trim_start_matches(['"', '\'']).starts_with(['/', '~', '$']);
    plain && !from_elsewhere && text.contains(|character: char| character.is_ascii_whitespace() || character == '(')
}

/// Returns the body of a here-document that an interpreter runs, or that goes into a file which is no shell script.
fn body(heredoc: Node<'_>, source: &str) -> Option<Range<usize>> {
    let statement = heredoc.parent().filter(|parent| parent.kind() == "redirected_statement")?;
    let mut command = statement.child_by_field_name("body")?;
    // The grammar assigns the redirections of a list's last command to the whole list.
    while command.kind() == "list" {
        command = children(command).pop()?;
    }
    let name = text_of(&word(command.child_by_field_name("name")?, source))?;
    let body = children(heredoc).into_iter().find(|part| part.kind() == "heredoc_body")?;
    let is_text = children(body).iter().all(|part| part.kind() == "heredoc_content");
    let parts: Vec<Node<'_>> = children(statement).into_iter().chain(children(heredoc)).collect();
    let goes_on = parts.iter().any(|part| part.kind() == "pipeline");
    let to_file = parts.iter().any(|part| part.kind() == "file_redirect");
    let taken = is_interpreter(&name) || (matches!(name.as_str(), "cat" | "tee") && to_file && !goes_on);
    (taken && is_text && ends_where_it_says(heredoc, source)).then(|| body.byte_range())
}
