//! Patches in the many forms in which they come.

use aime_progress::PlanPatch;
use serde_json::{Value, json};

use super::super::{parse_patch, patch_from_value};

fn read(value: &Value) -> PlanPatch {
    patch_from_value(value).unwrap_or_else(|faults| panic!("{value}\n{faults:?}")).patch
}

#[test]
fn the_contracts_form_needs_no_repair() {
    let value = json!({"schema": "aime.patch/v1", "reasoning": "r", "changes": [
        {"op": "add_task", "task": {"id": "n", "name": "N", "kind": "actor", "description": "d", "dependencies": ["a"]}, "replaces": ["b"]},
        {"op": "modify_task", "id": "a", "change": {"name": "A", "description": "d", "dependencies": ["n"], "parameters": {"x": 1}}},
        {"op": "remove_task", "id": "a", "reason": "r"},
        {"op": "merge_tasks", "ids": ["a", "b"], "task": {"id": "m", "kind": "actor", "description": "d", "dependencies": []}},
        {"op": "block_task", "id": "a", "reason": "r"},
        {"op": "unblock_task", "id": "a"},
        {"op": "cancel_task", "id": "a", "reason": "r"},
        {"op": "add_edge", "edge": {"from": "a", "to": "b", "type": "rollback"}},
        {"op": "remove_edge", "from": "a", "to": "b"},
        {"op": "set_strategic", "strategic": {"approach": "x"}}]});
    let parsed = patch_from_value(&value).unwrap();
    assert_eq!(parsed.repairs, Vec::<String>::new());
    let strict: PlanPatch = serde_json::from_value(
        json!({"schema": "aime.patch/v1", "reasoning": "r", "changes": value["changes"].as_array().unwrap().iter().map(|change| {
        let mut change = change.clone();
        if let Some(task) = change.get_mut("task") { task.as_object_mut().unwrap().entry("name").or_insert(json!("")); }
        change
    }).collect::<Vec<_>>()}),
    )
    .unwrap();
    assert_eq!(parsed.patch, strict);
}

#[test]
fn other_forms_mean_the_same() {
    let add = json!({"op": "add_task", "task": {"id": "n", "name": "", "kind": "actor", "description": "d", "dependencies": []}, "replaces": ["a"]});
    let modify = json!({"op": "modify_task", "id": "a", "change": {"description": "d"}});
    let remove = json!({"op": "remove_task", "id": "a", "reason": ""});
    let cases = [
        (json!({"op": "add", "task": {"id": "n", "description": "d"}, "replaces": "a"}), &add),
        (json!({"op": "add_task", "id": "n", "description": "d", "replaces": ["a"]}), &add),
        (json!({"operation": "create_task", "task": {"id": "n", "description": "d", "replaces": ["a"]}}), &add),
        (json!({"type": "add_task", "new_task": {"id": "n", "description": "d"}, "instead_of": "a"}), &add),
        (json!({"add_task": {"task": {"id": "n", "description": "d"}, "replaces": ["a"]}}), &add),
        (json!({"add_task": {"id": "n", "description": "d", "replaces": ["a"]}}), &add),
        (json!({"id": "n", "description": "d", "replaces": ["a"]}), &add),
        (json!({"op": "replace_task", "replaces": ["a"], "task": {"id": "n", "description": "d"}}), &add),
        (json!({"op": "update_task", "task_id": "a", "description": "d"}), &modify),
        (json!({"op": "modify", "id": "a", "changes": {"description": "d"}}), &modify),
        (json!({"op": "modify_task", "id": "a", "task": {"description": "d"}}), &modify),
        (json!({"op": "modify_task", "task": {"id": "a", "description": "d"}}), &modify),
        (json!({"op": "modify_task", "change": {"task_id": "a", "description": "d"}}), &modify),
        (json!({"op": "modify_task", "task": {"id": "a"}, "description": "d"}), &modify),
        (json!({"modify_task": {"id": "a", "description": "d"}}), &modify),
        (json!({"op": "delete_task", "task": "a"}), &remove),
        (json!({"op": "remove", "task_id": "a"}), &remove),
        (json!({"action": "skip", "id": "a"}), &remove),
        (json!({"op": "retry", "id": "a"}), &json!({"op": "unblock_task", "id": "a"})),
        (
            json!({"op": "add_edge", "from": "a", "to": "b"}),
            &json!({"op": "add_edge", "edge": {"from": "a", "to": "b", "type": "dependency"}}),
        ),
        (json!({"op": "remove_dependency", "edge": {"from": "a", "to": "b"}}), &json!({"op": "remove_edge", "from": "a", "to": "b"})),
        (json!({"op": "set_strategy", "approach": "x"}), &json!({"op": "set_strategic", "strategic": {"approach": "x"}})),
    ];
    for (written, meant) in cases {
        let patch = read(&json!({"changes": [written]}));
        assert_eq!(serde_json::to_value(&patch.changes[0]).unwrap(), with_empty_list(meant), "{written}");
    }
}

fn with_empty_list(meant: &Value) -> Value {
    meant.clone()
}

#[test]
fn other_wrappings_mean_the_same() {
    let change = json!({"op": "unblock_task", "id": "a"});
    for whole in [
        json!({"changes": [change]}),
        json!({"patch": {"changes": [change]}}),
        json!({"operations": [change]}),
        json!({"changes": change}),
        json!([change]),
        change.clone(),
        json!({"changes": [change, {"op": "keep"}, null]}),
    ] {
        assert_eq!(read(&whole).changes.len(), 1, "{whole}");
    }
    for empty in
        [json!({"changes": []}), json!({"reasoning": "fine", "changes": null}), json!([]), json!({"changes": [{"op": "no_change"}]})]
    {
        assert_eq!(read(&empty).changes, vec![], "{empty}");
    }
    assert!(parse_patch("The plan is fine.").is_err());
}

#[test]
fn new_ids_are_made_valid_with_their_mentions() {
    let patch = read(&json!({"changes": [
        {"op": "add_task", "task": {"id": "read part 1", "description": "x"}},
        {"op": "add_task", "task": {"id": 2, "description": "y", "dependencies": ["read part 1", "old"]}},
        {"op": "add_task", "task": {"name": "Write It", "description": "z", "tool": "t", "parameters": {"a": "@{steps.read part 1.result}"}}}]}));
    insta::assert_json_snapshot!(patch.changes);
}

#[test]
fn all_that_cannot_be_read_is_told_at_once() {
    let told = |value: Value| patch_from_value(&value).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(
        [
            told(json!("x")),
            told(json!({"reasoning": "x"})),
            told(json!({"changes": [1, {"op": "explode"}, {}, {"op": "remove_task"}, {"op": "modify_task", "id": "a"},
                {"op": "merge_tasks", "ids": ["a", "b"]}, {"op": "add_task", "task": {"id": "g", "subtasks": ["x"]}}, {"op": "add_edge", "from": "a"}]})),
        ]
        .join("\n--\n"));
}
