//! The prompts: Markdown files with typed contexts. A user's file of the same name can replace each of them.
//!
//! A file has a part for the system message and a part for the user message, each after its mark. Texts that depend on
//! the goal are in the user part, so that prompt caches match the system part.

mod context;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use aime_llm::{Message, in_another_script};
use aime_progress_management::PlanMode;
use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{BundleBrief, LeadBrief, PlanLimits, audit::AuditContext, lead::LeadContext};

pub(crate) use context::{FailedTask, PatchContext, PlanContext, RouteContext, VerdictContext, cut, first_sentence, summary};
pub use context::{PlanExample, PlanTools, ProfileBrief, ToolLine};

const SYSTEM_MARK: &str = "<!-- system -->";
const USER_MARK: &str = "<!-- user -->";

/// A value that occurs in no prompt by itself: a filled-in prompt that contains it uses the variable.
const SENTINEL: &str = "sentinelofthecheck";

const BUILT_IN: [(&str, &str); 11] = [
    ("route", include_str!("../prompts/route.md")),
    ("plan_simple", include_str!("../prompts/plan_simple.md")),
    ("plan_complex", include_str!("../prompts/plan_complex.md")),
    ("plan_emergent", include_str!("../prompts/plan_emergent.md")),
    ("plan_simplified", include_str!("../prompts/plan_simplified.md")),
    ("patch", include_str!("../prompts/patch.md")),
    ("update", include_str!("../prompts/update.md")),
    ("verdict", include_str!("../prompts/verdict.md")),
    ("audit", include_str!("../prompts/audit.md")),
    ("lead", include_str!("../prompts/lead.md")),
    ("lead_plans", include_str!("../prompts/lead_plans.md")),
];

/// Reason why a prompt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlannerPromptError {
    /// There is no prompt of this name.
    #[error("{name}.md: there is no prompt {name:?}; the prompts are {known}", known = names())]
    NoSuchPrompt {
        /// The name.
        name: String,
    },
    /// The prompt is not a valid template, or cannot be filled in.
    #[error("{name}.md:{line}: {reason}")]
    InvalidTemplate {
        /// The prompt.
        name: String,
        /// The line.
        line: usize,
        /// The error.
        reason: String,
    },
    /// The prompt uses an unknown variable.
    #[error("{name}.md:{line}: there is no variable {variable:?} here; the variables are {known}")]
    UnknownVariable {
        /// The prompt.
        name: String,
        /// The line of its first use.
        line: usize,
        /// The variable.
        variable: String,
        /// The known variables.
        known: String,
    },
    /// The prompt leaves out a required variable.
    #[error("{name}.md: it does not use {{{{ {variable} }}}}: add it")]
    MissingVariable {
        /// The prompt.
        name: String,
        /// The required variable.
        variable: &'static str,
    },
}

fn names() -> String {
    BUILT_IN.map(|(name, _)| name).join(", ")
}

/// All prompts, compiled and ready to be filled in.
#[derive(Debug)]
pub struct Prompts {
    environment: Environment<'static>,
    lines: BTreeMap<String, usize>,
}

impl Default for Prompts {
    fn default() -> Self {
        let mut prompts = Self { environment: environment(), lines: BTreeMap::new() };
        for (name, text) in BUILT_IN {
            // The tests find a broken built-in prompt, and so does its first use.
            if let Err(error) = prompts.add(name, text) {
                tracing::error!(%error, "a built-in prompt is broken");
            }
        }
        prompts
    }
}

impl Prompts {
    /// Returns the built-in prompts with some of them replaced: a name, such as `plan_simple`, and the new text.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError`] with file and line if a name is unknown, a text is no template, uses an unknown variable or
    /// leaves out the goal (in `verdict` and `audit`: the criteria; in `lead_plans`: the profiles).
    pub fn with_overrides(overrides: &BTreeMap<String, String>) -> Result<Self, PlannerPromptError> {
        let mut prompts = Self::default();
        for (name, text) in overrides {
            if !BUILT_IN.iter().any(|(known, _)| known == name) {
                return Err(PlannerPromptError::NoSuchPrompt { name: name.clone() });
            }
            prompts.add(name, text)?;
            prompts.check(name, text)?;
        }
        Ok(prompts)
    }

