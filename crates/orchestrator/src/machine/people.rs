//! Asking people: approvals, an actor's questions, escalations.

use aime_durable::Reason;
use aime_progress::{
    Evidence, EvidenceId, EvidenceKind, ProgressEvent, Question, QuestionId, Significance, TaskId, TaskKind, TaskStatus, TriggerReason,
};
use aime_tools::Consent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FailureCode, Out, Phase, RunMachine, Work};
use crate::{RunEffect, RunFailure, RunOutput};

const ESCALATION: &str = "escalation";
/// Whether a call may be made: yes or no.
const APPROVAL: &str = "approval";
/// Stands as the answer of a question that nobody needs to answer any more.
const WITHDRAWN: &str = "(withdrawn: the task that asked has come to an end)";
/// The same, of one that a wider consent has answered.
const ALLOWED: &str = "(withdrawn: such calls were allowed meanwhile)";

/// What a person was asked about a tool task's call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Approval {
    execution: u32,
    parameters: Map<String, Value>,
    question: QuestionId,
}

/// What a person said unasked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Said {
    /// Under this name it is evidence.
    pub(crate) id: EvidenceId,
    /// The task whose actor was meant.
    pub(crate) task: Option<TaskId>,
    /// The words.
    pub(crate) text: String,
}

impl RunMachine {
    /// Records a question and asks it, unless it is being asked or was answered.
    pub(super) fn asked(&mut self, task: Option<&TaskId>, id: &QuestionId, kind: &str, text: &str, out: &mut Out) {
        let known = self.state.questions.iter().find(|question| question.id == *id);
        if known.is_some_and(|question| question.answer.is_some()) || self.asking(id) {
            return;
        }
        if known.is_none() {
            let (id, task, kind, question) = (id.clone(), task.cloned(), kind.to_owned(), text.to_owned());
            self.emit(ProgressEvent::QuestionAsked { id, task, kind, question }, out);
        }
        if self.leaving.is_some() {
            // Whoever is asked now would hold up the stop. The question is asked when the run goes on.
            return;
        }
        let effect = self.next_id("ask");
        let (task, kind, text) = (task.cloned(), kind.to_owned(), text.to_owned());
        self.issue(effect, RunEffect::Ask { question: id.clone(), kind, task, text }, Work::Ask(id.clone()), out);
    }

    /// An actor asks. Only one that runs can wait for the answer, and no actor asks in the name of the run.
    pub(super) fn actor_asked(&mut self, task: &TaskId, id: &QuestionId, kind: &str, text: &str, out: &mut Out) {
        let runs = self.state.tasks.get(task).is_some_and(|known| known.status == TaskStatus::Running);
        let foreign = self.state.questions.iter().any(|known| known.id == *id && known.task.as_ref() != Some(task));
        if runs && kind != ESCALATION && !foreign {
            self.asked(Some(task), id, kind, text, out);
        }
    }

    /// Takes back the questions of a task that has come to an end: nobody waits for these answers any more.
    pub(super) fn withdraw_questions(&mut self, ended: impl Fn(&Self, &TaskId) -> bool, out: &mut Out) {
        let open = self.state.questions.iter().filter(|question| question.answer.is_none());
        let theirs = open.filter(|question| question.task.as_ref().is_some_and(|task| ended(self, task)));
        let ids: Vec<QuestionId> = theirs.map(|question| question.id.clone()).collect();
        self.withdraw(ids, out);
    }

    /// Takes back what was asked about the call of a task that needs no consent any more: else the run would seem to wait for it.
    pub(super) fn withdraw_approvals(&mut self, task: &TaskId, out: &mut Out) {
        let asked = self.unanswered().into_iter().filter(|question| question.kind == APPROVAL && question.task.as_ref() == Some(task));
        let ids: Vec<QuestionId> = asked.map(|question| question.id.clone()).collect();
        self.withdraw_saying(ids, ALLOWED, out);
    }

    pub(super) fn withdraw(&mut self, ids: Vec<QuestionId>, out: &mut Out) {
        self.withdraw_saying(ids, WITHDRAWN, out);
    }

    fn withdraw_saying(&mut self, ids: Vec<QuestionId>, why: &str, out: &mut Out) {
        for id in ids {
            self.stop_asking(&id, out);
            self.emit(ProgressEvent::QuestionAnswered { id, answer: why.to_owned() }, out);
        }
    }

