//! Validates tool tasks: the tool exists, the runtime can call it, and the parameters fit its schema.

use aime_llm::{SchemaChecker, SchemaFault, ToolDefinition, coerce_to_schema};
use aime_messages::{Message, message};
use aime_progress_management::{TaskKind, TaskSpec};
use serde_json::{Map, Value};

use super::PlanChecker;
use crate::{PlanFault, PlanProblem, ToolLine, fault::suggestion};

impl PlanChecker<'_> {
    pub(super) fn check_tool(&self, task: &mut TaskSpec, place: &str, repairs: &mut Vec<Message>, faults: &mut Vec<PlanFault>) {
        if task.kind != TaskKind::Tool {
            return;
        }
        let Some(name) = task.tool.clone() else {
            faults.push(PlanFault::new(format!("{place}.tool"), message!("plan-no-tool-named", task = task.id)));
            return;
        };
        let Some(tool) = self.tool(&name, &format!("{place}.tool"), faults) else { return };
        if tool.name != name {
            repairs.push(message!("repair-tool", name = format!("{name:?}"), task = task.id, tool = tool.name));
            task.tool = Some(tool.name.clone());
        }
        let before = repairs.len();
        check_parameters(tool, &mut task.parameters, &format!("{place}.parameters"), repairs, faults);
        for repair in repairs.iter_mut().skip(before) {
            *repair = message!("repair-of", task = task.id, fault = *repair);
        }
    }

    /// Returns the tool of a name, also of a slightly misspelt one.
    pub(super) fn tool(&self, name: &str, place: &str, faults: &mut Vec<PlanFault>) -> Option<&ToolDefinition> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name == name) {
            return Some(tool);
        }
        if self.actor_tools.iter().any(|known| known == name) {
            let fault = PlanFault::new(place, PlanProblem::ToolOfActors { name: name.to_owned() });
            faults.push(fault.hint(message!("plan-of-actors-hint")));
            return None;
        }
        let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        let mut same = self.tools.iter().filter(|tool| plain(&tool.name) == plain(name));
        if let (Some(tool), None) = (same.next(), same.next()) {
            return Some(tool);
        }
        let fault = PlanFault::new(place, PlanProblem::UnknownTool { name: name.to_owned() });
        faults.push(fault.hint(suggestion(name, self.tools.iter().map(|tool| tool.name.as_str()))));
        None
    }
}

/// Checks parameters against the tool's JSON Schema. A parameter that is or contains a reference fits any schema,
/// because its value is not known yet.
pub(super) fn check_parameters(
    tool: &ToolDefinition,
    parameters: &mut Map<String, Value>,
    place: &str,
    repairs: &mut Vec<Message>,
    faults: &mut Vec<PlanFault>,
) {
    let checker = match SchemaChecker::new(&tool.parameters) {
        Ok(checker) => checker,
        Err(error) => {
            // This is a fault of the tool and not of the plan, so the call will report it.
            tracing::warn!(tool = tool.name, %error, "the parameters of a tool cannot be checked");
            return;
        }
    };
    let mut value = Value::Object(std::mem::take(parameters));
    let mut referring = Vec::new();
    places_of_references(&value, "", &mut referring);
    // A lone reference keeps the type of its value, so it must not be coerced to a list or a number here.
    if referring.is_empty() && !checker.fits(&value) {
        let mut coerced = Vec::new();
        coerce_to_schema(&mut value, &tool.parameters, &mut coerced);
        repairs.extend(coerced.into_iter().map(Message::text));
    }
    let found = checker.check(&value).err().unwrap_or_default();
    for fault in found.into_iter().filter(|fault: &SchemaFault| !referring.contains(&fault.place)) {
        let place = if fault.place.is_empty() { place.to_owned() } else { format!("{place}.{}", fault.place) };
        let detail = if fault.place.is_empty() { message!("plan-call", tool = tool.name, fault = fault.message) } else { fault.message };
        let problem = PlanProblem::Parameters { tool: tool.name.clone(), detail };
        faults.push(PlanFault::new(place, problem).hint(message!("plan-parameters", parameters = ToolLine::of(tool).parameters)));
    }
    if let Value::Object(map) = value {
        *parameters = map;
    }
}

fn places_of_references(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("@{") => found.push(place.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                places_of_references(item, &format!("{place}[{at}]"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                places_of_references(item, &place, found);
            }
        }
        _ => {}
    }
}
