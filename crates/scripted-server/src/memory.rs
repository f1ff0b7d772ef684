//! Memory of the opaque state that a server sent and expects back unchanged: reasoning texts, signatures and encrypted items.
//!
//! Also contains the cached prompts.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::view::text;

/// Opaque state of one reply, which the client must send back unchanged.
#[derive(Debug, Default)]
pub(crate) struct SentState {
    turn: Option<(String, Value)>,
    items: Vec<SentItem>,
    blocks: Vec<SentBlock>,
    prompts: Vec<u64>,
}

impl SentState {
    /// A turn of a chat with its opaque state; `Value::Null` if it had none.
    pub(crate) fn turn(key: Option<String>, state: Value) -> Self {
        Self { turn: key.map(|key| (key, state)), ..Self::default() }
    }

    pub(crate) fn items(items: Vec<SentItem>) -> Self {
        Self { items, ..Self::default() }
    }

    /// Adds the thinking blocks of a turn.
    pub(crate) fn with_blocks(mut self, blocks: Vec<SentBlock>) -> Self {
        self.blocks = blocks;
        self
    }

    /// Adds prompts that are cached from now on.
    pub(crate) fn with_prompts(mut self, prompts: Vec<u64>) -> Self {
        self.prompts = prompts;
        self
    }

    /// Keeps only the cached prompts, for servers without checks.
    pub(crate) fn prompts_only(self) -> Self {
        Self { prompts: self.prompts, ..Self::default() }
    }
}

/// An item of the Responses API that a server sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentItem {
    pub(crate) id: String,
    /// `reasoning`, `message` or `function_call`.
    pub(crate) kind: &'static str,
    /// The `call_id` of a call.
    pub(crate) call_id: Option<String>,
    /// The encrypted content of a reasoning item in `response.output_item.done`.
    pub(crate) encrypted: Option<String>,
    /// Id of the item after a reasoning item.
    pub(crate) following: Option<String>,
    /// Id of the reasoning item before this item.
    pub(crate) reasoning: Option<String>,
    /// True if the request let the server store its items.
    pub(crate) stored: bool,
}

/// A thinking block that a server sent in Anthropic's Messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentBlock {
    pub(crate) block: Value,
    /// Model that produced the thinking.
    pub(crate) model: String,
    /// Prompt before the thinking, see [`prompt_before`](crate::cache::prompt_before).
    pub(crate) prompt: u64,
}

/// Returns the key of a thinking block: its signature, or its encrypted data.
pub(crate) fn block_key(block: &Value) -> Option<&str> {
    text(block, "signature").or_else(|| text(block, "data"))
}

/// Everything that a server has sent.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    turns: HashMap<String, Vec<Value>>,
    items: HashMap<String, SentItem>,
    blocks: HashMap<String, SentBlock>,
    prompts: HashSet<u64>,
}

impl Memory {
    pub(crate) fn keep(&mut self, sent: SentState) {
        if let Some((key, state)) = sent.turn {
            self.turns.entry(key).or_default().push(state);
        }
        self.items.extend(sent.items.into_iter().map(|item| (item.id.clone(), item)));
        self.blocks.extend(sent.blocks.into_iter().filter_map(|sent| Some((block_key(&sent.block)?.to_owned(), sent))));
        self.prompts.extend(sent.prompts);
    }

    /// Returns the thinking block that was sent with this signature or these data.
    pub(crate) fn block(&self, key: &str) -> Option<&SentBlock> {
        self.blocks.get(key)
    }

    /// Returns the prompts that are cached.
    pub(crate) fn prompts(&self) -> &HashSet<u64> {
        &self.prompts
    }

    /// Returns the states of the turns with this key, several if a script repeats itself. Empty if the server has not sent such a turn.
    pub(crate) fn states(&self, key: Option<&str>) -> &[Value] {
        key.and_then(|key| self.turns.get(key)).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a turn had this state, or has it in its list.
    pub(crate) fn has_state(&self, state: &Value) -> bool {
        self.turns.values().flatten().any(|one| one == state || one.as_array().is_some_and(|list| list.contains(state)))
    }

    pub(crate) fn item(&self, id: &str) -> Option<&SentItem> {
        self.items.get(id)
    }

    /// Returns the reasoning item that carried this encrypted content.
    pub(crate) fn encrypted(&self, content: &str) -> Option<&SentItem> {
        self.items.values().find(|item| item.encrypted.as_deref() == Some(content))
    }
}

/// Returns the key of a turn in chat completions: the id of its first call, or else its text.
pub(crate) fn turn_key(first_call: Option<&str>, text: &str) -> Option<String> {
    match first_call {
        Some(id) => Some(format!("call {id}")),
        None => (!text.is_empty()).then(|| format!("text {text}")),
    }
}
