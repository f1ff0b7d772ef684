//! Builds the content of a report from the data on a run.

use std::collections::{BTreeMap, HashMap};

use aime_messages::Message;
use aime_progress_management::{CheckMethod, Owner, ProgressEvent, ProgressState, TaskId};
use aime_redact::Redactor;

use super::{
    Criterion, EvidenceView, QuestionView, ReportView, Strategy, TurnView, files, graph::graph, spending, story, tasks, timeline, versions,
};
use crate::{
    Failure, Source,
    text::{Reader, Text},
    time::{count, span},
};

/// Longest text of people, models and tools, in characters.
pub(crate) const LONG: usize = 4_000;
/// Longest goal or answer, in characters.
const MAX_ANSWER_CHARS: usize = 100_000;
/// Width of a title, in columns.
pub(crate) const TITLE: usize = 160;
/// Largest number of pieces of evidence, of questions, of turns and of remarks.
const MAX_ENTRIES: usize = 1_000;

impl ReportView {
    /// Builds the content of a run's report. It removes the secrets that `redactor` finds by value or by form.
    #[must_use]
    pub fn new(source: &Source<'_>, redactor: &Redactor) -> Self {
        let (state, reader) = (source.state, &Reader::new(redactor));
        // The total length of all texts is limited, so the most important ones are read first.
        let goal = reader.text(&state.goal, MAX_ANSWER_CHARS);
        let answer = state.answer.as_ref().map(|answer| reader.text(answer, MAX_ANSWER_CHARS));
        let failure = source.failure.as_ref().map(|failure| Failure {
            code: reader.line(&failure.code, TITLE),
            message: reader.text(&failure.message, LONG).counted(),
            hint: failure.hint.as_ref().map(|hint| reader.text(hint, LONG).counted()),
        });
        let titles = &Titles::of(state, reader);
        let times = timeline::Times::of(&source.events);
        let critical = times.critical(state);
        let strategy = strategy(source, reader);
        let (story, story_left_out) = story::story(&source.events, titles, reader);
        let versions = versions::versions(&source.events, titles, reader);
        let files = files::files(source, titles, reader);
        let (turns, turns_left_out) = turns(state, reader);
        let more = |id: &TaskId| match times.worked_ms(id) {
            0 => String::new(),
            worked => span(worked),
        };
        Self {
            run: source.run.to_string(),
            made_at: source.made_at,
            goal,
            status: state.status,
            mode: state.mode,
            started_at: state.started_at,
            duration_ms: state.last_progress_at.millis_since(state.started_at),
            answer,
            turns,
            turns_left_out,
            failure,
            notes: notes(source, reader),
            strategy,
            versions,
            graph: graph(state, titles, more, |id| critical.contains(id)),
            timeline: times.view(&critical, titles, reader),
            files,
            evidence: evidence(state, titles, reader),
            evidence_left_out: state.evidence.len().saturating_sub(MAX_ENTRIES),
            questions: questions(state, titles, reader),
            questions_left_out: state.questions.len().saturating_sub(MAX_ENTRIES),
            spending: spending::spending(source, titles, reader),
            story,
            story_left_out,
            // Conversations come last and get the remaining room.
            tasks: tasks::tasks(source, titles, &times, reader),
        }
    }
}

/// Titles of tasks, and their numbers in plan order.
pub(crate) struct Titles {
    known: HashMap<TaskId, (usize, String)>,
}

impl Titles {
    fn of(state: &ProgressState, reader: &Reader<'_>) -> Self {
        let titled = |(number, (id, task)): (usize, (&TaskId, &aime_progress_management::Task))| {
            (id.clone(), (number, reader.line(task.spec.title(), TITLE)))
        };
        Self { known: state.tasks.iter().enumerate().map(titled).collect() }
    }

    /// Returns the title of a task, or its id if the plan lacks it.
    pub(crate) fn title(&self, id: &TaskId) -> String {
        self.known.get(id).map_or_else(|| id.to_string(), |(_, title)| title.clone())
    }

    /// Returns the title of the task with this id, if there is one.
    pub(crate) fn title_of(&self, id: &str) -> Option<String> {
        self.known.get(id).map(|(_, title)| title.clone())
    }

    pub(crate) fn number(&self, id: &TaskId) -> Option<usize> {
        self.known.get(id).map(|(number, _)| *number)
    }
}

fn strategy(source: &Source<'_>, reader: &Reader<'_>) -> Strategy {
    let strategic = &source.state.strategic;
    Strategy {
        approach: reader.text(&strategic.approach, LONG),
        phases: strategic.phases.iter().map(|phase| (reader.line(&phase.name, TITLE), reader.text(&phase.objective, LONG))).collect(),
        risks: strategic.risks.iter().map(|risk| (reader.text(&risk.description, LONG), reader.text(&risk.mitigation, LONG))).collect(),
        criteria: Checks::of(source).read(None, &strategic.success_criteria, reader),
    }
}