    /// Returns the built-in texts by name, as a basis for your own.
    #[must_use]
    pub fn built_in() -> &'static [(&'static str, &'static str)] {
        &BUILT_IN
    }

    /// Returns the request to the classifier.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn route(&self, context: &RouteContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("route", context)
    }

    /// Returns the request for a plan of a few consecutive tasks.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn plan_simple(&self, context: &PlanContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("plan_simple", context)
    }

    /// Returns the request for a plan of sub-goals and actions.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn plan_complex(&self, context: &PlanContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("plan_complex", context)
    }

    /// Returns the request for the first TODOs of an emergent plan.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn plan_emergent(&self, context: &PlanContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("plan_emergent", context)
    }

    /// Returns the request for a simplified plan, after better ones failed.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn plan_simplified(&self, context: &PlanContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("plan_simplified", context)
    }

    /// Returns the request for a patch.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn patch(&self, context: &PatchContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("patch", context)
    }

    /// Returns the request for an update that grows a plan.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn update(&self, context: &PatchContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("update", context)
    }

    /// Returns the request for a verdict on criteria.
    ///
    /// # Errors
    ///
    /// [`PlannerPromptError::InvalidTemplate`] if a replaced prompt cannot be filled in.
    pub(crate) fn verdict(&self, context: &VerdictContext) -> Result<Vec<Message>, PlannerPromptError> {
        self.render("verdict", context)
    }

    /// Returns the address of each compiled template's text.
    #[cfg(test)]
    pub(crate) fn compiled(&self) -> BTreeMap<String, *const u8> {
        self.environment.templates().map(|(id, template)| (id.to_owned(), template.source().as_ptr())).collect()
    }

    /// Returns the current texts of the templates for plans.
    pub(crate) fn planning_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self
            .environment
            .templates()
            .filter(|(id, _)| id.starts_with("plan_"))
            .map(|(id, template)| format!("{id}\n{}", template.source()))
            .collect();
        texts.sort();
        texts
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), PlannerPromptError> {
        for part in parts(text) {
            let id = format!("{name}.{}", part.role);
            self.lines.insert(id.clone(), part.line);
            self.environment.add_template_owned(id, part.text.to_owned()).map_err(|error| broken(name, part.line, &error))?;
        }
        Ok(())
    }

    /// Checks for unknown variables, fills in the prompt with a sample, and checks for the required variable.
    fn check(&self, name: &str, text: &str) -> Result<(), PlannerPromptError> {
        let mut sample = sample(name);
        let known: Vec<&str> = sample.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        for part in parts(text) {
            let id = format!("{name}.{}", part.role);
            let Ok(template) = self.environment.get_template(&id) else { continue };
            let mut unknown: Vec<String> =
                template.undeclared_variables(false).into_iter().filter(|variable| !known.contains(&variable.as_str())).collect();
            unknown.retain(|variable| !self.environment.globals().any(|(global, _)| global == variable));
            unknown.sort();
            if let Some(variable) = unknown.into_iter().next() {
                let line = part.line + part.text.lines().position(|line| names_variable(line, &variable)).unwrap_or(0);
                return Err(PlannerPromptError::UnknownVariable { name: name.to_owned(), line, variable, known: known.join(", ") });
            }
        }
        let (variable, value) = match name {
            "verdict" | "audit" => ("criteria", Value::from(vec![SENTINEL])),
            "lead_plans" => ("profiles", json!([{"name": SENTINEL, "description": ""}])),
            _ => ("goal", Value::from(SENTINEL)),
        };
        if let Some(asked) = sample.get_mut(variable) {
            *asked = value;
        }
        let messages = self.render(name, &sample)?;
        // Compared in lower case, because a template may change the case of the value.
        let has_sentinel = |message: &Message| match message {
            Message::System { content } | Message::User { content, .. } => content.to_lowercase().contains(SENTINEL),
            Message::Assistant { .. } | Message::Tool { .. } => false,
        };
        if messages.iter().any(has_sentinel) {
            Ok(())
        } else {
            Err(PlannerPromptError::MissingVariable { name: name.to_owned(), variable })
        }
    }

    pub(crate) fn render(&self, name: &str, context: &impl Serialize) -> Result<Vec<Message>, PlannerPromptError> {
        let mut messages = Vec::new();
        for role in ["system", "user"] {
            let id = format!("{name}.{role}");
            let line = self.lines.get(&id).copied().unwrap_or(1);
            let template = self.environment.get_template(&id).map_err(|error| broken(name, line, &error))?;
            let content = template.render(Serde(context)).map_err(|error| broken(name, line, &error))?.trim().to_owned();
            if !content.is_empty() {
                messages.push(if role == "system" { Message::System { content } } else { Message::user(content) });
            }
        }
        Ok(messages)
    }
}

