//! People: their answers, their consent to calls, and their unsolicited messages.

use std::collections::{BTreeMap, BTreeSet};

use aime_actor_factory::PersonMessage;
use aime_durable::Reason;
use aime_messages::{Message, message};
use aime_progress_management::{
    Evidence, EvidenceId, EvidenceKind, ProgressEvent, QuestionId, Significance, TaskId, TaskStatus, TriggerReason,
};
use aime_tools::Consent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Out, Phase, RunMachine,
    amending::{Amendment, CRITERION},
    needs::BLOCKED,
    questions::{APPROVAL, ESCALATION},
};
use crate::ActorMessage;

/// The questions to people about calls, and their unsolicited messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct People {
    messages: Vec<RunMessage>,
    /// The last question about the call of each tool task.
    approvals: BTreeMap<TaskId, Approval>,
    /// The changes of criteria that people were asked about.
    #[serde(default)]
    amendments: BTreeMap<QuestionId, Amendment>,
    /// Number of follow-ups after the end of the run.
    #[serde(default)]
    follow_ups: u32,
    /// The questions that were open when a person resumed the run.
    #[serde(default)]
    resumed: BTreeSet<QuestionId>,
}

/// A question whether the call of a tool task may be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Approval {
    execution: u32,
    parameters: Map<String, Value>,
    question: QuestionId,
}

/// Message of a person that answers no question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunMessage {
    /// The id of the evidence that the message becomes.
    pub(crate) id: EvidenceId,
    /// The task whose actor is addressed.
    pub(crate) task: Option<TaskId>,
    pub(crate) text: String,
    /// True for a message of the lead to the actor of a task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) by_lead: bool,
}

impl RunMessage {
    /// Returns the message in the form for an actor.
    pub(crate) fn for_actor(&self) -> PersonMessage {
        let text = if self.by_lead { format!("(from the lead of this run) {}", self.text) } else { self.text.clone() };
        PersonMessage { id: self.id.clone(), text }
    }
}

impl People {
    /// Returns the unsolicited messages, in the order of their arrival.
    pub(super) fn messages(&self) -> &[RunMessage] {
        &self.messages
    }

    /// Notes the change of a criterion that a question is about.
    pub(super) fn ask_amendment(&mut self, question: QuestionId, amendment: Amendment) {
        self.amendments.insert(question, amendment);
    }

    /// Returns the changes of criteria that people were asked about and have not answered, each with its question.
    pub(super) fn amendments(&self) -> impl Iterator<Item = (&QuestionId, &Amendment)> {
        self.amendments.iter()
    }

    /// Removes and returns the change of a criterion that a question is about.
    pub(super) fn take_amendment(&mut self, question: &QuestionId) -> Option<Amendment> {
        self.amendments.remove(question)
    }

    /// Counts a follow-up and returns its number, from 1.
    pub(super) const fn count_follow_up(&mut self) -> u32 {
        self.follow_ups += 1;
        self.follow_ups
    }

    pub(super) const fn has_follow_ups(&self) -> bool {
        self.follow_ups > 0
    }

    /// Notes that a person resumed the run while this question was open.
    pub(super) fn resume(&mut self, question: QuestionId) {
        self.resumed.insert(question);
    }

    /// Returns whether a person resumed the run while this question was open.
    pub(super) fn has_resumed(&self, question: &QuestionId) -> bool {
        self.resumed.contains(question)
    }

    /// Stores a message, each once.
    fn add_message(&mut self, id: &EvidenceId, task: Option<&TaskId>, text: &str) {
        if !self.messages.iter().any(|message| message.id == *id) {
            self.messages.push(RunMessage { id: id.clone(), task: task.cloned(), text: text.to_owned(), by_lead: false });
        }
    }

    /// Stores messages of the run to actors.
    pub(super) fn add_run_messages(&mut self, messages: Vec<ActorMessage>) {
        let messages = messages.into_iter().map(|(task, PersonMessage { id, text })| RunMessage { id, task, text, by_lead: false });
        self.messages.extend(messages);
    }

    /// Stores a message of the lead to the actor of a task.
    pub(super) fn add_lead_message(&mut self, id: &EvidenceId, task: &TaskId, text: &str) {
        self.messages.push(RunMessage { id: id.clone(), task: Some(task.clone()), text: text.to_owned(), by_lead: true });
    }

