//! The questions of a run to a person: asked, withdrawn, waited for.

use aime_durable::Reason;
use aime_messages::{Message, message};
use aime_progress_management::{ProgressEvent, Question, QuestionId, RunStatus, TaskId, TaskStatus};

use super::{FailureCode, Out, RunMachine, amending::CRITERION, effects::EffectPurpose, needs::BLOCKED};
use crate::{NextStep, RunEffect, RunFailure, RunOutput};

/// The kind of a question about the plan: if and how to continue.
pub(super) const ESCALATION: &str = "escalation";
/// The kind of a question about consent to a call.
pub(super) const APPROVAL: &str = "approval";
/// The answer recorded for a question whose task, or run, has ended.
const WITHDRAWN: &str = "(withdrawn: the work that asked has come to an end)";
/// The answer to a question while only a plan is made and nobody is there: such a run cannot wait.
const NOBODY: &str = "Nobody can be asked while the plan is made. Decide yourself, and name in the plan what you assume.";
/// The answer recorded for a question that a wider consent has answered.
const ALLOWED: &str = "(withdrawn: such calls were allowed meanwhile)";

/// Returns the message for an answer that the run itself recorded, because the question was withdrawn.
#[must_use]
pub fn withdrawal(answer: &str) -> Option<Message> {
    match answer {
        WITHDRAWN => Some(message!("withdrawn-ended")),
        ALLOWED => Some(message!("withdrawn-allowed")),
        _ => None,
    }
}

impl RunMachine {
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Question> {
        self.state.questions.iter().filter(|question| question.answer.is_none())
    }

    /// Returns the open question with this id, or the oldest one without an id.
    pub(super) fn open_question(&self, id: Option<&QuestionId>) -> Option<QuestionId> {
        self.unanswered().find(|question| id.is_none_or(|id| *id == question.id)).map(|question| question.id.clone())
    }

    /// Returns whether a person was asked to decide about the plan and has not answered.
    pub(super) fn escalated(&self) -> bool {
        self.unanswered().any(|question| question.kind == ESCALATION)
    }

    /// Records a question and asks it, unless it is being asked or was answered.
    pub(super) fn ask(&mut self, task: Option<&TaskId>, id: &QuestionId, kind: &str, text: impl Into<Message>, out: &mut Out) {
        let text = text.into();
        let known = self.state.questions.iter().find(|question| question.id == *id);
        if known.is_some_and(|question| question.answer.is_some()) || self.effects.asking(id).next().is_some() {
            return;
        }
        if known.is_none() {
            let (id, task, kind, question) = (id.clone(), task.cloned(), kind.to_owned(), text.clone());
            self.emit(ProgressEvent::QuestionAsked { id, task, kind, question }, out);
        }
        if self.stopping.is_suspending() {
            // Asking a person now would delay the stop. The question is asked when the run continues.
            return;
        }
        let effect = self.effects.next_id("ask");
        let (task, kind) = (task.cloned(), kind.to_owned());
        self.issue(effect, RunEffect::Ask { question: id.clone(), kind, task, text }, EffectPurpose::Ask(id.clone()), out);
    }

    /// Asks a question of an actor. Only a running one can wait for the answer, and no actor asks in the name of the
    /// run.
    pub(super) fn actor_asked(&mut self, task: &TaskId, id: &QuestionId, kind: &str, text: &str, out: &mut Out) {
        let runs = self.state.tasks.get(task).is_some_and(|known| known.status == TaskStatus::Running);
        let leads = self.is_main(task) && self.lead.is_awake();
        // The lead asks for no task before it works itself.
        let task = Some(task).filter(|_| runs || !leads);
        let foreign = self.state.questions.iter().any(|known| known.id == *id && known.task.as_ref() != task);
        if (runs || leads) && ![ESCALATION, BLOCKED, CRITERION].contains(&kind) && !foreign {
            self.ask(task, id, kind, text, out);
        }
    }

    /// Withdraws the questions of tasks that have ended, because nobody waits for these answers.
    pub(super) fn withdraw_questions(&mut self, ended: impl Fn(&Self, &TaskId) -> bool, out: &mut Out) {
        let theirs = self.unanswered().filter(|question| question.task.as_ref().is_some_and(|task| ended(self, task)));
        let ids = theirs.map(|question| question.id.clone()).collect();
        self.withdraw(ids, out);
    }

