//! Makes the identifiers of models valid, and renames every mention of them.

use std::collections::BTreeMap;

use aime_messages::message;
use aime_progress_management::{MAX_ID_BYTES, Plan, TaskId};
use serde_json::Value;

use super::coerce::{Notes, is_nothing};

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
    titles: BTreeMap<String, Option<TaskId>>,
    /// Ids of tasks in the plan of a patch that are also words for *nothing here*.
    planned_words: Vec<TaskId>,
}

impl Names {
    /// Returns the names of a patch that adds no task yet to this plan.
    pub(super) fn of_plan(plan: &Plan) -> Self {
        let planned_words = plan.tasks.iter().map(|task| &task.id).filter(|id| is_nothing(id.as_str())).cloned().collect();
        Self { planned_words, ..Self::default() }
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
        self.title(title, &id);
        id
    }

    /// Returns the number of known ids.
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
    fn free(&self, stem: &str) -> TaskId {
        let stem: String = stem.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(MAX_ID_BYTES - 20).collect();
        let stem = if stem.is_empty() { "task".to_owned() } else { stem };
        let mut candidate = stem.clone();
        let mut number = 2_u64;
        loop {
            match TaskId::new(candidate) {
                Ok(id) if !self.ids.contains(&id) => return id,
                _ => candidate = format!("{stem}-{number}"),
            }
            number += 1;
        }
    }

    fn title(&mut self, title: &str, id: &TaskId) {
        let key = plain(title);
        if !key.is_empty() {
            self.titles.entry(key).and_modify(|known| *known = None).or_insert_with(|| Some(id.clone()));
        }
    }

    /// Returns the task that a mention refers to: by the model's text, by id, by name, or by number.
    pub(super) fn find(&self, mention: &str) -> Option<TaskId> {
        if let Some(id) = self.by_text.get(mention) {
            return Some(id.clone());
        }
        let normal = normalise(mention);
        if let Some(id) = normal.and_then(|id| self.ids.iter().find(|known| **known == id)) {
            return Some(id.clone());
        }
        let key = plain(mention);
        let by_id = || {
            let mut same = self.ids.iter().filter(|id| plain(id.as_str()) == key);
            same.next().filter(|_| same.next().is_none()).cloned()
        };
        let by_number = || {
            let number = ["task", "step", "subtask", "步骤", "任务"].iter().find_map(|word| key.strip_prefix(word))?;
            self.ids.iter().find(|id| id.as_str() == number).cloned()
        };
        if key.is_empty() {
            return None;
        }
        by_id().or_else(|| self.titles.get(&key).cloned().flatten()).or_else(by_number)
    }

    /// Returns true if a mention is a word for *nothing here*, and no task has it as its id.
    pub(super) fn means_nothing(&self, mention: &str) -> bool {
        is_nothing(mention)
            && !self.ids.iter().any(|id| id.as_str().eq_ignore_ascii_case(mention))
            && !self.planned_words.iter().any(|id| id.as_str() == mention)
    }

    /// Does the same as [`Self::find`], but returns an unresolvable mention unchanged, so that the validation can name
    /// it.
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

/// Returns only the letters and digits, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
