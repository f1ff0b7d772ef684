use aime_messages::Message;
use serde_json::{Value, json};

use super::*;
use crate::{
    CheckMethod, Evidence, EvidenceKind, Outcome, Owner, Phase, ProgressEvent, ReasoningEffort, Risk, Significance, Strategic,
    StrategicChange, testing::*,
};

fn add(task: TaskSpec, replaces: &str) -> PlanChange {
    PlanChange::AddTask { task: Box::new(task), replaces: ids(replaces) }
}

fn remove(task: &str) -> PlanChange {
    PlanChange::RemoveTask { id: id(task), reason: String::new() }
}

fn modify(task: &str, change: TaskChange) -> PlanChange {
    PlanChange::ModifyTask { id: id(task), change: Box::new(change) }
}

fn dependencies(task: &str, dependencies: &str) -> PlanChange {
    modify(task, TaskChange { dependencies: Some(ids(dependencies)), ..TaskChange::default() })
}

fn names(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")
}

fn after(state: &ProgressState, task: &str) -> String {
    names(&state.tasks[&id(task)].spec.dependencies)
}

// Requirement: 3.26
#[test]
fn a_replacement_takes_the_place_of_a_failed_task() {
    let mut state = state("a\nb: a\nc: b\nd: b a");
    state.complete("a").failed("b", true);
    assert_eq!(state.statuses(), "a:completed b:failed c:blocked d:blocked");
    state.patch(vec![add(spec("b2: a"), "b")]).settle();
    assert_eq!(state.statuses(), "a:completed b:skipped b2:ready c:pending d:pending");
    assert_eq!((after(&state, "c"), after(&state, "d")), ("b2".into(), "b2 a".into()));
    assert_eq!(state.tasks[&id("b")].reason.as_ref().map(ToString::to_string).as_deref(), Some("replaced by \"b2\""));
    assert_eq!((state.version, state.tasks[&id("b2")].version), (2, 2));
}

#[test]
fn several_replacements_of_one_task_are_all_waited_for() {
    let mut state = state("b\nc: b");
    state.failed("b", true);
    state.patch(vec![add(spec("b1"), "b"), add(spec("b2: b1"), "b")]).settle();
    assert_eq!(state.statuses(), "b:skipped b2:pending b1:ready c:pending");
    assert_eq!(after(&state, "c"), "b1 b2");
    assert_eq!(state.tasks[&id("b")].reason.as_ref().map(ToString::to_string).as_deref(), Some("replaced by \"b1\", \"b2\""));
}

#[test]
fn a_replacement_never_waits_for_what_it_replaces() {
    let mut state = state("a\nb: a\nc: b");
    state.complete("a").failed("b", true);
    state.patch(vec![add(spec("b2: b"), "b")]);
    assert_eq!(after(&state, "b2"), "");
}

#[test]
fn a_replacement_joins_the_group_of_what_it_replaces() {
    let mut state = state("g/\ng/a\ng/b");
    state.failed("a", true);
    state.patch(vec![add(spec("a2"), "a")]);
    assert_eq!(state.tasks[&id("a2")].spec.parent, Some(id("g")));
}

#[test]
fn edges_and_references_follow_a_replacement() {
    let mut tasks = specs("a\nundo\ncond");
    tasks.push(tool("t", json!({"x": "@{steps.a.result.n}", "y": ["@{steps.a.result}!"]})));
    let edges = vec![edge("a", "undo", EdgeType::Rollback), conditional("a", "cond", "@{steps.a.result.n} > 0")];
    let mut state = state_of(tasks, edges);
    state.settle();
    state.patch(vec![add(spec("a2"), "a")]).settle();
    assert_eq!(
        Value::Object(state.tasks[&id("t")].spec.parameters.clone()),
        json!({"x": "@{steps.a2.result.n}", "y": ["@{steps.a2.result}!"]})
    );
    assert_eq!(state.edges, [edge("a2", "undo", EdgeType::Rollback), conditional("a2", "cond", "@{steps.a2.result.n} > 0")]);
    assert_eq!(state.statuses(), "a:skipped a2:ready undo:pending cond:pending t:pending");
}

