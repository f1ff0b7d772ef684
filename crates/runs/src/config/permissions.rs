//! `[permissions]`: approval mode, rules, and trusted folders.

use std::path::{Path, PathBuf};

use aime_messages::{Message, message};
use aime_tools::{Approval, PermissionRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::check::ValueFault;
use crate::Environment;

/// Names of the rule lists. The lists of all sources are concatenated.
const LISTS: [&str; 3] = ["allow", "ask", "deny"];

/// Rules for calls without consent, and trusted folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionConfig {
    /// Approval mode: `ask`, `edits`, `all` or `read-only`.
    pub approve: Approval,
    /// Rules for calls that need no consent, such as `bash(git log *)`, `write_file(docs/**)`, `mcp__git__*`, `web_fetch(docs.rs)`.
    pub allow: Vec<String>,
    /// Rules for calls that always need a person's consent, whatever allows them.
    pub ask: Vec<String>,
    /// Rules for calls that are never made.
    pub deny: Vec<String>,
    /// Folders whose `aime.toml` may change safety settings, with all folders in them. `~/` is the home folder.
    pub trusted_folders: Vec<PathBuf>,
    /// True if you vouch for the files and documents of your working folders as for your own words: an actor that has read them may
    /// then send data somewhere without consent, if the mode allows it.
    pub trust_files: bool,
}

impl Default for PermissionConfig {
    fn default() -> Self {
        Self {
            approve: Approval::Edits,
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            trusted_folders: Vec::new(),
            trust_files: false,
        }
    }
}

impl PermissionConfig {
    /// Returns every invalid rule with a message.
    pub(super) fn faults(&self) -> impl Iterator<Item = (&str, ValueFault)> {
        let all = [("allow", &self.allow), ("ask", &self.ask), ("deny", &self.deny)];
        all.into_iter().flat_map(|(list, rules)| {
            rules.iter().filter_map(move |rule| {
                // The syntax of a rule does not depend on the home folder, so any folder will do.
                let error = in_home(rule, Path::new("/home")).parse::<PermissionRule>().and_then(|rule| rule.check_tool([])).err()?;
                Some((rule.as_str(), ValueFault::of(format!("permissions.{list}"), &error)))
            })
        })
    }
}

/// Permissions of the documents that were read so far.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    approve: Approval,
    lists: [Vec<Value>; 3],
}

impl Permissions {
    /// Moves the rules of a document behind the known ones: no source can remove what another one denies.
    pub(super) fn take(&mut self, document: &mut Value, environment: &Environment) {
        let Some(section) = document.get_mut("permissions").and_then(Value::as_object_mut) else { return };
        for (list, rules) in LISTS.iter().zip(&mut self.lists) {
            let found = section.shift_remove(*list);
            for rule in found.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
                let rule = match environment.path("HOME") {
                    Some(home) => in_home(rule, &home),
                    None => rule.to_owned(),
                };
                if !rules.iter().any(|known| known.as_str() == Some(&rule)) {
                    rules.push(Value::from(rule));
                }
            }
        }
        if let Some(approve) = approve_of(section) {
            self.approve = approve;
        }
    }

    /// Removes from a project's document everything that widens permissions, and returns a note about it.
    pub(super) fn narrow(&self, document: &mut Value, path: &Path) -> Option<Message> {
        let section = document.get_mut("permissions").and_then(Value::as_object_mut)?;
        let narrows = approve_of(section).is_some_and(|approve| approve.narrower(self.approve) == approve);
        let wider = ["approve", "allow", "trusted_folders", "trust_files"].into_iter().filter(|key| !(narrows && *key == "approve"));
        let dropped: Vec<String> =
            wider.filter(|key| section.shift_remove(*key).is_some()).map(|key| format!("permissions.{key}")).collect();
        (!dropped.is_empty()).then(|| message!("narrow", keys = dropped.join(" and "), file = path.display()))
    }

    /// Returns all rules as a document to be merged last.
    pub(super) fn document(self) -> Value {
        let lists = LISTS.iter().zip(self.lists).filter(|(_, rules)| !rules.is_empty());
        let section: Map<String, Value> = lists.map(|(list, rules)| ((*list).to_owned(), Value::from(rules))).collect();
        Value::Object([("permissions".to_owned(), Value::Object(section))].into_iter().collect())
    }
}

fn approve_of(section: &Map<String, Value>) -> Option<Approval> {
    section.get("approve").and_then(|approve| Approval::deserialize(approve).ok())
}

/// Expands `~/` at the beginning of a rule's path to the home folder.
fn in_home(rule: &str, home: &Path) -> String {
    rule.replacen("_file(~/", &format!("_file({}/", home.display().to_string().trim_end_matches('/')), 1)
}