struct Part<'a> {
    role: &'static str,
    text: &'a str,
    /// First line of the text in the file.
    line: usize,
}

/// Splits a prompt file into its two parts. A file without marks is only the user part.
fn parts(text: &str) -> [Part<'_>; 2] {
    let (system, user) = match text.split_once(USER_MARK) {
        Some((system, user)) => (system, user),
        None if text.contains(SYSTEM_MARK) => (text, ""),
        None => ("", text),
    };
    let before = text.len() - user.len();
    let user_line = 1 + text.get(..before).map_or(0, |t| t.matches('\n').count());
    let (preface, system) = match system.split_once(SYSTEM_MARK) {
        Some((preface, system)) => (preface, system),
        None => ("", system),
    };
    let system_line = 1 + preface.matches('\n').count();
    [Part { role: "system", text: system, line: system_line }, Part { role: "user", text: user, line: user_line }]
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    environment.add_test("in_another_script", |text: &str| in_another_script(text));
    environment
}

fn broken(name: &str, first_line: usize, error: &minijinja::Error) -> PlannerPromptError {
    let line = first_line + error.line().map_or(0, |line| line.saturating_sub(1));
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    PlannerPromptError::InvalidTemplate { name: name.to_owned(), line, reason }
}

/// Returns true if a line of a template uses a variable.
fn names_variable(line: &str, variable: &str) -> bool {
    line.contains('{')
        && line.match_indices(variable).any(|(at, _)| {
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let before = line.get(..at).and_then(|t| t.chars().next_back());
            let after = line.get(at + variable.len()..).and_then(|t| t.chars().next());
            !word(before) && !word(after)
        })
}

/// Returns a context with a value in every member.
fn sample(name: &str) -> Value {
    let tool = || ToolLine { name: "read_file".into(), parameters: "path".into(), summary: "Reads a file".into() };
    let profile = || ProfileBrief::new("sisyphus", "general worker");
    let lead = || LeadBrief {
        mode: Some(PlanMode::Complex),
        attended: true,
        environment: "environment".into(),
        instructions: "instructions".into(),
        known: "known".into(),
        state: "state".into(),
        profiles: vec![profile()],
        models: vec!["default".into()],
        bundles: vec![BundleBrief { name: "files".into(), description: "files".into() }],
        tools: vec![tool()],
        ..LeadBrief::new("goal", PlanLimits::default())
    };
    let value = match name {
        "route" => serde_json::to_value(RouteContext { goal: "goal".into() }),
        "patch" | "update" => serde_json::to_value(PatchContext {
            goal: "goal".into(),
            known: "known".into(),
            folder: "folder".into(),
            state: "state".into(),
            failed: vec![FailedTask { id: "a".into(), attempts: 3 }],
            room: Some(crate::Room { used: 17, most: 20, must_merge: true }),
            tools: [tool()].into(),
            profiles: vec![profile()],
            simple: false,
        }),
        "verdict" => {
            serde_json::to_value(VerdictContext { goal: "goal".into(), criteria: vec!["criterion".into()], evidence: "evidence".into() })
        }
        "audit" => serde_json::to_value(AuditContext {
            goal: "goal".into(),
            environment: "environment".into(),
            criteria: vec!["criterion".into()],
            record: "record".into(),
        }),
        "lead" => serde_json::to_value(LeadContext { brief: &lead(), plans: "plans".into() }),
        "lead_plans" => serde_json::to_value(lead()),
        _ => serde_json::to_value(PlanContext {
            goal: "goal".into(),
            project: "project".into(),
            known: "known".into(),
            folder: "folder".into(),
            example: Some(PlanExample { goal: "goal".into(), steps: vec!["step".into()] }),
            tools: [tool()].into(),
            profiles: vec![profile()],
            tool_tasks: true,
            max_tasks: 6,
            max_sub_goals: 5,
            max_actions: 3,
            first_todos: 3,
            simple: false,
        }),
    };
    value.unwrap_or_default()
}
