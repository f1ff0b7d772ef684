//! Contexts of the prompts.

use std::sync::Arc;

use aime_llm::{ToolDefinition, estimate_tokens};
use aime_progress_management::{Plan, TaskSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Room,
    draft::{first_lines, one_line},
};

/// Maximum length of the description of a tool, profile or task in the prompt of a small model, in characters.
const MAX_SUMMARY: usize = 120;

/// A profile in the form for the planner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileBrief {
    /// Its name.
    pub name: String,
    /// Its strengths, in one line.
    pub description: String,
    /// Tools that its actors never get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_gets: Vec<String>,
}

impl ProfileBrief {
    /// Returns a profile whose actors may have every tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), never_gets: Vec::new() }
    }

    /// Returns true if actors of the profile never get the tool.
    pub(crate) fn lacks(&self, tool: &str) -> bool {
        self.never_gets.iter().any(|name| name == tool)
    }
}

/// A tool in one line, for the planner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolLine {
    /// Its name.
    pub name: String,
    /// The names of its parameters, optional ones with a question mark: `path, offset?`.
    pub parameters: String,
    /// The first sentence of its description.
    pub summary: String,
}

impl ToolLine {
    /// Returns the line of a tool.
    #[must_use]
    pub fn of(tool: &ToolDefinition) -> Self {
        let required: Vec<&str> =
            tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let names = tool.parameters.get("properties").and_then(Value::as_object).into_iter().flatten();
        let parameters: Vec<String> =
            names.map(|(name, _)| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }).collect();
        Self { name: tool.name.clone(), parameters: parameters.join(", "), summary: first_sentence(&tool.description) }
    }

    /// Cuts the summary for a small model.
    fn shortened(self) -> Self {
        Self { summary: cut(&self.summary, MAX_SUMMARY), ..self }
    }
}

/// The tools that plans may name, with their lines for prompts. The lines are made once; clones and requests share
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTools {
    definitions: Arc<[ToolDefinition]>,
    lines: Arc<[ToolLine]>,
}

impl PlanTools {
    /// Returns the lines for prompts.
    #[must_use]
    pub const fn lines(&self) -> &Arc<[ToolLine]> {
        &self.lines
    }
}

impl Default for PlanTools {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<ToolDefinition>> for PlanTools {
    fn from(definitions: Vec<ToolDefinition>) -> Self {
        let lines = definitions.iter().map(|tool| ToolLine::of(tool).shortened()).collect();
        Self { definitions: definitions.into(), lines }
    }
}

impl std::ops::Deref for PlanTools {
    type Target = [ToolDefinition];

    fn deref(&self) -> &[ToolDefinition] {
        &self.definitions
    }
}

/// Context of the prompts for a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlanContext {
    /// The goal.
    pub goal: String,
    /// The project's description of itself; may be empty.
    pub project: String,
    /// Memories of earlier runs and documents on the goal; may be empty.
    pub known: String,
    /// Names in the working folder; may be empty.
    pub folder: String,
    /// The plan of a similar goal, if there is one.
    pub example: Option<PlanExample>,
    /// The tools that the runtime calls.
    pub tools: Arc<[ToolLine]>,
    /// The profiles to choose from; empty when there is no choice.
    pub profiles: Vec<ProfileBrief>,
    /// True if a task may be a single tool call.
    pub tool_tasks: bool,
    /// Maximum number of consecutive tasks.
    pub max_tasks: usize,
    /// Maximum number of sub-goals.
    pub max_sub_goals: usize,
    /// Maximum number of actions of a sub-goal.
    pub max_actions: usize,
    /// Maximum number of first TODOs of an emergent plan.
    pub first_todos: usize,
    /// True for a short prompt, such as small models get.
    pub simple: bool,
}

/// An earlier plan, as an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanExample {
    /// The goal of the plan.
    pub goal: String,
    /// Its tasks, one per line.
    pub steps: Vec<String>,
}

impl PlanExample {
    /// Returns a plan as an example, in at most `tokens` estimated tokens, or `None` if not even its first task fits.
    /// Leaves out tasks from the end.
    #[must_use]
    pub fn of(plan: &Plan, tokens: u64) -> Option<Self> {
        let goal = first_lines(&one_line(&plan.goal), tokens / 4);
        let mut room = tokens.checked_sub(estimate_tokens(&goal))?;
        let mut steps = Vec::new();
        for (at, task) in plan.tasks.iter().enumerate() {
            let left = plan.tasks.len() - at;
            let line = step(task);
            let Some(rest) = room.checked_sub(estimate_tokens(&line) + 2) else {
                steps.push(format!("… and {left} more"));
                break;
            };
            room = rest;
            steps.push(line);
        }
        (!plan.tasks.is_empty() && !steps.first().is_some_and(|first| first.starts_with('…'))).then_some(Self { goal, steps })
    }
}

/// Formats a task in one line.
fn step(task: &TaskSpec) -> String {
    let what = if task.description.is_empty() { task.title() } else { &task.description };
    let mut line = format!("{}: {}", task.id, summary(what));
    let mut add = |word: &str, names: &[String]| {
        if !names.is_empty() {
            line.push_str(&format!(" ({word} {})", names.join(", ")));
        }
    };
    add("tool", task.tool.as_slice());
    add("part of", &task.parent.iter().map(ToString::to_string).collect::<Vec<_>>());
    add("after", &task.dependencies.iter().map(ToString::to_string).collect::<Vec<_>>());
    line
}

/// Context of the prompt for a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PatchContext {
    /// The goal.
    pub goal: String,
    /// Memories of earlier runs and documents on the goal; may be empty.
    pub known: String,
    /// Names in the working folder; may be empty.
    pub folder: String,
    /// The wake message: the plan, the results, the evidence, and the reasons for the replan.
    pub state: String,
    /// The failed tasks.
    pub failed: Vec<FailedTask>,
    /// Room of a plan that grows; absent for one that is repaired.
    pub room: Option<Room>,
    /// The tools that the runtime calls.
    pub tools: Arc<[ToolLine]>,
    /// The profiles to choose from; empty when there is no choice.
    pub profiles: Vec<ProfileBrief>,
    /// True for a short prompt, such as small models get.
    pub simple: bool,
}

/// A task that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailedTask {
    /// Its id.
    pub id: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// Context of the prompt for the classifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RouteContext {
    /// The goal.
    pub goal: String,
}

/// Context of the prompt for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VerdictContext {
    /// The goal.
    pub goal: String,
    /// The criteria to judge.
    pub criteria: Vec<String>,
    /// The recorded evidence.
    pub evidence: String,
}

/// Returns the first sentence of a text on one line, cut for a small model.
pub(crate) fn summary(text: &str) -> String {
    cut(&first_sentence(text), MAX_SUMMARY)
}

/// Returns the first sentence of a text on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_once(". ").map_or(line.as_str(), |(first, _)| first);
    sentence.trim_end_matches('.').to_owned()
}

/// Returns the first `limit` characters of a text, with a mark if something was left out.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}
