use super::*;
use crate::{PlanChange, testing::*};

#[test]
fn the_schemas_are_as_they_were() {
    insta::assert_json_snapshot!("plan", plan_schema());
    insta::assert_json_snapshot!("patch", patch_schema());
}

#[test]
fn a_task_of_an_actor_needs_an_id_and_a_description_alone() {
    for schema in [plan_schema(), patch_schema()] {
        assert_eq!(schema["$defs"]["TaskSpec"]["required"], json!(["id"]));
    }
}

#[test]
fn every_schema_names_its_document() {
    for (schema, name) in
        [(plan_schema(), PLAN_SCHEMA), (patch_schema(), PATCH_SCHEMA), (progress_schema(), PROGRESS_SCHEMA), (event_schema(), EVENT_SCHEMA)]
    {
        assert_eq!(schema["title"], name);
        assert_eq!(schema["properties"]["schema"]["const"], name);
    }
}

#[test]
fn the_event_schema_has_every_kind_of_event() {
    let schema = event_schema();
    let kinds = schema["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), 38);
    for kind in kinds {
        assert!(kind["properties"]["type"]["const"].is_string(), "{kind}");
    }
    assert_eq!(schema["required"], json!(["schema", "run_id", "seq", "time", "type"]));
}

#[test]
fn documents_survive_being_written() {
    let plan = plan_of(vec![spec("a"), spec("g/"), tool("g/t: a", json!({"x": "@{steps.a.result}"}))], vec![conditional("a", "t", "true")]);
    let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
    let patch = patch_of(vec![
        PlanChange::RemoveTask { id: id("a"), reason: "r".into() },
        PlanChange::AddTask { task: Box::new(spec("b")), replaces: ids("a") },
    ]);
    let again: PlanPatch = serde_json::from_value(serde_json::to_value(&patch).unwrap()).unwrap();
    assert_eq!(again, patch);
}
