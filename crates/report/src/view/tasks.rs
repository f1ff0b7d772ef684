//! Tasks, with the work on each.

use std::collections::HashMap;

use aime_progress_management::{ModelCost, ProgressEvent, Task, TaskId, TaskKind, TaskStatus, Timestamp};

use super::{
    TaskView, Turn, TurnKind,
    build::{Checks, LONG, TITLE, Titles, first_and_last, word},
    timeline::Times,
};
use crate::{
    Source,
    text::{Reader, Text},
};

/// Largest number of turns of one task.
const TURNS: usize = 400;
/// Largest number of references of one task.
const REFERENCES: usize = 200;

pub(super) fn tasks(source: &Source<'_>, titles: &Titles, times: &Times, reader: &Reader<'_>) -> Vec<TaskView> {
    let (checks, mut work) = (Checks::of(source), Work::default());
    source.events.iter().for_each(|(at, event)| work.add(*at, event));
    let graph = source.state.graph();
    let view = |(id, task): (&TaskId, &Task)| {
        let spec = &task.spec;
        let conclusion = task.conclusion.as_ref();
        let failed = task.status != TaskStatus::Completed;
        let error = conclusion.and_then(|conclusion| conclusion.error.as_ref()).or(task.reason.as_ref()).filter(|_| failed);
        let (events, spent) = work.of.remove(id).unwrap_or_default();
        let (events, turns_left_out) = first_and_last(events, TURNS);
        let references = conclusion.map_or(&[][..], |conclusion| &conclusion.references);
        TaskView {
            id: reader.line(id.as_str(), TITLE),
            title: titles.title(id),
            kind: spec.kind,
            status: task.status,
            description: reader.text(&spec.description, LONG),
            tool: spec.tool.as_ref().map(|tool| (reader.line(tool, TITLE), reader.parameters(&spec.parameters, LONG))),
            criteria: checks.read(Some(id), &spec.completion_criteria, reader),
            waits_for: graph.dependencies(id).into_iter().map(|other| titles.title(other)).collect(),
            group: spec.parent.as_ref().map(|parent| titles.title(parent)),
            version: task.version,
            attempts: if spec.kind == TaskKind::Group { 0 } else { task.attempts },
            worked_ms: times.worked_ms(id),
            summary: reader.text(conclusion.map(aime_progress_management::Conclusion::text).unwrap_or_default(), LONG * 2),
            error: error.map(|error| reader.text(&error.to_string(), LONG)),
            references: references.iter().take(REFERENCES).map(|it| reader.line(it, TITLE)).collect(),
            references_left_out: references.len().saturating_sub(REFERENCES),
            spent,
            turns: events.into_iter().map(|(at, event)| Turn { at, what: work.turn(event, reader) }).collect(),
            turns_left_out,
        }
    };
    source.state.tasks.iter().map(view).collect()
}

/// Events with their times.
type TimedEvents<'a> = Vec<(Timestamp, &'a ProgressEvent)>;

/// Events of each task that belong to the work on it.
#[derive(Default)]
struct Work<'a> {
    of: HashMap<&'a TaskId, (TimedEvents<'a>, ModelCost)>,
    /// End of each call.
    ends: HashMap<(&'a TaskId, &'a str), &'a ProgressEvent>,
    answers: HashMap<&'a aime_progress_management::QuestionId, &'a str>,
}

