//! Patches in many written forms.

use aime_progress_management::{Plan, PlanChange, PlanPatch, TaskId, TaskSpec};
use serde_json::{Value, json};

use super::no_plan;
use crate::patch_from_value;

fn read(value: &Value) -> PlanPatch {
    read_of(value, &no_plan())
}

fn read_of(value: &Value, plan: &Plan) -> PlanPatch {
    patch_from_value(value, plan).unwrap_or_else(|faults| panic!("{value}\n{faults:?}")).patch
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
    let parsed = patch_from_value(&value, &no_plan()).unwrap();
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
fn of_the_strategic_part_that_alone_is_read_which_is_named() {
    let table = [
        (json!({"strategic": {"approach": "x", "success_criteria": null}}), json!({"approach": "x"})),
        (json!({"strategy": "x"}), json!({"approach": "x"})),
        (json!({"risks": [], "criteria": "a exists"}), json!({"risks": [], "success_criteria": ["a exists"]})),
    ];
    for (mut change, expected) in table {
        change["op"] = json!("set_strategic");
        let patch = serde_json::to_value(read(&json!({"changes": [change]}))).unwrap();
        assert_eq!(patch["changes"][0]["strategic"], expected, "{change}");
    }
}

#[test]
fn a_word_for_nothing_may_be_the_id_of_a_new_task() {
    let add = |task: Value, replaces: &str| json!({"op": "add_task", "task": task, "replaces": replaces});
    let new = |id: &str| json!({"id": id, "kind": "actor", "description": "x", "dependencies": ["na"], "parent": "nil"});
    let tasks = |changes: Value| -> Vec<(String, usize, bool, usize)> {
        let patch = read(&json!({"changes": changes}));
        let of = |change: &PlanChange| match change {
            PlanChange::AddTask { task, replaces } => (task.id.to_string(), task.dependencies.len(), task.parent.is_some(), replaces.len()),
            other => panic!("{other:?}"),
        };
        patch.changes.iter().map(of).collect()
    };
    assert_eq!(tasks(json!([add(new("b"), "none")])), [("b".to_owned(), 0, false, 0)]);
    assert_eq!(
        tasks(json!([add(json!({"id": "na", "description": "x"}), "none"), add(new("b"), "none")])),
        [("na".to_owned(), 0, false, 0), ("b".to_owned(), 1, false, 0)]
    );
}

#[test]
fn a_word_for_nothing_may_be_the_id_of_a_planned_task() {
    let id = |text: &str| TaskId::new(text).unwrap();
    for word in ["na", "none", "null", "nil"] {
        let plan = Plan::new("", [TaskSpec::actor(id(word), "x"), TaskSpec::actor(id("a"), "y")]);
        let changes = json!({"changes": [
            {"op": "modify_task", "id": "a", "change": {"dependencies": [word]}},
            {"op": "add_task", "task": {"id": "b", "description": "z", "dependencies": [word], "parent": word}, "replaces": word}]});
        for (plan, expected) in [(&plan, vec![id(word)]), (&no_plan(), Vec::new())] {
            let patch = read_of(&changes, plan);
            let [PlanChange::ModifyTask { change, .. }, PlanChange::AddTask { task, replaces }] = patch.changes.as_slice() else {
                panic!("{patch:?}")
            };
            assert_eq!(change.dependencies.as_ref(), Some(&expected), "{word}");
            assert_eq!((&task.dependencies, replaces, task.parent.as_ref()), (&expected, &expected, expected.first()), "{word}");
        }
    }
}

#[test]
fn the_names_of_the_plan_are_known_to_a_patch() {
    let id = |text: &str| TaskId::new(text).unwrap();
    let titled = |task: &str, name: &str| TaskSpec { name: name.to_owned(), ..TaskSpec::actor(id(task), "x") };
    let plan = Plan::new("", [titled("task-1", "读取"), titled("new-2", "Write it"), titled("file", "a"), titled("step-9", "a")]);
    let add = |task: Value| json!({"op": "add_task", "task": task});
    let patch = read_of(
        &json!({"changes": [
            add(json!({"id": "下载", "description": "x", "dependencies": ["读取", "write it"]})),
            add(json!({"name": "分析", "description": "y", "dependencies": ["下载", "STEP-9"]})),
            add(json!({"id": "读file", "description": "z", "dependencies": ["读file2"]})),
        ]}),
        &plan,
    );
    let added = |change: &PlanChange| match change {
        PlanChange::AddTask { task, .. } => (task.id.to_string(), task.dependencies.iter().map(TaskId::to_string).collect::<Vec<_>>()),
        other => panic!("{other:?}"),
    };
    let added: Vec<(String, Vec<String>)> = patch.changes.iter().map(added).collect();
    let of = |id: &str, dependencies: &[&str]| (id.to_owned(), dependencies.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    assert_eq!(added, [of("task-1-2", &["task-1", "new-2"]), of("new-3", &["task-1-2", "step-9"]), of("file-2", &["file2"])]);
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
    let faults = |value: Value| {
        let faults = patch_from_value(&value, &no_plan()).unwrap_err();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(
        [
            faults(json!("x")),
            faults(json!({"reasoning": "x"})),
            faults(json!({"changes": [1, {"op": "explode"}, {}, {"op": "remove_task"}, {"op": "modify_task", "id": "a"},
                {"op": "merge_tasks", "ids": ["a", "b"]}, {"op": "add_task", "task": {"id": "g", "subtasks": ["x"]}}, {"op": "add_edge", "from": "a"}]})),
        ]
        .join("\n--\n"));
}