#[test]
fn a_replacement_inherits_conditions_and_rollbacks() {
    let merge = |ids: &str, task: &str| PlanChange::MergeTasks { ids: self::ids(ids), task: Box::new(spec(task)) };
    let holds = "@{steps.a.result.n} > 0";
    let own = || PlanChange::AddEdge { edge: conditional("a", "t2", "@{steps.a.result.n} > 9") };
    let table = [
        (vec![add(spec("t2: a"), "t")], vec![conditional("a", "t2", holds), edge("a", "undo", EdgeType::Rollback)]),
        (vec![add(spec("u2"), "undo")], vec![conditional("a", "t", holds), edge("a", "u2", EdgeType::Rollback)]),
        (
            vec![add(spec("t1"), "t"), add(spec("t2: t1"), "t")],
            vec![conditional("a", "t1", holds), conditional("a", "t2", holds), edge("a", "undo", EdgeType::Rollback)],
        ),
        (vec![add(spec("t2"), "t"), own()], vec![edge("a", "undo", EdgeType::Rollback), conditional("a", "t2", "@{steps.a.result.n} > 9")]),
        (vec![merge("t b", "m")], vec![conditional("a", "m", holds), edge("a", "undo", EdgeType::Rollback)]),
        (
            vec![add(spec("a2"), "a"), add(spec("t2"), "t")],
            vec![conditional("a2", "t2", "@{steps.a2.result.n} > 0"), edge("a2", "undo", EdgeType::Rollback)],
        ),
        (vec![merge("a t", "m")], vec![edge("m", "undo", EdgeType::Rollback)]),
        (vec![remove("t")], vec![edge("a", "undo", EdgeType::Rollback)]),
        (vec![remove("a"), add(spec("t2"), "t")], vec![edge("a", "undo", EdgeType::Rollback)]),
    ];
    for (changes, expected) in table {
        let mut state = state_of(specs("a\nt\nundo\nb"), vec![conditional("a", "t", holds), edge("a", "undo", EdgeType::Rollback)]);
        state.settle();
        state.patch(changes.clone());
        assert_eq!(state.edges, expected, "{changes:#?}");
    }
    // A replaced rollback still undoes its source only.
    let mut state = state_of(specs("a\nundo"), vec![edge("a", "undo", EdgeType::Rollback)]);
    state.failed("a", true).failed("undo", true);
    state.patch(vec![add(spec("u2"), "undo")]).settle();
    assert_eq!(state.statuses(), "a:failed undo:skipped u2:ready");
    assert_eq!(state.complete("u2").statuses(), "a:rolled_back undo:skipped u2:completed");
    // A task that a condition skipped before is replaced to be done anyway.
    let mut state = state_of(specs("a\nt"), vec![conditional("a", "t", holds)]);
    state.complete("a");
    state.patch(vec![add(spec("t2"), "t")]).settle();
    assert_eq!(state.statuses(), "a:completed t:skipped t2:ready");
    // So is a task that is blocked by a condition which can no longer hold.
    let mut state = state_of(specs("a\nt"), vec![conditional("a", "t", holds)]);
    state.failed("a", true).settle();
    state.patch(vec![add(spec("t2"), "t")]).settle();
    assert_eq!(state.statuses(), "a:failed t:skipped t2:ready");
}

#[test]
fn only_a_tool_task_has_a_tool_and_parameters() {
    let mut state = state_of(vec![spec("a"), tool("t", json!({"x": 1}))], vec![]);
    let change = TaskChange { tool: Some("grep".into()), parameters: Some(parameters(json!({"x": 2}))), ..TaskChange::default() };
    state.patch(vec![modify("a", change.clone()), modify("t", change)]);
    let call = |task: &str| (state.tasks[&id(task)].spec.tool.as_deref(), state.tasks[&id(task)].spec.parameters.get("x"));
    assert_eq!((call("a"), call("t")), ((None, None), (Some("grep"), Some(&json!(2)))));
}

