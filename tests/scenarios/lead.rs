//! Runs that one conversation leads: it looks, works itself or plans, and is woken with what happened.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, done, gives_up, plan, task, tool, write};

fn lead() -> When {
    When::tool("submit_plan")
}

fn submit(tasks: &[Value]) -> Reply {
    Reply::call("submit_plan", plan(tasks))
}

fn worker(id: &str, description: &str, dependencies: &[&str]) -> Value {
    crate::harness::actor(id, description, dependencies)
}

pub(crate) fn lead_requests(world: &World) -> Vec<Value> {
    let offers = |request: &Value| request["tools"].to_string().contains("submit_plan");
    world.server().requests().into_iter().filter(offers).collect()
}

fn run(world: &World, arguments: &[&str]) -> Ended {
    world.aime(["run", "do the dishes", "--output", "jsonl"].iter().chain(arguments))
}

pub(crate) fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().unwrap()
}

/// Each request is the one before it, byte for byte, and an end.
pub(crate) fn grows_only_at_its_end(requests: &[Value]) {
    for pair in requests.windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        assert!(after.len() > before.len() && after[..before.len()] == *before, "a request grows only at its end");
        assert_eq!(pair[0]["tools"], pair[1]["tools"], "the list of tools is one for the whole run");
    }
}

// Requirement: 2.2, 2.19
#[test]
fn a_lead_works_itself_where_one_agent_can() {
    let replies = || [Reply::call("read_file", json!({"path": "cups.txt"})), write("out.txt", "clean"), done("The cups are clean.")];
    let script = |replies: [Reply; 3]| Script::new().on(When::tools(), replies);
    let world = World::led(script(replies()));
    world.file("cups.txt", "dirty");
    let ended = run(&world, &[]).must(0);
    let result = ended.last();
    assert_eq!((world.read("out.txt").as_str(), result["answer"].as_str()), ("clean", Some("The cups are clean.")));
    assert_eq!(task(&result, "main")["status"], "completed");
    let routed = ended.events("routed");
    assert_eq!((routed.len(), routed[0]["by"].as_str(), routed[0]["mode"].as_str()), (1, Some("lead"), Some("direct")));
    let started = ended.events("tool_call_started");
    assert_eq!(started.iter().map(|event| event["task"].as_str()).collect::<Vec<_>>(), [None, Some("main"), Some("main")], "{started:?}");
    let alone = World::led(script(replies()));
    alone.file("cups.txt", "dirty");
    run(&alone, &["--mode", "direct"]).must(0);
    assert_eq!(world.server().requests().len(), alone.server().requests().len(), "no request more than the plain loop");
    let bytes = |world: &World| world.server().requests().iter().map(|request| request.to_string().len()).sum::<usize>();
    let (led, direct) = (bytes(&world), bytes(&alone));
    assert!(led * 10 <= direct * 14, "{led} bytes are more than 1.4 times the {direct} of the plain loop");
    for world in [&world, &alone] {
        assert!(world.server().requests().iter().all(|request| request.get("temperature").is_none()), "the model refuses a temperature");
        assert!(!world.server().elsewhere().iter().any(|asked| asked.contains("/api/")), "{:?}", world.server().elsewhere());
    }
    let message = alone.server().requests()[0].to_string();
    assert!(!message.contains("plan_id") && !message.to_lowercase().contains(" plan"), "a direct run knows of no plan: {message}");
    grows_only_at_its_end(&lead_requests(&world));
}

