//! What each prompt is given.

use std::sync::Arc;

use aime_llm::{ToolDefinition, estimate_tokens};
use aime_progress::{Plan, TaskSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Room;

/// The longest description of a tool or profile in a prompt, in characters.
const MAX_SUMMARY: usize = 120;
/// The longest goal of an example, in characters.
const MAX_GOAL: usize = 240;

/// A profile, as the planner chooses among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileBrief {
    /// Its name.
    pub name: String,
    /// What it is good at, in a line.
    pub description: String,
    /// The tools that its actors never get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_gets: Vec<String>,
}

impl ProfileBrief {
    /// Returns a profile whose actors may have every tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), never_gets: Vec::new() }
    }
}

/// A tool in one line: what a planner must know of it.
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
    /// The line of a tool.
    #[must_use]
    pub fn of(tool: &ToolDefinition) -> Self {
        let required: Vec<&str> =
            tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let names = tool.parameters.get("properties").and_then(Value::as_object).into_iter().flatten();
        let parameters: Vec<String> =
            names.map(|(name, _)| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }).collect();
        Self { name: tool.name.clone(), parameters: parameters.join(", "), summary: first_sentence(&tool.description) }
    }
}

/// The tools that plans may name, each with its line for the prompts. The lines are made once: a clone, and every request that is given one, shares
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTools {
    definitions: Arc<[ToolDefinition]>,
    lines: Arc<[ToolLine]>,
}

impl PlanTools {
    /// What the prompts say of them.
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
        let lines = definitions.iter().map(ToolLine::of).collect();
        Self { definitions: definitions.into(), lines }
    }
}

impl std::ops::Deref for PlanTools {
    type Target = [ToolDefinition];

    fn deref(&self) -> &[ToolDefinition] {
        &self.definitions
    }
}

/// What the prompts for a plan are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlanContext {
    /// What is wanted.
    pub goal: String,
    /// What the project says of itself, cut; may be empty.
    pub project: String,
    /// What earlier runs and documents say of the goal; may be empty.
    pub known: String,
    /// What the working folder holds, cut; may be empty.
    pub folder: String,
    /// The plan of a similar goal, if there is one.
    pub example: Option<PlanExample>,
    /// The tools that the runtime runs.
    pub tools: Arc<[ToolLine]>,
    /// The profiles to choose from; empty when there is no choice.
    pub profiles: Vec<ProfileBrief>,
    /// Whether a task may be a single tool call.
    pub tool_tasks: bool,
    /// The most tasks in a row.
    pub max_tasks: usize,
    /// The most sub-goals.
    pub max_sub_goals: usize,
    /// The most actions of a sub-goal.
    pub max_actions: usize,
    /// The most TODOs that an emergent plan begins with.
    pub first_todos: usize,
    /// Whether the model is a small one, which is told less.
    pub small: bool,
}

/// A plan of before, as an example for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanExample {
    /// What it was for.
    pub goal: String,
    /// Its tasks, a line each.
    pub steps: Vec<String>,
}

impl PlanExample {
    /// The example that a plan makes, in at most so many tokens as they are estimated; nothing where not even its first task fits. Tasks
    /// are left out from the end.
    #[must_use]
    pub fn of(plan: &Plan, tokens: u64) -> Option<Self> {
        let goal = cut(&plan.goal.split_whitespace().collect::<Vec<_>>().join(" "), MAX_GOAL);
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

/// A task in a line.
fn step(task: &TaskSpec) -> String {
    let what = if task.description.is_empty() { task.title() } else { &task.description };
    let mut line = format!("{}: {}", task.id, first_sentence(what));
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

/// What the prompt for a patch is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PatchContext {
    /// What is wanted.
    pub goal: String,
    /// What earlier runs and documents say of the goal; may be empty.
    pub known: String,
    /// What the working folder holds, cut; may be empty.
    pub folder: String,
    /// The plan and its progress, as Markdown.
    pub state: String,
    /// What the plan expected might go wrong, and what to do then, a line each.
    pub risks: Vec<String>,
    /// What failed.
    pub failed: Vec<FailedTask>,
    /// What was learnt, a line each.
    pub evidence: Vec<String>,
    /// What completed tasks came to, a line each.
    pub found: Vec<String>,
    /// The room of a plan that grows; nothing for one that is repaired.
    pub room: Option<Room>,
    /// Why the plan must be looked at, a line each.
    pub triggers: Vec<String>,
    /// The tools that the runtime runs.
    pub tools: Arc<[ToolLine]>,
    /// The profiles to choose from; empty when there is no choice.
    pub profiles: Vec<ProfileBrief>,
    /// Whether the model is a small one, which is told less.
    pub small: bool,
}

/// A task that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTask {
    /// Its id.
    pub id: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How it failed the last time.
    pub error: String,
}

/// What the prompt for the classifier is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RouteContext {
    /// What is wanted.
    pub goal: String,
}

/// What the prompt for a verdict is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VerdictContext {
    /// What is wanted.
    pub goal: String,
    /// What must hold.
    pub criteria: Vec<String>,
    /// What is known to have happened.
    pub evidence: String,
}

/// The first sentence of a text on one line, cut.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_once(". ").map_or(line.as_str(), |(first, _)| first);
    cut(sentence.trim_end_matches('.'), MAX_SUMMARY)
}

/// The first `limit` characters of a text, with a mark where something was left out.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}