#[test]
fn a_result_that_is_lost_is_a_fault() {
    let state = state_of(vec![spec("a"), tool("t", json!({"x": "@{steps.a.result}"}))], vec![]);
    let lost =
        "tasks.t.parameters: the task \"t\" needs the result of \"a\", which this patch removes; change its parameters or remove it, too";
    assert_eq!(state.patch_faults(vec![remove("a")]), [lost]);
    assert_eq!(state.patch_faults(vec![add(spec("a1"), "a"), add(spec("a2"), "a")]), [lost]);
    assert_eq!(state.patch_faults(vec![remove("a"), remove("t")]), [] as [&str; 0]);
    let change = TaskChange { parameters: Some(parameters(json!({"x": 1}))), ..TaskChange::default() };
    assert_eq!(state.patch_faults(vec![remove("a"), modify("t", change)]), [] as [&str; 0]);
}

// Requirement: 3.26
#[test]
fn a_removed_task_hands_its_dependencies_on() {
    let mut state = state("a\nb: a\nc: b\nd: c");
    state.settle();
    state.patch(vec![remove("b"), PlanChange::RemoveTask { id: id("c"), reason: "not needed".into() }]).settle();
    assert_eq!(state.statuses(), "a:ready b:skipped c:skipped d:pending");
    assert_eq!(after(&state, "d"), "a");
    assert_eq!(state.tasks[&id("c")].reason.as_ref().map(ToString::to_string).as_deref(), Some("removed: not needed"));
}

// Requirement: 3.28
#[test]
fn a_condition_over_a_removed_task_is_a_fault_and_its_rollback_is_skipped() {
    let mut state = state_of(specs("a\nb"), vec![conditional("a", "b", "@{steps.a.result} > 0")]);
    let found = state.patch_faults(vec![remove("a")]);
    assert_eq!(
        found,
        ["tasks.b: the task \"b\" depends on a condition over \"a\", which this patch removes; remove that edge or the task, too"]
    );
    state.patch(vec![PlanChange::RemoveEdge { from: id("a"), to: id("b") }, remove("a")]).settle();
    assert_eq!(state.statuses(), "a:skipped b:ready");

    let mut state = state_of(specs("a\nundo"), vec![edge("a", "undo", EdgeType::Rollback)]);
    state.patch(vec![remove("a")]).settle();
    assert_eq!(state.statuses(), "a:skipped undo:skipped");
}

#[test]
fn a_removed_group_takes_its_tasks_along() {
    let mut state = state("a\ng/: a\ng/x\ng/y: x\nb: g\nc: y");
    state.settle();
    state.patch(vec![remove("g")]).settle();
    assert_eq!(state.statuses(), "a:ready g:skipped x:skipped y:skipped b:pending c:ready");
    assert_eq!((after(&state, "b"), after(&state, "c")), ("a".into(), String::new()));
}

#[test]
fn a_group_with_a_running_task_is_only_cancelled() {
    let mut state = state("g/\ng/x\ng/y");
    state.settle().go("x", TaskStatus::Running);
    state.settle();
    let found = state.patch_faults(vec![remove("g")]);
    assert_eq!(found, ["changes[0].id: the task \"x\" is running; cancel it with cancel_task, and add a task that replaces it"]);
    state.patch(vec![PlanChange::CancelTask { id: id("g"), reason: String::new(), by: Owner::Lead }]);
    assert_eq!(state.statuses(), "g:skipped x:skipped y:skipped");
}

// Requirement: 3.27
#[test]
fn merging_puts_one_task_in_the_place_of_several() {
    let mut state = state("a\nb: a\nc: a b\nd: b c");
    state.complete("a");
    state.patch(vec![PlanChange::MergeTasks { ids: ids("b c"), task: Box::new(spec("bc")) }]).settle();
    assert_eq!(state.statuses(), "a:completed b:skipped c:skipped bc:ready d:pending");
    assert_eq!((after(&state, "bc"), after(&state, "d")), ("a".into(), "bc".into()));
}