// Requirement: 3.1
#[test]
fn a_lead_looks_and_plans_independent_parts() {
    let replies = [
        Reply::call("list_dir", json!({"path": "."})),
        submit(&[worker("wash", "WASH the cups", &[]), worker("dry", "DRY the plates", &[])]),
        done("All is clean."),
    ];
    let world = World::led(Script::new().on(lead(), replies).on(When::tools(), [done("sixty rows: ROW-60")]));
    let ended = run(&world, &["--mode", "complex"]).must(0);
    let result = ended.last();
    assert_eq!((result["answer"].as_str(), result["plan_version"].as_u64()), (Some("All is clean."), Some(1)));
    let ids: Vec<&str> = result["tasks"].as_array().unwrap().iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ids, ["wash", "dry"]);
    let (usage, by) = (&result["usage"], &result["usage_by"]);
    assert_eq!(["lead", "actors", "checks"].map(|who| by[who]["requests"].as_u64()), [Some(3), Some(2), Some(0)], "{by}");
    for figure in ["input_tokens", "cached_input_tokens", "output_tokens"] {
        let parts = ["lead", "actors", "checks"].iter().filter_map(|who| by[who][figure].as_u64());
        assert_eq!(Some(parts.sum::<u64>()), usage[figure].as_u64(), "{figure}");
    }
    let requests = lead_requests(&world);
    assert_eq!((requests.len(), world.server().requests().len()), (3, 5));
    grows_only_at_its_end(&requests);
    let woken = messages(requests.last().unwrap()).last().unwrap();
    assert_eq!(woken["role"], "tool", "the wake is the result of the accepted call");
    assert!(woken["content"].as_str().unwrap().contains("ROW-60"), "{woken}");
}

#[test]
fn a_refused_plan_returns_at_once_and_three_leave_it_to_rules() {
    let cyclic = || submit(&[worker("wash", "WASH", &["dry"]), worker("dry", "DRY", &["wash"])]);
    let good = submit(&[worker("wash", "WASH", &[])]);
    let world = World::led(Script::new().on(lead(), [cyclic(), good, done("Done.")]).on(When::tools(), [done("done")]));
    run(&world, &["--mode", "simple"]).must(0);
    let again = &lead_requests(&world)[1];
    assert!(messages(again).last().unwrap()["content"].as_str().unwrap().contains("cycle"), "{again}");
    let small = plan(&[worker("wash", "WASH", &[])]);
    let world = World::led(
        Script::new().on(lead(), [cyclic()]).on(When::schema("aime_plan"), [Reply::json(small)]).on(When::tools(), [done("done")]),
    );
    let ended = run(&world, &["--mode", "simple"]).must(0);
    assert_eq!((lead_requests(&world).len(), world.schema_requests("aime_plan").len()), (3, 1));
    assert_eq!(ended.events("lead_gave_up").len(), 1, "{ended}");
    // Calls that break the schema of the tool count, too, and people read that rules plan from then on.
    let malformed = || Reply::call("submit_plan", json!({"tasks": 7}));
    let small = plan(&[worker("wash", "WASH", &[])]);
    let world = World::led(
        Script::new().on(lead(), [malformed()]).on(When::schema("aime_plan"), [Reply::json(small)]).on(When::tools(), [done("done")]),
    );
    let ended = world.aime(["run", "do the dishes", "--mode", "simple"]).must(0);
    assert_eq!((lead_requests(&world).len(), world.schema_requests("aime_plan").len()), (3, 1));
    assert!(ended.stderr.contains("rules plan from here on"), "{ended}");
}

#[test]
fn evidence_changes_the_plan_and_a_change_that_half_fits_is_told() {
    let find = json!({"type": "discovery", "significance": "high", "content": "the plates are paper"});
    let change = json!({"reasoning": "paper is not dried", "changes": [
        {"op": "remove_task", "id": "dry", "reason": "paper"},
        {"op": "remove_task", "id": "wash", "reason": "it runs"},
        {"op": "add_task", "task": {"id": "bin", "description": "BIN the plates"}},
    ]});
    let replies = [
        submit(&[worker("wash", "WASH", &[]), worker("dry", "DRY", &["wash"])]),
        Reply::call("change_plan", change),
        Reply::text("The rest is as it should be."),
        done("Done."),
    ];
    let world = World::led(
        Script::new()
            .on(lead(), replies)
            .on(When::tools().and_contains("WASH").and_turn(0), [Reply::call("report_evidence", find)])
            .on(When::tools().and_contains("WASH").and_turn(1), [done("done").after_request("Not carried out")])
            .on(When::tools(), [done("done")]),
    );
    let ended = run(&world, &["--mode", "complex"]).must(0);
    let result = ended.last();
    assert_eq!((task(&result, "dry")["status"].as_str(), task(&result, "bin")["status"].as_str()), (Some("skipped"), Some("completed")));
    let requests = lead_requests(&world);
    grows_only_at_its_end(&requests);
    assert!(messages(&requests[1]).last().unwrap()["content"].as_str().unwrap().contains("the plates are paper"));
    let message: Vec<&str> = requests.iter().filter_map(|request| messages(request).last()?["content"].as_str()).collect();
    assert!(message.iter().any(|text| text.contains("Not carried out") && text.contains("wash")), "{message:#?}");
}

