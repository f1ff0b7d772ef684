//! The texts an actor is given: templates that can be replaced, and short notes.

use std::collections::BTreeMap;

use aime_llm::{in_another_script, in_chinese};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde::Serialize;

use crate::{notes::Note, profile::nearest};

/// The template of the system prompt.
pub(crate) const SYSTEM_PROMPT: &str = "actor_system";
/// The template of the task.
pub(crate) const TASK_PROMPT: &str = "actor_task";

/// A description that no template holds by itself: where it stands in a filled-in template, the task is told.
const SENTINEL: &str = "sentinelofthecheck";

/// The note to an actor that forgot its TODO list.
pub(crate) const TODO_REMINDER: &str = "<reminder>Update your todos.</reminder>";

/// Why a template is refused.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// It is a note that is empty, or uses a name that it is not given.
    #[error("the note `{name}` cannot be used: {why}")]
    Note {
        /// The name.
        name: String,
        /// What is wrong.
        why: String,
    },
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
    /// It is the template of the task, and leaves the task out.
    #[error("the prompt `{TASK_PROMPT}` says nothing of the task's description: write {{{{ description }}}} where it belongs")]
    Silent,
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
    /// Whether results stand between marks with their origin.
    pub marks: bool,
    /// True if the persona is one for small models, which says all that they need: the rules of work are left out.
    pub small_model: bool,
    /// True if the model is a capable one.
    pub capable: bool,
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
    pub risks: &'a [String],
    pub results: &'a str,
}

/// The two templates of an actor, and the notes that were replaced, checked and ready.
#[derive(Debug, Clone)]
pub struct Prompts {
    environment: Environment<'static>,
    notes: BTreeMap<String, String>,
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
        environment.add_test("in_another_script", |text: &str| in_another_script(text));
        environment.add_test("in_chinese", |text: &str| in_chinese(text));
        let mut prompts = Self { environment, notes: BTreeMap::new() };
        prompts.replace(SYSTEM_PROMPT, include_str!("../prompts/system.md").to_owned())?;
        prompts.replace(TASK_PROMPT, include_str!("../prompts/task.md").to_owned())?;
        Ok(prompts)
    }

    /// The notes that are not as they are built in, by name, for an actor whose work was asked for in these words.
    pub(crate) fn notes_for(&self, asked: &str) -> BTreeMap<String, String> {
        let mut notes = self.notes.clone();
        if in_chinese(asked) {
            for (note, text) in Note::ALL.into_iter().filter_map(|note| Some((note, note.in_chinese()?))) {
                notes.entry(note.name().to_owned()).or_insert_with(|| text.trim().to_owned());
            }
        }
        notes
    }

    /// Puts a user's template, or note to an actor at work, in the place of the one of that name. It is tried out at once.
    ///
    /// # Errors
    /// [`PromptError`] when there is no prompt of that name, or the template is broken, uses an unknown name, or is that of the task and leaves out
    /// its description.
    pub fn replace(&mut self, name: &str, template: String) -> Result<(), PromptError> {
        if let Some(note) = Note::named(name) {
            note.check(&template).map_err(|why| PromptError::Note { name: name.to_owned(), why })?;
            self.notes.insert(name.to_owned(), template.trim().to_owned());
            return Ok(());
        }
        let names = || [SYSTEM_PROMPT, TASK_PROMPT].into_iter().chain(Note::ALL.map(Note::name));
        if ![SYSTEM_PROMPT, TASK_PROMPT].contains(&name) {
            let nearest = nearest(name, names()).unwrap_or(SYSTEM_PROMPT).to_owned();
            return Err(PromptError::Unknown { name: name.to_owned(), nearest });
        }
        let mut environment = self.environment.clone();
        environment
            .add_template_owned(name.to_owned(), template)
            .map_err(|source| PromptError::Broken { name: name.to_owned(), source })?;
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
                capable: true,
            };
            tried.system(&context)?;
        } else {
            let criteria = ["c".to_owned()];
            let told = tried.task(&TaskContext {
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
            })?;
            // A template may write it in other letters.
            if !told.to_lowercase().contains(SENTINEL) {
                return Err(PromptError::Silent);
            }
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
        };
        assert_eq!(prompts.task(&context).unwrap(), "Do: <it> & more");
        let cases = [
            ("actor_sytem", "x", "the nearest is `actor_system`"),
            (TASK_PROMPT, "{{ descripton }}", "actor_task:1"),
            (TASK_PROMPT, "{% if %}", "cannot be used"),
            (
                TASK_PROMPT,
                "Read the description. {% if description %}{{ title }}{% endif %}",
                "the prompt `actor_task` says nothing of the task's description: write {{ description }} where it belongs",
            ),
            ("stuk", "x", "the nearest is `stuck`"),
            ("stuck", "  ", "the note `stuck` cannot be used: it is empty"),
            ("stuck", "No {left} here", "it uses {left}; it is given {name}, {count}"),
            ("told", "Listen.", "it must hold {text}"),
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
