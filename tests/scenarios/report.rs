//! The page of a run.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, bash, done, gives_up, plan, tool, write};

/// A run `r` whose first task was replaced by another, and which wrote files.
fn world() -> World {
    let patch = json!({"reasoning": "the </script> ford is flooded", "changes": [
        {"op": "add_task", "task": actor("bridge", "TAKE-THE-BRIDGE", &[]), "replaces": ["ford"]}
    ]});
    let tasks = [actor("ford", "TAKE-THE-FORD", &[]), actor("home", "GO-HOME", &["ford"])];
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&tasks))])
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(When::tools().and_contains("TAKE-THE-FORD"), [gives_up("flooded")])
        .on(
            When::tools().and_contains("TAKE-THE-BRIDGE"),
            [write("way.txt", "over the <b>bridge</b>\n过桥\n"), bash("cat key.txt >> old.txt"), done("over")],
        )
        .on(When::tools(), [done("at home")])
        .on(When::plain(), [Reply::text("At **home**.")]);
    let mut world = World::with(script).settings("[triggers]\nmax_retries = 0\n");
    world.set("OPENAI_API_KEY", "s3cr3t-word");
    world.file("old.txt", "as it was\n");
    world.file("key.txt", "s3cr3t-word\n");
    world.aime(["run", "cross the river and go home", "--mode", "complex", "--approve", "all", "--run-id", "r"]).must(0);
    world
}

// Requirement: 7.21
#[test]
fn a_run_is_one_page() {
    let world = world();
    let ended = world.aime(["runs", "report", "r"]).must(0);
    let path = ended.stdout.trim();
    assert!(path.ends_with("r/report.html"), "{ended}");
    let page = std::fs::read_to_string(path).unwrap();
    for text in [
        "<!DOCTYPE html>",
        "cross the river and go home",
        "<strong>home</strong>",
        "the &lt;/script&gt; ford is flooded",
        "<ins>over the &lt;b&gt;bridge&lt;/b&gt;</ins>",
        "<ins>过桥</ins>",
        "<ins>[redacted-secret]</ins>",
        "TAKE-THE-FORD",
        "✗ failed",
        "Version 2",
    ] {
        assert!(page.contains(text), "{text} is not in the page\n{ended}");
    }
    assert!(!page.contains("s3cr3t-word"));
    assert_eq!(page.matches("</script>").count(), 1);
}

#[test]
fn all_changed_paths_are_counted() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("make", "bash", json!({"command": "for i in $(seq 2100); do echo $i > $i.txt; done"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "r"]).must(0);
    let page = world.aime(["runs", "report", "r", "-o", "-"]).must(0).stdout;
    // The page shows 500 of them, and only 2,000 are read.
    assert!(page.contains("1\u{2009}600 more paths left out"), "the page counts other paths");
}

// Requirement: 7.21
#[test]
fn a_page_goes_where_it_is_wanted() {
    let world = world();
    let printed = world.aime(["runs", "report", "last", "-o", "-"]).must(0).stdout;
    assert!(printed.starts_with("<!DOCTYPE html>") && printed.trim_end().ends_with("</html>"), "{printed}");
    assert_eq!(world.aime(["runs", "report", "r", "-o", "page.html"]).must(0).stdout.trim(), "page.html");
    assert!(world.read("page.html").contains("cross the river"));
    let ended = world.aime(["runs", "report", "r", "-o", "page.html", "--output", "json"]).must(0);
    assert_eq!(ended.json(), json!({"run_id": "r", "report": "page.html"}));
    world.aime(["runs", "report", "r", "-o", "nowhere/page.html"]).must(2).stderr_contains(&["nowhere/page.html", "hint"]);
    world.aime(["runs", "report", "other"]).must(2).stderr_contains(&["other"]);
}

// Requirement: 7.21
#[test]
fn a_run_that_waits_for_a_person_is_shown_as_it_stands() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("write", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--approve", "ask", "--run-id", "r"]).must(5);
    let page = world.aime(["runs", "report", "r", "-o", "-"]).must(0).stdout;
    for text in ["waiting for human", "not answered", "No file was changed."] {
        assert!(page.contains(text), "{text} is not in the page");
    }
    world.aime(["runs", "delete", "r"]).must(0);
    assert!(!world.exists(".aime/runs/r"), "a page beside the run goes with it");
}

/// Returns the sum of a member over all events of a kind.
fn sum(events: &Ended, kind: &str, member: &str) -> u64 {
    events.events(kind).iter().map(|event| event.pointer(member).and_then(Value::as_u64).unwrap_or_default()).sum()
}

// Requirement: 3.52
#[test]
fn time_and_tokens_go_to_their_parts() {
    // Two tasks in private folders. Each asks a model, calls a tool, is merged, and is checked by a command and by a model.
    let script = Script::new()
        .on(When::schema("aime_verdict"), [Reply::json(json!({"passed": true, "reason": "it is"}))])
        .on(When::tools().and_turn(0).and_contains("A-PART"), [bash("sleep 0.02; echo a > a")])
        .on(When::tools().and_turn(0).and_contains("B-PART"), [bash("sleep 0.02; echo b > b")])
        .on(When::tools(), [done("it is there")])
        .on(When::plain(), [Reply::text("Both are there.")]);
    let world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    let tasks = ["a", "b"].map(|id| {
        let mut task = actor(id, &format!("{}-PART", id.to_uppercase()), &[]);
        task["completion_criteria"] = json!([{"command": format!("sleep 0.02; cat {id}")}, "it is good"]);
        task
    });
    world.plan("plan.json", &plan(&tasks));
    world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--approve", "all"]).must(0);

    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    let ended = world.aime(["runs", "stats", "r", "--output", "json"]).must(0);
    let time = &ended.json()["time"];
    let figure = |member: &str| time.pointer(member).and_then(Value::as_u64).unwrap();
    let parts = ["models", "tools", "checks"];
    assert_eq!(parts.map(|part| figure(&format!("/{part}/requests"))), [5, 0, 2], "two turns of each task and the answer: {ended}");
    assert_eq!(world.server().requests().len(), 7, "{ended}");
    let tokens = parts.map(|part| figure(&format!("/{part}/input_tokens")));
    assert!(tokens[0] > 0 && tokens[1] == 0 && tokens[2] > 0, "{ended}");
    assert_eq!(tokens.iter().sum::<u64>(), sum(&events, "model_called", "/spent/input_tokens"), "{ended}\n{events}");
    assert_eq!(figure("/tools/ms"), sum(&events, "tool_call_finished", "/duration_ms"), "{ended}\n{events}");
    assert_eq!(
        (events.events("changes_merged").len(), figure("/merging_ms")),
        (2, sum(&events, "changes_merged", "/duration_ms")),
        "{ended}"
    );
    // Both commands sleep for 20 ms.
    assert!(figure("/tools/ms") >= 40 && figure("/checks/ms") >= 40, "{ended}");
    assert!(figure("/aime_ms") < figure("/total_ms"), "{ended}");

    let shown = world.aime(["runs", "stats", "r"]).must(0).stdout;
    let page = world.aime(["runs", "report", "r", "-o", "-"]).must(0).stdout;
    for (part, row) in [("models", "Models"), ("tools", "Tools"), ("checks", "Checks"), ("merging", "Merging"), ("aime", "aime itself")] {
        assert!(shown.lines().any(|line| line.trim_start().starts_with(part)), "{part}: {shown}");
        assert!(page.contains(&format!("<th scope=\"row\">{row}</th>")), "{row} is not in the page");
    }
}
