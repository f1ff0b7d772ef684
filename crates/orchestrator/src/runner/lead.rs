//! The lead: one conversation, driven by the machine of all actors, which a wake starts or continues.

use std::sync::{Arc, OnceLock};

use aime_actor_factory::{ASK_HUMAN, ActorFact, ActorOutput, ActorTools, LeadRest, LeadSettings, LeadWake};
use aime_durable::{EffectId, FactSender};
use aime_dynamic_planner::{
    BundleBrief, LeadBrief, LeadPrompt, PlanChecker, PlanFault, PlanRules, PlanTool, Route, RouteSettings, ToolLine, WakeKind, lead_tools,
    parse_command, read_result, route, wake_message,
};
use aime_llm::ModelLimits;
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{Conclusion, LeadCommand, Origin, Outcome, PlanMode, ProgressState, TaskSpec, TaskStatus};
use aime_tools::{BUNDLES, DELEGATE_TASK, Executor, ToolSpec, ValidatedCall, terminate_of_lead};
use serde_json::{Map, Value};

use super::{
    Context, RunRunner,
    actor::{Attempt, NewActor},
    on_bound,
};
use crate::{
    ActorBrief, CriterionResult, LeadPolicy, LeadWakeOrder, ModelUse, RunFact, RunMachine,
    machine::lead::{MAIN, MAIN_EXECUTION, main_id, may_end_after},
    models::OnBound,
};

/// Profile whose tools the lead works with.
const PROFILE: &str = "sisyphus";
/// Maximum share of the lead's context window for one message or result of the run, in percent.
const SHARE: u64 = 20;

const TERMINATE: &str = "terminate";
/// Tools of actors that the lead does not get: it delegates work with a plan, and it needs to report to nobody.
const OF_ACTORS: [&str; 3] = [DELEGATE_TASK, "report_evidence", "update_progress"];

/// Names that plans are validated against.
pub(crate) struct PlanNames {
    profiles: Vec<aime_dynamic_planner::ProfileBrief>,
    models: Vec<String>,
    bundles: Vec<String>,
}

impl RunRunner {
    /// Wakes the lead and waits until its conversation pauses.
    pub(super) async fn wake_lead(self: &Arc<Self>, id: EffectId, order: LeadWakeOrder, context: &Context) -> RunFact {
        let (woken, first) = self.lead_wake(&order).await;
        let attempt = Arc::new(self.lead_attempt(&order, context.facts.clone(), on_bound(context)));
        let refused = OnceLock::new();
        let make = Box::pin(async {
            let made = attempt.compose_lead(&first).await?;
            self.budget.count_actor().map_err(|error| refused.get_or_init(|| error).describe())?;
            Ok(made)
        });
        match Box::pin(attempt.act(None, Some(woken), &context.cancel, make)).await {
            Ok(ActorOutput::Rested(rest)) => self.lead_rested(id, rest, &order.state, context).await,
            // The run has stopped the lead and ignores this fact.
            Ok(ActorOutput::Ended(conclusion)) => RunFact::EffectFailed { id, message: conclusion.explanation() },
            Err(message) => {
                if let Some(error) = refused.get() {
                    (attempt.on_bound)(&error.into());
                    context.cancel.cancelled().await;
                }
                RunFact::EffectFailed { id, message }
            }
        }
    }

    /// Returns a wake for the lead, and the text about the run with which a new conversation begins.
    pub(super) async fn lead_wake(&self, order: &LeadWakeOrder) -> (LeadWake, String) {
        let LeadWakeOrder { wake, state, works, kept, .. } = order;
        let changes = self.changes_by_task(state, &wake.settled).await;
        let text = wake_message(wake, state, &changes, share(self.limits_of(self.lead_role())));
        // At the start of a run there is nothing to report except the goal.
        let begins = wake.kind == WakeKind::Begin && state.version == 0 && wake.words.is_empty();
        let first = if begins { String::new() } else { text.clone() };
        let origins = self.untrusted(&wake.origins(state));
        (LeadWake { number: wake.number, text, may_write: wake.may_write, works: *works, kept: kept.clone(), origins }, first)
    }

