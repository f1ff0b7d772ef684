//! The body of a request in the server's protocol and dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::form::{Writing, arranged};
use super::wire_cache::{Items, WireCache, WrittenTools};
use super::{chat, gemini, messages, responses};
use crate::{ChatRequest, Message, Protocol, ResponseFormat, ToolChoice};

/// A body that is ready to be sent.
#[derive(Debug)]
pub(super) struct Body {
    /// The model, and what was said, under the names that the protocol has for them.
    head: Vec<(&'static str, HeadValue)>,
    pub(super) tools: Option<WrittenTools>,
    /// Everything else.
    pub(super) settings: Map<String, Value>,
    /// True if the form of the answer was left open.
    pub(super) open_form: bool,
    pub(super) bound: Option<u32>,
}

/// A member of the head.
#[derive(Debug)]
enum HeadValue {
    Written(Box<RawValue>),
    /// The items of all messages, one after the other. They are copied once, into the request.
    Row(Vec<Items>),
}

impl Serialize for HeadValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Written(value) => value.serialize(serializer),
            Self::Row(items) => serializer.collect_seq(items.iter().flat_map(|items| items.iter())),
        }
    }
}

impl Body {
    /// Writes a request. Messages and tools of earlier requests are taken from `cache`.
    pub(super) fn new(
        model: &str,
        request: &ChatRequest,
        dialect: &Dialect,
        writing: &Writing<'_>,
        cache: &mut WireCache,
    ) -> serde_json::Result<Self> {
        let arranged = arranged(request, &dialect.form);
        let items = cache.messages(&arranged, dialect, writing)?;
        let tools = cache.tools(request, dialect)?;
        let offers = tools.is_some();
        let written = HeadValue::Written;
        let model = written(to_raw_value(model)?);
        let (head, mut settings) = match dialect.protocol {
            Protocol::Chat => {
                let marked = dialect.optional.cache_marks;
                let messages = if marked { written(marked_in_a_row(&arranged, &items)?) } else { HeadValue::Row(items) };
                (vec![("model", model), ("messages", messages)], chat::settings(request, dialect, writing, offers))
            }
            Protocol::Responses => {
                (vec![("model", model), ("input", HeadValue::Row(items))], responses::settings(request, dialect, writing, offers))
            }
            Protocol::Messages => {
                let mut head = vec![("model", model)];
                let (system, turns) = turns(&arranged, &items);
                if let Some((last, rest)) = system.split_last() {
                    let mut blocks: Vec<Box<RawValue>> = rest.iter().map(|block| (*block).to_owned()).collect();
                    blocks.push(marked(last)?);
                    head.push(("system", written(to_raw_value(&blocks)?)));
                }
                head.push(("messages", written(with_marks(&turns)?)));
                (head, messages::settings(request, dialect, writing, offers))
            }
            Protocol::Gemini => {
                let mut head = Vec::new();
                let (system, turns) = turns(&arranged, &items);
                if !system.is_empty() {
                    head.push(("systemInstruction", written(to_raw_value(&Named("parts", &system))?)));
                }
                let contents: Vec<_> =
                    turns.iter().map(|turn| Content { role: turn.role.of_gemini(), field: "parts", items: &turn.items }).collect();
                head.push(("contents", written(to_raw_value(&contents)?)));
                (head, gemini::settings(request, dialect, writing, offers))
            }
        };
        // A tool that is left out cannot be demanded.
        if let ToolChoice::Only(name) = &request.tool_choice
            && tools.as_ref().is_some_and(|tools| !tools.names.contains(name))
        {
            settings.remove("tool_choice");
            settings.remove("toolConfig");
        }
        let open_form = request.format == ResponseFormat::Text;
        Ok(Self { head, tools, settings, open_form, bound: writing.bound })
    }

    /// Drops what was said; the rest tells what a refusal may be about.
    pub(super) fn drop_messages(&mut self) {
        self.head = Vec::new();
    }