// Requirement: 3.26
#[test]
fn a_modified_failed_task_starts_over() {
    let mut state = state("a\nb: a");
    state.failed("a", false).go("a", TaskStatus::Pending);
    state.failed("a", true);
    assert_eq!(state.tasks[&id("a")].failures, 2);
    let change = TaskChange { description: Some("Smaller".into()), effort_seconds: Some(3), ..TaskChange::default() };
    state.patch(vec![modify("a", change)]).settle();
    let task = &state.tasks[&id("a")];
    assert_eq!((task.spec.description.as_str(), task.spec.effort_seconds, task.failures, task.attempts), ("Smaller", Some(3), 0, 2));
    assert_eq!(state.statuses(), "a:ready b:pending");
}

#[test]
fn a_patch_changes_model_and_effort_of_a_task() {
    let mut state = state("a");
    state.patch(vec![modify("a", TaskChange { model: Some("fast".into()), ..TaskChange::default() })]);
    state.patch(vec![modify("a", TaskChange { effort: Some(ReasoningEffort::High), ..TaskChange::default() })]);
    let spec = &state.tasks[&id("a")].spec;
    assert_eq!((spec.model.as_deref(), spec.effort), (Some("fast"), Some(ReasoningEffort::High)), "absent members stay");
    let written = serde_json::to_value(spec).unwrap();
    assert_eq!((&written["model"], &written["effort"]), (&json!("fast"), &json!("high")));
}

// Requirement: 3.27
#[test]
fn blocking_and_unblocking() {
    let mut state = state("a\nb\nc: b");
    state.failed("b", true);
    state.patch(vec![PlanChange::BlockTask { id: id("a"), reason: "later".into() }, PlanChange::UnblockTask { id: id("b") }]).settle();
    assert_eq!(state.statuses(), "a:blocked b:ready c:pending");
    assert_eq!(state.tasks[&id("b")].failures, 0);
    // The fault names the remaining blockers; resolving them in the same patch is enough.
    state.failed("b", true);
    assert_eq!(
        state.patch_faults(vec![PlanChange::UnblockTask { id: id("c") }]),
        ["changes[0].id: the task \"c\" would be blocked again: waits for what cannot be had: \"b\" is failed"]
    );
    assert_eq!(state.patch_faults(vec![PlanChange::UnblockTask { id: id("c") }, PlanChange::UnblockTask { id: id("b") }]), [] as [&str; 0]);
}

// Requirement: 3.29, 6.14
#[test]
fn only_what_has_not_run_may_be_touched() {
    let mut state = state("done\nrun\nfail\nskip\nopen: run");
    state.complete("done").failed("fail", true).go("run", TaskStatus::Running);
    state.patch(vec![remove("skip")]);
    let running = "is running; cancel it with cancel_task, and add a task that replaces it";
    let settled = "what is done stays as it is; add a new task instead";
    let cases: Vec<(PlanChange, String)> = vec![
        (remove("run"), format!("changes[0].id: the task \"run\" {running}")),
        (modify("run", TaskChange::default()), format!("changes[0].id: the task \"run\" {running}")),
        (PlanChange::BlockTask { id: id("run"), reason: String::new() }, format!("changes[0].id: the task \"run\" {running}")),
        (PlanChange::UnblockTask { id: id("run") }, format!("changes[0].id: the task \"run\" {running}")),
        (add(spec("n"), "run"), format!("changes[0].replaces[0]: the task \"run\" {running}")),
        (remove("done"), format!("changes[0].id: the task \"done\" is completed; {settled}")),
        (modify("done", TaskChange::default()), format!("changes[0].id: the task \"done\" is completed; {settled}")),
        (
            add(spec("n"), "done"),
            "changes[0].replaces[0]: the task \"done\" is completed; completed work is kept; add a task that depends on it instead".into(),
        ),
        (modify("skip", TaskChange::default()), format!("changes[0].id: the task \"skip\" is skipped; {settled}")),
        (remove("skip"), format!("changes[0].id: the task \"skip\" is skipped; {settled}")),
        (
            PlanChange::CancelTask { id: id("done"), reason: String::new(), by: Owner::Lead },
            "changes[0].id: the task \"done\" is completed; there is nothing to cancel".into(),
        ),
        (
            PlanChange::BlockTask { id: id("fail"), reason: String::new() },
            "changes[0].id: the task \"fail\" is failed; a failed task does not run: leave it, or remove it with remove_task".into(),
        ),
        (
            PlanChange::AddEdge { edge: edge("open", "run", EdgeType::Dependency) },
            format!("changes[0].edge.to: the task \"run\" {running}"),
        ),
        (PlanChange::RemoveEdge { from: id("done"), to: id("open") }, "changes[0]: there is no edge from \"done\" to \"open\"".into()),
        (remove("opne"), "changes[0].id: unknown task \"opne\"; did you mean \"open\"?".into()),
    ];
    for (change, expected) in cases {
        assert_eq!(state.patch_faults(vec![change.clone()]), [expected], "{change:?}");
    }
}

