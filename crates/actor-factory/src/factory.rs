//! Composition: from a task to an actor that is ready to run.

mod delegated;
mod gather;
mod skills;

use std::sync::Arc;

use aime_llm::{Effort, Image, ModelLimits, estimate_tokens};
use aime_progress_management::{ActorId, InvalidId, Origin, PlanId, ReasoningEffort, Risk, TaskKind, TaskSpec, Timestamp};
use aime_tools::{Approval, DELEGATE_TASK, ModelClasses, PermissionRules, SkillCatalog, ToolRegistry, Trust};

use crate::{
    ActorInput, ActorPromptError, ActorSettings, ActorSpec, Profile, ProfileCatalog, Prompts, Selection,
    actor_tools::KnownTools,
    prompts::{SystemContext, TaskContext},
    select::{must_write_files, named_files, select},
    spec::effect_prefix,
    text::{cut, cut_with_note, id_text},
    work::names_work,
};

pub use self::delegated::Delegated;
use self::{
    gather::{gather, note, with_denied},
    skills::{Preloaded, preload},
};

/// Limits of an external agent, which keeps its own history: aime never compacts it.
const AGENT_LIMITS: ModelLimits = ModelLimits { context_tokens: 1_000_000, max_output_tokens: 1_000, small: false };
/// Number of answers that an external agent may use.
const AGENT_STEPS: u32 = 10_000;
/// Share of the context window, in percent, that the results of other tasks may take at most, and that knowledge may take at most.
const SHARE: u64 = 20;
/// Name of the tool by which an actor reports that a risk came true.
const REPORT_EVIDENCE: &str = "report_evidence";
/// Largest number of risks in a prompt. Small models have little room.
const RISKS: usize = 3;
const RISK_CHARACTERS: usize = 120;

/// Composes actors from profiles and prompts.
#[derive(Debug, Clone)]
pub struct ActorFactory {
    profiles: ProfileCatalog,
    prompts: Prompts,
    settings: ActorSettings,
    skills: SkillCatalog,
    known_tools: KnownTools,
}

/// Everything beside the task that an actor is composed from.
#[derive(Clone)]
pub struct ActorContext<'a> {
    /// The goal of the run.
    pub goal: &'a str,
    /// The category of the goal; may be empty.
    pub category: &'a str,
    /// The plan.
    pub plan: PlanId,
    /// Number of this execution of the task, from 1.
    pub execution: u32,
    /// Tasks of the plan, one per line; may be empty. Small models and delegated actors do not get it.
    pub overview: &'a str,
    /// Results of the tasks that this one depends on, as Markdown. The factory cuts them to a fifth of the context window.
    pub results: &'a str,
    /// Project rules and memory that may help. The factory cuts them to a fifth of the context window.
    pub knowledge: &'a str,
    /// Folder, system and date of the actor. The text must not change from turn to turn.
    pub environment: &'a str,
    /// Shorter environment text for small models.
    pub short_environment: &'a str,
    /// Risks that the plan expects. The prompt lists the first three, one per line, if the actor can report evidence.
    pub risks: &'a [Risk],
    /// The images of the goal.
    pub images: &'a [Image],
    /// Names of skills whose full texts the prompt holds, besides those of the profile.
    pub skills: &'a [String],
    /// Call of another actor that the new actor answers, if any.
    pub delegated: Option<Delegated<'a>>,
    /// Registry of all tools.
    pub tools: &'a ToolRegistry,
    /// Approval mode: which calls need consent.
    pub approval: Approval,
    /// Permission rules, which take precedence over the approval mode.
    pub rules: &'a PermissionRules,
    /// Sources that the user trusts. Without it, texts that the actor reads do not change its permissions.
    pub trust: Option<Trust>,
    /// Origins of untrusted texts that this context holds.
    pub origins: &'a [Origin],
    /// True if a person can answer questions.
    pub attended: bool,
    /// Role of the model, unless the task or the profile names one.
    pub model: &'a str,
    /// Returns the limits of the model of a role.
    pub limits: &'a dyn Fn(&str) -> ModelLimits,
    /// Settings for each class of models.
    pub classes: ModelClasses,
    /// Number of model answers that the actor may use instead of the limit of its model's class. The profile may set a lower limit.
    pub max_steps: Option<u32>,
    /// True if the first answer without a tool call may be the result, for goals that are plain questions.
    pub plain_answer_ends: bool,
    /// Time at which the actor is made.
    pub created_at: Timestamp,
}

