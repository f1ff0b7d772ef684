//! Parses the calls of plan tools.

use aime_messages::Message;
use aime_progress_management::{
    EvidenceId, LeadCommand, Owner, PlanChange, PlanMode, PlanPatch, ProgressState, Task, TaskId, TaskKind, TaskStatus, handled_failures,
};
use serde_json::{Map, Value};

use super::{PlanTool, call::Call};
use crate::{CheckedPlan, GrowthSettings, ParsedPatch, PlanChecker, PlanFault, check_update, patch_from_value};

/// Rules that the lead's calls are checked against.
#[derive(Debug, Clone)]
pub struct PlanRules<'a> {
    /// The rules for plans and patches. Without a mode the lead chooses one.
    pub checker: PlanChecker<'a>,
    /// Rules of growth of an emergent plan.
    pub growth: &'a GrowthSettings,
}

/// Parses a call of a plan tool and checks it against the state of the run.
///
/// A change is accepted if a part of it fits after a rebase. The run's next message to the lead names the part that did
/// not fit.
///
/// # Errors
///
/// Every fault of the call at once.
pub fn parse_command(
    tool: PlanTool,
    parameters: &Map<String, Value>,
    state: &ProgressState,
    rules: &PlanRules<'_>,
) -> Result<LeadCommand, Vec<PlanFault>> {
    let mut call = Call::of(parameters);
    match tool {
        PlanTool::SubmitPlan => submit(parameters, state, rules),
        PlanTool::ChangePlan => change(parameters, state, rules),
        PlanTool::TellTask => {
            let (task, text) = (call.task(state), call.text("text"));
            call.check(task, is_worked_on, "only the worker of a running task can be told something");
            call.close(task.zip(text)).map(|(task, text)| LeadCommand::TellTask { task: task.spec.id.clone(), text })
        }
        PlanTool::HoldTask => {
            let task = call.task(state);
            call.check(task, is_worked_on, "only a running task can be held; `change_plan` with `block_task` holds back one that waits");
            call.close(task).map(|task| LeadCommand::HoldTask { task: task.spec.id.clone() })
        }
        PlanTool::ReleaseTask => {
            let task = call.task(state);
            call.check(task, |task| task.held, "only a task that is held back can be released");
            call.close(task).map(|task| LeadCommand::ReleaseTask { task: task.spec.id.clone() })
        }
        PlanTool::CancelTask => {
            let (task, reason) = (call.task(state), call.text("reason"));
            if let Some(task) = task
                && let Err(found) = state.check_patch(&PlanPatch::cancelling(&task.spec.id, "", Owner::Lead))
            {
                call.refuse(found.faults.into_iter().map(|fault| PlanFault::new("task", fault.problem)));
            }
            call.close(task.zip(reason)).map(|(task, reason)| LeadCommand::CancelTask { task: task.spec.id.clone(), reason })
        }
        PlanTool::AmendCriterion => {
            let (number, criterion, evidence) = (call.number("number"), call.criterion("text"), call.text("evidence"));
            let number = number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
            if let Some(number) = number {
                // Other missing members have faults of their own, and the run asks a person about a criterion that needs consent.
                let (criterion, evidence, by) = (criterion.clone().unwrap_or("".into()), "some".to_owned(), Owner::Person);
                let amended = PlanPatch::new("", vec![PlanChange::AmendCriterion { task: None, number, criterion, evidence, by }]);
                if let Err(found) = state.check_patch(&amended) {
                    call.refuse(found.faults.into_iter().map(|fault| PlanFault::new("number", fault.problem)));
                }
            }
            let read = number.zip(criterion).zip(evidence);
            call.close(read).map(|((number, criterion), evidence)| LeadCommand::AmendCriterion { number, criterion, evidence })
        }
        PlanTool::ReadResult => Err(vec![PlanFault::new("tool", format!("`{tool}` reads, and changes nothing of the plan"))]),
    }
}

/// Returns true if an actor works on the task now.
fn is_worked_on(task: &Task) -> bool {
    task.status == TaskStatus::Running && task.spec.kind == TaskKind::Actor
}

fn submit(parameters: &Map<String, Value>, state: &ProgressState, rules: &PlanRules<'_>) -> Result<LeadCommand, Vec<PlanFault>> {
    let mut faults = Vec::new();
    // The lead's own work is one task, which a plan replaces.
    let is_alone = state.mode == Some(PlanMode::Direct);
    let is_own = |task: &Task| is_alone && task.spec.id.as_str() == aime_progress_management::Plan::DIRECT_TASK;
    let is_planned = |task: &&Task| task.spec.kind != TaskKind::Group && !is_own(task) && task.status.is_open();
    let planned: Vec<&str> = state.tasks.values().filter(is_planned).map(|task| task.spec.id.as_str()).collect();
    if !planned.is_empty() {
        let fault = PlanFault::new("plan", format!("the run has a plan, in which {} are open", planned.join(", ")));
        faults.push(fault.hint("change it with `change_plan`"));
    }
    let asked = match parameters.get("mode").filter(|mode| !mode.is_null()) {
        None => None,
        Some(mode) => match serde_json::from_value(mode.clone()) {
            Ok(mode @ (PlanMode::Simple | PlanMode::Complex | PlanMode::Emergent)) => Some(mode),
            Ok(PlanMode::Direct) | Err(_) => {
                faults.push(PlanFault::new("mode", format!("there is no mode {mode}")).hint("there are: simple, complex, emergent"));
                None
            }
        },
    };
    let mode = rules.checker.mode.or(asked).unwrap_or(PlanMode::Complex);
    let checker = PlanChecker { mode: Some(mode), ..rules.checker.clone() };
    match checker.check_value(&Value::Object(parameters.clone())) {
        Ok(CheckedPlan { mut plan, repairs }) if faults.is_empty() => {
            plan.goal.clone_from(&state.goal);
            Ok(LeadCommand::SubmitPlan { plan: Box::new(plan), mode, repairs })
        }
        Ok(_) => Err(faults),
        Err(found) => {
            faults.extend(found);
            Err(faults)
        }
    }
}

