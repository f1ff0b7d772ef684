//! The files of a goal, which its plan should name as the goal does.

use aime_progress::{Plan, TaskSpec};

use crate::{PlanFault, route::files};

/// The files that the goal names and no task does, each a fault. A task may leave out the folder.
pub(crate) fn unnamed_files(plan: &Plan, goal: &str) -> Vec<PlanFault> {
    let words: Vec<String> = plan.tasks.iter().map(words).collect();
    let unnamed = |file: &String| {
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_lowercase();
        !words.iter().any(|words| words.contains(&name))
    };
    let fault = |file: String| {
        PlanFault::new("tasks", format!("the goal names {file:?}, and no task does"))
            .hint("write names of files as the goal does, each in the tasks that work with it")
    };
    files(goal).into_iter().filter(unnamed).map(fault).collect()
}

/// All that a task says, in lower case.
fn words(task: &TaskSpec) -> String {
    let parameters = serde_json::Value::Object(task.parameters.clone()).to_string();
    let texts = [task.title(), task.description.as_str(), parameters.as_str()];
    texts.into_iter().chain(task.completion_criteria.iter().map(String::as_str)).collect::<Vec<_>>().join("\n").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::unnamed_files;
    use crate::parse_plan;

    #[test]
    fn a_plan_names_the_files_of_its_goal() {
        let plan = r#"{"tasks": [
            {"id": "a", "description": "Write alpha to A.txt"},
            {"id": "b", "tool": "read_file", "parameters": {"path": "src/b.txt"}},
            {"id": "c", "description": "Put both together", "completion_criteria": ["both.txt has two lines"]}]}"#;
        let plan = parse_plan(plan).unwrap().plan;
        for (goal, expected) in [
            ("Write a.txt, read src/b.txt and make both.txt", vec![]),
            ("Read old/b.txt", vec![]),
            ("Write a.txt and alpha.txt, as example.com wants it", vec!["alpha.txt"]),
            ("Look around", vec![]),
        ] {
            let faults: Vec<String> = unnamed_files(&plan, goal).iter().map(ToString::to_string).collect();
            let told = |file: &&str| faults.iter().any(|fault| fault.starts_with(&format!("tasks: the goal names {file:?}")));
            assert!(faults.len() == expected.len() && expected.iter().all(told), "{goal}: {faults:?}");
        }
    }
}
