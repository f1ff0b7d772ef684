mod properties;

use serde_json::{Map, Value, json};

use super::{PermissionRule, PermissionRules, RuleError, RuleLists, RuleMatch};
use crate::{
    Approval, ToolScope, ToolSpec,
    approval::{PermissionDecision, ProposedCall, decide_permission},
    builtin,
};

pub(super) const FOLDER: &str = "/base/it";

pub(super) fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> PermissionRules {
    let read = |rules: &[&str]| rules.iter().map(|rule| rule.parse::<PermissionRule>().unwrap()).collect();
    let lists = RuleLists { allow: read(allow), ask: read(ask), deny: read(deny), remembered: Vec::new() };
    PermissionRules::at(FOLDER, lists).unwrap()
}

/// Returns the spec of a built-in tool, or of one that resembles those of servers and of the web.
pub(super) fn spec(name: &str) -> ToolSpec {
    match builtin().get(name) {
        Some(tool) => ToolSpec::clone(tool.spec()),
        None => {
            let mut spec = ToolSpec::clone(builtin().get("bash").unwrap().spec());
            name.clone_into(&mut spec.definition.name);
            spec.touches = ToolScope::Network;
            if name == "web_fetch" {
                (spec.read_only, spec.hosts) = (true, Some(Vec::new()));
            }
            spec
        }
    }
}

pub(super) fn parameters(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(super) fn decision(approval: Approval, rules: &PermissionRules, tool: &str, given: Value) -> PermissionDecision {
    decide_permission(ProposedCall::new(approval, rules, &spec(tool), &parameters(given)))
}

pub(super) fn word(decision: &PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow => "allow",
        PermissionDecision::Ask { .. } => "ask",
        PermissionDecision::Deny { .. } => "deny",
    }
}

fn bash(rules: &PermissionRules, command: &str) -> &'static str {
    word(&decision(Approval::Edits, rules, "bash", json!({"command": command})))
}

// Requirement: 13.1
#[test]
fn a_command_is_allowed_only_if_all_of_it_is() {
    let rules = rules(&["bash(cargo test *)", "bash(git log *)", "bash(ls)", "bash(grep *)", "bash(find *)"], &[], &[]);
    let table = [
        ("cargo test", "allow"),
        ("cargo test --all", "allow"),
        ("cargo  test\t-q", "allow"),
        ("cargo testx", "ask"),
        ("cargo", "ask"),
        ("cargo test && ls", "allow"),
        ("cargo test; rm x", "ask"),
        ("cargo test | grep a", "allow"),
        ("cargo test | sh", "ask"),
        ("cargo test $(rm x)", "ask"),
        ("cargo test $(ls)", "allow"),
        ("cargo test `rm x`", "ask"),
        ("cargo test <(rm x)", "ask"),
        ("cargo test $x", "allow"),
        ("cargo $x", "ask"),
        ("$x test", "ask"),
        ("cargo \"test x\"", "ask"),
        ("'cargo test'", "ask"),
        ("./cargo test", "ask"),
        ("PATH=/evil cargo test", "ask"),
        ("PATH=/evil; cargo test", "ask"),
        ("RUST_LOG=debug cargo test", "allow"),
        ("timeout 60 cargo test", "allow"),
        ("timeout 60 rm x", "ask"),
        ("env RUSTC=evil cargo test", "ask"),
        ("sudo cargo test", "ask"),
        ("sh -c 'cargo test'", "allow"),
        ("sh -c 'cargo test; rm x'", "ask"),
        ("eval ls", "allow"),
        ("eval \"$x\"", "ask"),
        ("ls | xargs grep a", "allow"),
        ("ls | xargs rm", "ask"),
        ("find . -exec grep a {} +", "allow"),
        ("find . -exec rm {} +", "ask"),
        ("f() { rm x; }; cargo test", "ask"),
        ("f() { ls; }; cargo test", "allow"),
        ("cargo test > out.txt", "allow"),
        ("cargo test > ../out.txt", "ask"),
        ("cargo test > .aime/x", "ask"),
        ("cargo test > $x", "ask"),
        ("cargo test 2>&1 > /dev/null", "allow"),
        ("cd x && cargo test > y", "ask"),
        ("ls *", "ask"),
        ("cargo test (", "ask"),
        ("", "ask"),
        ("   # nothing", "ask"),
    ];
    for (command, expected) in table {
        assert_eq!(bash(&rules, command), expected, "{command}");
    }
}

