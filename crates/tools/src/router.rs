//! Hints away from tools that keep failing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{ToolSpec, names::quoted};

/// Number of consecutive failures after which a tool gets a hint.
pub const FAILURES_BEFORE_HINT: u32 = 2;

/// Counts the consecutive failures of each tool. Pure, and part of an actor's state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRouter {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, u32>,
    /// Tools that failed since the last hint.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    due: BTreeSet<String>,
    /// Number of failures before a hint, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint_after: Option<u32>,
}

impl ToolRouter {
    /// Creates a router that hints after this many consecutive failures. The default is [`FAILURES_BEFORE_HINT`].
    #[must_use]
    pub fn hinting_after(failures: u32) -> Self {
        Self { hint_after: (failures != FAILURES_BEFORE_HINT).then_some(failures), ..Self::default() }
    }

    /// Records the outcome of a call. A success resets the count of the tool.
    pub fn record(&mut self, tool: &str, succeeded: bool) {
        if succeeded {
            self.failures.remove(tool);
            self.due.remove(tool);
            return;
        }
        let failures = self.failures.entry(tool.to_owned()).or_default();
        *failures = failures.saturating_add(1);
        if *failures >= self.hint_after.unwrap_or(FAILURES_BEFORE_HINT) {
            self.due.insert(tool.to_owned());
        }
    }

    /// Returns the hint for the next request if a tool reached the number of failures and has failed since the last hint. `offered` are the
    /// tools of the actor: only those are named as alternatives.
    pub fn take_hint<'a>(&mut self, offered: impl IntoIterator<Item = &'a ToolSpec>) -> Option<String> {
        if self.due.is_empty() {
            return None;
        }
        let offered: Vec<_> = offered.into_iter().collect();
        let hints: Vec<_> = std::mem::take(&mut self.due).iter().map(|tool| self.hint(tool, &offered)).collect();
        Some(hints.join("\n"))
    }

    fn hint(&self, tool: &str, offered: &[&ToolSpec]) -> String {
        let failures = self.failures.get(tool).copied().unwrap_or_default();
        let spec = offered.iter().find(|spec| spec.name() == tool);
        let instead = spec.into_iter().flat_map(|spec| &spec.alternatives).map(String::as_str);
        let instead = quoted(instead.filter(|name| offered.iter().any(|spec| spec.name() == *name)));
        let instead = if instead.is_empty() { "another way".to_owned() } else { instead };
        format!("`{tool}` failed {failures} times in a row. Read its last error and change the parameters, or try {instead} instead.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn specs(names: &[&str]) -> Vec<std::sync::Arc<ToolSpec>> {
        builtin().specs(names).unwrap()
    }

    // Requirement: 4.22
    #[test]
    fn the_second_failure_in_a_row_gives_a_hint_once() {
        let offered = specs(&["edit_file", "write_file", "grep"]);
        let mut router = ToolRouter::default();
        let mut hint = |outcomes: &[(&str, bool)]| {
            outcomes.iter().for_each(|(tool, ok)| router.record(tool, *ok));
            router.take_hint(offered.iter().map(AsRef::as_ref))
        };
        assert_eq!(hint(&[("edit_file", false)]), None);
        assert_eq!(hint(&[("grep", true), ("edit_file", true), ("edit_file", false)]), None, "a success between them");
        let second = "`edit_file` failed 2 times in a row. Read its last error and change the parameters, or try `write_file` instead.";
        assert_eq!(hint(&[("edit_file", false)]).as_deref(), Some(second), "only tools that are offered are named");
        assert_eq!(hint(&[("grep", true)]), None, "said once");
        assert_eq!(hint(&[("edit_file", false)]).as_deref(), Some(second.replace('2', "3").as_str()));
        assert_eq!(hint(&[("edit_file", true), ("edit_file", false)]), None);
    }

    #[test]
    fn a_tool_that_nobody_knows_gets_a_hint_too() {
        let mut router = ToolRouter::default();
        router.record("fly", false);
        router.record("fly", false);
        let hint = router.take_hint([]).unwrap();
        assert_eq!(hint, "`fly` failed 2 times in a row. Read its last error and change the parameters, or try another way instead.");
    }

    #[test]
    fn survives_a_journal() {
        let mut router = ToolRouter::default();
        router.record("bash", false);
        router.record("bash", false);
        let text = serde_json::to_string(&router).unwrap();
        assert_eq!(serde_json::from_str::<ToolRouter>(&text).unwrap(), router);
        assert_eq!(serde_json::from_str::<ToolRouter>("{}").unwrap(), ToolRouter::default());
    }
}
