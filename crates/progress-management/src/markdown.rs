//! Renders the progress as a hierarchical Markdown list, for planner, actors and people.

use aime_messages::message;
use std::fmt::Write as _;

use crate::{Conclusion, Criterion, EdgeType, ProgressState, Significance, Task, TaskGraph, TaskId, TaskKind, TaskStatus};

/// Minimum number of tasks for which an overview is useful.
const FEW: usize = 3;
/// Maximum length of a title in an overview, in characters.
const TITLE: usize = 100;
/// Maximum length of a displayed summary, error or reason, in characters.
const SHOWN: usize = 240;

impl ProgressState {
    /// Renders the whole progress: goal, approach, success criteria, the tasks as a checklist with their completion
    /// criteria and dependencies, unprocessed evidence and open questions.
    ///
    /// Marks: `[ ]` waiting, `[>]` running, `[x]` completed, `[!]` failed, `[~]` blocked, `[-]` skipped, `[<]` rolled
    /// back.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# {}\n\n", one_line(&self.goal));
        let (done, all) = self.count();
        let version = if self.version == 0 { "no plan yet".to_owned() } else { format!("plan v{}", self.version) };
        line(&mut out, 0, &format!("{version}, {}, {done}/{all} done", self.status.word().replace('_', " ")));
        if !self.strategic.approach.is_empty() {
            line(&mut out, 0, &format!("Approach: {}", one_line(&self.strategic.approach)));
        }
        if !self.strategic.success_criteria.is_empty() {
            line(&mut out, 0, "Success criteria:");
            self.strategic.success_criteria.iter().for_each(|criterion| line(&mut out, 0, &format!("- {}", owned(criterion))));
        }
        if !self.tasks.is_empty() {
            out.push_str("\n## Tasks\n");
            out.push_str(&self.tasks_to_markdown());
        }
        self.evidence_to_markdown(&mut out);
        let open: Vec<_> = self.questions.iter().filter(|question| question.answer.is_none()).collect();
        if !open.is_empty() {
            out.push_str("\n## Open questions\n");
            open.iter().for_each(|question| line(&mut out, 0, &format!("- {}: {}", question.id, one_line(&question.question.to_string()))));
        }
        out
    }

    /// Renders only the tasks, as a hierarchical checklist.
    #[must_use]
    pub fn tasks_to_markdown(&self) -> String {
        let mut out = String::new();
        // A task whose parent is missing appears at the top, so that no task is invisible.
        for task in self.tasks.values().filter(|task| task.spec.parent.as_ref().is_none_or(|parent| !self.tasks.contains_key(parent))) {
            self.task_to_markdown(&mut out, 0, task);
        }
        out
    }

    /// Renders one line for each task, for the executor of `own`. Leaves out groups and removed tasks, and shows at
    /// most the `most` tasks around `own`. Marks the open tasks that may be done at the same time as `own`. Returns an
    /// empty text for a plan of less than three tasks without such, for which the goal and the results suffice. `graph` is that of the plan.
    #[must_use]
    pub fn overview(&self, graph: &TaskGraph, own: &TaskId, most: usize) -> String {
        let gone = |task: &Task| matches!(task.status, TaskStatus::Skipped | TaskStatus::RolledBack);
        let tasks: Vec<&Task> = self.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && !gone(task)).collect();
        let beside = graph.beside(own);
        let is_beside = |task: &Task| task.status.is_open() && beside.contains(&&task.spec.id);
        if tasks.len() < FEW && !tasks.iter().any(|task| is_beside(task)) {
            return String::new();
        }
        let at = tasks.iter().position(|task| task.spec.id == *own).unwrap_or(0);
        let from = at.saturating_sub(most / 2).min(tasks.len().saturating_sub(most));
        let shown = tasks.iter().skip(from).take(most);
        let after = tasks.len().saturating_sub(from + most);
        let mut out = String::new();
        if from > 0 {
            line(&mut out, 0, &format!("- … {from} before these"));
        }
        for task in shown {
            let title = shortened(&one_line(task.spec.title()));
            let yours = match task.spec.id == *own {
                true => " (yours)",
                false if is_beside(task) => " (at the same time)",
                false => "",
            };
            line(&mut out, 0, &format!("- [{}] {title}{yours}", task.status.mark()));
        }
        if after > 0 {
            line(&mut out, 0, &format!("- … {after} after these"));
        }
        out
    }

    /// Returns the number of completed tasks and of all tasks, without groups.
    fn count(&self) -> (usize, usize) {
        let tasks = self.tasks.values().filter(|task| task.spec.kind != TaskKind::Group);
        tasks.fold((0, 0), |(done, all), task| (done + usize::from(task.status == TaskStatus::Completed), all + 1))
    }

    fn task_to_markdown(&self, out: &mut String, depth: usize, task: &Task) {
        let spec = &task.spec;
        let mut head = format!("- [{}] {}", task.status.mark(), spec.id);
        let title = one_line(spec.title());
        if title != spec.id.as_str() {
            let _ = write!(head, ": {title}");
        }
        let mut notes = Vec::new();
        match (spec.kind, &spec.tool) {
            (TaskKind::Tool, Some(tool)) => notes.push(format!("tool {tool}")),
            (TaskKind::Group, _) => notes.push("group".to_owned()),
            _ => {}
        }
        let after = self.after(&spec.id);
        if !after.is_empty() {
            notes.push(format!("after {}", after.join(", ")));
        }
        if !notes.is_empty() {
            let _ = write!(head, " ({})", notes.join("; "));
        }
        line(out, depth, &head);
        let inner = depth + 1;
        if !spec.name.is_empty() && !spec.description.is_empty() && spec.description != spec.name && !task.status.is_settled() {
            line(out, inner, &format!("do: {}", one_line(&spec.description)));
        }
        if !spec.completion_criteria.is_empty() {
            let criteria: Vec<String> = spec.completion_criteria.iter().map(owned).collect();
            line(out, inner, &format!("done when: {}", criteria.join("; ")));
        }
        if let Some(standing) = standing(task) {
            line(out, inner, &standing);
        }
        // The depth is limited by the number of groups, because a validated plan has no cycle of parents.
        for child in self.tasks.values().filter(|child| child.spec.parent.as_ref() == Some(&spec.id)) {
            if inner < self.tasks.len() {
                self.task_to_markdown(out, inner, child);
            }
        }
    }

    /// Describes the dependencies of a task.
    fn after(&self, id: &TaskId) -> Vec<String> {
        let own = self.tasks.get(id).into_iter().flat_map(|task| &task.spec.dependencies).map(TaskId::to_string);
        let edges = self.edges.iter().filter(|edge| edge.to == *id).map(|edge| match (edge.kind, edge.condition.as_deref()) {
            (EdgeType::Rollback, _) => format!("{} fails", edge.from),
            (EdgeType::Conditional, Some(condition)) => format!("{} if {condition}", edge.from),
            (EdgeType::Dependency | EdgeType::Conditional, _) => edge.from.to_string(),
        });
        let mut found: Vec<String> = Vec::new();
        for text in own.chain(edges) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }

    fn evidence_to_markdown(&self, out: &mut String) {
        let open: Vec<_> = self.evidence.iter().filter(|evidence| !evidence.processed).collect();
        if open.is_empty() {
            return;
        }
        out.push_str("\n## New evidence\n");
        for evidence in open {
            let from = evidence.task.as_ref().map(|task| format!(" from {task}")).unwrap_or_default();
            let weight = match evidence.significance {
                Significance::Low => "low",
                Significance::Medium => "medium",
                Significance::High => "high",
                Significance::Critical => "critical",
            };
            line(out, 0, &format!("- {} ({weight}{from}): {}", evidence.id, one_line(&evidence.content)));
        }
    }
}

