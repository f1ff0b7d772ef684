//! `aime plan`, and the plan that `aime run --review` opens: made as a run makes it, within bounds, and refused by hooks.

use aime_scripted_server::{Reply, Script, ScriptedUsage, When};
use serde_json::json;

use crate::harness::{World, actor, done, plan};

const GOAL: &str = "do the dishes";
const PLAN: [&str; 4] = ["plan", GOAL, "--mode", "complex"];
const REVIEW: [&str; 7] = ["run", GOAL, "--mode", "complex", "--review", "--output", "json"];

fn world(planner: Reply) -> World {
    let script = Script::new().on(When::schema("aime_plan"), [planner]).on(When::tools(), [done("done")]);
    let mut world = World::with(script);
    world.set("EDITOR", "true");
    world
}

fn one_task() -> Reply {
    Reply::json(plan(&[actor("wash", "WASH", &[])]))
}

fn asked(world: &World) -> usize {
    world.server().requests().len()
}

#[test]
fn what_planning_took_is_told() {
    let priced = world(one_task()).settings("[models.default]\nmodel = \"m\"\nprices = { input = 1.0, output = 10.0 }\n");
    let ended = priced.aime(PLAN).must(0).stderr_contains(&[" tokens in 1 request, $0."]);
    assert!(!priced.exists(".aime"), "{ended}");
    let ended = priced.aime(REVIEW).must(0);
    // One for `aime plan`, the other two for the run.
    assert_eq!((asked(&priced), &ended.json()["usage"]["requests"]), (3, &json!(2)), "{ended}");
}

#[test]
fn bounds_end_planning() {
    for settings in ["", "[run]\nmax_tokens = 10\n"] {
        let world = world(one_task()).settings(settings);
        let bound = if settings.is_empty() { vec!["--max-tokens", "10"] } else { Vec::new() };
        for command in [PLAN.as_slice(), &REVIEW] {
            let ended = world.aime(command.iter().chain(&bound)).must(4).stderr_contains(&["higher bound", "--max-tokens N"]);
            assert_eq!(asked(&world), 0, "{ended}");
            if command == REVIEW {
                assert_eq!(ended.json()["error"]["code"], "bound_reached", "{ended}");
            }
        }
    }
}

#[test]
fn the_hint_on_a_bound_is_translated() {
    let mut world = world(one_task());
    world.set("LANG", "zh_CN.UTF-8");
    world.aime(PLAN.iter().copied().chain(["--max-tokens", "10"])).must(4).stderr_contains(&["提高上限后重新规划：`--max-tokens N`"]);
}

#[test]
fn a_bound_covers_the_plan_and_its_run() {
    let usage = ScriptedUsage { input: 100_000, cached: 0, output: 50, reasoning: 0 };
    let world = world(Reply { usage: Some(usage), ..one_task() });
    let ended = world.aime(REVIEW.iter().copied().chain(["--max-tokens", "100100"])).must(4);
    let result = ended.json();
    assert_eq!((&result["error"]["code"], &result["usage"]["input_tokens"]), (&json!("bound_reached"), &json!(100_000)), "{ended}");
    assert_eq!(asked(&world), 1, "no actor was asked");
}

#[test]
fn a_plan_that_a_hook_refuses_is_refused() {
    let settings = "[planning]\nfallback = \"none\"\n[[hooks.after_plan]]\nname = \"guard\"\ncommand = \"echo 'not today' >&2; exit 2\"\n";
    for command in [PLAN.as_slice(), &REVIEW] {
        let mut world = world(one_task());
        world.user_settings(settings);
        let ended = world.aime(command).must(1).stderr_contains(&["not today"]);
        assert_eq!((asked(&world), world.actor_requests("WASH").len()), (3, 0), "{ended}");
    }
}

#[test]
fn a_kept_plan_is_used() {
    let world = world(one_task());
    let run = world.aime(["run", GOAL, "--mode", "complex", "--output", "json"]).must(0).json();
    let used = format!("the plan of run {}", run["run_id"].as_str().unwrap());
    world.aime(PLAN).must(0).stderr_contains(&[&used]);
    world.aime(REVIEW).must(0).stderr_contains(&[&used]);
    assert_eq!(world.schema_requests("aime_plan").len(), 1);
}

#[test]
fn it_can_be_interrupted() {
    for command in [PLAN.as_slice(), &REVIEW] {
        let world = world(Reply::hang());
        let running = world.start(command);
        world.wait_for_requests(1);
        running.signal("INT");
        running.wait().must(130).stderr_contains(&["stopped by a person"]);
    }
}

#[test]
fn a_lead_plans_in_a_fresh_folder_and_leaves_nothing_there() {
    let submitted = Reply::call("submit_plan", plan(&[actor("wash", "WASH", &[])]));
    let world = World::led(Script::new().on(When::tool("submit_plan"), [submitted]));
    let planned = world.aime(["plan", "do the dishes", "--mode", "complex", "--format", "json"]).must(0);
    assert_eq!(planned.json()["tasks"][0]["id"], "wash");
    planned.stderr_contains(&["forecast: about 6 requests", "rule of thumb"]);
    assert!(!world.exists(".aime"));
}

/// Such a run cannot wait for an answer, as it leaves nothing that could be resumed.
#[test]
fn a_question_to_nobody_is_answered_with_the_request_to_decide() {
    for command in [&["plan", GOAL][..], &["run", GOAL, "--review"]] {
        let ask = Reply::call("ask_human", json!({"question": "Which cups?"}));
        let submit = Reply::call("submit_plan", plan(&[actor("wash", "WASH", &[])]));
        let script = Script::new().on(When::tool("submit_plan"), [ask, submit, done("Done.")]).on(When::tools(), [done("washed")]);
        let mut world = World::led(script);
        world.set("EDITOR", "true");
        let ended = world.aime(command).must(0);
        let answered = world.server().requests()[1].to_string();
        assert!(answered.contains("Nobody can be asked while the plan is made"), "{answered}\n{ended}");
    }
}
