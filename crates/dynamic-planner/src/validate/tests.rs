//! Invalid plans and all of their faults.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, properties: Value, required: Value| ToolDefinition {
        name: name.to_owned(),
        description: "d".to_owned(),
        parameters: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}).into(),
    };
    vec![
        tool("grep", json!({"pattern": {"type": "string"}, "path": {"type": "string"}}), json!(["pattern"])),
        tool("read_file", json!({"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}}), json!(["path"])),
        tool("write_file", json!({"path": {"type": "string"}, "content": {"type": "string"}}), json!(["path", "content"])),
    ]
}

fn profiles() -> Vec<ProfileBrief> {
    ["sisyphus", "oracle"].map(|name| ProfileBrief::new(name, "d")).into()
}

fn check_with(plan: &Value, mode: Option<PlanMode>) -> Result<CheckedPlan, Vec<PlanFault>> {
    let (tools, profiles) = (tools(), profiles());
    let actor_tools = ["todo".to_owned(), "terminate".to_owned()];
    let bundles = ["files".to_owned()];
    let checker =
        PlanChecker { tools: &tools, actor_tools: &actor_tools, profiles: &profiles, bundles: &bundles, mode, ..PlanChecker::default() };
    checker.check_value(plan)
}

fn check_report(plan: Value, mode: Option<PlanMode>) -> String {
    match check_with(&plan, mode) {
        Ok(checked) => format!("passes: {:?}", checked.repairs),
        Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

// Requirement: 3.32, 3.36, 3.37, 3.38
#[test]
fn all_faults_are_told_at_once() {
    let broken = json!({"tasks": [
        {"id": "a", "description": "x", "dependencies": ["c"]},
        {"id": "b", "description": "x", "dependencies": ["a", "reprt"]},
        {"id": "c", "description": "x", "dependencies": ["b", "c"]},
        {"id": "a", "description": "again"},
        {"id": "report", "tool": "wirte_file", "parameters": {}},
        {"id": "note", "tool": "todo", "parameters": {"items": []}},
        {"id": "look", "tool": "grep", "parameters": {"patern": "x", "path": 7}},
        {"id": "use", "tool": "write_file", "parameters": {"path": "o", "content": "@{steps.nowhere.result}"}},
        {"id": "who", "description": "x", "profile": "orakle", "bundles": ["fils"]},
    ], "edges": [{"from": "a", "to": "zzz", "type": "rollback"}, {"from": "a", "to": "b", "type": "conditional"}]});
    insta::assert_snapshot!(check_report(broken, None));
}

// Requirement: 3.32
#[test]
fn places_are_those_of_the_document() {
    let steps = json!({"steps": [{"step_id": 1, "description": "x"}, {"step_id": 2, "description": "y", "dependencies": [9]}]});
    assert!(check_report(steps.clone(), None).starts_with("steps[1].dependencies[0] (task \"2\"): "), "{}", check_report(steps, None));
    let nested = json!({"tasks": [{"id": "g", "name": "G", "actions": [{"id": "a", "tool": "gerp"}]}]});
    assert_eq!(check_report(nested, None), "tasks[0].actions[0].tool (task \"a\"): there is no tool \"gerp\" (did you mean \"grep\"?)");
}

// Requirement: 3.37
#[test]
fn parameters_fit_the_tools_schema() {
    let one = |tool: &str, parameters: Value| json!({"tasks": [{"id": "find", "tool": "grep", "parameters": {"pattern": "x"}}, {"id": "t", "tool": tool, "parameters": parameters}]});
    let pass = [
        one("read_file", json!({"path": "a"})),
        one("read_file", json!({"path": "a", "limit": "5"})),
        one("read_file", json!({"path": "a", "limit": "@{steps.find.result.count}"})),
        one("read_file", json!({"path": "@{steps.find.result}"})),
        one("ReadFile", json!({"path": "a"})),
        one("write_file", json!({"path": "a", "content": "n: @{steps.find.result.count}"})),
    ];
    for plan in pass {
        assert!(check_with(&plan, None).is_ok(), "{plan} {}", check_report(plan.clone(), None));
    }
    let fail = [
        (one("read_file", json!({})), "tasks[1].parameters"),
        (one("read_file", json!({"path": "a", "limit": 0})), "tasks[1].parameters.limit"),
        (one("read_file", json!({"path": "a", "limit": "many"})), "tasks[1].parameters.limit"),
        (one("read_file", json!({"path": "a", "lines": 1})), "tasks[1].parameters"),
        (one("write_file", json!({"path": "@{steps.find.result}"})), "tasks[1].parameters"),
    ];
    for (plan, place) in fail {
        let faults = check_with(&plan, None).unwrap_err();
        assert!(faults.iter().any(|fault| fault.place.starts_with(place)), "{plan} {faults:?}");
    }
    let checked = check_with(&one("read_file", json!({"path": "a", "limit": "5"})), None).unwrap();
    assert_eq!(checked.plan.tasks[1].parameters["limit"], 5);
    assert_eq!(checked.repairs.len(), 1, "{:?}", checked.repairs);
}

// Requirement: 3.38
#[test]
fn what_a_model_invents_is_left_out_where_it_does_no_harm() {
    let plan = json!({"tasks": [{"id": "a", "description": "x", "profile": "Python expert", "bundles": ["magic", "files"]},
                                {"id": "b", "description": "y", "profile": "Oracle", "dependencies": ["a"]}]});
    let checked = check_with(&plan, Some(PlanMode::Simple)).unwrap();
    assert_eq!((checked.plan.tasks[0].profile.as_deref(), checked.plan.tasks[1].profile.as_deref()), (None, Some("oracle")));
    assert_eq!(checked.plan.tasks[0].bundles, ["files"]);
    assert_eq!(checked.repairs.len(), 3, "{:?}", checked.repairs);
    assert!(check_with(&plan, None).is_err(), "a person is told");
}

#[test]
fn an_unknown_model_or_effort_is_a_fault() {
    let models = ["default".to_owned(), "fast".to_owned()];
    let person = PlanChecker { models: &models, ..PlanChecker::default() };
    let planner = PlanChecker { mode: Some(PlanMode::Simple), ..person.clone() };
    let task = |model: &str, effort: &str| json!({"tasks": [{"id": "a", "description": "x", "model": model, "effort": effort}]});
    assert_eq!(person.check_value(&task("fast", "low")).unwrap().plan.tasks[0].model.as_deref(), Some("fast"));
    let faults: Vec<String> = person.check_value(&task("quick", "huge")).unwrap_err().iter().map(ToString::to_string).collect();
    let expected = [
        "tasks[0].effort: there is no effort \"huge\" (there are: none, minimal, low, medium, high, xhigh, max)",
        "tasks[0].model (task \"a\"): there is no model \"quick\" (there are: default, fast)",
    ];
    assert_eq!(faults, expected);
    // A planning model is not asked again because of a harmless fault.
    let checked = planner.check_value(&task("quick", "huge")).unwrap();
    assert_eq!((checked.plan.tasks[0].model.as_deref(), checked.repairs.len()), (None, 2), "{:?}", checked.repairs);
    let unknown = PlanChecker::default().check_value(&task("quick", "low")).unwrap();
    assert_eq!(unknown.plan.tasks[0].model.as_deref(), Some("quick"), "nothing is known of models");

    let change = json!({"changes": [{"op": "modify_task", "id": "a", "change": {"model": "quick", "effort": "low"}}]});
    let mut patch = crate::patch_from_value(&change, &current_plan()).unwrap().patch;
    let faults = person.check_patch(&mut patch.clone(), &current_plan()).unwrap_err();
    assert_eq!(faults[0].place, "changes[0].change.model");
    assert_eq!(planner.check_patch(&mut patch, &current_plan()).unwrap().len(), 1);
}

#[test]
fn the_profile_of_a_changed_task_is_read_as_that_of_a_new_one() {
    let change = |profile: &str| json!({"op": "modify_task", "id": "a", "change": {"profile": profile, "description": "x"}});
    let (profiles, tools) = (profiles(), tools());
    let checker = PlanChecker { tools: &tools, profiles: &profiles, mode: Some(PlanMode::Complex), ..PlanChecker::default() };
    for (written, read, repairs) in [("oracle", Some("oracle"), 0), ("Oracle", Some("oracle"), 1), ("Python expert", None, 1)] {
        let mut patch = crate::patch_from_value(&json!({"changes": [change(written)]}), &current_plan()).unwrap().patch;
        let notes = checker.check_patch(&mut patch, &current_plan()).unwrap();
        let [aime_progress_management::PlanChange::ModifyTask { change, .. }] = patch.changes.as_slice() else { panic!("{patch:?}") };
        assert_eq!((change.profile.as_deref(), notes.len()), (read, repairs), "{notes:?}");
    }
}

/// Returns a plan of an actor's task `a` and the tool task `look`.
fn current_plan() -> Plan {
    let look = json!({"id": "look", "description": "x", "tool": "read_file", "parameters": {"path": "a.txt"}});
    check_with(&json!({"tasks": [{"id": "a", "description": "x"}, look]}), None).unwrap().plan
}

// Requirement: 3.37
#[test]
fn tool_and_parameters_of_a_changed_task_are_looked_at_together() {
    let (tools, actor_tools) = (tools(), ["todo".to_owned()]);
    let checker = PlanChecker { tools: &tools, actor_tools: &actor_tools, mode: Some(PlanMode::Complex), ..PlanChecker::default() };
    let checked = |id: &str, change: Value| {
        let changes = json!({"changes": [{"op": "modify_task", "id": id, "change": change}]});
        let mut patch = crate::patch_from_value(&changes, &current_plan()).unwrap().patch;
        let found = checker.check_patch(&mut patch, &current_plan());
        let [aime_progress_management::PlanChange::ModifyTask { change, .. }] = patch.changes.as_slice() else { panic!("{patch:?}") };
        found.map(|repairs| ((**change).clone(), repairs.len())).map_err(|faults| faults[0].to_string())
    };
    // New parameters of the same tool.
    let faults = checked("look", json!({"parameters": {"file": "b.txt"}})).unwrap_err();
    assert!(faults.contains("changes[0].change.parameters") && faults.contains("path"), "{faults}");
    let (change, repairs) = checked("look", json!({"parameters": {"path": "b.txt", "limit": "5"}})).unwrap();
    assert_eq!((&change.parameters.unwrap()["limit"], change.tool, repairs), (&json!(5), None, 1));
    // A new tool with the same parameters.
    let faults = checked("look", json!({"tool": "grep"})).unwrap_err();
    assert!(faults.contains("changes[0].change.parameters") && faults.contains("pattern"), "{faults}");
    let (change, repairs) = checked("look", json!({"tool": "ReadFile"})).unwrap();
    assert_eq!((change.tool.as_deref(), change.parameters, repairs), (Some("read_file"), None, 1));
    // An unrelated change leaves the call alone, and an unknown tool is reported on any task.
    assert_eq!(checked("look", json!({"description": "y"})).unwrap().1, 0);
    for id in ["look", "a"] {
        assert!(checked(id, json!({"tool": "todo"})).unwrap_err().contains("changes[0].change.tool"), "{id}");
    }
}

#[test]
fn a_task_of_an_actor_gets_no_tool_by_a_change() {
    let tools = tools();
    let checker = PlanChecker { tools: &tools, mode: Some(PlanMode::Complex), ..PlanChecker::default() };
    let group =
        json!({"tasks": [{"id": "g", "name": "G", "actions": [{"id": "in", "description": "x"}]}, {"id": "a", "description": "x"}]});
    let plan = check_with(&group, None).unwrap().plan;
    let fault = |id: &str, member: &str, is: &str| {
        let hint = "replace it by a task of kind tool";
        Some(format!("changes[0].change.{member} (task {id:?}): the task `{id}` is {is}, so a tool and parameters have no effect ({hint})"))
    };
    let table = [
        ("a", json!({"tool": "grep", "parameters": {"pattern": "x"}}), fault("a", "tool", "done by an actor")),
        ("a", json!({"description": "y", "parameters": {"pattern": "x"}}), fault("a", "parameters", "done by an actor")),
        ("g", json!({"tool": "grep"}), fault("g", "tool", "a group")),
        ("a", json!({"description": "y", "tool": "", "parameters": {}}), None),
    ];
    for (id, change, expected) in table {
        let changes = json!({"changes": [{"op": "modify_task", "id": id, "change": change}]});
        let mut patch = crate::patch_from_value(&changes, &plan).unwrap().patch;
        let found = checker.check_patch(&mut patch, &plan).err().map(|faults| faults[0].to_string());
        assert_eq!(found, expected, "{change}");
        let [aime_progress_management::PlanChange::ModifyTask { change, .. }] = patch.changes.as_slice() else { panic!("{patch:?}") };
        assert!(expected.is_some() || change.parameters.is_none(), "{change:?}");
    }
}

#[test]
fn denied_tools_are_tools_that_exist() {
    let mut tools = tools();
    tools.push(ToolDefinition { name: "mcp__git__push".to_owned(), ..tools[0].clone() });
    let actor_tools = ["todo".to_owned()];
    // The entries that are read, the number of repairs, and the hint of the fault.
    let table = [
        ("grep", "grep", 0, None),
        ("todo", "todo", 0, None),
        // A tool that this run lacks, and prefixes.
        ("web_search", "web_search", 0, None),
        ("web_*", "web_*", 0, None),
        ("mcp__*", "mcp__*", 0, None),
        ("mcp__git__*", "mcp__git__*", 0, None),
        ("mcp__other__write", "mcp__other__write", 0, None),
        ("Write-File", "write_file", 1, None),
        ("shell", "bash bash_output bash_kill", 1, None),
        ("gerp", "gerp", 0, Some("did you mean \"grep\"?")),
        ("wirte_file", "wirte_file", 0, Some("did you mean \"write_file\"?")),
        ("mcp__git__psh", "mcp__git__psh", 0, Some("did you mean \"mcp__git__push\"?")),
    ];
    for mode in [None, Some(PlanMode::Complex)] {
        let checker = PlanChecker { tools: &tools, actor_tools: &actor_tools, mode, ..PlanChecker::default() };
        for (name, read, repairs, hint) in table {
            let mut task = TaskSpec::actor(TaskId::new("a").unwrap(), "x");
            task.denied_tools = vec![name.to_owned()];
            let (mut notes, mut faults) = (Vec::new(), Vec::new());
            checker.check_task(&mut task, "tasks[0]", &mut notes, &mut faults);
            assert_eq!((task.denied_tools.join(" ").as_str(), notes.len()), (read, repairs), "{name}");
            let fault = |place: &str, hint: &str| format!("{place}: there is no tool {name:?} ({hint})");
            let expected: Vec<String> = hint.iter().map(|hint| fault("tasks[0].denied_tools[0]", hint)).collect();
            assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);

            let change = json!({"changes": [{"op": "modify_task", "id": "a", "change": {"denied_tools": [name]}}]});
            let mut patch = crate::patch_from_value(&change, &current_plan()).unwrap().patch;
            let found = checker.check_patch(&mut patch, &current_plan()).map(|notes| notes.len()).map_err(|faults| faults[0].to_string());
            let expected = hint.map_or(Ok(repairs), |hint| Err(fault("changes[0].change.denied_tools[0] (task \"a\")", hint)));
            assert_eq!(found, expected, "{name}");
        }
    }
    let unknown = PlanChecker::default().check_value(&json!({"tasks": [{"id": "a", "description": "x", "denied_tools": ["gerp"]}]}));
    assert!(unknown.is_ok(), "nothing is known of tools");
}

#[test]
fn an_unknown_member_of_an_edge_is_a_fault_of_a_person() {
    let tasks = json!([{"id": "a", "description": "x"}, {"id": "b", "description": "y"}]);
    let plan = |edge: Value| json!({"tasks": tasks, "edges": [edge]});
    let odd = plan(json!({"from": "a", "to": "b", "type": "rollback", "expression": "x", "label": "undo it"}));
    assert_eq!(check_report(odd.clone(), None), "edges[0].expression: an edge has no such member");
    let repairs = |plan: Value, mode: Option<PlanMode>| -> Vec<String> {
        check_with(&plan, mode).unwrap().repairs.iter().map(ToString::to_string).collect()
    };
    assert_eq!(repairs(odd, Some(PlanMode::Complex)), ["edges[0].expression: an edge has no such member; it was left out"]);
    let conditional = plan(json!({"from": "a", "to": "b", "type": "dependency", "condition": "@{steps.a.result} > 0"}));
    assert_eq!(repairs(conditional, None), ["edges[0]: a dependency with a condition was read as a conditional edge"]);
}

#[test]
fn the_name_of_a_tool_among_the_bundles_means_the_tool() {
    let plan = json!({"tasks": [{"id": "a", "description": "x", "bundles": ["files", "grep"]}]});
    for mode in [None, Some(PlanMode::Simple)] {
        let checked = check_with(&plan, mode).unwrap();
        assert_eq!(
            (checked.plan.tasks[0].bundles.as_slice(), checked.repairs.len()),
            (["files".to_owned(), "grep".to_owned()].as_slice(), 0)
        );
    }
}

#[test]
fn a_profile_must_have_each_capability_that_its_task_needs() {
    let profile = |name: &str, never_gets: &str| {
        let never_gets = never_gets.split(' ').map(str::to_owned).collect();
        ProfileBrief { never_gets, ..ProfileBrief::new(name, "d") }
    };
    let profiles = [
        ProfileBrief::new("sisyphus", "d"),
        profile("oracle", "bash bash_output bash_kill python write_file edit_file apply_patch delegate_task"),
        profile("editor", "write_file bash bash_output bash_kill"),
    ];
    let tools = tools();
    let fault = |bundle: &str| {
        format!("actors of the profile \"oracle\" never get a tool of {bundle:?} (leave the bundle out, or name another profile or none)")
    };
    let lacks = |profile: &str, bundle: &str, capability: &str, able: &str| {
        format!(
            "the task `a` needs the capability {capability:?} for its bundle {bundle:?}, and actors of the profile {profile:?} never have it \
             (name a smaller bundle, or one of these profiles: {able})"
        )
    };
    let table = [
        ("oracle", "shell", Some(lacks("oracle", "shell", "execute", "`sisyphus`"))),
        ("oracle", "files", Some(lacks("oracle", "files", "write", "`sisyphus`, `editor`"))),
        ("oracle", "code", Some(lacks("oracle", "code", "write", "`sisyphus`, `editor`"))),
        ("oracle", "delegation", Some(fault("delegation"))),
        ("oracle", "write_file", Some(fault("write_file"))),
        ("oracle", "files_read", None),
        // Other tools give the same capability.
        ("editor", "files", None),
        ("editor", "code", None),
        ("editor", "shell", Some(lacks("editor", "shell", "execute", "`sisyphus`"))),
        ("sisyphus", "shell", None),
    ];
    for mode in [None, Some(PlanMode::Complex)] {
        let checker = PlanChecker { tools: &tools, profiles: &profiles, mode, ..PlanChecker::default() };
        for (profile, bundle, expected) in &table {
            let first = |faults: Vec<PlanFault>| faults.first().map(ToString::to_string);
            let task = json!({"id": "a", "description": "x", "profile": profile, "bundles": [bundle]});
            let found = checker.check_value(&json!({"tasks": [task]})).err().and_then(first);
            assert_eq!(found, expected.as_ref().map(|fault| format!("tasks[0].bundles (task \"a\"): {fault}")), "{profile} {bundle}");
            let change = json!({"op": "modify_task", "id": "a", "change": {"profile": profile, "bundles": [bundle]}});
            let mut patch = crate::patch_from_value(&json!({"changes": [change]}), &current_plan()).unwrap().patch;
            let found = checker.check_patch(&mut patch, &current_plan()).err().and_then(first);
            assert_eq!(
                found,
                expected.as_ref().map(|fault| format!("changes[0].change.bundles (task \"a\"): {fault}")),
                "{profile} {bundle}"
            );
        }
    }
}

// Requirement: 3.39
#[test]
fn every_missing_capability_is_a_fault() {
    let never_gets = ["bash", "python", "write_file", "edit_file", "apply_patch"].map(str::to_owned).to_vec();
    let reader = |name: &str| ProfileBrief { never_gets: never_gets.clone(), ..ProfileBrief::new(name, "d") };
    let problems = |profiles: &[ProfileBrief], profile: Option<&str>| -> Vec<String> {
        let plan = json!({"tasks": [{"id": "a", "description": "x", "profile": profile, "bundles": ["files_read", "code", "shell"]}]});
        let faults = PlanChecker { profiles, ..PlanChecker::default() }.check_value(&plan).err().unwrap_or_default();
        faults.iter().map(|fault| fault.problem.to_string()).collect()
    };
    let of_oracle = "for its bundle \"code\", and actors of the profile \"oracle\" never have it";
    let both = ["write", "execute"].map(|lacks| format!("the task `a` needs the capability {lacks:?} {of_oracle}"));
    assert_eq!(problems(&[ProfileBrief::new("sisyphus", "d"), reader("oracle")], Some("oracle")), both);
    // A task without a profile needs one that has all of them.
    let none =
        "the task `a` needs the capability \"write\" for its bundle \"code\", and no profile has it with all others that the task needs";
    assert_eq!(problems(&[reader("oracle"), reader("explore")], None), [none]);
    assert_eq!(problems(&[reader("oracle"), ProfileBrief::new("sisyphus", "d")], None), [""; 0]);
}

fn tasks(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"id": format!("t{n}"), "description": "x"})).collect()
}