// Requirement: 3.31
#[test]
fn a_running_task_is_cancelled_and_replaced_in_one_patch() {
    let mut state = state("a\nb: a");
    state.settle().go("a", TaskStatus::Running);
    let cancel = PlanChange::CancelTask { id: id("a"), reason: "wrong way".into(), by: Owner::Lead };
    let patch = patch_of(vec![cancel.clone(), add(spec("a2"), "a")]);
    assert_eq!(patch.cancelled().collect::<Vec<_>>(), [&id("a")]);
    state.patch(patch.changes).settle();
    assert_eq!(state.statuses(), "a:skipped a2:ready b:pending");
    assert_eq!(after(&state, "b"), "a2");
}

#[test]
fn what_was_rolled_back_hands_its_place_over() {
    let mut state = state_of(specs("a\nundo\nb: a"), vec![edge("a", "undo", EdgeType::Rollback)]);
    state.failed("a", true).complete("undo");
    assert_eq!(state.statuses(), "a:rolled_back undo:completed b:blocked");
    state.patch(vec![add(spec("a2"), "a")]).settle();
    assert_eq!(state.statuses(), "a:rolled_back a2:ready undo:completed b:pending");
}

#[test]
fn a_task_that_is_being_undone_is_not_tried_again() {
    let mut state = state_of(specs("a\nundo"), vec![edge("a", "undo", EdgeType::Rollback)]);
    state.failed("a", true);
    assert_eq!(state.patch_faults(vec![PlanChange::UnblockTask { id: id("a") }]), [] as [&str; 0], "the rollback has not begun");
    state.go("undo", TaskStatus::Running);
    let undone = "changes[0].id: the task \"a\" is failed; what it had done is being undone; add a task that replaces it";
    assert_eq!(state.patch_faults(vec![PlanChange::UnblockTask { id: id("a") }]), [undone]);
    assert_eq!(state.patch_faults(vec![add(spec("a2"), "a")]), [] as [&str; 0]);
}

#[test]
fn a_group_that_has_begun_is_not_changed() {
    let mut state = state("g/\ng/x\ny");
    state.settle().go("x", TaskStatus::Running);
    let running = "the task \"g\" is running; cancel it with cancel_task, and add a task that replaces it";
    assert_eq!(state.status("g"), TaskStatus::Ready, "its status follows later");
    assert_eq!(state.patch_faults(vec![dependencies("g", "y")]), [format!("changes[0].id: {running}")]);
    let edge = edge("y", "g", EdgeType::Dependency);
    assert_eq!(state.patch_faults(vec![PlanChange::AddEdge { edge }]), [format!("changes[0].edge.to: {running}")]);
}

#[test]
fn a_settled_group_takes_nothing_in_again() {
    let mut state = state("g/\ng/x\ng/y\nb: y");
    state.complete("x").failed("y", true).close();
    assert_eq!(state.statuses(), "g:completed x:completed y:failed b:skipped");
    let settled = "changes[0].id: the task \"y\" is failed; its group has come to an end; add a new task outside of the group";
    assert_eq!(state.patch_faults(vec![PlanChange::UnblockTask { id: id("y") }]), [settled]);
    state.patch(vec![add(spec("y2"), "y")]);
    assert_eq!(state.tasks[&id("y2")].spec.parent, None);
}

