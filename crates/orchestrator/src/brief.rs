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
    /// Why its result was not accepted, if its actor goes on after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnedResult>,
}

/// A result of an actor that was not accepted, so that the actor goes on in its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnedResult {
    /// How often that happened in this execution of the task.
    pub number: u32,
    /// The missing parts.
    pub missing: String,
}

impl ActorBrief {
    /// Returns the brief of the lead, whose own work is `spec`.
    pub(crate) fn of_lead(state: &ProgressState, spec: TaskSpec) -> Self {
        Self {
            plan_id: state.plan_id.clone(),
            goal: state.goal.clone(),
            mode: state.mode,
            category: state.category.clone(),
            risks: Vec::new(),
            consents: state.consents.clone(),
            spec,
            overview: String::new(),
            results: String::new(),
            returned: None,
        }
    }

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
            returned: None,
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
    parts.extend(task.conclusion.as_ref().and_then(earlier_attempt));
    parts.join("\n\n")
}

/// Sums up what an attempt that failed has learnt and left, for the next one.
fn earlier_attempt(conclusion: &Conclusion) -> Option<String> {
    let error = conclusion.error.as_ref()?;
    let mut lines = vec![format!("### An earlier attempt at this task failed\n{error}")];
    let said = conclusion.text().trim();
    if !said.is_empty() && !error.contains(said) && !said.contains(error.as_str()) {
        lines.push(format!("It had reported:\n{said}"));
    }
    if !conclusion.references.is_empty() {
        lines.push(format!("It made or changed: {}", conclusion.references.join(", ")));
    }
    lines.push("Look at what is there, keep what holds, and do the rest another way.".to_owned());
    Some(lines.join("\n"))
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

    use super::{earlier_attempt, told};

    #[test]
    fn an_attempt_that_failed_is_summed_up() {
        let failed = |summary: &str, error: Option<&str>, references: &[&str]| Conclusion {
            error: error.map(str::to_owned),
            references: references.iter().map(|made| (*made).to_owned()).collect(),
            ..Conclusion::new(Outcome::Failure, summary)
        };
        let (head, tail) =
            ("### An earlier attempt at this task failed\n", "\nLook at what is there, keep what holds, and do the rest another way.");
        for (conclusion, expected) in [
            (failed("done", None, &[]), None),
            (failed("no key", Some("no key (needs: a key)"), &[]), Some("no key (needs: a key)")),
            (
                failed("The parser is written", Some("reported as done, but \"it builds\" does not hold"), &["a.rs", "b.rs"]),
                Some(
                    "reported as done, but \"it builds\" does not hold\nIt had reported:\nThe parser is written\nIt made or changed: a.rs, b.rs",
                ),
            ),
        ] {
            assert_eq!(earlier_attempt(&conclusion), expected.map(|middle| format!("{head}{middle}{tail}")));
        }
    }

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