// Requirement: 3.3
#[test]
fn a_simple_plan_is_a_row() {
    let checked = check_with(&json!({"tasks": tasks(3)}), Some(PlanMode::Simple)).unwrap();
    let waits: Vec<Vec<&str>> = checked.plan.tasks.iter().map(|task| task.dependencies.iter().map(TaskId::as_str).collect()).collect();
    assert_eq!(waits, [vec![], vec!["t0"], vec!["t1"]]);
    assert_eq!(checked.repairs, ["no task has a dependency, so each task depends on the one before it"]);
    let own = json!({"tasks": [{"id": "a", "description": "x"}, {"id": "b", "description": "x"}, {"id": "c", "description": "x", "dependencies": ["a"]}]});
    assert_eq!(check_with(&own, Some(PlanMode::Simple)).unwrap().repairs, Vec::<String>::new());
    assert_eq!(check_with(&json!({"tasks": tasks(3)}), Some(PlanMode::Complex)).unwrap().repairs, Vec::<String>::new());
}

#[test]
fn a_phase_that_the_plan_does_not_have_is_left_out() {
    let plan = json!({
        "strategic": {"phases": [{"name": "Look"}]},
        "tasks": [{"id": "a", "description": "x", "phase": "look"}, {"id": "b", "description": "x", "phase": "ship"}],
    });
    let checked = check_with(&plan, None).unwrap();
    assert_eq!(checked.plan.tasks.iter().map(|task| task.phase.as_deref()).collect::<Vec<_>>(), [Some("look"), None]);
    assert!(checked.repairs.iter().any(|repair| repair.to_string().contains("the phase \"ship\" of `b`")), "{:?}", checked.repairs);
}

