//! Tasks that are begun while their plan is still being written.
//!
//! What has arrived of a plan is a proposal: it stands in no state. A task of it is a single call of a tool, so that nobody has to know the rest of
//! the plan for it, and one that may be thrown away. The plan that stands at last takes over what was begun for it and is as it was then; all
//! else is given up, and its call is told of as any other.

use std::sync::Arc;

use aime_durable::{EffectId, Reason};
use aime_progress::{
    CallOutcome, Conclusion, Origin, Plan, ProgressEvent, ProgressState, Task, TaskId, TaskKind, TaskSpec, TaskStatus, expand,
};
use aime_tools::{Permissions, ToolSheet, Touches, ValidatedCall, origin_of};
use serde::{Deserialize, Serialize};

use super::{
    Out, Phase, RunMachine, Work,
    origins::refers,
    tasks::{PREVIEW_CHARS, attempt_name, end_of_call},
};
use crate::{EagerStart, RunEffect, fact::CriterionResult, settings::in_force};

/// The most tasks that are kept in mind before the plan stands.
const MOST: usize = 64;

/// A task that has arrived before the rest of its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Early {
    spec: TaskSpec,
    stands: Stands,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stands {
    Waits,
    Runs(EffectId),
    Done(Box<Done>),
}

/// A call that went well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Done {
    conclusion: Conclusion,
    checks: Vec<CriterionResult>,
}

impl Early {
    const fn has_begun(&self) -> bool {
        !matches!(self.stands, Stands::Waits)
    }

    fn conclusion(&self) -> Option<&Conclusion> {
        if let Stands::Done(done) = &self.stands { Some(&done.conclusion) } else { None }
    }
}

/// Whether a call changes nothing and asks nothing of anybody outside: it may be made, and made again, unnoticed.
pub(super) const fn goes_unnoticed(sheet: &ToolSheet) -> bool {
    sheet.read_only && matches!(sheet.touches, Touches::Nothing | Touches::Files)
}

/// Whether a call of this tool may be made for a plan that does not stand yet.
pub(crate) const fn may_begin_early(sheet: &ToolSheet, eager: EagerStart) -> bool {
    match eager {
        EagerStart::Never => false,
        EagerStart::ReadOnly => goes_unnoticed(sheet),
        EagerStart::Repeatable => sheet.repeatable(),
    }
}

/// Whether two forms of a task ask for the same.
fn is_same_call(one: &TaskSpec, other: &TaskSpec) -> bool {
    let waits_for_same = one.dependencies.iter().all(|id| other.dependencies.contains(id))
        && other.dependencies.iter().all(|id| one.dependencies.contains(id));
    (one.kind, &one.tool, &one.parameters, &one.completion_criteria)
        == (other.kind, &other.tool, &other.parameters, &other.completion_criteria)
        && waits_for_same
}

/// Whether a task of a plan waits for nothing that it does not name itself: neither by an edge, nor by a group around it.
fn waits_for_its_own_alone(plan: &Plan, spec: &TaskSpec) -> bool {
    let find = |id: &TaskId| plan.tasks.iter().find(|task| task.id == *id);
    let around = std::iter::successors(spec.parent.as_ref().and_then(find), |group| group.parent.as_ref().and_then(find));
    std::iter::once(spec)
        .chain(around)
        .take(plan.tasks.len())
        .all(|task| task.dependencies.iter().all(|id| spec.dependencies.contains(id)) && !plan.edges.iter().any(|edge| edge.to == task.id))
}

impl RunMachine {
    /// Tasks have arrived of the plan that is being written.
    pub(super) fn plan_part(&mut self, of: &EffectId, tasks: &[TaskSpec], out: &mut Out) {
        let asked = self.phase == Phase::Planning && self.open.get(of) == Some(&Work::Plan);
        if !asked || self.leaving.is_some() || self.input.settings.eager_start == EagerStart::Never {
            return;
        }
        for spec in tasks.iter().filter(|spec| spec.kind == TaskKind::Tool) {
            match self.early.iter().find(|early| early.spec.id == spec.id) {
                Some(early) if is_same_call(&early.spec, spec) => continue,
                // An answer that came in the place of a refused one has it otherwise.
                Some(_) => self.forget_early(&spec.id, out),
                None => {}
            }
            if self.early.len() < MOST {
                self.early.push(Early { spec: spec.clone(), stands: Stands::Waits });
            }
        }
        self.begin_early(out);
    }

