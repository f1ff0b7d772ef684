//! Properties of all rules and calls.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::{decision, rules, word};
use crate::{Approval, PermissionRule, PermissionRules, RuleLists, approval::PermissionDecision};

const RULES: [&str; 22] = [
    "bash",
    "bash(*)",
    "bash(rm *)",
    "bash(git *)",
    "bash(git log *)",
    "bash(ls)",
    "bash(echo *)",
    "bash(cat *)",
    "write_file",
    "write_file(**)",
    "write_file(.env)",
    "write_file(docs/**)",
    "edit_file(*.md)",
    "read_file(.env)",
    "read_file(docs)",
    "read_file(**)",
    "python",
    "*",
    "mcp__*",
    "mcp__git__log",
    "web_fetch(docs.rs)",
    "web_fetch(*)",
];
const COMMANDS: [&str; 18] = [
    "ls",
    "git log -1",
    "git push",
    "rm x",
    "echo a",
    "echo a > .env",
    "cat .env",
    "cat $x",
    "$x",
    "eval $y",
    "echo $(rm x)",
    "x=1",
    "PATH=y",
    "cd docs",
    "cat < docs/a",
    "sh -c 'ls'",
    "timeout 3 git log",
    "echo x > docs/a.md",
];

fn a_rule() -> impl Strategy<Value = &'static str> {
    select(RULES.to_vec())
}

fn some_rules() -> impl Strategy<Value = PermissionRules> {
    let list = || proptest::collection::vec(a_rule(), 0..4);
    (list(), list(), list()).prop_map(|(allow, ask, deny)| rules(&allow, &ask, &deny))
}

fn a_command() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(COMMANDS.to_vec()), 1..4).prop_map(|parts| parts.join(" && "))
}

fn a_call() -> impl Strategy<Value = (&'static str, Value)> {
    let path = || select(vec![".env", "docs/a.md", "a.md", "./docs/../.env", "/etc/passwd", "../x"]);
    prop_oneof![
        a_command().prop_map(|command| ("bash", json!({"command": command}))),
        path().prop_map(|path| ("read_file", json!({"path": path}))),
        path().prop_map(|path| ("write_file", json!({"path": path, "content": ""}))),
        path().prop_map(|path| ("edit_file", json!({"path": path}))),
        path().prop_map(|path| ("grep", json!({"pattern": "x", "path": path}))),
        Just(("python", json!({"code": "1"}))),
        Just(("mcp__git__log", json!({}))),
        select(vec!["https://docs.rs/", "https://a.example/"]).prop_map(|url| ("web_fetch", json!({"url": url}))),
    ]
}

fn a_mode() -> impl Strategy<Value = Approval> {
    select(vec![Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly])
}

fn freedom(decision: &PermissionDecision) -> u8 {
    match word(decision) {
        "allow" => 2,
        "ask" => 1,
        _ => 0,
    }
}

fn read(rule: &str) -> PermissionRule {
    rule.parse().unwrap()
}

proptest! {
    // Requirement: 13.1
    #[test]
    fn what_is_added_to_deny_and_ask_never_frees(rules in some_rules(), rule in a_rule(), (tool, given) in a_call(), mode in a_mode()) {
        let before = decision(mode, &rules, tool, given.clone());
        let mut lists = rules.lists().clone();
        lists.deny.push(read(rule));
        let denying = rules.clone().with_lists(lists);
        prop_assert!(freedom(&decision(mode, &denying, tool, given.clone())) <= freedom(&before));
        let mut lists = rules.lists().clone();
        lists.ask.push(read(rule));
        let asking = rules.with_lists(lists);
        prop_assert!(freedom(&decision(mode, &asking, tool, given)) <= freedom(&before));
    }

    // Requirement: 13.1
    #[test]
    fn what_is_added_to_allow_never_frees_what_is_denied_or_asked_by_a_rule(
        rules in some_rules(), rule in a_rule(), (tool, given) in a_call(), mode in a_mode(), for_good in any::<bool>(),
    ) {
        let before = decision(mode, &rules, tool, given.clone());
        let mut lists = rules.lists().clone();
        if for_good { lists.remembered.push(read(rule)) } else { lists.allow.push(read(rule)) }
        let allowing = rules.clone().with_lists(lists);
        let after = decision(mode, &allowing, tool, given.clone());
        if matches!(before, PermissionDecision::Deny { .. }) {
            prop_assert_eq!(&after, &before);
        }
        let RuleLists { ask, deny, .. } = rules.lists().clone();
        let held = rules.with_lists(RuleLists { ask, deny, ..RuleLists::default() });
        if !matches!(decision(Approval::All, &held, tool, given), PermissionDecision::Allow) && mode != Approval::ReadOnly {
            prop_assert!(!matches!(after, PermissionDecision::Allow));
        }
    }

    // Requirement: 13.3
    #[test]
    fn a_list_of_commands_is_allowed_only_if_each_is(
        rules in some_rules(), parts in proptest::collection::vec(select(COMMANDS.to_vec()), 1..4),
        by in select(vec![" && ", "; ", " | ", " || ", "\n", " & "]), mode in a_mode(),
    ) {
        let of = |command: &str| decision(mode, &rules, "bash", json!({"command": command}));
        if of(&parts.join(by)) == PermissionDecision::Allow && !rules.lists().is_empty() {
            for part in parts {
                // A part that only sets a variable is nothing by itself.
                prop_assert!(of(part) == PermissionDecision::Allow || part == "x=1", "{part}");
            }
        }
    }

    #[test]
    fn a_narrower_mode_never_frees(rules in some_rules(), (tool, given) in a_call(), one in a_mode(), other in a_mode()) {
        let narrower = one.narrower(other);
        prop_assert!(freedom(&decision(narrower, &rules, tool, given.clone())) <= freedom(&decision(one, &rules, tool, given)));
    }

    // Requirement: 13.10
    #[test]
    fn no_chain_of_limits_widens(chain in proptest::collection::vec(some_rules(), 1..5), (tool, given) in a_call(), mode in a_mode()) {
        let mut above: Option<PermissionRules> = None;
        for rules in chain {
            let here = above.as_ref().map_or_else(|| rules.clone(), |most| rules.at_most(most));
            if let Some(most) = &above {
                prop_assert!(freedom(&decision(mode, &here, tool, given.clone())) <= freedom(&decision(mode, most, tool, given.clone())));
            }
            above = Some(here);
        }
    }
}
