//! State of the screen: the run and the person's position in it, folded from events and keys only.

mod actors;
mod log;
mod press;
mod prompt;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use aime_progress_management::{
    ProgressEvent, ProgressState, Question, QuestionId, RunId, RunStatus, Task, TaskId, TaskKind, TaskSpec, TaskStatus, Timestamp,
};

pub(crate) use self::{
    actors::{Actor, Actors, Call},
    log::{Entry, Log},
    prompt::{InputPurpose, Prompt},
};
use crate::{
    Key,
    labels::{Phrase, PhraseTranslator, english},
    order::tree_order,
    theme::Tone,
};

/// Request of a person to the program that drives the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAction {
    /// Send an unasked message.
    Tell {
        /// Task whose actor gets the message; the run itself if absent.
        task: Option<TaskId>,
        /// Text of the message.
        text: String,
    },
    /// Answer a question.
    Answer {
        /// Id of the question.
        question: QuestionId,
        /// Text of the answer; `yes`, `no` or `always` for an approval.
        text: String,
    },
    /// Stop the run so that it can be resumed.
    Pause,
    /// Cancel the run for good, or one of its tasks.
    Cancel {
        /// Task to cancel; the whole run if absent.
        task: Option<TaskId>,
    },
    /// Ctrl-C in the process that drives the run.
    Interrupt,
    /// Close the screen; the run continues.
    Leave,
    /// Go to the background, like the shell's Ctrl-Z.
    Suspend,
    /// Redraw everything.
    Redraw,
    /// The screen has failed for good and cannot show questions any more.
    Lost,
}

/// Role of the screen's process in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// It drives the run, so the run ends with the screen.
    Driver,
    /// It only watches. Another process may drive the run.
    Watcher,
}

/// Bounds of a run, if it has any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Largest number of tokens, sent and received.
    pub tokens: Option<u64>,
    /// Largest cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Longest working time, in seconds.
    pub seconds: Option<u64>,
}

/// Panel beside the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Panel {
    /// Log of events.
    #[default]
    Log,
    /// Details of one task.
    Task,
    /// Graph of the plan.
    Graph,
    /// Help on the keys.
    Help,
}

/// Scroll position and its maximum, in lines. [`crate::render`] sets the maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scroll {
    pub(crate) at: usize,
    pub(crate) most: usize,
    pub(crate) page: usize,
}

/// Screen of one run.
#[derive(Debug)]
pub struct Screen {
    pub(crate) run: RunId,
    pub(crate) part: ProcessRole,
    pub(crate) limits: Limits,
    pub(crate) state: Option<ProgressState>,
    pub(crate) actors: Actors,
    pub(crate) log: Log,
    pub(crate) panel: Panel,
    pub(crate) prompt: Prompt,
    /// Notice on the last key; the next key removes it.
    pub(crate) notice: String,
    /// True if a process drives the run now.
    pub(crate) driven: bool,
    /// Task that the person has selected; without one the screen follows the active task.
    pub(crate) selected: Option<TaskId>,
    /// Scroll position: of a panel from its top, of the log from its end.
    pub(crate) scroll: Scroll,
    /// Scroll position of the open question.
    pub(crate) question_scroll: Scroll,
    /// Question in the last picture. [`crate::render`] sets it.
    pub(crate) shown_question: Option<QuestionId>,
    /// Last key, with the time of the press.
    pub(crate) last_key: Option<(Key, Timestamp)>,
    /// Questions that were answered here; the journal may not have the answers yet.
    answered: BTreeSet<QuestionId>,
    /// Returns true if an approval with this text offers "always".
    pub(crate) offers_always: fn(&str) -> bool,
    words: PhraseTranslator,
}

