//! Test runs, built from events as in a journal.

use aime_progress_management::{ProgressEvent, RunId, Timestamp};
use ratatui_core::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use crate::{Key, Limits, ProcessRole, Screen, Theme, UserAction, render};

pub(crate) const BEGIN: i64 = 1_700_000_000_000;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(BEGIN + 1_000 * second)
}

pub(crate) fn event(value: Value) -> ProgressEvent {
    let text = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn screen(part: ProcessRole) -> Screen {
    let limits = Limits { tokens: Some(100_000), cost_usd: Some(0.5), seconds: Some(600) };
    let screen = Screen::new(RunId::new("01a200aaa443700b").unwrap(), part, limits);
    screen.with_always(|question| question.lines().last().is_some_and(|line| line.starts_with("Always allows here: ")))
}

/// Presses a key, `millis` after the previous one.
pub(crate) fn press_after(screen: &mut Screen, key: Key, millis: i64) -> Option<UserAction> {
    let before = screen.last_key.as_ref().map_or(BEGIN, |(_, at)| at.as_millis());
    screen.press(key, Timestamp::from_millis(before + millis))
}

/// Presses a key after a pause.
pub(crate) fn press(screen: &mut Screen, key: Key) -> Option<UserAction> {
    press_after(screen, key, 5_000)
}

/// Draws a screen of the usual size.
pub(crate) fn show(screen: &mut Screen) {
    render(screen, at(75), Theme::new(false), &mut Buffer::empty(Rect::new(0, 0, 80, 24)));
}

/// Applies events, one per second, each with its log text; an empty one means no entry.
pub(crate) fn observe_all(screen: &mut Screen, from: i64, events: Vec<(Value, &str)>) {
    for (second, (value, words)) in (from..).zip(events) {
        screen.observe(at(second), &event(value), Some(words).filter(|words| !words.is_empty()));
    }
}

pub(crate) fn run_started(goal: &str) -> (Value, String) {
    (json!({"type": "run_started", "plan_id": "p", "goal": goal}), format!("goal    {goal}"))
}

pub(crate) fn status_change(task: &str, from: &str, to: &str) -> Value {
    json!({"type": "task_status_changed", "task": task, "from": from, "to": to, "attempt": 1})
}

/// Returns a run in progress: a group, a finished task, two running tasks, one that failed once, names in dense scripts and with emoji.
pub(crate) fn at_work() -> Screen {
    let mut screen = screen(ProcessRole::Driver);
    let (began, words) = run_started("Collect what the sources say about spring, write a poem, and report");
    observe_all(&mut screen, 0, vec![(began, &words)]);
    observe_all(
        &mut screen,
        1,
        vec![
            (
                json!({"type": "routed", "mode": "complex", "by": "rules", "category": "coding", "reasons": []}),
                "route   complex (by rules, coding: several steps)",
            ),
            (
                json!({"type": "plan_created", "plan": {"goal": "g", "edges": [{"from": "report", "to": "tidy", "type": "rollback"}], "tasks": [
                    {"id": "sources", "kind": "group", "name": "Everything about the sources"},
                    {"id": "find", "parent": "sources", "kind": "tool", "tool": "grep", "name": "Find every TODO comment in the sources", "parameters": {"pattern": "TODO"}},
                    {"id": "poem", "parent": "sources", "kind": "actor", "name": "写一首关于春天的长诗并把它保存到名为诗歌的文件夹里面", "description": "写诗", "completion_criteria": ["诗歌/春天.txt 存在"]},
                    {"id": "party", "kind": "actor", "name": "Plan the party 🎉 for 👩‍👩‍👧 and friends", "description": "x"},
                    {"id": "report", "kind": "actor", "name": "Write the report \u{1b}[31min red\u{1b}[0m", "description": "x", "dependencies": ["sources", "party"]},
                    {"id": "tidy", "kind": "actor", "name": "Take the report away again", "description": "x"}
                ]}}),
                "plan    v1: 6 tasks",
            ),
            (json!({"type": "run_status_changed", "from": "planning", "to": "executing"}), ""),
            (status_change("find", "pending", "ready"), ""),
            (status_change("find", "ready", "running"), "start   find"),
            (
                json!({"type": "task_concluded", "task": "find", "conclusion": {"outcome": "success", "summary": "12 matches in 4 files", "references": []}}),
                "",
            ),
            (status_change("find", "running", "completed"), "done    find"),
            (status_change("poem", "pending", "ready"), ""),
            (status_change("poem", "ready", "running"), "start   poem"),
            (
                json!({"type": "actor_created", "task": "poem", "actor": "poem-1", "profile": "sisyphus", "model": "gpt-5-mini", "tools": [], "reasons": []}),
                "",
            ),
            (
                json!({"type": "model_called", "task": "poem", "purpose": "act", "model": "gpt-5-mini", "spent": {"requests": 1, "input_tokens": 12_000, "output_tokens": 345, "cost_usd": 0.0123}, "duration_ms": 900}),
                "",
            ),
            (
                json!({"type": "tool_call_started", "task": "poem", "call": "1", "tool": "write_file", "parameters": {"path": "诗歌/春天.txt", "content": "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"}}),
                "",
            ),
            (status_change("party", "pending", "ready"), ""),
            (status_change("party", "ready", "running"), "start   party"),
            (
                json!({"type": "actor_created", "task": "party", "actor": "party-1", "profile": "atlas", "model": "gpt-5-mini", "tools": [], "reasons": []}),
                "",
            ),
        ],
    );
    screen
}

/// Returns the same run after a replan, with its reasons.
pub(crate) fn replanned() -> Screen {
    let mut screen = at_work();
    observe_all(
        &mut screen,
        20,
        vec![
            (json!({"type": "tool_call_started", "task": "party", "call": "1", "tool": "bash", "parameters": {"command": "ls rooms"}}), ""),
            (
                json!({"type": "tool_call_finished", "task": "party", "call": "1", "tool": "bash", "outcome": "error", "output": "exit code 2", "duration_ms": 1200}),
                "party: bash failed after 1.2 s: exit code 2",
            ),
            (
                json!({"type": "task_concluded", "task": "party", "conclusion": {"outcome": "failure", "summary": "", "error": "no room is free", "references": []}}),
                "",
            ),
            (
                json!({"type": "task_status_changed", "task": "party", "from": "running", "to": "failed", "attempt": 1, "for_good": true, "reason": "no room is free"}),
                "failed  party for good: no room is free",
            ),
            (
                json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [{"kind": "task_failed", "priority": 90, "detail": "party failed for good"}],
                    "patch": {"reasoning": "The garden needs no room.", "changes": [
                        {"op": "add_task", "task": {"id": "garden", "kind": "actor", "name": "Hold the party in the garden", "description": "x"}, "replaces": ["party"]}]}, "evidence": []}}),
                "replan  v2: party failed for good\n  because: The garden needs no room.\n  + garden in place of party: Hold the party in the garden",
            ),
            (status_change("garden", "pending", "ready"), ""),
            (status_change("garden", "ready", "running"), "start   garden"),
        ],
    );
    screen
}

