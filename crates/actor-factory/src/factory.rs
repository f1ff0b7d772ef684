//! Composition: from a task to an actor that is ready to run.

mod delegated;
mod gather;
mod skills;

use std::sync::Arc;

use aime_llm::{Effort, Image, ModelLimits, estimate_tokens};
use aime_progress::{ActorId, InvalidId, Origin, PlanId, ReasoningEffort, Risk, TaskKind, TaskSpec, Timestamp};
use aime_tools::{Approval, DELEGATE_TASK, ModelClasses, PermissionRules, SkillCatalog, ToolRegistry, Trust};

use crate::{
    ActorInput, ActorSettings, ActorSpec, ProfileCatalog, PromptError, Prompts, Selection,
    prompts::{SystemContext, TaskContext},
    select,
    select::{must_write_files, named_files},
    sheets::KnownTools,
    spec::effect_prefix,
    text::{cut, cut_with_note, id_text},
};

pub use self::delegated::Delegated;
use self::{
    gather::{gather, note, small_model},
    skills::{Preloaded, preload},
};

/// The part of the context window that results of other tasks, and knowledge, may take each, in percent.
const SHARE: u64 = 20;
/// The tool by which a risk that came true is told.
const REPORT_EVIDENCE: &str = "report_evidence";
/// The most risks that an actor is told of, and the most characters of each: small models have little room.
const RISKS: usize = 3;
const RISK_CHARACTERS: usize = 120;

/// Makes actors.
#[derive(Debug, Clone)]
pub struct ActorFactory {
    profiles: ProfileCatalog,
    prompts: Prompts,
    settings: ActorSettings,
    skills: SkillCatalog,
    known_tools: KnownTools,
}

/// What an actor is made for, beside its task.
#[derive(Clone)]
pub struct ActorContext<'a> {
    /// The goal of the run.
    pub goal: &'a str,
    /// The category of the goal; may be empty.
    pub category: &'a str,
    /// The plan.
    pub plan: PlanId,
    /// Which execution of the task this is, from 1.
    pub execution: u32,
    /// The tasks of the plan in a line each; may be empty. Left out for small models and for actors below others.
    pub overview: &'a str,
    /// The results of the tasks that this one depends on, as Markdown. Cut to a fifth of the context window.
    pub results: &'a str,
    /// What is known that may help: project rules, memory. Cut to a fifth of the context window.
    pub knowledge: &'a str,
    /// Where the actor works: folder, system, date. Must not change from turn to turn.
    pub environment: &'a str,
    /// The same for a small model, in short.
    pub short_environment: &'a str,
    /// What the plan expects might go wrong. The first three are told in a line each to an actor that can report evidence.
    pub risks: &'a [Risk],
    /// The images of the goal.
    pub images: &'a [Image],
    /// Skills that the actor is given whole, besides those of its profile.
    pub skills: &'a [String],
    /// The call of another actor that it is made for, where it is.
    pub delegated: Option<Delegated<'a>>,
    /// The tools that exist.
    pub tools: &'a ToolRegistry,
    /// Which calls need consent.
    pub approval: Approval,
    /// Rules that come before that.
    pub rules: &'a PermissionRules,
    /// What is vouched for; without it, nothing that is read changes what may be done.
    pub trust: Option<Trust>,
    /// Where the texts come from that this context is made of and that nobody vouches for.
    pub origins: &'a [Origin],
    /// Whether a person can be asked.
    pub attended: bool,
    /// The role of the model, unless the task or the profile names one.
    pub model: &'a str,
    /// What the model of a role can hold.
    pub limits: &'a dyn Fn(&str) -> ModelLimits,
    /// The settings for each class of models.
    pub classes: ModelClasses,
    /// Answers of the model that the actor may use, in the place of the bound of its model's class. Its profile may say fewer.
    pub max_steps: Option<u32>,
    /// Whether the first answer without a tool call may be the result: for goals that are plain questions.
    pub plain_answer_ends: bool,
    /// Now.
    pub created_at: Timestamp,
}

impl<'a> ActorContext<'a> {
    /// A context with defaults: first execution, attended, default approval and model `default`, made at the Unix epoch. `rules` are
    /// those of [`ToolContext`](aime_tools::ToolContext), which know the folder that the tools work in.
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

    /// The same for an actor of this plan, made at this time.
    #[must_use]
    pub fn of_plan(mut self, plan: PlanId, created_at: Timestamp) -> Self {
        (self.plan, self.created_at) = (plan, created_at);
        self
    }

    /// The same for an actor that knows the results of other tasks, as Markdown.
    #[must_use]
    pub const fn with_results(mut self, results: &'a str) -> Self {
        self.results = results;
        self
    }

    /// The same for an actor that is told what may help: project rules, memory.
    #[must_use]
    pub const fn with_knowledge(mut self, knowledge: &'a str) -> Self {
        self.knowledge = knowledge;
        self
    }

