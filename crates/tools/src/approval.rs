//! Approval of a tool call: it is allowed, a person must consent, or it is denied.

use std::fmt::Write;

use aime_hosts::{host_fits, host_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{PermissionRule, PermissionRules, ToolScope, ToolSpec, permission::RuleMatch};

/// Maximum length in characters of a command or of code in a question.
const MAX_QUESTION_CHARS: usize = 2_000;

/// Approval mode of tool calls: `--approve`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// A person is asked before every call that is not read-only.
    Ask,
    /// Files may be changed; a person is asked before commands and the network.
    #[default]
    Edits,
    /// Everything is allowed.
    All,
    /// Nothing may be changed; a person is asked only if a rule says so.
    ReadOnly,
}

/// A proposed call, with all inputs of the decision on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProposedCall<'a> {
    /// Approval mode of the run.
    pub(crate) approval: Approval,
    /// Spec of the called tool.
    pub(crate) spec: &'a ToolSpec,
    /// Parameters of the call.
    pub(crate) parameters: &'a Map<String, Value>,
    /// Rules, which take precedence over the mode.
    pub(crate) rules: &'a PermissionRules,
}

impl Approval {
    /// Returns the stricter of the two modes.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        let freedom = |mode: Self| match mode {
            Self::ReadOnly => 0,
            Self::Ask => 1,
            Self::Edits => 2,
            Self::All => 3,
        };
        if freedom(other) < freedom(self) { other } else { self }
    }
}

impl<'a> ProposedCall<'a> {
    /// Creates the inputs for one call of a tool.
    #[must_use]
    pub(crate) const fn new(
        approval: Approval,
        rules: &'a PermissionRules,
        spec: &'a ToolSpec,
        parameters: &'a Map<String, Value>,
    ) -> Self {
        Self { approval, spec, parameters, rules }
    }
}

/// Result of [`decide_permission`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionDecision {
    /// The call may be made.
    Allow,
    /// A person must consent first.
    Ask {
        /// Question for the person.
        question: String,
        /// Rules that the answer "always" would add. Empty if no rule describes the call narrowly enough, or if a rule requires the
        /// question each time.
        always: Vec<PermissionRule>,
    },
    /// The call must not be made.
    Deny {
        /// Reason, for the model.
        reason: String,
    },
}

/// Returns true if the call reads a URL on a host that the user has not allowed. Such a call needs consent.
fn reads_elsewhere(spec: &ToolSpec, parameters: &Map<String, Value>) -> bool {
    spec.hosts.as_ref().is_some_and(|hosts| {
        let host = parameters.get("url").and_then(Value::as_str).and_then(host_of);
        !host.is_some_and(|host| hosts.iter().any(|pattern| host_fits(pattern, &host)))
    })
}

fn reads(spec: &ToolSpec, parameters: &Map<String, Value>) -> bool {
    spec.read_only && !reads_elsewhere(spec, parameters)
}

fn harmless(spec: &ToolSpec) -> bool {
    spec.handled_by.is_inside() || matches!(spec.touches, ToolScope::Nothing | ToolScope::People)
}

/// Returns the reason why a read-only run denies the call, or `None` if it allows it.
pub(crate) fn read_only_denies(spec: &ToolSpec, parameters: &Map<String, Value>) -> Option<String> {
    if reads(spec, parameters) || harmless(spec) {
        return None;
    }
    let elsewhere = reads_elsewhere(spec, parameters);
    let why = if elsewhere { "reads a host that web.allowed_hosts does not name" } else { "may change something" };
    Some(format!("`{}` {why}, and this run is read-only", spec.name()))
}

