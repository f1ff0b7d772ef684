//! Syntax of one permission rule: `bash(git log *)`, `write_file(docs/**)`, `mcp__git__*`.

use std::{fmt, path::Path, str::FromStr};

use aime_hosts::{check_pattern, host_fits};
use aime_messages::{Describe, Message, message, nearest};
use aime_sandbox::is_protected;
use serde::{Deserialize, Serialize};

use super::{
    act::Act,
    path::PathPattern,
    sign::{MatchCertainty, Piece, fit, known_signs},
};
use crate::{DELEGATE_TASK, names::quoted};

/// Tools that a rule can name, besides those of MCP servers and of embedding programs.
const TOOLS: [(&str, Argument); 21] = [
    ("apply_patch", Argument::None),
    ("bash", Argument::Command),
    ("bash_kill", Argument::None),
    ("bash_output", Argument::None),
    ("delegate_task", Argument::None),
    ("edit_file", Argument::Writes),
    ("glob", Argument::None),
    ("grep", Argument::None),
    ("list_dir", Argument::None),
    ("load_skill", Argument::Text("name")),
    ("mcp_call_tool", Argument::None),
    ("mcp_find_tools", Argument::None),
    ("mcp_get_prompt", Argument::Text("server")),
    ("mcp_list", Argument::Text("server")),
    ("mcp_read_resource", Argument::Text("server")),
    ("python", Argument::None),
    ("read_file", Argument::Reads),
    ("undo_task", Argument::None),
    ("web_fetch", Argument::Host),
    ("web_search", Argument::None),
    ("write_file", Argument::Writes),
];

/// Tools by which an actor reports and asks. They change nothing outside of the run, and never need consent.
const FREE: [&str; 5] = ["ask_human", "report_evidence", "terminate", "todo", "update_progress"];

/// Prefix of the names of MCP tools.
const OF_SERVERS: &str = "mcp__";

/// Returns the names of the built-in tools, including those behind features of this crate.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain(FREE)
}

/// Returns the names of the built-in tools that the runtime carries out. The actor itself answers the calls of the others.
pub fn runtime_tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).filter(|name| *name != DELEGATE_TASK)
}

/// Returns the tool name that is most similar to a misspelt one.
#[must_use]
pub fn nearest_tool(name: &str) -> Option<&'static str> {
    nearest(name, tool_names())
}

/// Meaning of the text in the parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Argument {
    None,
    Command,
    Reads,
    Writes,
    Host,
    /// A pattern for this parameter of the tool.
    Text(&'static str),
}

/// A permission rule: a tool, and a pattern for its calls. The guide describes each form. Serialized as its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PermissionRule {
    text: String,
    tool: String,
    name: Vec<Piece>,
    about: RuleScope,
}

/// Calls that a rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleScope {
    All,
    Command(Vec<Vec<Piece>>),
    Reads(PathPattern),
    Writes(PathPattern),
    Host(String),
    Text { parameter: &'static str, pattern: Vec<Piece> },
}

/// Error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Invalid syntax.
    #[error("{}", self.describe())]
    Form {
        /// Text of the rule.
        rule: String,
        /// Description of the fault.
        problem: String,
    },
    /// Unknown tool.
    #[error("{}", self.describe())]
    UnknownTool {
        /// Text of the rule.
        rule: String,
        /// The unknown name.
        tool: String,
        /// Most similar tool name.
        near: Option<String>,
    },
    /// The rule can never match a call.
    #[error("{}", self.describe())]
    Never {
        /// Text of the rule.
        rule: String,
        /// Reason why it cannot match.
        problem: String,
    },
}

impl Describe for RuleError {
    fn describe(&self) -> Message {
        match self {
            Self::Form { rule, problem } => message!("permission-form", rule, problem),
            Self::UnknownTool { rule, tool, near: Some(near) } => message!("permission-no-tool-near", rule, tool, near),
            Self::UnknownTool { rule, tool, near: None } => message!("permission-no-tool", rule, tool),
            Self::Never { rule, problem } => message!("permission-never", rule, problem),
        }
    }
}

