//! Diagrams of a plan as Mermaid and DOT text.

use aime_progress_management::{EdgeType, Plan, TaskSpec};

/// Largest length of a label, in characters.
const LABEL: usize = 60;

/// Returns a Mermaid flowchart.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let mut lines = vec!["flowchart TD".to_owned()];
    for (index, task) in plan.tasks.iter().enumerate() {
        lines.push(format!("  n{index}[\"{}\"]", mermaid_text(&label(task))));
    }
    for (from, to, label) in arrows(plan) {
        lines.push(match label {
            Some(label) => format!("  n{from} -. \"{}\" .-> n{to}", mermaid_text(&label)),
            None => format!("  n{from} --> n{to}"),
        });
    }
    lines.join("\n")
}

/// Returns a Graphviz digraph.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let mut lines = vec!["digraph plan {".to_owned(), "  rankdir=TB; node [shape=box, style=rounded];".to_owned()];
    for (index, task) in plan.tasks.iter().enumerate() {
        lines.push(format!("  n{index} [label=\"{}\"];", dot_text(&label(task))));
    }
    for (from, to, label) in arrows(plan) {
        let style = label.map(|label| format!(" [style=dashed, label=\"{}\"]", dot_text(&label))).unwrap_or_default();
        lines.push(format!("  n{from} -> n{to}{style};"));
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Returns the first line of a text that is not empty, cut to `limit` characters, without control characters.
fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().replace('\t', " ");
    let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
    if line.chars().count() <= limit {
        return line;
    }
    let cut: String = line.chars().take(limit - 1).collect();
    format!("{}…", cut.trim_end())
}

fn label(task: &TaskSpec) -> String {
    format!("{}: {}", task.id, first_line(task.title(), LABEL))
}

/// Escapes a text for a Mermaid string, which may contain HTML and Markdown: special characters become entities.
fn mermaid_text(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in first_line(text, 2 * LABEL).chars() {
        match character {
            '#' | '"' | '&' | '<' | '>' | '`' | '*' | '_' | '\\' => written.push_str(&format!("#{};", u32::from(character))),
            other => written.push(other),
        }
    }
    written
}

/// Escapes a text for a Graphviz string, which interprets `\"`, and `\N` and similar escapes.
fn dot_text(text: &str) -> String {
    first_line(text, 2 * LABEL).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Returns every edge by the indices of its tasks, with a label if it is more than a dependency.
fn arrows(plan: &Plan) -> Vec<(usize, usize, Option<String>)> {
    let place = |id: &aime_progress_management::TaskId| plan.tasks.iter().position(|task| task.id == *id);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan() -> Plan {
        let plan = json!({
            "goal": "g",
            "tasks": [
                {"id": "a", "name": "Say \"hi\" \\N & <b>*go*</b> `x` #1", "kind": "actor"},
                {"id": "b", "name": "两行\nsecond line", "dependencies": ["a"]},
                {"id": "g_1", "kind": "group", "name": "together"},
                {"id": "c", "parent": "g_1", "tool": "bash", "parameters": {"command": "ls"}},
                {"id": "undo", "tool": "bash", "parameters": {"command": "ls"}}
            ],
            "edges": [
                {"from": "b", "to": "c", "type": "conditional", "condition": "@{steps.b.result} == \"yes\""},
                {"from": "c", "to": "undo", "type": "rollback"},
                {"from": "a", "to": "c", "type": "dependency"}
            ]
        });
        crate::parse_plan(&plan.to_string()).unwrap().plan
    }

    #[test]
    fn a_flowchart_for_mermaid() {
        insta::assert_snapshot!(mermaid(&plan()));
    }

    #[test]
    fn a_digraph_for_graphviz() {
        insta::assert_snapshot!(dot(&plan()));
    }
}
