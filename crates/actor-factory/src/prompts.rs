//! Prompts of an actor: replaceable templates and short notes.

use std::collections::BTreeMap;

use aime_llm::{in_another_script, in_chinese};
use aime_messages::nearest;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde::Serialize;

use crate::notes::Note;

/// Name of the system prompt's template.
pub(crate) const SYSTEM_PROMPT: &str = "actor_system";
/// Name of the task's template.
pub(crate) const TASK_PROMPT: &str = "actor_task";

/// Description that no template contains by itself. If it appears in the rendered template, the template includes the task.
const SENTINEL: &str = "sentinelofthecheck";

/// Note to an actor that forgot its TODO list.
pub(crate) const TODO_REMINDER: &str = "<reminder>Update your todos.</reminder>";

/// Reason why a template is refused.
#[derive(Debug, thiserror::Error)]
pub enum ActorPromptError {
    /// A note is empty or uses an unknown placeholder.
    #[error("the note `{name}` cannot be used: {why}")]
    Note {
        /// The name.
        name: String,
        /// Description of the error.
        why: String,
    },
    /// No template has this name.
    #[error("actors have no prompt `{name}`; {suggestion}")]
    Unknown {
        /// The name.
        name: String,
        /// Nearest known name, or all of them if none is near.
        suggestion: String,
    },
    /// The text is not a template or uses an unknown variable.
    #[error("the prompt `{name}` cannot be used: {source:#}")]
    InvalidTemplate {
        /// The name.
        name: String,
        /// Error with its line.
        #[source]
        source: minijinja::Error,
    },
    /// The template of the task leaves the task out.
    #[error("the prompt `{TASK_PROMPT}` does not use {{{{ description }}}}, the text of the task: add it")]
    MissingDescription,
}

/// Variables of the system prompt.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SystemContext<'a> {
    pub persona: &'a str,
    pub tools: Vec<ToolNote>,
    pub skills: Vec<SkillNote>,
    pub preloaded: Vec<SkillText>,
    pub knowledge: &'a str,
    pub environment: &'a str,
    pub attended: bool,
    /// True if results are enclosed in marks with their origin.
    pub marks: bool,
    /// True if the persona is one for small models. It is complete by itself, so the prompt leaves out the working rules.
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

/// Skill with its full text.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SkillText {
    pub name: String,
    pub body: String,
}

/// Variables of the user message.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskContext<'a> {
    /// Set for small models only, like `knowledge`. Chat templates put the tools after the system prompt; everything before them should be
    /// the same for all tasks, so that servers compute its keys and values once.
    pub environment: &'a str,
    pub knowledge: &'a str,
    pub goal: &'a str,
    pub overview: &'a str,
    pub title: &'a str,
    pub frame: &'a str,
    pub description: &'a str,
    pub criteria: &'a [String],
    pub risks: &'a [String],
    pub results: &'a str,
    /// True for small models, which are told their task again at the end.
    pub small_model: bool,
}

/// Templates of an actor and replaced notes, checked and ready.
#[derive(Debug, Clone)]
pub struct Prompts {
    environment: Environment<'static>,
    notes: BTreeMap<String, String>,
}

