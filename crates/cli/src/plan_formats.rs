//! A plan as a picture: Mermaid and DOT text.

use aime_progress::{EdgeType, Plan};

use crate::screen::first_line;

const LABEL: usize = 60;

/// A Mermaid flowchart.
pub(crate) fn mermaid(plan: &Plan) -> String {
    let mut lines = vec!["flowchart TD".to_owned()];
    for (index, task) in plan.tasks.iter().enumerate() {
        let label = first_line(task.title(), LABEL).replace('"', "'");
        lines.push(format!("  n{index}[\"{}: {label}\"]", task.id));
    }
    for (from, to, label) in arrows(plan) {
        lines.push(match label {
            Some(label) => format!("  n{from} -. \"{}\" .-> n{to}", label.replace('"', "'")),
            None => format!("  n{from} --> n{to}"),
        });
    }
    lines.join("\n")
}

/// A Graphviz digraph.
pub(crate) fn dot(plan: &Plan) -> String {
    let mut lines = vec!["digraph plan {".to_owned(), "  rankdir=TB; node [shape=box, style=rounded];".to_owned()];
    for (index, task) in plan.tasks.iter().enumerate() {
        lines.push(format!("  n{index} [label={:?}];", format!("{}: {}", task.id, first_line(task.title(), LABEL))));
    }
    for (from, to, label) in arrows(plan) {
        let style = label.map(|label| format!(" [style=dashed, label={label:?}]")).unwrap_or_default();
        lines.push(format!("  n{from} -> n{to}{style};"));
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Every edge by the places of its tasks; a label where it is more than a dependency.
fn arrows(plan: &Plan) -> Vec<(usize, usize, Option<String>)> {
    let place = |id: &aime_progress::TaskId| plan.tasks.iter().position(|task| task.id == *id);
    let mut found = Vec::new();
    for (index, task) in plan.tasks.iter().enumerate() {
        found.extend(task.dependencies.iter().filter_map(place).map(|from| (from, index, None)));
        found.extend(task.parent.iter().filter_map(place).map(|parent| (parent, index, Some("part".to_owned()))));
    }
    for edge in &plan.edges {
        let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) else { continue };
        let label = match edge.kind {
            EdgeType::Dependency => None,
            EdgeType::Conditional => Some(edge.condition.clone().unwrap_or_default()),
            EdgeType::Rollback => Some("rollback".to_owned()),
        };
        found.push((from, to, label));
    }
    found
}