    /// Begins what can be begun, in the order of arrival. Nobody is asked for consent: what needs it waits for the plan.
    fn begin_early(&mut self, out: &mut Out) {
        let slots = usize::try_from(self.input.settings.max_parallel.max(1)).unwrap_or(1);
        for at in 0..self.early.len() {
            if self.open.tasks() >= slots || self.state.tool_calls >= self.bounds.max_tool_calls || self.fault.is_some() {
                return;
            }
            let Some((sheet, validated)) = self.early_call(at) else { continue };
            let Some(early) = self.early.get_mut(at) else { return };
            let spec = early.spec.clone();
            let execution = *self.executions.entry(spec.id.clone()).or_insert(1);
            let call = attempt_name(&spec.id, execution, 1);
            early.stands = Stands::Runs(EffectId::new(call.clone()));
            let started = ProgressEvent::ToolCallStarted {
                task: spec.id.clone(),
                call: call.clone(),
                tool: sheet.name().to_owned(),
                parameters: validated.parameters().clone(),
            };
            self.emit(started, out);
            let (task, read_only) = (spec.id.clone(), goes_unnoticed(&sheet));
            self.issue(call, RunEffect::CallTool { spec: Box::new(spec), call: validated, read_only, early: true }, Work::Early(task), out);
        }
    }

    /// The call of a task that waits and could be begun now.
    fn early_call(&self, at: usize) -> Option<(Arc<ToolSheet>, ValidatedCall)> {
        let Early { spec, stands: Stands::Waits } = self.early.get(at)? else { return None };
        let sheet = self.early_sheet(spec)?;
        if !may_begin_early(sheet, self.input.settings.eager_start) {
            return None;
        }
        // Its own results alone: nothing else of the plan is there.
        let mut state = ProgressState::new(self.input.plan_id.clone(), "", self.now);
        for id in &spec.dependencies {
            let before = self.early.iter().find(|early| early.spec.id == *id)?;
            let conclusion = Some(before.conclusion()?.clone());
            let task = Task { status: TaskStatus::Completed, conclusion, ..Task::new(before.spec.clone(), 1) };
            state.tasks.insert(id.clone(), task);
        }
        let parameters = expand(&spec.parameters, Some(&sheet.definition.parameters), &state).ok()?;
        let rules = in_force(&self.input.rules, &self.state.consents);
        let origins = self.early_origins(spec);
        let permissions =
            Permissions { trust: self.input.settings.trust, origins: &origins, ..Permissions::new(self.input.settings.approval, &rules) };
        let call = permissions.decide(sheet, sheet.check_read(parameters).ok()?).unasked().ok()?;
        Some((Arc::clone(sheet), call))
    }

    fn early_sheet(&self, spec: &TaskSpec) -> Option<&Arc<ToolSheet>> {
        self.sheet(spec.tool.as_deref()?)
    }

    /// Where the texts come from that its call is made of.
    fn early_origins(&self, spec: &TaskSpec) -> Vec<Origin> {
        let mut origins = self.origins_of_plans();
        if refers(spec) {
            let before = self.early.iter().filter(|early| spec.dependencies.contains(&early.spec.id));
            Origin::merge(&mut origins, before.filter_map(Early::conclusion).flat_map(|conclusion| &conclusion.origins));
        }
        origins
    }

    /// A call has come to its end before the plan. What went well is kept for the plan; what did not is begun anew by it.
    pub(super) fn early_ended(
        &mut self,
        id: &EffectId,
        (conclusion, checks): (&Conclusion, &[CriterionResult]),
        duration_ms: u64,
        out: &mut Out,
    ) {
        let Some(at) = self.early_place(id) else { return };
        let (outcome, text) = end_of_call(conclusion);
        self.tell_early_end(at, outcome, text, duration_ms, out);
        if outcome != CallOutcome::Ok || checks.iter().any(|check| check.passed == Some(false)) {
            self.take_early(at);
        } else if let Some(Early { spec, .. }) = self.early.get(at) {
            let mut conclusion = conclusion.clone();
            if let Some(trust) = &self.input.settings.trust {
                let read = self.early_sheet(spec).and_then(|sheet| trust.untrusted(sheet, &spec.parameters));
                Origin::merge(&mut conclusion.origins, self.early_origins(spec).iter().chain(&read));
            }
            let done = Stands::Done(Box::new(Done { conclusion, checks: checks.to_vec() }));
            if let Some(early) = self.early.get_mut(at) {
                early.stands = done;
            }
        }
        if self.leaving.is_none() && self.phase == Phase::Planning {
            self.begin_early(out);
        }
    }

    /// A call was stopped, or could not be carried out at all.
    pub(super) fn early_stopped(&mut self, id: &EffectId, outcome: CallOutcome, text: &str, out: &mut Out) {
        if let Some(at) = self.early_place(id) {
            self.tell_early_end(at, outcome, text, 0, out);
            self.take_early(at);
        }
    }