// Requirement: 3.25
#[test]
fn all_faults_of_a_patch_are_named_at_once() {
    let mut state = state("a\nb: a\ng/\ng/x");
    state.complete("x");
    let mut into_group = spec("late");
    into_group.parent = Some(id("g"));
    let mut patch = patch_of(vec![
        add(spec("a"), ""),
        add(spec("n: nope b"), "zz"),
        dependencies("b", "n"),
        PlanChange::MergeTasks { ids: ids("b b"), task: Box::new(tool("m", json!({}))) },
        add(into_group, ""),
        PlanChange::AddEdge { edge: edge("a", "unknown", EdgeType::Conditional) },
    ]);
    patch.schema = "other".into();
    let found = state.check_patch(&patch).unwrap_err().lines();
    assert_eq!(
        found,
        [
            "schema: the schema is \"other\"; this is read as \"aime.patch/v1\"",
            "changes[0].task.id: the id \"a\" is taken; choose another",
            "changes[1].replaces[0]: unknown task \"zz\"",
            "changes[3].ids: a merge needs at least two tasks",
            "changes[4].task.parent: the group \"g\" is completed already; leave parent out",
            "changes[1].task.dependencies[0]: unknown task \"nope\"",
            "changes[5].edge.to: unknown task \"unknown\"",
            "changes[5].edge.condition: the condition is missing: a conditional edge needs one, for example @{steps.ID.result.count} > 0",
            "changes[3].task.dependencies: a cycle: m → n → m; remove one of these dependencies",
        ]
    );
}

#[test]
fn cycles_and_dead_dependencies_are_refused_where_the_patch_makes_them() {
    let mut state = state("a\nb: a\nc: b\ngone");
    state.patch(vec![remove("gone")]);
    assert_eq!(
        state.patch_faults(vec![dependencies("a", "c")]),
        ["changes[0].change.dependencies: a cycle: a → b → c → a; remove one of these dependencies"]
    );
    assert_eq!(
        state.patch_faults(vec![PlanChange::AddEdge { edge: edge("c", "a", EdgeType::Dependency) }]),
        ["changes[0].edge: a cycle: a → b → c → a; remove one of these dependencies"]
    );
    assert_eq!(
        state.patch_faults(vec![add(spec("n: c"), ""), dependencies("a", "n")]),
        ["changes[1].change.dependencies: a cycle: a → b → c → n → a; remove one of these dependencies"]
    );
    let dead =
        "the dependency \"gone\" is skipped and will not be completed; depend on the task that replaces it, or leave the dependency out";
    assert_eq!(state.patch_faults(vec![add(spec("n: gone"), "")]), [format!("changes[0].task.dependencies[0]: {dead}")]);
}

// Requirement: 3.28
#[test]
fn a_patch_may_name_tasks_that_it_adds_later() {
    let mut state = state("a");
    state.patch(vec![
        add(spec("n: m"), ""),
        PlanChange::AddEdge { edge: edge("a", "m", EdgeType::Dependency) },
        add(spec("m"), ""),
        add(spec("g/k"), ""),
        add(spec("g/"), ""),
    ]);
    assert_eq!(state.settle().statuses(), "a:ready n:pending m:pending k:ready g:ready");
}

// Requirement: 3.25
#[test]
fn a_refused_patch_changes_nothing() {
    let mut state = state("a\nb: a");
    let before = state.clone();
    let patch = patch_of(vec![remove("b"), add(spec("n: nope"), "a"), PlanChange::SetStrategic { strategic: StrategicChange::default() }]);
    let decision = crate::Decision { version: 2, at: at(5), triggers: vec![], patch, evidence: vec![], lowered: vec![], dropped: vec![] };
    let event = ProgressEvent::PlanChanged { decision };
    assert!(matches!(state.apply(at(5), &event), Err(crate::FoldError::Patch(_))));
    assert_eq!(state, before);
}

/// Returns a change of the strategic part, from its document.
fn strategic(change: Value) -> PlanChange {
    serde_json::from_value(json!({"op": "set_strategic", "strategic": change})).unwrap()
}

