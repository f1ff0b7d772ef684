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
