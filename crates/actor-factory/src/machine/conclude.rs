//! Conclusions of an actor.

use aime_durable::Reason;
use aime_messages::{Message, message};
use aime_progress_management::{Conclusion, FailureCause, Outcome};
use aime_tools::{Terminate, TerminateStatus};
use serde_json::Value;

use super::{ActorMachine, ActorOutput, ActorStep};
use crate::text::cut;

/// Longest summary, in characters.
const SUMMARY: usize = 2_000;

impl ActorMachine {
    /// Returns the output of `apply`: the conclusion, or that the actor was stopped and no effect is under way.
    pub(super) fn output(&self) -> Option<ActorOutput> {
        if self.stopping.is_none()
            && let Some(rest) = self.rest()
        {
            return Some(ActorOutput::Rested(rest));
        }
        if let Some(conclusion) = self.conclusion.as_ref().filter(|_| self.leads().is_none()) {
            return Some(ActorOutput::Ended(conclusion.clone()));
        }
        let why = self.stopping.as_ref()?;
        if self.under_way() {
            return None;
        }
        let summary = match why {
            Reason::Stopped => "stopped before its end",
            Reason::Cancelled => "cancelled: the plan no longer wants it",
            Reason::Deadline => "stopped: it took too long",
        };
        let stopped = Conclusion::new(Outcome::Interrupted, summary);
        let (references, origins) = (self.references.clone(), self.origins.clone());
        Some(ActorOutput::Ended(Conclusion { references, origins, ..stopped }))
    }

    /// Ends the actor by its `terminate` call, with this message and structured result.
    pub(super) fn conclude_by_terminate(&mut self, arguments: Terminate, message: &str, result: Value) {
        let success = arguments.status == TerminateStatus::Success;
        let outcome = if success { Outcome::Success } else { Outcome::Failure };
        let answers = std::mem::take(&mut self.plain_text);
        let text = match (answers.trim(), message) {
            ("", message) if message.chars().count() > SUMMARY => Some(message.to_owned()),
            ("", _) => None,
            (answers, message) if answers == message.trim() => None,
            (answers, message) if message.trim().is_empty() => Some(answers.to_owned()),
            (answers, message) => Some(format!("{answers}\n\n{message}")),
        };
        let summary = if message.trim().is_empty() { text.as_deref().unwrap_or_default() } else { message };
        let mut conclusion = Conclusion::new(outcome, cut(summary.trim(), SUMMARY));
        conclusion.text = text;
        conclusion.result = result;
        conclusion.references = arguments.references;
        conclusion.checks = arguments.checks;
        for made in &self.references {
            if !conclusion.references.contains(made) {
                conclusion.references.push(made.clone());
            }
        }
        if !success {
            conclusion.error = Some(match &arguments.needs {
                Some(needs) => message!("actor-needs", summary = conclusion.summary, needs),
                None => Message::text(&conclusion.summary),
            });
            conclusion.needs = arguments.needs;
            conclusion.cause = match arguments.status {
                TerminateStatus::Blocked if !self.input.class.retry_reported_failures => Some(FailureCause::Blocked),
                _ if self.denied => Some(FailureCause::Denied),
                _ if self.input.class.retry_reported_failures => None,
                _ => Some(FailureCause::Reported),
            };
        }
        self.end(ActorStep::Finish, conclusion);
    }

    /// Ends the actor with a structured result.
    pub(super) fn conclude_with(&mut self, result: Value) {
        let conclusion = Conclusion { result, ..Conclusion::new(Outcome::Success, "audited") };
        self.end(ActorStep::Finish, conclusion);
    }

    /// Takes the actor's plain answer as the result.
    pub(super) fn conclude_by_answer(&mut self) {
        let text = std::mem::take(&mut self.plain_text);
        let mut conclusion = Conclusion::new(Outcome::Success, cut(text.trim(), SUMMARY));
        conclusion.text = (text.trim() != conclusion.summary).then_some(text);
        conclusion.references.clone_from(&self.references);
        self.end(ActorStep::Finish, conclusion);
    }

    /// Ends an actor that cannot continue.
    pub(super) fn fail(&mut self, error: impl Into<Message>, cause: Option<FailureCause>) {
        self.fail_with_hint(error.into(), None, cause);
    }

    /// Ends the actor with an error and advice to a person on how to fix it.
    pub(super) fn fail_with_hint(&mut self, error: Message, hint: Option<Message>, cause: Option<FailureCause>) {
        // An actor without a model becomes idle, as after a stop: it continues once the model can be used.
        let step = if cause == Some(FailureCause::Model) { ActorStep::Stop } else { ActorStep::Fail };
        let failure = Conclusion { hint, ..self.failure(error, cause) };
        self.end(step, failure);
    }

    /// Ends an actor that used up its steps: it becomes idle, and its task is not done.
    pub(super) fn out_of_steps(&mut self) {
        let error = message!("actor-steps", number = self.input.spec.max_steps);
        let failure = self.failure(error, Some(FailureCause::Steps));
        self.end(ActorStep::Limit, failure);
    }

    fn failure(&self, error: Message, cause: Option<FailureCause>) -> Conclusion {
        let mut conclusion = Conclusion::new(Outcome::Failure, format!("not done: {}", cut(&error.to_string(), SUMMARY)));
        conclusion.text = (!self.plain_text.trim().is_empty()).then(|| self.plain_text.clone());
        conclusion.references.clone_from(&self.references);
        conclusion.error = Some(error);
        conclusion.cause = cause;
        conclusion
    }

    fn end(&mut self, step: ActorStep, mut conclusion: Conclusion) {
        self.go(if self.leads().is_some() { ActorStep::Rest } else { step });
        if let (Some((tool, why)), Some(error)) = (&self.last_error, &mut conclusion.error)
            && !error.to_string().contains(why.trim_end_matches('…'))
        {
            *error = message!("actor-last-call", error = error.clone(), tool, why);
        }
        let observed = if conclusion.outcome == Outcome::Success { self.last_result.take() } else { None };
        self.conclusion = Some(Conclusion { origins: self.origins.clone(), observed, ..conclusion });
    }
}