impl Prompts {
    /// Returns the templates of this crate.
    ///
    /// # Errors
    /// [`ActorPromptError::InvalidTemplate`] if one is not a template; a test excludes this.
    pub fn builtin() -> Result<Self, ActorPromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.add_test("in_another_script", |text: &str| in_another_script(text));
        environment.add_test("in_chinese", |text: &str| in_chinese(text));
        let mut prompts = Self { environment, notes: BTreeMap::new() };
        prompts.replace(SYSTEM_PROMPT, include_str!("../prompts/system.md").to_owned())?;
        prompts.replace(TASK_PROMPT, include_str!("../prompts/task.md").to_owned())?;
        Ok(prompts)
    }

    /// Returns the notes that differ from the built-in ones, by name, for an actor whose work was requested in these words.
    pub(crate) fn notes_for(&self, asked: &str) -> BTreeMap<String, String> {
        let mut notes = self.notes.clone();
        if in_chinese(asked) {
            for (note, text) in Note::ALL.into_iter().filter_map(|note| Some((note, note.in_chinese()?))) {
                notes.entry(note.name().to_owned()).or_insert_with(|| text.trim().to_owned());
            }
        }
        notes
    }

    /// Replaces the template or note with this name by the user's text, and tries it out at once.
    ///
    /// # Errors
    /// [`ActorPromptError`] if no prompt has that name, the template is broken or uses an unknown variable, or the task's template leaves out
    /// the task's description.
    pub fn replace(&mut self, name: &str, template: String) -> Result<(), ActorPromptError> {
        if let Some(note) = Note::from_name(name) {
            note.check(&template).map_err(|why| ActorPromptError::Note { name: name.to_owned(), why })?;
            self.notes.insert(name.to_owned(), template.trim().to_owned());
            return Ok(());
        }
        let names = || [SYSTEM_PROMPT, TASK_PROMPT].into_iter().chain(Note::ALL.map(Note::name));
        if ![SYSTEM_PROMPT, TASK_PROMPT].contains(&name) {
            let suggestion = match nearest(name, names()) {
                Some(near) => format!("the nearest is `{near}`"),
                None => format!("their prompts are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(ActorPromptError::Unknown { name: name.to_owned(), suggestion });
        }
        let mut environment = self.environment.clone();
        environment
            .add_template_owned(name.to_owned(), template)
            .map_err(|source| ActorPromptError::InvalidTemplate { name: name.to_owned(), source })?;
        let tried = Self { environment, notes: self.notes.clone() };
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
                marks: true,
                small_model: false,
            };
            tried.system(&context)?;
        } else {
            let criteria = ["c".to_owned()];
            let rendered = tried.task(&TaskContext {
                environment: "e",
                knowledge: "k",
                goal: "g",
                overview: "o",
                title: "t",
                frame: "f",
                description: SENTINEL,
                criteria: &criteria,
                risks: &criteria,
                results: "r",
                small_model: false,
            })?;
            // A template may change the case of the text.
            if !rendered.to_lowercase().contains(SENTINEL) {
                return Err(ActorPromptError::MissingDescription);
            }
        }
        *self = tried;
        Ok(())
    }

    pub(crate) fn system(&self, context: &SystemContext<'_>) -> Result<String, ActorPromptError> {
        self.render(SYSTEM_PROMPT, context)
    }

    pub(crate) fn task(&self, context: &TaskContext<'_>) -> Result<String, ActorPromptError> {
        self.render(TASK_PROMPT, context)
    }

    fn render<C: Serialize>(&self, name: &str, context: C) -> Result<String, ActorPromptError> {
        let template = self.environment.get_template(name);
        template
            .and_then(|t| t.render(Serde(context)))
            .map_err(|source| ActorPromptError::InvalidTemplate { name: name.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 3.42, 3.43
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
            risks: &[],
            results: "",
            small_model: false,
        };
        assert_eq!(prompts.task(&context).unwrap(), "Do: <it> & more");
        let cases = [
            ("actor_sytem", "x", "the nearest is `actor_system`"),
            (TASK_PROMPT, "{{ descripton }}", "actor_task:1"),
            (TASK_PROMPT, "{% if %}", "cannot be used"),
            (
                TASK_PROMPT,
                "Read the description. {% if description %}{{ title }}{% endif %}",
                "the prompt `actor_task` does not use {{ description }}, the text of the task: add it",
            ),
            ("stuk", "x", "the nearest is `stuck`"),
            ("welcome", "x", "actors have no prompt `welcome`; their prompts are actor_system, actor_task, "),
            ("stuck", "  ", "the note `stuck` cannot be used: it is empty"),
            ("stuck", "No {left} here", "it uses {left}; it is given {name}, {count}"),
            ("message", "Listen.", "it must hold {text}"),
            ("conclude", "End {now}", "it uses {now}; it is given nothing"),
        ];
        for (name, template, expected) in cases {
            let error = prompts.replace(name, template.to_owned()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(prompts.task(&context).unwrap(), "Do: <it> & more", "a refused template changes nothing");
        prompts.replace(TASK_PROMPT, "{{ description | upper }}".to_owned()).unwrap();
    }
}
