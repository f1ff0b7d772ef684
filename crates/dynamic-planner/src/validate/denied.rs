//! Validates the tools that a task denies. An entry that denies nothing would leave the actor more rights than the plan
//! means, so it is a fault in plans of models, too.

use aime_messages::{Message, message};
use aime_progress_management::TaskId;
use aime_tools::{BUNDLES, bundle, tools_of};

use super::PlanChecker;
use crate::{PlanFault, PlanProblem, fault::suggestion};

impl PlanChecker<'_> {
    /// Checks that every entry is the name of a tool, or a prefix of one followed by `*`. Replaces a bundle by its tools.
    pub(super) fn check_denied(
        &self,
        denied: &mut Vec<String>,
        (task, place): (&TaskId, String),
        repairs: &mut Vec<Message>,
        faults: &mut Vec<PlanFault>,
    ) {
        if self.tools.is_empty() && self.actor_tools.is_empty() {
            return;
        }
        let known = self.deniable();
        let mut read: Vec<String> = Vec::new();
        for (at, name) in std::mem::take(denied).into_iter().enumerate() {
            let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            let mut same = known.iter().filter(|known| plain(known) == plain(&name));
            if denies_something(&name, &known) {
                read.push(name);
            } else if let Ok(bundle) = bundle(&name) {
                repairs.push(message!("repair-denied-bundle", name = format!("{name:?}"), task, tools = bundle.tools.join(", ")));
                read.extend(bundle.tools.iter().map(|tool| (*tool).to_owned()));
            } else if let (Some(tool), None) = (same.next(), same.next()) {
                repairs.push(message!("repair-tool", name = format!("{name:?}"), task, tool));
                read.push((*tool).to_owned());
            } else {
                let fault = PlanFault::new(format!("{place}[{at}]"), PlanProblem::UnknownTool { name: name.clone() });
                faults.push(fault.hint(suggestion(&name, known.iter().copied())));
                read.push(name);
            }
        }
        for name in read {
            if !denied.contains(&name) {
                denied.push(name);
            }
        }
    }

    /// Returns the names of all tools that exist, also of those that this run lacks.
    fn deniable(&self) -> Vec<&str> {
        let here = self.tools.iter().map(|tool| tool.name.as_str()).chain(self.actor_tools.iter().map(String::as_str));
        let mut known: Vec<&str> = here.collect();
        for tool in tools_of(BUNDLES.iter().map(|bundle| bundle.name)).unwrap_or_default() {
            if !known.contains(&tool) {
                known.push(tool);
            }
        }
        known
    }
}

/// Returns true if an entry is or begins the name of a known tool. A tool of an MCP server without known tools may exist.
fn denies_something(entry: &str, known: &[&str]) -> bool {
    let denies = |tool: &&str| entry.strip_suffix('*').map_or(entry == *tool, |prefix| tool.starts_with(prefix));
    let of_other_server = || {
        let server = entry.strip_prefix("mcp__").map(|rest| rest.split("__").next().unwrap_or(rest).trim_end_matches('*'));
        server.is_some_and(|server| !known.iter().any(|tool| tool.starts_with(&format!("mcp__{server}__"))))
    };
    known.iter().any(denies) || of_other_server()
}