/// Decides on one call. Precedence: deny rules, read-only mode, ask rules, allow rules, the mode.
///
/// A call that stays inside the run or only asks a person is allowed unless a rule denies it or requires a question. Pure.
#[must_use]
pub(crate) fn decide_permission(call: ProposedCall<'_>) -> PermissionDecision {
    let ProposedCall { approval, spec, parameters, rules } = call;
    let (reads, harmless) = (reads(spec, parameters), harmless(spec));
    let verdict = rules.evaluate(approval, spec.name(), parameters);
    let ask = |why: String| PermissionDecision::Ask { question: question(spec.name(), parameters) + &why, always: Vec::new() };
    if let RuleMatch::Denied(rule) = verdict {
        return PermissionDecision::Deny { reason: format!("`{}` is denied here by the rule `{rule}`", spec.name()) };
    }
    if approval == Approval::ReadOnly
        && let Some(reason) = read_only_denies(spec, parameters)
    {
        return PermissionDecision::Deny { reason };
    }
    let allowed = match approval {
        Approval::All => true,
        Approval::Ask | Approval::ReadOnly => reads,
        Approval::Edits => reads || spec.touches == ToolScope::Files,
    };
    // A write to a protected place needs consent even if the mode or a rule allows the call. Exceptions: mode `all`, and a rule that names
    // the place.
    let later = if reads || harmless || approval == Approval::All { Vec::new() } else { rules.protected_writes(spec.name(), parameters) };
    let later = (!later.is_empty()).then_some(later);
    match verdict {
        RuleMatch::PerhapsDenied(rule) => {
            ask(format!("\nThe rule `{rule}` denies something that this call may do. aime cannot tell before it runs whether it will."))
        }
        RuleMatch::Asked(rule) => ask(format!("\nThe rule `{rule}` requires your consent.")),
        RuleMatch::Denied(_) => PermissionDecision::Allow,
        RuleMatch::Allowed if later.is_none() => PermissionDecision::Allow,
        RuleMatch::Silent if later.is_none() && (harmless || allowed) => PermissionDecision::Allow,
        RuleMatch::Allowed | RuleMatch::Silent => {
            let free = allowed || verdict == RuleMatch::Allowed;
            let (mut question, name) = (question(spec.name(), parameters), spec.name());
            let always = match later {
                None => rules.to_remember(approval, name, parameters),
                Some(places) => {
                    question.push_str(&runs_later(&places));
                    rules.to_remember_places(approval, (name, parameters), &places, free)
                }
            };
            PermissionDecision::Ask { question, always }
        }
    }
}

/// Returns the sentence of a question that lists the protected places which the call writes.
fn runs_later(places: &[String]) -> String {
    let places: Vec<String> = places.iter().map(|place| format!("`{}`", line(place))).collect();
    format!("\nIt writes {}: such files run later on their own, outside of aime.", places.join(", "))
}

/// Prefix of the last line of a question, which lists what "always" would allow.
const ALWAYS: &str = "Always allows here: ";

/// Returns the last line of a question: the rules that "always" would add. Empty without rules.
#[must_use]
pub(crate) fn always_note(always: &[PermissionRule]) -> String {
    let rules: Vec<String> = always.iter().map(|rule| format!("`{}`", line(rule.as_str()))).collect();
    if rules.is_empty() { String::new() } else { format!("\n{ALWAYS}{}", rules.join(", ")) }
}

/// A person's answer to the question about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Allow this call.
    Yes,
    /// Allow this call, and add the rules that the question lists.
    Always,
    /// Deny this call.
    No,
}

impl Consent {
    /// Parses an answer in English or Chinese, in any case. Returns `None` for any other text.
    #[must_use]
    pub fn parse(answer: &str) -> Option<Self> {
        let answer = answer.trim().trim_end_matches(['.', '!', '。', '！']).trim_end().to_lowercase();
        match answer.as_str() {
            "y" | "yes" | "ok" | "okay" | "allow" | "allowed" | "approve" | "approved" | "sure" | "true" | "1" | "是" | "是的" | "好"
            | "好的" | "行" | "可以" | "同意" | "允许" => Some(Self::Yes),
            "a" | "always" | "all" | "总是" | "始终" | "一直" | "总是允许" | "始终允许" => Some(Self::Always),
            "n" | "no" | "deny" | "refuse" | "否" | "不" | "不行" | "不要" | "不可以" | "拒绝" => Some(Self::No),
            _ => None,
        }
    }

