//! Selection of an actor's tools.

use std::sync::Arc;

use aime_progress_management::TaskSpec;
use aime_tools::{
    DELEGATE_TASK, LOAD_SKILL, PermissionRule, PermissionRules, ToolScope, ToolSpec, is_in_a_bundle, is_of_servers, tools_of,
};

use super::{ActorContext, ComposeError};
use crate::{Profile, SmallModel, history::ASK_HUMAN, prompts::ToolNote, select::needed_bundles};

/// Bundle that every actor gets. Its tool `ask_human` is left out if no person can answer.
const COORDINATION: &str = "coordination";
const TERMINATE: &str = "terminate";
const BASH: &str = "bash";
/// Prefix of the names of the tools of MCP servers.
const OF_SERVERS: &str = "mcp__";
/// Tools for commands that `bash` left running.
const OF_BACKGROUND: [&str; 2] = ["bash_output", "bash_kill"];

pub(super) fn gather(
    profile: &Profile,
    small: Option<&SmallModel>,
    task: &TaskSpec,
    context: &ActorContext<'_>,
    may_delegate: bool,
    reasons: &mut Vec<String>,
) -> Result<Vec<Arc<ToolSpec>>, ComposeError> {
    let mut names: Vec<String> = Vec::new();
    let mut of_profile: Vec<&str> = Vec::new();
    for bundle in &profile.bundles {
        match tools_of([bundle]) {
            Ok(tools) => of_profile.extend(tools),
            Err(_) => reasons.push(format!("without the bundle `{bundle}`: it does not exist here")),
        }
    }
    match small {
        Some(small) => {
            reasons.push("few tools: the model is a small one".to_owned());
            names.push(TERMINATE.to_owned());
            names.extend(small.tools.iter().cloned());
            names.push(super::REPORT_EVIDENCE.to_owned());
        }
        None => {
            names.extend(of_profile.iter().map(|tool| (*tool).to_owned()));
            names.extend(profile.tools.iter().cloned());
            names.extend(tools_of(needed_bundles(profile, task)).unwrap_or_default().into_iter().map(str::to_owned));
        }
    }
    for tool in names.iter().filter(|tool| context.tools.get(tool).is_none()) {
        if profile.tools.contains(tool) || small.is_some() {
            reasons.push(format!("without the tool `{tool}`: it does not exist here"));
        }
    }
    for bundle in &task.bundles {
        let tools: Vec<&str> = match tools_of([bundle]) {
            Ok(tools) => tools,
            // Planners sometimes write the name of a tool instead of a bundle.
            Err(_) if context.tools.get(bundle).is_some() => vec![bundle],
            Err(error) => {
                return Err(ComposeError::UnknownBundle { task: task.id.to_string(), message: error.to_string() });
            }
        };
        names.extend(tools.into_iter().filter(|tool| small.is_none() || !of_profile.contains(tool)).map(str::to_owned));
    }
    // An embedding program adds a tool because it wants it used, and the planner model does not know about it. So every actor gets it.
    names.extend(context.tools.names().filter(|name| !is_in_a_bundle(name) && *name != LOAD_SKILL).map(str::to_owned));
    // This tool is registered only if skills exist.
    names.push(LOAD_SKILL.to_owned());
    if small.is_none() {
        names.extend(tools_of([COORDINATION]).unwrap_or_default().into_iter().map(str::to_owned));
    }

    let mut specs: Vec<Arc<ToolSpec>> = Vec::new();
    let (mut servers_left_out, mut of_task): (usize, Vec<String>) = (0, Vec::new());
    for name in names {
        let of_profile = profile.denies(&name);
        let denied = of_profile || (name != TERMINATE && task.denied_tools.iter().any(|denied| denies(denied, &name)));
        if denied && !of_profile && context.tools.get(&name).is_some() && !of_task.contains(&name) {
            of_task.push(name.clone());
        }
        let nobody = name == ASK_HUMAN && !context.attended;
        // A direct run has no plan that evidence could change.
        let no_plan = context.plain_answer_ends && name == super::REPORT_EVIDENCE;
        let too_deep = name == DELEGATE_TASK && !may_delegate;
        let not_the_callers = name != TERMINATE && context.delegated.as_ref().is_some_and(|delegated| !delegated.may_have(&name));
        if denied || nobody || no_plan || too_deep || not_the_callers || specs.iter().any(|spec| spec.name() == name) {
            continue;
        }
        let Some(tool) = context.tools.get(&name) else {
            continue;
        };
        let spec = tool.spec();
        if profile.read_only() && changes_something(spec) {
            if is_of_servers(&name) {
                servers_left_out += 1;
            } else {
                reasons.push(format!("without `{name}`: `{}` is read-only", profile.name));
            }
            continue;
        }
        specs.push(Arc::clone(spec));
    }
    // These tools are useful only with a `bash` that can leave commands running. Small models get no such `bash`.
    if small.is_some() || !specs.iter().any(|spec| spec.name() == BASH) {
        specs.retain(|spec| !OF_BACKGROUND.contains(&spec.name()));
    }
    if !of_task.is_empty() {
        reasons.push(format!("without `{}`: the task denies {}", of_task.join("`, `"), if of_task.len() == 1 { "it" } else { "them" }));
    }
    if servers_left_out > 0 {
        let reason = "of MCP servers that are not known to change nothing: it is read-only";
        reasons.push(format!("`{}` is without {servers_left_out} tools {reason}", profile.name));
    }
    Ok(specs)
}