impl<'a> Work<'a> {
    fn add(&mut self, at: Timestamp, event: &'a ProgressEvent) {
        let task = match event {
            ProgressEvent::ToolCallFinished { task: Some(task), call, .. } => {
                self.ends.insert((task, call), event);
                return;
            }
            ProgressEvent::QuestionAnswered { id, answer } => {
                self.answers.insert(id, answer);
                return;
            }
            ProgressEvent::ModelCalled { task: Some(task), spent, .. } => {
                self.of.entry(task).or_default().1.add(spent);
                task
            }
            ProgressEvent::ToolCallStarted { task: Some(task), .. }
            | ProgressEvent::ActorCreated { task: Some(task), .. }
            | ProgressEvent::ProgressReported { task: Some(task), .. }
            | ProgressEvent::ActorNudged { task: Some(task), .. }
            | ProgressEvent::HistoryCompacted { task: Some(task), .. }
            | ProgressEvent::TaskConcluded { task, .. }
            | ProgressEvent::QuestionAsked { task: Some(task), .. } => task,
            // This event is left out, because the start of the task, or the reason for not starting, follows.
            ProgressEvent::TaskStatusChanged { to: TaskStatus::Ready, .. } => return,
            ProgressEvent::TaskStatusChanged { task, .. } => task,
            ProgressEvent::EvidenceAdded { evidence } => match &evidence.task {
                Some(task) => task,
                None => return,
            },
            _ => return,
        };
        self.of.entry(task).or_default().0.push((at, event));
    }

    fn turn(&self, event: &ProgressEvent, reader: &Reader<'_>) -> TurnKind {
        let note = |who: &str, text: &str| TurnKind::Message { who: reader.line(who, TITLE), text: reader.text(text, LONG) };
        match event {
            ProgressEvent::ActorCreated { profile, model, tools, skills, effort, max_steps, reasons, .. } => {
                let names = |names: &[String]| names.iter().take(REFERENCES).map(|name| reader.line(name, TITLE)).collect();
                TurnKind::Actor {
                    profile: reader.line(profile, TITLE),
                    model: reader.line(model, TITLE),
                    tools: names(tools),
                    skills: names(skills),
                    effort: effort.as_deref().map(|effort| reader.line(effort, TITLE)),
                    max_steps: *max_steps,
                    reasons: names(reasons),
                }
            }
            ProgressEvent::ModelCalled { purpose, model, spent, duration_ms, text, .. } => TurnKind::Answered {
                model: reader.line(model, TITLE),
                purpose: reader.line(purpose, TITLE),
                text: reader.text(text, LONG),
                spent: *spent,
                duration_ms: *duration_ms,
            },
            ProgressEvent::ToolCallStarted { task: Some(task), call, tool, parameters } => {
                let parameters = reader.parameters(parameters, LONG);
                let (outcome, output, origin, duration_ms) = match self.ends.get(&(task, call.as_str())) {
                    Some(ProgressEvent::ToolCallFinished { outcome, output, origin, duration_ms, .. }) => (
                        Some(word(outcome)),
                        reader.text(output, LONG),
                        origin.as_ref().map(|origin| reader.line(&origin.to_string(), TITLE)),
                        *duration_ms,
                    ),
                    _ => (None, Text::default(), None, 0),
                };
                TurnKind::Called { tool: reader.line(tool, TITLE), parameters, outcome, output, origin, duration_ms }
            }
            ProgressEvent::ProgressReported { report, .. } => note("report", &format!("{}: {}", report.status, report.message)),
            ProgressEvent::ActorNudged { kind, text, .. } => note(&format!("aime ({})", kind.replace('_', " ")), text),
            ProgressEvent::HistoryCompacted { tokens_before, tokens_after, .. } => {
                note("aime", &format!("the conversation was shortened from {tokens_before} to {tokens_after} tokens"))
            }
            ProgressEvent::TaskStatusChanged { from, to, attempt, reason, .. } => {
                let attempt = if *to == TaskStatus::Running { format!(", attempt {attempt}") } else { String::new() };
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                note("status", &format!("{from} → {to}{attempt}{reason}"))
            }
            ProgressEvent::TaskConcluded { conclusion, .. } => {
                let error = conclusion.error.as_ref().map(|error| format!("\n{error}")).unwrap_or_default();
                note("conclusion", &format!("{}: {}{error}", word(&conclusion.outcome), conclusion.summary))
            }
            ProgressEvent::QuestionAsked { id, kind, question, .. } => {
                let answer = self.answers.get(id).map(|answer| format!("\n→ {answer}")).unwrap_or_default();
                note(kind, &format!("{question}{answer}"))
            }
            ProgressEvent::EvidenceAdded { evidence } => note("evidence", &evidence.content),
            _ => note("", ""),
        }
    }
}
