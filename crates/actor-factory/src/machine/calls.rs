//! Life of a call, from permission to result.

use aime_durable::{EffectId, Outbox, UnixMillis};
use aime_messages::Message;
use aime_progress_management::{CallOutcome, Origin, ProgressEvent, QuestionId};
use aime_tools::{
    AskHuman, ConsentedCall, DelegateTask, Executor, Permission, Permissions, SILENT, SeenFile, SeenFiles, ToolScope, ValidatedCall,
    origin_of,
};
use serde_json::Value;

use super::{
    ActorEffect, ActorFact, ActorMachine, QuestionKind,
    messages::AnsweredQuestion,
    think::SHOWN,
    turn::{Call, CallProgress, CallState, harmless, is_end},
};
use crate::text::{cut, cut_with_note, id_text};

/// Longest result in the history, in characters, for windows of at most that many tokens. Runners cut earlier and name the file with the
/// rest; this limit covers all of them.
const MAX_RESULT: usize = 16_000;

const INTERRUPTED: &str = "Error: interrupted before it ended; check what it did";
const IN_DOUBT: &str = "In doubt: this call was begun before a crash and its outcome is unknown; check before you repeat it";
const NOT_RUN: &str = "Error: not run: the call before it did not end";
const AFTER_A_FAILURE: &str = "Error: not run: the call before it failed";
const AFTER_THE_END: &str = "Error: not run: the task was ended before it";

impl ActorMachine {
    /// Begins the calls that may begin, and ends the turn when all are done.
    pub(super) fn advance(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        while self.stopping.is_none() {
            let Some(turn) = &self.turn else {
                return;
            };
            if let Some(index) = turn.next() {
                self.begin(index, at, out);
            } else {
                if turn.calls.iter().all(Call::done) && !self.rest_on_accepted() {
                    self.end_turn(at, out);
                }
                return;
            }
        }
    }

    fn begin(&mut self, index: usize, at: UnixMillis, out: &mut Outbox<Self>) {
        let Some(turn) = &self.turn else {
            return;
        };
        let Some(call) = turn.calls.get(index) else {
            return;
        };
        let fault = match &call.fault {
            Some(fault) => Some(fault.as_str()),
            None if self.conclusion.is_some() => Some(AFTER_THE_END),
            None if turn.broken && !turn.parallel => Some(NOT_RUN),
            None => self.follows_a_failed_change(index).then_some(AFTER_A_FAILURE),
        };
        if let Some(fault) = fault.map(str::to_owned) {
            let was_tried = call.fault.is_some();
            if let Some(call) = self.call_mut(index) {
                call.skipped = !was_tried;
            }
            self.finish(index, fault, CallOutcome::Error, 0, out);
            return;
        }
        let call = call.clone();
        let Some(handled_by) = self.tool_spec(&call.name).map(|tool| tool.handled_by) else { return };
        let acts = self.tool_spec(&call.name).is_some_and(|tool| !harmless(&tool.for_call(&call.parameters)));
        let changes = acts && handled_by != Executor::Run;
        if changes && let Some(fault) = self.must_not_write() {
            return self.finish(index, fault.to_owned(), CallOutcome::Error, 0, out);
        }
        if !changes
            && handled_by == Executor::Runtime
            && let Some(fault) = self.read_budget_exceeded()
        {
            return self.finish(index, fault, CallOutcome::Error, 0, out);
        }
        if changes {
            self.begin_own_work(out);
        }
        match (handled_by, self.permission(index, &call)) {
            (_, None) => {}
            (Executor::Run, Some(Permission::Allow(allowed))) => self.call_plan(index, &call, allowed, out),
            (Executor::Actor, Some(Permission::Allow(allowed))) => {
                // After a stop the actor may repeat a question to a person or a call to another actor.
                self.set_progress(index, CallProgress::Allowed(allowed));
                self.answer_own(index, &call, at, out);
            }
            (Executor::Runtime, Some(Permission::Allow(allowed))) => self.run(index, &call, allowed, out),
            (_, Some(Permission::Ask(open))) if self.input.attended => {
                let question = open.question();
                self.set_progress(index, CallProgress::Asked(open));
                self.ask(index, question, QuestionKind::Approval, out);
            }
            (_, Some(Permission::Ask(open))) => self.deny(index, &open.unanswered().to_string(), out),
            (_, Some(Permission::Deny { reason })) => self.deny(index, &reason, out),
        }
    }

