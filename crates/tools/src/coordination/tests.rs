use serde_json::json;

use super::*;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn ended(given: Value) -> Result<Terminate, String> {
    Terminate::parse(&map(given)).map_err(|error| error.to_string())
}

#[test]
fn terminate_takes_what_was_meant() {
    use TerminateStatus::{Blocked, Failure, Success};
    let table = [
        (Success, ["success", "SUCCESS", "ok", "Done", "completed", "Completed."].as_slice()),
        (Failure, &["failure", "Failed", "error", "ERROR"]),
        (Blocked, &["blocked", "Blocked", "needs input"]),
    ];
    for (expected, words) in table {
        for word in words {
            assert_eq!(ended(json!({"status": word, "message": "m"})).unwrap().status, expected, "{word}");
        }
    }
    assert_eq!(ended(json!({"success": true})).unwrap().status, Success);
    let table = [
        (json!({"message": "m"}), "`status` is missing: success, failure or blocked"),
        (json!({"status": "perhaps"}), "`status` must be success, failure or blocked, not \"perhaps\""),
        (json!({"status": "  "}), "`status` is missing: success, failure or blocked"),
        (json!({"status": "ok", "checks": [{"expect": "exit 0"}]}), "`command` is missing: what to run"),
        (
            json!({"status": "ok", "checks": [{"command": "true", "expect": "all good"}]}),
            "`expect`: \"all good\" is not a valid expectation: write `exit 0`, `output contains TEXT`, `output matches REGEX`, `json PATH equals VALUE`",
        ),
    ];
    for (given, expected) in table {
        assert_eq!(ended(given).unwrap_err(), expected);
    }
}

#[test]
fn checks_come_as_objects_or_commands() {
    let table = [
        (json!(null), vec![]),
        (json!(""), vec![]),
        (json!([{"command": "true"}]), vec![("true", "exit 0")]),
        (json!([{"command": "make test", "expect": "2"}, "true"]), vec![("make test", "exit 2"), ("true", "exit 0")]),
        (json!({"command": "true", "expect": null}), vec![("true", "exit 0")]),
        (json!("make test"), vec![("make test", "exit 0")]),
        (json!("[{\"command\": \"true\"}]"), vec![("true", "exit 0")]),
    ];
    for (given, expected) in table {
        let parsed = ended(json!({"status": "ok", "checks": given})).unwrap();
        let written: Vec<_> = parsed.checks.iter().map(|check| (check.command.as_str(), check.expect.to_string())).collect();
        let found: Vec<_> = written.iter().map(|(command, expect)| (*command, expect.as_str())).collect();
        assert_eq!(found, expected, "{given}");
    }
}

#[test]
fn needs_come_as_a_text_or_a_list() {
    for (given, expected) in [(json!("a key"), Some("a key")), (json!(["a key", "a host"]), Some("a key; a host")), (json!(""), None)] {
        assert_eq!(ended(json!({"status": "blocked", "needs": given})).unwrap().needs.as_deref(), expected, "{given}");
    }
}

#[test]
fn references_come_as_a_list_or_as_one() {
    let table = [
        (json!(["a", "b"]), vec!["a", "b"]),
        (json!("a"), vec!["a"]),
        (json!("[\"a\", \"b\"]"), vec!["a", "b"]),
        (json!(null), vec![]),
        (json!(""), vec![]),
        (json!([1, null, ""]), vec!["1"]),
    ];
    for (given, expected) in table {
        let parsed = Terminate::parse(&map(json!({"status": "ok", "references": given}))).unwrap();
        assert_eq!(parsed.references, expected, "{given}");
    }
}

// Requirement: 4.33
#[test]
fn evidence_is_tolerant_in_case_and_word() {
    let table = [
        (json!({"type": "ERROR", "significance": "High", "content": "c"}), EvidenceKind::Error, Significance::High),
        (json!({"type": "user input", "significance": "CRITICAL", "content": "c"}), EvidenceKind::UserInput, Significance::Critical),
        (json!({"content": "c"}), EvidenceKind::Discovery, Significance::Medium),
        (json!({"kind": "external", "severity": "minor", "message": "c"}), EvidenceKind::External, Significance::Low),
    ];
    for (given, kind, significance) in table {
        let expected = ReportEvidence { kind, significance, content: "c".into(), risk: None };
        assert_eq!(ReportEvidence::parse(&map(given.clone())).unwrap(), expected, "{given}");
    }
    for (given, risk, significance) in [
        (json!({"content": "c", "risk": 2}), Some("2"), Significance::High),
        (json!({"content": "c", "risk": "no pandas", "significance": "low"}), Some("no pandas"), Significance::Low),
        (json!({"content": "c", "risk": 0}), None, Significance::Medium),
        (json!({"content": "c", "risk": null}), None, Significance::Medium),
    ] {
        let parsed = ReportEvidence::parse(&map(given.clone())).unwrap();
        assert_eq!((parsed.risk.as_deref(), parsed.significance), (risk, significance), "{given}");
    }
    let table = [
        (json!({}), "`content` is missing: what was learnt"),
        (json!({"type": "rumour", "content": "c"}), "`type` must be discovery, error, user_input or external, not \"rumour\""),
        (json!({"significance": "9", "content": "c"}), "`significance` must be low, medium, high or critical, not \"9\""),
    ];
    for (given, expected) in table {
        assert_eq!(ReportEvidence::parse(&map(given)).unwrap_err().to_string(), expected);
    }
}

// Requirement: 4.29
#[test]
fn the_others_need_but_one_text() {
    let report = UpdateProgress::parse(&map(json!({"message": "half"}))).unwrap().report;
    assert_eq!((report.status.as_str(), report.message.as_str()), ("in progress", "half"));
    let report = UpdateProgress::parse(&map(json!({"status": 50}))).unwrap().report;
    assert_eq!((report.status.as_str(), report.message.as_str()), ("50", ""));
    assert!(UpdateProgress::parse(&Map::new()).is_err());
    assert_eq!(AskHuman::parse(&map(json!({"question": "why?"}))).unwrap().question, "why?");
    assert!(AskHuman::parse(&map(json!({"question": " "}))).is_err());
}
