//! Cancels a run, or one of its tasks, for good at the request of a person, and carries out other changes that people want.

use std::collections::BTreeMap;

use aime_durable::{EffectId, Reason};
use aime_messages::{Message, message};
use aime_progress_management::{
    Decision, Faults, Owner, PlanMode, PlanPatch, ProgressEvent, ProgressState, QuestionId, RunStatus, Task, TaskId, TaskKind, TaskStatus,
    TriggerKind, TriggerReason,
};
use serde::{Deserialize, Serialize};

use super::{FailureCode, Out, Phase, RunMachine, effects::OpenEffects, replanning::PERSON_PRIORITY};
use crate::{NextStep, RunFailure, RunOutput};

/// The tasks that are about to leave the plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Cancellations {
    /// The changes that people want and that are not decided on yet: each cancels a task or amends a criterion.
    requested: Vec<PlanPatch>,
    /// The running tasks that the pending decision takes out of the plan, each with the effect that was revoked for it,
    /// if it had one.
    stopping: BTreeMap<TaskId, Option<EffectId>>,
}

/// A person's request, with the faults that keep the plan from allowing it.
#[derive(Debug)]
struct PersonRequest {
    patch: PlanPatch,
    fits: Result<(), Faults>,
}

impl PersonRequest {
    /// Returns the task that the request cancels, if it cancels one.
    fn cancels(&self) -> Option<&TaskId> {
        self.patch.cancelled().next()
    }
}

impl Cancellations {
    pub(super) fn request(&mut self, patch: PlanPatch) {
        self.requested.push(patch);
    }

    /// Returns the next request: the first one that the plan allows, or else the first one. The order matters, because
    /// a task can leave the plan after the tasks that need it have left.
    fn next(&mut self, state: &ProgressState) -> Option<PersonRequest> {
        let is_open = |task: &TaskId| state.tasks.get(task).is_some_and(|known| !known.status.is_settled());
        self.requested.retain(|patch| patch.cancelled().all(is_open));
        let mut first = None;
        for patch in &self.requested {
            let request = PersonRequest { fits: state.check_patch(patch), patch: patch.clone() };
            if request.fits.is_ok() {
                return Some(request);
            }
            first.get_or_insert(request);
        }
        first
    }

    /// Removes the request that a decision dealt with, even if it could not be carried out.
    pub(super) fn decided(&mut self, decision: &PlanPatch) {
        let one = |patch: &PlanPatch| patch.cancelled().next().filter(|_| patch.changes.len() == 1).cloned();
        let decided = |patch: &PlanPatch| patch.changes == decision.changes || one(patch).is_some_and(|task| one(decision) == Some(task));
        self.requested.retain(|patch| !decided(patch));
    }

    /// Returns whether a patch is a request that is not decided on yet.
    pub(super) fn is_requested(&self, patch: &PlanPatch) -> bool {
        self.requested.iter().any(|requested| requested.changes == patch.changes)
    }

    /// Forgets all requests.
    pub(super) fn forget_requests(&mut self) {
        self.requested.clear();
    }

    fn stop(&mut self, task: TaskId, revoked: Option<EffectId>) {
        self.stopping.entry(task).or_insert(revoked);
    }

    pub(super) fn is_stopping(&self, task: &TaskId) -> bool {
        self.stopping.contains_key(task)
    }

    /// Returns whether a task still has to stop before the decision can be carried out.
    pub(super) fn wait_for(&self, open: &OpenEffects) -> bool {
        self.stopping.values().flatten().any(|effect| open.contains(effect))
    }

    /// Removes the tasks that were to stop and returns them.
    pub(super) fn take_stopping(&mut self) -> BTreeMap<TaskId, Option<EffectId>> {
        std::mem::take(&mut self.stopping)
    }
}

impl RunMachine {
    /// Cancels the run: stops everything in progress, and nothing can resume the run. A run that was being left is
    /// cancelled instead.
    pub(super) fn cancel(&mut self, reason: &Message, out: &mut Out) {
        if self.phase == Phase::Over {
            return;
        }
        let version = self.state.version;
        let next = (version > 0).then(|| NextStep::Fork { run: self.input.run.clone(), version });
        let error = Some(RunFailure::new(FailureCode::Cancelled, reason.clone(), next));
        self.stopping.give_up(reason.clone());
        self.phase = Phase::Over;
        self.stopping.cancel_suspending();
        self.suspend(RunOutput { status: RunStatus::Cancelled, error }, out);
    }

    /// Closes a cancelled run after everything has stopped: skips the tasks that are left, withdraws the questions, and
    /// reports what was reached.
    pub(super) fn close_cancelled(&mut self, output: &RunOutput, out: &mut Out) {
        self.skip_open(out);
        self.settle(out);
        self.give_up_blocked(out);
        let open: Vec<QuestionId> = self.unanswered().map(|question| question.id.clone()).collect();
        self.withdraw(open, out);
        let text = self.report(output.error.as_ref());
        self.emit(ProgressEvent::Answered { text }, out);
    }

    /// Removes an unsettled task from the plan after its actor has stopped. The tasks that waited for it continue
    /// without it. A task whose result others need stays, and the user is told. If the run is being suspended, or another
    /// decision is pending, the removal waits.
    pub(super) fn cancel_task(&mut self, task: &TaskId, reason: &str, out: &mut Out) {
        if self.phase == Phase::Executing && self.state.mode != Some(PlanMode::Direct) {
            self.cancellations.request(PlanPatch::cancelling(task, reason, Owner::Person));
            self.carry_out_requests(out);
        }
    }

