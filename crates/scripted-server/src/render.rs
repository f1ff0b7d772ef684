//! Renders the bytes of a reply: one JSON document, or the events of a stream.

mod chat;
mod gemini;
mod messages;
mod responses;
mod thinking;

use serde_json::{Map, Value, json};

use crate::cache::{self, CacheUse};
use crate::memory::{Memory, SentState};
use crate::provider::Provider;
use crate::reply::{Reply, ScriptedCall, ScriptedUsage, ServerQuirk};
use crate::view::{self, Protocol, View};

/// The content type and the pieces of a body.
pub(crate) struct RenderedBody {
    pub(crate) content_type: &'static str,
    pub(crate) pieces: Vec<Vec<u8>>,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const PIECE_CHARS: usize = 12;

/// Renders a reply in the protocol of its request, and returns what the client must send back unchanged.
///
/// `number` identifies the reply on its server; ids and opaque texts are derived from it. `memory` contains the cached prompts.
pub(crate) fn render(
    reply: &Reply,
    request: View<'_>,
    provider: Provider,
    stream: bool,
    number: usize,
    memory: &Memory,
) -> (RenderedBody, SentState) {
    let stream = stream && !reply.has_quirk(ServerQuirk::IgnoreStream);
    let caching = (request.protocol == Protocol::Messages).then(|| cache::usage(request.body, memory.prompts()));
    let answer = Answer { reply, request, provider, number, cache: caching.unwrap_or_default() };
    // Only Gemini also streams in another format: as a list, unless the request asks for events.
    let events = stream && (request.protocol != Protocol::Gemini || view::gemini::wants_events(request.query));
    let content_type = if events { EVENTS } else { JSON };
    let (rendered, sent) = if let Some(raw) = &reply.raw {
        (RenderedBody { content_type, pieces: vec![raw.clone()] }, SentState::default())
    } else if reply.body.is_some() || reply.status.is_some_and(|status| status != 200) {
        (instead(reply.body.as_ref()), SentState::default())
    } else {
        let (pieces, sent) = match request.protocol {
            Protocol::Chat => chat::pieces(&answer, stream),
            Protocol::Responses => responses::pieces(&answer, stream),
            Protocol::Messages => messages::pieces(&answer, stream),
            Protocol::Gemini => gemini::pieces(&answer, stream, events),
        };
        (RenderedBody { content_type, pieces }, sent)
    };
    match reply.piece_bytes {
        Some(size) if size > 0 => {
            let whole: Vec<u8> = rendered.pieces.concat();
            (RenderedBody { pieces: whole.chunks(size).map(<[u8]>::to_vec).collect(), ..rendered }, sent)
        }
        _ => (rendered, sent),
    }
}

/// Returns the body in the script that replaces an answer.
fn instead(body: Option<&Value>) -> RenderedBody {
    match body {
        Some(Value::String(text)) => RenderedBody { content_type: "text/plain", pieces: vec![text.clone().into_bytes()] },
        Some(body) => RenderedBody { content_type: JSON, pieces: vec![body.to_string().into_bytes()] },
        None => RenderedBody { content_type: JSON, pieces: Vec::new() },
    }
}

/// A reply together with the request that it answers.
struct Answer<'a> {
    reply: &'a Reply,
    request: View<'a>,
    provider: Provider,
    number: usize,
    cache: CacheUse,
}

/// A call of an answer, with the id that it got.
struct Call {
    id: Option<String>,
    name: String,
    arguments: Value,
}

impl Answer<'_> {
    fn has_quirk(&self, quirk: ServerQuirk) -> bool {
        self.reply.has_quirk(quirk)
    }

    fn text(&self) -> String {
        let text = self.reply.text.clone().unwrap_or_default();
        match &self.reply.json {
            Some(value) if self.answering_tool().is_none() => text + &value.to_string(),
            _ => text,
        }
    }

    /// Returns the tool that must be called with the JSON of the reply. Anthropic's Messages gave structured answers in this way before
    /// they had a format for them.
    fn answering_tool(&self) -> Option<&str> {
        let body = self.request.body;
        let by_tool = self.request.protocol == Protocol::Messages && self.reply.tool_calls.is_empty() && self.reply.json.is_some();
        view::messages::forced_tool(body).filter(|_| by_tool && view::messages::format(body).is_none())
    }

    fn calls(&self) -> Vec<Call> {
        let turn = self.request.turns();
        let by_tool = self.answering_tool().zip(self.reply.json.clone());
        let answer = by_tool.map(|(name, arguments)| ScriptedCall { name: name.to_owned(), arguments, id: None });
        let calls = self.reply.tool_calls.iter().chain(&answer).enumerate().map(|(index, call)| Call {
            id: (!self.has_quirk(ServerQuirk::NoIds))
                .then(|| call.id.clone().unwrap_or_else(|| self.provider.call_id(turn, self.number, index))),
            name: call.name.clone(),
            arguments: match &call.arguments {
                Value::String(text) => json!(text),
                value if self.has_quirk(ServerQuirk::ObjectArguments) => value.clone(),
                value => json!(value.to_string()),
            },
        });
        calls.collect()
    }

    fn usage(&self) -> Option<ScriptedUsage> {
        let usual = ScriptedUsage { input: 100, cached: 0, output: 20, reasoning: 0 };
        (!self.has_quirk(ServerQuirk::NoUsage)).then(|| self.reply.usage.unwrap_or(usual))
    }

    fn decorate(&self, object: &mut Map<String, Value>) {
        if self.has_quirk(ServerQuirk::ExtraFields) {
            object.insert("x_extra".into(), json!({"unknown": [1, null, "two"]}));
        }
    }

    /// Returns an opaque text that is unique to the reply and purpose.
    fn opaque(&self, prefix: &str, purpose: &str, length: usize) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        // FNV-1a over the inputs, then a linear congruential generator.
        let seed = purpose.bytes().chain(self.number.to_le_bytes());
        let mut state = seed.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut text = prefix.to_owned();
        for _ in 0..length {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(state >> 40).unwrap_or_default() % ALPHABET.len();
            text.push(char::from(ALPHABET.get(place).copied().unwrap_or(b'A')));
        }
        text
    }
}

/// Splits a text as a stream does.
fn pieces_of(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}
