//! Work that lacks something from outside of the run, such as access or a file. The run asks a person for it, waits, and
//! continues the same conversation.

use aime_messages::{Message, message};
use aime_progress_management::{
    Conclusion, EvidenceId, FailureCause, Outcome, ProgressEvent, Question, QuestionId, RunStatus, Task, TaskId, TaskKind, TaskStatus,
};

use super::{Out, RunMachine, lead::main_id};

/// The kind of a question about something that is missing.
pub(super) const BLOCKED: &str = "blocked";
/// The answer recorded for a person who says nothing.
const NOTHING_SAID: &str = "(nothing was said: the run goes on, and what was missing may be there now)";
/// The answer recorded if a message to the run took the place of an answer.
const SPOKE: &str = "(a message to the run took the place of the answer)";

impl RunMachine {
    /// Asks a person for what the actor of a task lacks, if no planner can find another way. The task waits in the same
    /// execution. Returns whether it does.
    pub(super) fn waits_for_need(&mut self, task: &TaskId, conclusion: &Conclusion, out: &mut Out) -> bool {
        let of_actor = |known: &Task| known.spec.kind == TaskKind::Actor && known.status == TaskStatus::Running;
        let of_actor = self.state.tasks.get(task).is_some_and(of_actor);
        if !is_blocked(conclusion) || !of_actor || self.can_replan() || self.stopping.is_ended() {
            return false;
        }
        self.doubt_open_calls(task, out);
        self.emit(ProgressEvent::TaskConcluded { task: task.clone(), conclusion: conclusion.clone() }, out);
        self.withdraw_questions(|_, asked_by| asked_by == task, out);
        self.set_task(task, TaskStatus::Blocked, conclusion.error.clone(), out);
        self.ask_for_need(Some(task), need(conclusion), out);
        true
    }

    /// Asks a person for what tasks lack that no change of the plan has replaced. Returns whether it does.
    pub(super) fn asks_for_open_needs(&mut self, out: &mut Out) -> bool {
        // A lead decides by itself if the run waits.
        if self.is_led() || self.stopping.is_ended() {
            return false;
        }
        let open: Vec<_> = self.blocked_tasks().map(|(task, conclusion)| (task.clone(), need(conclusion))).collect();
        let any = !open.is_empty();
        open.into_iter().for_each(|(task, need)| self.ask_for_need(Some(&task), need, out));
        any
    }

    /// Handles a lead that ends the run because something is missing: the run asks a person for it. A lead that gives up
    /// a plan with a blocked task counts as blocked, too. Returns whether the run waits.
    pub(super) fn lead_waits_for_need(&mut self, conclusion: &Conclusion, category: &str, out: &mut Out) -> bool {
        if self.input.plan_only || conclusion.outcome == Outcome::Success || conclusion.cause == Some(FailureCause::Model) {
            return false;
        }
        let mut text = need(conclusion);
        if !is_blocked(conclusion) {
            let of_tasks = self.blocked_tasks().map(|(task, conclusion)| message!("at-place", place = task, what = need(conclusion)));
            let of_tasks: Vec<Message> = of_tasks.collect();
            if of_tasks.is_empty() || self.works_itself() {
                return false;
            }
            text = Message::list("\n", &[vec![Message::text(&conclusion.summary)], of_tasks].concat());
        }
        if self.state.version == 0 {
            self.begin_main("the lead worked on the goal itself", category, out);
        }
        let main = main_id();
        let own = self.works_itself().then_some(&main);
        match own {
            Some(main) => self.set_task(main, TaskStatus::Blocked, conclusion.error.clone(), out),
            None => self.set_status(RunStatus::Executing, None, out),
        }
        self.ask_for_need(own, text, out);
        self.advance(out);
        true
    }

    /// Withdraws what the lead lacked, because it has found another way.
    pub(super) fn withdraw_need_of_lead(&mut self, out: &mut Out) {
        let of_lead = |question: &&Question| question.kind == BLOCKED && question.task.as_ref().is_none_or(|task| self.is_main(task));
        let ids = self.unanswered().filter(of_lead).map(|question| question.id.clone()).collect();
        self.withdraw(ids, out);
    }

