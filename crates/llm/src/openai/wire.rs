//! One attempt at a request: async-openai as the transport, everything read leniently.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::answer::Answer;
use super::dialect::Dialect;
use super::fault::{self, Asked, Fault};
use super::request::Body;
use super::transport::{Attempt, Probe, Sender, Way};
use super::written::Written;
use crate::{ChatModel, ChatRequest, ModelError, ModelLimits, Prices, StreamPart, Timeouts};

/// How long the tokens of an answer are waited for once the answer itself is whole.
const GRACE: Duration = Duration::from_secs(5);

/// Where requests go. Unlike async-openai's own configuration it reads nothing from the environment, and sends no
/// `Authorization` without a key.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) base_url: String,
    pub(super) headers: HeaderMap,
    pub(super) key: SecretString,
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// A model that is asked once for each request.
pub(super) struct Wire {
    pub(super) name: String,
    pub(super) model: String,
    /// The address as it is shown: without user and password.
    pub(super) shown_url: String,
    pub(super) limits: ModelLimits,
    pub(super) prices: Option<Prices>,
    pub(super) timeouts: Timeouts,
    pub(super) way: Way,
    pub(super) client: Client<Endpoint>,
    pub(super) dialect: Mutex<Dialect>,
    pub(super) written: Mutex<Written>,
}

type Events = Pin<Box<dyn Stream<Item = Result<Value, OpenAIError>> + Send>>;

impl Wire {
    fn dialect(&self) -> Dialect {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn asked(&self) -> Asked<'_> {
        Asked { url: &self.shown_url, model: &self.name, key: self.client.config().key.expose_secret() }
    }

    /// Sends the request, again in another form as long as the server refuses the form.
    async fn open(&self, request: ChatRequest) -> Result<Reading<'_>, ModelError> {
        let until = self.timeouts.total.map(|total| (total, Instant::now() + total));
        loop {
            let dialect = self.dialect();
            let body = self.body(&request, &dialect)?;
            let attempt = Attempt {
                url: self.shown_url.clone(),
                model: self.name.clone(),
                key: self.client.config().key.clone(),
                connect: self.timeouts.connect,
                idle: self.timeouts.idle,
                total: until,
                streams: dialect.stream,
            };
            let probe = Arc::new(Probe::default());
            let sender = Sender { way: self.way.clone(), attempt: Arc::new(attempt), probe: Arc::clone(&probe) };
            let opened = self.events(&body, sender).await;
            match opened {
                Ok(events) => {
                    let reading =
                        Reading { wire: self, request, events, probe, answer: Answer::default(), ready: VecDeque::new(), over: false };
                    return Ok(reading);
                }
                Err(error) => {
                    let fault = self.fault(&probe, error);
                    let learned = fault.refusal.as_ref().is_some_and(|refusal| {
                        self.dialect.lock().unwrap_or_else(PoisonError::into_inner).learn_from(&dialect, refusal, body.settings())
                    });
                    if !learned {
                        return Err(fault.error);
                    }
                    tracing::info!(model = %self.name, reason = %fault.error, "the server does not accept this form of request; trying another");
                }
            }
        }
    }

    fn body(&self, request: &ChatRequest, dialect: &Dialect) -> Result<Body, ModelError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Body::new(&self.model, request, dialect, &mut written)
            .map_err(|error| ModelError::Unreadable { model: self.name.clone(), reason: format!("the request cannot be written: {error}") })
    }

    async fn events(&self, body: &Body, sender: Sender) -> Result<Events, OpenAIError> {
        let streams = sender.attempt.streams;
        let client = self.client.clone().with_http_service(sender);
        if streams {
            return client.chat().create_stream_byot::<_, Value>(body).await;
        }
        let answer: Value = client.chat().create_byot(body).await?;
        let events = match answer {
            Value::Array(events) => events,
            document => vec![document],
        };
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }

    /// What failed: as the transport saw it, or else what async-openai says.
    fn fault(&self, probe: &Probe, error: OpenAIError) -> Fault {
        probe.take_fault().unwrap_or_else(|| {
            let reason = match error {
                OpenAIError::JSONDeserialize(error, _) => format!("an event is no JSON: {error}"),
                OpenAIError::Reqwest(error) => error.without_url().to_string(),
                other => other.to_string(),
            };
            ModelError::Unreadable { model: self.name.clone(), reason }.into()
        })
    }
}

impl ChatModel for Wire {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn prices(&self) -> Option<Prices> {
        self.prices
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        let parts = stream::once(self.open(request)).map_ok(|reading| {
            stream::unfold(Some(reading), |reading| async move {
                let mut reading = reading?;
                match reading.next_part().await {
                    Ok(part) => {
                        let more = (!matches!(part, StreamPart::Done(_))).then_some(reading);
                        Some((Ok(part), more))
                    }
                    Err(error) => Some((Err(error), None)),
                }
            })
        });
        parts.try_flatten().boxed()
    }
}

/// An answer that is arriving.
struct Reading<'a> {
    wire: &'a Wire,
    request: ChatRequest,
    events: Events,
    probe: Arc<Probe>,
    answer: Answer,
    ready: VecDeque<StreamPart>,
    over: bool,
}

impl Reading<'_> {
    async fn next_part(&mut self) -> Result<StreamPart, ModelError> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(part);
            }
            if self.over {
                let answer = std::mem::take(&mut self.answer);
                let response = answer.finish(&self.wire.name, &self.request, self.wire.prices.as_ref())?;
                return Ok(StreamPart::Done(Box::new(response)));
            }
            self.read().await?;
        }
    }

    /// Takes in the next event.
    async fn read(&mut self) -> Result<(), ModelError> {
        let next = if self.answer.has_finish() {
            // Only the tokens can still come. A server that keeps the connection open is not waited for.
            tokio::time::timeout(GRACE.min(self.wire.timeouts.idle), self.events.next()).await.unwrap_or(None)
        } else {
            self.events.next().await
        };
        match next {
            // Some servers put an error, or all events, into a list.
            Some(Ok(Value::Array(events))) => events.iter().try_for_each(|event| self.take_in(event)),
            Some(Ok(event)) => self.take_in(&event),
            Some(Err(OpenAIError::JSONDeserialize(_, text))) if text.trim().is_empty() => Ok(()),
            Some(Err(OpenAIError::JSONDeserialize(_, text))) if text.trim() == "[DONE]" => self.end(true),
            Some(Err(_)) if self.answer.has_finish() => self.end(true),
            Some(Err(error)) => Err(self.wire.fault(&self.probe, error).error),
            None => self.end(self.probe.is_done()),
        }
    }

    fn take_in(&mut self, event: &Value) -> Result<(), ModelError> {
        if let Some(fault) = fault::from_answer(self.wire.asked(), event) {
            return Err(fault.error);
        }
        self.answer.absorb(event, &mut self.ready);
        Ok(())
    }

    /// The events are over. Without a finish reason and without the mark of the end, the answer was cut.
    fn end(&mut self, marked: bool) -> Result<(), ModelError> {
        if let Some(fault) = self.probe.take_fault().filter(|_| !self.answer.has_finish()) {
            return Err(fault.error);
        }
        let model = || self.wire.name.clone();
        if !self.answer.has_begun() {
            return Err(ModelError::Unreadable { model: model(), reason: "the answer holds no choices".to_owned() });
        }
        if !(marked || self.answer.has_finish()) {
            return Err(ModelError::Cut { model: model() });
        }
        self.over = true;
        Ok(())
    }
}
