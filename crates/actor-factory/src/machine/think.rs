//! Requests to the model and its answers.

use std::sync::Arc;

use aime_durable::{EffectId, Outbox, UnixMillis};
use aime_llm::{CallsInText, ChatRequest, ChatResponse, FinishReason, Message, ToolChoice, ToolDefinition, calls_in_text};
use aime_messages::message;
use aime_progress_management::{FailureCause, ModelCost, ProgressEvent, render_todos};

use super::{
    ActorEffect, ActorMachine, ActorStep, ModelAnswer, ModelFault,
    turn::{Turn, is_end},
};
use crate::{
    history::{Removal, Speaker},
    notes::Note,
    text::cut,
};

/// Target of a compaction, in percent of the largest allowed request.
const ROOMY: u64 = 75;
/// Target of a compaction after the server refused a request as too long, in percent of that request.
const REFUSED: u64 = 60;
/// Longest text of an event, in characters.
pub(super) const SHOWN: usize = 2_000;
/// Number of remaining steps from which the actor gets a warning.
const LAST_STEPS: u32 = 2;
/// Length of an unreadable call in its error message, in characters.
const UNREAD: usize = 80;

/// Returns a fraction (0 to 1) of a number of tokens, with a precision of a thousandth.
fn part(tokens: u64, part: f64) -> u64 {
    tokens * (part.clamp(0.0, 1.0) * 1_000.0).round() as u64 / 1_000
}

impl ActorMachine {
    /// Issues the next request to the model if a step is left.
    pub(super) fn next_step(&mut self, _at: UnixMillis, out: &mut Outbox<Self>) {
        if self.stopping.is_some() {
            return;
        }
        if self.steps_left() == 0 {
            self.out_of_steps();
            return;
        }
        let has_messages = self.append_messages(out);
        // A request that is repeated after a stop or a refusal as too long already has its note.
        if std::mem::take(&mut self.note_due)
            && let Some(note) = self.step_note(has_messages)
        {
            self.history.append_text(&note, Speaker::Runtime);
        }
        self.make_room(self.tools_tokens, out);
        self.requests += 1;
        let id = EffectId::new(format!("{}/{}", self.input.effect_prefix(), self.requests));
        let request = ChatRequest {
            messages: self.history.messages().to_vec(),
            tools: self.offered(),
            tool_choice: self.tool_choice(),
            temperature: self.input.spec.temperature,
            max_output_tokens: Some(self.input.limits.max_output_tokens),
            effort: self.input.spec.effort,
            ..ChatRequest::default()
        };
        self.asked_model = Some((id.clone(), self.history.tokens() + self.tools_tokens));
        out.issue(id, ActorEffect::Model(request));
    }

    /// Returns the tools of the next request. Only for classes of models whose list of tools may change, a repeated tool is left out, and a
    /// request for the conclusion offers only the tool that ends the actor, because some servers ignore a named tool choice.
    fn offered(&self) -> Arc<[ToolDefinition]> {
        if let Some(end) = self.demanded_end().filter(|_| self.input.class.narrow_tools) {
            return Arc::from([end.clone()]);
        }
        match &self.withheld {
            Some(repeated) if !is_end(repeated) => self.tools.iter().filter(|tool| tool.name != *repeated).cloned().collect(),
            _ => Arc::clone(&self.tools),
        }
    }

