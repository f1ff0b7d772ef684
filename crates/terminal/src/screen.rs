//! What is known of a run and where a person stands in it: folded from events and keys, and nothing else.

mod actors;
mod log;
mod press;
mod prompt;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use aime_progress::{
    ProgressEvent, ProgressState, Question, QuestionId, RunId, RunStatus, Task, TaskId, TaskKind, TaskSpec, TaskStatus, Timestamp,
};

pub(crate) use self::{
    actors::{Actor, Actors, Call},
    log::{Entry, Log},
    prompt::{Prompt, Said},
};
use crate::{
    Key,
    order::tree_order,
    theme::Tone,
    words::{Phrase, Words, english},
};

/// What a person wants of whoever drives the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Say something that nobody asked.
    Tell {
        /// The task whose actor is meant; the run itself without one.
        task: Option<TaskId>,
        /// The words.
        text: String,
    },
    /// Answer a question.
    Answer {
        /// The question.
        question: QuestionId,
        /// The words; `yes`, `no` or `always` for an approval.
        text: String,
    },
    /// Stop the run, so that it can be resumed.
    Pause,
    /// End the run for good, or take one task out of it.
    Cancel {
        /// The task; the whole run without one.
        task: Option<TaskId>,
    },
    /// Ctrl-C, where the run is driven from here.
    Interrupt,
    /// Close the screen; the run goes on.
    Leave,
    /// Go to the background, as the shell's Ctrl-Z.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// The screen is gone for good, and nobody sees what is asked on it any more.
    Lost,
}

/// What the process of the screen has to do with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It carries the run out: when the screen ends the run does.
    Drives,
    /// It only looks: another process carries the run out, or none.
    Watches,
}

/// The bounds of a run, where it has any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// The most tokens, sent and received.
    pub tokens: Option<u64>,
    /// The most that it may cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// The longest that it may work, in seconds.
    pub seconds: Option<u64>,
}

/// What stands beside the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Panel {
    /// What happened.
    #[default]
    Log,
    /// All about one task.
    Task,
    /// What waits for what.
    Graph,
    /// The keys.
    Help,
}

/// How far something is scrolled, and how far it can be, in lines. [`crate::render`] writes what can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scroll {
    pub(crate) at: usize,
    pub(crate) most: usize,
    pub(crate) page: usize,
}

/// The screen of one run.
#[derive(Debug)]
pub struct Screen {
    pub(crate) run: RunId,
    pub(crate) part: Part,
    pub(crate) limits: Limits,
    pub(crate) state: Option<ProgressState>,
    pub(crate) actors: Actors,
    pub(crate) log: Log,
    pub(crate) panel: Panel,
    pub(crate) prompt: Prompt,
    /// What is to be said to the last key; gone with the next one.
    pub(crate) notice: String,
    /// Whether a process carries the run out now.
    pub(crate) driven: bool,
    /// The task that a person has gone to; without one the screen follows what moves.
    pub(crate) selected: Option<TaskId>,
    /// Of the panel, from its top; of the log, from its end.
    pub(crate) scroll: Scroll,
    /// Of the question that is asked.
    pub(crate) question_scroll: Scroll,
    /// The question that stands in the last picture. [`crate::render`] writes it.
    pub(crate) seen: Option<QuestionId>,
    /// The last key, and when it was pressed.
    pub(crate) last_key: Option<(Key, Timestamp)>,
    /// Questions that were answered here; the journal may not have the answers yet.
    given: BTreeSet<QuestionId>,
    /// Whether an approval offers "always", by its words.
    pub(crate) offers_always: fn(&str) -> bool,
    words: Words,
}

impl Screen {
    /// The screen of a run of which nothing is known yet.
    #[must_use]
    pub fn new(run: RunId, part: Part, limits: Limits) -> Self {
        Self {
            run,
            part,
            limits,
            state: None,
            actors: Actors::default(),
            log: Log::default(),
            panel: Panel::default(),
            prompt: Prompt::default(),
            notice: String::new(),
            driven: true,
            selected: None,
            scroll: Scroll::default(),
            question_scroll: Scroll::default(),
            seen: None,
            last_key: None,
            given: BTreeSet::new(),
            offers_always: |_| false,
            words: english,
        }
    }

    /// Takes up a run where it stood, of which the events are not told again.
    #[must_use]
    pub fn with_state(mut self, state: ProgressState) -> Self {
        self.state = Some(state);
        self
    }

    /// Tells by its words whether an approval offers "always". Without this none does.
    #[must_use]
    pub fn with_always(mut self, offers: fn(&str) -> bool) -> Self {
        self.offers_always = offers;
        self
    }

    /// Says what it says in these words. Without this it speaks English.
    #[must_use]
    pub fn with_words(mut self, words: Words) -> Self {
        self.words = words;
        self
    }

    /// A phrase in the language of the person.
    pub(crate) fn says(&self, phrase: Phrase<'_>) -> String {
        (self.words)(phrase)
    }

    /// Where the run stands, as far as it was told.
    #[must_use]
    pub const fn state(&self) -> Option<&ProgressState> {
        self.state.as_ref()
    }

