//! One attempt at a request: async-openai as the transport, everything read leniently.

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::traits::RequestOptionsBuilder as _;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::answer::Answer;
use super::answer_reader::AnswerReader;
use super::body::Body;
use super::dialect::{Dialect, ForeignThinking, ImagesForm, RefusalAction, RefusedRequest, SentImages, ThinkingForm};
use super::fault::{Fault, FaultSource};
use super::form::Writing;
use super::gemini;
use super::provider::Provider;
use super::transport::{Attempt, Probe, Sender, TransportKind};
use super::wire_cache::WireCache;
use crate::{
    ChatModel, ChatRequest, Effort, Message, ModelError, ModelLimits, NativeTurn, Prices, Protocol, StreamPart, Timeouts, ToolCall,
    TurnSource, estimate_request_tokens,
};

/// The feature of Anthropic's that leaves out thinking that is bound to another conversation.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// Target of requests. Unlike async-openai's own configuration it reads nothing from the environment, and sends no
/// `Authorization` without a key.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) base_url: String,
    pub(super) query: Vec<(String, String)>,
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
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
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
    /// Host and port.
    pub(super) authority: String,
    /// The address as it is shown: without user and password.
    pub(super) shown_url: String,
    /// Setting that holds the address, if one does.
    pub(super) address_setting: Option<String>,
    pub(super) provider: Provider,
    pub(super) effort: Option<Effort>,
    /// Further members of each body.
    pub(super) extra_body: Vec<(String, Value)>,
    pub(super) limits: ModelLimits,
    pub(super) prices: Option<Prices>,
    pub(super) timeouts: Timeouts,
    pub(super) way: TransportKind,
    pub(super) client: Client<Endpoint>,
    /// Client of Responses and the model's name there, if they have another address.
    pub(super) responses: Option<(Client<Endpoint>, String)>,
    pub(super) learned: Mutex<LearnedQuirks>,
    pub(super) cache: Mutex<WireCache>,
}

/// Lessons from the server's refusals.
#[derive(Debug, Clone)]
pub(super) struct LearnedQuirks {
    pub(super) dialect: Dialect,
    /// The ids of turns in the provider's own form that the server does not take back.
    pub(super) refused: HashSet<String>,
}

pub(super) type Events = Pin<Box<dyn Stream<Item = Result<Box<RawValue>, OpenAIError>> + Send>>;

/// A request that was written, and the effort that it asks for.
struct PreparedRequest {
    body: Body,
    effort: Option<Effort>,
}

impl Wire {
    fn learned(&self) -> MutexGuard<'_, LearnedQuirks> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&self, protocol: Protocol) -> TurnSource<'_> {
        TurnSource { protocol, host: &self.authority, model: &self.model }
    }

