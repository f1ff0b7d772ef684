//! Parts of a shell command that are only text: no program opens a file because of them.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    tree::{ends_where_it_says, parse},
    word::{children, word},
};
use crate::permission::sign::text_of;

/// Programs whose first argument is a pattern, and options with which it is none.
const SEARCHERS: [&str; 4] = ["grep", "egrep", "fgrep", "rg"];
const OTHER_PATTERN: [&str; 4] = ["--regexp", "--file", "--files", "--pre"];
/// Programs that only print their arguments.
const PRINTERS: [&str; 2] = ["echo", "printf"];
/// Texts with which a printed text may become the name of a file.
const HAND_ON: [&str; 5] = ["|", "`", "$(", "<(", "eval"];

/// Returns the byte ranges of such parts: comments, patterns of searches, printed words, names of files that are only written, and
/// here-documents that go into a file. Empty if the text cannot be parsed or defines names of its own.
pub(super) fn inert(text: &str) -> Vec<Range<usize>> {
    let Some(tree) = parse(text).filter(|tree| !tree.root_node().has_error()) else { return Vec::new() };
    let hands_on = HAND_ON.iter().any(|sign| text.contains(sign));
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        match node.kind() {
            "function_definition" => return Vec::new(),
            "command" if command_name(node, text).is_some_and(|name| ["alias", "shopt", "set"].contains(&name.as_str())) => {
                return Vec::new();
            }
            "comment" if starts_a_word(node, text) => found.push(node.byte_range()),
            "command" => found.extend(of_command(node, text, hands_on)),
            "file_redirect" if writes(node) => found.extend(destination(node).map(|node| node.byte_range())),
            "heredoc_redirect" => found.extend(written_body(node, text)),
            _ => {}
        }
        open.extend(children(node));
    }
    found
}

fn starts_a_word(comment: Node<'_>, source: &str) -> bool {
    let before = comment.start_byte().checked_sub(1).and_then(|at| source.as_bytes().get(at));
    before.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';'))
}

/// Returns the name of a command's program.
fn command_name(command: Node<'_>, source: &str) -> Option<String> {
    text_of(&word(command.child_by_field_name("name")?, source))
}

fn of_command(command: Node<'_>, source: &str, hands_on: bool) -> Vec<Range<usize>> {
    let Some(name) = command_name(command, source) else { return Vec::new() };
    let mut cursor = command.walk();
    let arguments: Vec<Node<'_>> = command.children_by_field_name("argument", &mut cursor).collect();
    let known = |node: &Node<'_>| text_of(&word(*node, source));
    if PRINTERS.contains(&name.as_str()) && !hands_on && !used_again(statement_of(command), source) {
        return arguments.iter().filter(|argument| known(argument).is_some()).map(Node::byte_range).collect();
    }
    if !SEARCHERS.contains(&name.as_str()) {
        return Vec::new();
    }
    let is_option = |text: &str| text.starts_with('-') && text.len() > 1;
    // `-e` and `-f` name patterns themselves, also at the end of a row of letters.
    let names_pattern = |text: &str| {
        let letters = is_option(text) && !text.starts_with("--") && text.contains(['e', 'f']);
        letters || OTHER_PATTERN.iter().any(|option| text.starts_with(option))
    };
    let texts: Vec<Option<String>> = arguments.iter().map(known).collect();
    if texts.iter().any(|text| text.as_deref().is_none_or(names_pattern)) {
        return Vec::new();
    }
    let first = texts.iter().position(|text| text.as_deref().is_some_and(|text| !is_option(text)));
    first.and_then(|first| arguments.get(first)).map(Node::byte_range).into_iter().collect()
}

/// Returns the body of a here-document that `cat` writes into a file which the command does not name again.
fn written_body(heredoc: Node<'_>, source: &str) -> Option<Range<usize>> {
    let statement = heredoc.parent().filter(|parent| parent.kind() == "redirected_statement")?;
    let mut command = statement.child_by_field_name("body")?;
    // The grammar assigns the redirections of a list's last command to the whole list.
    while command.kind() == "list" {
        command = children(command).pop()?;
    }
    if command.kind() != "command" || command.named_child_count() != 1 {
        return None;
    }
    let only_redirects = children(heredoc)
        .iter()
        .all(|part| !part.is_named() || ["heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"].contains(&part.kind()));
    let body = children(heredoc).into_iter().find(|part| part.kind() == "heredoc_body")?;
    let is_text = children(body).iter().all(|part| part.kind() == "heredoc_content");
    let goes_to_a_file = redirects(statement).len() == 1 && redirects(statement).iter().all(|redirect| writes(*redirect));
    let plain = command_name(command, source)? == "cat" && only_redirects && is_text && goes_to_a_file;
    (plain && ends_where_it_says(heredoc, source) && !used_again(Some(statement), source)).then(|| body.byte_range())
}

/// Returns the statement with the redirections of a command, if it has any.
fn statement_of(command: Node<'_>) -> Option<Node<'_>> {
    let mut above = command.parent()?;
    while above.kind() == "list" {
        above = above.parent()?;
    }
    Some(above)
}

/// Returns the redirections of a statement to and from files.
fn redirects(statement: Node<'_>) -> Vec<Node<'_>> {
    let parts = children(statement);
    let nested = parts.iter().filter(|part| part.kind() == "heredoc_redirect").flat_map(|part| children(*part));
    parts.iter().copied().chain(nested).filter(|part| part.kind() == "file_redirect").collect()
}

fn writes(redirect: Node<'_>) -> bool {
    let operator = children(redirect).into_iter().find(|child| !child.is_named()).map_or("", |child| child.kind());
    matches!(operator, ">" | ">>" | ">|" | "&>" | "&>>") && destination(redirect).is_some()
}

fn destination(redirect: Node<'_>) -> Option<Node<'_>> {
    redirect.child_by_field_name("destination")
}

/// Returns true if a file that the statement writes is named elsewhere in the command, which may then read it.
fn used_again(statement: Option<Node<'_>>, source: &str) -> bool {
    let Some(statement) = statement.filter(|node| node.kind() == "redirected_statement") else { return false };
    redirects(statement).into_iter().filter_map(destination).any(|file| {
        let Some(path) = text_of(&word(file, source)) else { return true };
        let name = path.rsplit('/').next().unwrap_or_default();
        name.is_empty() || source.matches(name).count() > 1
    })
}
