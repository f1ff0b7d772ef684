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
        (
            "edit_file",
            json!({"path": "a.md", "edits": [
                {"old_text": "1", "new_text": "2"},
                {"old_text": "a\nb", "new_text": "\u{202e}c", "replace_all": true},
                {"old_text": "5", "new_text": "", "replace_all": false},
            ]}),
            "Change the file a.md?\nFrom:\n    1\nTo:\n    2\n\
             From (replace_all: every occurrence):\n    a\n    b\nTo:\n    \\u{202e}c\nFrom:\n    5\nTo:\n",
        ),
        (
            "edit_file",
            json!({"path": "a.md", "old_text": "1", "new_text": "2", "replace_all": true}),
            "Change the file a.md?\nFrom (replace_all: every occurrence):\n    1\nTo:\n    2",
        ),
        ("edit_file", json!({"path": "a.md", "edits": "odd"}), "Change the file a.md?\n    \"odd\""),
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
