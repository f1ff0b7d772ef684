//! Several actors and people change one file at once, and no change is lost.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, bash, done, messages_text, plan, task, tool};

const STATS: &str = "def total(values):\n    return sum(values)\n";
const DOCUMENTED: &str = "def total(values):\n    \"\"\"Return the sum.\"\"\"\n    return sum(values)\n";
const MEAN: &str = "\n\ndef mean(values):\n    return sum(values) / len(values) if values else 0.0\n";

fn call(tool: &str, parameters: Value) -> Reply {
    Reply::call(tool, parameters)
}

fn read() -> Reply {
    call("read_file", json!({"path": "stats.py"}))
}

fn write(content: &str) -> Reply {
    call("write_file", json!({"path": "stats.py", "content": content}))
}

#[test]
fn two_actors_keep_both_edits_of_one_file() {
    let (doc, mean) =
        (|turn| When::tools().and_contains("DOC-PART").and_turn(turn), |turn| When::tools().and_contains("MEAN-PART").and_turn(turn));
    // The second actor changes the file after the first has read it, and before the first writes it whole.
    let script = Script::new()
        .on(doc(0), [read()])
        .on(mean(0), [call("edit_file", json!({"path": "stats.py", "old_text": "", "new_text": MEAN})).after_request("return sum(values)")])
        .on(mean(1), [done("mean is there")])
        .on(doc(1), [write(DOCUMENTED).after_request("def mean")])
        .on(doc(2), [read()])
        .on(doc(3), [write(&format!("{DOCUMENTED}{MEAN}"))])
        .on(doc(4), [done("documented")]);
    let world = World::with(script).in_one_folder();
    world.file("stats.py", STATS);
    world.plan("plan.json", &plan(&[actor("doc", "DOC-PART", &[]), actor("mean", "MEAN-PART", &[])]));
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0);
    assert_eq!(world.read("stats.py"), format!("{DOCUMENTED}{MEAN}"), "{ended}");
    let refusal = world.actor_requests("DOC-PART").iter().map(messages_text).find(|text| text.contains("not written"));
    let refused = "not written: `stats.py` was changed by task `mean` (edit_file) since you last read it. Read it again";
    assert!(refusal.is_some_and(|refusal| refusal.contains(refused)), "{ended}");
}

#[test]
fn a_resumed_actor_knows_what_it_has_read() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [read()])
        // A call that changes something writes its intent first, and with it all that was read until then.
        .on(When::tools().and_turn(1), [call("write_file", json!({"path": "other.txt", "content": "x"}))])
        .once(When::tools().and_turn(2), [Reply::hang()])
        .on(When::tools().and_turn(2), [write("mine\n")])
        .on(When::tools().and_turn(3), [call("edit_file", json!({"path": "stats.py", "old_text": "total", "new_text": "sum_of"}))])
        .on(When::tools().and_turn(4), [done("renamed")]);
    let world = World::with(script);
    world.file("stats.py", STATS);
    world.plan("plan.json", &plan(&[actor("rename", "RENAME-PART", &[])]));
    let running = world.start(["run", "--plan", "plan.json", "--run-id", "trip", "--output", "json"]);
    world.wait_for_requests(3);
    running.kill();
    world.file("stats.py", &format!("# by Ann\n{STATS}"));
    let ended = world.aime(["resume", "trip", "--output", "json"]).must(0);
    assert_eq!(world.read("stats.py"), format!("# by Ann\n{}", STATS.replace("total", "sum_of")), "{ended}");
    let prompts = world.actor_requests("RENAME-PART").iter().map(messages_text).collect::<String>();
    let by = "was changed by a person or another program since you last read it";
    assert!(prompts.contains(&format!("not written: `stats.py` {by}")), "{prompts}");
    assert!(prompts.contains(&format!("[`stats.py` {by}; this edit was made on top of that change, which is kept]")), "{prompts}");
}

/// The calls of a plan replace what the plan puts before them, and nothing else.
#[test]
fn a_tool_task_replaces_no_change_of_a_task_beside_it() {
    let writes = |id: &str, content: &str, after: &[&str]| tool(id, "write_file", json!({"path": "stats.py", "content": content}), after);
    let script = Script::new().on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))]);
    let world =
        World::with(script.on(When::plain(), [Reply::text("Not all of it.")])).settings("[triggers]\nmax_retries = 0\n").in_one_folder();
    world.file("stats.py", STATS);
    let tasks = [
        writes("first", "first\n", &[]),
        writes("again", "again\n", &["first"]),
        // It is written after the others, but the plan does not say so.
        tool("wait", "bash", json!({"command": "until grep -q again stats.py; do sleep 0.05; done"}), &[]),
        writes("beside", "beside\n", &["wait"]),
    ];
    world.plan("plan.json", &plan(&tasks));
    let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]).must(1);
    let result = ended.json();
    assert_eq!(world.read("stats.py"), "again\n", "{ended}");
    assert_eq!(task(&result, "again")["status"], "completed", "{ended}");
    let error = task(&result, "beside")["error"].to_string();
    let refused = "not written: `stats.py` was changed by task `again` (write_file) in this run, and you have not read it.";
    assert!(error.contains(refused), "{ended}");
}

#[test]
fn the_repository_is_left_alone_while_others_work() {
    let commit = "git init -q && git add . && git -c user.name=a -c user.email=a@b.example commit -qm first";
    let (one, two) =
        (|turn| When::tools().and_contains("ONE-PART").and_turn(turn), |turn| When::tools().and_contains("TWO-PART").and_turn(turn));
    let script = Script::new()
        .on(one(0), [bash("git stash -q; cat stats.py").after_request("mine")])
        .on(one(1), [done("not now")])
        .on(two(0), [write("mine\n")])
        .on(two(1), [done("written").after_request("changes the branch")]);
    let world = World::with(script).in_one_folder();
    world.file("stats.py", STATS);
    world.plan(
        "plan.json",
        &plan(&[
            tool("begin", "bash", json!({"command": commit}), &[]),
            actor("one", "ONE-PART", &["begin"]),
            actor("two", "TWO-PART", &["begin"]),
            tool("end", "bash", json!({"command": "git stash -q"}), &["one", "two"]),
        ]),
    );
    let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]).must(0);
    let prompts = world.actor_requests("ONE-PART").iter().map(messages_text).collect::<String>();
    let refused = "not run: `git stash` changes the branch, the index, the stash or the files of the repository, and other tasks work in the same folder now: `two`.";
    assert!(prompts.contains(refused), "{prompts}");
    assert_eq!(world.read("stats.py"), STATS, "a task that runs alone may do it\n{ended}");
}