    /// Returns the work of the lead in one wake.
    pub(super) fn lead_attempt(self: &Arc<Self>, order: &LeadWakeOrder, facts: FactSender<RunMachine>, on_bound: OnBound) -> Attempt {
        let mut spec = TaskSpec::actor(main_id(), self.input.goal.clone());
        spec.model = Some(self.lead_role().to_owned());
        spec.profile = self.parts.actors.profiles().get(PROFILE).map(|profile| profile.name.clone());
        Attempt {
            runner: Arc::clone(self),
            facts,
            on_bound,
            brief: Box::new(ActorBrief::of_lead(&order.state, spec)),
            task: main_id(),
            execution: MAIN_EXECUTION,
            origins: order.origins.clone(),
            recalled: order.known.clone(),
            leads: true,
            told: order.wake.words.iter().map(|words| words.id.clone()).collect(),
            private: None,
            turn: None,
            audit: None,
        }
    }

    /// Returns the end of a wake. `begun` is the state of the run at its beginning.
    pub(super) async fn lead_rested(self: &Arc<Self>, id: EffectId, rest: LeadRest, begun: &ProgressState, context: &Context) -> RunFact {
        let (checks, calls) = self.verify_lead(&rest, begun, context).await;
        RunFact::LeadRested { id, rest: Box::new(rest), category: self.category_of_goal(), checks, calls }
    }

    /// Checks the lead's own work, if the lead says that this work is done, and the checks with which it ends a plan.
    async fn verify_lead(
        self: &Arc<Self>,
        rest: &LeadRest,
        begun: &ProgressState,
        context: &Context,
    ) -> (Vec<CriterionResult>, Vec<ModelUse>) {
        let live = self.live.get(&self.run);
        let state = live.as_deref().unwrap_or(begun);
        // A plan may have a task of this name, too.
        let is_alone = state.mode == Some(PlanMode::Direct);
        let works = is_alone && state.tasks.get(MAIN).is_some_and(|task| task.status == TaskStatus::Running);
        let ends_plan = rest.conclusion.as_ref().is_some_and(|conclusion| !conclusion.checks.is_empty());
        let may_end = match &rest.conclusion {
            Some(conclusion) => may_end_after(&rest.commands, conclusion, state),
            None => rest.commands.is_empty(),
        };
        if self.input.plan_only || rest.gave_up || !may_end || !(works || state.version == 0 || ends_plan) {
            return (Vec::new(), Vec::new());
        }
        let work = works.then(|| Conclusion::new(Outcome::Success, rest.answer.clone()));
        let Some(conclusion) = rest.conclusion.clone().or(work) else { return (Vec::new(), Vec::new()) };
        let spec = TaskSpec::actor(main_id(), self.input.goal.clone());
        self.verify_task(super::verify::CheckedWork::new(format!("lead-{}", rest.wake), &spec), &conclusion, || Ok(String::new()), context)
            .await
    }