    /// Normalizes a person's answer for the record: `yes`, `always`, `no`, or the answer itself if it is anything else.
    #[must_use]
    pub fn recorded(answer: String) -> String {
        let word = match Self::parse(&answer) {
            Some(Self::Yes) => "yes",
            Some(Self::Always) => "always",
            Some(Self::No) => "no",
            None => return answer,
        };
        word.to_owned()
    }

    /// Parses an answer. Any text that is not a clear yes counts as [`Self::No`].
    #[must_use]
    pub fn of(answer: &str) -> Self {
        Self::parse(answer).unwrap_or(Self::No)
    }
}

/// Returns true if the question offers "always".
#[must_use]
pub fn offers_always(question: &str) -> bool {
    question.lines().last().is_some_and(|line| line.starts_with(ALWAYS))
}

/// Returns the question for a person, with the parameters that they need to decide.
pub(crate) fn question(tool: &str, parameters: &Map<String, Value>) -> String {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    match (tool, text("command"), text("code"), text("path")) {
        ("bash", Some(command), _, _) => format!("Run this command?\n{}", block(command)),
        ("web_fetch", ..) => format!("Read this page?\n{}", block(text("url").unwrap_or_default())),
        ("python", _, Some(code), _) => format!("Run this Python code?\n{}", block(code)),
        ("write_file", _, _, Some(path)) => {
            let content = text("content").unwrap_or_default();
            format!("Write the file {} ({} lines)?", line(path), content.lines().count())
        }
        ("edit_file", _, _, Some(path)) => format!("Change the file {}?{}", line(path), edits(parameters)),
        _ if parameters.is_empty() => format!("Use the tool {}?", line(tool)),
        _ => {
            let mut question = format!("Use the tool {} with these parameters?", line(tool));
            for (name, value) in parameters {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                // Writing to a string cannot fail.
                let _ = write!(question, "\n{}", block(&format!("{name}: {value}")));
            }
            question
        }
    }
}

/// Returns the lines of a question on each edit of a call of `edit_file`.
fn edits(parameters: &Map<String, Value>) -> String {
    let (mut lines, given) = (String::new(), parameters.get("edits").filter(|edits| !edits.is_null()));
    if given.is_none() || parameters.contains_key("old_text") || parameters.contains_key("new_text") {
        lines.push_str(&edit(parameters));
    }
    let several = given.and_then(Value::as_array).map(Vec::as_slice).or(given.map(std::slice::from_ref)).unwrap_or_default();
    for one in several {
        match one.as_object() {
            Some(parameters) => lines.push_str(&edit(parameters)),
            // The call will fail; the person sees why.
            None => lines.extend(["\n".to_owned(), block(&one.to_string())]),
        }
    }
    lines
}

/// Returns the lines of a question on one edit.
fn edit(parameters: &Map<String, Value>) -> String {
    let text = |name: &str| block(parameters.get(name).and_then(Value::as_str).unwrap_or_default());
    let all = match parameters.get("replace_all") {
        None | Some(Value::Null | Value::Bool(false)) => "",
        Some(_) => " (replace_all: every occurrence)",
    };
    format!("\nFrom{all}:\n{}\nTo:\n{}", text("old_text"), text("new_text"))
}

/// Returns the text indented and cut to [`MAX_QUESTION_CHARS`]. Control characters are escaped, so that no text hides from the reader.
fn block(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUESTION_CHARS).collect();
    let mut lines: Vec<_> = shown.lines().map(|text| format!("    {}", line(text))).collect();
    let left = text.chars().count().saturating_sub(MAX_QUESTION_CHARS);
    if left > 0 {
        lines.push(format!("    [{left} characters more]"));
    }
    lines.join("\n")
}

/// Escapes characters that move a terminal's cursor or change the direction of the text.
fn line(text: &str) -> String {
    let hides = |character: char| {
        (character.is_control() && character != '\t')
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if hides(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    shown
}

#[cfg(test)]
mod tests;
