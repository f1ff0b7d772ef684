//! Life of one request, from its prompt to its answer.

use std::sync::Arc;

use aime_llm::{ChatRequest, ChatResponse, FinishReason, ModelError, ResponseFormat, StreamPart, ToolCall, ToolDefinition, Usage};
use llguidance::Matcher;
use serde_json::json;
use tokio::sync::mpsc::UnboundedSender;

use super::writing::Writing;
use super::{Engine, Job, Sampling};
use crate::calls::{begun_call, read_answer};
use crate::grammar::Grammars;
use crate::prompt_cache::Sequence;
use crate::sampling::Sampler;
use crate::vocabulary::Vocabulary;

/// Request that is ready to start.
pub(super) struct PreparedRequest {
    pub(super) prompt: Vec<u32>,
    most_output: usize,
    matcher: Option<Matcher>,
    sampler: Sampler,
    /// Tools that may be called.
    tools: Arc<[ToolDefinition]>,
}

impl PreparedRequest {
    pub(super) fn most_tokens(&self) -> usize {
        self.prompt.len() + self.most_output
    }
}

/// Request whose answer is being generated.
pub(super) struct Turn {
    pub(super) answer: UnboundedSender<Result<StreamPart, ModelError>>,
    pub(super) sequence: Sequence,
    /// Largest number of tokens of prompt and answer together.
    pub(super) most_tokens: usize,
    prompt: usize,
    cached: usize,
    /// Tokens that are known but not computed yet, in order.
    pending: Vec<u32>,
    /// Tokens of the answer.
    answer_tokens: Vec<u32>,
    writing: Writing,
    most_output: usize,
    matcher: Option<Matcher>,
    sampler: Sampler,
    tools: Arc<[ToolDefinition]>,
    messages: usize,
    /// True if a call that the model began by itself was handled.
    call_begun: bool,
}

/// State of a turn after a pass.
pub(super) enum TurnState {
    GoesOn,
    Ended(FinishReason),
}

impl Engine {
    pub(super) fn refused(&self, message: impl Into<String>) -> ModelError {
        ModelError::Refused { model: self.name.clone(), status: 400, message: message.into() }
    }

    /// Returns the grammars. They are created when first needed, because that takes a while.
    fn grammars(&mut self) -> Result<&Grammars, ModelError> {
        if self.grammars.is_none() {
            let made = Grammars::new(&self.vocabulary.guidance())
                .map_err(|error| self.refused(format!("its vocabulary cannot be guided: {error}")))?;
            self.grammars = Some(made);
        }
        self.grammars.as_ref().ok_or_else(|| self.refused("its vocabulary cannot be guided"))
    }

    /// Renders the prompt and prepares the matcher that constrains the answer.
    pub(super) fn prepare(&mut self, request: &ChatRequest) -> Result<PreparedRequest, ModelError> {
        let prompt = self
            .template
            .render(request, self.vocabulary.begin_and_end(), |content| self.vocabulary.without_controls(content))
            .map_err(|error| self.refused(format!("the chat template refuses the messages: {error}")))?;
        let prompt = self.vocabulary.encode_prompt(&prompt);
        if prompt.is_empty() {
            return Err(self.refused("the request has no messages"));
        }
        if prompt.len() >= self.context_tokens {
            return Err(ModelError::ContextOverflow {
                model: self.name.clone(),
                message: format!("the request has {} tokens, the context holds {}", prompt.len(), self.context_tokens),
            });
        }
        let wanted = request.max_output_tokens.map_or(self.most_output_tokens, |most| most as usize);
        let most_output = wanted.clamp(1, self.context_tokens - prompt.len());
        let tools = request.tool_choice.of(&request.tools);
        let style = self.template.style();
        let unusable = |error: String| format!("the answer cannot be held to its form: {error}");
        let matcher = match &request.format {
            _ if request.tool_choice.demands_a_call() && !tools.is_empty() => Some(self.grammars()?.calls(&tools, style)),
            ResponseFormat::JsonSchema { schema, .. } if tools.is_empty() => Some(self.grammars()?.answer(schema)),
            ResponseFormat::JsonObject if tools.is_empty() => Some(self.grammars()?.answer(&json!({"type": "object"}))),
            _ => None,
        };
        let matcher = matcher.transpose().map_err(|error| self.refused(unusable(error)))?;
        let temperature = request.temperature.unwrap_or(self.sampling.temperature);
        let sampler = Sampler::new(Sampling { temperature, ..self.sampling }, request.seed);
        Ok(PreparedRequest { prompt, most_output, matcher, sampler, tools })
    }
}

