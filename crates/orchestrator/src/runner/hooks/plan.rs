//! Plans and patches, with hooks around them.

use aime_dynamic_planner::{
    CheckedPlan, Fallback, ParsedPatch, PlanChecker, PlanFault, PlanRequest, Planned, Planner, PlannerError, ReplanRequest, ReplanResult,
    direct_plan, patch_from_value,
};
use aime_llm::InvalidAnswer;
use aime_messages::{Message, message};
use aime_progress_management::{LeadCommand, ModelCost, Owner, Plan, PlanMode, PlanPatch};
use serde_json::{Map, Value, to_value};

use super::{HookCaller, HookedEvent};
use crate::{
    HookPoint,
    hooks::HookPayload,
    runner::{Context, RunRunner},
};

impl RunRunner {
    /// Asks the planner for a plan. A plan that a hook refuses counts as a refused answer: the planner is asked again
    /// with the reason, and finally falls back as for other faults. The hooks see the fallback too.
    pub(in crate::runner) async fn plan_with_hooks(
        &self,
        mut planner: Planner,
        request: &PlanRequest,
        context: &Context,
    ) -> Result<Planned, PlannerError> {
        let asking = self.asking(&context.facts, None);
        let mut tries = PlannerUsage::default();
        match asking.begin_planning(plan_payload(request, None)).await {
            Ok(true) => {}
            Ok(false) => return planner.plan(request).await,
            Err(reason) => return Err(tries.refuse(reason).no_plan()),
        }
        for _ in 0..self.parts.planner.max_attempts.max(1) {
            let planned = planner.plan(request).await.map_err(|error| tries.before(error))?;
            tries.add(&planned.model, &planned.refused, &planned.spent);
            match self.judge_plan(&asking, request, planned).await {
                Ok(planned) => return Ok(Planned { refused: tries.refused, spent: tries.spent, ..planned }),
                Err(reason) => planner = self.planner_with_message(&tries.refusal_message(reason, "plan"), context).unwrap_or(planner),
            }
        }
        if self.parts.planner.fallback == Fallback::Fail {
            return Err(tries.no_plan());
        }
        let why = tries.refused.last().map(|last| Message::list("; ", &last.faults).to_string()).unwrap_or_default();
        let plan = Planned {
            plan: direct_plan(&request.goal, request.category_profile.as_deref()),
            repairs: Vec::new(),
            refused: Vec::new(),
            fallback: Some(message!("fallback-category", reason = why)),
            reused: None,
            spent: ModelCost::default(),
            model: tries.model.clone(),
            effort: None,
        };
        match self.judge_plan(&asking, request, plan).await {
            Ok(planned) => Ok(Planned { refused: tries.refused, spent: tries.spent, ..planned }),
            Err(reason) => Err(tries.refuse(reason).no_plan()),
        }
    }

    /// Asks the planner for a patch, like [`plan_with_hooks`](Self::plan_with_hooks). There is no fallback: the plan
    /// stays unchanged.
    pub(in crate::runner) async fn replan_with_hooks(
        &self,
        mut planner: Planner,
        request: &ReplanRequest,
        judge: impl Fn(&PlanPatch) -> Result<Plan, Vec<PlanFault>> + Sync,
        context: &Context,
    ) -> Result<ReplanResult, PlannerError> {
        let asking = self.asking(&context.facts, None);
        let mut tries = PlannerUsage::default();
        match asking.begin_planning(patch_payload(request, None)).await {
            Ok(true) => {}
            Ok(false) => return planner.replan(request, judge).await,
            Err(reason) => return Err(tries.refuse(reason).no_patch()),
        }
        for _ in 0..self.parts.planner.max_attempts.max(1) {
            let replanned = planner.replan(request, &judge).await.map_err(|error| tries.before(error))?;
            tries.add(&replanned.model, &replanned.refused, &replanned.spent);
            match self.judge_patch(&asking, request, replanned, &judge).await {
                Ok(replanned) => return Ok(ReplanResult { refused: tries.refused, spent: tries.spent, ..replanned }),
                Err(reason) => planner = self.planner_with_message(&tries.refusal_message(reason, "patch"), context).unwrap_or(planner),
            }
        }
        Err(tries.no_patch())
    }

    /// Returns a planner whose prompt contains the reason for the last refusal. It does not reuse kept plans.
    fn planner_with_message(&self, message: &str, context: &Context) -> Option<Planner> {
        Some(self.planner_of(self.model("planner", context)?.ending_with(message)))
    }

