//! Criteria in words, which an auditor judges.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, actor, done, messages_text, plan, task, write};

const AUDITS: &str = "You audit work";

fn lead() -> When {
    When::tool("submit_plan")
}

fn auditor() -> When {
    When::tools().and_contains(AUDITS)
}

/// A task of a worker with these criteria in words.
fn worker(id: &str, description: &str, criteria: &[&str]) -> Value {
    let mut task = actor(id, description, &[]);
    task["completion_criteria"] = json!(criteria);
    task
}

fn submit(tasks: &[Value]) -> Reply {
    Reply::call("submit_plan", plan(tasks))
}

/// The end of an audit: for each criterion in turn what was found.
fn verdicts(found: &[&str]) -> Reply {
    let verdict = |(index, holds): (usize, &&str)| json!({"n": index + 1, "holds": holds, "why": format!("WHY-{}", index + 1), "evidence": "out.txt:1"});
    Reply::call("verdict", json!({"criteria": found.iter().enumerate().map(verdict).collect::<Vec<_>>()}))
}

/// The first message to an auditor.
fn record(request: &Value) -> String {
    request["messages"][1]["content"].as_str().unwrap().to_owned()
}

fn audits(world: &World) -> Vec<Value> {
    world.server().requests().into_iter().filter(|request| messages_text(request).contains(AUDITS)).collect()
}

fn run(world: &World) -> Value {
    world.aime(["run", "do the dishes", "--mode", "complex", "--run-id", "dishes", "--output", "json"]).must(0).json()
}

// Requirement: 5.4
#[test]
fn a_refuted_criterion_alone_goes_back_to_its_actor() {
    let five = ["the cups are clean", "the plates are clean", "the forks are DRY", "the pans are clean", "the lids are clean"];
    let world = World::led(
        Script::new()
            .on(lead(), [submit(&[worker("wash", "WASH all", &five)]), done("All is clean.")])
            .on(auditor().and_turn(0), [Reply::call("read_file", json!({"path": "out.txt"}))])
            .on(auditor().and_turn(1).and_contains("all is dry"), [verdicts(&["yes"; 5])])
            .on(auditor().and_turn(1), [verdicts(&["yes", "yes", "no", "yes", "cannot_tell"])])
            .on(When::tools().and_turn(0), [write("out.txt", "all is clean\n")])
            .on(When::tools().and_turn(1), [done("all is done")])
            .on(When::tools().and_turn(2), [write("out.txt", "all is clean\nall is dry\n")])
            .on(When::tools().and_turn(3), [done("all is dry now")]),
    );
    let result = run(&world);
    let how: Vec<&str> = result["criteria"].as_array().unwrap().iter().map(|known| known["how"].as_str().unwrap()).collect();
    assert_eq!(how, ["audited"; 5], "{result:#}");
    let worker: Vec<Value> = world
        .server()
        .requests()
        .into_iter()
        .filter(|request| messages_text(request).contains("WASH all") && !messages_text(request).contains(AUDITS))
        .collect();
    let returned = messages_text(worker.iter().find(|request| messages_text(request).contains("not accepted yet")).unwrap());
    assert!(returned.contains("the forks are DRY") && returned.contains("WHY-3") && returned.contains("out.txt:1"), "{returned}");
    assert!(!["WHY-1", "WHY-2", "WHY-4", "WHY-5"].iter().any(|why| returned.contains(why)), "{returned}");
    let audits = audits(&world);
    assert_eq!((audits.len(), result["usage_by"]["checks"]["requests"].as_u64()), (4, Some(4)), "{result:#}");
    let tools = audits[0]["tools"].to_string();
    assert!(tools.contains("\"read_file\"") && tools.contains("\"verdict\"") && !tools.contains("\"terminate\""), "{tools}");
    assert!(!["write_file", "edit_file", "submit_plan", "ask_human"].iter().any(|tool| tools.contains(tool)), "{tools}");
    let message = record(&audits[0]);
    assert!(
        message.contains("3. the forks are DRY") && message.contains("> +all is clean") && message.contains("> all is done"),
        "{message}"
    );
}

