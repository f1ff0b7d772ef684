//! Effects of the keys.

use aime_progress_management::{PlanMode, Question, TaskId, TaskKind, Timestamp};
use tui_input::Input;

use super::{InputPurpose, Panel, ProcessRole, Prompt, Screen, Scroll, UserAction, prompt::edit};
use crate::{Key, Phrase};

/// Time within which a repeated key may come from holding it down, in milliseconds. Systems wait no longer before the first repeat, unless
/// configured otherwise.
const HELD: i64 = 1_000;

impl Screen {
    /// Handles a key that was pressed at this time. Returns an act for the program, if any.
    ///
    /// A key answers a question only if it was pressed after [`crate::render`] has drawn the question and is not a held key: the same key
    /// within a second answers nothing. This holds also for the Enter key that sends an answer without words.
    pub fn press(&mut self, key: Key, at: Timestamp) -> Option<UserAction> {
        self.notice.clear();
        let before = self.last_key.replace((key.clone(), at));
        let held = before.is_some_and(|(before, then)| before == key && at.as_millis() - then.as_millis() < HELD);
        match key {
            Key::Ctrl('c') => {
                self.prompt = Prompt::None;
                return Some(if self.part == ProcessRole::Driver { UserAction::Interrupt } else { UserAction::Leave });
            }
            Key::Ctrl('z') => return Some(UserAction::Suspend),
            Key::Ctrl('l') => return Some(UserAction::Redraw),
            _ => {}
        }
        match std::mem::take(&mut self.prompt) {
            Prompt::None => self.command(&key, held),
            Prompt::Sure(act) if matches!(key, Key::Char('y' | 'Y')) => self.unless_ended(act),
            Prompt::Sure(_) => None,
            Prompt::Typing { to, line } => self.typed(to, line, key, held),
        }
    }

    fn typed(&mut self, to: InputPurpose, mut line: Input, key: Key, held: bool) -> Option<UserAction> {
        match key {
            Key::Escape => None,
            Key::Enter => {
                let text = line.value().trim().to_owned();
                if text.is_empty() {
                    if !self.takes_empty_answer(&to) {
                        return None;
                    }
                    if held {
                        // The key that opened the line is still down.
                        self.prompt = Prompt::Typing { to, line };
                        return None;
                    }
                }
                let act = self.unless_ended(to.act(text))?;
                Some(self.noting(act))
            }
            key => {
                edit(&mut line, key);
                self.prompt = Prompt::Typing { to, line };
                None
            }
        }
    }

    /// Returns true for the answer to an open question that a person may answer without words: the run goes on.
    fn takes_empty_answer(&self, to: &InputPurpose) -> bool {
        let InputPurpose::Answer(id) = to else { return false };
        self.open_questions().any(|question| question.id == *id && Question::takes_empty_answer(&question.kind))
    }

    /// Returns the act of a prompt, unless the run or the task has ended while the prompt was open.
    fn unless_ended(&mut self, act: UserAction) -> Option<UserAction> {
        let task = match &act {
            UserAction::Tell { task, .. } | UserAction::Cancel { task } => task.as_ref(),
            _ => None,
        };
        let settled = |task: &TaskId| self.state.as_ref()?.tasks.get(task).filter(|task| task.status.is_settled());
        let refused = match task.and_then(settled) {
            _ if self.is_over() => self.phrase(Phrase::HasEnded),
            Some(task) => self.phrase(Phrase::HasSettled(&task.spec.id, task.status)),
            None => return Some(act),
        };
        self.notice = refused;
        None
    }

    /// Marks a question as answered, so that it is not shown again while the answer is on its way.
    fn noting(&mut self, act: UserAction) -> UserAction {
        if let UserAction::Answer { question, .. } = &act {
            self.answered.insert(question.clone());
            self.question_scroll = Scroll::default();
        }
        act
    }