    /// Takes one event in. `words` tell it in the log, without colours; without any it is not told there.
    pub fn take(&mut self, at: Timestamp, event: &ProgressEvent, words: Option<&str>) {
        match (event, self.state.as_mut()) {
            (ProgressEvent::RunStarted { .. }, None) => self.state = ProgressState::start(at, event).ok(),
            // A view that has missed something is only a view: the next one is drawn from what it has.
            (event, Some(state)) => drop(state.apply(at, event)),
            _ => {}
        }
        self.actors.take(at, event);
        if let Some(words) = words {
            self.tell(at, tone_of(event), words);
        }
        if self.selected.as_ref().is_some_and(|selected| self.state.as_ref().is_none_or(|state| !state.tasks.contains_key(selected))) {
            self.selected = None;
        }
    }

    /// Says something beside the events, in the log.
    pub fn say(&mut self, at: Timestamp, words: &str) {
        self.tell(at, Tone::Strong, words);
    }

    fn tell(&mut self, at: Timestamp, tone: Tone, words: &str) {
        let entry = Entry { at, tone, text: words.to_owned() };
        self.log.push(entry, self.words, self.panel == Panel::Log, &mut self.scroll);
    }

    /// Whether a process carries the run out now; one that drives it need not say so.
    pub const fn set_driven(&mut self, driven: bool) {
        self.driven = driven;
    }

    /// Whether the run has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.state.as_ref().is_some_and(|state| matches!(state.status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled))
    }

    /// The questions that wait, the first one first.
    fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let asked = self.state.as_ref().filter(|_| !self.is_over()).map_or(&[][..], |state| state.questions.as_slice());
        asked.iter().filter(|question| question.answer.is_none() && !self.given.contains(&question.id))
    }

    /// The first question that waits, and how many do.
    pub(crate) fn question(&self) -> Option<(&Question, usize)> {
        let mut open = self.open_questions();
        let first = open.next()?;
        Some((first, 1 + open.count()))
    }

    /// Whether a task waits for an answer.
    pub(crate) fn asks(&self, task: &TaskId) -> bool {
        self.open_questions().any(|question| question.task.as_ref() == Some(task))
    }

    /// The tasks as a tree, with their depth.
    pub(crate) fn rows(&self) -> Vec<(usize, &Task)> {
        let Some(state) = &self.state else { return Vec::new() };
        let specs: Vec<&TaskSpec> = state.tasks.values().map(|task| &task.spec).collect();
        tree_order(&specs).into_iter().filter_map(|(depth, spec)| Some((depth, state.tasks.get(&spec.id)?))).collect()
    }

    /// The row that is looked at: the one gone to, else the first that moves, else the first that is open.
    pub(crate) fn focus(&self, rows: &[(usize, &Task)]) -> Option<usize> {
        let gone_to = || rows.iter().position(|(_, task)| self.selected.as_ref() == Some(&task.spec.id));
        let worked_on = |task: &Task| task.spec.kind != TaskKind::Group;
        let moving = || rows.iter().position(|(_, task)| task.status == TaskStatus::Running && worked_on(task));
        let open = || rows.iter().position(|(_, task)| task.status.is_open() && worked_on(task));
        gone_to().or_else(moving).or_else(open).or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// The task that is looked at.
    pub(crate) fn chosen(&self) -> Option<&Task> {
        let rows = self.rows();
        let at = self.focus(&rows)?;
        rows.get(at).map(|(_, task)| *task)
    }
}

/// What an event is like.
fn tone_of(event: &ProgressEvent) -> Tone {
    use ProgressEvent as E;
    match event {
        E::TaskStatusChanged { to, .. } => match to {
            TaskStatus::Completed => Tone::Good,
            TaskStatus::Failed => Tone::Bad,
            TaskStatus::Blocked | TaskStatus::Skipped | TaskStatus::RolledBack => Tone::Warn,
            TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running => Tone::Strong,
        },
        E::CriterionChecked { passed, .. } => match passed {
            Some(true) => Tone::Good,
            Some(false) => Tone::Bad,
            None => Tone::Warn,
        },
        E::RunStatusChanged { to, .. } => match to {
            RunStatus::Completed => Tone::Good,
            RunStatus::Failed => Tone::Bad,
            _ => Tone::Strong,
        },
        E::BoundReached { .. } => Tone::Bad,
        E::MemoryFailed { .. }
        | E::PlanRefused { .. }
        | E::EvidenceAdded { .. }
        | E::ReplanSuppressed { .. }
        | E::RunInterrupted { .. }
        | E::ToolCallFinished { .. }
        | E::ActorNudged { .. } => Tone::Warn,
        E::PlanChanged { .. } => Tone::Live,
        E::Routed { .. }
        | E::RunStarted { .. }
        | E::PlanCreated { .. }
        | E::PlanReused { .. }
        | E::RunResumed {}
        | E::RunContinued { .. }
        | E::QuestionAnswered { .. } => Tone::Strong,
        _ => Tone::Plain,
    }
}