/// Adds deny rules for the tools of MCP servers that the profile or the task denies: `mcp_call_tool` calls tools that are not in the
/// actor's list.
pub(super) fn with_denied(rules: PermissionRules, profile: &Profile, task: &TaskSpec) -> PermissionRules {
    // In a rule, `*` has a meaning at any place.
    let is_rule = |entry: &&String| entry.starts_with(OF_SERVERS) && !entry.strip_suffix('*').unwrap_or(entry.as_str()).contains('*');
    let entries = profile.denied_tools.iter().chain(&task.denied_tools).filter(is_rule);
    let denied: Vec<PermissionRule> = entries.filter_map(|entry| entry.parse().ok()).collect();
    if denied.is_empty() {
        return rules;
    }
    let mut lists = rules.lists().clone();
    for rule in denied {
        if !lists.deny.contains(&rule) {
            lists.deny.push(rule);
        }
    }
    rules.with_lists(lists)
}

impl Profile {
    /// Returns the names of the tools that no actor of this profile gets: denied ones and, for a read-only profile, those that change
    /// something.
    pub fn never_gets<'a>(&self, specs: impl Iterator<Item = &'a Arc<ToolSpec>>) -> Vec<String> {
        let (mut never, mut had) = (Vec::new(), Vec::new());
        for spec in specs {
            let is_never = self.denies(spec.name()) || (self.read_only() && changes_something(spec));
            if is_never { &mut never } else { &mut had }.push(spec.name().to_owned());
        }
        if !had.iter().any(|name| name == BASH) {
            never.extend(had.into_iter().filter(|name| OF_BACKGROUND.contains(&name.as_str())));
        }
        never
    }

    fn denies(&self, name: &str) -> bool {
        name != TERMINATE && self.denied_tools.iter().any(|denied| denies(denied, name))
    }
}

/// Returns true if a profile's entry denies a tool. The entry is a name, or a prefix followed by `*`.
fn denies(entry: &str, name: &str) -> bool {
    entry.strip_suffix('*').map_or(entry == name, |beginning| name.starts_with(beginning))
}

pub(super) fn changes_something(spec: &ToolSpec) -> bool {
    let inside = spec.handled_by.is_inside() || matches!(spec.touches, ToolScope::Nothing | ToolScope::People);
    !spec.read_only && !inside
}

/// Describes a tool in one line: its parameters (optional ones with a question mark) and the first sentence of its description.
pub(super) fn note(spec: &ToolSpec) -> ToolNote {
    let schema = &spec.definition.parameters;
    let required = |name: &str| {
        schema.get("required").and_then(|r| r.as_array()).is_some_and(|required| required.iter().any(|r| r.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(|p| p.as_object());
    let parameter = |name: &String| if required(name) { name.clone() } else { format!("{name}?") };
    let description = spec.definition.description.trim();
    let end = description.find(". ").map(|at| at + 1).or_else(|| description.find('\n')).unwrap_or(description.len());
    ToolNote {
        name: spec.name().to_owned(),
        parameters: properties.into_iter().flat_map(|p| p.keys()).map(parameter).collect(),
        summary: description.get(..end).unwrap_or(description).trim().to_owned(),
    }
}