// Requirement: 3.3, 3.4, 3.6, 3.53
#[test]
fn modes_have_limits() {
    let group = |id: usize, actions: usize| {
        let actions: Vec<Value> = (0..actions).map(|n| json!({"id": format!("g{id}a{n}"), "description": "x"})).collect();
        json!({"id": format!("g{id}"), "name": "G", "actions": actions})
    };
    let groups = |shape: &[usize]| json!({"tasks": shape.iter().enumerate().map(|(at, n)| group(at, *n)).collect::<Vec<_>>()});
    let cases = [
        (json!({"tasks": tasks(6)}), Some(PlanMode::Simple), true),
        (json!({"tasks": tasks(7)}), Some(PlanMode::Simple), false),
        (json!({"tasks": tasks(7)}), None, true),
        (json!({"tasks": tasks(1_001)}), None, true),
        (json!({"tasks": tasks(1_001)}), Some(PlanMode::Complex), false),
        (json!({"tasks": tasks(15)}), Some(PlanMode::Complex), true),
        (json!({"tasks": tasks(16)}), Some(PlanMode::Complex), false),
        (json!({"tasks": tasks(3)}), Some(PlanMode::Emergent), true),
        (json!({"tasks": tasks(4)}), Some(PlanMode::Emergent), false),
        (groups(&[3, 3, 3, 3, 3]), Some(PlanMode::Complex), true),
        (groups(&[4]), Some(PlanMode::Complex), false),
        (groups(&[1, 1, 1, 1, 1, 1]), Some(PlanMode::Complex), false),
    ];
    for (plan, mode, passes) in cases {
        assert_eq!(check_with(&plan, mode).is_ok(), passes, "{mode:?} {}", check_report(plan, mode));
    }
}

