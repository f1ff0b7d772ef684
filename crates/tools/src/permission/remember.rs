//! Rules for the answer "always": they allow a call, and as little else as possible.

use serde_json::{Map, Value};

use super::{
    act::Act,
    rule::PermissionRule,
    shell::SimpleCommand,
    sign::{MatchCertainty, text_of},
};
use crate::secrets::key_file_read;

/// Maximum number of rules from one answer.
const MAX_RULES: usize = 5;

/// Programs with subcommands: the rule contains program and subcommand, followed by any arguments.
const WITH_SUBCOMMANDS: [&str; 22] = [
    "brew", "bundle", "cargo", "composer", "dotnet", "gh", "git", "go", "gradle", "helm", "jj", "just", "make", "mix", "mvn", "npm", "pip",
    "pnpm", "poetry", "rustup", "uv", "yarn",
];
/// Subcommands that have subcommands of their own: the rule contains those, too.
const LEADS: [&str; 6] = ["compose", "exec", "pr", "run", "stash", "tool"];
/// Read-only programs: the rule allows any arguments.
const LOOKING: [&str; 15] =
    ["basename", "cat", "df", "diff", "dirname", "du", "echo", "grep", "head", "ls", "pwd", "stat", "tail", "wc", "which"];
/// Programs that run any code they are given.
const RUNNING_ALL: [&str; 12] = ["bash", "bun", "deno", "env", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"];

/// Returns the rules that would allow a call from now on. `allowed` tells which parts of the call are already allowed. Empty if no rule
/// could allow the call narrowly: code, a command with unknown parts, a page without a host, a search in a file of keys. A rule for a call
/// that names a file of keys allows no other such file.
pub(super) fn to_remember(
    tool: &str,
    parameters: &Map<String, Value>,
    allowed: impl Fn(&Act) -> bool,
    acts: &[Act],
) -> Vec<PermissionRule> {
    let rule = |text: String| text.parse::<PermissionRule>().ok();
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let names_keys = key_file_read(tool, parameters, None).is_some();
    match tool {
        // Each code has different effects.
        "python" => Vec::new(),
        "bash" => of_parts(acts, allowed, names_keys).unwrap_or_default(),
        // Reading needs consent only for a file of keys.
        "read_file" => of_reads(acts, allowed).unwrap_or_default(),
        "grep" | "glob" | "list_dir" => Vec::new(),
        "write_file" | "edit_file" | "apply_patch" => rule(tool.to_owned()).into_iter().collect(),
        // No rule describes the files of another tool.
        _ if names_keys => Vec::new(),
        "web_fetch" => acts
            .iter()
            .find_map(|act| if let Act::Host(Some(host)) = act { rule(format!("web_fetch({host})")) } else { None })
            .into_iter()
            .collect(),
        "mcp_call_tool" => {
            text("name").and_then(|name| rule(name.to_owned())).filter(|rule| !rule.as_str().contains('*')).into_iter().collect()
        }
        "mcp_list" | "mcp_read_resource" | "mcp_get_prompt" => {
            let server = text("server").filter(|server| !server.contains('*'));
            server.and_then(|server| rule(format!("{tool}({server})"))).into_iter().collect()
        }
        _ => rule(tool.to_owned()).into_iter().collect(),
    }
}

/// Returns a rule for each file that a call of `read_file` reads.
fn of_reads(acts: &[Act], allowed: impl Fn(&Act) -> bool) -> Option<Vec<PermissionRule>> {
    of_each(acts, allowed, |act| match act {
        Act::Reads { path, .. } => path.alone_in_rule().map(|path| format!("read_file({path})")),
        _ => None,
    })
}

/// Returns a rule for each part of a shell command. With `exact`, a rule for a command contains all of its words.
fn of_parts(acts: &[Act], allowed: impl Fn(&Act) -> bool, exact: bool) -> Option<Vec<PermissionRule>> {
    of_each(acts, allowed, |act| match act {
        Act::Command(command) => of_command(command, exact),
        Act::Writes { path, .. } => path.known_inside().filter(|path| !path.contains(['*', '?'])).map(|path| format!("write_file({path})")),
        _ => None,
    })
}

/// Returns a rule for each effect that is not allowed yet; `None` if one of them has no narrow rule, or if there are too many.
fn of_each(acts: &[Act], allowed: impl Fn(&Act) -> bool, rule_of: impl Fn(&Act) -> Option<String>) -> Option<Vec<PermissionRule>> {
    let mut rules: Vec<PermissionRule> = Vec::new();
    for act in acts.iter().filter(|act| !matches!(act, Act::Call { .. }) && !allowed(act)) {
        let rule: PermissionRule = rule_of(act)?.parse().ok()?;
        // The rule must allow exactly this, in spite of special characters in it.
        if rule.fit(act, false) != MatchCertainty::Certain {
            return None;
        }
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (rules.len() <= MAX_RULES).then_some(rules)
}

/// Returns the beginning of a command if it describes the effect and the command need not be `exact`, or else the complete command.
fn of_command(command: &SimpleCommand, exact: bool) -> Option<String> {
    if command.sets {
        return None;
    }
    let words: Option<Vec<String>> = command.words.iter().map(|word| text_of(word)).collect();
    let words = words?;
    let (program, rest) = words.split_first()?;
    let plain = |word: &&String| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_:".contains(sign))
    };
    let count = match rest.first().filter(plain) {
        _ if exact => 0,
        _ if LOOKING.contains(&program.as_str()) => 1,
        Some(second) if WITH_SUBCOMMANDS.contains(&program.as_str()) => {
            let third = rest.get(1).filter(plain).filter(|third| !RUNNING_ALL.contains(&third.as_str()));
            match third {
                _ if !LEADS.contains(&second.as_str()) => 2,
                Some(_) => 3,
                None => 0,
            }
        }
        _ => 0,
    };
    let kept: Vec<String> = words.iter().take(if count == 0 { usize::MAX } else { count }).map(|word| escaped(word)).collect();
    let end = if count == 0 { "" } else { " *" };
    Some(format!("bash({}{end})", kept.join(" ")))
}

/// Escapes a word so that a rule matches it literally.
fn escaped(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    for character in word.chars() {
        if !(character.is_alphanumeric() || "-_./:=@%+,#^~![]{}?".contains(character)) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}