/// Describes the status of a task, if there is something to say.
fn standing(task: &Task) -> Option<String> {
    let conclusion = task.conclusion.as_ref();
    let error = conclusion.map(Conclusion::explanation);
    match task.status {
        TaskStatus::Completed => {
            let conclusion = conclusion.filter(|conclusion| !conclusion.summary.is_empty())?;
            let made = if conclusion.references.is_empty() { String::new() } else { format!(" [{}]", conclusion.references.join(", ")) };
            Some(format!("result: {}{made}", one_line(&conclusion.summary)))
        }
        TaskStatus::Running => {
            let doing =
                task.activity.clone().or_else(|| task.report.as_ref().map(|report| format!("{}: {}", report.status, report.message)));
            doing.map(|doing| format!("now: {}", one_line(&doing)))
        }
        TaskStatus::Failed => {
            let times = if task.failures > 1 { format!(" {} times", task.failures) } else { String::new() };
            let outlook = if task.failed_for_good { "" } else { ", will be retried" };
            Some(format!(
                "failed{times}{outlook}: {}",
                one_line(&error.or_else(|| task.reason.clone()).unwrap_or_else(|| message!("no-reason")).to_string())
            ))
        }
        TaskStatus::Blocked | TaskStatus::Skipped | TaskStatus::RolledBack => {
            let word = if task.held { "held back".to_owned() } else { task.status.word().replace('_', " ") };
            Some(match &task.reason {
                Some(reason) => format!("{word}: {}", one_line(&reason.to_string())),
                None => word,
            })
        }
        TaskStatus::Pending | TaskStatus::Ready => {
            (task.failures > 0).then(|| format!("failed before: {}", one_line(&error.unwrap_or_else(|| message!("no-reason")).to_string())))
        }
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    for _ in 0..depth {
        out.push_str("  ");
    }
    out.push_str(text);
    out.push('\n');
}

/// Formats a criterion on one line of at most [`SHOWN`] characters, so that no criterion can add lines of its own; adds
/// the owner unless it is the lead.
fn owned(criterion: &Criterion) -> String {
    let line = one_line(&criterion.to_string());
    if criterion.owner.is_default() { line } else { format!("{line} (of the {})", criterion.owner) }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN).chain(['…']).collect() }
}

/// Returns at most [`TITLE`] characters of a title, up to the end of a word.
fn shortened(title: &str) -> String {
    let Some((end, _)) = title.char_indices().nth(TITLE) else { return title.to_owned() };
    let cut = title.get(..end).unwrap_or(title);
    format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words))
}

#[cfg(test)]
mod tests;
