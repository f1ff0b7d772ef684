//! The success criteria of the plan, and the criteria of completed tasks that were checked with them, as of their last check.

use std::collections::BTreeMap;

use aime_messages::{Message, message};
use aime_progress_management::TaskId;
use serde::{Deserialize, Serialize};

use crate::CriterionResult;

/// The check of the criteria since the last change of the plan, and the criteria that failed it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct CriteriaState {
    looked_at: bool,
    /// Each failed criterion with the reason.
    unmet: Vec<Message>,
    /// True if nobody could check one of them.
    has_unchecked: bool,
}

impl CriteriaState {
    pub(super) const fn were_looked_at(&self) -> bool {
        self.looked_at
    }

    /// Takes in the results of the criteria of the plan, and `again` those of completed tasks.
    pub(super) fn record_checks(&mut self, checks: &[CriterionResult], again: &BTreeMap<TaskId, Vec<CriterionResult>>) {
        self.looked_at = true;
        let of_tasks = again.iter().flat_map(|(task, checks)| checks.iter().map(move |check| (Some(task), check)));
        let all = checks.iter().map(|check| (None, check)).chain(of_tasks);
        let unmet: Vec<_> = all.filter(|(_, check)| check.fault().is_some()).collect();
        self.has_unchecked = unmet.iter().any(|(_, check)| check.passed.is_none());
        self.unmet = unmet
            .into_iter()
            .map(|(task, CriterionResult { criterion, reason, .. })| match task {
                Some(task) => message!("criterion-of-task", criterion, task, reason),
                None => message!("criterion-unmet", criterion, reason),
            })
            .collect();
    }

    pub(super) fn plan_changed(&mut self) {
        *self = Self::default();
    }

    /// Returns true if nobody could check one of the criteria that failed, so that another check may succeed without a change.
    pub(super) const fn has_unchecked(&self) -> bool {
        self.has_unchecked
    }

    /// Returns a message with the failed criteria.
    pub(super) fn failure(&self) -> Option<Message> {
        (!self.unmet.is_empty()).then(|| message!("criteria-fail", reason = Message::list("; ", &self.unmet)))
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{CheckMethod, Criterion, Owner};

    use super::*;

    #[test]
    fn only_a_criterion_that_does_not_hold_is_a_failure() {
        let check = |passed| CriterionResult { passed, reason: "tried".into(), ..CriterionResult::open(&Criterion::command("run")) };
        let required =
            CriterionResult { reason: "denied".into(), ..CriterionResult::open(&Criterion::command("run").owned_by(Owner::Project)) };
        let judged = CriterionResult { how: CheckMethod::Executed, ..required.clone() };
        let cases = [
            (vec![], None),
            (vec![check(Some(true)), check(None), judged], None),
            (vec![required], Some("success criteria do not hold: `run` gives exit 0: denied")),
            (vec![check(Some(true)), check(Some(false))], Some("success criteria do not hold: `run` gives exit 0: tried")),
        ];
        for (checks, expected) in cases {
            let mut criteria = CriteriaState::default();
            criteria.record_checks(&checks, &BTreeMap::new());
            assert_eq!((criteria.failure().as_ref().map(ToString::to_string).as_deref(), criteria.were_looked_at()), (expected, true));
            criteria.plan_changed();
            assert_eq!((criteria.failure(), criteria.were_looked_at()), (None, false));
        }
    }
}