/// It keeps what it has read, in the place of a new actor that begins with nothing.
// Requirement: 4.12
#[test]
fn an_actor_that_is_out_of_steps_goes_on_in_its_conversation() {
    let script = Script::new()
        .on(lead(), [submit(&[worker("wash", "WASH the cups", &[])]), done("Done.")])
        .on(When::tools().and_contains("your steps are used up"), [done("washed")])
        .on(When::tools().and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
        .on(When::tools(), [write("out.txt", "washed")]);
    let world = World::led(script);
    world.file("aime.toml", "[run]\nmax_steps = 2\n");
    let result = run(&world, &["--mode", "complex"]).must(0).last();
    assert_eq!((task(&result, "wash")["status"].as_str(), task(&result, "wash")["attempts"].as_u64()), (Some("completed"), Some(1)));
    let requests: Vec<Value> = world.server().requests().into_iter().filter(|request| !lead_requests(&world).contains(request)).collect();
    assert_eq!(requests.len(), 3);
    assert!(messages(&requests[2]).starts_with(messages(&requests[1])), "the conversation goes on");
}

#[test]
fn a_lead_that_is_out_of_steps_goes_on_in_its_conversation() {
    let script = Script::new()
        .on(lead().and_contains("your steps are used up"), [done("All is written.")])
        .on(lead(), [write("a.txt", "a"), write("b.txt", "b")]);
    let world = World::led(script);
    world.file("aime.toml", "[run]\nmax_steps = 2\n");
    let result = run(&world, &[]).must(0).last();
    assert_eq!((result["answer"].as_str(), task(&result, "main")["attempts"].as_u64()), (Some("All is written."), Some(1)));
    let requests = lead_requests(&world);
    assert_eq!((requests.len(), world.server().requests().len()), (3, 3));
    grows_only_at_its_end(&requests);
}

/// The lead's own work has this name, too.
#[test]
fn a_task_called_main_is_done_by_a_worker() {
    let plan = submit(&[worker("cli", "SURVEY cli", &[]), worker("main", "SURVEY main", &[])]);
    let world = World::led(Script::new().on(lead(), [plan, done("Both are surveyed.")]).on(When::tools(), [done("surveyed")]));
    let result = run(&world, &["--mode", "complex"]).must(0).last();
    assert_eq!(["cli", "main"].map(|id| task(&result, id)["summary"].clone()), ["surveyed", "surveyed"]);
    assert_eq!((lead_requests(&world).len(), world.server().requests().len()), (2, 4), "a plan, two workers, and the end");
}

#[test]
fn a_lead_that_only_talks_where_it_must_plan_leaves_it_to_rules() {
    let small = plan(&[worker("wash", "WASH", &[])]);
    let script = Script::new().on(lead(), [Reply::text("The dishes should be done.")]);
    let world = World::led(script.on(When::schema("aime_plan"), [Reply::json(small)]).on(When::tools(), [done("done")]));
    let ended = run(&world, &["--mode", "simple"]).must(0);
    assert_eq!((ended.events("lead_gave_up").len(), world.schema_requests("aime_plan").len()), (1, 1), "{ended}");
    assert_eq!(task(&ended.last(), "wash")["status"], "completed", "the goal is worked on by an actor that can change files");
}

// Requirement: 6.16
#[test]
fn a_run_whose_lead_asks_waits_for_the_answer_and_goes_on() {
    let ask = Reply::call("ask_human", json!({"question": "Which cups?"}));
    let world = World::led(Script::new().on(lead(), [ask, done("The blue cups are clean.")]));
    let ended = world.aime(["run", "do the dishes", "--unattended", "--run-id", "dishes", "--output", "json"]).must(5);
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("Which cups?"), "{ended}");
    world.aime(["answer", "dishes", "the blue ones"]).must(0);
    let resumed = world.aime(["resume", "dishes", "--output", "json"]).must(0);
    assert_eq!(resumed.json()["answer"], "The blue cups are clean.");
    let requests = lead_requests(&world);
    assert_eq!(requests.len(), 2);
    assert!(messages(&requests[1]).last().unwrap()["content"].as_str().unwrap().contains("the blue ones"));
}

