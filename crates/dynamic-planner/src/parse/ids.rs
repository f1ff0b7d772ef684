//! Makes the identifiers of models valid, and renames every mention of them.

use std::collections::BTreeMap;

use aime_messages::message;
use aime_progress_management::{MAX_ID_BYTES, Plan, TaskId};
use serde_json::Value;

use super::coerce::{Notes, is_nothing};
use crate::{PlanFault, fault::suggestion};

/// Returns the valid identifier nearest to a text, or `None` if no character of it is valid.
pub(super) fn normalise(text: &str) -> Option<TaskId> {
    if let Ok(id) = TaskId::new(text) {
        return Some(id);
    }
    let mut out = String::new();
    for c in text.trim().chars() {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '-' };
        if !(c == '-' && (out.is_empty() || out.ends_with('-'))) && out.len() < MAX_ID_BYTES {
            out.push(c);
        }
    }
    TaskId::new(out.trim_matches(['-', '.'])).ok()
}

/// Ids of a plan's tasks, with the names that the model used.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: Vec<TaskId>,
    by_text: BTreeMap<String, TaskId>,
    titles: Titles,
    /// Ids of the tasks in the plan of a patch.
    planned: Vec<TaskId>,
    /// Titles of the tasks in the plan of a patch.
    planned_titles: Titles,
}

/// Tasks by their titles, reduced to letters and digits; `None` for a title of several tasks.
type Titles = BTreeMap<String, Option<TaskId>>;

impl Names {
    /// Returns the names of a patch that adds no task yet to this plan.
    pub(super) fn of_plan(plan: &Plan) -> Self {
        let mut names = Self { planned: plan.tasks.iter().map(|task| task.id.clone()).collect(), ..Self::default() };
        for task in &plan.tasks {
            add_title(&mut names.planned_titles, &task.name, &task.id);
        }
        names
    }

    /// Reserves a valid id for the task that the model gave it to, so that a renamed task does not take it.
    pub(super) fn reserve(&mut self, written: &str) {
        if let Ok(id) = TaskId::new(written) {
            self.push(&id);
            self.by_text.insert(written.to_owned(), id);
        }
    }

    /// Assigns an id to a task. A repeated text gets the same id again, because two tasks with one id are a fault to
    /// report.
    pub(super) fn give(&mut self, written: Option<&str>, title: &str, position: usize, notes: &mut Notes) -> TaskId {
        let id = match written.filter(|text| !text.is_empty()) {
            Some(text) => self.named(text, position, notes),
            None => {
                let id = self.free(&position.to_string());
                notes.add(message!("repair-no-id", number = position, id));
                id
            }
        };
        self.push(&id);
        add_title(&mut self.titles, title, &id);
        id
    }