    /// Carries out the changes that people want, until one of them needs a decision.
    pub(super) fn carry_out_requests(&mut self, out: &mut Out) {
        while !self.replans.is_deciding() && !self.stopping.is_suspending() {
            let Some(request) = self.cancellations.next(&self.state) else { return };
            let task = request.cancels().cloned();
            let PersonRequest { patch, fits } = request;
            if let Err(faults) = fits {
                self.cancellations.decided(&patch);
                match &task {
                    Some(task) => self.refuse_cancel(task, &faults, out),
                    None => self.lead.refuse(format!("a person agreed, but the criterion was not changed: {faults}")),
                }
                continue;
            }
            let detail = match &task {
                Some(task) => message!("trigger-cancelled", task),
                None => message!("trigger-criterion"),
            };
            let (kind, tasks) = (TriggerKind::Person, task.into_iter().collect());
            let triggers = vec![TriggerReason { kind, priority: PERSON_PRIORITY, detail, tasks, evidence: Vec::new() }];
            self.stop_cancelled(&patch, out);
            self.replans.propose(Decision::next(&self.state, self.now, triggers, patch));
            return self.decide_if_ready(out);
        }
    }

    /// Reports why a task stays: another one needs its result, or depends on a condition over it.
    pub(super) fn refuse_cancel(&mut self, task: &TaskId, faults: &Faults, out: &mut Out) {
        self.emit(ProgressEvent::CancelRefused { task: task.clone(), faults: faults.messages() }, out);
    }

    /// Stops the running tasks that a patch takes out of the plan, by themselves or with their group. A patch that does
    /// not fit stops nothing.
    pub(super) fn stop_cancelled(&mut self, patch: &PlanPatch, out: &mut Out) {
        let Ok(after) = self.state.patched(patch, self.now) else { return };
        let stops = |task: &&Task| {
            let after = after.tasks.get(&task.spec.id).map(|task| task.status);
            task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group && after != Some(TaskStatus::Running)
        };
        for task in self.state.tasks.values().filter(stops).map(|task| &task.spec.id) {
            let begun = self.effects.attempt_at(task).cloned();
            if let Some(effect) = &begun {
                out.revoke(effect.clone(), Reason::Cancelled);
            }
            self.cancellations.stop(task.clone(), begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Plan, TaskSpec, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::machine::effects::EffectPurpose;

    fn id(name: &str) -> TaskId {
        name.parse().unwrap()
    }

    fn cancelling(task: &str) -> PlanPatch {
        PlanPatch::cancelling(&id(task), "why", Owner::Person)
    }

    /// The tasks a, b and c; a tool task after them needs the result of a.
    fn state() -> ProgressState {
        let mut state = ProgressState::new("p".parse().unwrap(), "g", Timestamp::from_millis(0));
        let mut tasks: Vec<TaskSpec> = ["a", "b", "c"].map(|name| TaskSpec::actor(id(name), "do")).into();
        let parameters = json!({"of": "@{steps.a.result}"}).as_object().unwrap().clone();
        let dependencies = vec![id("a")];
        let tool = Some("look".to_owned());
        tasks.push(TaskSpec { kind: TaskKind::Tool, tool, parameters, dependencies, ..TaskSpec::actor(id("d"), "") });
        let plan = Plan::new("g", tasks);
        state.apply(Timestamp::from_millis(0), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
        state
    }

    #[test]
    fn the_first_request_that_fits_comes_first() {
        let cases = [
            ("b c", Some(("b", true))),
            ("a c", Some(("c", true))),
            ("a", Some(("a", false))),
            ("a d", Some(("d", true))),
            ("zz", None),
            ("zz b", Some(("b", true))),
        ];
        for (requests, expected) in cases {
            let mut cancellations = Cancellations::default();
            requests.split(' ').for_each(|task| cancellations.request(cancelling(task)));
            let next = cancellations.next(&state());
            let found = next.as_ref().and_then(|request| Some((request.cancels()?.as_str(), request.fits.is_ok())));
            assert_eq!(found, expected, "{requests}");
        }
    }

    #[test]
    fn a_decision_ends_its_request() {
        let mut cancellations = Cancellations::default();
        ["b", "c"].iter().for_each(|task| cancellations.request(cancelling(task)));
        cancellations.decided(&PlanPatch::cancelling(&id("b"), "another reason", Owner::Person));
        assert_eq!(cancellations.next(&state()).unwrap().cancels(), Some(&id("c")));
    }

    #[test]
    fn a_decision_waits_for_the_tasks_it_stops() {
        let mut cancellations = Cancellations::default();
        let (mut open, effect) = (OpenEffects::default(), EffectId::new("a/1/1"));
        open.insert(effect.clone(), EffectPurpose::Task(id("a")));
        cancellations.stop(id("b"), None);
        assert!(!cancellations.wait_for(&open), "nobody works on b");
        cancellations.stop(id("a"), Some(effect.clone()));
        cancellations.stop(id("a"), None);
        assert!(cancellations.wait_for(&open) && cancellations.is_stopping(&id("a")));
        open.remove(&effect);
        assert!(!cancellations.wait_for(&open));
        assert_eq!(cancellations.take_stopping().into_iter().collect::<Vec<_>>(), [(id("a"), Some(effect)), (id("b"), None)]);
    }
}