    fn early_place(&self, id: &EffectId) -> Option<usize> {
        self.early.iter().position(|early| matches!(&early.stands, Stands::Runs(call) if call == id))
    }

    /// Takes one out. If its plan comes to have it, that is another execution.
    fn take_early(&mut self, at: usize) -> Option<Early> {
        if at >= self.early.len() {
            return None;
        }
        let early = self.early.remove(at);
        if early.has_begun() {
            *self.executions.entry(early.spec.id.clone()).or_insert(1) += 1;
        }
        Some(early)
    }

    fn tell_early_end(&mut self, at: usize, outcome: CallOutcome, text: &str, duration_ms: u64, out: &mut Out) {
        let Some(Early { spec, stands: Stands::Runs(call) }) = self.early.get(at) else { return };
        let output = text.chars().take(PREVIEW_CHARS).collect();
        let origin = self.early_sheet(spec).and_then(|sheet| origin_of(sheet, &spec.parameters));
        let (task, call, tool) = (spec.id.clone(), call.to_string(), spec.tool.clone().unwrap_or_default());
        self.emit(ProgressEvent::ToolCallFinished { task, call, tool, outcome, output, origin, duration_ms }, out);
    }

    /// Gives up a task, and whatever was begun with what it had come to.
    fn forget_early(&mut self, task: &TaskId, out: &mut Out) {
        let mut gone = vec![task.clone()];
        while let Some(task) = gone.pop() {
            if let Some(at) = self.early.iter().position(|early| early.spec.id == task) {
                let after = self.early.iter().filter(|early| early.has_begun() && early.spec.dependencies.contains(&task));
                gone.extend(after.map(|early| early.spec.id.clone()));
                self.give_up_early(at, out);
            }
        }
    }

    fn give_up_early(&mut self, at: usize, out: &mut Out) {
        self.tell_early_end(at, CallOutcome::Cancelled, "given up: the plan does not have it so", 0, out);
        if let Some(Early { stands: Stands::Runs(id), .. }) = self.take_early(at) {
            out.revoke(id, Reason::Cancelled);
        }
    }

    /// Nothing that was begun for a plan is left: the run was cut off before the plan stood.
    pub(super) fn lose_early(&mut self, outcome: CallOutcome, text: &str, out: &mut Out) {
        while !self.early.is_empty() {
            self.tell_early_end(0, outcome, text, 0, out);
            self.take_early(0);
        }
    }

    /// A plan is about to stand: keeps what was begun for it and could have been begun as it has it, and gives up the rest.
    pub(super) fn keep_early(&mut self, plan: &Plan, out: &mut Out) {
        let as_planned = |early: &Early| {
            plan.tasks.iter().any(|spec| spec.id == early.spec.id && is_same_call(spec, &early.spec) && waits_for_its_own_alone(plan, spec))
        };
        let fits = self.early.iter().filter(|early| early.has_begun() && as_planned(early));
        let mut kept: Vec<TaskId> = fits.map(|early| early.spec.id.clone()).collect();
        loop {
            let whole: Vec<TaskId> = self
                .early
                .iter()
                .filter(|early| kept.contains(&early.spec.id) && early.spec.dependencies.iter().all(|id| kept.contains(id)))
                .map(|early| early.spec.id.clone())
                .collect();
            if whole.len() == kept.len() {
                break;
            }
            kept = whole;
        }
        while let Some(at) = self.early.iter().position(|early| !kept.contains(&early.spec.id)) {
            self.give_up_early(at, out);
        }
    }

    /// The plan stands: what was begun for it is its own from now on.
    pub(super) fn take_over_early(&mut self, out: &mut Out) {
        while !self.early.is_empty() && self.fault.is_none() {
            self.settle(out);
            let is_ready = |early: &Early| self.state.tasks.get(&early.spec.id).is_some_and(|task| task.status == TaskStatus::Ready);
            let Some(at) = self.early.iter().position(is_ready) else {
                // None is left as a rule; whatever holds one back, the plan begins it anew.
                self.give_up_early(0, out);
                continue;
            };
            let Early { spec, stands } = self.early.remove(at);
            let task = spec.id;
            match stands {
                Stands::Runs(id) => {
                    self.set_task(&task, TaskStatus::Running, None, out);
                    self.open.insert(id, Work::Task(task));
                }
                Stands::Done(done) => {
                    self.set_task(&task, TaskStatus::Running, None, out);
                    let conclusion = self.with_origins(&task, done.conclusion);
                    self.tell_checks(Some(&task), &done.checks, out);
                    self.conclude(&task, &conclusion, out);
                }
                // It is the plan's to begin, as any other that is ready.
                Stands::Waits => {}
            }
        }
    }
}
