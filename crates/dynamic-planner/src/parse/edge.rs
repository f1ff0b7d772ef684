//! Parses edges.

use aime_messages::message;
use aime_progress_management::{Edge, EdgeType, TaskId};
use serde_json::Value;

use super::{
    coerce::{Members, Notes, is_nothing, snake, text},
    ids::Names,
    task::kind_of,
};
use crate::PlanFault;

/// Parses the edges of a plan. Adds a fault to `unread` for each member that an edge does not have.
pub(super) fn read_edges(
    value: &Value,
    names: &Names,
    notes: &mut Notes,
    unread: &mut Vec<PlanFault>,
    faults: &mut Vec<PlanFault>,
) -> Vec<Edge> {
    let Value::Array(items) = value else {
        faults.push(PlanFault::new("edges", message!("plan-list", kind = kind_of(value))));
        return Vec::new();
    };
    let read = |(at, item): (usize, &Value)| {
        let place = format!("edges[{at}]");
        match item {
            Value::Object(object) => {
                let mut members = Members::of(object);
                let edge = read_edge(&mut members, &place, names, notes, faults);
                unread.extend(unknown_members(&members, &place));
                edge
            }
            other => {
                faults.push(PlanFault::new(place, message!("plan-object", kind = kind_of(other))));
                None
            }
        }
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// Returns a fault for each member that an edge does not have and that is no comment.
pub(super) fn unknown_members(members: &Members<'_>, place: &str) -> Vec<PlanFault> {
    let is_comment = |key: &str| matches!(key, "id" | "name" | "label" | "description" | "reason" | "reasoning" | "why");
    let unknown = members.rest().filter(|key| !is_comment(&snake(key)));
    unknown.map(|key| PlanFault::new(format!("{place}.{key}"), message!("plan-edge-member"))).collect()
}

/// Parses the ends of an edge.
pub(super) fn read_ends(
    members: &mut Members<'_>,
    place: &str,
    names: &Names,
    notes: &mut Notes,
    faults: &mut Vec<PlanFault>,
) -> Option<(TaskId, TaskId)> {
    let mut end = |name: &str, other: &[&str]| {
        let written = members.take(name, other, notes).and_then(text);
        let id = written.as_deref().and_then(|mention| names.resolve(mention, notes));
        if id.is_none() {
            let place = format!("{place}.{name}");
            faults.push(match written.filter(|mention| !mention.is_empty()) {
                Some(mention) => names.unknown(&mention, place),
                None => {
                    PlanFault::new(place, message!("plan-edge")).hint(message!("plan-edge-form", json = "{\"from\", \"to\", \"type\"}"))
                }
            });
        }
        id
    };
    let (from, to) = (end("from", &["source", "from_id"]), end("to", &["target", "to_id"]));
    from.zip(to)
}

/// Parses one edge.
pub(super) fn read_edge(
    members: &mut Members<'_>,
    place: &str,
    names: &Names,
    notes: &mut Notes,
    faults: &mut Vec<PlanFault>,
) -> Option<Edge> {
    let ends = read_ends(members, place, names, notes, faults);
    let mut condition = members.take("condition", &["when", "if"], notes).and_then(text).filter(|text| !is_nothing(text));
    if let Some(condition) = &mut condition {
        names.rename_in_text(condition);
    }
    let written = members.take("type", &["kind", "edge_type"], notes).and_then(text).unwrap_or_default();
    let mut kind = match snake(&written).as_str() {
        "" if condition.is_some() => EdgeType::Conditional,
        "" | "dependency" | "depends" | "sequential" => EdgeType::Dependency,
        "conditional" | "condition" => EdgeType::Conditional,
        "rollback" | "compensation" => EdgeType::Rollback,
        _ => {
            faults.push(
                PlanFault::new(format!("{place}.type"), message!("plan-edge-kind", kind = format!("{written:?}")))
                    .hint(message!("plan-there-are", names = "dependency, conditional, rollback")),
            );
            return None;
        }
    };
    let (from, to) = ends?;
    match (kind, &condition) {
        (EdgeType::Dependency, Some(written)) if is_implied(written, &from, &["completed", "success", "done", "true", "always"]) => {
            notes.add(message!("repair-edge-condition", place, condition = written));
            condition = None;
        }
        (EdgeType::Dependency, Some(_)) => {
            notes.add(message!("repair-edge-conditional", place));
            kind = EdgeType::Conditional;
        }
        (EdgeType::Rollback, Some(written)) if is_implied(written, &from, &["failed", "failure", "error"]) => {
            notes.add(message!("repair-edge-condition", place, condition = written));
            condition = None;
        }
        (EdgeType::Rollback, Some(_)) => {
            let fault = PlanFault::new(format!("{place}.condition"), message!("plan-rollback-condition"));
            faults.push(fault.hint(message!("plan-rollback-condition-hint", from, to)));
            return None;
        }
        _ => {}
    }
    Some(Edge { from, to, kind, condition })
}

/// Returns true if a condition only repeats what the type of the edge says: one of these words, or that the source has one of them as
/// its status.
fn is_implied(condition: &str, from: &TaskId, words: &[&str]) -> bool {
    let plain: String = condition.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    let word = plain.strip_prefix(&format!("@{{steps.{from}.status}}==")).unwrap_or(&plain);
    let word = word.to_lowercase();
    words.contains(&word.strip_prefix("on_").unwrap_or(&word))
}