    /// The same where other calls need consent.
    #[must_use]
    pub const fn with_approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// The same where nobody can be asked.
    #[must_use]
    pub const fn unattended(mut self) -> Self {
        self.attended = false;
        self
    }
}

/// The limits of a model of which nothing is known.
fn unknown_limits(_role: &str) -> ModelLimits {
    ModelLimits::default()
}

/// An actor that is ready to run, and why it is what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    /// What its machine starts from.
    pub input: ActorInput,
    /// Its profile, with the reasons; notes on tools that were left out are among them.
    pub selection: Selection,
}

/// Why no actor can be made for a task.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The task is not for an actor.
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
    /// The task asks for a bundle that does not exist.
    #[error("task `{task}`: {message}")]
    UnknownBundle {
        /// The task.
        task: String,
        /// The bundle, and those that exist.
        message: String,
    },
    /// There is no profile of the name that a delegating actor asks for.
    #[error("there is no profile `{profile}`; the profiles are: {known}")]
    UnknownProfile {
        /// The name.
        profile: String,
        /// Those that exist.
        known: String,
    },
    /// Too many actors stand in a row.
    #[error(
        "at most {max} actors may stand in a row below the one that works for the plan, and this one is number {depth}: it cannot delegate"
    )]
    TooDeep {
        /// Where the actor stands that wants to delegate.
        depth: u32,
        /// How deep they may stand.
        max: u32,
    },
    /// The actor's name cannot be made.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// A prompt cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

impl ActorFactory {
    /// A factory with these profiles and prompts.
    #[must_use]
    pub fn new(profiles: ProfileCatalog, prompts: Prompts) -> Self {
        Self { profiles, prompts, settings: ActorSettings::default(), skills: SkillCatalog::default(), known_tools: KnownTools::default() }
    }

    /// The same for actors that behave in another way.
    #[must_use]
    pub const fn with_settings(mut self, settings: ActorSettings) -> Self {
        self.settings = settings;
        self
    }

    /// The same for actors that can be given these skills. Those whose tools hold [`load_skill`](aime_tools::load_skill) are told of all of
    /// them.
    #[must_use]
    pub fn with_skills(mut self, skills: SkillCatalog) -> Self {
        self.skills = skills;
        self
    }

    /// A factory with what comes with this crate.
    ///
    /// # Errors
    /// [`PromptError`] if a built-in prompt is broken, which a test rules out.
    pub fn builtin() -> Result<Self, PromptError> {
        Ok(Self::new(ProfileCatalog::builtin(), Prompts::builtin()?))
    }

    /// The profiles it chooses from.
    #[must_use]
    pub const fn profiles(&self) -> &ProfileCatalog {
        &self.profiles
    }

