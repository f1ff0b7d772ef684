//! A program that imports this crate alone: a model plans a goal, and the plan is drawn.

use aime_dynamic_planner::{
    PlanRequest, Planner, PlannerSettings,
    llm::scripted::{Reply, ScriptedModel, When},
    mermaid,
    progress::PlanMode,
};
use serde_json::json;

#[tokio::test]
async fn a_model_plans_a_goal() -> Result<(), Box<dyn std::error::Error>> {
    let plan = json!({"tasks": [
        {"id": "dough", "description": "Knead the dough"},
        {"id": "bake", "description": "Bake the bread", "depends_on": "dough"},
    ]});
    let model = ScriptedModel::new("baker").on(When::schema("aime_plan"), [Reply::json(plan)]);
    let planner = Planner::new(model.built(), PlannerSettings::default());
    let planned = planner.plan(&PlanRequest::new("Knead a dough and bake it", PlanMode::Complex)).await?;
    assert!(!planned.repairs.is_empty(), "the wrong key is repaired, and that is told");
    assert!(mermaid(&planned.plan).contains("n0 --> n1"));
    Ok(())
}
