//! The choice of an agent, and the answers to its questions.

use super::*;

/// The agent asks a person for its consent.
const ASKS: &str = r#"
ask session/request_permission '"toolCall":{"toolCallId":"t","kind":"other","title":"Call the baker"},"options":[{"optionId":"go","name":"Go","kind":"allow_once"},{"optionId":"stay","name":"Stay","kind":"reject_once"}]'
[ -n "$reply" ] || exit
printf '%s\n' "$reply" >> replies
case "$reply" in *'"go"'*) say "The baker comes." ;; *) say "FAILURE: I may not call" ;; esac
"#;

/// The run has ended with the question, and with it the agent's process. The next process asks again, and gets the answer.
// Requirement: 4.41
#[test]
fn a_person_answers_an_agent_later() {
    for (answer, option, code) in [("yes", "go", 0), ("no", "stay", 1)] {
        let world = world(ASKS, true, keeps_the_plan());
        let ended = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--output", "json"]).must(5);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("The agent asks for consent: Call the baker"), "{ended}");
        assert!(!world.exists("replies"), "nobody has answered yet");
        world.aime(["answer", "r", answer]).must(0);
        let ended = world.aime(["resume", "r", "--output", "json"]).must(code);
        assert!(world.read("replies").contains(&format!("\"optionId\":\"{option}\"")), "{answer}: {ended}");
        assert_eq!((world.read("replies").lines().count(), world.read("sessions").as_str()), (1, "new\nload\n"), "{ended}");
        let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
        assert_eq!(events.events("question_asked").len(), 1, "nobody is asked twice: {events}");
    }
}

/// Another task works meanwhile, so the agent lives when its answer comes.
// Requirement: 4.41
#[test]
fn a_person_answers_a_waiting_agent() {
    let waits = crate::harness::bash("for i in $(seq 300); do ls replies && break; sleep 0.1; done");
    let script = Script::new()
        .on(When::tools().and_contains("B-PART").and_turn(0), [waits])
        .on(When::tools().and_contains("B-PART"), [done("b is done")])
        .on(When::plain(), [Reply::text("Both have ended.")]);
    let mut world = World::with(script).in_one_folder();
    world.user_settings(&(profile("helper", ASKS, false) + "[permissions]\nallow = [\"bash\"]\n"));
    world.plan("plan.json", &plan(&[by_agent("A-PART"), actor("b", "B-PART", &[])]));
    let running = world.start(["run", "--plan", "plan.json", "--run-id", "r", "--output", "json"]);
    wait_until("the agent asks", || world.aime(["runs", "events", "r", "--output", "jsonl"]).events("question_asked").len() == 1);
    world.aime(["answer", "r", "yes"]).must(0);
    let ended = running.wait().must(0);
    assert_eq!(task(&ended.json(), "a")["summary"], "The baker comes.", "{ended}");
    assert_eq!((world.read("replies").lines().count(), world.read("sessions").as_str()), (1, "new\n"), "{ended}");
}

// Requirement: 4.41
#[test]
fn the_lead_chooses_an_agent_by_name() {
    let script = Script::new().on(
        When::tool("submit_plan"),
        [Reply::call("submit_plan", json!({})), Reply::call("submit_plan", plan(&[by_agent("A-PART")])), done("The helper has baked.")],
    );
    let mut world = World::led(script);
    world.user_settings(&profile("helper", "say \"I baked.\"", false));
    let ended = world.aime(["run", "bake", "--approve", "all", "--unattended", "--output", "json"]).must(0);
    let requests = world.server().requests();
    assert_eq!(requests.len(), 3, "the agent needs no model of aime");
    assert!(requests[1].to_string().contains("a helper"), "the lead knows its profile when it plans: {}", requests[1]);
    assert!(requests[2].to_string().contains("I baked."), "{}", requests[2]);
    assert_eq!(task(&ended.json(), "a")["summary"], "I baked.", "{ended}");
    assert_eq!(world.read("sessions"), "new\n");
}
