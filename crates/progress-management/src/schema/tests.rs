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
    assert_eq!(kinds.len(), 45);
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

/// Returns the words in backticks of a cell of a table.
fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the members or values of a type, each with whether it is always there.
fn members(schema: &Value) -> Vec<(&str, bool)> {
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|required| required.iter().any(|member| member == name));
    let members = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| (name.as_str(), is_required(name)));
    let values = schema["oneOf"].as_array().into_iter().flatten().filter_map(|value| value["const"].as_str()).map(|value| (value, true));
    members.chain(values).filter(|(name, _)| *name != "type" || schema["properties"]["type"]["const"].is_null()).collect()
}

#[test]
fn the_page_on_events_lists_every_member() {
    let page = include_str!("../../../../docs/src/reference/events.md");
    let schema = event_schema();
    let rows: Vec<Vec<&str>> = page.lines().filter(|line| line.starts_with("| ")).map(|line| line.split(" |").collect()).collect();
    let row = |name: &str| rows.iter().find(|row| row[0].trim_start_matches("| ").trim_matches('`') == name);
    let events = schema["oneOf"].as_array().unwrap().iter().map(|event| (event["properties"]["type"]["const"].as_str().unwrap(), event));
    for (name, event) in events.clone() {
        let listed = words(row(name).unwrap_or_else(|| panic!("events.md lacks {name}"))[1]);
        let plain: Vec<&str> = listed.iter().map(|word| word.trim_end_matches('?')).collect();
        let members = members(event);
        assert_eq!(plain, members.iter().map(|(member, _)| *member).collect::<Vec<_>>(), "the members of {name} in events.md");
        for (member, is_required) in members {
            assert!(!is_required || listed.contains(&member), "events.md says that {member} of {name} may be absent");
        }
    }
    let documents = ["Plan", "PlanPatch", "PlanChange", "CommandCheck"];
    let mut types: Vec<&str> = events.flat_map(|(name, _)| row(name).unwrap()[1].split(['(', ')', ' '])).collect();
    types.retain(|word| word.starts_with(char::is_uppercase) && !documents.contains(word));
    while let Some(name) = types.pop() {
        let cell = row(name).unwrap_or_else(|| panic!("events.md lacks {name}"))[1];
        types.extend(cell.split(['(', ')', ' ', ':']).filter(|word| schema["$defs"][*word].is_object() && !documents.contains(word)));
        for (member, is_required) in members(&schema["$defs"][name]) {
            let is_listed = words(cell).iter().any(|word| *word == member || !is_required && word.trim_end_matches('?') == member);
            assert!(is_listed, "events.md lacks {member} of {name}");
        }
    }
}
