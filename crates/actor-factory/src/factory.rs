//! Composition: from a task to an actor that is ready to run.

use aime_llm::{ModelLimits, estimate_tokens};
use aime_progress::{ActorId, InvalidId, PlanId, TaskKind, TaskSpec, Timestamp};
use aime_tools::{Approval, HandledBy, ToolRegistry, ToolSheet, Touches, tools_of};

use crate::{
    ActorInput, ActorSettings, ActorSpec, DEFAULT_MAX_STEPS, Profile, ProfileCatalog, PromptError, Prompts, Selection,
    prompts::{SystemContext, TaskContext, ToolNote},
    select,
    select::must_write_files,
    text::{cut_with_note, id_text},
};

/// The tools that every actor has, with `ask_human` where a person can be asked.
const COORDINATION: &str = "coordination";
const TERMINATE: &str = "terminate";
const ASK_HUMAN: &str = "ask_human";
/// The part of the context window that results of other tasks, and knowledge, may take each, in percent.
const SHARE: u64 = 20;

/// Makes actors.
#[derive(Debug, Clone)]
pub struct ActorFactory {
    profiles: ProfileCatalog,
    prompts: Prompts,
    settings: ActorSettings,
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
    /// The results of the tasks that this one depends on, as Markdown. Cut to a fifth of the context window.
    pub results: &'a str,
    /// What is known that may help: project rules, memory. Cut to a fifth of the context window.
    pub knowledge: &'a str,
    /// Where the actor works: folder, system, date. Must not change from turn to turn.
    pub environment: &'a str,
    /// The tools that exist.
    pub tools: &'a ToolRegistry,
    /// Which calls need consent.
    pub approval: Approval,
    /// Whether a person can be asked.
    pub attended: bool,
    /// The role of the model, unless the profile names one.
    pub model: &'a str,
    /// What the model can hold.
    pub limits: ModelLimits,
    /// How many answers of the model the actor may use, unless the profile says.
    pub max_steps: u32,
    /// Whether each round of results is followed by a short reminder of how to go on.
    pub nudge_each_step: bool,
    /// Whether the first answer without a tool call may be the result: for goals that are plain questions.
    pub plain_answer_ends: bool,
    /// Now.
    pub created_at: Timestamp,
}

impl<'a> ActorContext<'a> {
    /// A context with defaults: first execution, attended, default approval, model `default` and 20 steps.
    #[must_use]
    pub fn new(goal: &'a str, plan: PlanId, tools: &'a ToolRegistry, created_at: Timestamp) -> Self {
        Self {
            goal,
            category: "",
            plan,
            execution: 1,
            results: "",
            knowledge: "",
            environment: "",
            tools,
            approval: Approval::default(),
            attended: true,
            model: "default",
            limits: ModelLimits::default(),
            max_steps: DEFAULT_MAX_STEPS,
            nudge_each_step: true,
            plain_answer_ends: false,
            created_at,
        }
    }
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
        Self { profiles, prompts, settings: ActorSettings::default() }
    }

    /// The same for actors that behave in another way.
    #[must_use]
    pub const fn with_settings(mut self, settings: ActorSettings) -> Self {
        self.settings = settings;
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
    /// The tools are those of the profile and of the task's bundles, without those the profile denies, and always the coordination tools;
    /// an actor of a read-only profile gets none that could change something, whoever asks for it.
    ///
    /// # Errors
    /// [`ComposeError`] says which task cannot have an actor, and why.
    pub fn compose(&self, task: &TaskSpec, context: &ActorContext<'_>) -> Result<Composed, ComposeError> {
        match task.kind {
            TaskKind::Actor => {}
            TaskKind::Tool => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "tool" }),
            TaskKind::Group => return Err(ComposeError::NotForAnActor { task: task.id.to_string(), kind: "group" }),
        }
        let mut selection = select(&self.profiles, task, context.category);
        let profile = self.profiles.get(&selection.profile).ok_or(ComposeError::NoProfiles)?;
        let tools = gather(profile, task, context, &mut selection.reasons)?;
        let spec = ActorSpec {
            id: ActorId::new(id_text(&format!("{}-{}", task.id, context.execution)))?,
            name: format!("{}: {}", profile.name, task.title()),
            description: profile.description.clone(),
            profile: profile.name.clone(),
            tools,
            persona: profile.prompt.trim().to_owned(),
            model: profile.model.clone().unwrap_or_else(|| context.model.to_owned()),
            temperature: profile.temperature.or(Some(self.settings.temperature)),
            plan: context.plan.clone(),
            task: task.id.clone(),
            max_steps: profile.max_steps.unwrap_or(context.max_steps).max(1),
            created_at: context.created_at,
            approval: context.approval,
        };
        let budget = u64::from(context.limits.context_tokens) * SHARE / 100;
        let system = self.prompts.system(&SystemContext {
            persona: &spec.persona,
            tools: spec.tools.iter().map(note).collect(),
            knowledge: &fit(context.knowledge, budget),
            environment: context.environment,
            attended: context.attended,
        })?;
        let user = self.prompts.task(&TaskContext {
            goal: context.goal,
            title: task.title(),
            description: &task.description,
            criteria: &task.completion_criteria,
            results: &fit(context.results, budget),
        })?;
        let input = ActorInput {
            spec,
            execution: context.execution,
            system,
            task: user,
            limits: context.limits,
            attended: context.attended,
            nudge_each_step: context.nudge_each_step,
            plain_answer_ends: context.plain_answer_ends,
            must_write_files: must_write_files(task),
            settings: self.settings,
        };
        Ok(Composed { input, selection })
    }
}