pub(crate) fn asks(screen: &mut Screen, id: &str, kind: &str, question: &str) {
    observe_all(screen, 40, vec![(json!({"type": "question_asked", "id": id, "task": "poem", "kind": kind, "question": question}), "")]);
}

/// Returns the run in the book: its plan was changed while two actors are running.
pub(crate) fn for_the_book() -> Screen {
    let mut screen =
        Screen::new(RunId::new("01a200aaa443700b").unwrap(), ProcessRole::Driver, Limits { tokens: Some(200_000), ..Limits::default() });
    let (began, words) = run_started("Port the build from make to just, and let CI use it");
    let actor = |task: &str, profile: &str| json!({"type": "actor_created", "task": task, "actor": format!("{task}-1"), "profile": profile, "model": "gpt-5-mini", "tools": [], "reasons": []});
    let call = |task: &str, tool: &str, value: &str| json!({"type": "tool_call_started", "task": task, "call": "1", "tool": tool, "parameters": {"x": value}});
    observe_all(
        &mut screen,
        0,
        vec![
            (began, words.as_str()),
            (
                json!({"type": "routed", "mode": "complex", "by": "rules", "category": "coding", "reasons": []}),
                "route   complex (by rules, coding: several steps)",
            ),
            (
                json!({"type": "plan_created", "plan": {"goal": "g", "edges": [], "tasks": [
                    {"id": "look", "kind": "tool", "tool": "glob", "name": "Find every Makefile", "parameters": {"pattern": "**/Makefile"}},
                    {"id": "port", "kind": "actor", "name": "Port the targets to a justfile", "description": "x", "dependencies": ["look"]},
                    {"id": "ci", "kind": "actor", "name": "Let CI call just", "description": "x", "dependencies": ["look"]},
                    {"id": "check", "kind": "actor", "name": "Run every recipe once", "description": "x", "dependencies": ["port", "ci"]}
                ]}}),
                "plan    v1: 4 tasks",
            ),
            (json!({"type": "run_status_changed", "from": "planning", "to": "executing"}), ""),
            (status_change("look", "pending", "ready"), ""),
            (status_change("look", "ready", "running"), "start   look"),
            (
                json!({"type": "task_concluded", "task": "look", "conclusion": {"outcome": "success", "summary": "3 files", "references": []}}),
                "",
            ),
            (status_change("look", "running", "completed"), "done    look"),
            (status_change("port", "pending", "ready"), ""),
            (status_change("port", "ready", "running"), "start   port"),
            (actor("port", "sisyphus"), ""),
            (
                json!({"type": "model_called", "task": "port", "purpose": "act", "model": "gpt-5-mini", "spent": {"requests": 1, "input_tokens": 18_000, "output_tokens": 750, "cost_usd": 0.0061}, "duration_ms": 900}),
                "",
            ),
            (call("port", "edit_file", "justfile"), ""),
            (
                json!({"type": "evidence_added", "evidence": {"id": "e1", "type": "discovery", "significance": "high", "content": "docs/Makefile builds the manual", "at": 1, "processed": false}}),
                "evidence docs/Makefile builds the manual",
            ),
            (
                json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [{"kind": "evidence", "priority": 80, "detail": "evidence of high significance"}],
                    "patch": {"reasoning": "The manual has a build of its own.", "changes": [
                        {"op": "add_task", "task": {"id": "docs", "kind": "actor", "name": "Port the build of the manual", "description": "x", "dependencies": ["look"]}},
                        {"op": "add_edge", "edge": {"from": "docs", "to": "check", "type": "dependency"}}]}, "evidence": ["e1"]}}),
                "replan  v2: evidence of high significance\n  because: The manual has a build of its own.\n  + docs: Port the build of the manual\n  + docs before check",
            ),
            (status_change("docs", "pending", "ready"), ""),
            (status_change("docs", "ready", "running"), "start   docs"),
            (actor("docs", "atlas"), ""),
            (call("docs", "bash", "make -n -C docs"), ""),
        ],
    );
    screen
}