impl PermissionRule {
    /// Returns the rule as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Checks that the tool of the rule exists: a built-in one, one of an MCP server, or one of `others`.
    ///
    /// # Errors
    /// [`RuleError::UnknownTool`] with the most similar name; [`RuleError::Never`] for a tool that needs no permission.
    pub fn check_tool<'a>(&self, others: impl IntoIterator<Item = &'a str>) -> Result<(), RuleError> {
        let (rule, tool) = (self.text.clone(), self.tool.clone());
        let usual: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).chain(others).collect();
        let names = |known: &&str| fit(&self.name, &known_signs(known)) == MatchCertainty::Certain;
        if usual.iter().any(names) || tool.starts_with(OF_SERVERS) {
            return Ok(());
        }
        if FREE.iter().any(names) {
            return Err(RuleError::Never { rule, problem: format!("`{tool}` stays inside the run and needs no permission") });
        }
        let near = nearest(&tool, usual.iter().copied()).map(str::to_owned);
        Err(RuleError::UnknownTool { rule, tool, near })
    }

    /// Matches the rule against one effect of a call. Ask and deny rules (`strictly`) match more than allow rules: a path covers all tools
    /// that touch the file and everything inside a folder; a command covers the same program at another path, and git with options before
    /// its subcommand.
    pub(super) fn fit(&self, act: &Act, strictly: bool) -> MatchCertainty {
        match (&self.about, act) {
            (RuleScope::All, Act::Call { names }) => {
                names.iter().map(|name| fit(&self.name, &known_signs(name))).max().unwrap_or(MatchCertainty::Never)
            }
            (RuleScope::Command(forms), Act::Command(command)) => {
                let mut of_command = command.forms(strictly);
                of_command.iter_mut().flat_map(|text| forms.iter().map(|form| fit(form, text))).max().unwrap_or(MatchCertainty::Never)
            }
            (RuleScope::Command(_) | RuleScope::Reads(_) | RuleScope::Writes(_), Act::Unknown) => MatchCertainty::Possible,
            (RuleScope::Reads(path), Act::Reads { path: read, certain, tool }) if strictly || *tool == Some(self.tool.as_str()) => {
                path.fit(read, strictly).min(certainty(*certain))
            }
            (RuleScope::Reads(path), Act::Looks { path: folder }) if strictly => {
                match path.fit(folder, true).max(path.fit(&folder.all_below(), true)) {
                    // The tool itself skips the files below the folder that a rule protects.
                    MatchCertainty::Possible if folder.known_inside().is_some() => MatchCertainty::Never,
                    other => other,
                }
            }
            (RuleScope::Writes(path), Act::Writes { path: written, certain, tool }) if strictly || *tool == Some(self.tool.as_str()) => {
                path.fit(written, strictly).min(certainty(*certain))
            }
            (RuleScope::Host(pattern), Act::Host(host)) => match host {
                Some(host) if host_fits(pattern, host) => MatchCertainty::Certain,
                Some(_) => MatchCertainty::Never,
                None => MatchCertainty::Possible,
            },
            (RuleScope::Text { parameter, pattern }, Act::Text { tool, parameter: given, text })
                if *tool == self.tool && given == parameter =>
            {
                fit(pattern, &known_signs(text))
            }
            _ => MatchCertainty::Never,
        }
    }

    /// Returns true if the rule allows the tool to write a protected place: its path names the place, and it is for this tool or for
    /// `write_file`, which covers all tools.
    pub(super) fn allows_write(&self, path: &super::path::CallPath, tool: &str) -> bool {
        let RuleScope::Writes(pattern) = &self.about else { return false };
        (self.tool == "write_file" || self.tool == tool) && self.names_protected() && pattern.fit(path, false) == MatchCertainty::Certain
    }

    /// Returns true if the path of the rule names a protected place.
    pub(super) fn names_protected(&self) -> bool {
        let path = self.text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
        matches!(self.about, RuleScope::Writes(_)) && is_protected(Path::new(path.trim()))
    }

    /// Returns true if the rule covers reading this file. Used by tools that search many files.
    pub(super) fn holds_back(&self, path: &super::path::CallPath) -> bool {
        matches!(&self.about, RuleScope::Reads(pattern) if pattern.fit(path, true) != MatchCertainty::Never)
    }
}