/// The settings of the model's class decide whether it leads in one conversation, and whether an auditor judges criteria in words.
#[test]
fn the_class_of_a_model_decides_whether_it_leads_and_audits() {
    for (leads, audits) in [(true, true), (true, false), (false, true), (false, false)] {
        let tasks = [worker("wash", "WASH all", &["the cups are clean"])];
        let verdict = json!({"reason": "WHY-1", "passed": true, "score": 1.0, "feedback": "", "suggestions": []});
        let script = Script::new()
            .on(When::schema("aime_plan"), [Reply::json(plan(&tasks))])
            .on(When::schema("aime_verdict"), [Reply::json(verdict)])
            .on(lead(), [submit(&tasks), done("All is clean.")])
            .on(auditor(), [verdicts(&["yes"])])
            .on(When::tools().and_turn(0), [write("out.txt", "all is clean\n")])
            .on(When::tools(), [done("washed")])
            .on(When::plain(), [Reply::text("All is clean.")]);
        let mut world = World::led(script);
        world.set("AIME__CLASSES__CAPABLE__LEADS", &leads.to_string());
        world.set("AIME__CLASSES__CAPABLE__AUDITS", &audits.to_string());
        let result = run(&world);
        let led = world.server().requests().iter().filter(|request| request["tools"].to_string().contains("submit_plan")).count();
        let planned = world.schema_requests("aime_plan").len();
        assert_eq!((led, planned), if leads { (2, 0) } else { (0, 1) }, "{result:#}");
        let (audited, judged) = (self::audits(&world).len(), world.schema_requests("aime_verdict").len());
        assert_eq!((audited, judged), if audits { (1, 0) } else { (0, 1) }, "{result:#}");
    }
}

/// Where all commands are allowed, an auditor runs some, and nothing stays of what they change.
// Requirement: 5.2
#[test]
fn an_auditor_runs_commands_that_leave_nothing() {
    let look = "cat out.txt; echo more >> out.txt; echo trace > trace.txt; exit 3";
    let world = World::led(
        Script::new()
            .on(lead(), [submit(&[worker("wash", "WASH all", &["the cups are clean"])]), done("Done.")])
            .on(auditor().and_turn(0), [Reply::call("bash", json!({"command": look}))])
            .on(auditor().and_turn(1), [verdicts(&["yes"])])
            .on(When::tools().and_turn(0), [write("out.txt", "SPOTLESS\n")])
            .on(When::tools(), [done("washed")]),
    );
    let run = ["run", "do the dishes", "--mode", "complex", "--approve", "all", "--run-id", "dishes", "--output", "json"];
    let ended = world.aime(run).must(0);
    let audits = audits(&world);
    assert!(
        messages_text(&audits[1]).contains("SPOTLESS") && messages_text(&audits[1]).contains("exit code 3"),
        "{}",
        messages_text(&audits[1])
    );
    assert_eq!((world.read("out.txt").as_str(), world.exists("trace.txt")), ("SPOTLESS\n", false), "{ended}");
    assert_eq!(ended.json()["criteria"][0]["holds"], true, "{ended}");
    world.aime(["runs", "undo", "dishes", "--yes"]).must(0);
    assert!(!world.exists("out.txt"), "an undo concerns the work alone");
}

