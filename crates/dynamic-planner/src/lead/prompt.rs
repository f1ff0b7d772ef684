//! The prompt that starts the lead's conversation.

use aime_llm::Message;
use aime_progress_management::PlanMode;
use aime_tools::Bundle;
use serde::Serialize;

use crate::{PlanLimits, PlannerPromptError, ProfileBrief, Prompts, ToolLine};

/// Facts about the run and its machine in the lead's prompt. Texts may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeadBrief {
    /// The goal.
    pub goal: String,
    /// True if the lead must plan, and changes no files itself.
    pub must_plan: bool,
    /// The mode of its plans; without one the lead chooses.
    pub mode: Option<PlanMode>,
    /// True if a person is there to ask.
    pub attended: bool,
    /// Operating system, date, versions of programs, the limits of commands on writing and network access, the git state, and the
    /// working folder as a tree, folders marked.
    pub environment: String,
    /// The project's instruction files.
    pub instructions: String,
    /// Recalled memories of earlier runs and documents about the goal.
    pub known: String,
    /// The run so far: the wake message of a run that begins with a plan or continues after its end.
    pub state: String,
    /// The profiles of actors.
    pub profiles: Vec<ProfileBrief>,
    /// The models that tasks may name; empty if there is no choice.
    pub models: Vec<String>,
    /// The tool bundles of actors.
    pub bundles: Vec<BundleBrief>,
    /// The tools that a task may call and that the lead does not have.
    pub tools: Vec<ToolLine>,
    /// Limits on the size of plans.
    pub limits: PlanLimits,
}

/// A tool bundle in the form for the lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleBrief {
    /// Its name.
    pub name: String,
    /// Its purpose, in a phrase.
    pub description: String,
}

impl From<&Bundle> for BundleBrief {
    fn from(bundle: &Bundle) -> Self {
        Self { name: bundle.name.to_owned(), description: bundle.description.to_owned() }
    }
}

/// The brief together with the rules for plans, which are empty for a lead that may work without one.
#[derive(Debug, Serialize)]
pub(crate) struct LeadContext<'a> {
    #[serde(flatten)]
    pub(crate) brief: &'a LeadBrief,
    pub(crate) plans: String,
}

/// The messages that start the lead's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadPrompt {
    /// The system message. It depends on settings but not on the goal, so that prompt caches match.
    pub system: String,
    /// The first user message.
    pub task: String,
}

impl LeadBrief {
    /// Returns the brief of a goal with these limits on plans and no other facts.
    #[must_use]
    pub fn new(goal: impl Into<String>, limits: PlanLimits) -> Self {
        Self { goal: goal.into(), limits, ..Self::default() }
    }
}

impl Prompts {
    /// Returns the prompt of the lead. A lead that may work without a plan is not told how to write one: it asks for
    /// the [guide](Self::plan_guide) if it wants to plan.
    ///
    /// # Errors
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub fn lead(&self, brief: &LeadBrief) -> Result<LeadPrompt, PlannerPromptError> {
        let plans = if brief.must_plan { self.plan_guide(brief)? } else { String::new() };
        let mut prompt = LeadPrompt { system: String::new(), task: String::new() };
        for message in self.render("lead", &LeadContext { brief, plans })? {
            match message {
                Message::System { content } => prompt.system = content,
                Message::User { content, .. } => prompt.task = content,
                Message::Assistant { .. } | Message::Tool { .. } => {}
            }
        }
        Ok(prompt)
    }

    /// Returns the text that tells the lead how to write a plan, with the profiles, bundles and tools that it may name.
    ///
    /// # Errors
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub fn plan_guide(&self, brief: &LeadBrief) -> Result<String, PlannerPromptError> {
        let texts = self.render("lead_plans", brief)?.into_iter().filter_map(|message| match message {
            Message::System { content } | Message::User { content, .. } => Some(content),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        Ok(texts.collect::<Vec<_>>().join("\n\n"))
    }
}
