//! Criteria of a person or of the project that the lead finds to be wrong. They change only with a person's consent, so
//! the run asks.

use aime_messages::message;
use aime_progress_management::{Criterion, EvidenceId, Owner, PlanChange, PlanPatch, QuestionId, TaskStatus};
use aime_tools::Consent;
use serde::{Deserialize, Serialize};

use super::{Out, RunMachine, lead::main_id};

/// The kind of a question about a criterion.
pub(super) const CRITERION: &str = "criterion";

/// The change of a criterion that a person is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Amendment {
    from: Criterion,
    to: Criterion,
    evidence: String,
}

impl RunMachine {
    /// Asks a person about another success criterion in the place of one that the lead may not change. Returns false for
    /// a criterion that needs no consent.
    pub(super) fn asks_about_criterion(&mut self, number: u32, to: &Criterion, evidence: &str, out: &mut Out) -> bool {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let known = at.and_then(|at| self.state.strategic.success_criteria.get(at));
        let Some(from) = known.filter(|known| known.owner.needs_consent()).cloned() else { return false };
        let amendment = Amendment { from, to: to.clone(), evidence: evidence.trim().to_owned() };
        let (from, to, evidence) = (&amendment.from, &amendment.to, &amendment.evidence);
        if self.people.amendments().any(|(_, asked)| (&asked.from, &asked.to.check) == (from, &to.check)) {
            return true;
        }
        let text = match from.owner {
            Owner::Project => message!("criterion-question-project", from, evidence, to),
            _ => message!("criterion-question-person", from, evidence, to),
        };
        let Ok(id) = QuestionId::new(format!("criterion-{}", self.state.questions.len() + 1)) else { return false };
        self.people.ask_amendment(id.clone(), amendment);
        // The lead's own work waits for the answer.
        let own = self.works_itself().then(main_id);
        if let Some(main) = &own {
            self.set_task(main, TaskStatus::Blocked, Some(message!("task-criterion-asked")), out);
        }
        self.ask(own.as_ref(), &id, CRITERION, text, out);
        true
    }

    /// Takes in the answer about a criterion: a consent changes it, and anything else goes to the lead.
    pub(super) fn criterion_answered(&mut self, question: &QuestionId, text: &str, out: &mut Out) {
        let Some(Amendment { from, to, evidence }) = self.people.take_amendment(question) else { return };
        self.go_on_after_amendment(out);
        let at = self.state.strategic.success_criteria.iter().position(|known| *known == from);
        let number = at.and_then(|at| u32::try_from(at + 1).ok());
        match (Consent::parse(text), number) {
            (Some(Consent::Yes | Consent::Always), Some(number)) => {
                let evidence = format!("{evidence} (a person agreed)");
                let change =
                    PlanChange::AmendCriterion { task: None, number, criterion: to, evidence: evidence.clone(), by: Owner::Person };
                self.cancellations.request(PlanPatch::new(evidence, vec![change]));
                self.carry_out_requests(out);
            }
            (Some(Consent::Yes | Consent::Always), None) => self.lead.refuse(format!("the plan has no criterion `{from}` any more")),
            (Some(Consent::No) | None, _) => {
                if let Ok(id) = EvidenceId::new(format!("answer-{question}")) {
                    let words = if Consent::parse(text).is_some() { "it stays as it is" } else { text.trim() };
                    self.record_person_message(&id, &format!("about the criterion `{from}`: {words}"), out);
                }
            }
        }
    }

    /// Lets the lead's own work continue that waits for an answer about a criterion.
    pub(super) fn go_on_after_amendment(&mut self, out: &mut Out) {
        let main = main_id();
        let asked = self.state.questions.iter().any(|question| question.kind == CRITERION && question.task.as_ref() == Some(&main));
        if asked && self.state.tasks.get(&main).is_some_and(|task| task.status == TaskStatus::Blocked) {
            self.set_task(&main, TaskStatus::Pending, Some(message!("task-answered")), out);
        }
    }

    /// Withdraws the questions about criteria, because the run ends without them.
    pub(super) fn withdraw_amendments(&mut self, out: &mut Out) {
        let asked = self.people.amendments().map(|(question, _)| question.clone()).collect();
        self.withdraw(asked, out);
        self.go_on_after_amendment(out);
    }
}
