//! Reuse of kept plans.

use std::sync::PoisonError;

use aime_llm::ChatModel;
use aime_messages::{Describe, Message, message};
use aime_progress_management::{ModelCost, Plan};

use super::{Planned, Planner};
use crate::{KeptPlan, PlanCache, PlanKey, PlanRequest};

/// Origin of a reused plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReusedPlan {
    /// Owner of the kept plan; see [`KeptPlan::by`].
    pub owner: Option<String>,
}

impl Planned {
    /// Returns the result for a plan without any request.
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            repairs: Vec::new(),
            refused: Vec::new(),
            fallback: None,
            reused: None,
            spent: ModelCost::default(),
            model: String::new(),
        }
    }
}

impl Planner {
    /// Returns the key of a request to this planner; see [`PlanCache`].
    #[must_use]
    pub fn key(&self, request: &PlanRequest) -> PlanKey {
        PlanKey::of(request, &self.settings, &self.prompts, self.model.name())
    }

    /// Returns the plan of the same request, if it still passes every check. Removes one that does not, and adds a
    /// note.
    pub(super) fn reuse_plan(&self, key: &PlanKey, request: &PlanRequest, notes: &mut Vec<Message>) -> Option<(Plan, ReusedPlan)> {
        let kept = self.with_plans(|plans| plans.get(key, &request.folder).cloned())??;
        let document = serde_json::to_value(&kept.plan).ok()?;
        match self.checker(request, request.mode).check_value(&document) {
            Ok(checked) => Some((Plan { goal: request.goal.clone(), ..checked.plan }, ReusedPlan { owner: kept.by })),
            Err(faults) => {
                let faults: Vec<Message> = faults.iter().map(Describe::describe).collect();
                notes.push(message!("earlier-plan", reason = Message::list("; ", &faults)));
                self.with_plans(|plans| plans.remove(key));
                None
            }
        }
    }

    /// Returns the plan of the goal most similar to a key's.
    pub(super) fn similar(&self, key: &PlanKey) -> Option<Plan> {
        self.with_plans(|plans| plans.similar(key).map(|kept| kept.plan.clone()))?
    }

    pub(super) fn remember(&self, key: PlanKey, request: &PlanRequest, plan: &Plan) {
        let kept = KeptPlan { key, folders: vec![request.folder.clone()], plan: plan.clone(), by: None, used_at: 0 };
        self.with_plans(|plans| plans.insert(kept));
    }

    fn with_plans<T>(&self, act: impl FnOnce(&mut PlanCache) -> T) -> Option<T> {
        let cache = self.cache.as_ref()?;
        Some(act(&mut cache.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