const fn certainty(certain: bool) -> MatchCertainty {
    if certain { MatchCertainty::Certain } else { MatchCertainty::Possible }
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<PermissionRule> for String {
    fn from(rule: PermissionRule) -> Self {
        rule.text
    }
}

impl TryFrom<String> for PermissionRule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl FromStr for PermissionRule {
    type Err = RuleError;

    /// Parses a rule. [`PermissionRule::check_tool`] checks that the tool exists.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let form = |problem: String| RuleError::Form { rule: text.to_owned(), problem };
        let (tool, inner) = match text.split_once('(') {
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| form("`)` is missing at its end".to_owned()))?;
                (tool, Some(inner.trim()))
            }
            None => (text, None),
        };
        let named = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '*');
        if tool.is_empty() || !tool.chars().all(named) {
            return Err(form("it begins with the name of a tool, such as `bash(git log *)`".to_owned()));
        }
        let name: Vec<Piece> = tool.chars().map(|character| if character == '*' { Piece::Star } else { Piece::Char(character) }).collect();
        let about = match inner {
            None => RuleScope::All,
            Some("") => return Err(form(format!("nothing stands in the parentheses: write `{tool}` for all of its calls"))),
            Some(_) if nearest_tool(tool).is_some_and(|near| near != tool) && !tool.starts_with(OF_SERVERS) => {
                let near = nearest_tool(tool).map(str::to_owned);
                return Err(RuleError::UnknownTool { rule: text.to_owned(), tool: tool.to_owned(), near });
            }
            Some(inner) => about(tool, inner).map_err(|problem| match problem {
                Problem::Form(problem) => form(problem),
                Problem::Never(problem) => RuleError::Never { rule: text.to_owned(), problem },
            })?,
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), name, about })
    }
}

enum Problem {
    Form(String),
    Never(String),
}

fn about(tool: &str, inner: &str) -> Result<RuleScope, Problem> {
    let argument = TOOLS.iter().find(|(name, _)| *name == tool).map_or(Argument::None, |(_, argument)| *argument);
    match argument {
        Argument::Command => command(inner).map(RuleScope::Command),
        Argument::Reads => PathPattern::read(inner).map(RuleScope::Reads).map_err(Problem::Form),
        Argument::Writes => PathPattern::read(inner).map(RuleScope::Writes).map_err(Problem::Form),
        Argument::Host => host(inner).map(RuleScope::Host),
        Argument::Text(parameter) => {
            let pattern = inner.chars().map(|character| if character == '*' { Piece::Star } else { Piece::Char(character) }).collect();
            Ok(RuleScope::Text { parameter, pattern })
        }
        Argument::None => {
            let with: Vec<&str> = TOOLS.iter().filter(|(_, argument)| *argument != Argument::None).map(|(name, _)| *name).collect();
            let hint = if matches!(tool, "grep" | "glob" | "list_dir") { "; a rule `read_file(PATH)` is about it too" } else { "" };
            Err(Problem::Form(format!("only {} take something in parentheses, not `{tool}`{hint}", quoted(with))))
        }
    }
}

/// Parses the words of a command. `*` matches anything, a final `*` on its own also nothing, and a backslash escapes the next character.
fn command(text: &str) -> Result<Vec<Vec<Piece>>, Problem> {
    // Accept `git log:*` as an alternative spelling of `git log *`.
    let text = text.strip_suffix(":*").map_or_else(|| text.to_owned(), |before| format!("{before} *"));
    let mut words: Vec<Vec<Piece>> = vec![Vec::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let piece = match character {
            '\\' => Piece::Char(characters.next().ok_or_else(|| Problem::Form("a backslash stands at its end".to_owned()))?),
            '*' => Piece::Star,
            ' ' | '\t' => {
                words.extend(words.last().is_some_and(|word| !word.is_empty()).then(Vec::new));
                continue;
            }
            '"' | '\'' => {
                return Err(Problem::Form(
                    "write words without quotes; a space within a word is `\\ `, a quote that belongs to it `\\\"`".to_owned(),
                ));
            }
            ';' | '|' | '&' | '<' | '>' | '`' | '\n' | '(' | ')' => {
                return Err(Problem::Never(format!(
                    "each command of a line is looked at by itself, so none holds `{}`: write one rule for each, and `write_file(PATH)` for a redirection; a sign that belongs to a word is written with a backslash",
                    character.escape_debug()
                )));
            }
            other => Piece::Char(other),
        };
        if let Some(word) = words.last_mut() {
            word.push(piece);
        }
    }
    words.retain(|word| !word.is_empty());
    let bare = (words.len() > 1 && words.last().is_some_and(|word| *word == [Piece::Star]))
        .then(|| joined(words.split_last().map_or(&[], |(_, words)| words)));
    Ok(std::iter::once(joined(&words)).chain(bare).collect())
}

fn joined(words: &[Vec<Piece>]) -> Vec<Piece> {
    words.join(&Piece::Gap)
}

fn host(text: &str) -> Result<String, Problem> {
    let wrong = |_| Problem::Form("a host is written alone: `docs.rs`, `*.python.org`, or `*` for all".to_owned());
    check_pattern(text).map(|()| text.to_owned()).map_err(wrong)
}
