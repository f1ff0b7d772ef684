//! What an actor is given of its run when it starts: the part that it works with, which does not grow with the plan.

use aime_actors::marked;
use aime_progress::{Conclusion, Origin, PlanId, PlanMode, ProgressState, Risk, Task, TaskId, TaskSpec, TaskStatus};
use serde::{Deserialize, Serialize};

/// How many tasks of the plan an actor is shown, its own among them.
const OVERVIEW: usize = 12;

/// A run as an actor needs it, as it stood when the actor was started or taken up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorBrief {
    /// The plan.
    pub plan_id: PlanId,
    /// The goal of the run.
    pub goal: String,
    /// The way of working.
    pub mode: Option<PlanMode>,
    /// The category of the goal.
    pub category: String,
    /// What the plan expects might go wrong.
    pub risks: Vec<Risk>,
    /// What people have allowed for good since the run began, as rules.
    pub consents: Vec<String>,
    /// The task.
    pub spec: TaskSpec,
    /// The tasks around it in a line each; may be empty.
    pub overview: String,
    /// What the tasks before it came to, and how it failed before, in Markdown; may be empty.
    pub results: String,
}

impl ActorBrief {
    /// The brief for a task that waits for `dependencies`; none for a task that the plan does not have. With `marks`, results that hold what nobody
    /// vouches for stand between marks.
    #[must_use]
    pub fn new<'a>(state: &ProgressState, task: &TaskId, dependencies: impl IntoIterator<Item = &'a TaskId>, marks: bool) -> Option<Self> {
        let known = state.tasks.get(task)?;
        Some(Self {
            plan_id: state.plan_id.clone(),
            goal: state.goal.clone(),
            mode: state.mode,
            category: state.category.clone(),
            risks: state.strategic.risks.clone(),
            consents: state.consents.clone(),
            spec: known.spec.clone(),
            overview: state.overview(task, OVERVIEW),
            results: results(state, known, dependencies, marks),
        })
    }
}

/// What the tasks before this one came to, and how this one failed before.
fn results<'a>(state: &ProgressState, task: &Task, dependencies: impl IntoIterator<Item = &'a TaskId>, marks: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for before in dependencies {
        let Some(before) = state.tasks.get(before) else { continue };
        if let Some(conclusion) = before.conclusion.as_ref().filter(|_| before.status == TaskStatus::Completed) {
            let made =
                if conclusion.references.is_empty() { String::new() } else { format!("\nMade: {}", conclusion.references.join(", ")) };
            let text = match conclusion.origins.as_slice() {
                origins if marks && !origins.is_empty() => marked(&Origin::line(origins), before.spec.id.as_str(), &told(conclusion)),
                _ => told(conclusion),
            };
            parts.push(format!("### {}\n{text}{made}", before.spec.title()));
        }
    }
    if let Some(error) = task.conclusion.as_ref().and_then(|conclusion| conclusion.error.as_ref()) {
        parts.push(format!("### An earlier attempt at this task failed\n{error}\nDo it another way."));
    }
    parts.join("\n\n")
}

/// What a task that succeeded tells those after it: its own words, and what it saw last where they leave that out. Of a long one that is the beginning,
/// which ends in a mark.
fn told(conclusion: &Conclusion) -> String {
    match conclusion.observed.as_deref().filter(|seen| !conclusion.text().contains(seen.trim_end_matches('…'))) {
        Some(seen) => format!("{}\nWhat it saw last:\n{seen}", conclusion.text()),
        None => conclusion.text().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use aime_progress::{Conclusion, Outcome};

    use super::told;

    #[test]
    fn what_was_seen_last_is_told_once() {
        let concluded = |summary: &str, observed: Option<&str>| Conclusion {
            observed: observed.map(str::to_owned),
            ..Conclusion::new(Outcome::Success, summary)
        };
        for (summary, observed, expected) in [
            ("There are 7", None, "There are 7"),
            ("Done", Some("7 log.txt"), "Done\nWhat it saw last:\n7 log.txt"),
            ("It says: one two three", Some("one two…"), "It says: one two three"),
            ("It says 7 log.txt", Some("7 log.txt"), "It says 7 log.txt"),
        ] {
            assert_eq!(told(&concluded(summary, observed)), expected);
        }
    }
}
