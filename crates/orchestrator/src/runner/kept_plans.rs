//! Reads the kept plans for the planner, and stores the plan of a run. File access blocks, so it runs on threads of its
//! own.

use std::sync::{Arc, Mutex};

use aime_durable::run_folder;
use aime_dynamic_planner::{KeptPlan, PlanKey, PlanRequest, Planned, Planner};
use aime_progress_management::ProgressState;
use aime_redact::redact;
use serde_json::Value;

use super::RunRunner;
use crate::kept_plans::ActivePlan;

impl RunRunner {
    /// Returns the planner with the plans of earlier runs, and a message for each plan that could not be read.
    pub(super) async fn with_kept_plans(&self, planner: Planner) -> (Planner, Vec<String>) {
        let Some(plans) = self.parts.kept_plans.clone() else { return (planner, Vec::new()) };
        match tokio::task::spawn_blocking(move || plans.read()).await {
            Ok((cache, notes)) => (planner.with_cache(Arc::new(Mutex::new(cache))), notes),
            Err(error) => (planner, vec![format!("the kept plans could not be read: {error}")]),
        }
    }

    /// Stores a plan that may be kept when the run has ended. A fallback is not stored.
    pub(super) async fn store_active_plan(&self, key: PlanKey, request: &PlanRequest, planned: &Planned) {
        if self.parts.kept_plans.is_none() {
            return;
        }
        let under_way = self.plan_under_way();
        // A later run's model reads the plan. The raw text is searched, because JSON escapes would hide a secret.
        let words = [planned.plan.goal.as_str()].into_iter().chain(planned.plan.tasks.iter().map(|task| task.description.as_str()));
        let parameters = planned.plan.tasks.iter().map(|task| Value::Object(task.parameters.clone()).to_string());
        let text = words.map(ToOwned::to_owned).chain(parameters).collect::<Vec<_>>().join("\n");
        let secret = text.contains(aime_redact::REDACTED) || redact(&text, &self.parts.redactor) != text;
        if planned.fallback.is_some() || secret {
            // A leftover of a crash is no longer the run's plan.
            return under_way.forget();
        }
        let kept = KeptPlan {
            key,
            folders: vec![request.folder.clone()],
            plan: planned.plan.clone(),
            by: Some(self.run.to_string()),
            used_at: self.parts.clock.now(),
        };
        let again = planned.reused.is_some();
        let noted = tokio::task::spawn_blocking(move || under_way.begin(kept, again)).await;
        if let Ok(Err(error)) = noted {
            tracing::warn!(%error, "the plan of this run will not be kept for later runs");
        }
    }

    /// Keeps or deletes the plan of a run that has ended for good, depending on its result.
    pub(crate) async fn end_plan(&self, state: &ProgressState) {
        let Some(plans) = self.parts.kept_plans.clone() else { return };
        let (under_way, state, folder, at) = (self.plan_under_way(), state.clone(), self.listing(), self.parts.clock.now());
        let ended = tokio::task::spawn_blocking(move || under_way.end(&plans, &state, folder, at)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "the plan of this run is not kept for later runs");
        }
    }

    fn plan_under_way(&self) -> ActivePlan {
        ActivePlan::new(&run_folder(&self.parts.keep, self.run.as_str()))
    }
}
