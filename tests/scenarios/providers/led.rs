//! Runs that a lead plans: its conversation, in the form of each service.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{
    SERVICES, Service, accepted,
    reading::{cached_entries, calls, entries, results},
    refused, thought,
};
use crate::harness::{World, actor, bash, done, plan, task, wait_until};

fn lead() -> When {
    When::tool("submit_plan")
}

fn worker(word: &str) -> When {
    When::tools().and_contains(word)
}

fn led(service: &Service, script: Script) -> World {
    let mut world = service.world(script, "", "");
    world.set("AIME__PLANNING__ROUTE", "auto");
    world
}

fn submit(tasks: &[Value]) -> Reply {
    Reply::call("submit_plan", plan(tasks))
}

fn evidence(content: &str) -> Reply {
    Reply::call("report_evidence", json!({"type": "discovery", "significance": "high", "content": content}))
}

/// The accepted requests that offer the tools of the lead.
fn of_lead(world: &World) -> Vec<Value> {
    accepted(world).into_iter().filter(|request| request["tools"].to_string().contains("submit_plan")).collect()
}

/// Asserts that each request is the one before it, byte for byte, and an end.
fn grows_only_at_its_end(requests: &[Value], name: &str) {
    for pair in requests.windows(2) {
        let (before, after) = (cached_entries(&pair[0]), cached_entries(&pair[1]));
        assert!(after.len() > before.len() && after.starts_with(&before), "{name}: {before:#?}\n{after:#?}");
        assert_eq!(pair[0]["tools"], pair[1]["tools"], "{name}");
    }
}

fn looks_plans_and_changes() -> Script {
    let change = json!({"reasoning": "paper is not dried", "changes": [
        {"op": "remove_task", "id": "dry", "reason": "paper"},
        {"op": "remove_task", "id": "wash", "reason": "it runs"},
        {"op": "add_task", "task": {"id": "bin", "description": "BIN the plates"}},
    ]});
    let rows: String = (1..=60).map(|row| format!("| {row} | plate {row} | of paper, from the shelf number {row} |\n")).collect();
    let tasks = [actor("wash", "WASH the cups", &[]), actor("count", "COUNT the plates", &[]), actor("dry", "DRY them", &["wash"])];
    let replies = [
        Reply::call("list_dir", json!({"path": "."})),
        submit(&tasks),
        Reply::call("change_plan", change),
        Reply::text("The rest is as it should be."),
        done("All is clean."),
    ];
    let replies = replies.into_iter().enumerate().map(|(number, reply)| thought(number, reply));
    Script::new()
        .on(lead(), replies)
        .on(worker("WASH").and_turn(0), [thought(5, evidence("the plates are paper"))])
        .on(worker("WASH").and_turn(1), [thought(6, done("washed").after_request("Not carried out"))])
        .on(worker("COUNT"), [thought(7, done(&rows).after_request("Not carried out"))])
        .on(When::tools(), [thought(8, done("binned"))])
}

