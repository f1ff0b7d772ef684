//! Brief of an actor: the part of the run that it needs at its start. Its size does not grow with the plan.

use std::{collections::BTreeMap, sync::Arc};

use aime_actor_factory::marked;
use aime_progress_management::{
    Conclusion, Origin, PlanChange, PlanId, PlanMode, ProgressState, Risk, Task, TaskGraph, TaskId, TaskKind, TaskSpec, TaskStatus,
};
use serde::{Deserialize, Serialize};

/// Maximum number of tasks of the plan in a brief, including the actor's own.
const OVERVIEW: usize = 12;

/// The part of a run that an actor needs, as of the time when the actor was started or resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActorBrief {
    /// The plan.
    pub plan_id: PlanId,
    /// The goal of the run.
    pub goal: String,
    /// Mode of the plan.
    pub mode: Option<PlanMode>,
    /// The category of the goal.
    pub category: String,
    /// Risks that the plan names.
    pub risks: Vec<Risk>,
    /// Permanent consents that people have given since the run began, as rules.
    pub consents: Vec<String>,
    /// The task.
    pub spec: Arc<TaskSpec>,
    /// One line for each task around it; may be empty.
    pub overview: String,
    /// Results of the tasks before it, and findings of failed attempts at it or at the tasks that it replaces, in Markdown; may be empty.
    pub results: String,
    /// The rejected result, if the actor continues after a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ActorContinuation>,
}

/// A rejected result of an actor, or a person's answer to a blocked one. Either makes the actor continue its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorContinuation {
    /// Number of rejections and answers in this execution of the task.
    pub number: u32,
    /// The missing parts, or the words of the person; empty if nothing was said.
    pub missing: String,
    /// True if a person answers a blocked actor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer: bool,
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
            spec: Arc::new(spec),
            overview: String::new(),
            results: String::new(),
            returned: None,
        }
    }

    /// Returns the brief for a task of the plan with this graph, or `None` if the plan does not have the task. If `marks` is set, results that
    /// contain untrusted text are enclosed in marks.
    #[must_use]
    pub fn new(state: &ProgressState, graph: &TaskGraph, task: &TaskId, marks: bool) -> Option<Self> {
        let known = state.tasks.get(task)?;
        Some(Self {
            plan_id: state.plan_id.clone(),
            goal: state.goal.clone(),
            mode: state.mode,
            category: state.category.clone(),
            risks: state.strategic.risks.clone(),
            consents: state.consents.clone(),
            spec: Arc::clone(&known.spec),
            overview: state.overview(graph, task, OVERVIEW),
            results: results(state, known, results_given(state, graph, known), marks),
            returned: None,
        })
    }
}

/// Returns a task and the groups around it, from the inside out.
fn with_groups<'a>(state: &'a ProgressState, task: &'a Task) -> impl Iterator<Item = &'a Task> {
    std::iter::successors(Some(task), |inner| state.tasks.get(inner.spec.parent.as_ref()?)).take(state.tasks.len())
}

/// Returns the tasks whose results an actor is given, each once: those that its task, or a group around it, depends on, and of a group the tasks
/// in it.
pub(crate) fn results_given<'a>(state: &'a ProgressState, graph: &TaskGraph, task: &'a Task) -> Vec<&'a Task> {
    let mut given: Vec<&Task> = Vec::new();
    for waiting in with_groups(state, task) {
        let mut open: Vec<&Task> = graph.dependencies(&waiting.spec.id).into_iter().rev().filter_map(|id| state.tasks.get(id)).collect();
        while let Some(before) = open.pop() {
            if before.spec.kind == TaskKind::Group {
                let within: Vec<&Task> = state.tasks.values().filter(|inner| inner.spec.parent.as_ref() == Some(&before.spec.id)).collect();
                open.extend(within.into_iter().rev());
            } else if given.iter().all(|known| known.spec.id != before.spec.id) {
                given.push(before);
            }
        }
    }
    given
}

