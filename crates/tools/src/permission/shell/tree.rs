//! Converts the grammar's syntax tree to simple commands and redirections.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::{
    EmptiedFile, Parsed, Redirect, SimpleCommand, Word,
    word::{children, word},
    wrap::is_harmless,
};
use crate::permission::sign::text_of;

/// Maximum number of progress reports of the parser, one about every hundred parser steps. A text that needs more counts as unreadable.
const MAX_REPORTS: u32 = 600;

/// Parses a text; `None` if the grammar cannot.
pub(super) fn read(text: &str) -> Option<Parsed> {
    let tree = parse(text)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut read = Parsed::default();
    // An explicit stack instead of recursion, because the nesting of the text is unbounded.
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        read.visit(node, text)?;
        open.extend(children(node).into_iter().rev());
    }
    Some(read)
}

pub(super) fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut reports = 0;
    let mut go_on = |state: &tree_sitter::ParseState| {
        reports += 1;
        if state.has_error() || reports > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let bytes = text.as_bytes();
    parser.parse_with_options(&mut |offset, _| bytes.get(offset..).unwrap_or_default(), None, Some(options))
}

impl Parsed {
    /// Visits one node; `None` for an unexpected kind of node.
    fn visit(&mut self, node: Node<'_>, source: &str) -> Option<()> {
        let text = source.get(node.byte_range())?;
        // Text that a later evaluation would run, or that the grammar parses differently from the shell.
        let text_alone = node.named_child_count() == 0 && !node.kind().starts_with("heredoc") && node.kind() != "comment";
        self.unknown |= text_alone && node.is_named() && (text.contains('`') || text.contains("$(") || text.contains("${"));
        self.repeats |= matches!(node.kind(), "for_statement" | "while_statement" | "c_style_for_statement" | "function_definition");
        match node.kind() {
            _ if !node.is_named() => {}
            "command" => self.command(node, source)?,
            "declaration_command" | "unset_command" => self.declaration(node, source),
            "variable_assignment" => {
                let alone = node.parent().is_none_or(|parent| !matches!(parent.kind(), "command" | "declaration_command"));
                if alone && !is_harmless(text, true) {
                    self.commands.push(SimpleCommand { words: Vec::new(), sets: true, transparent: false });
                }
            }
            "for_statement" => {
                let variable = node.child_by_field_name("variable").and_then(|name| source.get(name.byte_range()))?;
                self.unknown |= !is_harmless(variable, true);
            }
            "file_redirect" => self.redirect(node, source),
            "heredoc_redirect" => self.unknown |= !ends_where_it_says(node, source),
            // These set variables, or run the value of one.
            "expansion" => self.unknown |= text.contains('=') || text.contains('@') && !text.contains("[@]") || text.starts_with("${!"),
            "comment" => {
                let before = node.start_byte().checked_sub(1).and_then(|at| source.as_bytes().get(at));
                self.unknown |= !before.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')'));
            }
            "program"
            | "redirected_statement"
            | "list"
            | "pipeline"
            | "subshell"
            | "compound_statement"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "function_definition"
            | "negated_command"
            | "test_command"
            | "variable_assignments"
            | "command_name"
            | "command_substitution"
            | "process_substitution"
            | "concatenation"
            | "string"
            | "string_content"
            | "translated_string"
            | "word"
            | "number"
            | "array"
            | "variable_name"
            | "special_variable_name"
            | "simple_expansion"
            | "arithmetic_expansion"
            | "brace_expression"
            | "binary_expression"
            | "unary_expression"
            | "postfix_expression"
            | "ternary_expression"
            | "parenthesized_expression"
            | "subscript"
            | "test_operator"
            | "file_descriptor"
            | "heredoc_start"
            | "heredoc_body"
            | "heredoc_content"
            | "heredoc_end"
            | "herestring_redirect"
            | "raw_string"
            | "ansi_c_string"
            | "extglob_pattern"
            | "regex" => {}
            _ => return None,
        }
        Some(())
    }

    fn command(&mut self, node: Node<'_>, source: &str) -> Option<()> {
        let (mut words, mut sets) = (Vec::new(), false);
        let mut end: Option<usize> = None;
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => sets |= !is_harmless(source.get(child.byte_range())?, false),
                "file_redirect" | "herestring_redirect" => {}
                // A function's call followed by parentheses is not something that anybody writes.
                "subshell" => return None,
                _ => {
                    // Two words without a separator would be one word to the shell.
                    let touches = end.is_some_and(|end| end == child.start_byte());
                    self.unknown |= touches;
                    words.push(word(child, source));
                }
            }
            end = Some(child.end_byte());
        }
        self.commands.push(SimpleCommand { words, sets, transparent: false });
        Some(())
    }

    /// Handles `export`, `declare` and similar commands.
    fn declaration(&mut self, node: Node<'_>, source: &str) {
        let mut sets = false;
        let mut words = Vec::new();
        for child in children(node) {
            let text = source.get(child.byte_range()).unwrap_or_default();
            sets |= child.is_named() && !is_harmless(text, false);
            words.push(word(child, source));
        }
        self.commands.push(SimpleCommand { words, sets, transparent: false });
    }

    fn redirect(&mut self, node: Node<'_>, source: &str) {
        let operator = children(node).into_iter().find(|child| !child.is_named()).map_or("", |child| child.kind());
        let (reads, writes) = match operator {
            "<" => (true, false),
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => (false, true),
            "<&" | "<&-" | ">&-" => (false, false),
            _ => (true, true),
        };
        let descriptor = children(node).into_iter().find(|child| child.kind() == "file_descriptor");
        let errors = descriptor.and_then(|descriptor| source.get(descriptor.byte_range())) == Some("2");
        let mut cursor = node.walk();
        // The grammar treats words after the file as files too, although they are words of the command.
        self.unknown |= node.children_by_field_name("destination", &mut cursor).count() > 1;
        for destination in node.children_by_field_name("destination", &mut cursor) {
            let path = word(destination, source);
            let known = text_of(&path);
            let is_number =
                |path: &str| path == "-" || (!path.is_empty() && path.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()));
            let descriptor = matches!(operator, ">&" | "<&") && known.as_deref().is_some_and(is_number);
            if descriptor || known.as_deref().is_some_and(is_standard) {
                continue;
            }
            // An unknown descriptor may be a file.
            let either = operator == "<&";
            if matches!(operator, ">" | ">|" | "&>") {
                self.emptied.push(EmptiedFile { path: path.clone(), commands: commands_beside(node, source) });
            }
            self.redirects.push(Redirect { path, writes: writes || either, reads: reads || either, errors });
        }
    }
}