    pub(super) fn fault_source(&self) -> FaultSource<'_> {
        let setting = self.address_setting.as_deref();
        FaultSource { url: &self.shown_url, setting, model: &self.name, key: self.client.config().key.expose_secret() }
    }

    /// Sends the request, again in another form as long as the server refuses the form: by a status, or at the beginning of an answer.
    async fn open(&self, mut request: ChatRequest) -> Result<AnswerReader<'_>, ModelError> {
        let until = self.timeouts.total.map(|total| (total, Instant::now() + total));
        let mut thinks = true;
        loop {
            let learned = self.learned().clone();
            let dialect = &learned.dialect;
            let mut prepared = self.prepare(&request, &learned, thinks)?;
            let attempt = Attempt {
                url: self.shown_url.clone(),
                setting: self.address_setting.clone(),
                model: self.name.clone(),
                key: self.client.config().key.clone(),
                connect: self.timeouts.connect,
                idle: self.timeouts.idle,
                total: until,
                streams: dialect.stream,
                beta: (dialect.foreign_thinking == ForeignThinking::LeftOut).then_some(BINDING_CONTROLS),
            };
            let probe = Arc::new(Probe::default());
            let sender = Sender { way: self.way.clone(), attempt: Arc::new(attempt), probe: Arc::clone(&probe) };
            let fault = match self.events(&prepared.body, dialect.protocol, sender).await {
                Ok(events) => {
                    prepared.body.drop_messages();
                    let mut reader = AnswerReader {
                        wire: self,
                        request,
                        effort: prepared.effort,
                        source: self.source(dialect.protocol),
                        calls_as_text: dialect.form.calls_as_text,
                        events,
                        probe,
                        answer: Answer::new(dialect.protocol),
                        ready: VecDeque::new(),
                        is_over: false,
                    };
                    match reader.begin().await {
                        Ok(()) => {
                            if dialect.before_switch.is_some() || dialect.affordable.is_some() {
                                let known = &mut self.learned().dialect;
                                (known.before_switch, known.affordable) = (None, None);
                            }
                            return Ok(reader);
                        }
                        Err(fault) => {
                            request = reader.request;
                            fault
                        }
                    }
                }
                Err(error) => self.fault(&probe, error),
            };
            match self.learn(&request, &learned, &prepared, &fault) {
                RefusalAction::Nothing => return Err(fault.error),
                RefusalAction::WithoutEffort => thinks = false,
                RefusalAction::Again | RefusalAction::WithoutNative => {}
            }
            tracing::info!(model = %self.name, reason = %fault.error, "the server does not accept this form of request; trying another");
        }
    }

    /// Learns from a refusal, and returns what is worth another attempt.
    fn learn(&self, request: &ChatRequest, used: &LearnedQuirks, prepared: &PreparedRequest, fault: &Fault) -> RefusalAction {
        let Some(refusal) = &fault.refusal else { return RefusalAction::Nothing };
        let source = self.source(used.dialect.protocol);
        let turns = || {
            request.messages.iter().filter_map(|message| match message.as_ref() {
                Message::Assistant { content, tool_calls, native } => Some((content, tool_calls, native)),
                _ => None,
            })
        };
        let sent = |(content, calls, native): (&String, &Vec<ToolCall>, &Option<Arc<NativeTurn>>)| {
            let native = native.as_ref().filter(|native| !used.refused.contains(native.id()))?;
            native.items_for(source, content, calls).map(|_| native.id().to_owned())
        };
        let native: Vec<String> = turns().filter_map(sent).collect();
        let sent = RefusedRequest {
            settings: &prepared.body.settings,
            tools: prepared.body.tools.as_ref().map_or(&[], |tools| &tools.names),
            open_form: prepared.body.open_form,
            wordless: turns().any(|(content, calls, _)| content.is_empty() && !calls.is_empty()),
            effort: prepared.effort,
            images: sent_images(request, used.dialect.form.images),
            native: !native.is_empty(),
            estimated: estimate_request_tokens(request),
            bound: prepared.body.bound,
        };
        let mut learned = self.learned();
        let action = learned.dialect.learn_from(&used.dialect, &self.model, refusal, sent);
        if action == RefusalAction::WithoutNative {
            learned.refused.extend(native);
        }
        action
    }

    /// Writes a request; without an effort unless the model is to think.
    fn prepare(&self, request: &ChatRequest, learned: &LearnedQuirks, thinks: bool) -> Result<PreparedRequest, ModelError> {
        let dialect = &learned.dialect;
        let room = dialect.window.and_then(|window| window.room_beside(estimate_request_tokens(request)));
        let bound = [request.max_output_tokens, dialect.longest_answer, dialect.affordable, room];
        let bound = request.max_output_tokens.and(bound.into_iter().flatten().min());
        let writing = Writing {
            source: self.source(dialect.protocol),
            provider: self.provider,
            effort: request.effort.or(self.effort).and_then(|wanted| dialect.nearest_effort(wanted)),
            bound,
            longest: self.limits.max_output_tokens,
            refused: &learned.refused,
        };
        // With a budget, Claude takes no thinking in the middle of calls that it did not begin itself.
        let claude = dialect.protocol == Protocol::Messages || (self.provider == Provider::OpenRouter && self.model.contains("claude"));
        let demands = claude && dialect.thinking == ThinkingForm::Budget && begun_elsewhere(request, &writing);
        let effort = writing.effort.filter(|_| thinks && !demands);
        let writing = Writing { effort, ..writing };
        let mut written = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let model = self.responses_elsewhere(dialect.protocol).map_or(&self.model, |(_, model)| model);
        let mut body = Body::new(model, request, dialect, &writing, &mut written).map_err(|error| ModelError::Unreadable {
            model: self.name.clone(),
            reason: format!("the request cannot be written: {error}"),
        })?;
        body.add(&self.extra_body);
        Ok(PreparedRequest { body, effort: effort.filter(|_| dialect.optional.effort) })
    }

    /// Returns the client and the model's name for a protocol that has another address.
    fn responses_elsewhere(&self, protocol: Protocol) -> Option<&(Client<Endpoint>, String)> {
        self.responses.as_ref().filter(|_| protocol == Protocol::Responses)
    }

    /// Returns the path below the base address.
    fn path(&self, protocol: Protocol, streams: bool) -> String {
        let base = &self.client.config().base_url;
        match protocol {
            Protocol::Responses => "/responses".to_owned(),
            Protocol::Chat => "/chat/completions".to_owned(),
            // Anthropic's address is configured with and without the version.
            Protocol::Messages if base.ends_with("/v1") => "/messages".to_owned(),
            Protocol::Messages => "/v1/messages".to_owned(),
            Protocol::Gemini => gemini::path(base, &self.model, streams),
        }
    }

    async fn events(&self, body: &Body, protocol: Protocol, sender: Sender) -> Result<Events, OpenAIError> {
        let streams = sender.attempt.streams;
        let client = self.responses_elsewhere(protocol).map_or(&self.client, |(client, _)| client);
        let client = client.clone().with_http_service(sender);
        let requests = client.chat().path(self.path(protocol, streams))?;
        let requests = if protocol == Protocol::Gemini && streams { requests.query(&[("alt", "sse")])? } else { requests };
        if streams {
            return requests.create_stream_byot::<_, Box<RawValue>>(body).await;
        }
        let answer: Box<RawValue> = requests.create_byot(body).await?;
        Ok(stream::iter([Ok(answer)]).boxed())
    }

    /// Returns the failure: as the transport saw it, or else as async-openai reports it.
    pub(super) fn fault(&self, probe: &Probe, error: OpenAIError) -> Fault {
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

    fn protocol(&self) -> Option<Protocol> {
        Some(self.learned().dialect.protocol)
    }

    fn address(&self) -> Option<&str> {
        Some(&self.shown_url)
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

/// Returns true if another model made the calls since the last words of the user.
fn begun_elsewhere(request: &ChatRequest, writing: &Writing<'_>) -> bool {
    let since = request.messages.iter().rev().take_while(|message| !matches!(message.as_ref(), Message::User { .. }));
    since.into_iter().any(|message| match message.as_ref() {
        Message::Assistant { content, tool_calls, native } if !tool_calls.is_empty() => {
            native.as_ref().is_none_or(|native| writing.native(native, content, tool_calls).is_none())
        }
        _ => false,
    })
}

/// Returns the places of images in the request as it is written.
fn sent_images(request: &ChatRequest, form: ImagesForm) -> Option<SentImages> {
    let mut with_images = request.messages.iter().filter(|message| !message.images().is_empty()).peekable();
    with_images.peek()?;
    match form {
        ImagesForm::InWords => None,
        ImagesForm::Anywhere if with_images.any(|message| matches!(message.as_ref(), Message::Tool { .. })) => Some(SentImages::InResults),
        ImagesForm::Anywhere | ImagesForm::InUserTurns => Some(SentImages::InUserTurns),
    }
}