    /// Returns a plan after the changes of the hooks, validated again in all layers, or the reason for its refusal.
    async fn judge_plan(&self, asking: &HookCaller, request: &PlanRequest, planned: Planned) -> Result<Planned, String> {
        let document = to_value(&planned.plan).map_err(|error| error.to_string())?;
        let HookedEvent { payload, changed_by } = asking.ask(HookPoint::AfterPlan, plan_payload(request, Some(document))).await?;
        let (Some(who), HookPayload::Plan { plan: Some(changed), .. }) = (changed_by, payload) else { return Ok(planned) };
        let mode = if planned.fallback.is_some() { PlanMode::Simple } else { request.mode };
        let checker = PlanChecker { mode: Some(mode), limits: self.parts.planner.limits, ..self.checker(Parts::of_plan(request)) };
        let CheckedPlan { plan, repairs } = checker.check_value(&changed).map_err(|faults| does_not_fit("plan", &who, &faults))?;
        let plan = Plan { goal: request.goal.clone(), ..plan }.revised(&planned.plan, Owner::Lead);
        Ok(Planned { plan, repairs: after_hook(&planned.repairs, &who, repairs), ..planned })
    }

    /// Does the same as [`judge_plan`](Self::judge_plan) for a patch.
    async fn judge_patch(
        &self,
        asking: &HookCaller,
        request: &ReplanRequest,
        replanned: ReplanResult,
        judge: &(impl Fn(&PlanPatch) -> Result<Plan, Vec<PlanFault>> + Sync),
    ) -> Result<ReplanResult, String> {
        let document = to_value(&replanned.patch).map_err(|error| error.to_string())?;
        let HookedEvent { payload, changed_by } = asking.ask(HookPoint::AfterPlan, patch_payload(request, Some(document))).await?;
        let (Some(who), HookPayload::Patch { patch: Some(changed), .. }) = (changed_by, payload) else { return Ok(replanned) };
        let wrong = |faults: Vec<PlanFault>| does_not_fit("patch", &who, &faults);
        let plan = request.state.plan();
        let ParsedPatch { mut patch, mut repairs } = patch_from_value(&changed, &plan).map_err(wrong)?;
        let checker = PlanChecker { mode: Some(PlanMode::Complex), ..self.checker(Parts::of_patch(request)) };
        repairs.extend(checker.check_patch(&mut patch, &plan).map_err(wrong)?);
        if !patch.changes.is_empty() {
            let plan = judge(&patch).map_err(wrong)?;
            let faults: Vec<PlanFault> = self.parts.validators.iter().flat_map(|validator| validator.validate(&plan)).collect();
            if !faults.is_empty() {
                return Err(wrong(faults));
            }
        }
        Ok(ReplanResult { patch, repairs: after_hook(&replanned.repairs, &who, repairs), ..replanned })
    }

    fn checker<'a>(&'a self, of: Parts<'a>) -> PlanChecker<'a> {
        let Parts { tools, actor_tools, profiles, models, bundles } = of;
        PlanChecker { tools, actor_tools, profiles, models, bundles, validators: &self.parts.validators, ..PlanChecker::default() }
    }
}

impl HookCaller {
    /// Calls the hooks before a plan or patch is asked for. Returns true if other hooks look at the answer.
    async fn begin_planning(&self, payload: HookPayload) -> Result<bool, String> {
        if self.at(HookPoint::BeforePlan) {
            self.ask(HookPoint::BeforePlan, payload).await?;
        }
        Ok(self.at(HookPoint::AfterPlan))
    }

    /// Calls the hooks around plans for a command of the lead. Returns the command after their changes, which `parse`
    /// reads and validates again.
    ///
    /// # Errors
    ///
    /// The reason for which a hook refuses the command, or the faults of a change.
    pub(in crate::runner) async fn ask_goal_hooks(
        &self,
        goal: &str,
        mut command: LeadCommand,
        parse: impl Fn(Map<String, Value>) -> Result<LeadCommand, Vec<PlanFault>> + Sync,
    ) -> Result<LeadCommand, String> {
        let goal = goal.to_owned();
        let (before, after) = match &command {
            LeadCommand::SubmitPlan { plan, .. } => {
                let document = to_value(plan).map_err(|error| error.to_string())?;
                (HookPayload::Plan { goal: goal.clone(), plan: None }, HookPayload::Plan { goal, plan: Some(document) })
            }
            LeadCommand::ChangePlan { patch, .. } => {
                let document = to_value(patch).map_err(|error| error.to_string())?;
                let before = HookPayload::Patch { goal: goal.clone(), reasons: Vec::new(), patch: None };
                (before, HookPayload::Patch { goal, reasons: Vec::new(), patch: Some(document) })
            }
            _ => return Ok(command),
        };
        if !self.begin_planning(before).await? {
            return Ok(command);
        }
        let HookedEvent { payload, changed_by } = self.ask(HookPoint::AfterPlan, after).await?;
        let (what, who, changed) = match (payload, changed_by) {
            (HookPayload::Plan { plan: Some(Value::Object(changed)), .. }, Some(who)) => ("plan", who, changed),
            (HookPayload::Patch { patch: Some(Value::Object(changed)), .. }, Some(who)) => ("patch", who, changed),
            _ => return Ok(command),
        };
        let mut changed = parse(changed).map_err(|faults| does_not_fit(what, &who, &faults))?;
        if let (Some(earlier), Some(repairs)) = (repairs_of(&mut command), repairs_of(&mut changed)) {
            *repairs = after_hook(earlier, &who, std::mem::take(repairs));
        }
        Ok(changed)
    }
}