/// Returns the words of each command of the pipeline that a redirection belongs to.
fn commands_beside(redirect: Node<'_>, source: &str) -> Vec<Vec<Word>> {
    let of_one = |node: &Node<'_>| matches!(node.kind(), "command" | "redirected_statement" | "pipeline" | "negated_command");
    let mut top = redirect;
    while let Some(parent) = top.parent().filter(of_one) {
        top = parent;
    }
    let (mut open, mut commands) = (vec![top], Vec::new());
    while let Some(node) = open.pop() {
        if node.kind() == "command" {
            let words = children(node).into_iter().filter(|child| !child.kind().ends_with("redirect"));
            commands.push(words.map(|child| word(child, source)).collect());
        } else if node.kind() == "list" {
            // The grammar assigns the redirections of a list's last command to the whole list.
            open.extend(children(node).last());
        } else if of_one(&node) {
            open.extend(children(node));
        }
    }
    commands
}

/// Returns true for device paths that are not files.
fn is_standard(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/zero" | "/dev/tty")
}

/// Returns true if the shell ends a here-document at the same line as the grammar.
pub(super) fn ends_where_it_says(node: Node<'_>, source: &str) -> bool {
    let of = |kind: &str| children(node).into_iter().find(|child| child.kind() == kind).and_then(|child| source.get(child.byte_range()));
    let (Some(start), Some(end)) = (of("heredoc_start"), of("heredoc_end")) else { return false };
    let quoted = ['\'', '"'].iter().find_map(|quote| start.strip_prefix(*quote)?.strip_suffix(*quote));
    let word = quoted.unwrap_or(start);
    let plain = !word.is_empty() && word.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    let body = of("heredoc_body").unwrap_or_default();
    // The grammar may treat parts as text that the shell would run.
    if quoted.is_none() && body.contains('`') {
        return false;
    }
    plain && end.trim_start_matches('\t') == word && !body.lines().any(|line| line.trim() == word)
}