// Requirement: 3.41
#[test]
fn further_rules_can_be_added() {
    struct NoGrep;
    impl PlanValidator for NoGrep {
        fn validate(&self, plan: &Plan) -> Vec<PlanFault> {
            let uses = |task: &TaskSpec| task.tool.as_deref() == Some("grep");
            plan.tasks
                .iter()
                .enumerate()
                .filter(|(_, task)| uses(task))
                .map(|(at, _)| PlanFault::new(format!("tasks[{at}]"), "no grep here"))
                .collect()
        }
    }
    let (tools, validators): (_, [Arc<dyn PlanValidator>; 1]) = (tools(), [Arc::new(NoGrep)]);
    let checker = PlanChecker { tools: &tools, validators: &validators, ..PlanChecker::default() };
    let faults = checker.check(r#"{"tasks": [{"id": "a", "tool": "grep", "parameters": {"pattern": "x"}}]}"#).unwrap_err();
    assert_eq!(faults[0].to_string(), "tasks[0] (task \"a\"): no grep here");
}

/// Generates plans with random dependencies and parents.
fn plans() -> impl Strategy<Value = Value> {
    let task = (0_usize..8, prop::collection::vec(0_usize..8, 0..3), prop::option::weighted(0.2, 0_usize..8));
    prop::collection::vec(task, 1..8).prop_map(|tasks| {
        let tasks: Vec<Value> = tasks
            .into_iter()
            .enumerate()
            .map(|(at, (_, waits, parent))| json!({"id": at, "description": "x", "dependencies": waits, "parent": parent}))
            .collect();
        json!({"tasks": tasks})
    })
}

proptest! {
    // Requirement: 3.36
    #[test]
    fn what_passes_has_no_cycle(plan in plans(), mode in prop::option::of(Just(PlanMode::Complex))) {
        if let Ok(checked) = check_with(&plan, mode) {
            let graph = aime_progress_management::TaskGraph::new(checked.plan.tasks.iter().map(AsRef::as_ref), &checked.plan.edges);
            prop_assert_eq!(graph.cycles(), Vec::<Vec<TaskId>>::new());
            prop_assert!(checked.plan.check().is_ok());
        }
    }

    // Requirement: 3.3
    #[test]
    fn a_row_always_passes(count in 1_usize..=6) {
        let plan = json!({"tasks": tasks(count)});
        prop_assert!(check_with(&plan, Some(PlanMode::Simple)).is_ok());
    }
}