/// Last check of each criterion, of tasks and of the goal.
pub(crate) struct Checks<'a> {
    last: BTreeMap<CriterionKey<'a>, Found<'a>>,
    /// Criteria that were checked before the work on them, with the results.
    tried: BTreeMap<CriterionKey<'a>, bool>,
}

/// Last check of a criterion.
#[derive(Clone, Copy, Default)]
struct Found<'a> {
    owner: Owner,
    how: CheckMethod,
    passed: Option<bool>,
    reason: Option<&'a Message>,
}

/// Owner of a criterion (none for the goal), and its text.
type CriterionKey<'a> = (Option<&'a TaskId>, &'a str);

impl<'a> Checks<'a> {
    pub(crate) fn of(source: &'a Source<'_>) -> Self {
        let looked_at = source.events.iter().filter_map(|(_, event)| match event {
            ProgressEvent::CriterionChecked { task, criterion, owner, how, passed, reason, .. } => {
                Some(((task.as_ref(), criterion.as_str()), Found { owner: *owner, how: *how, passed: *passed, reason: Some(reason) }))
            }
            _ => None,
        });
        let tried = source.events.iter().filter_map(|(_, event)| match event {
            ProgressEvent::CriterionTried { task, criterion, held } => Some(((task.as_ref(), criterion.as_str()), *held)),
            _ => None,
        });
        Self { last: looked_at.collect(), tried: tried.collect() }
    }

    /// Returns the criteria of a task, or of the goal, and then the commands that its actor named.
    pub(crate) fn read(
        &self,
        of: Option<&TaskId>,
        criteria: &[aime_progress_management::Criterion],
        reader: &Reader<'_>,
    ) -> Vec<Criterion> {
        let view = |words: &str, found: Found<'_>| {
            let Found { owner, how, passed, reason } = found;
            let held_before = self.tried.get(&(of, words)).copied();
            Criterion {
                text: reader.text(words, LONG),
                owner,
                how,
                passed,
                reason: reader.text(&reason.map(ToString::to_string).unwrap_or_default(), LONG),
                held_before,
            }
        };
        let named = criteria.iter().map(|criterion| {
            let words = criterion.to_string();
            let found = self.last.get(&(of, words.as_str())).copied().unwrap_or_default();
            view(&words, Found { owner: criterion.owner, ..found })
        });
        let own = self.last.iter().filter(|((task, _), found)| *task == of && found.owner == Owner::Actor);
        named.chain(own.map(|((_, words), found)| view(words, *found))).collect()
    }
}

fn notes(source: &Source<'_>, reader: &Reader<'_>) -> Vec<String> {
    let mut notes: Vec<String> = source.notes.iter().take(MAX_ENTRIES).map(|note| reader.text(note, LONG).counted()).collect();
    let left_out = source.notes.len().saturating_sub(MAX_ENTRIES);
    notes.extend((left_out > 0).then(|| format!("… {} left out", count(left_out, "more remark"))));
    notes
}

/// Returns the turns, and the number of those left out. Of a very large number it keeps the first and the last ones.
fn turns(state: &ProgressState, reader: &Reader<'_>) -> (Vec<TurnView>, usize) {
    let view = |turn: &aime_progress_management::Turn| TurnView {
        at: turn.started_at,
        goal: reader.text(&turn.goal, LONG),
        answer: turn.answer.as_ref().map(|answer| reader.text(answer, LONG)),
    };
    first_and_last(state.turns.iter().map(view).collect(), MAX_ENTRIES)
}

fn evidence(state: &ProgressState, titles: &Titles, reader: &Reader<'_>) -> Vec<EvidenceView> {
    let view = |evidence: &aime_progress_management::Evidence| EvidenceView {
        at: evidence.at,
        task: evidence.task.as_ref().map(|task| titles.title(task)),
        kind: word(&evidence.kind),
        significance: evidence.significance,
        content: reader.text(&evidence.content, LONG),
        used: evidence.processed,
        origins: reader.line(&aime_progress_management::Origin::line(&evidence.origins), TITLE),
    };
    state.evidence.iter().take(MAX_ENTRIES).map(view).collect()
}

fn questions(state: &ProgressState, titles: &Titles, reader: &Reader<'_>) -> Vec<QuestionView> {
    let view = |question: &aime_progress_management::Question| QuestionView {
        at: question.at,
        task: question.task.as_ref().map(|task| titles.title(task)),
        kind: reader.line(&question.kind, TITLE),
        question: reader.text(&question.question.to_string(), LONG),
        answer: question.answer.as_ref().map(|answer| reader.text(answer, LONG)),
    };
    state.questions.iter().take(MAX_ENTRIES).map(view).collect()
}

/// Returns the serialized word of a value, with spaces.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    let written = serde_json::to_value(value).ok();
    written.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().replace('_', " ")
}

/// Returns the first and last entries, and the number of those left out between.
pub(crate) fn first_and_last<T>(mut all: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let left_out = all.len().saturating_sub(most);
    if left_out > 0 {
        all.drain(most / 2..most / 2 + left_out);
    }
    (all, left_out)
}

/// Returns an empty text.
pub(crate) fn nothing() -> Text {
    Text::default()
}
