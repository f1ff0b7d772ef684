//! The prompt that starts the lead's conversation.

use aime_llm::Message;
use aime_progress_management::PlanMode;
use aime_tools::Bundle;
use serde::Serialize;

use crate::{PlanLimits, ProfileBrief, PromptError, Prompts, Strategy, ToolLine};

/// Facts about the run and its machine in the lead's prompt. Texts may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeadBrief {
    /// The goal.
    pub goal: String,
    /// Decides if the lead must plan, may plan, or works alone.
    pub strategy: Strategy,
    /// The mode of its plans; without one the lead chooses.
    pub mode: Option<PlanMode>,
    /// True if a person is there to ask.
    pub attended: bool,
    /// Operating system, date, versions of programs, and the limits of commands on writing and network access.
    pub environment: String,
    /// The working folder as a tree, folders marked.
    pub folder: String,
    /// Git branch and status.
    pub git: String,
    /// The project's instruction files.
    pub instructions: String,
    /// Recalled memories of earlier runs and documents about the goal.
    pub known: String,
    /// The run so far: the wake message of a run that begins with a plan or continues after its end.
    pub state: String,
    /// The profiles of actors.
    pub profiles: Vec<ProfileBrief>,
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
    /// Returns the prompt of the lead.
    ///
    /// # Errors
    /// [`PromptError::Broken`] if a replaced prompt cannot be filled in.
    pub fn lead(&self, brief: &LeadBrief) -> Result<LeadPrompt, PromptError> {
        let mut prompt = LeadPrompt { system: String::new(), task: String::new() };
        for message in self.render("lead", brief)? {
            match message {
                Message::System { content } => prompt.system = content,
                Message::User { content, .. } => prompt.task = content,
                Message::Assistant { .. } | Message::Tool { .. } => {}
            }
        }
        Ok(prompt)
    }
}
