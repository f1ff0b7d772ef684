//! An answer that is arriving: events in, parts out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_openai::error::OpenAIError;
use futures::StreamExt;
use serde_json::Value;

use super::answer::{Answer, AnswerContext};
use super::fault::{self, Fault};
use super::lenient;
use super::transport::Probe;
use super::wire::{Events, Wire};
use crate::{ChatRequest, Effort, ModelError, StreamPart, TurnSource};

/// Time to wait for the token counts of an answer after the answer itself is complete.
const GRACE: Duration = Duration::from_secs(5);

/// An answer that is arriving.
pub(super) struct AnswerReader<'a> {
    pub(super) wire: &'a Wire,
    pub(super) request: ChatRequest,
    /// Effort that the request asks for.
    pub(super) effort: Option<Effort>,
    pub(super) source: TurnSource<'a>,
    pub(super) calls_as_text: bool,
    pub(super) events: Events,
    pub(super) probe: Arc<Probe>,
    pub(super) answer: Answer,
    pub(super) ready: VecDeque<StreamPart>,
    pub(super) is_over: bool,
}

impl AnswerReader<'_> {
    pub(super) async fn next_part(&mut self) -> Result<StreamPart, ModelError> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(part);
            }
            if self.is_over {
                let empty = Answer::new(self.source.protocol);
                let answer = std::mem::replace(&mut self.answer, empty);
                let response = answer.finish(AnswerContext {
                    name: &self.wire.name,
                    source: self.source,
                    request: &self.request,
                    effort: self.effort,
                    prices: self.wire.prices.as_ref(),
                    calls_as_text: self.calls_as_text,
                })?;
                return Ok(StreamPart::Done(Box::new(response)));
            }
            self.read().await.map_err(|fault| fault.error)?;
        }
    }

    /// Reads until there is a part to pass on, or the answer is over.
    pub(super) async fn begin(&mut self) -> Result<(), Fault> {
        while self.ready.is_empty() && !self.is_over {
            self.read().await?;
        }
        Ok(())
    }

    /// Takes in the next event.
    async fn read(&mut self) -> Result<(), Fault> {
        let next = if self.answer.has_finish() {
            // Only the tokens can still come. A server that keeps the connection open is not waited for.
            tokio::time::timeout(GRACE.min(self.wire.timeouts.idle), self.events.next()).await.unwrap_or(None)
        } else {
            self.events.next().await
        };
        match next {
            Some(Ok(event)) => match lenient::event(event.get()) {
                // Some servers put an error, or all events, into a list.
                Some(Value::Array(events)) => events.iter().try_for_each(|event| self.apply_event(event)),
                Some(event) => self.apply_event(&event),
                None => Err(ModelError::Unreadable { model: self.wire.name.clone(), reason: "an event is no JSON".to_owned() }.into()),
            },
            Some(Err(OpenAIError::JSONDeserialize(_, text))) if is_nothing(&text) => Ok(()),
            Some(Err(OpenAIError::JSONDeserialize(_, text))) if text.trim() == "[DONE]" => self.end(true),
            Some(Err(_)) if self.answer.has_finish() => self.end(true),
            Some(Err(error)) => Err(self.wire.fault(&self.probe, error)),
            None => self.end(self.probe.is_done()),
        }
    }

    fn apply_event(&mut self, event: &Value) -> Result<(), Fault> {
        if let Some(fault) = fault::from_answer(self.wire.fault_source(), event) {
            return Err(fault);
        }
        self.answer.absorb(event, &mut self.ready);
        if self.answer.is_over() { self.end(true) } else { Ok(()) }
    }

    /// Handles the end of the events. Without a finish reason and without the end mark, the answer was cut.
    fn end(&mut self, marked: bool) -> Result<(), Fault> {
        if let Some(fault) = self.probe.take_fault().filter(|_| !self.answer.has_finish()) {
            return Err(fault);
        }
        let model = || self.wire.name.clone();
        if !self.answer.has_begun() {
            return Err(ModelError::Unreadable { model: model(), reason: "the answer holds no choices".to_owned() }.into());
        }
        if !(marked || self.answer.has_finish()) {
            return Err(ModelError::Cut { model: model() }.into());
        }
        self.is_over = true;
        Ok(())
    }
}

/// Returns true if an event has no data: it is empty, or is a comment that was sent as data (`data: : OPENROUTER
/// PROCESSING`).
fn is_nothing(data: &str) -> bool {
    let data = data.trim();
    data.is_empty() || data.starts_with(':')
}
