//! Plans from files: run without a model, and checked with every fault at once.

use serde_json::{Value, json};

use crate::harness::{World, plan, task, tool};

fn bad() -> Value {
    json!({
        "goal": "everything is wrong",
        "tasks": [
            {"id": "wash", "description": "wash", "dependencies": ["dry"]},
            {"id": "dry", "description": "dry", "dependencies": ["wash"]},
            {"id": "dry", "description": "twice", "dependencies": []},
            {"id": "self", "description": "itself", "dependencies": ["self"]},
            {"id": "lost", "description": "lost", "dependencies": ["nowhere"]},
            {"id": "hit", "tool": "hammer", "parameters": {}},
            {"id": "find", "tool": "grep", "parameters": {"path": "."}},
            {"id": "who", "description": "who", "profile": "hercules"},
        ]
    })
}

/// A word for each fault of the plan.
const FAULTS: [&str; 7] = ["wash", "dry", "self", "nowhere", "hammer", "pattern", "hercules"];

// Requirement: 3.9
#[test]
fn a_plan_of_tool_tasks_needs_no_model() {
    let world = World::alone();
    world.file("notes.txt", "TODO wash\n");
    let tasks = plan(&[
        tool("find", "grep", json!({"pattern": "TODO", "path": "notes.txt"}), &[]),
        tool("count", "bash", json!({"command": "wc -l < notes.txt"}), &[]),
        tool("report", "write_file", json!({"path": "report.md", "content": "@{steps.find.result.count} of @{steps.count.result}"}), &[]),
    ]);
    world.plan("plan.json", &tasks);
    let ended = world.aime(["run", "--plan", "plan.json", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!(result["schema"], "aime.result/v1");
    assert_eq!(result["status"], "completed");
    assert_eq!(task(&result, "report")["references"], json!(["report.md"]));
    assert_eq!(result["usage"]["requests"], 0);
    assert!(world.read("report.md").starts_with("1 of "), "{}", world.read("report.md"));
    // Without --output the result goes to standard output as text.
    let text = world.aime(["run", "--plan", "plan.json"]).must(0);
    assert!(text.stdout.contains("report"), "{text}");
}

#[test]
fn a_handed_over_plan_may_run_its_commands() {
    // A person wrote or read the plan: its tool tasks need no further consent, unless --approve says so.
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("say", "bash", json!({"command": "echo hello > said.txt"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--approve", "edits"]).must(5);
    assert!(!world.exists("said.txt"));
    world.aime(["run", "--plan", "plan.json"]).must(0);
    assert_eq!(world.read("said.txt"), "hello\n");
}

#[test]
fn the_step_form_is_read_too() {
    let world = World::alone();
    let steps = json!({"plan_id": "p", "task_id": "t", "steps": [
        {"step_id": 1, "name": "write", "description": "write it", "tool_name": "write_file", "tool_parameters": {"path": "a.txt", "content": "a"}, "dependencies": []},
        {"step_id": 2, "name": "copy", "description": "copy it", "tool_name": "write_file", "tool_parameters": {"path": "b.txt", "content": "@{steps.1.result.path}"}, "dependencies": [1]},
    ]});
    world.plan("plan.json", &steps);
    world.aime(["run", "--plan", "plan.json"]).must(0);
    assert_eq!(world.read("b.txt"), "a.txt");
}

/// The name of a file is no goal: the fault names the option that reads the file.
#[test]
fn a_file_is_no_goal() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("a", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    for command in ["run", "plan"] {
        let ended = world.aime([command, "plan.json"]).must(2);
        let hint = "hint: `aime run --plan plan.json` runs the plan in it, `aime run --goal-file plan.json` reads the goal from it";
        ended.stderr_contains(&["error: the goal is only the name of a file: plan.json", hint]);
    }
    assert!(!world.exists(".aime"));
}

#[test]
fn a_plan_may_come_through_a_pipe() {
    let world = World::alone();
    let text = plan(&[tool("a", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]).to_string();
    world.aime_reading(["check", "-"], &text).must(0);
    world.aime_reading(["run", "--plan", "-"], &text).must(0);
    assert_eq!(world.read("a.txt"), "a");
    let reader = json!({"tasks": [{"id": "a", "description": "Write report.md", "profile": "oracle"}]});
    world.plan("reader.json", &reader);
    let document = world.aime(["check", "reader.json", "--format", "json"]).must(0).json();
    assert_eq!((&document["repairs"], &document["plan"]["tasks"][0]["profile"]), (&json!([]), &json!("oracle")), "{document:#}");
}

// Requirement: 3.32
#[test]
fn check_names_every_fault_at_once() {
    let world = World::alone();
    world.plan("bad.json", &bad());
    let text = world.aime(["check", "bad.json"]).must(2);
    let json = world.aime(["check", "bad.json", "--format", "json"]).must(2);
    let document = json.json();
    assert_eq!(document["valid"], false);
    assert!(document["faults"].as_array().unwrap().len() >= 6, "{json}");
    for word in FAULTS {
        assert!(text.stdout.contains(word), "{word}\n{text}");
        assert!(document["faults"].to_string().contains(word), "{word}\n{json}");
    }
    // The run gives the same list and begins nothing.
    let run = world.aime(["run", "--plan", "bad.json"]).must(2);
    assert!(FAULTS.iter().all(|word| run.stderr.contains(word)), "{run}");
    assert!(!world.exists(".aime"));
}

/// A person reads where the text is broken, and no advice to a model.
// Requirement: 3.32
#[test]
fn check_names_the_line_of_a_syntax_error() {
    let world = World::alone();
    let hint = "(write one JSON object of the form aime.plan/v1)";
    let value = "expected a value, such as an object, a list or a string in double quotes";
    for (text, code, expected) in [
        (
            "{\"tasks\": [\n  {\"id\": \"a\", ",
            2,
            format!("fault json: line 2, column 14: the text ends inside an object; expected `}}` {hint}\n1 fault\n"),
        ),
        ("hello", 2, format!("fault json: line 1, column 1: {value} {hint}\n1 fault\n")),
        ("\n", 2, format!("fault json: the text is empty {hint}\n1 fault\n")),
        (
            "{\"tasks\": [\n  {\"id\": \"a\" \"description\": \"x\"}\n]}",
            0,
            "repaired: line 2, column 14: expected `,` or `}`\nrepaired: repaired quotes and punctuation\nvalid: 1 task\n".to_owned(),
        ),
    ] {
        world.file("plan.json", text);
        assert_eq!(world.aime(["check", "plan.json"]).must(code).stdout, expected, "{text}");
    }
    world.file("plan.json", "hello");
    let stdout = world.aime(["check", "plan.json", "--lang", "zh"]).must(2).stdout;
    assert!(
        stdout.contains("第 1 行第 1 列：这里应有一个值，例如对象、列表或双引号中的字符串（请写一个 aime.plan/v1 形式的 JSON 对象）"),
        "{stdout}"
    );
    let run = world.aime(["run", "--plan", "plan.json"]).must(2);
    assert!(run.stderr.contains(&format!("json: line 1, column 1: {value}")), "{run}");
    let fault = &world.aime(["check", "plan.json", "--format", "json"]).must(2).json()["faults"][0];
    assert_eq!((fault["place"].as_str(), fault["message"].as_str()), (Some("json"), Some(format!("line 1, column 1: {value}").as_str())));
}

/// The faults of a plan are listed in the order of the document, after its repairs.
#[test]
fn check_lists_repairs_and_faults_in_order() {
    let world = World::alone();
    world.file(
        "plan.json",
        "{'tasks': [{\"id\": \"a\", \"description\": \"x\", \"dependencies\": [\"b\", \"z\"]},\n  \
         {\"id\": \"b\", \"tool\": \"gerp\"},\n  {\"id\": \"c\", \"dependencies\": [\"y\"], \"description\": \"x\"},\n  \
         {\"id\": \"d\", \"description\": \"x\", \"profile\": \"nobody\"}],\n \
         \"edges\": [{\"from\": \"a\", \"to\": \"q\"}], \"reward\": 3}",
    );
    let ended = world.aime(["check", "plan.json"]).must(2);
    let starts: Vec<&str> = ended.stdout.lines().map(|line| line.split([' ', ':']).take(2).last().unwrap_or_default()).collect();
    let faults: Vec<&str> = starts.iter().copied().filter(|place| place.contains('[')).collect();
    assert_eq!(
        faults,
        ["tasks[0].dependencies[1]", "tasks[1].tool", "tasks[2].dependencies[0]", "tasks[3].profile", "edges[0].to"],
        "{ended}"
    );
    assert!(ended.stdout.starts_with("repaired: line 1, column 2: expected a key in double quotes\nrepaired: "), "{ended}");
    let run = world.aime(["run", "--plan", "plan.json"]).must(2);
    run.stderr_contains(&["repaired in the plan: line 1, column 2: expected a key in double quotes"]);
    let document = world.aime(["check", "plan.json", "--format", "json"]).must(2).json();
    assert!(document["repairs"].as_array().is_some_and(|repairs| repairs.len() >= 2), "{document:#}");
}

// Requirement: 3.36
#[test]
fn check_names_the_cycle() {
    let world = World::alone();
    let tasks: Vec<Value> =
        [("a", "c"), ("b", "a"), ("c", "b")].map(|(id, before)| json!({"id": id, "description": id, "dependencies": [before]})).to_vec();
    world.plan("cycle.json", &json!({"tasks": tasks}));
    let ended = world.aime(["check", "cycle.json"]).must(2);
    let line = ended.stdout.lines().find(|line| line.contains("cycle")).unwrap_or_else(|| panic!("no cycle\n{ended}"));
    assert!(["a", "b", "c"].iter().all(|id| line.contains(id)), "{line}");
}

#[test]
fn check_says_when_a_plan_is_valid() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("a", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    let ended = world.aime(["check", "plan.json"]).must(0);
    assert!(ended.stdout.contains("valid"), "{ended}");
    let document = world.aime(["check", "plan.json", "--format", "json"]).must(0).json();
    assert_eq!(document["valid"], true);
    assert_eq!(document["plan"]["schema"], "aime.plan/v1");
    assert!(!world.exists("a.txt"));
    assert!(!world.exists(".aime"), "a check leaves nothing behind");
}

// Requirement: 3.39, 3.40
#[test]
fn harmless_faults_are_repaired_and_reported() {
    let world = World::alone();
    world.file(
        "plan.json",
        "```json\n{'tasks': [{'id': 'a b', 'tool': 'write_file', 'parameters': {'path': 'a.txt', 'content': 'a'},},]}\n```",
    );
    let document = world.aime(["check", "plan.json", "--format", "json"]).must(0).json();
    assert!(!document["repairs"].as_array().unwrap().is_empty(), "{document:#}");
    world.aime(["run", "--plan", "plan.json"]).must(0).stderr_contains(&["repaired"]);
    assert_eq!(world.read("a.txt"), "a");
}