    /// Decides on a call once. A decision from before a stop still holds.
    fn permission(&mut self, index: usize, call: &Call) -> Option<Permission> {
        let way = self.call_mut(index)?.way.take()?;
        Some(match way {
            CallProgress::Checked(checked) => {
                let spec = &self.input.spec;
                let (trust, origins) = (self.input.trust.as_ref(), self.origins.as_slice());
                let permissions = Permissions { trust, origins, ..Permissions::new(spec.approval, &spec.rules) };
                permissions.decide(spec.tool(&call.name)?, checked)
            }
            CallProgress::Asked(open) => Permission::Ask(open),
            CallProgress::Allowed(allowed) => Permission::Allow(allowed),
        })
    }

    fn set_progress(&mut self, index: usize, progress: CallProgress) {
        if let Some(call) = self.call_mut(index) {
            call.way = Some(progress);
        }
    }

    /// Takes a person's answer to the question whether a call may be made.
    fn consented(&mut self, index: usize, answer: &str, out: &mut Outbox<Self>) {
        let Some(CallProgress::Asked(open)) = self.call_mut(index).and_then(|call| call.way.take()) else { return };
        match open.answered(answer) {
            Err(refused) => self.deny(index, &refused.to_string(), out),
            Ok(ConsentedCall { call: allowed, remember }) => {
                if !remember.is_empty() {
                    let rules = remember.iter().map(ToString::to_string).collect();
                    self.input.spec.rules.remember(&remember);
                    out.emit(ProgressEvent::ConsentGiven { task: self.works_for(), rules });
                }
                if let Some(call) = self.call_mut(index) {
                    call.way = Some(CallProgress::Allowed(allowed));
                    call.state = CallState::Waiting;
                }
            }
        }
    }

    fn deny(&mut self, index: usize, reason: &str, out: &mut Outbox<Self>) {
        self.denied = true;
        if let Some(call) = self.call_mut(index) {
            call.denied = true;
        }
        self.finish(index, format!("Error: {reason}"), CallOutcome::Error, 0, out);
    }

    fn run(&mut self, index: usize, call: &Call, allowed: ValidatedCall, out: &mut Outbox<Self>) {
        let effect = self.call_effect(index);
        self.started(index, out);
        if let Some(call) = self.call_mut(index) {
            call.state = CallState::Running { effect: effect.clone() };
        }
        let tool = self.tool_spec(&call.name);
        let read_only = tool.is_some_and(|tool| tool.read_only && matches!(tool.touches, ToolScope::Nothing | ToolScope::Files));
        let changes_files = tool.is_some_and(|tool| !tool.read_only && tool.touches == ToolScope::Files);
        let seen = if changes_files { self.seen.clone() } else { SeenFiles::new() };
        let origins = self.origins.clone();
        out.issue(effect, ActorEffect::Tool { of: call.id.clone(), call: allowed, read_only, seen, origins });
    }

    pub(super) fn ask(&mut self, index: usize, question: String, kind: QuestionKind, out: &mut Outbox<Self>) {
        let (task, effect) = (self.works_for(), self.call_effect(index));
        let Ok(id) = QuestionId::new(id_text(&effect.as_str().replace('/', "-"))) else {
            return;
        };
        let Some(call) = self.call_mut(index) else {
            return;
        };
        call.handed_on += 1;
        let effect = EffectId::new(format!("{effect}/ask{}", call.handed_on));
        call.state = CallState::Asking { effect: effect.clone(), question: id.clone(), kind };
        // After a stop the same question is asked again, but it counts as one question.
        if call.handed_on == 1 {
            let (id, kind, question) = (id.clone(), kind.as_str().to_owned(), Message::text(&question));
            out.emit(ProgressEvent::QuestionAsked { id, task, kind, question });
        }
        out.issue(effect, ActorEffect::Ask { id, question, kind });
    }

    /// Hands the call over to another actor.
    pub(super) fn delegate(&mut self, index: usize, request: DelegateTask, out: &mut Outbox<Self>) {
        let name = self.call_effect(index);
        let Some(call) = self.call_mut(index) else {
            return;
        };
        call.handed_on += 1;
        let effect = EffectId::new(format!("{name}/delegate{}", call.handed_on));
        call.state = CallState::Delegated { effect: effect.clone() };
        let origins = self.origins.clone();
        out.issue(effect, ActorEffect::Delegate { call: name.as_str().to_owned(), request, origins });
    }