// Requirement: 13.3
#[test]
fn what_denies_a_part_denies_the_whole_and_cannot_be_dodged() {
    let rules = rules(&["bash"], &["bash(git push *)"], &["bash(rm *)", "write_file(.env)", "read_file(secret/**)"]);
    let table = [
        ("ls", "allow"),
        ("git push", "ask"),
        ("ls; git push -f", "ask"),
        ("git -C . push origin", "ask"),
        ("/usr/bin/git --no-pager -c a=$b push", "ask"),
        ("git -C push status", "allow"),
        ("rm x", "deny"),
        ("rm", "deny"),
        ("git push; rm x", "deny"),
        ("ls && (rm x)", "deny"),
        ("echo $(rm x)", "deny"),
        ("/bin/rm x", "deny"),
        ("\\rm x", "deny"),
        ("'r'm x", "deny"),
        ("sudo rm x", "deny"),
        ("A=1 rm x", "deny"),
        ("xargs rm < list", "deny"),
        ("find . -exec rm {} \\;", "deny"),
        ("bash -c 'rm x'", "deny"),
        ("eval 'rm x'", "deny"),
        ("timeout 5 nice rm x", "deny"),
        ("$x y", "ask"),
        ("r$x y", "ask"),
        ("h$x", "allow"),
        ("eval $x", "ask"),
        ("a | sh", "ask"),
        ("echo \"(\" (", "ask"),
        ("echo x > .env", "deny"),
        ("echo x > ./a/../.env", "deny"),
        ("echo x >> /base/it/.env", "deny"),
        ("tee .env", "deny"),
        ("cp a .env", "deny"),
        ("mv .env a", "deny"),
        ("cp .env a", "ask"),
        ("sed -i s/a/b/ .env", "deny"),
        ("dd of=.env", "deny"),
        ("cat > $x", "ask"),
        ("cd a; echo x > .env", "deny"),
        ("cd secret; cat key", "deny"),
        ("cd a; cat ../secret/key", "deny"),
        ("cd a && ls b > c", "allow"),
        ("cd \"$a\"; cat b", "ask"),
        ("while a; do cd ..; cat b; done", "ask"),
        ("cat .env", "allow"),
        ("git add .env", "ask"),
        ("cat secret/key", "deny"),
        ("cat < secret/key", "deny"),
        ("cat $x", "ask"),
        ("cat s*/key", "ask"),
        ("cat docs/*", "allow"),
        ("cat ~/x", "ask"),
        ("python3 x.py secret/key", "ask"),
    ];
    for (command, expected) in table {
        assert_eq!(bash(&rules, command), expected, "{command}");
    }
}

// Requirement: 13.1
#[test]
fn rules_for_paths_hold_for_all_tools_that_touch_the_file() {
    let rules = rules(&["edit_file(*.md)"], &["write_file(docs/**)"], &["read_file(.env)", "write_file(Cargo.lock)", "read_file(secret)"]);
    let path = |path: &str| json!({"path": path});
    let table = [
        ("read_file", path(".env"), "deny"),
        ("read_file", path("a/.env"), "deny"),
        ("read_file", path("./a/../.env"), "deny"),
        ("read_file", path("/base/it/.env"), "deny"),
        ("read_file", path(".env.example"), "allow"),
        ("edit_file", path(".env"), "deny"),
        ("write_file", path(".env"), "allow"),
        ("grep", json!({"pattern": "x", "path": ".env"}), "deny"),
        ("grep", json!({"pattern": "x"}), "allow"),
        ("grep", json!({"pattern": "x", "path": "secret"}), "deny"),
        ("grep", json!({"pattern": "x", "path": "secret/deep"}), "deny"),
        ("glob", json!({"pattern": "*", "path": "secret"}), "deny"),
        ("list_dir", path("secret"), "deny"),
        ("list_dir", path("."), "allow"),
        ("write_file", path("Cargo.lock"), "deny"),
        ("edit_file", path("Cargo.lock"), "deny"),
        ("read_file", path("Cargo.lock"), "allow"),
        ("write_file", path("docs/a.md"), "ask"),
        ("edit_file", path("docs/a.md"), "ask"),
        ("edit_file", path("a.md"), "allow"),
    ];
    for (tool, given, expected) in table {
        assert_eq!(word(&decision(Approval::Edits, &rules, tool, given.clone())), expected, "{tool} {given}");
    }
    let asked = |tool, given| word(&decision(Approval::Ask, &rules, tool, given));
    assert_eq!(
        [asked("edit_file", path("a.md")), asked("write_file", path("a.md")), asked("edit_file", path("a.rs"))],
        ["allow", "ask", "ask"]
    );
}