    /// Returns the tool that ends the actor, if the next request asks for the conclusion.
    fn demanded_end(&self) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| self.must_conclude && is_end(&tool.name))
    }

    /// Returns the tool choice of the next request. A plain answer cannot complete a task that asks for a file, so after the nudge the
    /// model must call a tool; small models need this. Forced from the first request on, they write worse calls.
    fn tool_choice(&self) -> ToolChoice {
        if let Some(end) = self.demanded_end() {
            return if self.input.class.narrow_tools { ToolChoice::Required } else { ToolChoice::Only(end.name.clone()) };
        }
        let only_words = self.input.must_write_files && self.calls_ok == 0 && self.plain_in_row + self.unread_in_row > 0;
        if only_words { ToolChoice::Required } else { ToolChoice::Auto }
    }

    /// Returns the note after the results of a turn: hints and how to continue. After a person's message it leaves out how to continue.
    fn step_note(&mut self, has_messages: bool) -> Option<String> {
        let mut lines = std::mem::take(&mut self.notes);
        let left = self.steps_left();
        if self.must_conclude {
            return Some(Note::Conclude.text(&self.input.notes, &[]));
        }
        if left <= LAST_STEPS {
            lines.push(Note::StepsLeft.text(&self.input.notes, &[("left", &left.to_string())]));
        } else if self.input.class.step_notes && !has_messages {
            let note = if self.last_failed { Note::AfterError } else { Note::EachStep };
            lines.push(note.text(&self.input.notes, &[]));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Compacts the history if the request would fill too much of the window.
    fn make_room(&mut self, extra: u64, out: &mut Outbox<Self>) {
        let full = part(self.window, self.input.settings.compact_at);
        if self.meter.corrected(self.history.tokens() + extra) > full {
            self.compact(full * ROOMY / 100, extra, out);
        }
    }

    /// Compacts the history. Returns true if it became shorter.
    fn compact(&mut self, target: u64, extra: u64, out: &mut Outbox<Self>) -> bool {
        let before = self.meter.corrected(self.history.tokens() + extra);
        let target = self.meter.estimate_of(target).saturating_sub(extra);
        let todos = if self.todos.is_empty() { String::new() } else { format!("Your TODO list:\n{}", render_todos(&self.todos)) };
        let kept: Vec<String> =
            [self.kept_of_run().to_owned(), todos, self.summarize_messages()].into_iter().filter(|text| !text.is_empty()).collect();
        let spec = &self.input.spec;
        let read_only = |name: &str| spec.tool(name).is_some_and(|tool_spec| tool_spec.read_only);
        let removal = if self.input.class.keep_beginnings { Removal::Beginning { read_only: &read_only } } else { Removal::Size };
        let changed = self.history.compact(target, &kept.join("\n"), self.input.settings.kept_messages, removal);
        if changed {
            let after = self.meter.corrected(self.history.tokens() + extra);
            out.emit(ProgressEvent::HistoryCompacted { task: self.works_for(), tokens_before: before, tokens_after: after });
        }
        changed
    }

    pub(super) fn model_answered(&mut self, at: UnixMillis, id: &EffectId, answer: &ModelAnswer, duration_ms: u64, out: &mut Outbox<Self>) {
        // While the actor is being stopped the answer is dropped; the request is repeated after the resume.
        let Some((_, estimated)) = self.asked_model.take_if(|(asked, _)| asked == id) else {
            return;
        };
        if self.stopping.is_some() {
            self.rest_if_still();
            return;
        }
        match answer {
            ModelAnswer::Response { response } => self.record_answer(at, response, estimated, duration_ms, out),
            ModelAnswer::Error { kind: ModelFault::ContextOverflow, .. } if self.shrink(estimated, out) => self.next_step(at, out),
            ModelAnswer::Error { kind, text, hint } => {
                // A conversation that the server refuses is refused again, so another attempt begins a new one. The lead has only one.
                let lacks_model = match kind {
                    ModelFault::Unusable => true,
                    ModelFault::Refused => self.steps == 0 || self.leads().is_some(),
                    ModelFault::ContextOverflow | ModelFault::Bound | ModelFault::Other => false,
                };
                self.fail_with_hint(text.clone(), hint.clone(), lacks_model.then_some(FailureCause::Model));
            }
        }
    }

    /// Adapts to a server that refused a request as too long: its window is smaller than assumed. That of a fallback model may be
    /// much smaller, so each further refusal shortens the history again. Returns false if nothing is left to shorten.
    fn shrink(&mut self, estimated: u64, out: &mut Outbox<Self>) -> bool {
        let refused = self.meter.corrected(estimated);
        self.window = self.window.min(refused);
        let extra = estimated.saturating_sub(self.history.tokens());
        self.compact(refused * REFUSED / 100, extra, out)
    }

    fn record_answer(&mut self, at: UnixMillis, response: &ChatResponse, estimated: u64, duration_ms: u64, out: &mut Outbox<Self>) {
        self.steps += 1;
        self.history.all_seen();
        if !response.usage_estimated {
            self.meter.learn(estimated, response.usage.input_tokens);
        }
        let CallsInText { text: content, calls, attempted } = self.read_answer(response);
        let model = if response.model.is_empty() { &self.input.spec.model } else { &response.model };
        out.emit(ProgressEvent::ModelCalled {
            task: self.works_for(),
            purpose: if self.leads().is_some() { "lead" } else { "act" }.to_owned(),
            model: model.clone(),
            effort: response.effort.map(|effort| effort.as_str().to_owned()),
            spent: ModelCost {
                requests: 1,
                input_tokens: response.usage.input_tokens,
                cached_input_tokens: response.usage.cached_input_tokens,
                cache_write_tokens: response.usage.cache_write_tokens,
                output_tokens: response.usage.output_tokens,
                reasoning_tokens: response.usage.reasoning_tokens,
                cost_usd: response.cost_usd,
            },
            duration_ms,
            text: cut(&content, SHOWN),
            finish: response.finish.word(),
        });
        if calls.is_empty() && attempted {
            self.unread_answer(at, content, response, out);
        } else if calls.is_empty() {
            self.plain_answer(at, content, response, out);
        } else {
            self.plain_in_row = 0;
            self.unread_in_row = 0;
            if attempted {
                self.notes.push(self.nudge(Note::UnreadCall, out));
            }
            let cut_off = response.finish == FinishReason::Length;
            let turn = Turn::new(self.requests, calls, cut_off, &self.input.spec);
            self.remember_beside(if attempted { "" } else { &content }, &turn);
            self.history.push(Message::Assistant { content, tool_calls: turn.written_calls(), native: response.native.clone() });
            self.turn = Some(turn);
            self.go(ActorStep::Calls);
            self.advance(at, out);
        }
    }

    /// Returns the text and the calls of an answer, each call with a unique id.
    fn read_answer(&mut self, response: &ChatResponse) -> CallsInText {
        let mut read = if response.tool_calls.is_empty() {
            calls_in_text(&response.content, &self.input.spec.tool_names())
        } else {
            CallsInText { text: response.content.clone(), calls: response.tool_calls.clone(), attempted: false }
        };
        for (at, call) in read.calls.iter_mut().enumerate() {
            if call.id.is_empty() || self.call_ids.contains(&call.id) {
                call.id = format!("call-{}-{}", self.requests, at + 1);
            }
            self.call_ids.insert(call.id.clone());
        }
        read
    }

    /// Remembers the text beside a `terminate` call, since it may be the result itself. Text beside other calls is not.
    fn remember_beside(&mut self, content: &str, turn: &Turn) {
        match turn.last_words() {
            None => self.plain_text.clear(),
            Some(words) if content.trim().len() > words => self.remember(content),
            Some(_) => {}
        }
    }

    fn remember(&mut self, content: &str) {
        let content = content.trim();
        if content.is_empty() || self.plain_text.contains(content) {
            return;
        }
        if content.contains(&self.plain_text) {
            self.plain_text.clear();
        } else {
            self.plain_text.push_str("\n\n");
        }
        self.plain_text.push_str(content);
    }

    /// Handles an answer without a tool call: it is the result, or the actor is nudged once.
    fn plain_answer(&mut self, at: UnixMillis, content: String, response: &ChatResponse, out: &mut Outbox<Self>) {
        let finish = &response.finish;
        self.plain_in_row += 1;
        let unread = std::mem::take(&mut self.unread_in_row) > 0;
        let empty = content.trim().is_empty();
        let whole = !matches!(finish, FinishReason::Length | FinishReason::ContentFilter);
        self.remember(&content);
        // Some servers refuse an empty message.
        self.record_text(if empty { "(no answer)".to_owned() } else { content }, response);
        if self.has_unread_messages() && *finish != FinishReason::ContentFilter {
            return self.next_step(at, out);
        }
        let again = self.plain_in_row > 1;
        // After a call that was not run, the text may claim work that was not done.
        let may_be_all =
            self.input.plain_answer_ends && !unread && (self.calls_ok > 0 || !(self.input.must_write_files || self.input.names_work));
        match finish {
            FinishReason::ContentFilter => self.fail_by_answer(message!("actor-withheld")),
            _ if whole && !self.plain_text.is_empty() && self.rest_on_words(again) => {}
            _ if whole && !self.plain_text.is_empty() && (again || (may_be_all && !empty)) => self.conclude_by_answer(),
            FinishReason::Length if again => self.fail_by_answer(message!("actor-cut")),
            _ if again => self.fail_by_answer(message!("actor-empty")),
            FinishReason::Length => self.answer_nudged(at, Note::AnswerCut, out),
            _ if self.input.names_work && self.input.plain_answer_ends && self.call_ids.is_empty() => {
                self.answer_nudged(at, Note::NothingDone, out);
            }
            _ => self.answer_nudged(at, Note::NoToolCall, out),
        }
    }

    /// Handles an answer with an unreadable tool call. It is never a result: the actor gets one note, then it fails.
    fn unread_answer(&mut self, at: UnixMillis, content: String, response: &ChatResponse, out: &mut Outbox<Self>) {
        self.unread_in_row += 1;
        let again = self.unread_in_row > 1;
        let beginning = cut(&content.split_whitespace().collect::<Vec<_>>().join(" "), UNREAD);
        self.record_text(content, response);
        match response.finish {
            FinishReason::ContentFilter => self.fail_by_answer(message!("actor-withheld")),
            _ if self.has_unread_messages() => self.next_step(at, out),
            FinishReason::Length if again => self.fail_by_answer(message!("actor-cut")),
            _ if again => self.fail_by_answer(message!("actor-unreadable", text = beginning)),
            FinishReason::Length => self.answer_nudged(at, Note::AnswerCut, out),
            _ => self.answer_nudged(at, Note::UnreadCall, out),
        }
    }

    /// Ends the actor after an answer that cannot be used. The task of a worker is tried again with a new conversation. The lead has only one,
    /// so its run is suspended, as without a usable model, and can be resumed.
    fn fail_by_answer(&mut self, error: aime_messages::Message) {
        let cause = self.leads().is_some().then_some(FailureCause::Model);
        self.fail(error, cause);
    }

    fn record_text(&mut self, content: String, response: &ChatResponse) {
        self.history.push(Message::Assistant { content, tool_calls: Vec::new(), native: response.native.clone() });
    }

    /// Asks the model again after an answer without a tool call.
    fn answer_nudged(&mut self, at: UnixMillis, note: Note, out: &mut Outbox<Self>) {
        let text = self.nudge(note, out);
        self.history.append_text(&text, Speaker::Runtime);
        self.next_step(at, out);
    }

    /// Returns the text of a note on an answer, and reports it to people.
    fn nudge(&self, note: Note, out: &mut Outbox<Self>) -> String {
        let kind = match note {
            Note::UnreadCall | Note::NothingDone => note.name(),
            _ => "no_tool_call",
        };
        let text = note.text(&self.input.notes, &[]);
        self.nudged(kind, &text, out);
        text
    }

    pub(super) fn nudged(&self, kind: &str, text: &str, out: &mut Outbox<Self>) {
        out.emit(ProgressEvent::ActorNudged { task: self.works_for(), kind: kind.to_owned(), text: text.to_owned() });
    }
}