#[test]
fn tool_tasks_and_their_failures_reach_the_lead() {
    let replies = [
        submit(&[tool("look", "read_file", json!({"path": "nowhere.txt"}), &[])]),
        Reply::call(
            "change_plan",
            json!({"reasoning": "it is elsewhere", "changes": [
                {"op": "add_task", "task": {"id": "look-2", "kind": "tool", "tool": "list_dir", "parameters": {"path": "."}}, "replaces": ["look"]},
            ]}),
        ),
        done("There is nothing."),
    ];
    let world = World::led(Script::new().on(lead(), replies));
    world.file("aime.toml", "[triggers]\nmax_retries = 0\n");
    let ended = run(&world, &["--mode", "complex"]).must(0);
    assert_eq!(task(&ended.last(), "look-2")["status"], "completed");
    assert!(messages(&lead_requests(&world)[1]).last().unwrap()["content"].as_str().unwrap().contains("nowhere.txt"));
}

#[test]
fn checks_with_which_a_lead_ends_its_plan_are_executed() {
    let ends = |command: &str| {
        Reply::call("terminate", json!({"status": "success", "message": "All is clean.", "checks": [{"command": command}]}))
    };
    let run_of = |settings: &str, replies: Vec<Reply>| {
        let world = World::led(Script::new().on(lead(), replies));
        world.file("aime.toml", settings);
        let ended = run(&world, &["--mode", "complex", "--approve", "all"]);
        (world, ended)
    };
    let plan = || submit(&[tool("look", "list_dir", json!({"path": "."}), &[])]);

    let (world, ended) = run_of("", vec![plan(), ends("false"), ends("true")]);
    let ended = ended.must(0);
    let result = ended.last();
    assert_eq!(result["answer"], "All is clean.");
    let requests = lead_requests(&world);
    assert_eq!(requests.len(), 3);
    let refusal = messages(&requests[2]).last().unwrap()["content"].as_str().unwrap();
    assert!(refusal.contains("not accepted yet") && refusal.contains("`false`"), "{refusal}");
    let checked: Vec<_> = ended.events("criterion_checked").iter().map(|event| event["passed"].clone()).collect();
    assert_eq!(checked, [json!(false), json!(true)]);

    let (_, ended) = run_of("[triggers]\nmax_retries = 0\n", vec![plan(), ends("false")]);
    let error = ended.must(1).last()["error"].to_string();
    assert!(error.contains("goal_not_reached") && error.contains("checks of the lead do not hold"), "{error}");
}

/// The change of the plan and the end are one request. The checks of the end are executed, too.
#[test]
fn a_lead_does_the_work_of_a_task_that_it_removes() {
    let ends = |command: &str| {
        let remove = json!({"reasoning": "I did it", "changes": [{"op": "remove_task", "id": "wash", "reason": "it is done"}]});
        let end = json!({"status": "success", "message": "The cups are clean.", "checks": [{"command": command}]});
        Reply::tool_calls([("change_plan", remove), ("terminate", end)])
    };
    let again = Reply::call("terminate", json!({"status": "success", "message": "Now they are.", "checks": [{"command": "true"}]}));
    let cases = [(vec![ends("grep -q clean out.txt")], "The cups are clean."), (vec![ends("false"), again], "Now they are.")];
    for (last, answer) in cases {
        let expected = 2 + last.len();
        let replies = [vec![submit(&[worker("wash", "WASH the cups", &[])]), write("out.txt", "clean")], last].concat();
        let world = World::led(Script::new().on(lead(), replies).on(When::tools(), [gives_up("there is no water")]));
        let ended = run(&world, &["--approve", "all"]).must(0);
        let result = ended.last();
        assert_eq!((result["status"].as_str(), result["answer"].as_str()), (Some("completed"), Some(answer)), "{ended}");
        assert_eq!((task(&result, "wash")["status"].as_str(), result["plan_version"].as_u64()), (Some("skipped"), Some(2)));
        let requests = lead_requests(&world);
        assert_eq!((requests.len(), world.server().requests().len()), (expected, expected + 1), "{ended}");
        grows_only_at_its_end(&requests);
        if expected > 3 {
            let refusal = messages(&requests[3]).iter().map(Value::to_string).collect::<String>();
            assert!(refusal.contains("not accepted yet") && refusal.contains("`false`"), "{refusal}");
        }
    }
}