/// Returns the repairs of a plan or patch.
const fn repairs_of(command: &mut LeadCommand) -> Option<&mut Vec<Message>> {
    match command {
        LeadCommand::SubmitPlan { repairs, .. } | LeadCommand::ChangePlan { repairs, .. } => Some(repairs),
        _ => None,
    }
}

/// Returns the repairs of an answer that a hook has changed: the earlier ones, the change, and those of the changed answer.
fn after_hook(before: &[Message], who: &str, more: Vec<Message>) -> Vec<Message> {
    before.iter().cloned().chain([message!("repair-hook", hook = who)]).chain(more).collect()
}

fn does_not_fit(what: &str, who: &str, faults: &[PlanFault]) -> String {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    format!("the hook {who} changed the {what} so that it does not fit: {}", faults.join("; "))
}

/// The inputs of the validation of a plan or patch.
struct Parts<'a> {
    tools: &'a [aime_llm::ToolDefinition],
    actor_tools: &'a [String],
    profiles: &'a [aime_dynamic_planner::ProfileBrief],
    models: &'a [String],
    bundles: &'a [String],
}

impl<'a> Parts<'a> {
    fn of_plan(request: &'a PlanRequest) -> Self {
        let PlanRequest { tools, actor_tools, profiles, models, bundles, .. } = request;
        Self { tools, actor_tools, profiles, models, bundles }
    }

    fn of_patch(request: &'a ReplanRequest) -> Self {
        let ReplanRequest { tools, actor_tools, profiles, models, bundles, .. } = request;
        Self { tools, actor_tools, profiles, models, bundles }
    }
}

fn plan_payload(request: &PlanRequest, plan: Option<Value>) -> HookPayload {
    HookPayload::Plan { goal: request.goal.clone(), plan }
}

fn patch_payload(request: &ReplanRequest, patch: Option<Value>) -> HookPayload {
    let reasons = request.wake.reasons.iter().map(|reason| reason.detail.to_string()).collect();
    HookPayload::Patch { goal: request.state.goal.clone(), reasons, patch }
}

/// Usage of all requests to the planner.
#[derive(Default)]
struct PlannerUsage {
    refused: Vec<InvalidAnswer>,
    spent: ModelCost,
    model: String,
}

impl PlannerUsage {
    fn add(&mut self, model: &str, refused: &[InvalidAnswer], spent: &ModelCost) {
        model.clone_into(&mut self.model);
        refused.iter().for_each(|refused| self.push(refused.faults.clone(), refused.answer.clone()));
        self.spent.add(spent);
    }

    fn push(&mut self, faults: Vec<Message>, answer: String) {
        let attempt = u32::try_from(self.refused.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.refused.push(InvalidAnswer { attempt, faults, answer });
    }

    fn refuse(&mut self, reason: String) -> &Self {
        self.push(vec![reason.into()], String::new());
        self
    }

    /// Records a refusal and returns the message to the planner's model.
    fn refusal_message(&mut self, reason: String, what: &str) -> String {
        let message = format!("An earlier {what} was refused: {reason}. Give another one that minds this.");
        self.push(vec![reason.into()], String::new());
        message
    }

    fn no_plan(&self) -> PlannerError {
        PlannerError::NoPlan { model: self.name(), refused: self.refused.clone(), spent: self.spent }
    }

    fn no_patch(&self) -> PlannerError {
        PlannerError::NoPatch { model: self.name(), refused: self.refused.clone(), spent: self.spent }
    }

    fn name(&self) -> String {
        if self.model.is_empty() { "the planner".to_owned() } else { self.model.clone() }
    }

    /// Adds the usage of the earlier requests to an error of the planner.
    fn before(&mut self, mut error: PlannerError) -> PlannerError {
        if let PlannerError::Model { refused, spent, .. }
        | PlannerError::NoPlan { refused, spent, .. }
        | PlannerError::NoPatch { refused, spent, .. } = &mut error
        {
            let model = self.model.clone();
            self.add(&model, refused, spent);
            refused.clone_from(&self.refused);
            *spent = self.spent;
        }
        error
    }
}
