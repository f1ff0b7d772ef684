//! The TODO list that an actor keeps for itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most items a list may hold.
pub const MAX_TODOS: usize = 20;

/// One item of a TODO list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// Its number or name; the position where the actor gave none.
    pub id: String,
    /// What is to be done.
    pub text: String,
    /// Where it stands.
    pub status: TodoStatus,
    /// The same in the continuous form, shown while in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// Where a TODO item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done; at most one item at a time.
    InProgress,
    /// Done.
    Completed,
}