fn change(parameters: &Map<String, Value>, state: &ProgressState, rules: &PlanRules<'_>) -> Result<LeadCommand, Vec<PlanFault>> {
    let mut call = Call::of(parameters);
    let handled = handled(&mut call, state);
    let plan = state.plan();
    let read = patch_from_value(&Value::Object(parameters.clone()), &plan).map_err(|found| call.refuse(found));
    let Ok(ParsedPatch { mut patch, mut repairs }) = read else { return call.close(None) };
    if !patch.changes.is_empty() {
        let checker = PlanChecker { mode: Some(PlanMode::Complex), ..rules.checker.clone() };
        match checker.check_patch(&mut patch, &plan) {
            Ok(more) => repairs.extend(more),
            Err(found) => call.refuse(found),
        }
        match state.rebase(&patch) {
            Ok(rebased) => call.refuse(faults_of(&rebased.patch, state, rules)),
            Err(found) => call.refuse(found.faults.into_iter().map(PlanFault::from)),
        }
    }
    call.close(Some(LeadCommand::ChangePlan { patch, handled, repairs }))
}

/// Returns the faults of a patch that fits the plan: repeated failures, violations of growth rules, and custom rules.
fn faults_of(patch: &PlanPatch, state: &ProgressState, rules: &PlanRules<'_>) -> Vec<PlanFault> {
    let after = match state.patched(patch, state.last_progress_at) {
        Ok(after) => after,
        Err(found) => return found.faults.into_iter().map(PlanFault::from).collect(),
    };
    let mut lines = handled_failures(state, patch).err().unwrap_or_default();
    if state.mode == Some(PlanMode::Emergent) {
        lines.extend(check_update(state, &after, patch, rules.growth).into_iter().map(Message::text));
    }
    let mut faults: Vec<PlanFault> = lines.into_iter().map(|line| PlanFault::new("changes", line)).collect();
    if faults.is_empty() {
        let plan = after.plan();
        faults.extend(rules.checker.validators.iter().flat_map(|validator| validator.validate(&plan)));
    }
    faults
}

/// Returns the evidence that a change handles. An unknown id is a fault, because the evidence that the model meant
/// would stay unhandled.
fn handled(call: &mut Call<'_>, state: &ProgressState) -> Vec<EvidenceId> {
    let mut handled: Vec<EvidenceId> = Vec::new();
    for (at, written) in call.texts("handled").into_iter().enumerate() {
        match state.evidence.iter().find(|evidence| evidence.id.as_str() == written) {
            Some(evidence) if handled.contains(&evidence.id) => {}
            Some(evidence) => handled.push(evidence.id.clone()),
            None => {
                let open = state.evidence.iter().filter(|evidence| !evidence.processed).map(|evidence| evidence.id.as_str());
                let hint = crate::fault::suggestion(&written, open.collect::<Vec<_>>().iter().copied());
                call.refuse([PlanFault::new(format!("handled[{at}]"), format!("there is no evidence {written:?}")).hint(hint)]);
            }
        }
    }
    handled
}

impl<'s> Call<'_> {
    /// Returns the task that the call names. An unknown one is a fault.
    pub(super) fn task(&mut self, state: &'s ProgressState) -> Option<&'s Task> {
        let written = self.text("task")?;
        let found = TaskId::new(written.as_str()).ok().and_then(|id| state.tasks.get(&id));
        if found.is_none() {
            let known: Vec<&str> = state.tasks.keys().map(TaskId::as_str).collect();
            let hint = crate::fault::suggestion(&written, known.iter().copied());
            self.refuse([PlanFault::new("task", format!("there is no task {written:?}")).hint(hint)]);
        }
        found
    }

    /// Adds a fault if the task does not allow the call.
    fn check(&mut self, task: Option<&Task>, allows: impl Fn(&Task) -> bool, hint: &str) {
        if let Some(task) = task.filter(|task| !allows(task)) {
            let kind = if task.spec.kind == TaskKind::Group { "a group and " } else { "" };
            let fault = PlanFault::new("task", format!("the task `{}` is {kind}{}", task.spec.id, task.status.word().replace('_', " ")));
            self.refuse([fault.hint(hint)]);
        }
    }
}