/// Where a person would be asked about a command, it is refused to an auditor; what the rules allow runs.
// Requirement: 5.2
#[test]
fn the_rules_decide_on_the_commands_of_an_auditor() {
    let mut world = World::led(
        Script::new()
            .on(lead(), [submit(&[worker("wash", "WASH all", &["the cups are clean"])]), done("Done.")])
            .on(auditor().and_turn(0), [Reply::call("bash", json!({"command": "cat out.txt"}))])
            .on(auditor().and_turn(1), [Reply::call("bash", json!({"command": "touch trace.txt"}))])
            .on(auditor().and_turn(2), [verdicts(&["yes"])])
            .on(When::tools().and_turn(0), [write("out.txt", "SPOTLESS\n")])
            .on(When::tools(), [done("washed")]),
    );
    world.user_settings("[permissions]\nallow = [\"bash(cat *)\"]\n");
    let run = ["run", "do the dishes", "--mode", "complex", "--approve", "edits", "--run-id", "dishes", "--output", "json"];
    let ended = world.aime(run).must(0);
    let audits = audits(&world);
    assert_eq!(audits.len(), 3, "{ended}");
    assert!(messages_text(&audits[1]).contains("SPOTLESS"), "{}", messages_text(&audits[1]));
    let refused = audits[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(refused.contains("Error"), "{refused}");
    assert!(!world.exists("trace.txt") && ended.json()["criteria"][0]["holds"] == true, "{ended}");
}

/// The worker is not at fault, and yet nobody knows whether the work is right.
#[test]
fn an_auditor_without_verdicts_fails_what_a_person_asks_for() {
    for (of_person, code) in [(true, 5), (false, 0)] {
        let task = worker("wash", "WASH all", &["the cups are clean"]);
        let script = Script::new()
            .on(lead(), [submit(std::slice::from_ref(&task)), done("Done.")])
            .on(auditor(), [Reply::text("I am tired.")])
            .on(When::tools(), [done("washed")]);
        let mut world = World::led(script);
        world.user_settings("[triggers]\nmax_retries = 0\n[frequency]\nmax_replans_per_plan = 0\n");
        world.plan("plan.json", &plan(&[task]));
        let of_plan = ["run", "--plan", "plan.json", "--unattended", "--output", "json"];
        let of_lead = ["run", "wash", "--mode", "complex", "--unattended", "--output", "json"];
        let ended = if of_person { world.aime(of_plan) } else { world.aime(of_lead) };
        let result = ended.must(code).json();
        let known = &result["criteria"][0];
        assert_eq!((&known["how"], &known["holds"]), (&json!("unchecked"), &Value::Null), "{result:#}");
        assert!(known["evidence"].as_str().unwrap().starts_with("not checked: "), "{known}");
    }
}

#[test]
fn what_an_auditor_cannot_tell_fails_nothing_and_is_reported() {
    let world = World::led(
        Script::new()
            .on(lead(), [submit(&[worker("call", "CALL her", &["she was called"])]), done("Called.")])
            .on(auditor(), [verdicts(&["cannot_tell"])])
            .on(When::tools(), [done("I called her")]),
    );
    let result = run(&world);
    let known = &result["criteria"][0];
    assert_eq!((&known["how"], &known["holds"]), (&json!("audited"), &Value::Null), "{result:#}");
    assert!(known["evidence"].as_str().unwrap().contains("cannot tell: WHY-1"), "{known}");
    let requests = world.server().requests();
    let last = messages_text(requests.iter().rfind(|request| messages_text(request).contains("Every task is settled")).unwrap());
    assert!(last.contains("- was not decided: she was called: cannot tell: WHY-1 (out.txt:1)"), "the lead is told: {last}");
}

/// The record shows a change wherever it is, and a report whole.
// Requirement: 5.2
#[test]
fn a_change_at_line_900_and_a_report_of_60_rows_reach_the_auditor() {
    let lines: String = (1..=1_000).map(|line| format!("line {line}\n")).collect();
    let rows: String = (1..=60).map(|row| format!("| {row} | the plate number {row} is made of paper, from the upper shelf |\n")).collect();
    let edit = json!({"path": "long.txt", "old_text": "line 900\n", "new_text": "line 900 is RIGHT\n"});
    let tasks = [worker("edit", "EDIT the line", &["line 900 is right"]), worker("list", "LIST the plates", &["all 60 plates are listed"])];
    let mut planned = plan(&tasks);
    planned["strategic"]["success_criteria"] = json!(["the list is COMPLETE"]);
    let world = World::led(
        Script::new()
            .on(lead(), [Reply::call("submit_plan", planned), done("Done.")])
            .on(auditor(), [verdicts(&["yes"])])
            .on(When::tools().and_contains("EDIT the line").and_turn(0), [Reply::call("edit_file", edit)])
            .on(When::tools().and_contains("EDIT the line").and_turn(1), [done("edited")])
            .on(When::tools().and_contains("LIST the plates"), [done(&rows)]),
    );
    world.file("long.txt", &lines);
    let result = run(&world);
    assert_eq!([&task(&result, "edit")["status"], &task(&result, "list")["status"]], ["completed", "completed"], "{result:#}");
    let message: Vec<String> = audits(&world).iter().map(record).collect();
    assert_eq!(message.len(), 3);
    let of = |criterion: &str| message.iter().find(|message| message.contains(criterion)).unwrap();
    let edited = of("1. line 900 is right");
    assert!(
        edited.contains("> -line 900\n") && edited.contains("> +line 900 is RIGHT\n") && edited.contains("long.txt (changed): +1 -1"),
        "{edited}"
    );
    let listed = of("1. all 60 plates are listed");
    let complete = of("1. the list is COMPLETE");
    for message in [listed, complete] {
        let shows = |row: u32| message.contains(&format!("| {row} | the plate number {row} is made of paper, from the upper shelf |"));
        assert!((1..=60).all(shows), "{message}");
    }
    assert!(complete.contains("# Results of the tasks\n"), "{complete}");
    assert!(!listed.contains("long.txt ("), "the changes of another task are not its own: {listed}");
    // The lead sees the same when it writes the answer.
    let requests = world.server().requests();
    let last = messages_text(requests.iter().rfind(|request| messages_text(request).contains("Every task is settled")).unwrap());
    for shown in
        ["- holds: line 900 is right: WHY-1", "- long.txt (changed): +1 -1", "> +line 900 is RIGHT", "- holds: all 60 plates are listed"]
    {
        assert!(last.contains(shown), "{shown}: {last}");
    }
}

// Requirement: 5.2
#[test]
fn a_killed_audit_goes_on_and_its_verdicts_survive() {
    let script = |audit: Vec<Reply>| {
        Script::new()
            .on(lead().and_turn(0), [submit(&[worker("wash", "WASH all", &["the cups are clean"])])])
            .on(lead(), [done("Done.")])
            .on(auditor().and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
            .on(auditor().and_turn(1), audit)
            .on(When::tools(), [done("washed")])
    };
    let mut world = World::led(script(vec![Reply::hang()]));
    let running = world.start(["run", "do the dishes", "--mode", "complex", "--run-id", "dishes"]);
    world.wait_for_requests(4);
    running.kill();
    world.serve(script(vec![verdicts(&["yes"])]));
    let result = world.aime(["resume", "dishes", "--output", "json"]).must(0).json();
    assert_eq!((&result["criteria"][0]["how"], &result["criteria"][0]["holds"]), (&json!("audited"), &json!(true)), "{result:#}");
    let requests = world.server().requests();
    assert_eq!((audits(&world).len(), requests.len()), (1, 2), "the audit goes on, and the worker is not asked again");
    assert_eq!(result["usage_by"]["checks"]["requests"], 2, "the request before the kill counts: {result:#}");
}

// Requirement: 5.2
#[test]
fn a_verdict_that_was_given_before_a_kill_is_not_asked_for_again() {
    let script = |last: Reply| {
        Script::new()
            .on(lead().and_turn(0), [submit(&[worker("wash", "WASH all", &["the cups are clean"])])])
            .on(lead(), [last])
            .on(auditor(), [verdicts(&["yes"])])
            .on(When::tools(), [done("washed")])
    };
    let mut world = World::led(script(Reply::hang()));
    let running = world.start(["run", "do the dishes", "--mode", "complex", "--run-id", "dishes"]);
    // The plan, the work, the audit, and the answer that does not come.
    world.wait_for_requests(4);
    assert_eq!(audits(&world).len(), 1);
    running.kill();
    world.serve(script(done("Done.")));
    let result = world.aime(["resume", "dishes", "--output", "json"]).must(0).json();
    assert_eq!((&result["criteria"][0]["how"], &result["criteria"][0]["holds"]), (&json!("audited"), &json!(true)), "{result:#}");
    assert_eq!((audits(&world).len(), world.server().requests().len()), (0, 1), "only the answer is asked for: {result:#}");
    assert_eq!(result["usage_by"]["checks"]["requests"], 1, "{result:#}");
}

/// A verdict of yes stays until a file changes: only the amended criterion is judged again.
// Requirement: 5.5
#[test]
fn a_confirmed_text_of_the_plan_is_not_judged_again() {
    let mut planned = plan(&[actor("wash", "WASH all", &[])]);
    planned["strategic"]["success_criteria"] = json!(["the plates are WHITE", "the cups are BLUE"]);
    let amend = json!({"number": 2, "text": "the cups are clean", "evidence": "there are no blue cups"});
    let world = World::led(
        Script::new()
            .on(lead(), [Reply::call("submit_plan", planned), Reply::call("amend_criterion", amend), done("All clean.")])
            .on(auditor().and_contains("2. the cups are BLUE"), [verdicts(&["yes", "no"])])
            .on(auditor().and_contains("1. the cups are clean"), [verdicts(&["yes"])])
            .on(When::tools().and_turn(0), [write("out.txt", "clean\n")])
            .on(When::tools(), [done("washed")]),
    );
    let ended = world.aime(["run", "do the dishes", "--mode", "complex", "--run-id", "dishes"]).must(0);
    assert_eq!(audits(&world).len(), 2, "{ended}");
    let message = "reworded: the cups are BLUE is now the cups are clean (there are no blue cups)";
    assert!(ended.stderr.contains(message) && ended.stderr.contains("(judged by a model: WHY-2"), "{ended}");
}

// Requirement: 5.5
#[test]
fn a_refuted_criterion_of_the_plan_is_amended() {
    let mut planned = plan(&[actor("wash", "WASH all", &[])]);
    planned["strategic"]["success_criteria"] = json!(["the cups are BLUE"]);
    let amend = json!({"number": 1, "text": "the cups are clean", "evidence": "there are no blue cups"});
    let world = World::led(
        Script::new()
            .on(lead(), [Reply::call("submit_plan", planned), Reply::call("amend_criterion", amend), done("All clean.")])
            .on(auditor().and_contains("1. the cups are BLUE"), [verdicts(&["no"])])
            .on(auditor().and_contains("1. the cups are clean"), [verdicts(&["yes"])])
            .on(When::tools(), [done("washed")]),
    );
    let result = run(&world);
    assert_eq!(
        (&result["criteria"][0]["text"], &result["criteria"][0]["holds"]),
        (&json!("the cups are clean"), &json!(true)),
        "{result:#}"
    );
    assert!(result["amended"].to_string().contains("no blue cups"), "{result:#}");
}

// Requirement: 5.5
#[test]
fn a_confirmed_command_is_run_again_after_a_change_alone() {
    for (changes, times) in [(false, 2), (true, 3)] {
        let mut planned = plan(&[actor("wash", "WASH all", &[])]);
        planned["strategic"]["success_criteria"] = json!([{"command": "echo x >> tried"}, "the cups are BLUE"]);
        let amend = json!({"number": 2, "text": "the cups are clean", "evidence": "there are no blue cups"});
        let next = if changes { actor("dry", "DRY all", &[]) } else { actor("look", "LOOK again", &[]) };
        let change = json!({"reasoning": "again", "changes": [{"op": "add_task", "task": next}]});
        let world = World::led(
            Script::new()
                .on(
                    lead(),
                    [Reply::call("submit_plan", planned), Reply::call("change_plan", change), Reply::call("amend_criterion", amend)],
                )
                .on(lead(), [done("All clean.")])
                .on(auditor().and_contains("1. the cups are BLUE"), [verdicts(&["no"])])
                .on(auditor(), [verdicts(&["yes"])])
                .on(When::tools().and_contains("DRY all").and_turn(0), [write("dry.txt", "dry\n")])
                .on(When::tools().and_contains("LOOK again").and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
                .on(When::tools(), [done("done")]),
        );
        world.file(".gitignore", "tried\n");
        let run = ["run", "do the dishes", "--mode", "complex", "--approve", "all", "--output", "json"];
        let ended = world.aime(run).must(0);
        assert_eq!(world.read("tried").lines().count(), times, "before the work, after it, and after a change: {ended}");
    }
}

#[test]
fn an_auditor_has_a_model_of_its_own_and_sees_what_the_worker_was_given() {
    let mut second = worker("wash", "WASH the cups", &["the cups are clean"]);
    second["dependencies"] = json!(["count"]);
    let mut world = World::led(
        Script::new()
            .on(lead(), [submit(&[worker("count", "COUNT the cups", &[]), second]), done("Done.")])
            .on(auditor(), [verdicts(&["yes"])])
            .on(When::tools().and_contains("COUNT the cups"), [done("there are SEVENTEEN cups")])
            .on(When::tools().and_turn(0), [write("tests/test_cups.py", "assert True\n")])
            .on(When::tools(), [done("washed")]),
    );
    world.user_settings("[models.auditor]\nmodel = \"strict\"\n");
    run(&world);
    let audits = audits(&world);
    assert_eq!((audits.len(), &audits[0]["model"]), (1, &json!("strict")));
    assert!(world.server().requests().iter().any(|request| request["model"] != "strict"), "it audits and does nothing else");
    let message = record(&audits[0]);
    assert!(message.contains("# Results that the worker was given\n") && message.contains("SEVENTEEN"), "{message}");
    assert!(message.contains("tests/test_cups.py (created, a test): +1 -0"), "{message}");
    assert!(message.contains("# Recorded calls\n") && message.contains("write_file"), "{message}");
}
