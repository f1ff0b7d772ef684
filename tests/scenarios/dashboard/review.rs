//! Plans that a person reviews in the dashboard before they are run.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::Asked;
use crate::harness::{World, actor, done, plan, wait_until};

impl Asked<'_> {
    /// Waits until a plan is made; gives the draft.
    fn draft(&self, draft: &str) -> Value {
        let look = || self.ask("GET", &format!("/api/v1/plans/{draft}"), "").1;
        wait_until("it is planned", || look()["planning"] == json!(false));
        look()
    }

    fn review(&self, draft: &str, act: &str, review: &Value) -> (u16, Value) {
        self.ask("POST", &format!("/api/v1/plans/{draft}/{act}"), &review.to_string())
    }

    fn plan(&self, goal: &str) -> String {
        let (status, planned) = self.ask("POST", "/api/v1/plans", &json!({"goal": goal, "mode": "complex"}).to_string());
        assert_eq!(status, 201, "{planned}");
        planned["draft"].as_str().unwrap().to_owned()
    }
}

// Requirement: 12.7
#[test]
fn a_plan_is_commented_on_edited_and_run() {
    let change = json!({"reasoning": "by bicycle", "handled": ["comment-1"], "changes": [
        {"op": "modify_task", "id": "go", "change": {"description": "RIDE-THERE"}},
    ]});
    let script = Script::new()
        .on(When::tool("submit_plan").and_contains("by bicycle"), [Reply::call("change_plan", change), done("I am there.")])
        .once(When::tool("submit_plan"), [Reply::call("submit_plan", plan(&[actor("go", "WALK-THERE", &[])]))])
        .on(When::tools(), [done("there")]);
    let world = World::led(script);
    let dashboard = Asked::start(&world);
    let draft = dashboard.plan("go there");
    let first = dashboard.draft(&draft);
    assert_eq!(first["plan"]["tasks"][0]["description"], "WALK-THERE", "{first}");
    assert!(first["forecast"]["requests"].as_u64() > Some(0), "{first}");
    assert!(first["forecast"]["text"].as_str().unwrap().starts_with("forecast: about "), "{first}");
    assert_eq!(dashboard.ask("GET", "/api/v1/runs", "").1["runs"], json!([]), "nothing has begun");
    assert_eq!(dashboard.review(&draft, "comment", &json!({"text": "by bicycle, please"})), (200, json!({"run": null})));
    let mut changed = dashboard.draft(&draft)["plan"].clone();
    assert_eq!(changed["tasks"][0]["description"], "RIDE-THERE");
    // A broken plan is refused with its fault, and the draft stays.
    let mut broken = changed.clone();
    broken["tasks"][0]["dependencies"] = json!(["nowhere"]);
    let (status, refused) = dashboard.review(&draft, "run", &json!({"plan": broken}));
    assert!(status == 409 && refused["error"]["message"].as_str().unwrap().contains("nowhere"), "{refused}");
    changed["tasks"][0]["description"] = json!("RIDE-SLOWLY");
    let (status, started) = dashboard.review(&draft, "run", &json!({"plan": changed}));
    assert_eq!((status, &started["run"]), (200, &json!(draft)), "{started}");
    let result = dashboard.wait_for_end(&draft);
    assert_eq!((&result["status"], &result["tasks"][0]["id"]), (&json!("completed"), &json!("go")), "{result}");
    assert!(!world.actor_requests("RIDE-SLOWLY").is_empty(), "the person's edit is what is done");
    assert_eq!(result["tasks"].as_array().unwrap().len(), 1, "the first plan is no part of the run");
    assert_eq!(result["usage"]["requests"], world.server().requests().len(), "each plan is counted");
    assert_eq!(dashboard.review(&draft, "run", &json!({})).0, 404, "it is run once");
    dashboard.end();
}

#[test]
fn a_plan_that_is_dropped_leaves_nothing() {
    let world = World::led(Script::new().on(When::tool("submit_plan"), [Reply::call("submit_plan", plan(&[actor("walk", "WALK", &[])]))]));
    let dashboard = Asked::start(&world);
    let draft = dashboard.plan("go there");
    dashboard.draft(&draft);
    assert_eq!(dashboard.review(&draft, "drop", &json!({})).0, 200);
    assert_eq!(dashboard.ask("GET", "/api/v1/plans", "").1["drafts"], json!([]));
    assert_eq!(dashboard.ask("GET", "/api/v1/runs", "").1["runs"], json!([]));
    dashboard.end();
}
