use serde_json::json;

use super::*;
use crate::testing::*;

fn faults(tasks: Vec<TaskSpec>, edges: Vec<Edge>) -> Vec<String> {
    plan_of(tasks, edges).check().map_or_else(|faults| faults.lines(), |()| vec![])
}

#[test]
fn a_good_plan_has_no_faults() {
    let tasks = vec![
        spec("a"),
        spec("g/: a"),
        spec("g/b: a"),
        tool("t: b", json!({"x": "@{steps.a.result.n} @@{steps.none.result} @{foo}"})),
        spec("undo"),
    ];
    let edges = vec![edge("t", "undo", EdgeType::Rollback), conditional("a", "t", "@{steps.a.result.n} > 0")];
    assert_eq!(faults(tasks, edges), [] as [&str; 0]);
}

#[test]
fn every_fault_is_named_at_once_with_its_place() {
    let mut no_tool = tool("no-tool", json!({}));
    no_tool.tool = Some(" ".into());
    let mut silent = spec("silent");
    silent.description = String::new();
    let mut child = spec("child");
    child.parent = Some(id("find"));
    let mut lost = spec("lost");
    lost.parent = Some(id("nowhere"));
    let tasks = vec![
        spec("find"),
        spec("find"),
        spec("report: finde report unknown-thing"),
        spec("x: y"),
        spec("y: x"),
        no_tool,
        silent,
        child,
        lost,
        spec("empty/"),
        tool(
            "t",
            json!({"p": ["@{steps.fnid.result}"], "q": {"r": "@{steps.find.out}"}, "s": "@{steps.empty.result}", "me": "@{steps.t.result}"}),
        ),
    ];
    let edges = vec![
        edge("nope", "find", EdgeType::Dependency),
        edge("x", "x", EdgeType::Rollback),
        edge("find", "t", EdgeType::Conditional),
        conditional("find", "t", "@{steps.find.result} >"),
        conditional("find", "t", "@{steps.gone.result} > 1"),
    ];
    assert_eq!(
        faults(tasks, edges),
        [
            "tasks[1].id: the id \"find\" is taken; choose another",
            "tasks[2].dependencies[0]: unknown task \"finde\"; did you mean \"find\"?",
            "tasks[2].dependencies[1]: the task depends on itself",
            "tasks[2].dependencies[2]: unknown task \"unknown-thing\"",
            "tasks[5].tool: a tool task names its tool",
            "tasks[6].description: the description is missing: a task without a tool needs one that says what is to be done",
            "tasks[7].parent: the parent \"find\" is not a group; give it kind \"group\" or leave parent out",
            "tasks[8].parent: unknown task \"nowhere\"",
            "tasks[9]: the group has no tasks; name it as parent of some, or give it kind \"actor\" and a description",
            "tasks[10].parameters.p[0]: unknown task \"fnid\"; did you mean \"find\"?",
            "tasks[10].parameters.q.r: `@{steps.find.out}` is not a reference: write @{steps.ID.result}, @{steps.ID.result.field[0]} or @{steps.ID.status}, or @@{ for a literal @{",
            "tasks[10].parameters.s: `@{steps.empty.result}`: \"empty\" is a group and has no result; refer to one of its tasks",
            "tasks[10].parameters.me: the task depends on itself",
            "edges[0].from: unknown task \"nope\"",
            "edges[1]: the task depends on itself",
            "edges[2].condition: the condition is missing: a conditional edge needs one, for example @{steps.ID.result.count} > 0",
            "edges[3].condition: the condition `@{steps.find.result} >` cannot be read: a value is missing at the end; write for example @{steps.ID.result.count} > 0",
            "edges[4].condition: unknown task \"gone\"",
            "tasks[3].dependencies: a cycle: x → y → x; remove one of these dependencies",
        ]
    );
}