// Requirement: 7.11
#[test]
fn a_killed_lead_goes_on_in_its_conversation() {
    let script = || {
        Script::new()
            .on(lead().and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
            .on(lead().and_turn(1), [Reply::hang()])
            .on(lead(), [done("Done.")])
            .on(When::tools(), [done("done")])
    };
    let mut world = World::led(script());
    let running = world.start(["run", "do the dishes", "--mode", "simple", "--run-id", "dishes"]);
    world.wait_for_requests(2);
    running.kill();
    let before = lead_requests(&world);
    world.serve(
        Script::new()
            .on(lead().and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
            .on(lead().and_turn(1), [submit(&[worker("wash", "WASH", &[])])])
            .on(lead(), [done("Done.")])
            .on(When::tools(), [done("done")]),
    );
    world.aime(["resume", "dishes", "--output", "json"]).must(0);
    let after = lead_requests(&world);
    // A request is made while the answer before it is written to the journal.
    let again = before.iter().position(|request| messages(request) == messages(&after[0]));
    assert!(again.is_some(), "the conversation goes on from what is durable: {}", after[0]);
    grows_only_at_its_end(&after);
}

#[test]
fn a_run_that_has_ended_goes_on_with_a_follow_up_twice() {
    let replies = |out: &str, output: &str| [write("out.txt", out), done(output)];
    let script = || Script::new().on(lead(), [replies("clean", "Clean."), replies("dry", "Dry."), replies("away", "Put away.")].concat());
    let world = World::led(script());
    run(&world, &["--run-id", "dishes"]).must(0);
    for (goal, file, answer) in [("DRY them", "dry", "Dry."), ("PUT them away", "away", "Put away.")] {
        let ended = world.aime(["continue", "dishes", goal, "--output", "json"]).must(0);
        assert_eq!((world.read("out.txt").as_str(), ended.json()["answer"].as_str()), (file, Some(answer)), "{ended}");
    }
    let requests = lead_requests(&world);
    grows_only_at_its_end(&requests);
    let message = requests[4]["messages"].to_string();
    assert!(requests.len() == 6 && message.contains("DRY them") && message.contains("PUT them away"), "{message}");
    let newest = messages(&requests[4]).last().unwrap()["content"].to_string();
    assert!(newest.contains("PUT them away") && !newest.contains("DRY them"), "only the new words: {newest}");
    let shown = world.aime(["runs", "show", "dishes"]).must(0).stdout;
    let order = ["do the dishes", "Clean.", "DRY them", "Dry.", "PUT them away", "Put away."].map(|part| shown.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?} {shown}");
    let page = world.aime(["runs", "report", "dishes", "-o", "-"]).must(0).stdout;
    assert!(["do the dishes", "DRY them", "PUT them away", "The answer then"].iter().all(|part| page.contains(part)), "{page}");
    let events = world.aime(["runs", "events", "dishes", "--output", "jsonl"]).must(0).events("run_continued");
    let goals: Vec<_> = events.iter().map(|event| event["goal"].as_str()).collect();
    assert_eq!(goals, [Some("DRY them"), Some("PUT them away")]);
}

#[test]
fn a_killed_follow_up_goes_on_in_its_conversation() {
    let mut world = World::led(Script::new().on(lead().and_contains("DRY"), [Reply::hang()]).on(lead(), [done("Clean.")]));
    run(&world, &["--run-id", "dishes"]).must(0);
    let listed = |world: &World| world.aime(["runs", "list", "--output", "json"]).must(0).json()[0]["status"].clone();
    assert_eq!(listed(&world), "completed");
    let running = world.start(["continue", "dishes", "DRY them"]);
    world.wait_for_requests(2);
    assert_eq!(listed(&world), "executing");
    running.kill();
    assert_eq!(listed(&world), "interrupted");
    let before = lead_requests(&world);
    world.serve(Script::new().on(lead(), [done("Dry.")]));
    let resumed = world.aime(["resume", "dishes", "--output", "json"]).must(0);
    assert_eq!((&resumed.json()["answer"], listed(&world)), (&json!("Dry."), json!("completed")));
    assert_eq!(messages(&lead_requests(&world)[0]), messages(&before[1]), "the request that was cut off is made again");
}

#[test]
fn a_follow_up_without_a_lead_changes_the_plan() {
    let change = json!({"reasoning": "more is wanted", "changes": [
        {"op": "add_task", "task": {"id": "dry", "kind": "actor", "description": "DRY the cups"}},
    ]});
    let world = World::with(Script::new().on(When::schema("aime_patch"), [Reply::json(change)]).on(When::tools(), [done("done")]));
    world.aime(["run", "do the dishes", "--mode", "direct", "--run-id", "dishes"]).must(0);
    let ended = world.aime(["continue", "dishes", "DRY them", "--output", "json"]).must(0);
    assert_eq!(task(&ended.json(), "dry")["status"], "completed", "{ended}");
    world.aime(["cancel", "dishes"]).must(2);
    let fresh = ["run", "do the dishes", "--mode", "direct", "--run-id", "asks", "--unattended", "--max-tokens", "1"];
    world.aime(fresh).must(4);
    world
        .aime(["continue", "asks", "DRY them"])
        .must(2)
        .stderr_contains(&["it stopped with an error before its work was done", "`aime resume asks`"]);
}

/// The first request holds what a first look would show.
#[test]
fn a_lead_first_sees_the_tree_and_the_git_state() {
    let world = World::led(Script::new().on(When::tools(), [done("All is clean.")]));
    world.git(&["init", "-q", "-b", "kitchen"]);
    world.file("cups/blue/one.txt", "dirty");
    world.file("cups/list.txt", "one");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "cups"]);
    world.file("plates.txt", "dirty");
    run(&world, &[]).must(0);
    let first = messages(&lead_requests(&world)[0])[1]["content"].as_str().unwrap().to_owned();
    assert!(first.contains("cups/\n  blue/\n  list.txt\n") && first.contains("plates.txt") && !first.contains("one.txt"), "{first}");
    assert!(first.contains("- Git: branch `kitchen`, ") && first.contains("`?? plates.txt`"), "{first}");
}

