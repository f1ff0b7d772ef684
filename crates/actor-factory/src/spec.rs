//! What an actor is, and what it starts from.

use std::collections::BTreeMap;

use aime_llm::{Effort, Image, ModelLimits};
use aime_progress::{ActorId, EvidenceId, Origin, PlanId, TaskId, Timestamp};
use aime_redact::Redactor;
use aime_tools::{Approval, FAILURES_BEFORE_HINT, PermissionRules, ToolSheet, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ActorTools, CONCLUDE_AFTER, HOPELESS_AFTER, STUCK_AFTER};

/// How freely an actor's model writes, unless its profile says otherwise: little, so that small models keep to their tools.
pub(crate) const DEFAULT_TEMPERATURE: f32 = 0.2;

/// How deep actors may delegate, unless the settings say otherwise.
pub(crate) const DEFAULT_MAX_DEPTH: u32 = 2;

/// What can be set of how all actors behave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActorSettings {
    /// How freely a model writes, 0 to 2, unless its profile says otherwise.
    pub temperature: f32,
    /// After so many failures in a row of one tool the actor is told of others.
    pub failures_before_hint: u32,
    /// After so many rounds in which an open TODO list was not updated the actor is reminded of it.
    pub rounds_before_todo_reminder: u32,
    /// After so many same calls with the same result the actor is told to change its way.
    pub stuck_after: u32,
    /// After so many it is asked for nothing but its conclusion.
    pub conclude_after: u32,
    /// After so many the task has failed.
    pub hopeless_after: u32,
    /// The part of the context window, above 0 and up to 1, at which the history is compacted.
    pub compact_at: f64,
    /// The messages at the end that compaction never removes.
    pub kept_messages: usize,
    /// How many actors may stand in a row below one that works for the plan, each made by the one before it.
    pub max_depth: u32,
}

impl Default for ActorSettings {
    fn default() -> Self {
        Self {
            temperature: DEFAULT_TEMPERATURE,
            failures_before_hint: FAILURES_BEFORE_HINT,
            rounds_before_todo_reminder: 3,
            stuck_after: STUCK_AFTER,
            conclude_after: CONCLUDE_AFTER,
            hopeless_after: HOPELESS_AFTER,
            compact_at: 0.8,
            kept_messages: 6,
            max_depth: DEFAULT_MAX_DEPTH,
        }
    }
}

/// An actor, made for one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorSpec {
    /// Unique in the run.
    pub id: ActorId,
    /// For people: the profile and the task.
    pub name: String,
    /// What it is there for, in a sentence.
    pub description: String,
    /// The profile it was made from.
    pub profile: String,
    /// Its tools, in the order in which the model sees them.
    pub tools: ActorTools,
    /// The skills that stand whole in its system prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The texts of those that stand in its profile, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inline_skills: BTreeMap<String, String>,
    /// The beginning of its system prompt.
    pub persona: String,
    /// The role of its model, as in `[models.ROLE]`.
    pub model: String,
    /// How long its model thinks before it answers; the model's own setting when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// 0 to 2; the server's default when absent.
    pub temperature: Option<f32>,
    /// The plan.
    pub plan: PlanId,
    /// The task.
    pub task: TaskId,
    /// How many answers of the model it may use.
    pub max_steps: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// Which calls it may make by itself.
    pub approval: Approval,
    /// The rules that come before that.
    pub rules: PermissionRules,
}

impl ActorSpec {
    /// The sheet of one of its tools.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSheet> {
        self.tools.iter().map(AsRef::as_ref).find(|sheet| sheet.name() == name)
    }

    /// The names of its tools, in order.
    #[must_use]
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|sheet| sheet.name()).collect()
    }
}

