//! Plans and patches in many written forms.

mod corpus;
mod patch;

use aime_progress_management::{EdgeType, Plan, PlanChange, ReasoningEffort};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> ParsedPlan {
    plan_from_value(&value).unwrap_or_else(|faults| panic!("{value}\n{faults:?}"))
}

/// Returns a plan without tasks, for patches whose plan does not matter.
fn no_plan() -> Plan {
    Plan::new("", Vec::new())
}

// Requirement: 1.3
#[test]
fn what_is_as_it_should_be_needs_no_repair() {
    let contract = json!({
        "schema": "aime.plan/v1",
        "goal": "Count the TODO comments and write a report",
        "strategic": {"approach": "…", "phases": [{"name": "…", "objective": "…"}], "risks": [{"description": "…", "mitigation": "…"}],
                      "success_criteria": ["report.md exists"]},
        "tasks": [
            {"id": "find", "name": "Find TODOs", "kind": "tool", "tool": "grep", "parameters": {"pattern": "TODO", "path": "."}, "dependencies": []},
            {"id": "report", "name": "Write report", "kind": "actor", "description": "d", "completion_criteria": ["report.md lists every match"],
             "profile": "sisyphus", "bundles": ["files"], "dependencies": ["find"], "parent": null, "effort_seconds": 60},
            {"id": "undo", "description": "undo it"},
        ],
        "edges": [{"from": "report", "to": "undo", "type": "rollback"},
                  {"from": "find", "to": "report", "type": "conditional", "condition": "@{steps.find.result.count} > 0"}],
    });
    let parsed = read(contract.clone());
    assert_eq!(parsed.repairs, Vec::<String>::new());
    let strict: Plan = serde_json::from_value({
        let mut value = contract;
        value["tasks"][2]["kind"] = json!("actor");
        value
    })
    .unwrap();
    assert_eq!(parsed.plan, strict);
    let steps = json!({"plan_id": "p", "task_id": "t", "steps": [
        {"step_id": 1, "name": "n", "description": "d", "tool_name": "t", "tool_parameters": {"a": 1}, "dependencies": []},
        {"step_id": 2, "name": "n", "description": "d", "dependencies": [1]}]});
    assert_eq!(read(steps).repairs, Vec::<String>::new());
}

#[test]
fn a_plan_that_was_read_is_read_again_without_repairs() {
    let parsed = read(json!({"plan": {"steps": [{"id": "a b", "todo": 1, "desc": "x", "substeps": ["y"]}]}}));
    let again = plan_from_value(&serde_json::to_value(&parsed.plan).unwrap()).unwrap();
    assert_eq!((again.plan, again.repairs), (parsed.plan, vec![]));
}

/// A person who writes a plan makes typing errors; the intended values are not left out.
#[test]
fn a_slip_in_a_name_is_read_as_what_is_meant() {
    let parsed = read(json!({"edge": [{"from": "a", "to": "b", "type": "conditional", "condition": "@{steps.a.result} > 0"}], "tasks": [
        {"id": "a", "descripton": "look", "priority": 1}, {"id": "b", "description": "act"}, {"id": "c", "description": "end", "dependancies": ["b"]}]}));
    assert_eq!(parsed.plan.edges.len(), 1);
    let [first, _, last] = parsed.plan.tasks.as_slice() else { panic!("{:?}", parsed.plan) };
    assert_eq!((first.description.as_str(), last.dependencies.len()), ("look", 1));
    let expected = [
        "read `edge` as `edges`",
        "read `descripton` as `description`",
        "read `dependancies` as `dependencies`",
        "the unknown member `priority` of a task",
    ];
    assert!(
        expected.iter().all(|expected| parsed.repairs.iter().any(|repair| repair.to_string().starts_with(expected))),
        "{:?}",
        parsed.repairs
    );
}

#[test]
fn a_word_for_nothing_may_be_an_id() {
    for word in ["na", "none", "null", "nil"] {
        let parsed = read(json!({"tasks": [{"id": word, "description": "x"}, {"id": "b", "description": "y", "dependencies": [word]}]}));
        let [first, second] = parsed.plan.tasks.as_slice() else { panic!("{:?}", parsed.plan) };
        assert_eq!((first.id.as_str(), parsed.repairs.len()), (word, 0), "{:?}", parsed.repairs);
        assert_eq!(second.dependencies, std::slice::from_ref(&first.id));
        // Without such a task it means nothing.
        let parsed = read(json!({"tasks": [{"id": "b", "description": "y", "parent": word, "dependencies": [word]}]}));
        let task = &parsed.plan.tasks[0];
        assert_eq!((&task.parent, task.dependencies.len(), parsed.repairs.len()), (&None, 0, 0), "{:?}", parsed.repairs);
    }
}