#[test]
fn what_a_patch_names_is_under_the_rules_of_paths() {
    let rules = rules(&[], &["read_file(notes.md)"], &["write_file(Cargo.lock)", "read_file(secret)"]);
    let patch = |body: &str| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")});
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-a\n+b");
    let table = [
        (patch(&update("a.rs")), "allow"),
        (patch(&update("Cargo.lock")), "deny"),
        (patch(&update("./x/../Cargo.lock")), "deny"),
        (patch(&format!("{}\n{}", update("a.rs"), update("Cargo.lock"))), "deny"),
        (patch("*** Delete File: Cargo.lock"), "deny"),
        (patch("*** Add File: Cargo.lock\n+x"), "deny"),
        (patch("*** Update File: a.rs\n*** Move to: Cargo.lock\n@@\n-a\n+b"), "deny"),
        (json!({"patch": "--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1 +1 @@\n-a\n+b\n"}), "deny"),
        (patch(&update("secret/key")), "deny"),
        (patch(&update("notes.md")), "ask"),
        // An error on lines that do not fit would show the file.
        (json!({"patch": "--- a/notes.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"}), "ask"),
        // An invalid patch changes nothing.
        (json!({"patch": "Cargo.lock"}), "allow"),
    ];
    for (given, expected) in table {
        assert_eq!(word(&decision(Approval::Edits, &rules, "apply_patch", given.clone())), expected, "{given}");
    }
}

#[test]
fn rules_and_hooks_know_every_tool_that_is_built_in() {
    for spec in builtin().all_specs() {
        assert!(super::tool_names().any(|name| name == spec.name()), "{}", spec.name());
        let is_hooked = super::runtime_tool_names().any(|name| name == spec.name());
        assert_eq!(is_hooked, !spec.handled_by.is_inside(), "{}", spec.name());
    }
}

// Requirement: 13.1
#[test]
fn tools_servers_hosts_and_skills_have_rules_too() {
    let rules = rules(
        &["mcp__git__log", "web_fetch(docs.rs)", "web_fetch(*.python.org)", "mcp_read_resource(git)"],
        &["mcp__git__push"],
        &["mcp__db__*", "python", "delegate_task", "web_fetch(evil.docs.rs)", "load_skill(deploy*)"],
    );
    let table = [
        ("mcp__git__log", json!({}), "allow"),
        ("mcp__git__status", json!({}), "ask"),
        ("mcp__git__push", json!({}), "ask"),
        ("mcp__db__drop", json!({}), "deny"),
        ("mcp_call_tool", json!({"name": "mcp__git__log"}), "allow"),
        ("mcp_call_tool", json!({"name": "mcp__db__drop"}), "deny"),
        ("mcp_read_resource", json!({"server": "git"}), "allow"),
        ("mcp_read_resource", json!({"server": "db"}), "ask"),
        ("python", json!({"code": "1"}), "deny"),
        ("delegate_task", json!({"description": "x"}), "deny"),
        ("web_fetch", json!({"url": "https://docs.rs/x"}), "allow"),
        ("web_fetch", json!({"url": "https://docs.python.org/x"}), "allow"),
        ("web_fetch", json!({"url": "https://a.example/docs.rs"}), "ask"),
        ("web_fetch", json!({"url": "https://evil.docs.rs/"}), "deny"),
        ("web_fetch", json!({"url": "nothing"}), "ask"),
        ("load_skill", json!({"name": "deploy-all"}), "deny"),
    ];
    for (tool, given, expected) in table {
        assert_eq!(word(&decision(Approval::Edits, &rules, tool, given.clone())), expected, "{tool} {given}");
    }
}