// Requirement: 3.28
#[test]
fn members_of_the_strategic_part_that_a_patch_leaves_out_stay() {
    let before = Strategic {
        approach: "one way".into(),
        phases: vec![Phase { name: "look".into(), objective: "all is seen".into() }],
        risks: vec![Risk { description: "rain".into(), mitigation: "a roof".into() }],
        success_criteria: vec!["a exists".into()],
        confidence: None,
    };
    let criteria = |criteria: &[&str]| criteria.iter().map(|text| (*text).into()).collect::<Vec<_>>();
    let table = [
        (json!({}), before.clone()),
        (json!({"approach": "another way"}), Strategic { approach: "another way".into(), ..before.clone() }),
        (json!({"success_criteria": ["b exists"]}), Strategic { success_criteria: criteria(&["b exists"]), ..before.clone() }),
        (json!({"success_criteria": [], "risks": []}), Strategic { success_criteria: vec![], risks: vec![], ..before.clone() }),
        (json!({"phases": []}), Strategic { phases: vec![], ..before.clone() }),
    ];
    for (change, expected) in table {
        let mut state = state("a");
        state.strategic = before.clone();
        state.patch(vec![strategic(change.clone())]);
        assert_eq!(state.strategic, expected, "{change}");
        let PlanChange::SetStrategic { strategic } = strategic(change.clone()) else { panic!() };
        assert_eq!(serde_json::to_value(strategic).unwrap(), change, "an empty list is written as one");
    }
}

// Requirement: 3.28
#[test]
fn a_criterion_that_did_not_hold_stays_in_the_plan() {
    let checked = |criterion: &str, passed| ProgressEvent::CriterionChecked {
        task: None,
        criterion: criterion.into(),
        owner: Owner::Lead,
        how: CheckMethod::Executed,
        passed,
        reason: Message::default(),
        changes: None,
        duration_ms: 0,
    };
    let failed = checked("a exists", Some(false));
    let message = |text: &str| ProgressEvent::EvidenceAdded {
        evidence: Evidence {
            id: "person-1".parse().unwrap(),
            at: at(2),
            task: None,
            kind: EvidenceKind::UserInput,
            significance: Significance::High,
            content: text.to_owned(),
            processed: false,
            origins: vec![],
        },
    };
    let table = [
        (vec![], vec!["c"]),
        (vec![failed.clone()], vec!["c", "a exists"]),
        (vec![failed.clone(), checked("a exists", None), failed.clone()], vec!["c", "a exists"]),
        (vec![failed.clone(), checked("a exists", Some(true))], vec!["c"]),
        (vec![checked("b exists", Some(true)), failed.clone(), checked("b exists", Some(false))], vec!["c", "a exists", "b exists"]),
        // A person may withdraw a criterion.
        (vec![failed.clone(), message("b is enough")], vec!["c"]),
        (vec![message("b is enough"), failed.clone()], vec!["c", "a exists"]),
        // The goal itself is no criterion of the plan.
        (vec![checked("what was done reaches the goal: x", Some(false))], vec!["c"]),
    ];
    for (events, expected) in table {
        let mut state = state("a");
        state.strategic.success_criteria = vec!["a exists".into(), "b exists".into()];
        for event in &events {
            state.apply(at(3), event).unwrap();
        }
        let all = vec![strategic(json!({"success_criteria": []})), strategic(json!({"success_criteria": ["c"]}))];
        state.patch(all);
        let criteria: Vec<String> = state.strategic.success_criteria.iter().map(ToString::to_string).collect();
        assert_eq!(criteria, expected, "{events:?}");
    }
}

#[test]
fn a_patch_without_a_plan_is_refused() {
    let found = empty_state().patch_faults(vec![]);
    assert_eq!(found, ["changes: the run has no plan yet"]);
}

#[test]
fn an_empty_patch_keeps_the_plan() {
    let mut state = state("a");
    state.conclude("a", conclusion(Outcome::Success, "done", None));
    state.patch(vec![]);
    assert_eq!((state.version, state.statuses()), (2, "a:completed".into()));
}