impl Turn {
    pub(super) fn begin(prepared: PreparedRequest, sequence: Sequence, job: Job, vocabulary: &Vocabulary) -> Self {
        let cached = sequence.tokens.len();
        let most_tokens = prepared.most_tokens();
        let PreparedRequest { prompt, most_output, matcher, sampler, tools } = prepared;
        let mut turn = Self {
            answer: job.answer,
            prompt: prompt.len(),
            cached,
            pending: prompt.get(cached..).unwrap_or_default().to_vec(),
            sequence,
            most_tokens,
            answer_tokens: Vec::new(),
            writing: Writing::new(!tools.is_empty()),
            most_output,
            matcher,
            sampler,
            tools,
            messages: job.request.messages.len(),
            call_begun: false,
        };
        // Tokens that the grammar forces at the beginning are computed together with the prompt.
        if let Some(matcher) = &mut turn.matcher {
            turn.answer_tokens = matcher.consume_ff_tokens();
            turn.pending.extend_from_slice(&turn.answer_tokens);
            for token in &turn.answer_tokens {
                turn.writing.push(vocabulary.bytes(*token));
            }
        }
        turn
    }

    /// Returns true if tokens of the prompt are still to be computed.
    pub(super) fn reads_prompt(&self) -> bool {
        self.sequence.tokens.len() < self.prompt
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the next tokens to compute, at most `most`.
    pub(super) fn next_piece(&mut self, most: usize) -> Vec<u32> {
        let rest = self.pending.split_off(most.min(self.pending.len()));
        std::mem::replace(&mut self.pending, rest)
    }

    /// Chooses the next token, and adds those that are forced after it.
    pub(super) fn advance(&mut self, scores: &[f32], engine: &mut Engine) -> Result<TurnState, ModelError> {
        if self.matcher.as_ref().is_some_and(Matcher::is_stopped) {
            return Ok(TurnState::Ended(FinishReason::Stop));
        }
        if self.answer_tokens.len() >= self.most_output {
            return Ok(TurnState::Ended(FinishReason::Length));
        }
        let failed =
            |error: String| ModelError::Unreadable { model: engine.name.clone(), reason: format!("its form could not be kept: {error}") };
        let allowed = match &mut self.matcher {
            Some(matcher) => Some(matcher.compute_mask_or_eos().map_err(|error| failed(error.to_string()))?),
            None => None,
        };
        let Some(token) = self.sampler.choose(scores, allowed.as_ref(), &self.answer_tokens) else {
            return Err(failed("no token fits".to_owned()));
        };
        if engine.vocabulary.is_end(token) {
            return Ok(TurnState::Ended(FinishReason::Stop));
        }
        let mut new = vec![token];
        if let Some(matcher) = &mut self.matcher {
            matcher.consume_token(token).map_err(|error| failed(error.to_string()))?;
            new.extend(matcher.consume_ff_tokens());
        }
        self.take(&new, engine);
        if self.matcher.is_none() && !self.tools.is_empty() && !self.call_begun && begun_call(self.writing.text()).is_some() {
            self.call_begun = true;
            self.guide_call(engine)?;
        }
        if let Some(text) = self.writing.show() {
            let _ = self.answer.send(Ok(StreamPart::Text(text)));
        }
        if self.matcher.as_ref().is_some_and(Matcher::is_stopped) {
            return Ok(TurnState::Ended(FinishReason::Stop));
        }
        Ok(if self.answer_tokens.len() >= self.most_output { TurnState::Ended(FinishReason::Length) } else { TurnState::GoesOn })
    }

    fn take(&mut self, tokens: &[u32], engine: &Engine) {
        for token in tokens {
            self.writing.push(engine.vocabulary.bytes(*token));
        }
        self.answer_tokens.extend_from_slice(tokens);
        self.pending.extend_from_slice(tokens);
    }

    /// Constrains a call that the model has begun: from its brace on, the answer must fit the offered tools. Tokens that do not fit are
    /// removed.
    fn guide_call(&mut self, engine: &mut Engine) -> Result<(), ModelError> {
        let Some(begin) = begun_call(self.writing.text()) else { return Ok(()) };
        let style = engine.template.style();
        let tools = Arc::clone(&self.tools);
        let mut matcher =
            engine.grammars()?.begun_call(&tools, style).map_err(|error| engine.refused(format!("the tools cannot be guided: {error}")))?;
        // This is the token that contains the brace.
        let mut length = 0;
        let first = self.answer_tokens.iter().position(|token| {
            length += engine.vocabulary.bytes(*token).len();
            length > begin
        });
        let Some(first) = first else { return Ok(()) };
        let fitting = matcher.try_consume_tokens(self.answer_tokens.get(first..).unwrap_or_default()).unwrap_or(0);
        if matcher.is_error() || fitting == 0 {
            return Ok(());
        }
        let keep = first + fitting;
        let computed = self.sequence.tokens.len();
        self.sequence.truncate(computed.min(self.prompt + keep));
        self.answer_tokens.truncate(keep);
        let forced = matcher.consume_ff_tokens();
        self.answer_tokens.extend_from_slice(&forced);
        self.writing.rewrite(self.answer_tokens.iter().flat_map(|token| engine.vocabulary.bytes(*token)).copied().collect());
        self.pending = self.answer_tokens.get(self.sequence.tokens.len().saturating_sub(self.prompt)..).unwrap_or_default().to_vec();
        if self.pending.is_empty() {
            // The scores after the last token must be computed again.
            self.sequence.truncate(self.sequence.tokens.len().saturating_sub(1));
            self.pending.extend(self.answer_tokens.last());
        }
        self.matcher = Some(matcher);
        Ok(())
    }

    /// Sends the rest of the answer. Returns the sequence for the cache.
    pub(super) fn finish(self, finish: FinishReason, engine: &Engine) -> Sequence {
        let whole = self.writing.text().to_owned();
        let read = if self.tools.is_empty() {
            crate::calls::ReadAnswer { text: whole, calls: Vec::new() }
        } else {
            read_answer(&whole, |name| self.tools.iter().any(|tool| tool.name == name))
        };
        if let Some(text) = self.writing.remaining(&read.text) {
            let _ = self.answer.send(Ok(StreamPart::Text(text)));
        }
        let tool_calls: Vec<ToolCall> = read
            .calls
            .into_iter()
            .enumerate()
            .map(|(number, (name, arguments))| ToolCall { id: format!("call_{}_{number}", self.messages), name, arguments })
            .collect();
        for call in &tool_calls {
            let _ = self.answer.send(Ok(StreamPart::ToolCallBegun { name: call.name.clone() }));
        }
        let finish = if finish == FinishReason::Stop && !tool_calls.is_empty() { FinishReason::ToolCalls } else { finish };
        let response = ChatResponse {
            content: read.text,
            reasoning: String::new(),
            tool_calls,
            native: None,
            citations: Vec::new(),
            finish,
            usage: Usage {
                input_tokens: self.prompt as u64,
                cached_input_tokens: self.cached as u64,
                output_tokens: self.answer_tokens.len() as u64,
                ..Usage::default()
            },
            usage_estimated: false,
            model: engine.name.clone(),
            cost_usd: 0.0,
        };
        let _ = self.answer.send(Ok(StreamPart::Done(Box::new(response))));
        self.sequence
    }
}