#[test]
fn references_follow_a_renamed_task() {
    let parsed = read(json!({"tasks": [
        {"id": "find it", "tool": "grep", "parameters": {"pattern": "x"}},
        {"id": "w", "tool": "write_file", "dependencies": ["find it"], "parameters": {"path": "o", "content": ["n: @{steps.find it.result.count}"]}},
        {"id": "d", "description": "Use @{steps.find it.result}"}],
        "edges": [{"from": "find it", "to": "d", "condition": "@{steps.find it.result} > 0"}]}));
    let plan = parsed.plan;
    assert_eq!(plan.tasks[1].parameters["content"], json!(["n: @{steps.find-it.result.count}"]));
    assert_eq!(plan.tasks[2].description, "Use @{steps.find-it.result}");
    assert_eq!(plan.edges[0].condition.as_deref(), Some("@{steps.find-it.result} > 0"));
    assert_eq!(plan.edges[0].kind, EdgeType::Conditional);
}

// Requirement: 3.40
#[test]
fn each_repair_is_told_once() {
    let parsed = read(json!({"plan": {"overview": "o", "phases": ["one"], "priority": 1, "tasks": [
        {"id": 1, "title": "A", "criteria": "done", "depends_on": null, "priority": "high"},
        {"id": 2, "title": "B", "criteria": "done", "depends_on": "1", "agent": "atlas", "args": "{\"a\": 1}", "tool": "grep"},
        {"id": "x y", "title": "C", "type": "weird", "parent": "goal", "estimated_time": "5 minutes"}]}}));
    assert_eq!(parsed.plan.tasks[2].effort_seconds, Some(300));
    insta::assert_snapshot!(Message::list("\n", &parsed.repairs).to_string());
}

#[test]
fn effort_is_a_level_or_an_estimate() {
    let table = [
        (json!("high"), Some(ReasoningEffort::High), None, 0),
        (json!("none"), Some(ReasoningEffort::None), None, 0),
        (json!("X-High"), Some(ReasoningEffort::XHigh), None, 0),
        (json!(60), None, Some(60), 1),
        (json!("5 minutes"), None, Some(300), 1),
        (json!("small"), None, None, 1),
        (json!(""), None, None, 0),
    ];
    for (written, level, seconds, repairs) in table {
        let parsed = read(json!({"tasks": [{"id": "a", "description": "x", "model": "fast", "effort": written}]}));
        let task = &parsed.plan.tasks[0];
        assert_eq!((task.effort, task.effort_seconds, task.model.as_deref()), (level, seconds, Some("fast")), "{written}");
        assert_eq!(parsed.repairs.len(), repairs, "{written}: {:?}", parsed.repairs);
        let change = json!({"op": "modify_task", "id": "a", "change": {"description": "y", "model": "fast", "effort": written}});
        let patch = patch_from_value(&json!({"changes": [change]}), &no_plan()).unwrap();
        let [PlanChange::ModifyTask { change, .. }] = patch.patch.changes.as_slice() else { panic!("{patch:?}") };
        assert_eq!((change.effort, change.effort_seconds, change.model.as_deref()), (level, seconds, Some("fast")), "{written}");
        assert_eq!(patch.repairs.len(), repairs, "{written}: {:?}", patch.repairs);
    }
    let mode = read(json!({"tasks": [{"id": "a", "description": "x", "mode": "simple"}]}));
    assert_eq!(mode.plan.tasks[0].model, None);
    let both = read(json!({"tasks": [{"id": "a", "description": "x", "effort": "low", "effort_seconds": 9}]}));
    assert_eq!((both.plan.tasks[0].effort, both.plan.tasks[0].effort_seconds), (Some(ReasoningEffort::Low), Some(9)));
}

#[test]
fn tools_and_skills_of_a_task_are_read() {
    let members = json!({"bundles": ["web"], "denied_tools": ["bash", "mcp__*"], "skills": "bake"});
    let task = |extra: &serde_json::Value| {
        let mut task = json!({"id": "a", "description": "x"});
        task.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        task
    };
    let spec = read(json!({"tasks": [task(&members)]})).plan.tasks.remove(0);
    assert_eq!((&*spec.denied_tools, &*spec.skills), (&["bash".to_owned(), "mcp__*".to_owned()][..], &["bake".to_owned()][..]));
    let change = json!({"op": "modify_task", "id": "a", "change": members});
    let patch = patch_from_value(&json!({"changes": [change]}), &no_plan()).unwrap();
    let [PlanChange::ModifyTask { change, .. }] = patch.patch.changes.as_slice() else { panic!("{patch:?}") };
    assert_eq!(
        (change.denied_tools.as_ref().unwrap().len(), change.skills.as_ref().unwrap().as_slice()),
        (2, ["bake".to_owned()].as_slice())
    );
}