#[test]
fn groups_that_hold_one_another_are_named() {
    let mut one = spec("one/");
    one.parent = Some(id("two"));
    let mut two = spec("two/");
    two.parent = Some(id("three"));
    let mut three = spec("three/");
    three.parent = Some(id("one"));
    let found = faults(vec![one, two, three, spec("three/a")], vec![]);
    assert!(found.contains(&"tasks[0].parent: groups contain one another: one → two → three → one".to_owned()), "{found:#?}");
    assert_eq!(found.iter().filter(|fault| fault.contains("contain one another")).count(), 1, "{found:#?}");
    let mut own = spec("own/");
    own.parent = Some(id("own"));
    assert!(faults(vec![own], vec![]).contains(&"tasks[0].parent: groups contain one another: own → own".to_owned()));
}

#[test]
fn an_empty_plan_and_another_schema_are_faults() {
    let mut plan = plan_of(vec![], vec![]);
    plan.schema = "aime.plan/v9".into();
    assert_eq!(
        plan.check().unwrap_err().lines(),
        ["schema: the schema is \"aime.plan/v9\"; this is read as \"aime.plan/v1\"", "tasks: a plan has at least one task"]
    );
}

#[test]
fn a_knot_of_many_tasks_is_one_fault() {
    let found = faults(specs("a: c\nb: a\nc: b\nd: c"), vec![]);
    assert_eq!(found, ["tasks[0].dependencies: a cycle: a → b → c → a; remove one of these dependencies"]);
}

#[test]
fn an_edge_with_a_meaning_cannot_lead_into_ones_own_group_or_ask_its_own_target() {
    let reads_inside = conditional("b", "g", "@{steps.a.status} == failed");
    let edges = vec![edge("a", "g", EdgeType::Rollback), conditional("b", "a", "@{steps.a.status} == failed"), reads_inside];
    assert_eq!(
        faults(specs("g/\ng/a\nb"), edges),
        [
            "edges[0]: a cycle: a → g → a; remove one of these dependencies",
            "edges[1].condition: the task depends on itself",
            "edges[2].condition: a cycle: a → g → a; remove one of these dependencies",
        ]
    );
    assert_eq!(faults(specs("g/\ng/a"), vec![edge("a", "g", EdgeType::Dependency)]), [] as [&str; 0]);
}

#[test]
fn a_condition_that_asks_nothing_is_a_fault() {
    let constant = |condition: &str| {
        format!(
            "the condition `{condition}` reads no step, so it always has the same answer; write for example @{{steps.a.status}} == failed"
        )
    };
    let ends = "a step that has ended is completed, failed, skipped or rolled_back";
    let value = |value: &str| format!("`@{{steps.a.status}}` is compared with {value:?}; {ends}");
    let group = "`@{steps.g.result.x}`: \"g\" is a group and has no result; refer to one of its tasks";
    let table = [
        ("failed", Some(constant("failed"))),
        ("a.result.count > 0", Some(constant("a.result.count > 0"))),
        ("false", Some(constant("false"))),
        ("true", None),
        ("@{steps.g.result.x} > 0", Some(group.to_owned())),
        ("@{steps.g.status} == completed", None),
        ("@{steps.a.status} == Completed", None),
        ("@{steps.a.status} != 'failure'", None),
        ("@{steps.a.status} contains fail", None),
        ("@{steps.a.status} == green", Some(value("green"))),
        ("@{steps.a.status} != running", Some(value("running"))),
        ("0 < @{steps.a.status}", Some(value("0"))),
        ("@{steps.a.result} == green", None),
        (
            "not @{steps.a.status}",
            Some("`@{steps.a.status}` alone always holds; compare it, for example @{steps.a.status} == completed".to_owned()),
        ),
    ];
    for (condition, expected) in table {
        let found = faults(specs("a\ng/\ng/x\nb"), vec![conditional("a", "b", condition)]);
        let expected: Vec<String> = expected.iter().map(|problem| format!("edges[0].condition: {problem}")).collect();
        assert_eq!(found, expected, "{condition}");
    }
}
