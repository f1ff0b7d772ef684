//! The sources of untrusted texts. Everything that is made from a text carries its origins.

use aime_progress_management::{Conclusion, Origin, Reference, ReferencePart, TaskId, TaskKind, TaskSpec, references_in};

use super::RunMachine;
use crate::brief::{replaced, results_given};

impl RunMachine {
    /// Returns the origins of an actor's prompts: the file names and the project's texts, the recalled texts, the plan,
    /// the results of its dependencies, and earlier attempts, also at the tasks that it replaces.
    pub(super) fn origins_of_actor(&mut self, task: &TaskId) -> Vec<Origin> {
        let mut origins = self.origins_of_plans();
        Origin::merge(&mut origins, &self.plan_origins);
        let (schedule_index, state) = self.state.schedule_index();
        let known = state.tasks.get(task);
        let given = known.map(|known| results_given(state, schedule_index.graph(), known)).unwrap_or_default();
        for known in given.into_iter().chain(known).chain(replaced(state, task)) {
            Origin::merge(&mut origins, known.conclusion.iter().flat_map(|conclusion| &conclusion.origins));
        }
        origins
    }

    /// Returns the origins of the call of a tool task: the plan, and all results if it refers to any.
    pub(super) fn origins_of_call(&mut self, refers: bool) -> Vec<Origin> {
        let mut origins = self.plan_origins.clone();
        if refers {
            Origin::merge(&mut origins, self.state.trigger_index().0.origins());
        }
        origins
    }

    /// Returns whether the parameters of a task refer to a result with untrusted text.
    pub(super) fn inserts_untrusted(&self, spec: &TaskSpec) -> bool {
        let is_untrusted = |reference: &Reference| {
            let known = self.state.tasks.get(&reference.task).filter(|_| reference.part != ReferencePart::Status);
            known.and_then(|known| known.conclusion.as_ref()).is_some_and(|conclusion| !conclusion.origins.is_empty())
        };
        references_in(&spec.parameters).iter().any(is_untrusted)
    }

    /// Returns the origins of the prompt for a first plan.
    pub(super) fn origins_of_plans(&self) -> Vec<Origin> {
        let mut origins = Vec::new();
        if let Some(trust) = &self.input.settings.trust {
            Origin::merge(&mut origins, &trust.only_untrusted(&self.input.settings.origins));
            Origin::merge(&mut origins, &trust.only_untrusted(self.memory.origins()));
        }
        origins
    }

    /// Records that a model has made the plan.
    pub(super) fn plan_was_made(&mut self) {
        let mut origins = self.origins_of_plans();
        if self.is_led() {
            Origin::merge(&mut origins, &self.plan_origins);
        }
        self.plan_origins = origins;
    }

    /// Records what the lead has read, because its commands may follow from that.
    pub(super) fn lead_has_read(&mut self, origins: &[Origin]) {
        Origin::merge(&mut self.plan_origins, origins);
    }

    /// Records that a model has changed the plan, after it was shown the state of the run.
    pub(super) fn plan_was_changed(&mut self) {
        if self.input.settings.trust.is_none() {
            return;
        }
        let mut origins = self.origins_of_plans();
        let learnt = self.state.evidence.iter().flat_map(|evidence| &evidence.origins);
        Origin::merge(&mut origins, self.conclusions().flat_map(|conclusion| &conclusion.origins).chain(learnt));
        Origin::merge(&mut self.plan_origins, &origins);
    }

    /// Adds the origins to the conclusion of a tool task. Actors add their own.
    pub(super) fn with_origins(&mut self, task: &TaskId, mut conclusion: Conclusion) -> Conclusion {
        let known = self.state.tasks.get(task).filter(|known| known.spec.kind == TaskKind::Tool);
        if let (Some(trust), Some(known)) = (&self.input.settings.trust, known) {
            let tool_spec = known.spec.tool.as_deref().and_then(|tool| self.tool_spec(tool));
            let read = tool_spec.and_then(|tool| trust.untrusted(tool, &known.spec.parameters));
            let refers = refers(&known.spec);
            Origin::merge(&mut conclusion.origins, self.origins_of_call(refers).iter().chain(&read));
        }
        conclusion
    }

    fn conclusions(&self) -> impl Iterator<Item = &Conclusion> {
        self.state.tasks.values().filter_map(|task| task.conclusion.as_ref())
    }
}

/// Returns whether a task refers to the results of other tasks.
pub(super) fn refers(spec: &TaskSpec) -> bool {
    !references_in(&spec.parameters).is_empty()
}
