//! The files of a goal, which its plan should name as the goal does.

use std::collections::BTreeSet;

use aime_progress::{Plan, TaskSpec};
use serde_json::Value;

use crate::{PlanFault, route::files};

/// The files that the goal of a plan names and no task does, each a fault. A task may leave out the folder. A group does nothing itself.
pub(crate) fn unnamed_files(plan: &Plan) -> Vec<PlanFault> {
    let groups: BTreeSet<_> = plan.tasks.iter().filter_map(|task| task.parent.as_ref()).collect();
    let named: BTreeSet<String> = plan.tasks.iter().filter(|task| !groups.contains(&task.id)).flat_map(names).collect();
    let fault = |file: String| {
        PlanFault::new("tasks", format!("the goal names {file:?}, and no task does"))
            .hint("write names of files as the goal does, each in the tasks that work with it")
    };
    files(&plan.goal).into_iter().filter(|file| !named.contains(&name(file))).map(fault).collect()
}

/// The names of files in all that a task says.
fn names(task: &TaskSpec) -> BTreeSet<String> {
    let mut texts = vec![task.title(), task.description.as_str()];
    texts.extend(task.completion_criteria.iter().map(String::as_str));
    task.parameters.values().for_each(|value| add_texts(value, &mut texts));
    texts.into_iter().flat_map(files).map(|file| name(&file)).collect()
}

fn add_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(values) => values.values().for_each(|value| add_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The last part of a path, in lower case.
fn name(file: &str) -> String {
    file.rsplit(['/', '\\']).next().unwrap_or(file).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::unnamed_files;
    use crate::parse_plan;

    #[test]
    fn a_plan_names_the_files_of_its_goal() {
        let plan = r#"{"tasks": [
            {"id": "g", "description": "Make report.md"},
            {"id": "a", "description": "Write alpha to A.txt", "parent": "g"},
            {"id": "b", "tool": "read_file", "parameters": {"path": "src/b.txt", "more": ["one\nc.txt"]}},
            {"id": "c", "description": "Put both together", "completion_criteria": ["both.txt has two lines"]}]}"#;
        let mut plan = parse_plan(plan).unwrap().plan;
        for (goal, expected) in [
            ("Write a.txt, read src/b.txt and c.txt and make both.txt", vec![]),
            ("Read old/b.txt", vec![]),
            ("Write a.txt and alpha.txt, as example.com wants it", vec!["alpha.txt"]),
            ("Read t.txt, which is a part of the name of another", vec!["t.txt"]),
            ("Make report.md, which a group names alone", vec!["report.md"]),
            ("Look around", vec![]),
        ] {
            goal.clone_into(&mut plan.goal);
            let faults: Vec<String> = unnamed_files(&plan).iter().map(ToString::to_string).collect();
            let told = |file: &&str| faults.iter().any(|fault| fault.starts_with(&format!("tasks: the goal names {file:?}")));
            assert!(faults.len() == expected.len() && expected.iter().all(told), "{goal}: {faults:?}");
        }
    }
}
