//! Metadata of a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Confidence, PlanId, ProgressState, TaskStatus, Timestamp};

/// Facts about a plan as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanMetadata {
    /// Identifier of the plan.
    pub id: PlanId,
    /// Version of the plan, from 1. Each change makes a new one.
    pub version: u32,
    /// Time of the first version.
    pub created_at: Timestamp,
    /// Time of this version.
    pub updated_at: Timestamp,
    /// Sum of the estimates of its tasks in seconds, as if they were done one after the other, without skipped ones; absent if no task has
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_seconds: Option<u64>,
    /// How sure the planner is that the plan reaches the goal, from 0 to 1; absent if it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

impl ProgressState {
    /// Returns the metadata of the plan, or `None` before the first plan.
    #[must_use]
    pub fn plan_metadata(&self) -> Option<PlanMetadata> {
        let created_at = self.planned_at?;
        // A removed task stays in the state as a skipped one.
        let planned = self.tasks.values().filter(|task| task.status != TaskStatus::Skipped);
        let efforts = planned.filter_map(|task| task.spec.effort_seconds);
        let effort_seconds = efforts.map(u64::from).reduce(u64::saturating_add);
        Some(PlanMetadata {
            id: self.plan_id.clone(),
            version: self.version,
            created_at,
            updated_at: self.decisions.last().map_or(created_at, |decision| decision.at),
            effort_seconds,
            confidence: self.strategic.confidence,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Decision, Plan, PlanPatch, ProgressEvent};

    fn time(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    // Requirement: 1.3
    #[test]
    fn a_plan_has_metadata_that_each_change_renews() {
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "g", time(1));
        assert_eq!(state.plan_metadata(), None);
        let plan: Plan = serde_json::from_value(json!({"tasks": [
            {"id": "a", "kind": "actor", "description": "A", "effort_seconds": 60},
            {"id": "b", "kind": "actor", "description": "B", "effort_seconds": 30},
            {"id": "c", "kind": "actor", "description": "C"},
        ], "strategic": {"confidence": 0.8}}))
        .unwrap();
        let created: ProgressEvent = serde_json::from_value(json!({"type": "plan_created", "plan": plan})).unwrap();
        state.apply(time(2), &created).unwrap();
        let expected =
            json!({"id": "p", "version": 1, "created_at": time(2), "updated_at": time(2), "effort_seconds": 90, "confidence": 0.8});
        assert_eq!(serde_json::to_value(state.plan_metadata()).unwrap(), expected);
        let patch: PlanPatch = serde_json::from_value(json!({"reasoning": "less sure", "changes": [
            {"op": "remove_task", "id": "b"}, {"op": "set_strategic", "strategic": {"confidence": 0.25}},
        ]}))
        .unwrap();
        let decision: Decision =
            serde_json::from_value(json!({"version": 2, "at": time(3), "patch": patch, "triggers": [], "evidence": []})).unwrap();
        state.apply(time(3), &ProgressEvent::PlanChanged { decision }).unwrap();
        let expected =
            json!({"id": "p", "version": 2, "created_at": time(2), "updated_at": time(3), "effort_seconds": 60, "confidence": 0.25});
        assert_eq!(serde_json::to_value(state.plan_metadata()).unwrap(), expected);
    }

    #[test]
    fn a_confidence_is_a_share() {
        for (given, kept) in
            [(json!(0), Some(0.0)), (json!(0.756), Some(0.76)), (json!(1), Some(1.0)), (json!(1.01), None), (json!(-0.1), None)]
        {
            let read: Option<Confidence> = serde_json::from_value(given.clone()).ok();
            assert_eq!(read.map(f64::from), kept, "{given}");
        }
    }
}