// Requirement: 13.8
#[test]
fn read_only_is_not_widened_by_any_rule() {
    let rules = rules(&["*", "bash(ls)", "write_file(**)", "web_fetch(*)"], &["read_file(a)"], &["read_file(b)"]);
    let table = [
        ("bash", json!({"command": "ls"}), "deny"),
        ("python", json!({"code": "1"}), "deny"),
        ("write_file", json!({"path": "a"}), "deny"),
        ("edit_file", json!({"path": "c"}), "deny"),
        ("mcp__git__log", json!({}), "deny"),
        ("web_fetch", json!({"url": "https://docs.rs/"}), "deny"),
        ("read_file", json!({"path": "a"}), "ask"),
        ("read_file", json!({"path": "b"}), "deny"),
        ("read_file", json!({"path": "c"}), "allow"),
        ("todo", json!({}), "allow"),
    ];
    for (tool, given, expected) in table {
        assert_eq!(word(&decision(Approval::ReadOnly, &rules, tool, given.clone())), expected, "{tool} {given}");
    }
}

// Requirement: 13.6
#[test]
fn the_rule_is_named_to_the_model_and_to_the_person() {
    let rules = rules(&[], &["bash(git push *)"], &["bash(rm *)"]);
    let reason_of = |command: &str| match decision(Approval::All, &rules, "bash", json!({"command": command})) {
        PermissionDecision::Allow => String::new(),
        PermissionDecision::Ask { question, always } => format!("{question} {}", always.len()),
        PermissionDecision::Deny { reason } => reason,
    };
    assert_eq!(reason_of("rm x"), "`bash` is denied here by the rule `bash(rm *)`");
    assert_eq!(reason_of("git push"), "Run this command?\n    git push\nThe rule `bash(git push *)` requires your consent. 0");
    assert_eq!(
        reason_of("$x y"),
        "Run this command?\n    $x y\nThe rule `bash(rm *)` denies something that this call may do. aime cannot tell before it runs whether it will. 0"
    );
}

// Requirement: 13.7
#[test]
fn always_stands_for_little_more_than_what_was_asked() {
    let none = rules(&["bash(ls)"], &[], &[]);
    let table = [
        ("bash", json!({"command": "cargo test --all"}), "bash(cargo test *)"),
        ("bash", json!({"command": "git log -1 && cargo build"}), "bash(git log *) bash(cargo build *)"),
        ("bash", json!({"command": "ls && git log"}), "bash(git log *)"),
        ("bash", json!({"command": "npm run build -- x"}), "bash(npm run build *)"),
        ("bash", json!({"command": "npm run"}), "bash(npm run)"),
        ("bash", json!({"command": "uv run pytest -q"}), "bash(uv run pytest *)"),
        ("bash", json!({"command": "uv run python x.py"}), "bash(uv run python x.py)"),
        ("bash", json!({"command": "git -C x log"}), "bash(git -C x log)"),
        ("bash", json!({"command": "rm -rf target"}), "bash(rm -rf target)"),
        ("bash", json!({"command": "python3 -c 'print(1)'"}), "bash(python3 -c print\\(1\\))"),
        ("bash", json!({"command": "./run.sh 'a b' '*'"}), "bash(./run.sh a\\ b \\*)"),
        ("bash", json!({"command": "head -3 a.txt"}), "bash(head *)"),
        ("bash", json!({"command": "timeout 5 cargo test"}), "bash(cargo test *)"),
        ("bash", json!({"command": "rm -rf $x"}), ""),
        ("bash", json!({"command": "rm *"}), ""),
        ("bash", json!({"command": "PATH=x cargo test"}), ""),
        ("bash", json!({"command": "x | sh"}), ""),
        ("bash", json!({"command": "("}), ""),
        ("bash", json!({"command": "a; b; c; d; e; f"}), ""),
        ("bash", json!({"command": "make > /tmp/x"}), ""),
        ("python", json!({"code": "1"}), ""),
        ("mcp__git__push", json!({}), "mcp__git__push"),
        ("mcp_call_tool", json!({"name": "mcp__git__push"}), "mcp__git__push"),
        ("mcp_call_tool", json!({"name": "mcp__*"}), ""),
        ("mcp_read_resource", json!({"server": "git"}), "mcp_read_resource(git)"),
        ("web_fetch", json!({"url": "https://Docs.rs/x"}), "web_fetch(docs.rs)"),
        ("web_fetch", json!({"url": "odd"}), ""),
    ];
    for (tool, given, expected) in table {
        let asked = decision(Approval::Edits, &none, tool, given.clone());
        let PermissionDecision::Ask { always, .. } = asked else { panic!("{tool} {given}: {asked:?}") };
        let texts: Vec<String> = always.iter().map(ToString::to_string).collect();
        assert_eq!(texts.join(" "), expected, "{tool} {given}");
        if !always.is_empty() {
            let remembered = none.clone().with_remembered(&always);
            assert_eq!(decision(Approval::Edits, &remembered, tool, given.clone()), PermissionDecision::Allow, "{tool} {given}");
            assert_eq!(word(&decision(Approval::ReadOnly, &remembered, tool, given.clone())), "deny", "{tool} {given}");
            let denied = remembered.with_lists(RuleLists { deny: vec![tool.parse().unwrap()], ..RuleLists::default() });
            assert_eq!(word(&decision(Approval::All, &denied, tool, given)), "deny");
        }
    }
}

