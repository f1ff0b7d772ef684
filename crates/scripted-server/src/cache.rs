//! Prompt caching of Anthropic's Messages.
//!
//! A mark (`cache_control`) stores the prompt up to its block. A later request reads what it shares with a stored prompt
//! (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>). Unlike the real server, this one also
//! caches short prompts, and it never forgets.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::view::{list, messages, role};

/// The number of blocks before a mark at which the server looks for a stored prompt.
const LOOK_BACK: usize = 20;

/// Amounts that a request reads from the cache and writes to it, in characters of its JSON.
#[derive(Debug, Default)]
pub(crate) struct CacheUse {
    /// The length of the whole prompt.
    pub(crate) whole: usize,
    pub(crate) read: usize,
    pub(crate) written: usize,
    /// Hashes of the prompts that the request stores.
    pub(crate) stored: Vec<u64>,
}

/// Returns how a request uses a cache that has these prompts.
pub(crate) fn usage(body: &Value, known: &HashSet<u64>) -> CacheUse {
    let places = Prompt::of(body, list(body.get("messages"))).places;
    let marks: Vec<usize> = places.iter().enumerate().filter(|(_, place)| place.marked).map(|(index, _)| index).collect();
    let near = |index: usize| marks.iter().any(|mark| (index..=index + LOOK_BACK).contains(mark));
    let found = places.iter().enumerate().rev().find(|(index, place)| known.contains(&place.hash) && near(*index));
    let read = found.map_or(0, |(_, place)| place.length);
    let marked = || marks.iter().filter_map(|mark| places.get(*mark));
    CacheUse {
        whole: places.last().map_or(0, |place| place.length),
        read,
        written: marked().next_back().map_or(0, |place| place.length.saturating_sub(read)),
        stored: marked().map(|place| place.hash).collect(),
    }
}

/// Returns a hash of the prompt before a message: tools, system text and earlier messages without their thinking.
pub(crate) fn prompt_before(body: &Value, message: usize) -> u64 {
    let before = list(body.get("messages")).get(..message).unwrap_or_default();
    let mut prompt = Prompt::begin(body);
    for message in before {
        prompt.message(message, |block| !messages::is_thinking(block));
    }
    prompt.hasher.finish()
}

/// End of a block in a prompt.
struct Place {
    hash: u64,
    length: usize,
    marked: bool,
}

/// A prompt that is read block by block.
struct Prompt {
    hasher: DefaultHasher,
    length: usize,
    places: Vec<Place>,
}

impl Prompt {
    fn of(body: &Value, entries: &[Value]) -> Self {
        let mut prompt = Self::begin(body);
        // A change of these keeps the cached tools and system text, but no messages.
        for key in ["tool_choice", "thinking"] {
            body.get(key).map(Value::to_string).hash(&mut prompt.hasher);
        }
        for message in entries {
            prompt.message(message, |_| true);
        }
        if let (Some(last), true) = (prompt.places.last_mut(), body.get("cache_control").is_some_and(Value::is_object)) {
            last.marked = true;
        }
        prompt
    }

    /// Reads the tools and the system text.
    fn begin(body: &Value) -> Self {
        let mut prompt = Self { hasher: DefaultHasher::new(), length: 0, places: Vec::new() };
        body.get("model").map(Value::to_string).hash(&mut prompt.hasher);
        for tool in list(body.get("tools")) {
            prompt.block(tool);
        }
        prompt.content(body.get("system"), |_| true);
        prompt
    }

    fn message(&mut self, message: &Value, wanted: impl Fn(&Value) -> bool) {
        role(message).hash(&mut self.hasher);
        self.content(message.get("content"), wanted);
    }

    /// Reads blocks; a plain text is one.
    fn content(&mut self, content: Option<&Value>, wanted: impl Fn(&Value) -> bool) {
        match content {
            Some(Value::String(text)) => self.block(&serde_json::json!({"type": "text", "text": text})),
            content => list(content).iter().filter(|block| wanted(block)).for_each(|block| self.block(block)),
        }
    }

    fn block(&mut self, block: &Value) {
        let text = unmarked(block).to_string();
        text.hash(&mut self.hasher);
        self.length += text.len();
        self.places.push(Place { hash: self.hasher.finish(), length: self.length, marked: marks(block) > 0 });
    }
}

/// Returns the number of marks in a block, including those of the blocks in a result.
pub(crate) fn marks(block: &Value) -> usize {
    let own = usize::from(block.get("cache_control").is_some_and(|mark| !mark.is_null()));
    own + list(block.get("content")).iter().map(marks).sum::<usize>()
}

/// Returns a block without its marks.
fn unmarked(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(members) = block.as_object_mut() {
        members.shift_remove("cache_control");
        if let Some(inner) = members.get_mut("content").and_then(Value::as_array_mut) {
            for block in inner {
                *block = unmarked(block);
            }
        }
    }
    block
}
