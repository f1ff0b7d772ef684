//! Quotas that are used up: the provider says when it answers again. A fallback takes over; without one the run pauses.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{Ended, World, actor, bash, done, messages_text, plan, task};

/// Refuses every request for this long.
fn quota(seconds: &str) -> Reply {
    Reply::status(429, json!({"error": {"message": "usage limit reached"}}), [("retry-after", seconds)])
}

/// The body or a header of the refusal names the time, as each provider does. Any part of a run may be the one that meets it.
#[test]
fn a_used_up_quota_pauses_the_run() {
    let of_openai =
        || Reply::status(429, json!({"error": {"message": "limit", "type": "usage_limit_reached", "resets_in_seconds": 7200}}), []);
    let of_header = || quota("7200");
    let of_gemini = || {
        let retry = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7200s"});
        Reply::status(429, json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [retry]}}), [])
    };
    let of_words = || Reply::status(429, json!({"error": {"message": "Your quota will reset after 2h0m0s."}}), []);
    let judged = json!({"id": "a", "name": "a", "kind": "actor", "description": "A-PART", "profile": "sisyphus", "completion_criteria": ["it is good"]});
    let verdict = json!({"passed": true, "reason": "it is there"});
    let script = |first: Script| {
        first
            .on(When::schema("aime_plan"), [Reply::json(plan(&[judged.clone(), actor("z", "Z-PART", &["a"])]))])
            .on(When::schema("aime_verdict"), [Reply::json(verdict.clone())])
            .on(When::tools().and_contains("A-PART").and_turn(0), [bash("echo once >> log")])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("All is done.")])
    };
    let met = [
        ("planner", Script::new().once(When::schema("aime_plan"), [of_openai()])),
        ("actor", Script::new().once(When::tools().and_contains("A-PART").and_turn(1), [of_header()])),
        ("verdict", Script::new().once(When::schema("aime_verdict"), [of_gemini()])),
        ("answer", Script::new().once(When::plain(), [of_words()])),
    ];
    for (who, first) in met {
        let world = World::with(script(first));
        let run = ["run", "make the log", "--mode", "complex", "--approve", "all", "--run-id", "r", "--output", "json"];
        let ended = world.aime(run).must(4);
        let error = ended.json()["error"].to_string();
        assert!(
            error.contains("bound_reached") && error.contains("it answers again at") && error.contains("use `aime resume r`"),
            "{who}: {ended}"
        );
        let asked = world.server().requests().len();
        world.aime(["resume", "r"]).must(0);
        assert!(world.server().requests().len() > asked, "{who}");
        assert_eq!(world.read("log"), "once\n", "{who}: nothing is done twice");
    }
    let world = World::with(script(Script::new().once(When::schema("aime_plan"), [of_openai()])));
    let stderr = world.aime(["run", "make the log", "--mode", "complex", "--run-id", "r", "--lang", "zh"]).must(4).stderr;
    assert!(stderr.contains("它将在 ") && stderr.contains("等到那时再用 `aime resume r`，或指定备用模型"), "{stderr}");
}

/// The lead is woken again by a resume, in the same conversation.
#[test]
fn a_quota_that_the_lead_meets_pauses_the_run() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("echo once >> log")])
        .once(When::tools().and_turn(1), [quota("7200")])
        .on(When::tools(), [done("done")]);
    let world = World::led(script);
    let run = ["run", "write the log", "--approve", "all", "--run-id", "r", "--output", "json"];
    let ended = world.aime(run).must(4);
    assert!(ended.json()["error"].to_string().contains("it answers again at"), "{ended}");
    assert_eq!(world.server().requests().len(), 2, "nothing is asked again before that time");
    world.aime(["resume", "r"]).must(0);
    assert_eq!((world.server().requests().len(), world.read("log").as_str()), (3, "once\n"));
}