impl Screen {
    /// Creates the screen of a run without any events yet.
    #[must_use]
    pub fn new(run: RunId, part: ProcessRole, limits: Limits) -> Self {
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
            shown_question: None,
            last_key: None,
            answered: BTreeSet::new(),
            offers_always: |_| false,
            words: english,
        }
    }

    /// Starts from the given state of a run, whose events are not repeated.
    #[must_use]
    pub fn with_state(mut self, state: ProgressState) -> Self {
        self.state = Some(state);
        self
    }

    /// Sets the function that decides by an approval's text whether it offers "always". By default none does.
    #[must_use]
    pub fn with_always(mut self, offers: fn(&str) -> bool) -> Self {
        self.offers_always = offers;
        self
    }

    /// Sets the function that translates the screen's phrases. By default they are English.
    #[must_use]
    pub fn with_words(mut self, words: PhraseTranslator) -> Self {
        self.words = words;
        self
    }

    /// Returns a phrase in the person's language.
    pub(crate) fn phrase(&self, phrase: Phrase<'_>) -> String {
        (self.words)(phrase)
    }

    /// Returns the state of the run, as far as its events have arrived.
    #[must_use]
    pub const fn state(&self) -> Option<&ProgressState> {
        self.state.as_ref()
    }

    /// Applies one event. `words` are its log entry, without colours; without any it gets no entry.
    pub fn observe(&mut self, at: Timestamp, event: &ProgressEvent, words: Option<&str>) {
        match (event, self.state.as_mut()) {
            (ProgressEvent::RunStarted { .. }, None) => self.state = ProgressState::start(at, event).ok(),
            // If an event does not apply, the view continues with the state it has.
            (event, Some(state)) => drop(state.apply(at, event)),
            _ => {}
        }
        self.actors.observe(at, event);
        if let Some(words) = words {
            self.add_entry(at, tone_of(event), words);
        }
        if self.selected.as_ref().is_some_and(|selected| self.state.as_ref().is_none_or(|state| !state.tasks.contains_key(selected))) {
            self.selected = None;
        }
    }

    /// Adds a log entry that belongs to no event.
    pub fn log_note(&mut self, at: Timestamp, words: &str) {
        self.add_entry(at, Tone::Strong, words);
    }

    fn add_entry(&mut self, at: Timestamp, tone: Tone, words: &str) {
        let entry = Entry { at, tone, text: words.to_owned() };
        self.log.push(entry, self.words, self.panel == Panel::Log, &mut self.scroll);
    }

    /// Sets whether a process drives the run now. A process that drives it itself need not call this.
    pub const fn set_driven(&mut self, driven: bool) {
        self.driven = driven;
    }

    /// Returns true if the run has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.state.as_ref().is_some_and(|state| matches!(state.status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled))
    }

    /// Returns the open questions, oldest first.
    fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let asked = self.state.as_ref().filter(|_| !self.is_over()).map_or(&[][..], |state| state.questions.as_slice());
        asked.iter().filter(|question| question.answer.is_none() && !self.answered.contains(&question.id))
    }

    /// Returns the first open question, and the number of open ones.
    pub(crate) fn question(&self) -> Option<(&Question, usize)> {
        let mut open = self.open_questions();
        let first = open.next()?;
        Some((first, 1 + open.count()))
    }

    /// Returns true if a task waits for an answer.
    pub(crate) fn asks(&self, task: &TaskId) -> bool {
        self.open_questions().any(|question| question.task.as_ref() == Some(task))
    }

    /// Returns the tasks as a tree, with their depth.
    pub(crate) fn rows(&self) -> Vec<(usize, &Task)> {
        let Some(state) = &self.state else { return Vec::new() };
        let specs: Vec<&TaskSpec> = state.tasks.values().map(|task| &*task.spec).collect();
        tree_order(&specs).into_iter().filter_map(|(depth, spec)| Some((depth, state.tasks.get(&spec.id)?))).collect()
    }

    /// Returns the focused row: the selected one, else the first active one, else the first open one.
    pub(crate) fn focus(&self, rows: &[(usize, &Task)]) -> Option<usize> {
        let gone_to = || rows.iter().position(|(_, task)| self.selected.as_ref() == Some(&task.spec.id));
        let worked_on = |task: &Task| task.spec.kind != TaskKind::Group;
        let moving = || rows.iter().position(|(_, task)| task.status == TaskStatus::Running && worked_on(task));
        let open = || rows.iter().position(|(_, task)| task.status.is_open() && worked_on(task));
        gone_to().or_else(moving).or_else(open).or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// Returns the focused task.
    pub(crate) fn selected_task(&self) -> Option<&Task> {
        let rows = self.rows();
        let at = self.focus(&rows)?;
        rows.get(at).map(|(_, task)| *task)
    }
}

/// Returns the tone of an event.
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
        E::MergeConflicted { conflicts, .. } if conflicts.iter().all(|conflict| conflict.resolved) => Tone::Good,
        E::MergeConflicted { .. } => Tone::Bad,
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
