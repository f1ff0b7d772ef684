//! The private TODO list of an actor.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum number of items in a list.
pub(crate) const MAX_TODOS: usize = 20;

/// One item of a TODO list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// Number or name of the item; its position if the actor gave none.
    pub id: String,
    /// Work to be done.
    pub text: String,
    /// Status of the item.
    pub status: TodoStatus,
    /// The text in the continuous form, shown while the item is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// Status of a TODO item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// In progress; at most one item at a time.
    InProgress,
    /// Done.
    Completed,
}

/// Reason why a TODO list is refused. The messages are part of the contract with actors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// More than 20 items.
    #[error("Max {MAX_TODOS} todos allowed")]
    TooMany,
    /// An item without text.
    #[error("Item {id}: text required")]
    TextRequired {
        /// The item's id, or its position from 1.
        id: String,
    },
    /// A status that does not exist.
    #[error("Item {id}: invalid status '{status}'")]
    InvalidStatus {
        /// The item's id, or its position from 1.
        id: String,
        /// The invalid status.
        status: String,
    },
    /// More than one item in progress.
    #[error("Only one task can be in_progress at a time")]
    SeveralInProgress,
    /// The parameters contain no list of items.
    #[error("items required: a list of {{id, text, status}}")]
    ItemsRequired,
}

/// A valid TODO list: at most 20 items, each with text, at most one in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TodoList {
    items: Vec<TodoItem>,
}

impl TodoList {
    /// Parses the parameters of the `todo` tool, `{"items": [{id, text, status, active_form?}]}`, as a whole new list.
    /// Tolerant: it accepts a status in any case, `-` or a space for `_`, no status (pending), a missing id (the
    /// position, from 1), a number as id, an item that is only text, and the items as a JSON string.
    ///
    /// # Errors
    ///
    /// [`TodoError`] for the first item that breaks a rule; the whole list is then refused.
    pub fn from_parameters(parameters: &Map<String, Value>) -> Result<Self, TodoError> {
        let items = parameters.get("items").or_else(|| parameters.get("todos")).ok_or(TodoError::ItemsRequired)?;
        let parsed;
        let items = match items {
            Value::String(text) => {
                parsed = serde_json::from_str::<Value>(text.trim()).map_err(|_| TodoError::ItemsRequired)?;
                // A whole parameter object written as a string is accepted too.
                parsed.get("items").unwrap_or(&parsed)
            }
            other => other,
        };
        let items = items.as_array().ok_or(TodoError::ItemsRequired)?;
        if items.len() > MAX_TODOS {
            return Err(TodoError::TooMany);
        }
        let items = items.iter().enumerate().map(|(at, item)| read_item(at + 1, item)).collect::<Result<Vec<_>, _>>()?;
        if items.iter().filter(|item| item.status == TodoStatus::InProgress).count() > 1 {
            return Err(TodoError::SeveralInProgress);
        }
        Ok(Self { items })
    }

    /// Returns the items in order.
    #[must_use]
    pub fn items(&self) -> &[TodoItem] {
        &self.items
    }

    /// Returns the items in order, by value.
    #[must_use]
    pub fn into_items(self) -> Vec<TodoItem> {
        self.items
    }
}

/// Formats the list for actors and people:
///
/// ```text
/// [ ] #1: Read the file
/// [>] #2: Write the report (writing the report)
/// [x] #3: Find the matches
///
/// (1/3 completed)
/// ```
/// and `No todos.` if it is empty.
impl fmt::Display for TodoList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render(&self.items, f)
    }
}

/// Formats a list of items like [`TodoList`].
#[must_use]
pub fn render_todos(items: &[TodoItem]) -> String {
    struct Shown<'a>(&'a [TodoItem]);
    impl fmt::Display for Shown<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            render(self.0, f)
        }
    }
    Shown(items).to_string()
}

fn render(items: &[TodoItem], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("No todos.");
    }
    for item in items {
        match item.status {
            TodoStatus::Pending => writeln!(f, "[ ] #{}: {}", item.id, item.text)?,
            TodoStatus::Completed => writeln!(f, "[x] #{}: {}", item.id, item.text)?,
            TodoStatus::InProgress => match item.active_form.as_deref().filter(|form| !form.is_empty()) {
                Some(form) => writeln!(f, "[>] #{}: {} ({form})", item.id, item.text)?,
                None => writeln!(f, "[>] #{}: {}", item.id, item.text)?,
            },
        }
    }
    let completed = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
    write!(f, "\n({completed}/{} completed)", items.len())
}

fn read_item(position: usize, item: &Value) -> Result<TodoItem, TodoError> {
    let text_of = |key: &str| match item.get(key) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let id = text_of("id").filter(|id| !id.is_empty()).unwrap_or_else(|| position.to_string());
    let text = item.as_str().map(|text| text.trim().to_owned()).or_else(|| text_of("text"));
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Err(TodoError::TextRequired { id }) };
    let status = match item.get("status") {
        None | Some(Value::Null) => TodoStatus::Pending,
        Some(Value::String(word)) => read_status(word).ok_or_else(|| TodoError::InvalidStatus { id: id.clone(), status: word.clone() })?,
        Some(other) => return Err(TodoError::InvalidStatus { id, status: other.to_string() }),
    };
    let active_form = text_of("active_form").or_else(|| text_of("activeForm")).filter(|form| !form.is_empty());
    Ok(TodoItem { id, text, status, active_form })
}

fn read_status(word: &str) -> Option<TodoStatus> {
    match word.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "pending" => Some(TodoStatus::Pending),
        "in_progress" => Some(TodoStatus::InProgress),
        "completed" => Some(TodoStatus::Completed),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
