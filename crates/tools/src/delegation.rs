//! Parameters of `delegate_task`, which gives a part of the work to another actor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ToolError,
    coordination::{missing, not_one_of, text},
};

/// Name of the tool by which an actor starts another actor.
pub const DELEGATE_TASK: &str = "delegate_task";

/// Parameters of `delegate_task`. The names in it are as the model wrote them; the code that creates the actor checks them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegateTask {
    /// Description of the work.
    pub description: String,
    /// Plan of the task, if named.
    pub plan: Option<String>,
    /// Task of the plan that this work is a part of, if named.
    pub task: Option<String>,
    /// If true, the profile is chosen from the description; otherwise it is that of the calling actor.
    pub use_actor_factory: bool,
    /// Profile, if named.
    pub profile: Option<String>,
}

impl DelegateTask {
    /// Parses the parameters of a call. Empty or `null` values count as missing. By default the profile is chosen.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] without a description, and for a `use_actor_factory` that is neither true nor false.
    pub fn parse(parameters: &Map<String, Value>) -> Result<Self, ToolError> {
        let description = text(parameters, &["description", "task", "prompt", "message"]);
        let chosen = text(parameters, &["use_actor_factory"]).map(|chosen| chosen.trim().to_lowercase());
        let use_actor_factory = match chosen.as_deref() {
            None | Some("true" | "yes" | "1") => true,
            Some("false" | "no" | "0") => false,
            Some(other) => return Err(not_one_of("use_actor_factory", other, "true or false")),
        };
        let name = |name| text(parameters, &[name]).map(|name| name.trim().to_owned());
        Ok(Self {
            description: description.ok_or_else(|| missing("description", "what is to be done, with all that one must know for it"))?,
            plan: name("plan_id"),
            task: name("task_id"),
            use_actor_factory,
            profile: name("profile"),
        })
    }
}

/// Parameters as published to a model: stricter than those accepted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is made from it; the actor reads the call")]
pub(crate) struct DelegateTaskParameters {
    /// The work, with all that is needed to do it
    description: String,
    /// Plan of the task; yours if absent
    plan_id: Option<String>,
    /// Task of the plan: one that could start is claimed and done; for one in progress this is a part of it
    task_id: Option<String>,
    /// false for a worker like you
    use_actor_factory: Option<bool>,
    /// Kind of worker
    profile: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(given: Value) -> Result<DelegateTask, String> {
        DelegateTask::parse(given.as_object().unwrap()).map_err(|error| error.to_string())
    }

    // Requirement: 4.31
    #[test]
    fn a_call_is_read_as_it_was_meant() {
        let plain = DelegateTask { description: "count".to_owned(), plan: None, task: None, use_actor_factory: true, profile: None };
        for given in [
            json!({"description": "count"}),
            json!({"description": "count", "plan_id": "", "task_id": null, "profile": " ", "use_actor_factory": "True"}),
            json!({"task": "count"}),
        ] {
            assert_eq!(parse(given.clone()), Ok(plain.clone()), "{given}");
        }
        let full = json!({"description": "count", "plan_id": "p", "task_id": 7, "profile": " explore", "use_actor_factory": false});
        let expected = DelegateTask {
            plan: Some("p".to_owned()),
            task: Some("7".to_owned()),
            use_actor_factory: false,
            profile: Some("explore".to_owned()),
            ..plain
        };
        assert_eq!(parse(full), Ok(expected));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let table = [
            (json!({}), "`description` is missing: what is to be done, with all that one must know for it"),
            (json!({"description": "x", "use_actor_factory": "maybe"}), "`use_actor_factory` must be true or false, not \"maybe\""),
        ];
        for (given, expected) in table {
            assert_eq!(parse(given).unwrap_err(), expected);
        }
    }
}
