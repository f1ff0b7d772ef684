//! Spec and input of an actor.

use std::collections::BTreeMap;

use aime_llm::{Effort, Image, ModelLimits};
use aime_progress_management::{ActorId, EvidenceId, Origin, PlanId, TaskId, Timestamp};
use aime_redact::Redactor;
use aime_tools::{Approval, FAILURES_BEFORE_HINT, ModelClass, PermissionRules, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ABORT_AFTER_REPEATS, ActorTools, CONCLUDE_AFTER_REPEATS, WARN_AFTER_REPEATS};

/// Default temperature of an actor's model. It is low, so that small models keep to their tools.
pub(crate) const DEFAULT_TEMPERATURE: f32 = 0.2;

/// Default depth of delegation.
pub(crate) const DEFAULT_MAX_DEPTH: u32 = 2;

/// Settings of all actors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActorSettings {
    /// Temperature of the model, 0 to 2, unless the profile sets another one.
    pub temperature: f32,
    /// Number of failures in a row of one tool after which a hint names other tools.
    pub failures_before_hint: u32,
    /// Number of rounds without an update of an open TODO list after which the actor is reminded of it.
    pub rounds_before_todo_reminder: u32,
    /// Number of identical calls with the same result after which the actor is told to change its approach.
    pub warn_after_repeats: u32,
    /// Number of such calls after which an actor with a small model is asked for its conclusion only.
    pub conclude_after_repeats: u32,
    /// Number of such calls after which the task has failed.
    pub abort_after_repeats: u32,
    /// Share of the context window, above 0 and up to 1, at which the history is compacted.
    pub compact_at: f64,
    /// Number of messages at the end that compaction never removes.
    pub kept_messages: usize,
    /// Maximum depth of delegation below an actor that works for the plan.
    pub max_depth: u32,
}

impl ActorSettings {
    /// Turns off reminders and the limits on repetitions, for an external agent.
    pub(crate) const fn without_notes(self) -> Self {
        let never = u32::MAX;
        Self {
            failures_before_hint: never,
            rounds_before_todo_reminder: never,
            warn_after_repeats: never,
            conclude_after_repeats: never,
            abort_after_repeats: never,
            ..self
        }
    }
}

impl Default for ActorSettings {
    fn default() -> Self {
        Self {
            temperature: DEFAULT_TEMPERATURE,
            failures_before_hint: FAILURES_BEFORE_HINT,
            rounds_before_todo_reminder: 3,
            warn_after_repeats: WARN_AFTER_REPEATS,
            conclude_after_repeats: CONCLUDE_AFTER_REPEATS,
            abort_after_repeats: ABORT_AFTER_REPEATS,
            compact_at: 0.8,
            kept_messages: 6,
            max_depth: DEFAULT_MAX_DEPTH,
        }
    }
}

/// Actor made for one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorSpec {
    /// Id, unique in the run.
    pub id: ActorId,
    /// Name for people: the profile and the task.
    pub name: String,
    /// Purpose in one sentence.
    pub description: String,
    /// Profile that it was made from.
    pub profile: String,
    /// Tools, in the order in which the model sees them.
    pub tools: ActorTools,
    /// Names of the skills whose full texts the system prompt holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Texts of the skills that its profile defines, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inline_skills: BTreeMap<String, String>,
    /// Beginning of its system prompt.
    pub persona: String,
    /// Role of its model, as in `[models.ROLE]`.
    pub model: String,
    /// Reasoning effort of its model; the model's own setting if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Temperature, 0 to 2; the server's default if absent.
    pub temperature: Option<f32>,
    /// The plan.
    pub plan: PlanId,
    /// The task.
    pub task: TaskId,
    /// True if an external agent acts, which the profile names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
    /// Number of model answers that it may use.
    pub max_steps: u32,
    /// Time at which it was made.
    pub created_at: Timestamp,
    /// Approval mode: calls that it may make without consent.
    pub approval: Approval,
    /// Permission rules, which take precedence over the approval mode.
    pub rules: PermissionRules,
}

impl ActorSpec {
    /// Returns the spec of one of its tools.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().map(AsRef::as_ref).find(|tool| tool.name() == name)
    }

    /// Returns the names of its tools, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }
}