#[test]
fn a_lead_that_has_looked_enough_must_decide() {
    let look = |name: &str| Reply::call("read_file", json!({"path": name}));
    let replies = [look("cups.txt"), look("plates.txt"), submit(&[worker("wash", "WASH the cups", &[])]), done("All is clean.")];
    let mut world = World::led(Script::new().on(lead(), replies).on(When::tools(), [done("done")]));
    world.set("AIME__CLASSES__CAPABLE__LOOK_SHARE", "0.0001");
    world.file("cups.txt", &"dirty cups ".repeat(100));
    world.file("plates.txt", "PLATES");
    run(&world, &["--mode", "complex"]).must(0);
    let requests = lead_requests(&world);
    let message = |at: usize| messages(&requests[at]).last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(message(1).contains("dirty cups"), "{}", message(1));
    assert!(message(2).contains("budget of this wake for looking") && message(2).contains("Decide now"), "{}", message(2));
    grows_only_at_its_end(&requests);
}

/// A lead whose conversation begins when the plan of a person is over is told the news, and nothing of how to change plans.
#[test]
fn a_lead_that_begins_at_the_end_is_told_the_news() {
    let world = World::led(Script::new().on(lead(), [done("There it is.")]));
    world.file("plan.json", &plan(&[tool("look", "list_dir", json!({"path": "."}), &[])]).to_string());
    let ended = world.aime(["run", "--plan", "plan.json", "do the dishes", "--output", "jsonl"]);
    let ended = ended.must(0);
    assert_eq!(ended.last()["answer"], "There it is.", "{ended}");
    let [request] = &lead_requests(&world)[..] else { panic!("{ended}") };
    let text = messages(request).last().unwrap()["content"].as_str().unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("# Goal\n") < at("Every task is settled."), "{text}");
    assert!(!text.contains("How to go on with the plan") && text.matches("# Goal\n").count() == 1, "{text}");
}