    /// Lets blocked work continue. `spoke` is true if a message to the run took the place of the answer.
    pub(super) fn need_answered(&mut self, question: &QuestionId, task: Option<&TaskId>, (text, spoke): (&str, bool), out: &mut Out) {
        let led = self.is_led() && task.is_none_or(|task| self.is_main(task));
        let answer = text.trim();
        let says_nothing = spoke || answer.is_empty() || answer == NOTHING_SAID;
        if let (true, false, Ok(id)) = (led, spoke, EvidenceId::new(format!("answer-{question}"))) {
            self.record_person_message(&id, if says_nothing { NOTHING_SAID } else { answer }, out);
        }
        let Some(task) = task else { return };
        let status = self.state.tasks.get(task).map(|known| known.status);
        if !led && status == Some(TaskStatus::Blocked) {
            self.executions.return_answer(task, if says_nothing { String::new() } else { answer.to_owned() });
        }
        if matches!(status, Some(TaskStatus::Blocked | TaskStatus::Failed)) {
            self.set_task(task, TaskStatus::Pending, Some(message!("task-answered")), out);
        }
    }

    /// Lets work continue for which a message to the run, or to the actor of its task, takes the place of an answer.
    pub(super) fn words_answer_needs(&mut self, task: Option<&TaskId>, out: &mut Out) {
        let meant = |question: &&Question| question.kind == BLOCKED && (task.is_none() || question.task.as_ref() == task);
        let needs: Vec<_> = self.unanswered().filter(meant).map(|question| (question.id.clone(), question.task.clone())).collect();
        for (id, task) in needs {
            self.stop_asking(&id, out);
            self.emit(ProgressEvent::QuestionAnswered { id: id.clone(), answer: SPOKE.to_owned() }, out);
            self.need_answered(&id, task.as_ref(), ("", true), out);
        }
    }

    /// Returns what a person has said about what the task lacked, for an actor that does not continue the conversation.
    pub(super) fn words_about_need(&self, task: &TaskId) -> Option<&str> {
        let mut asked = self.state.questions.iter().rev().filter(|question| question.kind == BLOCKED);
        let answer = asked.find(|question| question.task.as_ref() == Some(task))?.answer.as_deref()?;
        Some(answer).filter(|answer| ![NOTHING_SAID, SPOKE].contains(answer))
    }

    /// Handles a question that nobody answers now. A person who resumes a blocked run lets it go on, with or without words.
    pub(super) fn deferred(&mut self, question: &QuestionId, out: &mut Out) {
        if self.people.has_resumed(question) && !self.stopping.is_suspending() {
            return self.person_answered(question, NOTHING_SAID, out);
        }
        self.advance(out);
    }

    /// Returns the tasks of actors that ended as blocked, with their conclusions.
    fn blocked_tasks(&self) -> impl Iterator<Item = (&TaskId, &Conclusion)> {
        let tasks = self.state.tasks.values().filter(|task| task.spec.kind == TaskKind::Actor);
        let failed = tasks.filter(|task| task.status == TaskStatus::Failed || (task.status == TaskStatus::Blocked && task.held));
        failed.filter_map(|task| Some((&task.spec.id, task.conclusion.as_ref().filter(|conclusion| is_blocked(conclusion))?)))
    }

    fn ask_for_need(&mut self, task: Option<&TaskId>, text: impl Into<Message>, out: &mut Out) {
        if let Ok(id) = QuestionId::new(format!("blocked-{}", self.state.questions.len() + 1)) {
            self.ask(task, &id, BLOCKED, text, out);
        }
    }
}

fn is_blocked(conclusion: &Conclusion) -> bool {
    conclusion.cause == Some(FailureCause::Blocked)
}

/// Returns what is missing, in words for a person.
fn need(conclusion: &Conclusion) -> Message {
    let summary = &conclusion.summary;
    match conclusion.needs.as_deref() {
        Some(needs) if summary.is_empty() || summary == needs => message!("question-needs", needs),
        Some(needs) => Message::list("\n", &[Message::text(summary), message!("question-needs", needs)]),
        None => message!("question-needs", needs = summary),
    }
}