/// Input of an actor's machine. It holds the rendered prompts, so that a replay does not depend on later changes of templates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorInput {
    /// Spec of the actor.
    pub spec: ActorSpec,
    /// Number of this execution of the task, from 1. Part of every effect's id.
    pub execution: u32,
    /// Name in events of the other actor's call that this one answers; none if it works for the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Number of actors between it and the plan.
    #[serde(default)]
    pub depth: u32,
    /// The system prompt.
    pub system: String,
    /// Task as the model sees it.
    pub task: String,
    /// Images of the goal, sent with the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Limits of the model.
    pub limits: ModelLimits,
    /// True if a person can answer questions.
    pub attended: bool,
    /// Settings of the class of its model.
    #[serde(default)]
    pub class: ModelClass,
    /// True if the first answer without a tool call may be the result, as for a plain question.
    pub plain_answer_ends: bool,
    /// Risks that the plan expects, one line each, in the order in which the prompt numbers them. One that comes true is evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
    /// Notes that a user has replaced, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// True if the task asks for a file. A plain answer before any call is then not the result.
    pub must_write_files: bool,
    /// True if the task names work that words alone cannot do. The model is asked back once after a plain answer before any call.
    #[serde(default)]
    pub names_work: bool,
    /// Files that such a task names, in lower case and without folders. The actor may have forgotten one that no call has named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_files: Vec<String>,
    /// Settings of its behaviour.
    #[serde(default)]
    pub settings: ActorSettings,
    /// Messages of people from before it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PersonMessage>,
    /// Sources that the user trusts. Without it, texts that the actor reads do not change its permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Origins of untrusted texts in its prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// Number of criteria on which an auditor gives verdicts; 0 for every other actor.
    #[serde(default)]
    pub audits: u32,
    /// Settings of a run's lead; none for an actor that does one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<LeadSettings>,
    /// True if results in the history are enclosed in marks that name their origin.
    #[serde(default)]
    pub marks: bool,
}

/// Settings of the conversation that leads a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadSettings {
    /// True if the lead must submit a plan and may not do the work itself.
    pub must_plan: bool,
    /// Maximum number of tokens of results for which it may look in one wake, unless it may do the work itself then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_tokens: Option<u64>,
}

/// Message of the run to its lead. The lead ignores a number that it has seen before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadWake {
    /// Number of the wake. The first wake, which begins the conversation, is 1.
    pub number: u32,
    /// Changes since the last wake.
    pub text: String,
    /// True if the lead may change files and run commands now. It may not while tasks of a plan run.
    pub may_write: bool,
    /// True if the task of the lead's own work is open.
    pub works: bool,
    /// Text that survives a compaction: goal, plan, criteria, unhandled messages of people.
    pub kept: String,
    /// Origins of untrusted content in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// Message of a person to an actor at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonMessage {
    /// Id of the message in the run. The actor drops a message whose id it has already heard.
    pub id: EvidenceId,
    /// The words.
    pub text: String,
}

impl ActorInput {
    /// Removes the secrets that `redactor` finds, except in image data, which a change would break.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let images = std::mem::take(&mut self.images);
        Self { images, ..redactor.typed(self) }
    }

    /// Returns the origins of untrusted texts in its first request: its prompts, and the tool descriptions of servers. An external agent may
    /// read anything unseen.
    pub(crate) fn first_origins(&self) -> Vec<Origin> {
        let mut origins = self.origins.clone();
        if self.trust.is_some() {
            Origin::merge(&mut origins, &Trust::untrusted_descriptions(self.spec.tools.iter().map(AsRef::as_ref)));
            Origin::merge(&mut origins, &self.spec.agent.then(|| Origin::Agent(self.spec.profile.clone())));
        }
        origins
    }

    /// Returns the prefix of every effect's id: see [`effect_prefix`].
    #[must_use]
    pub fn effect_prefix(&self) -> String {
        match (&self.lead, &self.call) {
            (Some(_), None) => LEAD_PREFIX.to_owned(),
            (_, call) => effect_prefix(&self.spec.task, self.execution, call.as_deref()),
        }
    }
}

/// Prefix of the ids of all effects of a run's lead. It cannot collide with a task's actor, whose execution is a number.
pub const LEAD_PREFIX: &str = "lead/chat";

/// Returns the prefix of the ids of all effects of an actor: `TASK/EXECUTION`, or `CALL/d` for a delegated actor. It is unique in a run, so
/// it can also name an actor's journal.
#[must_use]
pub fn effect_prefix(task: &TaskId, execution: u32, call: Option<&str>) -> String {
    match call {
        Some(call) => format!("{call}/d"),
        None => format!("{task}/{execution}"),
    }
}