/// Returns the results of the tasks before this one, the cancelled tasks among them, and the findings of failed attempts: those of the tasks
/// that it replaces, and its own.
fn results(state: &ProgressState, task: &Task, given: Vec<&Task>, marks: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for before in given {
        if let Some(conclusion) = before.conclusion.as_ref().filter(|_| before.status == TaskStatus::Completed) {
            let made =
                if conclusion.references.is_empty() { String::new() } else { format!("\nMade: {}", conclusion.references.join(", ")) };
            let text = match conclusion.origins.as_slice() {
                origins if marks && !origins.is_empty() => {
                    marked(&Origin::line(origins), before.spec.id.as_str(), &conclusion_text(conclusion))
                }
                _ => conclusion_text(conclusion),
            };
            parts.push(format!("### {}\n{text}{made}", before.spec.title()));
        }
    }
    // A cancelled task is no dependency any more. The task lacks its result, and so does each task in a group that depended on it.
    let lost: Vec<&TaskId> = with_groups(state, task).flat_map(|task| &task.lost_dependencies).collect();
    let changes = state.decisions.iter().flat_map(|decision| &decision.patch.changes);
    let cancelled: BTreeMap<&TaskId, &str> = changes
        .filter_map(|change| match change {
            PlanChange::CancelTask { id, reason, .. } if lost.contains(&id) => Some((id, reason.as_str())),
            _ => None,
        })
        .collect();
    for (cancelled, why) in cancelled.into_iter().filter_map(|(id, why)| Some((state.tasks.get(id)?, why))) {
        if cancelled.status == TaskStatus::Skipped {
            parts.push(format!("### {}\nThere is no result: {why}. Do not wait for it, and do not build on it.", cancelled.spec.title()));
        }
    }
    let marked_attempt = |task: &Task, head: &str| {
        let conclusion = task.conclusion.as_ref()?;
        let text = earlier_attempt(conclusion)?;
        let text = if marks && !conclusion.origins.is_empty() {
            marked(&Origin::line(&conclusion.origins), task.spec.id.as_str(), &text)
        } else {
            text
        };
        let look = match &conclusion.unmerged {
            Some(folder) => format!(
                "Nothing of it is in your folder. It is kept in `{folder}` of the working folder, where commands can read it: copy what holds"
            ),
            None => "Look at what is there, keep what holds".to_owned(),
        };
        Some(format!("### {head}\n{text}\n{look}, and do the rest another way."))
    };
    for before in replaced(state, &task.spec.id) {
        parts.extend(marked_attempt(before, &format!("The task `{}`, which this one replaces, failed", before.spec.id)));
    }
    parts.extend(marked_attempt(task, "An earlier attempt at this task failed"));
    parts.join("\n\n")
}

/// Returns the tasks that a task replaces.
pub(crate) fn replaced<'a>(state: &'a ProgressState, task: &TaskId) -> impl Iterator<Item = &'a Task> {
    let changes = state.decisions.iter().flat_map(|decision| &decision.patch.changes);
    let replaced = changes.filter_map(move |change| match change {
        PlanChange::AddTask { task: new, replaces } if new.id == *task => Some(replaces),
        PlanChange::MergeTasks { ids, task: new } if new.id == *task => Some(ids),
        _ => None,
    });
    replaced.flatten().filter_map(|id| state.tasks.get(id))
}

/// Sums up the findings of a failed attempt, for the next one.
fn earlier_attempt(conclusion: &Conclusion) -> Option<String> {
    let error = conclusion.error.as_ref()?.to_string();
    let mut lines = vec![error.clone()];
    let text = conclusion.text().trim();
    if !text.is_empty() && !error.contains(text) && !text.contains(error.as_str()) {
        lines.push(format!("It had reported:\n{text}"));
    }
    if !conclusion.references.is_empty() {
        let there = if conclusion.unmerged.is_some() { " there" } else { "" };
        lines.push(format!("It made or changed{there}: {}", conclusion.references.join(", ")));
    }
    Some(lines.join("\n"))
}

/// Returns the text that a successful task passes on: its own words, and its last tool result if the words leave it
/// out. A long result is cut after its beginning and ends in a mark.
fn conclusion_text(conclusion: &Conclusion) -> String {
    match conclusion.observed.as_deref().filter(|seen| !conclusion.text().contains(seen.trim_end_matches('…'))) {
        Some(seen) => format!("{}\nWhat it saw last:\n{seen}", conclusion.text()),
        None => conclusion.text().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Conclusion, Outcome};

    use super::{conclusion_text, earlier_attempt};

    #[test]
    fn an_attempt_that_failed_is_summed_up() {
        let failed = |summary: &str, error: Option<&str>, references: &[&str]| Conclusion {
            error: error.map(Into::into),
            references: references.iter().map(|made| (*made).to_owned()).collect(),
            ..Conclusion::new(Outcome::Failure, summary)
        };
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
            assert_eq!(earlier_attempt(&conclusion), expected.map(str::to_owned));
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
            assert_eq!(conclusion_text(&concluded(summary, observed)), expected);
        }
    }
}