    fn lead_role(&self) -> &'static str {
        self.parts.models.as_ref().map_or("default", |models| models.lead_role())
    }

    /// Returns the untrusted origins among these.
    pub(super) fn untrusted(&self, origins: &[Origin]) -> Vec<Origin> {
        self.input.settings.trust.as_ref().map(|trust| trust.only_untrusted(origins)).unwrap_or_default()
    }

    pub(super) fn limits_of(&self, role: &str) -> ModelLimits {
        self.parts.models.as_ref().map(|models| models.role(role).limits()).unwrap_or_default()
    }

    /// Returns the category of the goal according to the rules, which selects models and profiles for tasks.
    fn category_of_goal(&self) -> String {
        let settings = RouteSettings { mode: None, ..self.parts.route.clone() };
        match route(&self.input.goal, &settings, &self.parts.categories) {
            Route::Decided(routed) => routed.category,
            Route::AskModel(undecided) => undecided.category,
        }
    }

    fn plan_names(&self) -> PlanNames {
        PlanNames { profiles: self.profiles(), models: self.model_names(), bundles: super::plan::bundles() }
    }

    /// Returns the facts about the run that the lead's prompt and the guide for plans need; `own` are the lead's tools.
    fn lead_brief(&self, policy: LeadPolicy, names: &PlanNames, own: &ActorTools) -> LeadBrief {
        let has = |name: &str| own.iter().any(|tool| tool.name() == name);
        LeadBrief {
            must_plan: policy.must_plan,
            mode: policy.mode,
            attended: !self.input.settings.unattended,
            instructions: self.parts.project.trim().to_owned(),
            profiles: names.profiles.clone(),
            models: if names.models.len() > 1 { names.models.clone() } else { Vec::new() },
            bundles: BUNDLES.iter().map(BundleBrief::from).collect(),
            tools: self.plan_tools.of_runtime().iter().filter(|tool| !has(&tool.name)).map(ToolLine::of).collect(),
            ..LeadBrief::new(self.input.goal.clone(), self.parts.planner.limits)
        }
    }

    fn lead_checker<'a>(&'a self, names: &'a PlanNames) -> PlanChecker<'a> {
        PlanChecker {
            tools: self.plan_tools.of_runtime(),
            actor_tools: self.plan_tools.of_actors(),
            profiles: &names.profiles,
            models: &names.models,
            bundles: &names.bundles,
            validators: &self.parts.validators,
            mode: self.input.lead.and_then(|lead| lead.mode),
            limits: self.parts.planner.limits,
        }
    }
}

impl Attempt {
    /// Creates the lead. `text` is the message of the wake that starts it.
    pub(super) async fn compose_lead(&self, text: &str) -> Result<NewActor, Message> {
        let runner = &self.runner;
        let policy = runner.input.lead.ok_or_else(|| message!("no-lead"))?;
        let NewActor { mut input, created } = self.compose(&self.brief.spec, "", None, &self.origins).await?;
        let names = runner.plan_names();
        let own = input
            .spec
            .tools
            .iter()
            .filter(|tool| !OF_ACTORS.contains(&tool.name()) && (!policy.must_plan || is_planning_tool(tool)))
            .cloned();
        // If nobody is there now, the run waits for the answer.
        let asks = input
            .spec
            .tool(ASK_HUMAN)
            .is_none()
            .then(|| runner.parts.tools.all_specs().find(|tool_spec| tool_spec.name() == ASK_HUMAN).cloned());
        let own = own.map(|tool| if tool.name() == TERMINATE { Arc::new(terminate_of_lead(&tool)) } else { tool });
        input.spec.tools = own.chain(asks.flatten()).chain(lead_tools(&runner.lead_checker(&names))).collect::<Vec<_>>().into();
        let (environment, known) = (runner.environments(&runner.input.goal).await.0, self.recalled.trim().to_owned());
        let lead = LeadBrief { environment, known, state: text.to_owned(), ..runner.lead_brief(policy, &names, &input.spec.tools) };
        let LeadPrompt { system, task } = runner.parts.prompts.lead(&lead).map_err(Message::text)?;
        (input.system, input.task) = (system, task);
        let limits = runner.limits_of(runner.lead_role());
        let look_tokens = Some(runner.parts.tool_context.classes.of(limits).look_limit(limits));
        input.lead = Some(LeadSettings { must_plan: policy.must_plan, look_tokens });
        input.plain_answer_ends = !policy.must_plan;
        input.must_write_files = false;
        input.named_files = Vec::new();
        (input.class.step_notes, input.class.refuse_early_failure) = (false, false);
        Ok(NewActor { input, created })
    }