impl<'a> ActorContext<'a> {
    /// Creates a context with defaults: first execution, attended, default approval, model `default`, made at the Unix epoch. Pass the
    /// `rules` of [`ToolContext`](aime_tools::ToolContext): they are bound to the folder that the tools work in.
    #[must_use]
    pub fn new(goal: &'a str, tools: &'a ToolRegistry, rules: &'a PermissionRules) -> Self {
        Self {
            goal,
            category: "",
            plan: PlanId::default(),
            execution: 1,
            overview: "",
            results: "",
            knowledge: "",
            environment: "",
            short_environment: "",
            risks: &[],
            images: &[],
            skills: &[],
            delegated: None,
            tools,
            approval: Approval::default(),
            rules,
            trust: Some(Trust::default()),
            origins: &[],
            attended: true,
            model: "default",
            limits: &unknown_limits,
            classes: ModelClasses::default(),
            max_steps: None,
            plain_answer_ends: false,
            created_at: Timestamp::from_millis(0),
        }
    }

    /// Sets the plan that the actor belongs to and the time at which it is made.
    #[must_use]
    pub fn of_plan(mut self, plan: PlanId, created_at: Timestamp) -> Self {
        (self.plan, self.created_at) = (plan, created_at);
        self
    }

    /// Sets the results of other tasks, as Markdown.
    #[must_use]
    pub const fn with_results(mut self, results: &'a str) -> Self {
        self.results = results;
        self
    }

    /// Sets the approval mode.
    #[must_use]
    pub const fn with_approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Returns the role and the limits of the model of a task's actor with this profile.
    fn model_of<'b>(&'b self, profile: &'b Profile, task: &'b TaskSpec) -> (&'b str, ModelLimits) {
        let model = task.model.as_deref().or(profile.model.as_deref()).unwrap_or(self.model);
        (model, if profile.agent { AGENT_LIMITS } else { (self.limits)(model) })
    }

    /// Declares that no person can answer questions.
    #[must_use]
    pub const fn unattended(mut self) -> Self {
        self.attended = false;
        self
    }
}

/// Returns the limits of a model that aime has no data on.
fn unknown_limits(_role: &str) -> ModelLimits {
    ModelLimits::default()
}

/// Actor that is ready to run, with the reasons for its profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ComposedActor {
    /// Input of the actor's machine.
    pub input: ActorInput,
    /// Chosen profile with the reasons, including notes on tools that the factory left out.
    pub selection: Selection,
}

/// Reason why the factory cannot make an actor for a task.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The task is of a kind that no actor does.
    #[error("task `{task}` is a {kind} task: only actor tasks have an actor")]
    NotForAnActor {
        /// The task.
        task: String,
        /// Its kind.
        kind: &'static str,
    },
    /// There are no profiles.
    #[error("there are no profiles to choose from")]
    NoProfiles,
    /// The task names a bundle that does not exist.
    #[error("task `{task}`: {message}")]
    UnknownBundle {
        /// The task.
        task: String,
        /// Message that names the bundle and lists those that exist.
        message: String,
    },
    /// The delegating actor names a profile that does not exist.
    #[error("there is no profile `{profile}`; the profiles are: {known}")]
    UnknownProfile {
        /// The name.
        profile: String,
        /// Profiles that exist.
        known: String,
    },
    /// The chain of delegating actors is too long.
    #[error("the delegation depth limit is {max}, and this actor is at depth {depth}: it cannot delegate")]
    TooDeep {
        /// Depth of the actor that wants to delegate.
        depth: u32,
        /// Largest depth that is allowed.
        max: u32,
    },
    /// The actor's id is invalid.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// A prompt template fails to render.
    #[error(transparent)]
    Prompt(#[from] ActorPromptError),
}