    fn command(&mut self, key: &Key, held: bool) -> Option<UserAction> {
        if let Some(answer) = self.answer(key, held) {
            return answer.map(|act| self.noting(act));
        }
        match key {
            Key::Up | Key::Char('k') => self.go(|at, _| at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.go(|at, last| (at + 1).min(last)),
            Key::Home => self.go(|_, _| 0),
            Key::End => self.go(|_, last| last),
            Key::PageUp | Key::Ctrl('b') => self.turn(true),
            Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => self.turn(false),
            Key::Enter | Key::Char('d') => self.show(Panel::Task),
            Key::Char('g') => self.show(Panel::Graph),
            Key::Char('?' | 'h') => self.show(Panel::Help),
            Key::Char('l') => self.open(Panel::Log),
            Key::Tab => self.open(match self.panel {
                Panel::Log => Panel::Task,
                Panel::Task => Panel::Graph,
                Panel::Graph | Panel::Help => Panel::Log,
            }),
            Key::Escape if self.panel == Panel::Log => {
                self.selected = None;
                self.scroll.at = 0;
            }
            Key::Escape => self.open(Panel::Log),
            Key::Char('q') if self.part == ProcessRole::Watcher => return Some(UserAction::Leave),
            Key::Char('t' | 'T' | 'p' | 'q' | 'x' | 'X') if self.is_over() => self.notice = self.phrase(Phrase::HasEnded),
            Key::Char('t') => self.open_input(InputPurpose::Message(None)),
            Key::Char('T') => self.open_message_prompt(),
            Key::Char('p' | 'q') if self.part == ProcessRole::Watcher && !self.driven => {
                self.notice = self.phrase(Phrase::NobodyCarries(self.run.as_str()));
            }
            Key::Char('p' | 'q') => self.prompt = Prompt::Sure(UserAction::Pause),
            Key::Char('x') => self.cancel_task(),
            Key::Char('X') => self.prompt = Prompt::Sure(UserAction::Cancel { task: None }),
            _ => {}
        }
        None
    }

    /// Handles a key for the open question; none if it has no meaning there.
    fn answer(&mut self, key: &Key, held: bool) -> Option<Option<UserAction>> {
        let (question, _) = self.question()?;
        let id = question.id.clone();
        let text = match (question.kind.as_str(), key) {
            ("approval", Key::Char('y' | 'Y')) => Some("yes"),
            ("approval", Key::Char('n' | 'N')) => Some("no"),
            ("approval", Key::Char('a' | 'A')) if (self.offers_always)(&question.question.to_string()) => Some("always"),
            ("approval", _) => return None,
            (_, Key::Enter | Key::Char('a')) => None,
            _ => return None,
        };
        if self.shown_question.as_ref() != Some(&id) {
            // The key was meant for the previous picture.
            return Some(None);
        }
        if held {
            self.notice = self.phrase(Phrase::KeyHeld);
            return Some(None);
        }
        let Some(text) = text else {
            self.open_input(InputPurpose::Answer(id));
            return Some(None);
        };
        Some(Some(UserAction::Answer { question: id, text: text.to_owned() }))
    }

    fn open_input(&mut self, to: InputPurpose) {
        self.prompt = Prompt::Typing { to, line: Input::default() };
    }

    fn open_message_prompt(&mut self) {
        let refused = match self.selected_task() {
            None => Err(self.phrase(Phrase::NothingToTell)),
            Some(task) if task.spec.kind != TaskKind::Actor => Err(self.phrase(Phrase::NobodyHears(&task.spec.id))),
            Some(task) if task.status.is_settled() => Err(self.phrase(Phrase::HasSettled(&task.spec.id, task.status))),
            Some(task) => Ok(task.spec.id.clone()),
        };
        match refused {
            Ok(task) => self.open_input(InputPurpose::Message(Some(task))),
            Err(why) => self.notice = why,
        }
    }

    fn cancel_task(&mut self) {
        let direct = self.state.as_ref().is_some_and(|state| state.mode == Some(PlanMode::Direct));
        let refused: Result<TaskId, String> = match self.selected_task() {
            None => Err(self.phrase(Phrase::NothingToCancel)),
            Some(task) if task.status.is_settled() => Err(self.phrase(Phrase::HasSettled(&task.spec.id, task.status))),
            Some(task) if direct => Err(self.phrase(Phrase::IsTheRun(&task.spec.id))),
            Some(task) => Ok(task.spec.id.clone()),
        };
        match refused {
            Ok(task) => self.prompt = Prompt::Sure(UserAction::Cancel { task: Some(task) }),
            Err(why) => self.notice = why,
        }
    }

    /// Selects another row of the plan.
    fn go(&mut self, to: impl FnOnce(usize, usize) -> usize) {
        // If the plan is hidden, these keys scroll the visible panel.
        if matches!(self.panel, Panel::Graph | Panel::Help) {
            let most = self.scroll.most;
            self.scroll.at = to(self.scroll.at, most);
            return;
        }
        let rows = self.rows();
        let Some(at) = self.focus(&rows) else { return };
        let selected = rows.get(to(at, rows.len().saturating_sub(1))).map(|(_, task)| task.spec.id.clone());
        self.selected = selected;
        if self.panel == Panel::Task {
            self.scroll.at = 0;
        }
    }

    /// Turns a page of the question if it has several, otherwise of the panel.
    fn turn(&mut self, up: bool) {
        let asked = self.question().is_some() && self.question_scroll.most > 0;
        // The log is scrolled from its end.
        let back = if !asked && self.panel == Panel::Log { !up } else { up };
        let scroll = if asked { &mut self.question_scroll } else { &mut self.scroll };
        let page = scroll.page.max(2) - 1;
        scroll.at = if back { scroll.at.saturating_sub(page) } else { (scroll.at + page).min(scroll.most) };
    }

    /// Opens a panel, or closes it if it is open.
    fn show(&mut self, panel: Panel) {
        self.open(if self.panel == panel { Panel::Log } else { panel });
    }

    fn open(&mut self, panel: Panel) {
        if self.panel != panel {
            self.panel = panel;
            self.scroll = Scroll::default();
        }
    }
}
