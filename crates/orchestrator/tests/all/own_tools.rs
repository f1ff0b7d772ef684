//! Custom tools, used through the public API.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_progress_management::PlanMode;
use aime_tools::{Approval, PermissionRule, RuleLists, Tool, ToolContext, ToolOutput, ToolRegistry, TypedTool, builtin};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bench::{Bench, done};

#[derive(Deserialize, JsonSchema)]
struct Moon {
    /// The day of the month
    day: u32,
}

/// A custom tool that counts its calls.
fn moon_phase(calls: &Arc<AtomicUsize>, read_only: bool) -> Arc<dyn Tool> {
    let calls = Arc::clone(calls);
    let tool = TypedTool::new("moon_phase", "The phase of the moon on a day.", move |moon: Moon, _: ToolContext| {
        calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(ToolOutput::text(if moon.day < 15 { "full" } else { "new" })))
    });
    if read_only { Arc::new(tool.read_only()) } else { Arc::new(tool) }
}

/// A goal that a model plans: one actor task with nothing but a description.
fn planning_model() -> ScriptedModel {
    let plan =
        json!({"tasks": [{"id": "look", "kind": "actor", "description": "Change the lights to the phase of the moon on the third"}]});
    ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [Reply::text(plan.to_string())])
        .on(When::tool("moon_phase").and_turn(0), [Reply::call("moon_phase", json!({"day": 3}))])
        .on(When::tools(), [done("looked")])
        .on(When::plain(), [Reply::text("It was looked at.")])
}

/// Returns the number of calls of the tool in a run without a person to ask.
async fn calls(read_only: bool, rules: RuleLists) -> usize {
    let (bench, calls) = (Bench::new(planning_model()), Arc::default());
    let mut tools: ToolRegistry = builtin();
    tools.register(moon_phase(&calls, read_only));
    let builder = bench.builder().model(bench.model.clone()).tools(tools).tool_context(bench.context().with_rules(rules));
    let mut request = bench.request("Find out the phase of the moon on the third", None);
    (request.settings.mode, request.settings.approval, request.settings.unattended) = (Some(PlanMode::Simple), Approval::Edits, true);
    builder.build().unwrap().run(request).await.unwrap();
    calls.load(Ordering::Relaxed)
}

fn rule() -> Vec<PermissionRule> {
    vec!["moon_phase".parse().unwrap()]
}

#[tokio::test]
async fn an_actor_of_a_models_plan_has_an_added_tool() {
    assert_eq!(calls(true, RuleLists::default()).await, 1);
}

#[tokio::test]
async fn an_added_tool_that_says_nothing_is_not_called_unasked() {
    assert_eq!(calls(false, RuleLists::default()).await, 0);
    assert_eq!(calls(false, RuleLists { allow: rule(), ..RuleLists::default() }).await, 1);
}

#[tokio::test]
async fn the_rules_of_the_parts_hold_for_their_runs() {
    assert_eq!(calls(true, RuleLists { ask: rule(), ..RuleLists::default() }).await, 0);
}
