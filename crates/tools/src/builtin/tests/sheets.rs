use std::time::Duration;

use super::Place;
use crate::{BuiltinSettings, Executor, builtin, builtin_with};

// Requirement: 8.6, 8.12
#[test]
fn definitions_as_a_model_sees_them() {
    let definitions: Vec<_> = builtin().all_sheets().map(|sheet| sheet.definition.clone()).collect();
    insta::assert_json_snapshot!(definitions);
}

// Requirement: 8.13, 8.14
#[test]
fn what_is_known_of_each_tool() {
    let lines: Vec<_> = builtin()
        .all_sheets()
        .map(|sheet| {
            let (read_only, idempotent) = (sheet.read_only, sheet.idempotent);
            let (touches, handled_by, seconds) = (sheet.touches, sheet.handled_by, sheet.time_limit.as_secs());
            let alternatives = sheet.alternatives.join(" ");
            format!(
                "{}: read_only={read_only} idempotent={idempotent} {touches:?} {handled_by:?} {seconds}s [{alternatives}]",
                sheet.name()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn names_and_alternatives_stand() {
    let registry = builtin();
    for sheet in registry.all_sheets() {
        let name = sheet.name();
        assert!((1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        for alternative in &sheet.alternatives {
            assert!(registry.get(alternative).is_some() && alternative != name, "{name}: {alternative}");
        }
        let short = sheet.simple.as_ref().map_or(&sheet.definition, |small| small.as_ref());
        assert!(short.description.len() < 160, "{name}: small models read it");
        assert_eq!(sheet.definition.parameters["additionalProperties"], false, "{name}");
        if sheet.handled_by == Executor::Runtime {
            assert!(!sheet.read_only || sheet.repeatable());
        }
    }
}

// Requirement: 8.14
#[tokio::test]
async fn time_limits_can_be_set_and_are_told() {
    let settings = BuiltinSettings { bash_time_limit: Duration::from_secs(1), python_time_limit: Duration::from_secs(7) };
    let registry = builtin_with(&settings);
    for (name, seconds) in [("bash", 1), ("python", 7)] {
        let sheet = registry.get(name).unwrap().sheet();
        assert_eq!(sheet.time_limit, Duration::from_secs(seconds), "{name}");
        let description = &sheet.definition.parameters["properties"]["timeout_seconds"]["description"];
        assert_eq!(description, &format!("{seconds} by default"), "{name}");
    }
    let place = Place::new(&[]);
    let slow = serde_json::json!({"command": "sleep 1000"});
    let error = registry.call_with_consent("bash", slow.as_object().unwrap().clone(), &place.context).await.unwrap_err();
    assert!(error.to_string().contains("timed out after 1 s"), "{error}");
}