/// What an actor's machine starts from. It holds the rendered prompts, so that a journal stays true when templates change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorInput {
    /// Who acts.
    pub spec: ActorSpec,
    /// Which execution of the task this is, from 1. Part of every effect's id.
    pub execution: u32,
    /// The call of another actor that this one answers, by its name in events; none where it works for the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// How many actors stand between it and the plan.
    #[serde(default)]
    pub depth: u32,
    /// The system prompt.
    pub system: String,
    /// The task as the model is told it.
    pub task: String,
    /// The images of the goal, beside the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What the model can hold.
    pub limits: ModelLimits,
    /// Whether a person can be asked.
    pub attended: bool,
    /// Whether each round of results is followed by a short reminder of how to go on. It helps small models.
    pub nudge_each_step: bool,
    /// True if the task is tried again when the actor reports that it failed.
    #[serde(default)]
    pub retry_reported: bool,
    /// Whether the first answer without a tool call may be the result, as for a plain question.
    pub plain_answer_ends: bool,
    /// What the plan expects might go wrong, a line each, as the task tells them by number. One that comes true is evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
    /// The notes that a user has replaced, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// Whether the task asks for a file: an answer in words before any call is then not the result.
    pub must_write_files: bool,
    /// The files that such a task names, without their folders and in lower case: one that no call has named may have been forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_files: Vec<String>,
    /// How it behaves.
    #[serde(default)]
    pub settings: ActorSettings,
    /// What people had said to it before it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// What is vouched for. An actor of a journal from before there was this has none: what it reads changes nothing in what it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Where the texts in its prompts come from that nobody vouches for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// The number of criteria on which an auditor ends with verdicts; 0 for every other actor.
    #[serde(default)]
    pub audits: u32,
    /// The settings of the lead of a run; none for an actor that does one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<LeadSettings>,
    /// Whether results stand in the history between marks that say where they come from.
    #[serde(default)]
    pub marks: bool,
}

/// The settings of the conversation that leads a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadSettings {
    /// The lead must submit a plan and may not do the work itself.
    pub must_plan: bool,
}

/// A message of the run to its lead. A number that was seen before changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadWake {
    /// The number of the wake. The first wake, which begins the conversation, is 1.
    pub number: u32,
    /// The changes since the last wake.
    pub text: String,
    /// True if the lead may change files and run commands now. It may not while tasks of a plan run.
    pub may_write: bool,
    /// True if the task of the lead's own work is open.
    pub works: bool,
    /// The words that outlive a compaction: goal, plan, criteria, unhandled words of people.
    pub kept: String,
    /// The origins of texts in it that nobody vouches for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// Words of a person for an actor at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Their name in the run: words that an actor has heard under it are dropped.
    pub id: EvidenceId,
    /// The words.
    pub text: String,
}

impl ActorInput {
    /// Takes out the secrets that `redactor` finds, save in the data of images: it is no text, and a change would break it.
    #[must_use]
    pub fn without_secrets(mut self, redactor: &Redactor) -> Self {
        let images = std::mem::take(&mut self.images);
        Self { images, ..redactor.typed(self) }
    }

    /// The origins of what nobody vouches for in its first request: its prompts, and what servers say of their tools.
    pub(crate) fn first_origins(&self) -> Vec<Origin> {
        let mut origins = self.origins.clone();
        if self.trust.is_some() {
            Origin::merge(&mut origins, &Trust::untrusted_descriptions(self.spec.tools.iter().map(AsRef::as_ref)));
        }
        origins
    }

    /// The beginning of every effect's id: see [`effect_prefix`].
    #[must_use]
    pub fn effect_prefix(&self) -> String {
        match (&self.lead, &self.call) {
            (Some(_), None) => LEAD_PREFIX.to_owned(),
            (_, call) => effect_prefix(&self.spec.task, self.execution, call.as_deref()),
        }
    }
}

/// The beginning of the ids of all effects of a run's lead. No task's actor has it, since an execution is a number.
pub const LEAD_PREFIX: &str = "lead/chat";

/// The beginning of the ids of all effects of an actor: `TASK/EXECUTION`, for one that another actor has made `CALL/d`. No two actors of a
/// run share one, so that it can name an actor's journal too.
#[must_use]
pub fn effect_prefix(task: &TaskId, execution: u32, call: Option<&str>) -> String {
    match call {
        Some(call) => format!("{call}/d"),
        None => format!("{task}/{execution}"),
    }
}