/// An actor that may read one file of keys after it has read untrusted text must ask for the next one.
#[test]
fn always_for_one_file_of_keys_allows_no_other() {
    let none = rules(&[], &[], &[]);
    let table = [
        ("read_file", json!({"path": "deploy/.env"}), "read_file(deploy/.env)"),
        ("read_file", json!({"path": ".env"}), "read_file(/base/it/.env)"),
        ("read_file", json!({"path": "/keys/id_ed25519"}), "read_file(/keys/id_ed25519)"),
        ("read_file", json!({"paths": ["a/.env", "b/.env"]}), "read_file(a/.env) read_file(b/.env)"),
        ("read_file", json!({"path": "a/*.key"}), ""),
        ("grep", json!({"pattern": "KEY", "path": ".env"}), ""),
        ("bash", json!({"command": "cat .env"}), "bash(cat .env)"),
        ("bash", json!({"command": "cat a.txt"}), "bash(cat *)"),
        ("mcp__files__read", json!({"path": ".env"}), ""),
        ("mcp_call_tool", json!({"name": "mcp__files__read", "parameters": {"path": ".env"}}), ""),
        ("mcp_read_resource", json!({"server": "files", "uri": "file:///base/it/.env"}), ""),
        ("write_file", json!({"path": ".env"}), "write_file"),
    ];
    for (tool, given, expected) in table {
        let always = none.to_remember(Approval::Edits, tool, &parameters(given.clone()));
        let texts: Vec<String> = always.iter().map(ToString::to_string).collect();
        assert_eq!(texts.join(" "), expected, "{tool} {given}");
        let after = none.clone().with_remembered(&always);
        let verdict = |path: &str| after.evaluate(Approval::All, "read_file", &parameters(json!({"path": path})));
        assert_eq!([verdict("sub/.env"), verdict("id_rsa")], [RuleMatch::Silent, RuleMatch::Silent], "{tool} {given}");
        if tool == "read_file" && !always.is_empty() {
            assert_eq!(after.evaluate(Approval::All, tool, &parameters(given)), RuleMatch::Allowed);
        }
    }
}