impl ActorFactory {
    /// Creates a factory with these profiles and prompts.
    #[must_use]
    pub fn new(profiles: ProfileCatalog, prompts: Prompts) -> Self {
        Self { profiles, prompts, settings: ActorSettings::default(), skills: SkillCatalog::default(), known_tools: KnownTools::default() }
    }

    /// Sets the behaviour of the actors.
    #[must_use]
    pub const fn with_settings(mut self, settings: ActorSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the skills that actors may get. Actors with the tool [`load_skill`](aime_tools::load_skill) see a list of all of them.
    #[must_use]
    pub fn with_skills(mut self, skills: SkillCatalog) -> Self {
        self.skills = skills;
        self
    }

    /// Creates a factory with the profiles and prompts of this crate.
    ///
    /// # Errors
    /// [`ActorPromptError`] if a built-in prompt is broken; a test excludes this.
    pub fn builtin() -> Result<Self, ActorPromptError> {
        Ok(Self::new(ProfileCatalog::builtin(), Prompts::builtin()?))
    }

    /// Returns the profiles that the factory chooses from.
    #[must_use]
    pub const fn profiles(&self) -> &ProfileCatalog {
        &self.profiles
    }

    /// Makes the actor for a task: chooses the profile, gathers its tools, renders its prompts. Pure.
    ///
    /// The actor gets the tools of its profile and of the task's bundles, minus those that the profile or the task denies, plus the
    /// coordination tools. Rules deny the denied tools of MCP servers as well, because `mcp_call_tool` calls tools by name. An actor of a
    /// read-only profile gets no tool that can change something, even if the task asks for it. A delegated actor is one level deeper than
    /// its parent and never gets more than the parent has: tools, steps, approval mode and rules.
    ///
    /// # Errors
    /// [`ComposeError`] names the task and the reason.
    pub fn compose(&self, task: &TaskSpec, context: &ActorContext<'_>) -> Result<ComposedActor, ComposeError> {
        match task.kind {
            TaskKind::Actor => {}
            TaskKind::Tool => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "tool" }),
            TaskKind::Group => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "group" }),
        }
        let delegated = context.delegated.as_ref();
        let standing = delegated.map(Delegated::standing).transpose()?.unwrap_or_default();
        let mut selection = self.select(task, context)?;
        let profile = self.profiles.get(&selection.profile).ok_or(ComposeError::NoProfiles)?;
        let (model, limits) = context.model_of(profile, task);
        let class = context.classes.of(limits);
        let small = profile.small_model.as_ref().filter(|_| class.simple_tools);
        let settings = ActorSettings { max_depth: standing.max_depth.unwrap_or(self.settings.max_depth), ..self.settings };
        let may_delegate = standing.depth < settings.max_depth;
        let mut tools = gather(profile, small, task, context, may_delegate, &mut selection.reasons)?;
        tools.iter_mut().for_each(|tool| *tool = tool.for_model(class.simple_tools));
        if let Some(delegates) = tools.iter_mut().find(|tool_spec| tool_spec.name() == DELEGATE_TASK) {
            let tool_spec = delegates.with_parameter_text("profile", &self.profiles_in_words());
            // A direct run has no plan whose tasks it could name.
            *delegates =
                Arc::new(if context.plain_answer_ends { tool_spec.without_parameters(&["plan_id", "task_id"]) } else { tool_spec });
        }
        // These notes and limits are for models that choose their calls from a history of aime's.
        let settings = if profile.agent { settings.without_notes() } else { settings };
        let tools = self.known_tools.shared(tools);
        let budget = u64::from(limits.context_tokens) * SHARE / 100;
        let Preloaded { names: skills, texts } =
            preload(&self.skills, profile, task.skills.iter().chain(context.skills), budget, &mut selection.reasons);
        let rules = delegated.map_or_else(|| context.rules.clone(), |delegated| context.rules.at_most(&delegated.caller.spec.rules));
        let rules = with_denied(rules, profile, task);
        // Each report of an external agent is a step, and it bounds its own requests.
        let most_steps = if profile.agent { AGENT_STEPS } else { context.max_steps.unwrap_or(class.max_steps) };
        let max_steps = profile.max_steps.map_or(most_steps, |own| own.min(most_steps)).max(1);
        if profile.agent {
            selection
                .reasons
                .push("an external agent does it: aime sees its changes of files, but not the calls that it makes inside".to_owned());
        }
        let name = effect_prefix(&task.id, context.execution, delegated.map(|delegated| delegated.call));
        let mut input = ActorInput {
            spec: ActorSpec {
                id: ActorId::new(id_text(&name.replace('/', "-")))?,
                name: format!("{}: {}", profile.name, task.title()),
                description: profile.description.clone(),
                profile: profile.name.clone(),
                tools,
                skills,
                inline_skills: profile.inline_skills.clone(),
                persona: small.map_or(&profile.prompt, |small| &small.prompt).trim().to_owned(),
                model: if profile.agent { profile.name.clone() } else { model.to_owned() },
                agent: profile.agent,
                effort: task.effort.map(effort).or(profile.effort),
                temperature: profile.temperature.or(Some(self.settings.temperature)),
                plan: context.plan.clone(),
                task: task.id.clone(),
                max_steps: standing.max_steps.map_or(max_steps, |most| most.min(max_steps)),
                created_at: context.created_at,
                approval: standing.approval.map_or(context.approval, |most| most.narrower(context.approval)),
                rules,
            },
            execution: context.execution,
            call: delegated.map(|delegated| delegated.call.to_owned()),
            depth: standing.depth,
            system: String::new(),
            task: String::new(),
            limits,
            attended: context.attended && delegated.is_none_or(|delegated| delegated.caller.attended),
            class,
            plain_answer_ends: context.plain_answer_ends && !profile.agent,
            risks: Vec::new(),
            images: context.images.to_vec(),
            notes: self.prompts.notes_for(if context.goal.is_empty() { &task.description } else { context.goal }),
            // aime does not see the files that an external agent writes by itself.
            must_write_files: !profile.agent && must_write_files(task),
            names_work: class.ask_for_work && !profile.agent && names_work(&task.description),
            named_files: if profile.agent { Vec::new() } else { named_files(task) },
            messages: Vec::new(),
            audits: 0,
            lead: None,
            trust: delegated.map_or_else(|| context.trust.clone(), |delegated| delegated.caller.trust.clone()),
            origins: context.origins.to_vec(),
            marks: context.trust.is_some() && small.is_none() && !profile.agent,
            settings,
        };
        let small = small.is_some();
        input.risks = reportable_risks(context.risks, &input.spec);
        let knowledge = fit(context.knowledge, budget);
        let (of_system, of_task) = match small {
            false => ((knowledge.as_str(), context.environment), ("", "")),
            true => (("", ""), (knowledge.as_str(), context.short_environment)),
        };
        input.system = self.prompts.system(&SystemContext {
            persona: &input.spec.persona,
            tools: input.spec.tools.iter().map(|tool| note(tool)).collect(),
            skills: skills::loadable_skills(&self.skills, &input.spec),
            preloaded: texts,
            knowledge: of_system.0,
            environment: of_system.1,
            attended: input.attended,
            marks: input.marks,
            // The persona of an external agent is complete, too: the working rules name tools that it does not have.
            small_model: small || profile.agent,
        })?;
        let criteria: Vec<String> = task.completion_criteria.iter().map(ToString::to_string).collect();
        input.task = self.prompts.task(&TaskContext {
            environment: of_task.1,
            knowledge: of_task.0,
            goal: context.goal,
            // Small models mistake other tasks of the plan for their own.
            overview: if small || delegated.is_some() { "" } else { context.overview },
            title: task.title(),
            frame: delegated.map_or("", |delegated| delegated.frame),
            description: &task.description,
            criteria: &criteria,
            risks: &input.risks,
            results: &fit(context.results, budget),
            small_model: small,
        })?;
        Ok(ComposedActor { input, selection })
    }

    /// Returns the profiles that an actor may name, for the schema of `delegate_task`.
    fn profiles_in_words(&self) -> String {
        let phrase = |text: &str| text.split([':', ';']).next().unwrap_or_default().trim().trim_end_matches('.').to_lowercase();
        let profiles: Vec<String> = self.profiles.iter().map(|known| format!("{} ({})", known.name, phrase(&known.description))).collect();
        format!("Chosen for you if absent. One of {}", profiles.join(", "))
    }

    /// Returns whether the actor that [`compose`](Self::compose) makes for a task may change files, by its profile.
    #[must_use]
    pub fn may_write(&self, task: &TaskSpec, context: &ActorContext<'_>) -> bool {
        let selection = self.select(task, context).ok();
        selection.and_then(|selection| self.profiles.get(&selection.profile)).is_none_or(|profile| !profile.read_only())
    }

    /// Selects the profile for a task: the one that a delegating actor names, or the one that fits the task.
    fn select(&self, task: &TaskSpec, context: &ActorContext<'_>) -> Result<Selection, ComposeError> {
        if let Some(profile) = context.delegated.as_ref().and_then(|delegated| delegated.profile) {
            return self.select_named(profile);
        }
        let has_simple_tools = |profile: &Profile| context.classes.of(context.model_of(profile, task).1).simple_tools;
        Ok(select(&self.profiles, task, context.category, has_simple_tools))
    }

    /// Selects the profile that a delegating actor names.
    fn select_named(&self, profile: &str) -> Result<Selection, ComposeError> {
        if self.profiles.get(profile).is_none() {
            let known = self.profiles.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>().join(", ");
            return Err(ComposeError::UnknownProfile { profile: profile.to_owned(), known });
        }
        let reasons = vec![format!("the delegating actor asks for `{profile}`")];
        Ok(Selection { profile: profile.to_owned(), reasons, scores: Vec::new() })
    }
}