    fn stop_asking(&self, id: &QuestionId, out: &mut Out) {
        let asking = self.open.iter().filter(|(_, work)| **work == Work::Ask(id.clone()));
        for (effect, _) in asking {
            out.revoke(effect.clone(), Reason::Cancelled);
        }
    }

    fn asking(&self, id: &QuestionId) -> bool {
        self.open.values().any(|work| *work == Work::Ask(id.clone()))
    }

    /// The question that is meant: the named one, else the oldest that is open.
    pub(super) fn open_question(&self, id: Option<&QuestionId>) -> Option<QuestionId> {
        let mut open = self.state.questions.iter().filter(|question| question.answer.is_none());
        open.find(|question| id.is_none_or(|id| *id == question.id)).map(|question| question.id.clone())
    }

    pub(super) fn unanswered(&self) -> Vec<&Question> {
        self.state.questions.iter().filter(|question| question.answer.is_none()).collect()
    }

    /// Whether a person was asked to decide about the plan and has not answered.
    pub(super) fn escalated(&self) -> bool {
        self.unanswered().iter().any(|question| question.kind == ESCALATION)
    }

    pub(super) fn person_answered(&mut self, id: &QuestionId, text: &str, out: &mut Out) {
        let Some(question) = self.state.questions.iter().find(|question| question.id == *id).cloned() else { return };
        if question.answer.is_some() {
            return;
        }
        self.stop_asking(id, out);
        self.emit(ProgressEvent::QuestionAnswered { id: id.clone(), answer: text.to_owned() }, out);
        match (question.kind.as_str(), &question.task) {
            (ESCALATION, _) => self.escalation_answered(id, text, out),
            (APPROVAL, Some(task)) => self.approval_answered(&task.clone(), out),
            _ => {}
        }
        self.advance(out);
    }