    pub(super) fn tool_ended(&mut self, at: UnixMillis, fact: &ActorFact, out: &mut Outbox<Self>) {
        let ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins } = fact else {
            return;
        };
        // A host that fails to run any kind of effect reports it in this way.
        if self.asked_model.take_if(|(asked, _)| asked == id).is_some() {
            return self.fail(text.clone(), None);
        }
        let Some(index) = self.turn.as_ref().and_then(|turn| turn.position(id)) else {
            return;
        };
        self.learn_origin(index, origins);
        for SeenFile { path, hash } in seen {
            match hash {
                Some(hash) => drop(self.seen.insert(path.clone(), hash.clone())),
                None => drop(self.seen.remove(path)),
            }
        }
        let tool = self.call_mut(index).map(|call| call.name.clone()).unwrap_or_default();
        let exited = self.has_exited(&tool, *outcome, value);
        self.note_process(&tool, *outcome, value);
        if let Some(call) = self.call_mut(index) {
            call.images.clone_from(images);
            if *outcome == CallOutcome::InDoubt {
                call.printed = value.get("printed").and_then(Value::as_str).map(str::to_owned);
            }
            call.exited = exited;
        }
        let text = match outcome {
            CallOutcome::Ok => text.clone(),
            CallOutcome::Error if exited || value.get("stopped").is_some() => text.clone(),
            CallOutcome::Error => format!("Error: {text}"),
            CallOutcome::Cancelled => INTERRUPTED.to_owned(),
            CallOutcome::InDoubt if text.is_empty() => IN_DOUBT.to_owned(),
            CallOutcome::InDoubt => format!("{IN_DOUBT}. {text}"),
        };
        if *outcome == CallOutcome::Ok {
            self.calls_ok = self.calls_ok.saturating_add(1);
            let writes = self.call_mut(index).is_some_and(|call| call.writes());
            let seen = text.trim();
            let most = self.input.class.last_result_characters;
            if most > 0 && !writes && !seen.is_empty() && seen != SILENT {
                self.last_result = Some(cut(seen, most));
            }
        }
        for made in references {
            if !self.references.contains(made) {
                self.references.push(made.clone());
            }
        }
        if let (CallOutcome::Cancelled | CallOutcome::InDoubt, Some(turn)) = (outcome, &mut self.turn) {
            turn.broken = true;
        }
        let call = self.turn.as_ref().and_then(|turn| turn.calls.get(index));
        let looks = call.is_some_and(|call| self.tool_spec(&call.name).is_some_and(|tool| harmless(&tool.for_call(&call.parameters))));
        if looks {
            self.count_read(&text);
        }
        self.finish(index, text, *outcome, *duration_ms, out);
        self.rest_if_stopping_or_advance(at, out);
    }

    pub(super) fn person_answered(&mut self, at: UnixMillis, id: &EffectId, answer: &str, out: &mut Outbox<Self>) {
        let Some(index) = self.turn.as_ref().and_then(|turn| turn.position(id)) else {
            return;
        };
        let Some(CallState::Asking { question, kind, .. }) = self.call_mut(index).map(|call| call.state.clone()) else {
            return;
        };
        out.emit(ProgressEvent::QuestionAnswered { id: question, answer: answer.to_owned() });
        match kind {
            QuestionKind::Question => {
                if let Some(Ok(AskHuman { question })) = self.call_mut(index).map(|call| AskHuman::parse(&call.parameters)) {
                    self.answered.push(AnsweredQuestion { question, answer: answer.to_owned() });
                }
                self.finish(index, answer.to_owned(), CallOutcome::Ok, 0, out);
            }
            QuestionKind::Approval => self.consented(index, answer, out),
        }
        self.rest_if_stopping_or_advance(at, out);
    }

    /// Handles a revoked call: a running call is interrupted, a question is asked again on resume, and a delegated actor continues where it
    /// was.
    pub(super) fn call_revoked(&mut self, id: &EffectId, out: &mut Outbox<Self>) -> bool {
        let Some(turn) = &mut self.turn else {
            return false;
        };
        let Some(index) = turn.position(id) else {
            return false;
        };
        let Some(call) = turn.calls.get_mut(index) else {
            return false;
        };
        if matches!(call.state, CallState::Asking { .. } | CallState::Delegated { .. }) {
            call.state = CallState::Waiting;
        } else {
            turn.broken = true;
            self.finish(index, INTERRUPTED.to_owned(), CallOutcome::Cancelled, 0, out);
        }
        true
    }

    /// Notes the origin of a result. An error text of a tool has the same origin as its results.
    fn learn_origin(&mut self, index: usize, read: &[Origin]) {
        let Some(call) = self.turn.as_ref().and_then(|turn| turn.calls.get(index)) else {
            return;
        };
        let (Some(tool_spec), Some(trust)) = (self.tool_spec(&call.name), &self.input.trust) else {
            return;
        };
        let (origin, untrusted) = (origin_of(tool_spec, &call.parameters), trust.untrusted(tool_spec, &call.parameters));
        Origin::merge(&mut self.origins, read.iter().chain(&untrusted));
        if let Some(call) = self.call_mut(index) {
            call.origin = origin;
        }
    }

    pub(super) fn rest_if_stopping_or_advance(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        if self.stopping.is_some() {
            self.rest_if_still();
        } else {
            self.advance(at, out);
        }
    }

    pub(super) fn call_mut(&mut self, index: usize) -> Option<&mut Call> {
        self.turn.as_mut()?.calls.get_mut(index)
    }

    pub(super) fn call_effect(&self, index: usize) -> EffectId {
        let number = self.turn.as_ref().map_or(0, |turn| turn.number);
        EffectId::new(format!("{}/{number}/{}", self.input.effect_prefix(), index + 1))
    }

    pub(super) fn started(&mut self, index: usize, out: &mut Outbox<Self>) {
        let (task, id) = (self.works_for(), self.call_effect(index));
        if let Some(call) = self.call_mut(index).filter(|call| !call.started) {
            call.started = true;
            out.emit(ProgressEvent::ToolCallStarted {
                task,
                call: id.as_str().to_owned(),
                tool: call.name.clone(),
                parameters: call.parameters.clone(),
            });
        }
    }

    /// Finishes a call and records it, including a call that never ran.
    pub(super) fn finish(&mut self, index: usize, text: String, outcome: CallOutcome, duration_ms: u64, out: &mut Outbox<Self>) {
        self.started(index, out);
        let (task, id) = (self.works_for(), self.call_effect(index));
        self.note_error(index, &text, outcome);
        let longest = self.longest_text();
        if let Some(call) = self.call_mut(index) {
            let tool = call.name.clone();
            let output = cut(&text, SHOWN);
            let origin = call.origin.clone();
            out.emit(ProgressEvent::ToolCallFinished { task, call: id.as_str().to_owned(), tool, outcome, output, origin, duration_ms });
            call.state = CallState::Done { text: cut_with_note(&text, longest), outcome };
        }
    }

    /// Returns the longest text of a call that is kept, in characters.
    pub(super) fn longest_text(&self) -> usize {
        // A limit of as many characters as the window has tokens is about a quarter of the window.
        usize::try_from(self.input.limits.context_tokens).unwrap_or(usize::MAX).max(MAX_RESULT)
    }

    /// Keeps the error of the last failed call until a call of its tool succeeds, if a reported failure is to name it. A refused end does not
    /// count.
    fn note_error(&mut self, index: usize, text: &str, outcome: CallOutcome) {
        let Some(tool) = self.call_mut(index).map(|call| call.name.clone()).filter(|tool| !is_end(tool)) else { return };
        let most = self.input.class.last_error_characters;
        match outcome {
            CallOutcome::Ok => drop(self.last_error.take_if(|(failed, _)| *failed == tool)),
            CallOutcome::Error if most > 0 => {
                let error = text.strip_prefix("Error: ").unwrap_or(text).split_whitespace().collect::<Vec<_>>().join(" ");
                self.last_error = Some((tool, cut(&error, most)));
            }
            CallOutcome::Error | CallOutcome::Cancelled | CallOutcome::InDoubt => {}
        }
    }

    /// Returns true if the call may change or run something, and would work on files that are not as the model expects: a call before it in
    /// this turn was to change files and failed, or was not run for that reason. Changes of different files do not depend on each other.
    fn follows_a_failed_change(&self, index: usize) -> bool {
        let Some((turn, call)) = self.turn.as_ref().and_then(|turn| Some((turn, turn.calls.get(index)?))) else { return false };
        let spec_of = |call: &Call| self.tool_spec(&call.name);
        let changes_files = |call: &Call| spec_of(call).is_some_and(|tool| !tool.read_only && tool.touches == ToolScope::Files);
        let acts = spec_of(call).is_some_and(|tool| !harmless(tool) && tool.handled_by != Executor::Run);
        let file = call.file().filter(|_| changes_files(call));
        let is_apart = |failed: &Call| file.zip(failed.file()).is_some_and(|(file, of_failed)| file != of_failed);
        let failed = |call: &&Call| call.failed() && (call.skipped || changes_files(call));
        acts && turn.calls.iter().take(index).filter(failed).any(|failed| !is_apart(failed))
    }

    /// Returns the tool of a call in this turn that failed before the one at `index`.
    pub(super) fn failed_before(&self, index: usize) -> Option<&str> {
        let calls = &self.turn.as_ref()?.calls;
        calls.iter().take(index).find(|call| call.failed()).map(|call| call.name.as_str())
    }
}
