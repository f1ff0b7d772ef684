//! Where the texts come from that a task is worked on with: what nobody vouches for goes with everything that was made from it.

use aime_progress::{Conclusion, Origin, TaskId, TaskKind, TaskSpec, references_in};

use super::RunMachine;

impl RunMachine {
    /// Of the prompts of an actor: the names of files and what the project says of itself, what was recalled, the plan, the results of the
    /// tasks before, and how earlier attempts went.
    pub(super) fn origins_of_actor(&mut self, task: &TaskId) -> Vec<Origin> {
        let mut origins = self.origins_of_plans();
        Origin::merge(&mut origins, &self.plan_origins);
        let (frontier, state) = self.frontier();
        for known in frontier.graph().dependencies(task).into_iter().chain([task]).filter_map(|id| state.tasks.get(id)) {
            Origin::merge(&mut origins, known.conclusion.iter().flat_map(|conclusion| &conclusion.origins));
        }
        origins
    }

    /// Of the call of a tool task: the plan, and all results where it refers to any.
    pub(super) fn origins_of_call(&mut self, refers: bool) -> Vec<Origin> {
        let mut origins = self.plan_origins.clone();
        if refers {
            Origin::merge(&mut origins, self.census().origins());
        }
        origins
    }

    /// Of what a model is shown that makes a first plan.
    pub(super) fn origins_of_plans(&self) -> Vec<Origin> {
        let mut origins = Vec::new();
        if let Some(trust) = self.input.settings.trust {
            Origin::merge(&mut origins, &trust.only_untrusted(&self.input.settings.origins));
            Origin::merge(&mut origins, &trust.only_untrusted(&self.known_origins));
        }
        origins
    }

    /// A model has made the plan.
    pub(super) fn plan_was_made(&mut self) {
        self.plan_origins = self.origins_of_plans();
    }

    /// A model has changed the plan, and was shown how the run stands.
    pub(super) fn plan_was_changed(&mut self) {
        if self.input.settings.trust.is_none() {
            return;
        }
        let mut origins = self.origins_of_plans();
        let learnt = self.state.evidence.iter().flat_map(|evidence| &evidence.origins);
        Origin::merge(&mut origins, self.conclusions().flat_map(|conclusion| &conclusion.origins).chain(learnt));
        Origin::merge(&mut self.plan_origins, &origins);
    }

    /// The origins of what a tool task came to. An actor has told its own.
    pub(super) fn with_origins(&mut self, task: &TaskId, mut conclusion: Conclusion) -> Conclusion {
        let known = self.state.tasks.get(task).filter(|known| known.spec.kind == TaskKind::Tool);
        if let (Some(trust), Some(known)) = (self.input.settings.trust, known) {
            let sheet = known.spec.tool.as_deref().and_then(|tool| self.sheet(tool));
            let read = sheet.and_then(|sheet| trust.untrusted(sheet, &known.spec.parameters));
            let refers = refers(&known.spec);
            Origin::merge(&mut conclusion.origins, self.origins_of_call(refers).iter().chain(&read));
        }
        conclusion
    }

    fn conclusions(&self) -> impl Iterator<Item = &Conclusion> {
        self.state.tasks.values().filter_map(|task| task.conclusion.as_ref())
    }
}

/// Whether the call of a tool task is made of what other tasks came to.
pub(super) fn refers(spec: &TaskSpec) -> bool {
    !references_in(&spec.parameters).is_empty()
}
