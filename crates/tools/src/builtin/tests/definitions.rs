use std::time::Duration;

use super::Place;
use crate::{BuiltinSettings, Executor, builtin, builtin_with};

// Requirement: 8.6, 8.12
#[test]
fn definitions_as_a_model_sees_them() {
    let definitions: Vec<_> = builtin().all_specs().map(|spec| spec.definition.clone()).collect();
    insta::assert_json_snapshot!(definitions);
}

// Requirement: 8.13, 8.14
#[test]
fn what_is_known_of_each_tool() {
    let lines: Vec<_> = builtin()
        .all_specs()
        .map(|spec| {
            let (read_only, idempotent) = (spec.read_only, spec.idempotent);
            let (touches, handled_by, seconds) = (spec.touches, spec.handled_by, spec.time_limit.as_secs());
            let alternatives = spec.alternatives.join(" ");
            format!("{}: read_only={read_only} idempotent={idempotent} {touches:?} {handled_by:?} {seconds}s [{alternatives}]", spec.name())
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn names_and_alternatives_stand() {
    let registry = builtin();
    for spec in registry.all_specs() {
        let name = spec.name();
        assert!((1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        for alternative in &spec.alternatives {
            assert!(registry.get(alternative).is_some() && alternative != name, "{name}: {alternative}");
        }
        let short = spec.simple.as_ref().map_or(&spec.definition, |small| small.as_ref());
        assert!(short.description.len() < 160, "{name}: small models read it");
        assert_eq!(spec.definition.parameters["additionalProperties"], false, "{name}");
        if spec.handled_by == Executor::Runtime {
            assert!(!spec.read_only || spec.repeatable());
        }
    }
}

// Requirement: 8.14
#[tokio::test]
async fn time_limits_can_be_set_and_are_told() {
    let settings = BuiltinSettings { bash_time_limit: Duration::from_secs(1), python_time_limit: Duration::from_secs(7) };
    let registry = builtin_with(&settings);
    for (name, seconds) in [("bash", 1), ("python", 7)] {
        let spec = registry.get(name).unwrap().spec();
        assert_eq!(spec.time_limit, Duration::from_secs(seconds), "{name}");
        let description = &spec.definition.parameters["properties"]["timeout_seconds"]["description"];
        assert_eq!(description, &format!("{seconds} by default"), "{name}");
    }
    let place = Place::new(&[]);
    let slow = serde_json::json!({"command": "sleep 1000"});
    let error = registry.call_with_consent("bash", slow.as_object().unwrap().clone(), &place.context).await.unwrap_err();
    assert!(error.to_string().contains("timed out after 1 s"), "{error}");
}