/// The classifier alone meets the quota.
#[test]
fn a_quota_that_the_router_meets_pauses_the_run() {
    let script = Script::new()
        .once(When::schema("aime_route"), [quota("7200")])
        .on(When::schema("aime_route"), [Reply::json(json!({"reason": "one step", "complexity": "simple"}))])
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "A-PART", &[])]))])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("All of it is done.")]);
    let world = World::with(script).settings("[planning]\nstrategy = \"always\"\n");
    // The rules are unsure of this goal: two verbs, of middle length, no word that tells.
    let goal = "Compare the two lists in this folder and describe what is different between them in a table please";
    let ended = world.aime(["run", goal, "--run-id", "r", "--output", "json"]).must(4);
    assert!(ended.json()["error"].to_string().contains("it answers again at"), "{ended}");
    assert_eq!(world.server().requests().len(), 1, "nothing is asked again before that time");
    world.aime(["resume", "r"]).must(0);
    assert_eq!(world.schema_requests("aime_route").len(), 2);
}

/// The auditor alone meets the quota. The task's work is not done twice.
#[test]
fn a_quota_that_the_auditor_meets_pauses_the_run() {
    const AUDITS: &str = "You audit work";
    let mut worker = actor("wash", "WASH all", &[]);
    worker["completion_criteria"] = json!(["the cups are clean"]);
    let verdict = json!({"criteria": [{"n": 1, "holds": "yes", "why": "I looked", "evidence": "log:1"}]});
    let script = Script::new()
        .once(When::tools().and_contains(AUDITS), [quota("7200")])
        .on(When::tool("submit_plan"), [Reply::call("submit_plan", plan(&[worker])), done("All is clean.")])
        .on(When::tools().and_contains(AUDITS), [Reply::call("verdict", verdict)])
        .on(When::tools().and_turn(0), [bash("echo once >> log")])
        .on(When::tools(), [done("done")]);
    let world = World::led(script);
    let run = ["run", "do the dishes", "--mode", "complex", "--approve", "all", "--run-id", "r", "--output", "json"];
    let ended = world.aime(run).must(4);
    assert!(ended.json()["error"].to_string().contains("it answers again at"), "{ended}");
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    let result = ended.json();
    assert_eq!((&task(&result, "wash")["status"], &result["criteria"][0]["how"]), (&json!("completed"), &json!("audited")), "{ended}");
    assert_eq!(world.read("log"), "once\n");
    assert_eq!(world.server().requests().iter().filter(|request| messages_text(request).contains(AUDITS)).count(), 2);
}

/// Another model is asked first. The run pauses only when none is left, until the first of them answers again.
#[test]
fn a_quota_is_met_by_a_fallback_first() {
    let models =
        "[models.default]\nmodel = \"big\"\nfallback = [\"other\"]\nmax_retries = 0\n[models.other]\nmodel = \"small\"\nmax_retries = 0\n";
    let asked = |world: &World| -> Vec<String> {
        world.server().requests().iter().map(|request| request["model"].as_str().unwrap().to_owned()).collect()
    };
    let run = |world: &World| -> Ended { world.aime(["run", "say it", "--run-id", "r", "--output", "json"]) };

    let script = Script::new().on(When::any().and_model("big"), [quota("7200")]).on(When::tools(), [done("said")]);
    let world = World::led(script).settings(models);
    assert_eq!(run(&world).must(0).json()["answer"], "said");
    assert_eq!(asked(&world), ["big", "small"]);

    let fails = Reply::status(503, json!({"error": {"message": "overloaded"}}), [("retry-after", "0")]);
    for (big, small) in [(quota("7200"), quota("3600")), (quota("7200"), fails.clone()), (fails, quota("7200"))] {
        let script = Script::new()
            .once(When::any().and_model("big"), [big])
            .once(When::any().and_model("small"), [small])
            .on(When::tools(), [done("said")]);
        let world = World::led(script).settings(models);
        let ended = run(&world).must(4);
        let error = ended.json()["error"].to_string();
        assert!(error.contains("it answers again at") && error.contains("use `aime resume r`"), "{ended}");
        assert_eq!(asked(&world), ["big", "small"], "{ended}");
        let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
        assert_eq!(ended.json()["answer"], "said");
        assert_eq!(asked(&world).len(), 3, "{ended}");
    }
}