// Requirement: 13.2
#[test]
fn what_is_wrong_with_a_rule_is_said() {
    let table = [
        ("", "it begins with the name of a tool"),
        ("(x)", "it begins with the name of a tool"),
        ("bash(x", "`)` is missing"),
        ("bash()", "nothing stands in the parentheses: write `bash`"),
        ("rm -rf", "it begins with the name of a tool"),
        ("bassh(ls)", "there is no `bassh`; did you mean `bash`?"),
        ("bassh", "there is no `bassh`; did you mean `bash`?"),
        ("read_files", "did you mean `read_file`?"),
        ("frobnicate", "there is no `frobnicate`"),
        ("xyz*", "there is no `xyz*`"),
        ("terminate", "can never match: `terminate` stays inside the run"),
        ("grep(src/**)", "not `grep`; a rule `read_file(PATH)` is about it too"),
        ("python(print)", "only `bash`"),
        ("bash(a && b)", "can never match: each command of a line is looked at by itself, so none holds `&`"),
        ("bash(a > b)", "can never match"),
        ("bash(a \"b c\")", "write words without quotes"),
        ("bash(a\\)", "backslash stands at its end"),
        ("write_file(docs/)", "write `docs/**` for all"),
        ("write_file(../x)", "matches nothing"),
        ("write_file(a//b)", "matches nothing"),
        ("write_file(.)", "the path is empty"),
        ("read_file(~/x)", "from the root"),
        ("web_fetch(https://docs.rs/x)", "a host is written alone"),
        ("web_fetch(127.0.0.1:8080)", "a host is written alone"),
        ("mcp__git__log(x)", "only `bash`"),
    ];
    for (text, expected) in table {
        let error: RuleError = text.parse::<PermissionRule>().and_then(|rule| rule.check_tool([])).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let fine = [
        "bash",
        "*",
        "mcp__*",
        "mcp__git__log",
        "write_*",
        "bash(ls)",
        "bash(npm run test:*)",
        "read_file(/etc/**)",
        "web_fetch(*)",
        "bash(a\\;)",
        "delegate_task",
    ];
    for text in fine {
        text.parse::<PermissionRule>().and_then(|rule| rule.check_tool([])).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!("mine".parse::<PermissionRule>().unwrap().check_tool(["mine"]).is_ok());
}

#[test]
fn rules_are_written_and_read_as_text() {
    let before = rules(&["bash(ls *)"], &["python"], &["write_file(**/x)"]);
    let text = serde_json::to_string(&before).unwrap();
    assert_eq!(
        text,
        "{\"folder\":\"/base/it\",\"allow\":[\"bash(ls *)\"],\"ask\":[\"python\"],\"deny\":[\"write_file(**/x)\"],\"remembered\":[]}"
    );
    assert_eq!(serde_json::from_str::<PermissionRules>(&text).unwrap(), before);
    for unknown in ["{}", r#"{"folder":""}"#, r#"{"folder":"base/it"}"#, r#"{"folder":"/base/../it"}"#, r#"{"folder":"/base/it/"}"#] {
        assert!(serde_json::from_str::<PermissionRules>(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn every_file_of_a_call_is_judged() {
    let rules = rules(&[], &["read_file(ask/**)"], &["read_file(.env)"]);
    let table = [
        (json!({"paths": ["a", "b"]}), "allow"),
        (json!({"paths": ["a", "x/.env"]}), "deny"),
        (json!({"path": "a", "paths": [".env"]}), "deny"),
        (json!({"path": ".env", "paths": ["a"]}), "deny"),
        (json!({"paths": ["a", "ask/b"]}), "ask"),
    ];
    for (given, expected) in table {
        assert_eq!(word(&decision(Approval::Edits, &rules, "read_file", given.clone())), expected, "{given}");
    }
}

#[test]
fn an_absolute_path_is_the_same_file() {
    let rules = rules(&[], &[], &["write_file(docs/secret/**)"]);
    for path in ["docs/secret/a", "/base/it/docs/secret/a", "/base/it/../it/docs//secret/a", "./docs/x/../secret/a"] {
        assert_eq!(word(&decision(Approval::All, &rules, "write_file", json!({"path": path, "content": ""}))), "deny", "{path}");
    }
    for folder in ["", ".", "it", "/base/./it", "/base/it/.."] {
        assert_eq!(PermissionRules::at(folder, RuleLists::default()).unwrap_err().folder, folder);
    }
}