    /// Returns the question that was asked about this call of this execution. An answer is valid for no other call.
    fn approval(&self, task: &TaskId, execution: u32, parameters: &Map<String, Value>) -> Option<&QuestionId> {
        let asked = self.approvals.get(task).filter(|asked| asked.execution == execution && asked.parameters == *parameters);
        asked.map(|asked| &asked.question)
    }

    fn ask_approval(&mut self, task: &TaskId, execution: u32, parameters: &Map<String, Value>, question: QuestionId) {
        self.approvals.insert(task.clone(), Approval { execution, parameters: parameters.clone(), question });
    }
}

/// An answer to an escalation.
#[derive(Debug, PartialEq, Eq)]
enum Direction<'a> {
    Stop,
    GoOn,
    /// Continue, and take this into account.
    Guidance(&'a str),
}

impl<'a> Direction<'a> {
    fn parse(text: &'a str) -> Self {
        let (words, answer, consent) = (text.trim(), text.trim().to_lowercase(), Consent::parse(text));
        if consent == Some(Consent::No) || matches!(answer.as_str(), "stop" | "end" | "cancel" | "abort" | "停止" | "结束" | "取消") {
            Self::Stop
        } else if consent.is_some() || matches!(answer.as_str(), "continue" | "go on" | "继续" | "") {
            Self::GoOn
        } else {
            Self::Guidance(words)
        }
    }
}

impl RunMachine {
    /// Returns the unsolicited messages of people so far.
    pub(crate) fn person_messages(&self) -> &[RunMessage] {
        self.people.messages()
    }