    /// Parses and validates a call of a plan tool of the lead, whose tools are `own`.
    pub(super) async fn read_plan_call(&self, id: EffectId, call: &ValidatedCall, own: &ActorTools) -> ActorFact {
        match self.plan_call(call, own).await {
            Ok(Answer::Text(text, origins)) => {
                let origins = self.runner.untrusted(&origins);
                ActorFact::PlanCallRead { id, text: Some(text), refused: false, command: None, origins }
            }
            Ok(Answer::Command(command)) => {
                ActorFact::PlanCallRead { id, text: None, refused: false, command: Some(*command), origins: Vec::new() }
            }
            Err(faults) => {
                let lines: Vec<String> = faults.iter().map(|fault| format!("- {fault}")).collect();
                let text = format!("the call was refused:\n{}", lines.join("\n"));
                ActorFact::PlanCallRead { id, text: Some(text), refused: true, command: None, origins: Vec::new() }
            }
        }
    }

    async fn plan_call(&self, call: &ValidatedCall, own: &ActorTools) -> Result<Answer, Vec<PlanFault>> {
        let runner = &self.runner;
        let refuse = |why: &str| vec![PlanFault::new("call", why)];
        if !self.leads {
            return Err(refuse("only the lead of a run has a plan"));
        }
        let Some(tool) = PlanTool::from_name(call.tool()) else { return Err(refuse("there is no such plan tool")) };
        let Some(state) = runner.live.get(&runner.run) else { return Err(refuse("the run is over")) };
        if tool == PlanTool::ReadResult {
            let role = self.brief.spec.model.as_deref().unwrap_or("default");
            let text = read_result(call.parameters(), &state, share(runner.limits_of(role)))?;
            // The conclusion may be that of any task.
            let conclusions = state.tasks.values().filter_map(|task| task.conclusion.as_ref());
            let mut origins = Vec::new();
            Origin::merge(&mut origins, conclusions.flat_map(|conclusion| &conclusion.origins));
            return Ok(Answer::Text(text, origins));
        }
        let names = runner.plan_names();
        if tool == PlanTool::SubmitPlan
            && asks_for_guide(call)
            && let Some(policy) = runner.input.lead
        {
            let guide = runner.parts.prompts.plan_guide(&runner.lead_brief(policy, &names, own));
            return guide.map(|guide| Answer::Text(guide, Vec::new())).map_err(|error| refuse(&error.to_string()));
        }
        let rules = PlanRules { checker: runner.lead_checker(&names), growth: &runner.input.settings.growth };
        let command = parse_command(tool, call.parameters(), &state, &rules)?;
        let parse = |mut document: Map<String, Value>| {
            // These are not part of the document that a hook sees.
            let besides = ["mode", "handled"].into_iter().filter_map(|name| Some((name.to_owned(), call.parameters().get(name)?.clone())));
            document.extend(besides);
            parse_command(tool, &document, &state, &rules)
        };
        let goal = runner.input.goal.as_str();
        let asked = self.asking().ask_goal_hooks(goal, command, parse).await;
        asked.map(|command| Answer::Command(Box::new(command))).map_err(|reason| vec![PlanFault::new("plan", reason)])
    }
}

/// Returns true for a call of `submit_plan` without a plan.
fn asks_for_guide(call: &ValidatedCall) -> bool {
    call.parameters().is_empty() || call.parameters().get("tasks").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Answer to a call of a plan tool.
enum Answer {
    /// A text, and the origins of its quotations.
    Text(String, Vec<Origin>),
    Command(Box<LeadCommand>),
}

/// Returns true if a tool only reads, ends the work or asks a person: a lead that must plan may use only such tools.
fn is_planning_tool(tool_spec: &ToolSpec) -> bool {
    match tool_spec.handled_by {
        Executor::Runtime => tool_spec.read_only,
        Executor::Actor => [ASK_HUMAN, TERMINATE].contains(&tool_spec.name()),
        Executor::Run => true,
    }
}

fn share(limits: ModelLimits) -> u64 {
    u64::from(limits.context_tokens) * SHARE / 100
}
