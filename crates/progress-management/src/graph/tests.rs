use serde_json::json;

use super::*;
use crate::testing::*;

fn cycles(tasks: Vec<TaskSpec>, edges: &[Edge]) -> Vec<String> {
    TaskGraph::new(&tasks, edges).cycles().iter().map(|path| crate::fault::arrows(path)).collect()
}

#[test]
fn cycles_are_named_in_full() {
    let cases: [(&str, &[&str]); 10] = [
        ("a\nb: a\nc: a b", &[]),
        ("a: b\nb: a", &["a → b → a"]),
        ("a: c\nb: a\nc: b", &["a → b → c → a"]),
        ("a: b\nb: a\nc: d\nd: c\ne", &["a → b → a", "c → d → c"]),
        // A component is represented by a shortest cycle through its first task.
        ("a: b c\nb: a\nc: b", &["a → b → a"]),
        // A task in a group cannot wait for the group.
        ("g/\ng/a: g", &["g → a → g"]),
        // A group cannot wait for a task that waits for the group.
        ("g/: b\ng/a\nb: g", &["g → b → g"]),
        // A task in a group inherits the group's dependencies.
        ("g/: b\ng/a\nb: a", &["a → b → a"]),
        // A group's dependency on its own tasks is redundant.
        ("g/: a h\ng/a\ng/h/\nh/b", &[]),
        ("o/\no/g/: b\ng/a\nb\nc: o", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(cycles(specs(text), &[]), expected, "{text}");
    }
}

#[test]
fn edges_and_references_make_cycles_too() {
    assert_eq!(cycles(specs("a: b\nb"), &[edge("a", "b", EdgeType::Dependency)]), ["a → b → a"]);
    assert_eq!(cycles(specs("a: b\nb"), &[edge("a", "b", EdgeType::Rollback)]), ["a → b → a"]);
    assert_eq!(cycles(specs("a: b\nb"), &[conditional("a", "b", "@{steps.a.result} > 0")]), ["a → b → a"]);
    assert_eq!(cycles(vec![spec("a: b"), tool("b", json!({"x": "@{steps.a.result}"}))], &[]), ["a → b → a"]);
    // The condition itself may refer to a third task.
    assert_eq!(cycles(specs("a\nb\nc: b"), &[conditional("a", "b", "@{steps.c.status} == completed")]), ["b → c → b"]);
}

// Requirement: 3.18
#[test]
fn dependencies_come_from_everywhere() {
    let tasks = vec![spec("a"), spec("b"), spec("c"), spec("d"), tool("t: a", json!({"x": "@{steps.b.result.y} and @{steps.a.result}"}))];
    let edges =
        [edge("c", "t", EdgeType::Dependency), conditional("d", "t", "@{steps.d.result} == 1"), edge("zz", "t", EdgeType::Dependency)];
    let graph = TaskGraph::new(&tasks, &edges);
    let mut found: Vec<&str> = graph.dependencies(&id("t")).into_iter().map(TaskId::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, ["a", "b", "c", "d"]);
    assert_eq!(graph.dependencies(&id("unknown")), [] as [&TaskId; 0]);
}

#[test]
fn tasks_beside_one_another_wait_for_neither() {
    let graph = TaskGraph::new(&specs("a\nb: a\nc: b\nd: a\ng/: b\ng/e\nf"), &[]);
    for (task, before, beside) in [
        ("a", "", "f"),
        ("b", "a", "d f"),
        ("c", "a b", "d g e f"),
        ("d", "a", "b c g e f"),
        ("e", "a b", "c d f"),
        ("f", "", "a b c d g e"),
    ] {
        let task = id(task);
        let names = |ids: Vec<&TaskId>| ids.into_iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
        let mut found: Vec<&TaskId> = graph.before(&task).into_iter().collect();
        found.sort_unstable();
        assert_eq!((names(found).as_str(), names(graph.beside(&task)).as_str()), (before, beside), "{task}");
    }
    assert_eq!(graph.before(&id("unknown")).len(), 0);
}

#[test]
fn a_long_chain_does_not_exhaust_the_stack() {
    let mut tasks = vec![spec("t0")];
    tasks.extend((1..20_000).map(|at| spec(&format!("t{at}: t{}", at - 1))));
    assert_eq!(cycles(tasks.clone(), &[]), [] as [&str; 0]);
    tasks[0].dependencies = vec![id("t19999")];
    assert_eq!(TaskGraph::new(&tasks, &[]).cycles()[0].len(), 20_001);
}
