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
        ("edit_file", _, _, Some(path)) => format!(
            "Change the file {}?\nFrom:\n{}\nTo:\n{}",
            line(path),
            block(text("old_text").unwrap_or_default()),
            block(text("new_text").unwrap_or_default())
        ),
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{RuleLists, Tool, ToolContext, ToolOutput, TypedTool, builtin};

    fn none() -> PermissionRules {
        PermissionRules::at("/base/it", RuleLists::default()).unwrap()
    }

    fn spec(name: &str) -> std::sync::Arc<ToolSpec> {
        builtin().get(name).unwrap().spec().clone()
    }

    fn parameters(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn only_a_clear_yes_is_one_in_either_language() {
        let table = [
            (Some(Consent::Yes), &["y", " Yes. ", "OKAY", "1", "是", "好的！", "可以"][..]),
            (Some(Consent::Always), &["a", "Always", "总是允许。"][..]),
            (Some(Consent::No), &["n", "No!", "否", "不可以"][..]),
            (None, &["", "yes, but slowly", "是的，但是慢点", "maybe", "yesterday"][..]),
        ];
        for (consent, answers) in table {
            for answer in answers {
                assert_eq!(Consent::parse(answer), consent, "{answer:?}");
                assert_eq!(Consent::of(answer), consent.unwrap_or(Consent::No), "{answer:?}");
            }
        }
    }

    // Requirement: 8.13
    #[test]
    fn each_mode_decides_by_what_a_tool_touches() {
        let table = [
            // tool, ask, edits, all, read-only
            ("read_file", "allow", "allow", "allow", "allow"),
            ("grep", "allow", "allow", "allow", "allow"),
            ("write_file", "ask", "allow", "allow", "deny"),
            ("edit_file", "ask", "allow", "allow", "deny"),
            ("bash", "ask", "ask", "allow", "deny"),
            ("python", "ask", "ask", "allow", "deny"),
            ("todo", "allow", "allow", "allow", "allow"),
            ("ask_human", "allow", "allow", "allow", "allow"),
            ("terminate", "allow", "allow", "allow", "allow"),
        ];
        let word = |approval, tool| match decide_permission(ProposedCall::new(approval, &none(), &spec(tool), &Map::new())) {
            PermissionDecision::Allow => "allow",
            PermissionDecision::Ask { .. } => "ask",
            PermissionDecision::Deny { .. } => "deny",
        };
        for (tool, ask, edits, all, read_only) in table {
            let got = [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly].map(|approval| word(approval, tool));
            assert_eq!(got, [ask, edits, all, read_only], "{tool}");
        }
        let mut network = ToolSpec::clone(&spec("bash"));
        network.touches = ToolScope::Network;
        assert!(matches!(
            decide_permission(ProposedCall::new(Approval::Edits, &none(), &network, &Map::new())),
            PermissionDecision::Ask { .. }
        ));
        network.read_only = true;
        assert_eq!(decide_permission(ProposedCall::new(Approval::Edits, &none(), &network, &Map::new())), PermissionDecision::Allow);
    }

    #[test]
    fn a_tool_that_says_nothing_is_asked_about() {
        #[derive(Deserialize, JsonSchema)]
        struct Nothing {}
        let call = |_: Nothing, _: ToolContext| async { Ok(ToolOutput::text("done")) };
        let table = [
            // tool, ask, edits, all, read-only
            (TypedTool::new("odd", "Odd.", call), "ask", "ask", "allow", "deny"),
            (TypedTool::new("odd", "Odd.", call).idempotent(), "ask", "ask", "allow", "deny"),
            (TypedTool::new("odd", "Odd.", call).read_only(), "allow", "allow", "allow", "allow"),
            (TypedTool::new("odd", "Odd.", call).touches(ToolScope::Files), "ask", "allow", "allow", "deny"),
            (TypedTool::new("odd", "Odd.", call).touches(ToolScope::Nothing), "allow", "allow", "allow", "allow"),
        ];
        for (tool, ask, edits, all, read_only) in table {
            let got = [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly].map(|approval| {
                match decide_permission(ProposedCall::new(approval, &none(), tool.spec(), &Map::new())) {
                    PermissionDecision::Allow => "allow",
                    PermissionDecision::Ask { .. } => "ask",
                    PermissionDecision::Deny { .. } => "deny",
                }
            });
            assert_eq!(got, [ask, edits, all, read_only], "{tool:?}");
        }
    }

    // Requirement: 8.5
    #[test]
    fn a_page_is_read_without_consent_where_its_host_is_allowed() {
        let mut page = ToolSpec::clone(&spec("read_file"));
        page.touches = ToolScope::Network;
        page.hosts = Some(vec!["docs.rs".to_owned(), "*.python.org".to_owned()]);
        let table = [
            ("https://docs.rs/serde", true),
            ("https://DOCS.rs./serde", true),
            ("https://docs.python.org/3", true),
            ("https://python.org", false),
            ("https://docs.rs.evil.example", false),
            ("https://user@evil.example/docs.rs", false),
            ("https://docs.rs@evil.example/", false),
            ("https://evil.example#@docs.rs", false),
            ("no address", false),
        ];
        for (url, free) in table {
            let asked = decide_permission(ProposedCall::new(Approval::Edits, &none(), &page, &parameters(json!({"url": url}))));
            assert_eq!(asked == PermissionDecision::Allow, free, "{url}");
            let denied = decide_permission(ProposedCall::new(Approval::ReadOnly, &none(), &page, &parameters(json!({"url": url}))));
            assert_eq!(matches!(denied, PermissionDecision::Deny { .. }), !free, "{url}");
            assert_eq!(
                decide_permission(ProposedCall::new(Approval::All, &none(), &page, &parameters(json!({"url": url})))),
                PermissionDecision::Allow
            );
        }
    }

    #[test]
    fn questions_are_for_people() {
        let table = [
            ("bash", json!({"command": "cargo test\nls"}), "Run this command?\n    cargo test\n    ls"),
            ("bash", json!({"command": "ls \u{1b}[2K\u{202e}x"}), "Run this command?\n    ls \\u{1b}[2K\\u{202e}x"),
            ("python", json!({"code": "print(1)"}), "Run this Python code?\n    print(1)"),
            ("write_file", json!({"path": "a.md", "content": "1\n2\n"}), "Write the file a.md (2 lines)?"),
            ("edit_file", json!({"path": "a.md", "old_text": "1", "new_text": "2"}), "Change the file a.md?\nFrom:\n    1\nTo:\n    2"),
            ("web_fetch", json!({"url": "https://a.example/x"}), "Read this page?\n    https://a.example/x"),
            ("other", json!({}), "Use the tool other?"),
            ("other", json!({"n": 1, "s": "x"}), "Use the tool other with these parameters?\n    n: 1\n    s: x"),
        ];
        for (tool, given, expected) in table {
            assert_eq!(question(tool, &parameters(given)), expected);
        }
        let long = question("bash", &parameters(json!({"command": "x".repeat(5_000)})));
        assert!(long.ends_with("\n    [3000 characters more]"), "{long}");
    }

    #[test]
    fn modes_are_named_as_on_the_command_line() {
        let names = [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly].map(|mode| serde_json::to_value(mode).unwrap());
        assert_eq!(names, ["ask", "edits", "all", "read-only"]);
    }
}
