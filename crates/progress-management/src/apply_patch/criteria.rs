//! Changes of criteria. No patch removes the criteria of a person or of the project, and only a person amends them.

use super::Patching;
use crate::{AmendedCriterion, Criterion, Owner, Problem, TaskId};

impl Patching {
    /// Replaces a wrong criterion by another, on this evidence and in the name of this owner.
    pub(super) fn amend(&mut self, place: &str, task: Option<&TaskId>, number: u32, to: &Criterion, (evidence, by): (&str, Owner)) {
        if evidence.trim().is_empty() {
            self.found.add(format!("{place}.evidence"), Problem::MissingEvidence);
        }
        if let Some(id) = task
            && !self.touchable(&format!("{place}.task"), id)
        {
            return;
        }
        let version = self.state.version;
        let criteria = match task.map(|id| self.state.tasks.get_mut(id)) {
            Some(Some(task)) => &mut task.spec_mut().completion_criteria,
            Some(None) => return,
            None => &mut self.state.strategic.success_criteria,
        };
        let last = criteria.len();
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(criterion) = at.and_then(|at| criteria.get_mut(at)) else {
            return self.found.add(format!("{place}.number"), Problem::UnknownCriterion { number, last });
        };
        if criterion.owner.needs_consent() && by != Owner::Person {
            let problem = Problem::OwnedCriterion { owner: criterion.owner, criterion: criterion.to_string() };
            return self.found.add(format!("{place}.number"), problem);
        }
        let to = Criterion { check: to.check.clone(), owner: criterion.owner };
        let from = std::mem::replace(criterion, to.clone());
        if task.is_none() {
            self.state.unmet_criteria.retain(|unmet| *unmet != from);
        }
        let evidence = evidence.trim().to_owned();
        self.state.amended.push(AmendedCriterion { task: task.cloned(), number, from, to, evidence, version });
        if let Some(id) = task {
            self.start_over(id);
        }
    }

    /// Moves the criteria that a person or the project set for a task to the plan, because the task is taken out.
    pub(super) fn keep_criteria_of(&mut self, id: &TaskId) {
        let Some(task) = self.state.tasks.get(id) else { return };
        let owned = task.spec.completion_criteria.iter().filter(|criterion| criterion.owner.needs_consent());
        let owned: Vec<Criterion> = owned.cloned().collect();
        let criteria = &mut self.state.strategic.success_criteria;
        *criteria = with_kept(std::mem::take(criteria), owned);
    }
}

/// Returns the new criteria, and those of the former ones that no patch may remove: a person's and the project's.
pub(super) fn replace(former: &[Criterion], new: &[Criterion]) -> Vec<Criterion> {
    with_kept(new.to_vec(), former.iter().filter(|criterion| criterion.owner.needs_consent()).cloned())
}

/// Adds criteria that must stay. An existing one keeps its place.
pub(super) fn with_kept(mut criteria: Vec<Criterion>, kept: impl IntoIterator<Item = Criterion>) -> Vec<Criterion> {
    for criterion in kept {
        match criteria.iter_mut().find(|known| known.check == criterion.check) {
            Some(known) if criterion.owner.needs_consent() => known.owner = criterion.owner,
            Some(_) => {}
            None => criteria.push(criterion),
        }
    }
    criteria
}

#[cfg(test)]
mod tests;
