//! The tools of an actor.

use aime_progress::TaskSpec;
use aime_tools::{DELEGATE_TASK, HandledBy, LOAD_SKILL, ToolSheet, Touches, tools_of};

use super::{ActorContext, ComposeError};
use crate::{Profile, prompts::ToolNote};

/// The tools that every actor has, with `ask_human` where a person can be asked.
const COORDINATION: &str = "coordination";
const TERMINATE: &str = "terminate";
const ASK_HUMAN: &str = "ask_human";

pub(super) fn gather(
    profile: &Profile,
    task: &TaskSpec,
    context: &ActorContext<'_>,
    may_delegate: bool,
    reasons: &mut Vec<String>,
) -> Result<Vec<ToolSheet>, ComposeError> {
    let mut names: Vec<String> = Vec::new();
    for bundle in &profile.bundles {
        match tools_of([bundle]) {
            Ok(tools) => names.extend(tools.into_iter().map(str::to_owned)),
            Err(_) => reasons.push(format!("without the bundle `{bundle}`: it does not exist here")),
        }
    }
    for tool in &profile.tools {
        if context.tools.get(tool).is_some() {
            names.push(tool.clone());
        } else {
            reasons.push(format!("without the tool `{tool}`: it does not exist here"));
        }
    }
    for bundle in &task.bundles {
        match tools_of([bundle]) {
            Ok(tools) => names.extend(tools.into_iter().map(str::to_owned)),
            // A planner that writes the name of a tool means the tool.
            Err(_) if context.tools.get(bundle).is_some() => names.push(bundle.clone()),
            Err(error) => {
                return Err(ComposeError::UnknownBundle { task: task.id.to_string(), message: error.to_string() });
            }
        }
    }
    // There is such a tool only where there are skills.
    names.push(LOAD_SKILL.to_owned());
    names.extend(tools_of([COORDINATION]).unwrap_or_default().into_iter().map(str::to_owned));

    let mut sheets: Vec<ToolSheet> = Vec::new();
    for name in names {
        let denied = name != TERMINATE && profile.denied_tools.contains(&name);
        let nobody = name == ASK_HUMAN && !context.attended;
        let too_deep = name == DELEGATE_TASK && !may_delegate;
        let not_the_callers = name != TERMINATE && context.delegated.as_ref().is_some_and(|delegated| !delegated.may_have(&name));
        if denied || nobody || too_deep || not_the_callers || sheets.iter().any(|sheet| sheet.name() == name) {
            continue;
        }
        let Some(tool) = context.tools.get(&name) else {
            continue;
        };
        let sheet = tool.sheet();
        if profile.read_only() && changes_something(sheet) {
            reasons.push(format!("without `{name}`: `{}` is read-only", profile.name));
            continue;
        }
        sheets.push(ToolSheet::clone(sheet));
    }
    Ok(sheets)
}

pub(super) fn changes_something(sheet: &ToolSheet) -> bool {
    let inside = sheet.handled_by == HandledBy::Actor || matches!(sheet.touches, Touches::Nothing | Touches::People);
    !sheet.read_only && !inside
}

/// A tool in one line: its parameters, optional ones with a question mark, and the first sentence of its description.
pub(super) fn note(sheet: &ToolSheet) -> ToolNote {
    let schema = &sheet.definition.parameters;
    let required = |name: &str| {
        schema.get("required").and_then(|r| r.as_array()).is_some_and(|required| required.iter().any(|r| r.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(|p| p.as_object());
    let parameter = |name: &String| if required(name) { name.clone() } else { format!("{name}?") };
    let description = sheet.definition.description.trim();
    let end = description.find(". ").map(|at| at + 1).or_else(|| description.find('\n')).unwrap_or(description.len());
    ToolNote {
        name: sheet.name().to_owned(),
        parameters: properties.into_iter().flat_map(|p| p.keys()).map(parameter).collect(),
        summary: description.get(..end).unwrap_or(description).trim().to_owned(),
    }
}