fn gather(
    profile: &Profile,
    task: &TaskSpec,
    context: &ActorContext<'_>,
    reasons: &mut Vec<String>,
) -> Result<Vec<ToolSheet>, ComposeError> {
    let mut names: Vec<String> = Vec::new();
    for bundle in &profile.bundles {
        match tools_of([bundle]) {
            Ok(tools) => names.extend(tools.into_iter().map(str::to_owned)),
            Err(_) => reasons.push(format!("without the bundle `{bundle}`: it does not exist here")),
        }
    }
    for tool in &profile.tools {
        if context.tools.get(tool).is_some() {
            names.push(tool.clone());
        } else {
            reasons.push(format!("without the tool `{tool}`: it does not exist here"));
        }
    }
    for bundle in &task.bundles {
        match tools_of([bundle]) {
            Ok(tools) => names.extend(tools.into_iter().map(str::to_owned)),
            // A planner that writes the name of a tool means the tool.
            Err(_) if context.tools.get(bundle).is_some() => names.push(bundle.clone()),
            Err(error) => {
                return Err(ComposeError::UnknownBundle { task: task.id.to_string(), message: error.to_string() });
            }
        }
    }
    names.extend(tools_of([COORDINATION]).unwrap_or_default().into_iter().map(str::to_owned));

    let mut sheets: Vec<ToolSheet> = Vec::new();
    for name in names {
        let denied = name != TERMINATE && profile.denied_tools.contains(&name);
        let nobody = name == ASK_HUMAN && !context.attended;
        if denied || nobody || sheets.iter().any(|sheet| sheet.name() == name) {
            continue;
        }
        let Some(tool) = context.tools.get(&name) else {
            continue;
        };
        let sheet = tool.sheet();
        if profile.read_only() && changes_something(sheet) {
            reasons.push(format!("without `{name}`: `{}` is read-only", profile.name));
            continue;
        }
        sheets.push(ToolSheet::clone(sheet));
    }
    Ok(sheets)
}

fn changes_something(sheet: &ToolSheet) -> bool {
    let inside = sheet.handled_by == HandledBy::Actor || matches!(sheet.touches, Touches::Nothing | Touches::People);
    !sheet.read_only && !inside
}

/// A tool in one line: its parameters, optional ones with a question mark, and the first sentence of its description.
fn note(sheet: &ToolSheet) -> ToolNote {
    let schema = &sheet.definition.parameters;
    let required = |name: &str| {
        schema.get("required").and_then(|r| r.as_array()).is_some_and(|required| required.iter().any(|r| r.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(|p| p.as_object());
    let parameter = |name: &String| if required(name) { name.clone() } else { format!("{name}?") };
    let description = sheet.definition.description.trim();
    let end = description.find(". ").map(|at| at + 1).or_else(|| description.find('\n')).unwrap_or(description.len());
    ToolNote {
        name: sheet.name().to_owned(),
        parameters: properties.into_iter().flat_map(|p| p.keys()).map(parameter).collect(),
        summary: description.get(..end).unwrap_or(description).trim().to_owned(),
    }
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
