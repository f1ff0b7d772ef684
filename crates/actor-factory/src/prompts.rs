//! The texts an actor is given: templates that can be replaced, and short notes.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde::Serialize;

use crate::profile::nearest;

/// The template of the system prompt.
pub const SYSTEM_PROMPT: &str = "actor_system";
/// The template of the task.
pub const TASK_PROMPT: &str = "actor_task";

/// The first answer without a tool call.
pub(crate) const NO_TOOL_CALL: &str = include_str!("../prompts/no_tool_call.md");
/// An answer without a tool call that ran into the length limit.
pub(crate) const ANSWER_CUT: &str = include_str!("../prompts/answer_cut.md");
/// After each round of tool results.
pub(crate) const EACH_STEP: &str = include_str!("../prompts/each_step.md");
/// After a round of tool results with an error among them.
pub(crate) const AFTER_ERROR: &str = include_str!("../prompts/after_error.md");
/// The last steps; `{left}` is their number.
pub(crate) const STEPS_LEFT: &str = include_str!("../prompts/steps_left.md");
/// The same call came to the same result; `{name}` and `{count}`.
pub(crate) const STUCK: &str = include_str!("../prompts/stuck.md");
/// The same call succeeded with the same result; `{name}` and `{count}`.
pub(crate) const REPEATED: &str = include_str!("../prompts/repeated.md");
/// A person said something unasked; `{text}`.
pub(crate) const TOLD: &str = include_str!("../prompts/told.md");
/// All that is left is to say how the task stands.
pub(crate) const CONCLUDE: &str = include_str!("../prompts/conclude.md");
/// Appended to the last tool result when the TODO list was forgotten.
pub(crate) const TODO_REMINDER: &str = "<reminder>Update your todos.</reminder>";

/// Why a template is refused.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// There is no such template.
    #[error("actors have no prompt `{name}`; the nearest is `{nearest}`")]
    Unknown {
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: String,
    },
    /// It is not a template, or uses a name that it is not given.
    #[error("the prompt `{name}` cannot be used: {source:#}")]
    Broken {
        /// The name.
        name: String,
        /// What is wrong, with the line.
        #[source]
        source: minijinja::Error,
    },
}

/// What the system prompt is made from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SystemContext<'a> {
    pub persona: &'a str,
    pub tools: Vec<ToolNote>,
    pub skills: Vec<SkillNote>,
    pub preloaded: Vec<SkillText>,
    pub knowledge: &'a str,
    pub environment: &'a str,
    pub attended: bool,
    /// Whether the persona is one for small models, which says all that they need: the list of tools and the rules of work are left out.
    pub small_model: bool,
}

/// A tool in one line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ToolNote {
    pub name: String,
    pub parameters: Vec<String>,
    pub summary: String,
}

/// A skill in one line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SkillNote {
    pub name: String,
    pub description: String,
}

/// A skill that is told whole.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SkillText {
    pub name: String,
    pub body: String,
}

/// What the user message is made from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskContext<'a> {
    /// Only for small models, as `knowledge`: chat templates put the tools after the system prompt, and what comes before them should be the same
    /// for all tasks, so that its keys and values are computed once.
    pub environment: &'a str,
    pub knowledge: &'a str,
    pub goal: &'a str,
    pub overview: &'a str,
    pub title: &'a str,
    pub frame: &'a str,
    pub description: &'a str,
    pub criteria: &'a [String],
    pub results: &'a str,
}

/// The two templates of an actor, checked and ready.
#[derive(Debug, Clone)]
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// The templates that come with this crate.
    ///
    /// # Errors
    /// [`PromptError::Broken`] if one is not a template, which a test rules out.
    pub fn builtin() -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let mut prompts = Self { environment };
        prompts.replace(SYSTEM_PROMPT, include_str!("../prompts/system.md").to_owned())?;
        prompts.replace(TASK_PROMPT, include_str!("../prompts/task.md").to_owned())?;
        Ok(prompts)
    }

    /// Puts a user's template in the place of the one of that name. It is tried out at once.
    ///
    /// # Errors
    /// [`PromptError`] when there is no prompt of that name, or the template is broken or uses an unknown name.
    pub fn replace(&mut self, name: &str, template: String) -> Result<(), PromptError> {
        let names = [SYSTEM_PROMPT, TASK_PROMPT];
        if !names.contains(&name) {
            let nearest = nearest(name, names).unwrap_or(SYSTEM_PROMPT).to_owned();
            return Err(PromptError::Unknown { name: name.to_owned(), nearest });
        }
        let mut environment = self.environment.clone();
        environment
            .add_template_owned(name.to_owned(), template)
            .map_err(|source| PromptError::Broken { name: name.to_owned(), source })?;
        let tried = Self { environment };
        if name == SYSTEM_PROMPT {
            let tool = ToolNote { name: "t".to_owned(), parameters: vec!["p".to_owned()], summary: "s".to_owned() };
            let skills = vec![SkillNote { name: "n".to_owned(), description: "d".to_owned() }];
            let preloaded = vec![SkillText { name: "n".to_owned(), body: "b".to_owned() }];
            let context = SystemContext {
                persona: "p",
                tools: vec![tool],
                skills,
                preloaded,
                knowledge: "k",
                environment: "e",
                attended: false,
                small_model: false,
            };
            tried.system(&context)?;
        } else {
            let criteria = ["c".to_owned()];
            tried.task(&TaskContext {
                environment: "e",
                knowledge: "k",
                goal: "g",
                overview: "o",
                title: "t",
                frame: "f",
                description: "d",
                criteria: &criteria,
                results: "r",
            })?;
        }
        *self = tried;
        Ok(())
    }

    pub(crate) fn system(&self, context: &SystemContext<'_>) -> Result<String, PromptError> {
        self.render(SYSTEM_PROMPT, context)
    }

    pub(crate) fn task(&self, context: &TaskContext<'_>) -> Result<String, PromptError> {
        self.render(TASK_PROMPT, context)
    }

    fn render<C: Serialize>(&self, name: &str, context: C) -> Result<String, PromptError> {
        let template = self.environment.get_template(name);
        template.and_then(|t| t.render(Serde(context))).map_err(|source| PromptError::Broken { name: name.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_template_is_tried_when_it_is_loaded() {
        let mut prompts = Prompts::builtin().unwrap();
        prompts.replace(TASK_PROMPT, "Do: {{ description }}".to_owned()).unwrap();
        let context = TaskContext {
            environment: "",
            knowledge: "",
            goal: "",
            overview: "",
            title: "",
            frame: "",
            description: "<it> & more",
            criteria: &[],
            results: "",
        };
        assert_eq!(prompts.task(&context).unwrap(), "Do: <it> & more");
        let cases = [
            ("actor_sytem", "x", "the nearest is `actor_system`"),
            (TASK_PROMPT, "{{ descripton }}", "actor_task:1"),
            (TASK_PROMPT, "{% if %}", "cannot be used"),
        ];
        for (name, template, expected) in cases {
            let error = prompts.replace(name, template.to_owned()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(prompts.task(&context).unwrap(), "Do: <it> & more", "a refused template changes nothing");
    }
}