    /// Makes the actor for a task: chooses the profile, gathers its tools, renders its prompts. Pure.
    ///
    /// The tools are those of the profile and of the task's bundles, without those that the profile or the task denies, and always the coordination tools;
    /// an actor of a read-only profile gets none that could change something, whoever asks for it. One that is made for the call of
    /// another actor has no tool that that one has not, no more steps, no wider approval mode and rules, and stands one deeper.
    ///
    /// # Errors
    /// [`ComposeError`] says which task cannot have an actor, and why.
    pub fn compose(&self, task: &TaskSpec, context: &ActorContext<'_>) -> Result<Composed, ComposeError> {
        match task.kind {
            TaskKind::Actor => {}
            TaskKind::Tool => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "tool" }),
            TaskKind::Group => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "group" }),
        }
        let delegated = context.delegated.as_ref();
        let standing = delegated.map(Delegated::standing).transpose()?.unwrap_or_default();
        let mut selection = match delegated.and_then(|delegated| delegated.profile) {
            Some(profile) => self.named(profile)?,
            None => select(&self.profiles, task, context.category),
        };
        let profile = self.profiles.get(&selection.profile).ok_or(ComposeError::NoProfiles)?;
        let model = task.model.as_deref().or(profile.model.as_deref()).unwrap_or(context.model);
        let limits = (context.limits)(model);
        let (small, class) = (small_model(profile, limits), context.classes.of(limits));
        let settings = ActorSettings { max_depth: standing.max_depth.unwrap_or(self.settings.max_depth), ..self.settings };
        let may_delegate = standing.depth < settings.max_depth;
        let mut tools = gather(profile, small, task, context, may_delegate, &mut selection.reasons)?;
        tools.iter_mut().for_each(|sheet| *sheet = sheet.for_model(limits.small));
        if let Some(delegates) = tools.iter_mut().find(|sheet| sheet.name() == DELEGATE_TASK) {
            *delegates = Arc::new(delegates.with_parameter_text("profile", &self.profiles_in_words()));
        }
        let tools = self.known_tools.shared(tools);
        let budget = u64::from(limits.context_tokens) * SHARE / 100;
        let Preloaded { names: skills, texts } =
            preload(&self.skills, profile, task.skills.iter().chain(context.skills), budget, &mut selection.reasons);
        let rules = context.rules;
        let most_steps = context.max_steps.unwrap_or(class.max_steps);
        let max_steps = profile.max_steps.map_or(most_steps, |own| own.min(most_steps)).max(1);
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
                model: model.to_owned(),
                effort: task.effort.map(effort).or(profile.effort),
                temperature: profile.temperature.or(Some(self.settings.temperature)),
                plan: context.plan.clone(),
                task: task.id.clone(),
                max_steps: standing.max_steps.map_or(max_steps, |most| most.min(max_steps)),
                created_at: context.created_at,
                approval: standing.approval.map_or(context.approval, |most| most.narrower(context.approval)),
                rules: delegated.map_or_else(|| rules.clone(), |delegated| rules.at_most(&delegated.by.spec.rules)),
            },
            execution: context.execution,
            call: delegated.map(|delegated| delegated.call.to_owned()),
            depth: standing.depth,
            system: String::new(),
            task: String::new(),
            limits,
            attended: context.attended && delegated.is_none_or(|delegated| delegated.by.attended),
            nudge_each_step: class.step_notes,
            retry_reported: class.retry_reported,
            plain_answer_ends: context.plain_answer_ends,
            risks: Vec::new(),
            images: context.images.to_vec(),
            notes: self.prompts.notes_for(if context.goal.is_empty() { &task.description } else { context.goal }),
            must_write_files: must_write_files(task),
            named_files: named_files(task),
            told: Vec::new(),
            audits: 0,
            lead: None,
            trust: delegated.map_or(context.trust, |delegated| delegated.by.trust),
            origins: context.origins.to_vec(),
            marks: context.trust.is_some() && small.is_none(),
            settings,
        };
        let small = small.is_some();
        input.risks = told_risks(context.risks, &input.spec);
        let knowledge = fit(context.knowledge, budget);
        let (of_system, of_task) = match small {
            false => ((knowledge.as_str(), context.environment), ("", "")),
            true => (("", ""), (knowledge.as_str(), context.short_environment)),
        };
        input.system = self.prompts.system(&SystemContext {
            persona: &input.spec.persona,
            tools: input.spec.tools.iter().map(|sheet| note(sheet)).collect(),
            skills: skills::told(&self.skills, &input.spec),
            preloaded: texts,
            knowledge: of_system.0,
            environment: of_system.1,
            attended: input.attended,
            marks: input.marks,
            small_model: small,
            capable: !limits.small,
        })?;
        let criteria: Vec<String> = task.completion_criteria.iter().map(ToString::to_string).collect();
        input.task = self.prompts.task(&TaskContext {
            environment: of_task.1,
            knowledge: of_task.0,
            goal: context.goal,
            // A small model takes the tasks of others for its own.
            overview: if small || delegated.is_some() { "" } else { context.overview },
            title: task.title(),
            frame: delegated.map_or("", |delegated| delegated.frame),
            description: &task.description,
            criteria: &criteria,
            risks: &input.risks,
            results: &fit(context.results, budget),
        })?;
        Ok(Composed { input, selection })
    }

    /// Returns the profiles that an actor may name, for the schema of `delegate_task`.
    fn profiles_in_words(&self) -> String {
        let profiles: Vec<String> = self.profiles.iter().map(|known| format!("`{}` ({})", known.name, known.description)).collect();
        format!("Kind of worker; chosen by the words if absent. One of {}", profiles.join(", "))
    }

    /// The profile that a delegating actor names.
    fn named(&self, profile: &str) -> Result<Selection, ComposeError> {
        if self.profiles.get(profile).is_none() {
            let known = self.profiles.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>().join(", ");
            return Err(ComposeError::UnknownProfile { profile: profile.to_owned(), known });
        }
        let reasons = vec![format!("the delegating actor asks for `{profile}`")];
        Ok(Selection { profile: profile.to_owned(), reasons, scores: Vec::new() })
    }
}

/// The effort of a plan as requests to models have it.
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

/// The risks of the plan in a line each, for an actor that can report that one came true.
fn told_risks(risks: &[Risk], spec: &ActorSpec) -> Vec<String> {
    let can_report = spec.tool(REPORT_EVIDENCE).is_some();
    let line = |risk: &Risk| cut(&risk.description.split_whitespace().collect::<Vec<_>>().join(" "), RISK_CHARACTERS);
    risks.iter().filter(|risk| can_report && !risk.description.trim().is_empty()).take(RISKS).map(line).collect()
}

/// Text cut to about `budget` tokens.
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
