//! A plan whose first task fails, a patch, and a verdict, all of them answers in a form.

use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::{Value, json};

use super::{SERVICES, accepted, reading::schema, refused, thought};
use crate::harness::{actor, done, gives_up, plan, task, write};

fn script() -> Script {
    let mut tasks = plan(&[actor("flaky", "FLAKY-WAY", &[]), actor("after", "AFTER-ALL", &["flaky"])]);
    tasks["strategic"]["success_criteria"] = json!(["the fish is a trout"]);
    let patch = json!({"reasoning": "another net", "changes": [
        {"op": "add_task", "task": actor("other", "OTHER-WAY", &[]), "replaces": ["flaky"]}
    ]});
    let verdict = json!({"reason": "a trout it is", "passed": true, "score": 1.0, "feedback": "", "suggestions": []});
    // The words of one task are in the requests of the next: the last task is looked for first.
    Script::new()
        .on(When::schema("aime_plan"), [thought(0, Reply::json(tasks))])
        .on(When::schema("aime_patch"), [thought(1, Reply::json(patch))])
        .on(When::schema("aime_verdict"), [thought(2, Reply::json(verdict))])
        .on(When::tools().and_contains("AFTER-ALL").and_turn(0), [thought(3, Reply::call("read_file", json!({"path": "fish.txt"})))])
        .on(When::tools().and_contains("AFTER-ALL").and_turn(1), [thought(4, done("it is a trout"))])
        .on(When::tools().and_contains("OTHER-WAY").and_turn(0), [thought(5, write("fish.txt", "a trout\n"))])
        .on(When::tools().and_contains("OTHER-WAY").and_turn(1), [thought(6, done("the fish is in fish.txt"))])
        .on(When::tools().and_contains("FLAKY-WAY").and_turn(0), [thought(7, Reply::call("list_dir", json!({"path": "."})))])
        .on(When::tools().and_contains("FLAKY-WAY").and_turn(1), [thought(8, gives_up("the net is torn"))])
        .on(When::plain(), [thought(9, Reply::text("A trout was caught."))])
}

#[test]
fn a_failed_task_is_replanned_and_the_end_is_judged() {
    for service in SERVICES {
        let world = service.world(script(), "", "[triggers]\nmax_retries = 0\n");
        let ended = world.aime(["run", "catch a fish", "--mode", "complex", "--output", "jsonl"]).must(0);
        let result = ended.last();
        assert_eq!((&result["status"], &result["replans"]), (&json!("completed"), &json!(1)), "{ended}");
        assert_eq!(result["answer"], "A trout was caught.", "{ended}");
        assert_eq!(task(&result, "other")["status"], "completed", "{ended}");
        assert_eq!(world.read("fish.txt"), "a trout\n");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.1, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        let schemas: Vec<Option<&str>> = requests.iter().map(schema).filter(Option::is_some).collect();
        assert_eq!(schemas, [Some("aime_plan"), Some("aime_patch"), Some("aime_verdict")], "{ended}");
        assert_eq!(requests.len(), 10, "{ended}");
        // Each request of the run is for one cache, where the service has one by name.
        let keys: Vec<&Value> = requests.iter().filter_map(|request| request.get("prompt_cache_key")).collect();
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
        assert!(service.provider != Provider::OpenAi || keys.len() >= 7, "{}: {keys:?}", service.name);
    }
}

/// A plan that grows: after the first TODO the model adds a second, and then nothing.
fn grows() -> Script {
    let grows = json!({"reasoning": "a second look", "changes": [{"op": "add_task", "task": actor("second", "SECOND-LOOK", &["first"])}]});
    let unchanged = json!({"reasoning": "that is all", "changes": []});
    let verdict = json!({"reason": "it is seen", "passed": true, "score": 1.0, "feedback": "", "suggestions": []});
    Script::new()
        .on(When::schema("aime_route"), [thought(0, Reply::json(json!({"reason": "unclear", "complexity": "complex"})))])
        .on(When::schema("aime_plan"), [thought(1, Reply::json(plan(&[actor("first", "FIRST-LOOK", &[])])))])
        .on(When::schema("aime_patch"), [thought(2, Reply::json(grows)), thought(3, Reply::json(unchanged))])
        .on(When::schema("aime_verdict"), [thought(4, Reply::json(verdict))])
        .on(When::tools().and_contains("SECOND-LOOK"), [thought(5, done("seen again"))])
        .on(When::tools().and_contains("FIRST-LOOK").and_turn(0), [thought(6, write("seen.txt", "a fish\n"))])
        .on(When::tools().and_contains("FIRST-LOOK").and_turn(1), [thought(7, done("seen"))])
        .on(When::plain(), [thought(8, Reply::text("A fish was seen twice."))])
}

#[test]
fn a_plan_grows_with_what_is_found() {
    for service in SERVICES {
        let world = service.world(grows(), "", "[planning]\nreflect = \"always\"\n");
        let ended = world.aime(["run", "look for fish", "--mode", "emergent", "--output", "jsonl"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.last()["answer"]), (Some(0), &json!("A fish was seen twice.")), "{name}");
        assert_eq!(task(&ended.last(), "second")["status"], "completed", "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.1, "{name}\n{refused:#?}");
        let asked: Vec<String> = accepted(&world).iter().filter_map(|request| schema(request).map(str::to_owned)).collect();
        assert!(asked.contains(&"aime_patch".to_owned()) && asked.contains(&"aime_verdict".to_owned()), "{name}\n{asked:?}");
    }
}