// Requirement: 3.35
#[test]
fn all_that_cannot_be_read_is_told_at_once() {
    let faults = |value: Value| plan_from_value(&value).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(
        [
            faults(json!("no plan")),
            faults(json!({"goal": "x"})),
            faults(json!({"tasks": []})),
            faults(json!({"schema": "aime.plan/v9", "tasks": [7, {"id": "a"}, {"id": {"x": 1}, "description": "x"}, {"id": "b", "tool": "grep", "parameters": [1]}],
                        "edges": [1, {"from": "a"}, {"from": "a", "to": "b", "type": "weird"}]})),
        ]
        .join("\n--\n"));
}

// Requirement: 3.34
#[test]
fn a_text_that_is_cut_off_is_no_plan() {
    let cut = r#"{"tasks": [{"id": "a", "description": "x"}, {"id": "b", "descr"#;
    let faults = parse_plan(cut).unwrap_err();
    assert_eq!(faults[0].place, "json");
    assert!(parse_plan("Nothing here").is_err());
    assert!(parse_plan("```json\n{'tasks': [{'id': 'a', 'description': 'x',}]}\n```").is_ok());
}

/// Generates JSON of any shape, with more words of a plan than by chance.
fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "tasks",
        "steps",
        "id",
        "step_id",
        "name",
        "description",
        "kind",
        "tool",
        "parameters",
        "dependencies",
        "parent",
        "subtasks",
        "plan",
        "edges",
        "from",
        "to",
        "type",
        "condition",
        "changes",
        "op",
        "task",
        "replaces",
        "change",
        "ids",
        "strategic",
        "add_task",
        "a",
        "b",
        "1",
        "group",
        "@{steps.a.result}",
        "modify_task",
        "merge_tasks",
    ]);
    let text = prop_oneof![4 => word.clone().prop_map(str::to_owned), 1 => ".{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 80, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..7).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_never_panics(value in anything()) {
        let _ = plan_from_value(&value);
        let _ = patch_from_value(&value, &no_plan());
    }

    #[test]
    fn reading_text_never_panics(text in ".{0,200}") {
        let _ = parse_plan(&text);
        let _ = parse_patch(&text, &no_plan());
    }

    #[test]
    fn ids_are_always_valid_and_distinct_where_they_were(texts in prop::collection::btree_set(".{1,80}", 1..8)) {
        let tasks: Vec<Value> = texts.iter().map(|id| json!({"id": id, "description": "x"})).collect();
        let plan = plan_from_value(&json!({"tasks": tasks})).unwrap().plan;
        let trimmed: std::collections::BTreeSet<&str> = texts.iter().map(|text| text.trim()).collect();
        let ids: std::collections::BTreeSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        prop_assert!(ids.len() >= trimmed.len());
    }
}

// Requirement: 5.1
#[test]
fn criteria_of_commands_and_files_are_read() {
    let parsed = read(json!({
        "success_criteria": [{"command": "make test", "expect": 0}, {"file": "a.txt", "contains": "x", "owner": "person"}, "it is good"],
        "tasks": [{"id": "a", "description": "d", "criteria": "{\"command\": \"true\"}"}],
    }));
    let criteria = parsed.plan.tasks[0].completion_criteria.iter().chain(&parsed.plan.strategic.success_criteria);
    let read: Vec<String> = criteria.map(|criterion| format!("{criterion} ({})", criterion.owner)).collect();
    let expected = ["`true` gives exit 0 (lead)", "`make test` gives exit 0 (lead)", "a.txt contains \"x\" (lead)", "it is good (lead)"];
    assert_eq!(read, expected);
}

#[test]
fn a_faulty_criterion_is_told_with_its_place() {
    let document = json!({
        "strategic": {"success_criteria": ["fine", {"command": "make", "expect": "all good"}]},
        "tasks": [{"id": "a", "description": "d", "completion_criteria": [{"file": "a", "matches": "("}]}],
    });
    let faults: Vec<String> = plan_from_value(&document).unwrap_err().iter().map(ToString::to_string).collect();
    let places: Vec<&str> = faults.iter().filter_map(|fault| fault.split(" (a criterion is").next()).collect();
    let expected = [
        "strategic.success_criteria[1]: \"all good\" is not a valid expectation: write `exit 0`, `output contains TEXT`, `output matches REGEX`, \
         `json PATH equals VALUE`",
        "tasks[0].completion_criteria[0]: the regular expression \"(\" is invalid: unclosed group",
    ];
    assert_eq!(places, expected);
}