    /// Returns the number of assigned ids.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    fn push(&mut self, id: &TaskId) {
        if !self.ids.contains(id) {
            self.ids.push(id.clone());
        }
    }

    fn named(&mut self, text: &str, position: usize, notes: &mut Notes) -> TaskId {
        if let Some(id) = self.by_text.get(text) {
            return id.clone();
        }
        let id = match normalise(text) {
            // Other letters were left out of the id, so it may name a task of the plan by chance.
            Some(id) if self.planned.contains(&id) && text.chars().any(|c| c.is_alphanumeric() && !c.is_ascii()) => self.free(id.as_str()),
            Some(id) if !self.ids.contains(&id) => id,
            Some(id) => self.free(id.as_str()),
            None => self.free(&format!("task-{position}")),
        };
        if id.as_str() != text {
            notes.add(message!("repair-id", id = format!("{text:?}"), new = id));
        }
        self.by_text.insert(text.to_owned(), id.clone());
        id
    }

    /// Returns an unused id that begins with `stem`.
    pub(super) fn free(&self, stem: &str) -> TaskId {
        let stem: String = stem.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(MAX_ID_BYTES - 20).collect();
        let stem = if stem.is_empty() { "task".to_owned() } else { stem };
        let mut candidate = stem.clone();
        let mut number = 2_u64;
        loop {
            match TaskId::new(candidate) {
                Ok(id) if !self.all().any(|known| *known == id) => return id,
                _ => candidate = format!("{stem}-{number}"),
            }
            number += 1;
        }
    }

    /// Returns the assigned ids, then those of the plan.
    fn all(&self) -> impl Iterator<Item = &TaskId> {
        self.ids.iter().chain(&self.planned)
    }

    /// Returns the task that a mention refers to: by the model's text, by id, by name, or by number.
    pub(super) fn find(&self, mention: &str) -> Option<TaskId> {
        if let Some(id) = self.by_text.get(mention) {
            return Some(id.clone());
        }
        let normal = normalise(mention);
        if let Some(id) = normal.and_then(|id| self.all().find(|known| **known == id)) {
            return Some(id.clone());
        }
        let key = plain(mention);
        if key.is_empty() {
            return None;
        }
        let by_id = |ids: &[TaskId]| {
            let mut same = ids.iter().filter(|id| plain(id.as_str()) == key);
            same.next().filter(|_| same.next().is_none()).cloned()
        };
        let by_title = |titles: &Titles| titles.get(&key).cloned().flatten();
        let by_number = || {
            let number = ["task", "step", "subtask", "步骤", "任务"].iter().find_map(|word| key.strip_prefix(word))?;
            self.all().find(|id| id.as_str() == number).cloned()
        };
        let new = by_id(&self.ids).or_else(|| by_title(&self.titles));
        new.or_else(|| by_id(&self.planned)).or_else(|| by_title(&self.planned_titles)).or_else(by_number)
    }

    /// Returns true if a mention is a word for *nothing here*, and no task has it as its id.
    pub(super) fn means_nothing(&self, mention: &str) -> bool {
        is_nothing(mention)
            && !self.ids.iter().any(|id| id.as_str().eq_ignore_ascii_case(mention))
            && !self.planned.iter().any(|id| id.as_str() == mention)
    }

    /// Does the same as [`Self::find`], but returns an unresolvable mention unchanged, so that the validation can name
    /// it. Returns `None` if it could be no id; [`Self::unknown`] is the fault.
    pub(super) fn resolve(&self, mention: &str, notes: &mut Notes) -> Option<TaskId> {
        let found = self.find(mention);
        if let Some(id) = &found
            && id.as_str() != mention
            && !self.by_text.contains_key(mention)
        {
            notes.add(message!("repair-mention", mention = format!("{mention:?}"), id));
        }
        found.or_else(|| normalise(mention))
    }

    /// Returns the fault of a mention that [`Self::resolve`] cannot resolve.
    pub(super) fn unknown(&self, mention: &str, place: String) -> PlanFault {
        let known: Vec<&str> = self.all().map(TaskId::as_str).collect();
        PlanFault::new(place, message!("rule-unknown", task = format!("{mention:?}"))).hint(suggestion(mention, known.iter().copied()))
    }

    /// Returns the ids that differ from the model's text.
    pub(super) fn renamed(&self) -> impl Iterator<Item = (&str, &TaskId)> {
        self.by_text.iter().map(|(text, id)| (text.as_str(), id)).filter(|(text, id)| *text != id.as_str())
    }

    /// Renames the ids in the references `@{steps.ID…}` of a value.
    pub(super) fn rename_references(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.rename_in_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename_references(item)),
            Value::Object(object) => object.values_mut().for_each(|item| self.rename_references(item)),
            _ => {}
        }
    }

    /// Renames the ids in the references of one text.
    pub(super) fn rename_in_text(&self, text: &mut String) {
        if text.contains("@{steps.") {
            for (old, new) in self.renamed() {
                for end in [".", "[", "}"] {
                    *text = text.replace(&format!("@{{steps.{old}{end}"), &format!("@{{steps.{new}{end}"));
                }
            }
        }
    }
}

fn add_title(titles: &mut Titles, title: &str, id: &TaskId) {
    let key = plain(title);
    if !key.is_empty() {
        titles.entry(key).and_modify(|known| *known = None).or_insert_with(|| Some(id.clone()));
    }
}

/// Returns only the letters and digits, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