/// Converts the effort of a plan to the effort of a model request.
const fn effort(effort: ReasoningEffort) -> Effort {
    match effort {
        ReasoningEffort::None => Effort::None,
        ReasoningEffort::Minimal => Effort::Minimal,
        ReasoningEffort::Low => Effort::Low,
        ReasoningEffort::Medium => Effort::Medium,
        ReasoningEffort::High => Effort::High,
        ReasoningEffort::XHigh => Effort::XHigh,
        ReasoningEffort::Max => Effort::Max,
    }
}

/// Returns the risks of the plan, one line each, if the actor can report that one came true.
fn reportable_risks(risks: &[Risk], spec: &ActorSpec) -> Vec<String> {
    let can_report = spec.tool(REPORT_EVIDENCE).is_some();
    let line = |risk: &Risk| cut(&risk.description.split_whitespace().collect::<Vec<_>>().join(" "), RISK_CHARACTERS);
    risks.iter().filter(|risk| can_report && !risk.description.trim().is_empty()).take(RISKS).map(line).collect()
}

/// Cuts a text to about `budget` tokens.
fn fit(text: &str, budget: u64) -> String {
    let tokens = estimate_tokens(text);
    if tokens <= budget {
        return text.to_owned();
    }
    let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let kept = characters.saturating_mul(budget) / tokens.max(1);
    cut_with_note(text, usize::try_from(kept).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests;
