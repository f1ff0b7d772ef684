//! Calls of the plan tools.

use aime_llm::{SchemaChecker, estimate_tokens};
use aime_progress_management::{LeadCommand, PlanMode};

use super::*;

fn read(tool: &str, parameters: &Value, state: &ProgressState) -> Result<LeadCommand, String> {
    let names = Names::new();
    let parameters = parameters.as_object().unwrap();
    parse_command(PlanTool::from_name(tool).unwrap(), parameters, state, &names.rules()).map_err(|faults| lines(&faults))
}

#[test]
fn the_tools_of_the_lead() {
    let names = Names::new();
    let tools = lead_tools(&names.checker());
    let shown: Vec<String> = tools
        .iter()
        .map(|spec| {
            format!(
                "{}: {}\n{}",
                spec.name(),
                spec.definition.description,
                serde_json::to_string_pretty(&*spec.definition.parameters).unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

/// Some servers refuse certain keywords in the parameters of a tool, or limit depth and unions. The schemas suit all of
/// them.
#[test]
fn schemas_keep_to_what_every_server_takes() {
    fn look(schema: &Value, depth: usize, unions: &mut usize) {
        let Some(fields) = schema.as_object() else { return };
        assert!(depth <= 5, "OpenAI takes five levels of objects");
        for refused in
            ["$ref", "$defs", "oneOf", "allOf", "not", "pattern", "format", "minItems", "maxItems", "const", "additionalProperties"]
        {
            assert!(!fields.contains_key(refused), "{refused} in {schema}");
        }
        let is_object = fields.get("type") == Some(&json!("object"));
        if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
            properties.values().for_each(|schema| look(schema, depth + usize::from(is_object), unions));
        }
        fields.get("items").into_iter().for_each(|items| look(items, depth, unions));
        for choice in fields.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            look(choice, depth, unions);
        }
        *unions += usize::from(fields.contains_key("anyOf"));
    }
    let names = Names::new();
    let mut unions = 0;
    for spec in lead_tools(&names.checker()) {
        let parameters = &*spec.definition.parameters;
        assert_eq!((&parameters["type"], parameters.get("anyOf")), (&json!("object"), None), "{}", spec.name());
        look(parameters, 0, &mut unions);
        SchemaChecker::new(parameters).unwrap();
    }
    assert!(unions <= 16, "Anthropic takes 16 unions in strict tools, and there are {unions}");
}

#[test]
fn the_tools_are_short() {
    let names = Names::new();
    let tools = lead_tools(&names.checker());
    let tokens: u64 = tools.iter().map(|spec| estimate_tokens(&serde_json::to_string(&spec.definition).unwrap())).sum();
    assert!(tokens <= 1_000, "{tokens}");
}

#[test]
fn a_submitted_plan_has_the_whole_schema() {
    let parameters = json!({
        "strategic": {"approach": "a", "risks": [{"description": "d", "mitigation": "m"}], "success_criteria": [{"file": "report.md"}]},
        "mode": "emergent",
        "tasks": [
            {"id": "find", "description": "Find", "profile": "oracle", "model": "fast", "effort": "high", "effort_seconds": 90, "bundles": ["web"],
             "completion_criteria": ["it is there", {"command": "make test", "expect": "exit 0"}, {"file": "a.txt", "contains": "x"}]},
            {"id": "undo", "description": "Undo it"},
        ],
        "edges": [{"from": "find", "to": "undo", "type": "rollback"}],
    });
    let schema = lead_tools(&Names::new().checker()).remove(0).definition.parameters.clone();
    assert!(SchemaChecker::new(&schema).unwrap().fits(&parameters));
    let Ok(LeadCommand::SubmitPlan { plan, mode, repairs }) = read("submit_plan", &parameters, &unplanned()) else { panic!("refused") };
    assert_eq!((mode, plan.goal.as_str()), (PlanMode::Emergent, "Count the TODO comments and write a report"));
    assert_eq!(repairs, Vec::<String>::new());
    insta::assert_json_snapshot!(plan);
}

#[test]
fn the_mode_of_the_run_goes_before_that_of_the_call() {
    let names = Names::new();
    let parameters = json!({"mode": "emergent", "tasks": [{"id": "a", "description": "x"}]});
    for (fixed, expected) in [(None, PlanMode::Emergent), (Some(PlanMode::Simple), PlanMode::Simple)] {
        let rules = PlanRules { checker: PlanChecker { mode: fixed, ..names.checker() }, ..names.rules() };
        let read = parse_command(PlanTool::SubmitPlan, parameters.as_object().unwrap(), &unplanned(), &rules);
        assert!(matches!(read, Ok(LeadCommand::SubmitPlan { mode, .. }) if mode == expected), "{read:?}");
    }
}

// Requirement: 3.32
#[test]
fn refused_plans_name_every_fault() {
    let broken = json!({
        "mode": "fast",
        "tasks": [
            {"id": "a", "description": "x", "dependencies": ["b"]},
            {"id": "b", "kind": "tool", "tool": "grep", "parameters": {"path": "."}, "dependencies": ["a"]},
            {"id": "c", "kind": "tool", "tool": "gerp"},
        ],
    });
    let mut refused = vec![read("submit_plan", &broken, &unplanned()).unwrap_err()];
    refused.push(read("submit_plan", &json!({"tasks": [{"id": "a", "description": "x"}]}), &at_work()).unwrap_err());
    insta::assert_snapshot!(refused.join("\n---\n"));
}

#[test]
fn a_change_is_read_as_it_is_described() {
    let mut state = at_work();
    learn(&mut state, "person-1", "Leave vendor/ out.", "user_input");
    let parameters = json!({
        "reasoning": "The linter is missing.",
        "changes": [
            {"op": "add_task", "task": {"id": "lint2", "description": "Look for warnings with `cargo clippy`."}, "replaces": ["lint"]},
            {"op": "modify_task", "id": "report", "change": {"description": "Write report.md without vendor/.", "model": "fast"}},
            {"op": "unblock_task", "id": "publish"},
            {"op": "add_edge", "edge": {"from": "lint2", "to": "report", "type": "dependency"}},
            {"op": "set_strategic", "strategic": {"approach": "Report what can be found."}},
        ],
        "handled": ["person-1", "`person-1`"],
    });
    let schema = lead_tools(&Names::new().checker()).remove(1).definition.parameters.clone();
    assert!(SchemaChecker::new(&schema).unwrap().fits(&parameters));
    let Ok(LeadCommand::ChangePlan { patch, handled, repairs }) = read("change_plan", &parameters, &state) else {
        panic!("{:?}", read("change_plan", &parameters, &state))
    };
    assert_eq!((patch.changes.len(), handled.len(), repairs.len()), (5, 1, 0), "{handled:?} {repairs:?}");
    assert_eq!(state.check_patch(&patch).map_err(|faults| faults.lines()), Ok(()));
}

#[test]
fn a_change_that_fits_in_part_is_accepted() {
    let change = |id: &str| json!({"op": "remove_task", "id": id, "reason": "not needed"});
    let both = json!({"reasoning": "r", "changes": [change("publish"), change("find")]});
    assert!(matches!(read("change_plan", &both, &at_work()), Ok(LeadCommand::ChangePlan { patch, .. }) if patch.changes.len() == 2));
    let nothing = json!({"reasoning": "The plan is right.", "changes": []});
    for state in [at_work(), unplanned()] {
        assert!(matches!(read("change_plan", &nothing, &state), Ok(LeadCommand::ChangePlan { patch, .. }) if patch.changes.is_empty()));
    }
}

// Requirement: 3.32
#[test]
fn refused_changes_name_every_fault() {
    let parameters = json!({
        "reasoning": "r",
        "changes": [
            {"op": "remove_task", "id": "find"},
            {"op": "add_task", "task": {"id": "new", "kind": "tool", "tool": "grep", "description": "x", "dependencies": ["nobody"]}},
        ],
        "handled": ["person-7"],
    });
    let again = json!({"reasoning": "r", "changes": [{"op": "unblock_task", "id": "lint"}]});
    let refused = [read("change_plan", &parameters, &at_work()).unwrap_err(), read("change_plan", &again, &at_work()).unwrap_err()];
    insta::assert_snapshot!(refused.join("\n---\n"));
}

#[test]
fn calls_about_one_task_are_checked_against_its_status() {
    let state = at_work();
    let task = |task: &str| json!({"task": task, "text": "faster", "reason": "enough"});
    let table: [(&str, Value, Result<&str, &str>); 18] = [
        ("tell_task", task("slow"), Ok("tell_task slow")),
        ("tell_task", json!({"task": "`slow`", "text": "faster"}), Ok("tell_task slow")),
        ("tell_task", task("find"), Err("task: the task `find` is completed (only the worker of a running task can be told something)")),
        ("tell_task", json!({"task": "slwo"}), Err("task: there is no task \"slwo\" (did you mean \"slow\"?)\ntext: is missing")),
        ("hold_task", task("slow"), Ok("hold_task slow")),
        (
            "hold_task",
            task("look"),
            Err(
                "task: the task `look` is a group and running (only a running task can be held; `change_plan` with `block_task` holds back one that waits)",
            ),
        ),
        ("hold_task", json!({}), Err("task: is missing")),
        ("release_task", task("publish"), Ok("release_task publish")),
        ("release_task", task("slow"), Err("task: the task `slow` is running (only a task that is held back can be released)")),
        ("cancel_task", task("slow"), Ok("cancel_task slow")),
        ("cancel_task", task("publish"), Ok("cancel_task publish")),
        (
            "cancel_task",
            json!({"task": "find"}),
            Err("reason: is missing\ntask: the task \"find\" is completed; there is nothing to cancel"),
        ),
        ("amend_criterion", json!({"number": 2, "text": "make test passes", "evidence": "e"}), Ok("amend_criterion 2")),
        ("amend_criterion", json!({"number": "3", "text": "x"}), Err("evidence: is missing\nnumber: there is no criterion 3; there are 2")),
        ("amend_criterion", json!({"number": "two", "text": "x", "evidence": "e"}), Err("number: \"two\" is not a whole number")),
        (
            "amend_criterion",
            json!({"number": 2, "text": "", "evidence": "e"}),
            Err(
                "text: the criterion names no command, no file and no text (a criterion is a sentence, {\"command\", \"expect\"} or {\"file\", \"contains\"})",
            ),
        ),
        ("amend_criterion", json!({"number": 2, "text": {"cmd": "make test"}, "evidence": "e"}), Ok("amend_criterion 2")),
        ("read_result", task("find"), Err("tool: `read_result` reads, and changes nothing of the plan")),
    ];
    for (tool, parameters, expected) in table {
        let read = read(tool, &parameters, &state).map(|command| {
            let value = serde_json::to_value(command).unwrap();
            let of = value.get("task").or(value.get("number")).unwrap();
            format!("{} {}", value["command"].as_str().unwrap(), of.as_str().map_or_else(|| of.to_string(), str::to_owned))
        });
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{tool} {parameters}");
    }
}

#[test]
fn an_emergent_plan_grows_within_its_room() {
    let mut names = Names::new();
    names.growth.max_todos = 4;
    let mut state = at_work();
    let add = json!({"reasoning": "r", "changes": [{"op": "add_task", "task": {"id": "more", "description": "x"}}]});
    let read = |state: &ProgressState| parse_command(PlanTool::ChangePlan, add.as_object().unwrap(), state, &names.rules());
    assert!(read(&state).is_ok(), "only emergent plans have a bound");
    state.mode = Some(PlanMode::Emergent);
    assert!(lines(&read(&state).unwrap_err()).starts_with("changes: there would be 6 TODOs, and at most 4 are allowed"));
}