    /// Returns the tasks that run.
    pub(crate) fn working(&self) -> BTreeSet<TaskId> {
        let running = self.state.tasks.values().filter(|task| task.status == TaskStatus::Running);
        running.map(|task| task.spec.id.clone()).collect()
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
            (APPROVAL, Some(task)) => self.approval_answered(task, out),
            (BLOCKED, task) => self.need_answered(id, task.as_ref(), (text, false), out),
            (CRITERION, _) => self.criterion_answered(id, text, out),
            _ => {}
        }
        self.advance(out);
    }

    /// Takes in an unsolicited message. A message to the run is evidence for which the plan is reviewed at once. A
    /// message to one actor goes to that actor, and the planner reads it at its next replan. After the end of the run
    /// nobody acts on it, and the result lists it.
    pub(super) fn accept_person_message(&mut self, id: &EvidenceId, task: Option<&TaskId>, text: &str, out: &mut Out) {
        self.people.add_message(id, task, text);
        if self.state.evidence.iter().any(|known| known.id == *id) {
            return;
        }
        let task = task.filter(|task| self.state.tasks.contains_key(*task)).cloned();
        self.user_input(id.clone(), task.clone(), text, out);
        if self.phase == Phase::Over {
            return;
        }
        self.words_answer_needs(task.as_ref(), out);
        self.go_on_after_amendment(out);
        self.advance(out);
    }

    /// Takes in words of a person for the lead.
    pub(super) fn record_person_message(&mut self, id: &EvidenceId, text: &str, out: &mut Out) {
        self.people.add_message(id, None, text);
        self.user_input(id.clone(), None, text, out);
    }

    fn user_input(&mut self, id: EvidenceId, task: Option<TaskId>, text: &str, out: &mut Out) {
        let evidence = Evidence {
            id,
            at: self.now,
            significance: if task.is_some() { Significance::Low } else { Significance::High },
            task,
            kind: EvidenceKind::UserInput,
            content: text.to_owned(),
            processed: false,
            origins: Vec::new(),
        };
        self.emit(ProgressEvent::EvidenceAdded { evidence }, out);
    }

    /// Returns the answer about the call of a tool task; asks if there is none. The task waits meanwhile, ready to run
    /// again.
    pub(super) fn approval(&mut self, task: &TaskId, parameters: &Map<String, Value>, question: &str, out: &mut Out) -> Option<String> {
        let execution = self.executions.of(task);
        let id = match self.people.approval(task, execution, parameters) {
            Some(asked) => asked.clone(),
            None => {
                let Ok(id) = QuestionId::new(format!("approval-{}", self.state.questions.len() + 1)) else {
                    return Some(String::new());
                };
                self.withdraw_questions(|_, asked_by| asked_by == task, out);
                self.people.ask_approval(task, execution, parameters, id.clone());
                id
            }
        };
        let known = self.state.questions.iter().find(|known| known.id == id);
        if let Some(answer) = known.and_then(|known| known.answer.as_deref()) {
            return Some(answer.to_owned());
        }
        self.ask(Some(task), &id, APPROVAL, question, out);
        None
    }

    /// Restarts a tool task that waited for this answer.
    fn approval_answered(&mut self, task: &TaskId, out: &mut Out) {
        let waits = self.state.tasks.get(task).is_some_and(|known| known.status == TaskStatus::Running);
        if waits && self.effects.attempt_at(task).is_none() {
            self.set_task(task, TaskStatus::Pending, Some(message!("task-answered")), out);
        }
    }

    /// Asks a person if and how the run should continue, because replanning alone does not help.
    pub(super) fn escalate(&mut self, reasons: &[TriggerReason], why: &Message, out: &mut Out) {
        let count = self.state.questions.iter().filter(|question| question.kind == ESCALATION).count();
        let Ok(id) = QuestionId::new(format!("escalation-{}", count + 1)) else { return };
        let mut lines = vec![message!("escalation-question", reason = why)];
        lines.extend(reasons.iter().map(|reason| message!("escalation-reason", reason = reason.detail)));
        lines.push(message!("escalation-answers"));
        if self.input.settings.unattended {
            // Nobody has watched the run.
            lines.extend([message!("escalation-so-far"), Message::text(self.report(None))]);
        }
        self.ask(None, &id, ESCALATION, Message::list("\n", &lines), out);
    }

    fn escalation_answered(&mut self, question: &QuestionId, text: &str, out: &mut Out) {
        let direction = Direction::parse(text);
        if direction == Direction::Stop {
            return self.end_by_person(out);
        }
        self.replans.allow_more();
        if let Direction::Guidance(words) = direction
            && let Ok(id) = EvidenceId::new(format!("answer-{question}"))
        {
            self.user_input(id, None, words, out);
        }
    }

    /// Stops all tasks and starts no others.
    fn end_by_person(&mut self, out: &mut Out) {
        self.withdraw_amendments(out);
        self.stopping.end_by_person();
        self.effects.attempts().for_each(|(_, effect)| out.revoke(effect.clone(), Reason::Cancelled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_whether_and_how_to_go_on() {
        let cases = [
            ("stop", Direction::Stop),
            (" Abort ", Direction::Stop),
            ("no", Direction::Stop),
            ("取消", Direction::Stop),
            ("continue", Direction::GoOn),
            ("yes", Direction::GoOn),
            ("继续", Direction::GoOn),
            ("", Direction::GoOn),
            (" use the other file\n", Direction::Guidance("use the other file")),
        ];
        for (text, expected) in cases {
            assert_eq!(Direction::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_approval_holds_for_one_call_of_one_execution() {
        let (task, parameters) = ("a".parse().unwrap(), |n: u32| Map::from_iter([("n".to_owned(), n.into())]));
        let mut people = People::default();
        people.ask_approval(&task, 1, &parameters(1), "q".parse().unwrap());
        let cases = [("a", 1, 1, true), ("a", 2, 1, false), ("a", 1, 2, false), ("b", 1, 1, false)];
        for (task, execution, n, expected) in cases {
            let found = people.approval(&task.parse().unwrap(), execution, &parameters(n));
            assert_eq!(found.is_some(), expected, "{task} {execution} {n}");
        }
        people.ask_approval(&task, 2, &parameters(1), "r".parse().unwrap());
        assert_eq!(people.approval(&task, 1, &parameters(1)), None, "the next question takes its place");
    }

    #[test]
    fn words_are_kept_once() {
        let mut people = People::default();
        for (id, text) in [("p-1", "slowly"), ("p-1", "slowly"), ("p-2", "faster")] {
            people.add_message(&id.parse().unwrap(), None, text);
        }
        assert_eq!(people.messages().iter().map(|message| message.text.as_str()).collect::<Vec<_>>(), ["slowly", "faster"]);
    }
}