    /// Withdraws the questions of tasks that are not open any more. A failed task may still wait for what it lacks.
    pub(super) fn withdraw_questions_of_ended(&mut self, out: &mut Out) {
        let ended = |question: &&Question| {
            let task = question.task.as_ref().and_then(|task| self.state.tasks.get(task));
            task.is_some_and(|task| !(task.status.is_open() || task.status == TaskStatus::Failed && question.kind == BLOCKED))
        };
        let ids = self.unanswered().filter(ended).map(|question| question.id.clone()).collect();
        self.withdraw(ids, out);
    }

    /// Withdraws the question about the plan of an unattended run whose tasks have all succeeded without its answer.
    pub(super) fn withdraw_needless_escalation(&mut self, out: &mut Out) {
        if !self.input.settings.unattended || !self.escalated() || !self.idle() {
            return;
        }
        let done = self.state.tasks.values().all(|task| task.status.is_settled()) && self.undone().is_none();
        if done && self.criteria.failure().is_none() {
            let reasons = self.reasons();
            self.handle(&reasons);
            let ids = self.unanswered().filter(|question| question.kind == ESCALATION).map(|question| question.id.clone());
            self.withdraw(ids.collect(), out);
        }
    }

    /// Withdraws the questions about a task's call that needs no consent any more. Otherwise the run would seem to wait
    /// for it.
    pub(super) fn withdraw_approvals(&mut self, task: &TaskId, out: &mut Out) {
        let asked = self.unanswered().filter(|question| question.kind == APPROVAL && question.task.as_ref() == Some(task));
        let ids = asked.map(|question| question.id.clone()).collect();
        self.answer_all(ids, ALLOWED, out);
    }

    pub(super) fn withdraw(&mut self, ids: Vec<QuestionId>, out: &mut Out) {
        self.answer_all(ids, WITHDRAWN, out);
    }

    /// Answers the open questions of a run that only plans, for a person who is not there.
    pub(super) fn answer_for_nobody(&mut self, out: &mut Out) {
        let ids = self.unanswered().map(|question| question.id.clone()).collect();
        self.answer_all(ids, NOBODY, out);
    }

    fn answer_all(&mut self, ids: Vec<QuestionId>, answer: &str, out: &mut Out) {
        for id in ids {
            self.stop_asking(&id, out);
            // Without its question a change of a criterion needs another one.
            drop(self.people.take_amendment(&id));
            self.emit(ProgressEvent::QuestionAnswered { id, answer: answer.to_owned() }, out);
        }
    }

    pub(super) fn stop_asking(&self, id: &QuestionId, out: &mut Out) {
        self.effects.asking(id).for_each(|effect| out.revoke(effect.clone(), Reason::Cancelled));
    }

    /// Returns whether all remaining activity waits for a person who is not there now.
    pub(super) fn waits_for_person(&self) -> bool {
        let by_lead = |question: &Question| question.kind != ESCALATION && question.task.as_ref().is_none_or(|task| self.is_main(task));
        let asked_for = |task: Option<&TaskId>| match task {
            // The task that writes in the folder waits itself, if nothing else is under way.
            Some(waits) if self.executions.awaits_folder(waits) => true,
            Some(_) => self.unanswered().any(|question| question.task.as_ref() == task),
            None => self.unanswered().any(by_lead),
        };
        self.unanswered().next().is_some() && !self.replans.is_deciding() && self.effects.wait_for_person(asked_for)
    }

    /// Returns the output of a run that waits for a person.
    pub(super) fn waiting(&self) -> RunOutput {
        let run = self.input.run.clone();
        let all = |kind| self.unanswered().all(|question| question.kind == kind);
        let next = match () {
            () if all(APPROVAL) => NextStep::Approve { run },
            () if all(BLOCKED) => NextStep::Supply { run },
            () => NextStep::Answer { run },
        };
        let questions: Vec<Message> = self.unanswered().map(|question| question.question.clone()).collect();
        let error = Some(RunFailure::new(FailureCode::WaitingForHuman, Message::list("\n\n", &questions), Some(next)));
        RunOutput { status: RunStatus::WaitingForHuman, error }
    }
}