    /// Adds members of the caller. They replace settings, but neither the head nor the tools: a body with two members of one name has no
    /// defined meaning.
    pub(super) fn add(&mut self, members: &[(String, Value)]) {
        let has_tools = self.tools.is_some();
        for (name, value) in members {
            let is_written = self.head.iter().any(|(written, _)| written == name) || (has_tools && name == "tools");
            if !is_written {
                self.settings.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        self.head.iter().try_for_each(|(name, value)| body.serialize_entry(name, value))?;
        if let Some(tools) = &self.tools {
            body.serialize_entry("tools", tools.raw.as_ref())?;
        }
        self.settings.iter().try_for_each(|(name, value)| body.serialize_entry(name, value))?;
        body.end()
    }
}

/// Returns the messages of chat completions for Claude behind OpenRouter, with marks at the last system message and at the
/// ends of the last two turns of the user. The mark of the system message covers the tools.
fn marked_in_a_row(messages: &[Arc<Message>], items: &[Items]) -> serde_json::Result<Box<RawValue>> {
    let of_user = |message: &Arc<Message>| matches!(message.as_ref(), Message::User { .. } | Message::Tool { .. });
    let ends_turn = |at: &usize| messages.get(*at).is_some_and(of_user) && !messages.get(*at + 1).is_some_and(of_user);
    let ends = (0..messages.len()).rev().filter(ends_turn).take(2);
    let system = messages.iter().rposition(|message| matches!(message.as_ref(), Message::System { .. }));
    let mut marked = BTreeMap::new();
    for at in ends.chain(system) {
        if let Some(message) = items.get(at).and_then(|items| items.first()) {
            marked.insert(at, to_raw_value(&chat::marked(serde_json::from_str(message.get())?))?);
        }
    }
    let mut row: Vec<&RawValue> = Vec::with_capacity(items.len());
    for (at, items) in items.iter().enumerate() {
        match marked.get(&at) {
            Some(message) => row.push(message),
            None => row.extend(items.iter().map(AsRef::as_ref)),
        }
    }
    to_raw_value(&row)
}

/// Speaker of a turn, for protocols with two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Model,
}

impl Side {
    const fn of_gemini(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }

    const fn of_anthropic(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "assistant",
        }
    }
}

/// All messages of one side up to the next message of the other; tool results and words of the user form one turn.
struct SideTurn<'a> {
    role: Side,
    items: Vec<&'a RawValue>,
}

/// Returns the standing instructions, and the turns of a conversation.
fn turns<'a>(messages: &[Arc<Message>], items: &'a [Items]) -> (Vec<&'a RawValue>, Vec<SideTurn<'a>>) {
    let (mut system, mut turns): (Vec<&RawValue>, Vec<SideTurn<'_>>) = (Vec::new(), Vec::new());
    for (message, items) in messages.iter().zip(items) {
        let items = items.iter().map(AsRef::as_ref);
        let role = match message.as_ref() {
            Message::System { .. } => {
                system.extend(items);
                continue;
            }
            Message::User { .. } | Message::Tool { .. } => Side::User,
            Message::Assistant { .. } => Side::Model,
        };
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.items.extend(items),
            None => turns.push(SideTurn { role, items: items.collect() }),
        }
    }
    turns.retain(|turn| !turn.items.is_empty());
    (system, turns)
}

/// Returns the turns for Anthropic, with marks at the end of the last two of the user's: up to there the provider
/// keeps the request in its cache.
fn with_marks(turns: &[SideTurn<'_>]) -> serde_json::Result<Box<RawValue>> {
    let users = turns.iter().enumerate().rev().filter(|(_, turn)| turn.role == Side::User);
    let marked_turns: Vec<usize> = users.map(|(at, _)| at).take(2).collect();
    let mut written = Vec::with_capacity(turns.len());
    for (at, turn) in turns.iter().enumerate() {
        let content = |items: &[&RawValue]| to_raw_value(&Content { role: turn.role.of_anthropic(), field: "content", items });
        let turn = match turn.items.split_last() {
            Some((last, rest)) if marked_turns.contains(&at) => {
                let last = marked(last)?;
                let items: Vec<&RawValue> = rest.iter().copied().chain([last.as_ref()]).collect();
                content(&items)?
            }
            _ => content(&turn.items)?,
        };
        written.push(turn);
    }
    to_raw_value(&written)
}

fn marked(block: &RawValue) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&messages::marked(&serde_json::from_str(block.get())?))
}

/// A turn on the wire.
struct Content<'a> {
    role: &'static str,
    field: &'static str,
    items: &'a [&'a RawValue],
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut content = serializer.serialize_map(Some(2))?;
        content.serialize_entry("role", self.role)?;
        content.serialize_entry(self.field, self.items)?;
        content.end()
    }
}

/// An object with one member.
struct Named<'a>(&'static str, &'a [&'a RawValue]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut named = serializer.serialize_map(Some(1))?;
        named.serialize_entry(self.0, self.1)?;
        named.end()
    }
}
