//! Tools that a program adds, seen from outside.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::{Orchestrator, Parts, RunResult};
use aime_progress::{PlanMode, RunStatus};
use aime_tools::{Approval, RuleLists, Tool, ToolContext, ToolOutput, ToolRegistry, TypedTool, builtin};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bench::{Bench, control, done};

#[derive(Deserialize, JsonSchema)]
struct Moon {
    /// The day of the month
    day: u32,
}

/// A tool of one's own, and how often it was called.
fn moon_phase()
-> (Arc<AtomicUsize>, TypedTool<Moon, impl Fn(Moon, ToolContext) -> std::future::Ready<Result<ToolOutput, aime_tools::ToolError>>>) {
    let calls = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&calls);
    let tool = TypedTool::new("moon_phase", "The phase of the moon on a day.", move |moon: Moon, _: ToolContext| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(ToolOutput::text(if moon.day < 15 { "full" } else { "new" })))
    });
    (calls, tool)
}

/// A goal that a model plans: one task for an actor, for which it names nothing but what is to be done.
fn planning_model() -> ScriptedModel {
    let plan =
        json!({"tasks": [{"id": "look", "kind": "actor", "description": "Change the lights to the phase of the moon on the third"}]});
    ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [Reply::text(plan.to_string())])
        .on(When::tool("moon_phase").and_turn(0), [Reply::call("moon_phase", json!({"day": 3}))])
        .on(When::tools(), [done("looked")])
        .on(When::plain(), [Reply::text("It was looked at.")])
}

async fn run(bench: &Bench, tool: impl Tool + 'static, rules: RuleLists) -> RunResult {
    let mut tools: ToolRegistry = builtin();
    tools.register(Arc::new(tool));
    let parts = bench.parts(Some(Arc::new(bench.model.clone())));
    let tool_context = parts.tool_context.clone().with_rules(rules);
    let orchestrator = Orchestrator::new(Parts { tools: Arc::new(tools), tool_context, ..parts });
    let mut request = bench.request("Find out the phase of the moon on the third", None);
    (request.settings.mode, request.settings.approval, request.settings.unattended) = (Some(PlanMode::Simple), Approval::Edits, true);
    orchestrator.run(request, control().0).await.unwrap()
}

#[tokio::test]
async fn an_actor_of_a_models_plan_has_an_added_tool() {
    let (calls, tool) = moon_phase();
    let bench = Bench::new(planning_model());
    let result = run(&bench, tool.read_only(), RuleLists::default()).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_added_tool_that_says_nothing_is_not_called_unasked() {
    let (calls, tool) = moon_phase();
    let bench = Bench::new(planning_model());
    run(&bench, tool, RuleLists::default()).await;
    assert_eq!(calls.load(Ordering::Relaxed), 0, "nobody is there to be asked");
    let (calls, tool) = moon_phase();
    let allow = vec!["moon_phase".parse().unwrap()];
    let bench = Bench::new(planning_model());
    run(&bench, tool, RuleLists { allow, ..RuleLists::default() }).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "a rule of the parts allows it");
}

#[tokio::test]
async fn the_rules_of_the_parts_hold_for_their_runs() {
    let (calls, tool) = moon_phase();
    let ask = vec!["moon_phase".parse().unwrap()];
    let bench = Bench::new(planning_model());
    run(&bench, tool.read_only(), RuleLists { ask, ..RuleLists::default() }).await;
    assert_eq!(calls.load(Ordering::Relaxed), 0, "nobody is there to be asked");
}
