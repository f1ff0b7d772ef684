//! Runs that are started and resumed from the dashboard.

use std::{
    thread,
    time::{Duration, Instant},
};

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{Asked, DEADLINE};
use crate::harness::{World, bash, done, gives_up, plan, tool, wait_until};

/// An actor that runs a command, and says whether it could.
fn world(command: &str) -> World {
    World::with(
        Script::new()
            .on(When::tools().and_turn(0), [bash(&format!("{command}; echo it went w''ell"))])
            .on(When::tools().and_contains("it went well"), [done("the command ran")])
            .on(When::tools(), [gives_up("it did not run")]),
    )
}

impl Asked<'_> {
    /// Starts a run, and gives its name.
    pub(crate) fn begin(&self, new: &Value) -> String {
        let (status, started) = self.ask("POST", "/api/v1/runs", &new.to_string());
        assert_eq!(status, 201, "{started}");
        started["run"].as_str().unwrap().to_owned()
    }

    fn look(&self, run: &str) -> Value {
        let (status, seen) = self.ask("GET", &format!("/api/v1/runs/{run}"), "");
        assert_eq!(status, 200, "{seen}");
        seen
    }

    /// Waits until a run asks; gives the question.
    fn question(&self, run: &str) -> Value {
        wait_until("it asks", || self.look(run)["questions"][0].is_object());
        self.look(run)["questions"][0].clone()
    }

    fn answer(&self, run: &str, answer: &Value) -> (u16, Value) {
        self.ask("POST", &format!("/api/v1/runs/{run}/answer"), &answer.to_string())
    }

    pub(crate) fn wait_for_end(&self, run: &str) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.look(run);
            if (&seen["over"], &seen["driven"]) == (&json!(true), &json!(false)) {
                return seen["result"].clone();
            }
            assert!(begun.elapsed() < DEADLINE, "it does not end: {seen:#}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

// Requirement: 12.18
#[test]
fn a_run_is_started_and_asks_for_consent() {
    let world = world("echo ran >> log");
    let dashboard = Asked::start(&world);
    let run = dashboard.begin(&json!({"goal": "run the command", "mode": "direct", "approve": "ask"}));
    let asked = dashboard.question(&run);
    assert_eq!((&asked["kind"], &asked["always"]), (&json!("approval"), &json!(true)));
    assert!(asked["question"].as_str().unwrap().contains("echo ran >> log"), "{asked}");
    assert!(!world.exists("log"), "not before a person said so");
    // The answer to another question is none to this one.
    let (status, refused) = dashboard.answer(&run, &json!({"text": "yes", "question": "approval-0"}));
    assert_eq!(status, 409, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("no longer asks that"), "{refused}");
    let (_, refused) = dashboard.ask("POST", &format!("/api/v1/runs/{run}/resume"), "");
    assert!(refused["error"]["message"].as_str().unwrap().contains("being carried out"), "{refused}");
    assert!(!world.exists("log"));
    assert_eq!(dashboard.answer(&run, &json!({"text": "yes", "question": asked["id"]})).0, 200);
    let result = dashboard.wait_for_end(&run);
    assert_eq!((&result["status"], world.read("log").as_str()), (&json!("completed"), "ran\n"), "{result}");
    // It is a run as any other.
    assert_eq!(world.aime(["runs", "show", &run, "--output", "json"]).must(0).json()["answer"], result["answer"]);
    dashboard.end();
}

// Requirement: 12.18
#[test]
fn settings_that_allow_everything_do_not_allow_it_here() {
    let mut world = world("echo ran >> log");
    world.user_settings("[permissions]\napprove = \"all\"\n");
    let dashboard = Asked::start(&world);
    let (status, refused) = dashboard.ask("POST", "/api/v1/runs", r#"{"goal": "x", "approve": "all"}"#);
    assert_eq!(status, 400, "{refused}");
    let run = dashboard.begin(&json!({"goal": "run the command", "mode": "direct"}));
    dashboard.question(&run);
    dashboard.answer(&run, &json!({"text": "no"}));
    assert_eq!(dashboard.wait_for_end(&run)["status"], "failed");
    assert!(!world.exists("log"));
    dashboard.end();
}

/// A run that lacks something goes on with an empty answer; a question needs words.
#[test]
fn an_empty_answer_lets_a_blocked_run_go_on() {
    let asks = Reply::call("ask_human", json!({"question": "Which report?"}));
    let blocked = Reply::call("terminate", json!({"status": "blocked", "message": "It is refused.", "needs": "a key in key.txt"}));
    let world = World::with(Script::new().on(When::tools(), [asks, blocked, done("uploaded")]));
    let dashboard = Asked::start(&world);
    let run = dashboard.begin(&json!({"goal": "upload the report", "mode": "direct"}));
    let asked = dashboard.question(&run);
    let (status, refused) = dashboard.answer(&run, &json!({"text": " ", "question": asked["id"]}));
    assert_eq!(status, 409, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("this question needs words"), "{refused}");
    assert_eq!(dashboard.answer(&run, &json!({"text": "the first", "question": asked["id"]})).0, 200);
    wait_until("it is blocked", || dashboard.look(&run)["questions"][0]["kind"] == "blocked");
    let asked = dashboard.question(&run);
    assert_eq!(dashboard.answer(&run, &json!({"text": "", "question": asked["id"]})).0, 200);
    let result = dashboard.wait_for_end(&run);
    assert_eq!((&result["status"], &result["answer"]), (&json!("completed"), &json!("uploaded")), "{result}");
    dashboard.end();
}

/// An actor whose command waits, and that has done its work however it hears of the end of it.
fn patient() -> World {
    World::with(Script::new().on(When::tools().and_turn(0), [bash(WAITS)]).on(When::tools(), [done("it was cut off")]))
}

/// What a run that is left finds when it is gone on with.
fn goes_on_in_a_new_dashboard(world: &World, run: &str) {
    let dashboard = Asked::start(world);
    let (_, listed) = dashboard.ask("GET", "/api/v1/runs", "");
    assert_eq!((&listed["runs"][0]["run"], listed["runs"].as_array().unwrap().len()), (&json!(run), 1), "{listed}");
    let seen = dashboard.look(run);
    assert_eq!((&seen["over"], &seen["driven"]), (&json!(false), &json!(false)), "{seen}");
    world.file("go", "");
    assert_eq!(dashboard.ask("POST", &format!("/api/v1/runs/{run}/resume"), "").0, 200);
    let result = dashboard.wait_for_end(run);
    assert_eq!((&result["status"], &result["answer"]), (&json!("completed"), &json!("it was cut off")), "{result}");
    assert_eq!(world.server().requests().len(), 2, "what was asked and answered before is not asked again");
    let (status, refused) = dashboard.ask("POST", &format!("/api/v1/runs/{run}/resume"), "");
    assert_eq!(status, 409, "{refused}");
    dashboard.end();
}

const WAITS: &str = "echo $$ > begun; for i in $(seq 1200); do test -e go && break; sleep 0.05; done; test -e go";

/// A dashboard with a run whose command is under way, that nobody looks at.
fn under_way(world: &World) -> (Asked<'_>, String) {
    let dashboard = Asked::start(world);
    let run = dashboard.begin(&json!({"goal": "run the command", "mode": "direct", "approve": "ask"}));
    let asked = dashboard.question(&run);
    dashboard.answer(&run, &json!({"text": "yes", "question": asked["id"]}));
    wait_until("the command has begun", || !world.read("begun").trim().is_empty());
    (dashboard, run)
}

// Requirement: 12.18
#[test]
fn a_dashboard_that_ends_stops_its_runs_and_the_next_goes_on_with_them() {
    let world = patient();
    let (dashboard, run) = under_way(&world);
    dashboard.end();
    #[cfg(target_os = "linux")]
    assert!(!std::path::Path::new("/proc").join(world.read("begun").trim()).exists(), "no process outlives its run");
    assert_eq!(world.aime(["runs", "--output", "json"]).must(0).json()[0]["status"], "interrupted");
    goes_on_in_a_new_dashboard(&world, &run);
}

// Requirement: 12.18
#[test]
fn a_dashboard_that_is_killed_leaves_runs_that_go_on() {
    let world = patient();
    let (dashboard, run) = under_way(&world);
    dashboard.serving.kill();
    goes_on_in_a_new_dashboard(&world, &run);
}

// Requirement: 12.18
#[test]
fn a_run_that_was_left_with_a_question_goes_on_with_its_answer() {
    let world = world("echo ran >> log");
    world.aime(["run", "run the command", "--mode", "direct", "--approve", "ask", "--run-id", "r"]).must(5);
    let dashboard = Asked::start(&world);
    let asked = dashboard.question("r");
    let (status, reply) = dashboard.answer("r", &json!({"text": "yes", "question": asked["id"], "resume": true}));
    assert_eq!((status, &reply["message"]), (200, &json!("answered, and it goes on")));
    assert_eq!(dashboard.wait_for_end("r")["status"], "completed");
    assert_eq!(world.read("log"), "ran\n");
    dashboard.end();
}

// Requirement: 12.19
#[test]
fn runs_are_found_by_their_words_and_compared() {
    let mut world = world("echo over the bridge of Zürich >> log");
    world.set("OPENAI_API_KEY", "s3cr3t-word");
    for id in ["first", "second"] {
        world.aime(["run", "cross with s3cr3t-word", "--mode", "direct", "--approve", "all", "--run-id", id]).must(0);
    }
    let dashboard = Asked::start(&world);
    let search = |words: &str| dashboard.ask("GET", &format!("/api/v1/search?q={words}"), "").1["hits"].as_array().unwrap().clone();
    let found = search("zürich+BRIDGE");
    let runs: Vec<&str> = found.iter().map(|hit| hit["run"].as_str().unwrap()).collect();
    assert!(runs.contains(&"first") && runs.contains(&"second"), "{found:?}");
    assert!(found.iter().any(|hit| hit["type"] == "tool_call_started" && hit["text"].as_str().unwrap().contains("Zürich")), "{found:?}");
    assert!(search("cross").iter().any(|hit| hit["seq"] == 0), "goals are searched");
    assert!(search("s3cr3t").is_empty(), "what is not shown is not found");
    let (status, compared) = dashboard.ask("GET", "/api/v1/compare?run=first&run=second", "");
    assert_eq!((status, &compared["runs"][1]["run"]), (200, &json!("second")));
    assert_eq!(
        (&compared["tasks"][0]["same"], &compared["tasks"][0]["sides"][1]["status"]),
        (&json!(true), &json!("completed")),
        "{compared}"
    );
    let log = compared["files"].as_array().unwrap().iter().find(|file| file["name"] == "log").unwrap();
    assert_eq!(
        (&log["same"], &log["sides"][0]["did"], &log["sides"][1]["did"]),
        (&json!(false), &json!("created"), &json!("changed")),
        "{log}"
    );
    dashboard.end();
}

// Requirement: 12.18
#[test]
fn runs_are_started_only_in_folders_that_are_served() {
    let world = world("echo ran >> log");
    std::fs::create_dir(world.root().join("other")).unwrap();
    let dashboard = Asked::start_with(&world, &["--folder", "../other"]);
    let (status, refused) = dashboard.ask("POST", "/api/v1/runs", r#"{"goal": "x", "folder": "home"}"#);
    assert_eq!(status, 404, "{refused}");
    let run = dashboard.begin(&json!({"goal": "run the command", "mode": "direct", "folder": "other"}));
    assert!(run.starts_with("other:"), "{run}");
    let asked = dashboard.question(&run);
    dashboard.answer(&run, &json!({"text": "yes", "question": asked["id"]}));
    assert_eq!(dashboard.wait_for_end(&run)["status"], "completed");
    assert!(world.root().join("other/log").exists() && !world.exists("log"));
    assert_eq!(dashboard.ask("GET", "/api/v1/runs/last", "").0, 404, "it is no run of the first folder");
    assert_eq!(dashboard.look("other:last")["run"], json!(run));
    dashboard.end();
}

// Requirement: 12.10
#[test]
fn one_broken_folder_hides_no_other() {
    let world = World::alone();
    let other = world.root().join("other");
    std::fs::create_dir(&other).unwrap();
    world.plan("plan.json", &plan(&[tool("look", "list_dir", json!({"path": "."}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--run-id", "river"]).must(0);
    let dashboard = Asked::start_with(&world, &["--folder", "../other"]);
    assert_eq!(dashboard.ask("GET", "/api/v1/runs", "").1["unreadable"], json!([]));
    std::fs::write(other.join(".aime"), "").unwrap();
    for (path, listed) in [("/api/v1/runs", "/runs/0/run"), ("/api/v1/search?q=list_dir", "/hits/0/run")] {
        let (status, answer) = dashboard.ask("GET", path, "");
        assert_eq!((status, answer.pointer(listed)), (200, Some(&json!("river"))), "{answer}");
        let unreadable = &answer["unreadable"][0];
        assert!(unreadable["folder"] == "other" && unreadable["message"].as_str().unwrap().contains("other/.aime"), "{answer}");
    }
    dashboard.end();

    // If no folder can be read, the request fails.
    let mut command = world.command();
    command.current_dir(&other).arg("serve");
    let dashboard = Asked::of(world.spawn(command));
    let (status, answer) = dashboard.ask("GET", "/api/v1/runs", "");
    assert!(status == 409 && answer["error"]["message"].as_str().unwrap().contains("other/.aime"), "{status} {answer}");
    dashboard.end();
}

// Requirement: 1.10
#[test]
fn a_run_that_has_ended_goes_on_with_a_further_goal() {
    let world = World::led(Script::new().on(When::tools(), [done("Clean."), done("Dry.")]));
    let dashboard = Asked::start(&world);
    let run = dashboard.begin(&json!({"goal": "wash them"}));
    assert_eq!(dashboard.wait_for_end(&run)["answer"], "Clean.");
    assert_eq!(dashboard.look(&run)["takes_follow_up"], json!(true));
    let go_on = |text: &str| dashboard.ask("POST", &format!("/api/v1/runs/{run}/continue"), &json!({"text": text}).to_string());
    let (status, refused) = go_on(" ");
    assert_eq!(status, 409, "{refused}");
    let (status, reply) = go_on("dry them");
    assert_eq!(status, 200, "{reply}");
    assert_eq!(dashboard.wait_for_end(&run)["answer"], "Dry.");
    crate::lead::grows_only_at_its_end(&world.server().requests());
    dashboard.end();
}
