//! Tokenizer with the vocabulary of a model file.

mod build;

use std::collections::HashSet;

use tokenizers::Tokenizer;
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

/// Vocabulary of a model.
pub(crate) struct Vocabulary {
    tokenizer: Tokenizer,
    /// Text of each token as bytes; empty for tokens without text.
    words: Vec<Vec<u8>>,
    /// Texts of control tokens.
    controls: Vec<(TokenId, String)>,
    ends: Vec<TokenId>,
    begin: Option<(TokenId, String)>,
    add_begin: bool,
    end_text: String,
}

impl Vocabulary {
    /// Encodes a prompt that a template has rendered: texts of control tokens become those tokens.
    pub(crate) fn encode_prompt(&self, prompt: &str) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        if let Some((begin, text)) = self.begin.as_ref().filter(|_| self.add_begin)
            && !prompt.starts_with(text.as_str())
        {
            tokens.push(*begin);
        }
        tokens.extend(self.encode(prompt));
        tokens
    }

    fn encode(&self, text: &str) -> Vec<TokenId> {
        self.tokenizer.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
    }

    /// Returns the bytes of a token.
    pub(crate) fn bytes(&self, token: TokenId) -> &[u8] {
        self.words.get(token as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn is_end(&self, token: TokenId) -> bool {
        self.ends.contains(&token)
    }

    /// Returns the texts that a template may use for the begin and the end of a sequence.
    pub(crate) fn begin_and_end(&self) -> (&str, &str) {
        (self.begin.as_ref().map_or("", |(_, text)| text), &self.end_text)
    }

    /// Breaks up the texts of control tokens, so that no content can pass for another turn.
    pub(crate) fn without_controls(&self, content: &str) -> String {
        let mut clean = content.to_owned();
        if content.contains('<') || content.contains('[') {
            for (_, text) in &self.controls {
                if clean.contains(text.as_str()) {
                    let mut broken = text.clone();
                    let first = text.chars().next().map_or(0, char::len_utf8);
                    broken.insert(first, ' ');
                    clean = clean.replace(text.as_str(), &broken);
                }
            }
        }
        clean
    }

    /// Returns the vocabulary in the form that llguidance needs.
    pub(crate) fn guidance(&self) -> TokEnv {
        let mut words = self.words.clone();
        for (token, text) in &self.controls {
            if let Some(word) = words.get_mut(*token as usize) {
                *word = [&[TokTrie::SPECIAL_TOKEN_MARKER], text.as_bytes()].concat();
            }
        }
        let mut known = HashSet::new();
        for word in &mut words {
            if !known.insert(word.clone()) {
                word.clear();
            }
        }
        let end = self.ends.first().copied().unwrap_or(0);
        let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let trie = TokTrie::from(&TokRxInfo::new(count, end), &words).with_eos_tokens(&self.ends);
        std::sync::Arc::new(Guidance { trie, tokenizer: self.tokenizer.clone() })
    }
}

struct Guidance {
    trie: TokTrie,
    tokenizer: Tokenizer,
}

impl TokenizerEnv for Guidance {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| {
            self.tokenizer.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec()).unwrap_or_default()
        })
    }
}