    /// A person steers. What they say to the run is evidence that the plan is looked at for at once; what they say to one actor is for that
    /// actor, and the planner reads it when it looks next.
    pub(super) fn person_said(&mut self, id: &EvidenceId, task: Option<&TaskId>, text: &str, out: &mut Out) {
        if !self.said.iter().any(|said| said.id == *id) {
            self.said.push(Said { id: id.clone(), task: task.cloned(), text: text.to_owned() });
        }
        if self.phase == Phase::Over || self.state.evidence.iter().any(|known| known.id == *id) {
            return;
        }
        let task = task.filter(|task| self.state.tasks.contains_key(*task)).cloned();
        let evidence = Evidence {
            id: id.clone(),
            at: self.now,
            significance: if task.is_some() { Significance::Low } else { Significance::High },
            task,
            kind: EvidenceKind::UserInput,
            content: text.to_owned(),
            processed: false,
            origins: Vec::new(),
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
        self.advance(out);
    }

    /// What a person said of a tool task's call; asks if nobody did. The task waits meanwhile, held ready to run again.
    /// An answer holds for this call of this execution alone.
    pub(super) fn approval(&mut self, task: &TaskId, parameters: &Map<String, Value>, question: &str, out: &mut Out) -> Option<String> {
        let execution = self.executions.get(task).copied().unwrap_or(1);
        let asked = self.approvals.get(task).filter(|asked| asked.execution == execution && asked.parameters == *parameters);
        let id = match asked {
            Some(asked) => asked.question.clone(),
            None => {
                let Ok(question) = QuestionId::new(format!("approval-{}", self.state.questions.len() + 1)) else {
                    return Some(String::new());
                };
                self.withdraw_questions(|_, asked_by| asked_by == task, out);
                let parameters = parameters.clone();
                self.approvals.insert(task.clone(), Approval { execution, parameters, question: question.clone() });
                question
            }
        };
        let known = self.state.questions.iter().find(|known| known.id == id);
        if let Some(answer) = known.and_then(|known| known.answer.as_deref()) {
            return Some(answer.to_owned());
        }
        self.asked(Some(task), &id, APPROVAL, question, out);
        None
    }

    /// A tool task waited for this answer: it is started again, and finds the answer.
    fn approval_answered(&mut self, task: &TaskId, out: &mut Out) {
        let waits = self.state.tasks.get(task).is_some_and(|known| known.status == TaskStatus::Running);
        let begun = self.open.values().any(|work| *work == Work::Task(task.clone()));
        if waits && !begun {
            self.set_task(task, TaskStatus::Pending, Some("answered".to_owned()), out);
        }
    }

    /// Asks a person whether and how to go on, when replanning alone does not help.
    pub(super) fn escalate(&mut self, reasons: &[TriggerReason], why: &str, out: &mut Out) {
        if self.input.settings.unattended {
            self.handle(reasons);
            self.give_up = Some(why.to_owned());
            return;
        }
        let count = self.state.questions.iter().filter(|question| question.kind == ESCALATION).count();
        let Ok(id) = QuestionId::new(format!("escalation-{}", count + 1)) else { return };
        let details: Vec<String> = reasons.iter().map(|reason| format!("- {}", reason.detail)).collect();
        let text = format!(
            "{why}. What stands in the way:\n{}\nAnswer `continue` to allow more changes of the plan, `stop` to end the run, or say what to do.",
            details.join("\n")
        );
        self.asked(None, &id, ESCALATION, &text, out);
    }

    fn escalation_answered(&mut self, question: &QuestionId, text: &str, out: &mut Out) {
        let (answer, consent) = (text.trim().to_lowercase(), Consent::said(text));
        if consent == Some(Consent::No) || matches!(answer.as_str(), "stop" | "end" | "cancel" | "abort" | "停止" | "结束" | "取消") {
            return self.end_by_person(out);
        }
        self.replans = 0;
        self.last_replan_at = None;
        self.announced.clear();
        if consent.is_some() || matches!(answer.as_str(), "continue" | "go on" | "继续" | "") {
            return;
        }
        let Ok(id) = EvidenceId::new(format!("answer-{question}")) else { return };
        let evidence = Evidence {
            id,
            at: self.now,
            task: None,
            kind: EvidenceKind::UserInput,
            significance: Significance::High,
            content: text.trim().to_owned(),
            processed: false,
            origins: Vec::new(),
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
    }

    /// A person ended the run: what runs is stopped, and nothing is begun any more.
    fn end_by_person(&mut self, out: &mut Out) {
        self.give_up = Some("a person ended the run".to_owned());
        self.ended_by_person = true;
        for (effect, _) in self.open.iter().filter(|(_, work)| matches!(work, Work::Task(_))) {
            out.revoke(effect.clone(), Reason::Cancelled);
        }
    }

    /// Takes what nobody works on out of the run.
    pub(super) fn skip_open(&mut self, out: &mut Out) {
        let begun = |id: &TaskId| self.open.values().any(|work| *work == Work::Task(id.clone()));
        let open = self.state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.status.is_open());
        let open: Vec<TaskId> = open.map(|task| task.spec.id.clone()).filter(|id| !begun(id)).collect();
        for task in open {
            self.set_task(&task, TaskStatus::Skipped, self.give_up.clone(), out);
        }
    }

    /// Everything that still moves waits for a person who is not there now.
    pub(super) fn waits_for_person(&self) -> bool {
        let unanswered = self.unanswered();
        if unanswered.is_empty() || self.decision.is_some() || self.open.values().any(|work| matches!(work, Work::Ask(_))) {
            return false;
        }
        let asked_for = |task: &TaskId| unanswered.iter().any(|question| question.task.as_ref() == Some(task));
        self.open.values().all(|work| match work {
            Work::Timer(_) => true,
            Work::Task(task) => asked_for(task),
            _ => false,
        })
    }

    /// What the run is left with while it waits.
    pub(super) fn waiting(&self) -> RunOutput {
        let questions: Vec<String> = self.unanswered().iter().map(|question| question.question.clone()).collect();
        let run = &self.input.run;
        let hint = Some(if self.unanswered().iter().all(|question| question.kind == APPROVAL) {
            format!("allow it with `aime answer {run} yes`, refuse it with `aime answer {run} no`, then `aime resume {run}`")
        } else {
            format!("answer with `aime answer {run} TEXT`, then `aime resume {run}`")
        });
        let message = questions.join("\n\n");
        let error = Some(RunFailure { code: FailureCode::WaitingForHuman, message, hint });
        RunOutput { status: aime_progress::RunStatus::WaitingForHuman, error }
    }
}
