//! Tools of an actor, shared by all actors with the same tools.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use aime_llm::ToolDefinition;
use aime_tools::ToolSpec;
use serde::{Deserialize, Serialize, Serializer};

use crate::history::tools_tokens;

/// Tools of an actor, in the order in which the model sees them, with their definitions. Clones share both.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Vec<Arc<ToolSpec>>")]
pub struct ActorTools {
    specs: Arc<[Arc<ToolSpec>]>,
    definitions: Arc<[ToolDefinition]>,
    /// Estimated tokens of the definitions.
    tokens: u64,
}

impl ActorTools {
    /// Returns the tool definitions for the model.
    #[must_use]
    pub const fn definitions(&self) -> &Arc<[ToolDefinition]> {
        &self.definitions
    }

    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }
}

impl From<Vec<Arc<ToolSpec>>> for ActorTools {
    fn from(specs: Vec<Arc<ToolSpec>>) -> Self {
        let definitions: Arc<[ToolDefinition]> = specs.iter().map(|spec| spec.definition.clone()).collect();
        Self { tokens: tools_tokens(&definitions), specs: specs.into(), definitions }
    }
}

impl Deref for ActorTools {
    type Target = [Arc<ToolSpec>];

    fn deref(&self) -> &[Arc<ToolSpec>] {
        &self.specs
    }
}

impl Serialize for ActorTools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.specs.serialize(serializer)
    }
}

/// Number of tool lists that the cache holds: one for each profile in use.
const REMEMBERED: usize = 16;

/// Cache of the tool lists of earlier actors. An actor with the same tools shares their serialized definitions and token count.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownTools(Arc<Mutex<Vec<ActorTools>>>);

impl KnownTools {
    pub(crate) fn shared(&self, specs: Vec<Arc<ToolSpec>>) -> ActorTools {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |tools: &&ActorTools| {
            tools.len() == specs.len() && tools.iter().zip(&specs).all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
        };
        if let Some(tools) = known.iter().find(same) {
            return tools.clone();
        }
        if known.len() == REMEMBERED {
            known.remove(0);
        }
        let tools = ActorTools::from(specs);
        known.push(tools.clone());
        tools
    }
}

#[cfg(test)]
mod tests {
    use aime_tools::builtin;

    use super::*;

    #[test]
    fn the_same_tools_are_shared_and_no_more_lists_are_remembered_than_are_in_use() {
        let (registry, known) = (builtin(), KnownTools::default());
        let given = |names: &[&str]| known.shared(registry.specs(names).unwrap());
        let share = |one: &ActorTools, other: &ActorTools| Arc::ptr_eq(one.definitions(), other.definitions());
        let first = given(&["read_file", "grep"]);
        assert!(share(&first, &given(&["read_file", "grep"])));
        assert!(!share(&first, &given(&["grep", "read_file"])) && !share(&first, &given(&["read_file"])));
        for name in registry.names() {
            given(&[name]);
        }
        assert_eq!(known.0.lock().unwrap().len(), REMEMBERED);
        assert!(!share(&first, &given(&["read_file", "grep"])), "it was the oldest");
    }

    #[test]
    fn they_are_kept_as_a_list_of_specs() {
        let specs: Vec<_> = builtin().specs(["read_file", "grep"]).unwrap().iter().map(|spec| spec.for_model(false)).collect();
        let tools = ActorTools::from(specs.clone());
        let kept = serde_json::to_value(&tools).unwrap();
        assert_eq!(kept, serde_json::to_value(&specs).unwrap());
        assert_eq!(serde_json::from_value::<ActorTools>(kept).unwrap(), tools);
    }
}