// Requirement: 3.1
#[test]
fn a_lead_looks_plans_and_changes_its_plan() {
    for service in SERVICES {
        let world = led(&service, looks_plans_and_changes());
        let ended = world.aime(["run", "do the dishes", "--mode", "complex", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        let result = ended.json();
        assert_eq!((ended.code, result["answer"].as_str()), (Some(0), Some("All is clean.")), "{name}");
        let status = |id: &str| task(&result, id)["status"].as_str().unwrap().to_owned();
        assert_eq!(
            [status("wash"), status("count"), status("dry"), status("bin")],
            ["completed", "completed", "skipped", "completed"],
            "{name}"
        );
        let requests = of_lead(&world);
        assert_eq!((requests.len(), accepted(&world).len()), (5, 9), "{name}");
        assert_eq!(calls(&requests[4]), ["list_dir", "submit_plan", "change_plan"], "{name}");
        assert!(results(&requests[2])[1].contains("the plates are paper"), "{name}");
        assert!(results(&requests[3])[2].contains("Not carried out") && results(&requests[3])[2].contains("wash"), "{name}");
        let woken = entries(&requests[4]).last().unwrap().to_string();
        assert!((1..=60).all(|row| woken.contains(&format!("plate {row} | of paper, from the shelf number {row} "))), "{name}: {woken}");
        grows_only_at_its_end(&requests, &name);
        assert_eq!(refused(&world).len(), service.lessons.0, "{name}");
    }
}

fn holds_releases_and_cancels() -> Script {
    let until = |file: &str| bash(&format!("touch {file}-began; until test -e {file}-on; do sleep 0.1; done"));
    let tasks = [actor("wash", "WASH the cups", &[]), actor("dry", "DRY the cups", &[]), actor("sweep", "SWEEP the floor", &[])];
    let orders = [
        ("hold_task", json!({"task": "dry"})),
        ("cancel_task", json!({"task": "sweep", "reason": "there is no broom"})),
        ("tell_task", json!({"task": "wash", "text": "use the SOFT sponge"})),
    ];
    let replies = [submit(&tasks), Reply::tool_calls(orders), Reply::call("release_task", json!({"task": "dry"})), done("All is clean.")];
    let replies = replies.into_iter().enumerate().map(|(number, reply)| thought(number, reply));
    Script::new()
        .on(lead(), replies)
        .on(worker("WASH").and_turn(0), [thought(4, bash("until test -e dry-began -a -e sweep-began; do sleep 0.1; done"))])
        .on(worker("WASH").and_turn(1), [thought(10, evidence("the sponge scratches"))])
        .on(worker("WASH").and_turn(2), [thought(5, until("wash"))])
        .on(worker("WASH").and_last_contains("SOFT"), [thought(6, done("washed softly"))])
        .on(worker("DRY").and_turn(0), [thought(7, until("dry"))])
        .on(worker("DRY").and_turn(1), [thought(8, done("dried"))])
        .on(worker("SWEEP"), [thought(9, until("sweep"))])
}

// Requirement: 3.63
#[test]
fn a_lead_holds_releases_and_cancels_while_others_run() {
    for service in SERVICES {
        let world = led(&service, holds_releases_and_cancels()).in_one_folder();
        let arguments = ["run", "do the dishes", "--mode", "complex", "--approve", "all", "--run-id", "dishes", "--output", "json"];
        let running = world.start(arguments);
        let status_of = |id: &str| {
            let run = world.aime(["runs", "show", "dishes", "--output", "json"]);
            let tasks = if run.code == Some(0) { run.json()["tasks"].clone() } else { Value::Null };
            let task = tasks.as_array().into_iter().flatten().find(|task| task["id"] == id);
            task.and_then(|task| task["status"].as_str()).unwrap_or_default().to_owned()
        };
        wait_until("sweep is cancelled", || status_of("sweep") == "skipped");
        world.file("dry-on", "");
        wait_until("dry is held", || status_of("dry") == "blocked");
        world.file("wash-on", "");
        let ended = running.wait();
        let name = format!("{}\n{ended}", service.name);
        let result = ended.json();
        assert_eq!((ended.code, result["answer"].as_str()), (Some(0), Some("All is clean.")), "{name}");
        assert_eq!([&task(&result, "wash")["status"], &task(&result, "dry")["status"]], ["completed", "completed"], "{name}");
        let requests = of_lead(&world);
        assert_eq!(requests.len(), 4, "{name}");
        assert_eq!(calls(&requests[3]), ["submit_plan", "hold_task", "cancel_task", "tell_task", "release_task"], "{name}");
        grows_only_at_its_end(&requests, &name);
        let dried: Vec<Value> = accepted(&world).into_iter().filter(|request| request.to_string().contains("DRY the cups")).collect();
        let dried: Vec<&Value> = dried.iter().filter(|request| !request["tools"].to_string().contains("submit_plan")).collect();
        assert_eq!(dried.len(), 2, "the held actor goes on in its conversation: {name}");
        assert!(cached_entries(dried[1]).starts_with(&cached_entries(dried[0])), "{name}");
        assert_eq!(refused(&world).len(), service.lessons.0, "{name}");
    }
}
