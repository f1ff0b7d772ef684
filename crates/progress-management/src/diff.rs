//! Difference between two versions of a plan.

use aime_messages::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Edge, ProgressState, TaskId, TaskStatus};

/// Difference of two versions of a plan, without the progress of its tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDiff {
    /// Tasks in the second version only.
    pub added: Vec<TaskId>,
    /// Tasks that the second version removed, or did not have yet if it is the earlier one.
    pub removed: Vec<RemovedTask>,
    /// Tasks with a different specification.
    pub changed: Vec<ChangedTask>,
    /// Edges in the second version only.
    pub edges_added: Vec<Edge>,
    /// Edges in the first version only.
    pub edges_removed: Vec<Edge>,
    /// Members of the strategic part that differ.
    pub strategic: Vec<ChangedMember>,
}

/// A task that is no longer to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedTask {
    /// The task.
    pub id: TaskId,
    /// Reason for the removal, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Message>,
}

/// A task with a different specification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedTask {
    /// The task.
    pub id: TaskId,
    /// Members that differ.
    pub members: Vec<ChangedMember>,
}

/// A member that differs; `null` means that it is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedMember {
    /// Name of the member in the plan document.
    pub member: String,
    /// Value in the first version.
    pub before: Value,
    /// Value in the second version.
    pub after: Value,
}

impl PlanDiff {
    /// Compares two plans and returns the parts that only one of them has.
    #[must_use]
    pub fn between(before: &ProgressState, after: &ProgressState) -> Self {
        let added = after.tasks.keys().filter(|id| !before.tasks.contains_key(*id)).cloned().collect();
        let mut diff = Self { added, ..Self::default() };
        for (id, task) in &before.tasks {
            let Some(now) = after.tasks.get(id) else {
                diff.removed.push(RemovedTask { id: id.clone(), reason: None });
                continue;
            };
            if now.status == TaskStatus::Skipped && task.status != TaskStatus::Skipped {
                diff.removed.push(RemovedTask { id: id.clone(), reason: now.reason.clone() });
            } else {
                let members = differing(&task.spec, &now.spec);
                if !members.is_empty() {
                    diff.changed.push(ChangedTask { id: id.clone(), members });
                }
            }
        }
        diff.edges_added = after.edges.iter().filter(|edge| !before.edges.contains(edge)).cloned().collect();
        diff.edges_removed = before.edges.iter().filter(|edge| !after.edges.contains(edge)).cloned().collect();
        diff.strategic = differing(&before.strategic, &after.strategic);
        diff
    }

    /// Returns true if there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the members in which two documents differ: those of the first in their order, then those that only the
/// second has.
fn differing<T: Serialize>(before: &T, after: &T) -> Vec<ChangedMember> {
    let members = |document: &T| match serde_json::to_value(document) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let (before, mut after) = (members(before), members(after));
    let mut found = Vec::new();
    for (member, before) in before {
        let after = after.shift_remove(&member).unwrap_or(Value::Null);
        if before != after {
            found.push(ChangedMember { member, before, after });
        }
    }
    found.extend(after.into_iter().map(|(member, after)| ChangedMember { member, before: Value::Null, after }));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        PlanChange, TaskChange,
        testing::{id, spec, state},
    };

    // Requirement: 7.17
    #[test]
    fn versions_differ_by_what_a_patch_did() {
        let mut after = state("a\nb: a\nc: b");
        after.settle();
        let before = after.clone();
        let change = TaskChange { description: Some("Do it well".into()), dependencies: Some(vec![]), ..TaskChange::default() };
        after.patch(vec![
            PlanChange::ModifyTask { id: id("b"), change: Box::new(change) },
            PlanChange::RemoveTask { id: id("c"), reason: "b does it".into() },
            PlanChange::AddTask { task: Box::new(spec("d: b")), replaces: vec![] },
        ]);
        after.strategic.approach = "another".into();
        let diff = PlanDiff::between(&before, &after);
        assert_eq!(
            serde_json::to_value(&diff).unwrap(),
            json!({
                "added": ["d"],
                "removed": [{"id": "c", "reason": "removed: b does it"}],
                "changed": [{"id": "b", "members": [
                    {"member": "description", "before": "Do b", "after": "Do it well"},
                    {"member": "dependencies", "before": ["a"], "after": []},
                ]}],
                "edges_added": [], "edges_removed": [],
                "strategic": [{"member": "approach", "before": "", "after": "another"}],
            })
        );
        assert_eq!(PlanDiff::between(&after, &before).removed, [RemovedTask { id: id("d"), reason: None }]);
    }

    #[test]
    fn progress_is_no_difference() {
        let mut after = state("a\nb: a");
        let before = after.clone();
        after.settle();
        after.complete("a");
        assert!(PlanDiff::between(&before, &after).is_empty());
    }
}
