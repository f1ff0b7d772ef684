//! Plans of before, for the planner; and what a run leaves of its own. Files are read and written, so it has threads of its own.

use std::sync::{Arc, Mutex};

use aime_planner::{KeptPlan, PlanKey, PlanRequest, Planned, Planner};
use aime_progress::ProgressState;
use aime_redact::redact;
use serde_json::Value;

use super::RunRunner;
use crate::kept_plans::PlanUnderWay;

impl RunRunner {
    /// The planner with the plans of earlier runs, and what is said of those that could not be read.
    pub(super) async fn with_kept_plans(&self, planner: Planner) -> (Planner, Vec<String>) {
        let Some(plans) = self.parts.kept_plans.clone() else { return (planner, Vec::new()) };
        match tokio::task::spawn_blocking(move || plans.read()).await {
            Ok((cache, notes)) => (planner.with_cache(Arc::new(Mutex::new(cache))), notes),
            Err(error) => (planner, vec![format!("the kept plans could not be read: {error}")]),
        }
    }

    /// Takes note of a plan that may be kept when the run has ended. A fallback is none.
    pub(super) async fn keep_under_way(&self, key: PlanKey, request: &PlanRequest, planned: &Planned) {
        if self.parts.kept_plans.is_none() {
            return;
        }
        let under_way = self.plan_under_way();
        // A later run's model is shown the plan. A text as it stands: what JSON escapes would hide a secret.
        let words = [planned.plan.goal.as_str()].into_iter().chain(planned.plan.tasks.iter().map(|task| task.description.as_str()));
        let parameters = planned.plan.tasks.iter().map(|task| Value::Object(task.parameters.clone()).to_string());
        let text = words.map(ToOwned::to_owned).chain(parameters).collect::<Vec<_>>().join("\n");
        let secret = text.contains(aime_redact::REDACTED) || redact(&text, &self.parts.redactor) != text;
        if planned.fallback.is_some() || secret {
            // What a crash left there is not the run's plan any more.
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

    /// Keeps the plan of a run that has ended for good, or forgets it, as it came out.
    pub(crate) async fn end_plan(&self, state: &ProgressState) {
        let Some(plans) = self.parts.kept_plans.clone() else { return };
        let (under_way, state, folder, at) = (self.plan_under_way(), state.clone(), self.listing(), self.parts.clock.now());
        let ended = tokio::task::spawn_blocking(move || under_way.end(&plans, &state, folder, at)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "the plan of this run is not kept for later runs");
        }
    }

    fn plan_under_way(&self) -> PlanUnderWay {
        PlanUnderWay::new(&self.parts.keep.join("runs").join(self.run.as_str()))
    }
}
