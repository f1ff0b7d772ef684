//! The usage of an agent, and the limits that end it.

use super::*;

/// A world whose agent has more settings and variables.
fn limited(work: &str, settings: &str, variables: &str) -> World {
    let mut world = World::with(keeps_the_plan());
    world.user_settings(&profile("helper", work, false).replace("set = {", &format!("{settings}\nset = {{ {variables}")));
    world.plan("plan.json", &plan(&[by_agent("A-PART")]));
    world
}

/// The cost of a session grows; tokens are reported with the end of a turn.
// Requirement: 4.41
#[test]
fn reported_usage_is_in_the_result() {
    let work = r#"
tell '{"sessionUpdate":"usage_update","used":100,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}'
terminal true
tell '{"sessionUpdate":"usage_update","used":200,"size":1000,"cost":{"amount":9.0,"currency":"EUR"}}'
tell '{"sessionUpdate":"usage_update","used":300,"size":1000,"cost":{"amount":0.75,"currency":"USD"}}'
say "I made it."
"#;
    let usage = r#"USAGE = ',"usage":{"totalTokens":1234,"inputTokens":1000,"outputTokens":200,"cachedReadTokens":30,"thoughtTokens":4}',"#;
    let ended = run(&limited(work, "", usage), "all").must(0);
    let result = ended.json();
    let by_actors = &result["usage_by"]["actors"];
    assert_eq!(by_actors["cost_usd"], 0.75, "the last cost of the session, once, and nothing in another currency: {result:#}");
    let tokens = ["input_tokens", "cached_input_tokens", "output_tokens"].map(|name| by_actors[name].as_u64());
    assert_eq!(tokens, [Some(1000), Some(30), Some(200)], "{result:#}");
    assert_eq!(result["usage"]["cost_usd"], 0.75, "{result:#}");
}

/// An agent that loads its session shows what the session has cost, and reports the sum of both processes.
// Requirement: 4.41
#[test]
fn the_cost_of_a_loaded_session_counts_once() {
    let spent = |usd: f64| {
        json!({"sessionUpdate": "usage_update", "used": 100, "size": 1000, "cost": {"amount": usd, "currency": "USD"}}).to_string()
    };
    let work = format!(
        "if [ -e began ]; then tell '{}'; say done; else tell '{}'; terminal true; touch began; sleep 1000; fi",
        spent(0.75),
        spent(0.5)
    );
    let mut world = World::with(Script::new());
    world.user_settings(&profile("helper", &work, true).replace("set = {", &format!("set = {{ REPLAYED = '{}',", spent(0.5))));
    world.plan("plan.json", &plan(&[by_agent("A-PART")]));
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.kill();
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(world.read("sessions"), "new\nload\n", "{ended}");
    assert_eq!(ended.json()["usage"]["cost_usd"], 0.75, "{ended}");
}

/// Runs the plan, and tells the task something during the first turn of its agent, which creates `began` and waits for `told`.
fn run_and_tell(world: &World) -> Ended {
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    world.aime(["tell", "r", "--task", "a", "KEY-IS-HERE"]).must(0);
    wait_until("the words are in the journal", || {
        world.aime(["runs", "events", "r", "--output", "jsonl"]).events("evidence_added").len() == 1
    });
    world.file("told", "");
    running.wait()
}

/// A message of a person to an agent at work is its next prompt. The end of its first turn is no answer to that message.
// Requirement: 4.41
#[test]
fn a_later_turn_gives_the_result() {
    let work = r#"
case "$line" in
  *KEY-IS-HERE*) say "Done." ;;
  *)
    touch began
    until [ -e told ]; do sleep 0.1; done
    tell '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Look"}'
    say "BLOCKED: I need the key" ;;
esac
"#;
    let usage = r#"USAGE = ',"usage":{"totalTokens":1200,"inputTokens":1000,"outputTokens":200}',"#;
    let world = limited(work, "", usage);
    let ended = run_and_tell(&world).must(0);
    let result = ended.json();
    assert_eq!(task(&result, "a")["summary"], "Done.", "{ended}");
    assert_eq!(world.read("prompts").lines().count(), 2, "{ended}");
    assert_eq!(result["usage_by"]["actors"]["input_tokens"], 2000, "of both turns: {result:#}");
}

/// A limit that ends a turn ends the task, even if a message of a person waits for the end of that turn.
// Requirement: 4.41
#[test]
fn a_limit_ends_the_task_before_a_queued_prompt() {
    let work = r#"
touch began
until [ -e told ]; do sleep 0.1; done
tell '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Look"}'
say "Half of it."
stop=max_tokens
"#;
    let world = limited(work, "", "");
    let ended = run_and_tell(&world).must(1);
    let failed = task(&ended.json(), "a").to_string();
    assert!(failed.contains("helper reached its limit of tokens. Its last words: Half of it."), "{ended}");
    assert_eq!(world.read("prompts").lines().count(), 1, "{ended}");
}

/// A command that prints is no silence, even if it runs for longer than the limit.
// Requirement: 4.41
#[test]
fn an_agent_may_wait_for_a_command_that_prints() {
    let work = r#"
terminal "for part in 1 2 3 4 5 6 7 8 9 10; do echo built; sleep 0.25; done"
say "It is built."
"#;
    let ended = run(&limited(work, "silence_timeout_seconds = 1", ""), "all").must(0);
    assert_eq!(task(&ended.json(), "a")["summary"], "It is built.", "{ended}");
}

/// It is asked to cancel its turn, and has a moment to do so.
// Requirement: 4.41
#[test]
fn a_silent_agent_is_cancelled() {
    let waits = r#"while read -r line; do case "$line" in *'"method":"session/cancel"'*) echo cancelled >> cancels; return ;; esac; done"#;
    for (work, cancels) in [(waits, "cancelled\n"), ("sleep 98761", "")] {
        let world = limited(work, "silence_timeout_seconds = 1", "");
        let ended = run(&world, "all").must(1);
        assert!(task(&ended.json(), "a").to_string().contains("helper has sent nothing for 1 s, so aime has stopped it"), "{ended}");
        assert_eq!(world.read("cancels"), cancels, "{ended}");
        wait_until("the agent is killed", || !sleeps(98761));
    }
}

// Requirement: 4.41
#[test]
fn a_slow_start_fails_the_task() {
    for (sleeps_at, seconds, expect) in
        [("initialize", 1, "does not answer its greeting within 1 s"), ("session/new", 5, "begins no session within 5 s")]
    {
        let limit = format!("start_timeout_seconds = {seconds}");
        let world = limited("say never", &limit, &format!("SLEEPS_AT = \"{sleeps_at}\","));
        let ended = run(&world, "all").must(1);
        assert!(task(&ended.json(), "a").to_string().contains(expect), "{sleeps_at}: {ended}");
        assert!(!world.exists("prompts"), "{sleeps_at}");
        wait_until("the agent is killed", || !sleeps(98763));
    }
}

/// A run that is stopped cancels the turn before it kills the agent.
// Requirement: 4.41
#[test]
fn a_stopped_run_cancels_the_turn() {
    let work = r#"
touch began
while read -r line; do case "$line" in *'"method":"session/cancel"'*) echo cancelled >> cancels; sleep 98760 ;; esac; done
"#;
    let world = limited(work, "", "");
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.signal("INT");
    running.wait().must(130);
    assert_eq!(world.read("cancels"), "cancelled\n");
    wait_until("the agent is killed", || !sleeps(98760));
}
