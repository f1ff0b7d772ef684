//! Builds a vocabulary from the metadata of a file.

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{Prepend, Replace, Sequence as Normalizers};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer};
use toktrie::TokenId;

use super::Vocabulary;
use crate::LocalModelError;
use crate::gguf::{GgufValue, Header};

/// Kinds of tokens in a file (`llama_token_type`).
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;
const UNUSED: u64 = 5;
const BYTE: u64 = 6;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Texts of tokens that end a turn, in the known model families.
const ENDS: [&str; 8] = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>", "<|im_sep|>"];

impl Vocabulary {
    /// Reads the vocabulary of a file. `count` is the number of words in the network.
    pub(crate) fn read(header: &Header, count: usize) -> Result<Self, LocalModelError> {
        let key = |name: &str| format!("tokenizer.ggml.{name}");
        let tokens = header
            .value(&key("tokens"))
            .and_then(GgufValue::as_texts)
            .filter(|tokens| !tokens.is_empty())
            .ok_or_else(|| header.unsupported("it has no vocabulary", "use a file made with its tokenizer"))?;
        if tokens.len() > count {
            return Err(header.damaged(format!("its vocabulary has {} words, its network {count}", tokens.len())));
        }
        let kinds = header.value(&key("token_type")).and_then(GgufValue::as_wholes).unwrap_or(&[]);
        let kind = |token: usize| kinds.get(token).copied().unwrap_or(1);
        let model = header.text(&key("model")).unwrap_or("none");
        let (mut tokenizer, words) = match model {
            "gpt2" => (byte_pairs(header, tokens)?, tokens.iter().map(|token| written_bytes(token)).collect::<Vec<_>>()),
            "llama" => (sentence_pieces(header, tokens)?, tokens.iter().map(|token| piece_bytes(token)).collect()),
            other => {
                return Err(header.unsupported(
                    format!("its tokenizer is of the kind {other}"),
                    "use a model whose tokenizer is of the kind gpt2 or llama",
                ));
            }
        };
        let mut words = words;
        let mut controls = Vec::new();
        let mut added = Vec::new();
        for ((token, text), word) in tokens.iter().enumerate().zip(&mut words) {
            let id = TokenId::try_from(token).unwrap_or(TokenId::MAX);
            match kind(token) {
                CONTROL => {
                    controls.push((id, text.clone()));
                    added.push(AddedToken::from(text.clone(), true));
                    word.clear();
                }
                USER_DEFINED => {
                    added.push(AddedToken::from(text.clone(), true));
                    *word = text.clone().into_bytes();
                }
                UNUSED => word.clear(),
                BYTE => *word = byte_of(text).map_or_else(Vec::new, |byte| vec![byte]),
                _ => {}
            }
        }
        tokenizer.add_special_tokens(added).map_err(|error| header.damaged(format!("its control tokens: {error}")))?;
        words.resize(count, Vec::new());
        let named = |name: &str| {
            let token = header.whole(&key(name)).and_then(|token| TokenId::try_from(token).ok())?;
            tokens.get(token as usize).map(|text| (token, text.clone()))
        };
        let end = named("eos_token_id");
        let mut ends: Vec<TokenId> =
            ["eos_token_id", "eot_token_id", "eom_token_id"].iter().filter_map(|name| named(name)).map(|(token, _)| token).collect();
        ends.extend(controls.iter().filter(|(_, text)| ENDS.contains(&text.as_str())).map(|(token, _)| *token));
        let mut seen = std::collections::HashSet::new();
        ends.retain(|token| seen.insert(*token));
        if ends.is_empty() {
            return Err(header.unsupported("its vocabulary names no token that ends an answer", "use a model made for chat"));
        }
        let add_begin = header.value(&key("add_bos_token")).and_then(GgufValue::as_truth).unwrap_or(model == "llama");
        Ok(Self {
            tokenizer,
            words,
            controls,
            ends,
            begin: named("bos_token_id"),
            add_begin,
            end_text: end.map(|(_, text)| text).unwrap_or_default(),
        })
    }
}

fn byte_pairs(header: &Header, tokens: &[String]) -> Result<Tokenizer, LocalModelError> {
    let merges = header
        .value("tokenizer.ggml.merges")
        .and_then(GgufValue::as_texts)
        .ok_or_else(|| header.unsupported("its vocabulary has no merges", "use a file made with its tokenizer"))?;
    let merges = merges.iter().filter_map(|merge| merge.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    let kind = header.text("tokenizer.ggml.pre").unwrap_or("default");
    let (pattern, single_digits, whole_words) = match kind {
        "qwen2" | "qwen25" | "deepseek-r1-qwen" => (QWEN2, false, false),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" | "dbrx" => (LLAMA3, false, true),
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => (GPT2, true, false),
        "gpt-2" | "gpt2" | "default" | "mpt" | "olmo" | "jais" => (GPT2, false, false),
        other => {
            return Err(header.unsupported(
                format!("its tokenizer splits text in the way of {other}"),
                "use a model of the Qwen, Llama or SmolLM families",
            ));
        }
    };
    let failed = |error: tokenizers::Error| header.damaged(format!("its vocabulary: {error}"));
    let vocabulary: std::collections::HashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
    let pairs = BPE::builder()
        .vocab_and_merges(vocabulary.into_iter().collect::<tokenizers::models::bpe::Vocab>(), merges)
        .ignore_merges(whole_words)
        .build()
        .map_err(failed)?;
    let split = |pattern: &str| Split::new(SplitPattern::Regex(pattern.to_owned()), SplitDelimiterBehavior::Isolated, false);
    let mut steps = Vec::new();
    if single_digits {
        steps.push(split(r"\p{N}").map_err(failed)?.into());
    }
    steps.push(split(pattern).map_err(failed)?.into());
    steps.push(ByteLevel::new(false, true, false).into());
    let mut tokenizer = Tokenizer::new(pairs);
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    Ok(tokenizer)
}

/// Builds a tokenizer from SentencePiece pieces. They join in the order of their scores, so merges in that order are equivalent.
fn sentence_pieces(header: &Header, tokens: &[String]) -> Result<Tokenizer, LocalModelError> {
    let scores = header.value("tokenizer.ggml.scores").and_then(GgufValue::as_numbers).unwrap_or(&[]);
    let ids: std::collections::HashMap<&str, u32> = tokens.iter().map(String::as_str).zip(0..).collect();
    let mut merges = Vec::new();
    for (token, score) in tokens.iter().zip(scores) {
        for (at, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(at);
            if let (Some(a), Some(b)) = (ids.get(left), ids.get(right)) {
                merges.push((*score, *a, *b, left.to_owned(), right.to_owned()));
            }
        }
    }
    merges.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2))));
    let failed = |error: tokenizers::Error| header.damaged(format!("its vocabulary: {error}"));
    let unknown = tokens.iter().find(|token| *token == "<unk>").cloned();
    let mut builder = BPE::builder()
        .vocab_and_merges(
            tokens.iter().cloned().zip(0..).collect::<tokenizers::models::bpe::Vocab>(),
            merges.into_iter().map(|(.., left, right)| (left, right)).collect(),
        )
        .fuse_unk(true)
        .byte_fallback(true);
    if let Some(unknown) = unknown {
        builder = builder.unk_token(unknown);
    }
    let mut tokenizer = Tokenizer::new(builder.build().map_err(failed)?);
    let mut steps = vec![Replace::new(" ", "▁").map_err(failed)?.into()];
    if header.value("tokenizer.ggml.add_space_prefix").and_then(GgufValue::as_truth).unwrap_or(true) {
        steps.insert(0, Prepend::new("▁".to_owned()).into());
    }
    tokenizer.with_normalizer(Some(Normalizers::new(steps))).map_err(failed)?;
    Ok(tokenizer)
}

/// Returns the byte that a character represents in GPT-2's alphabet.
fn byte_of_char(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        // The other 68 bytes have characters from 256 on, in order.
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}

fn written_bytes(token: &str) -> Vec<u8> {
    token.chars().map(byte_of_char).collect::<Option<_>>().unwrap_or_else(|| token.as_bytes().to_vec())
}

fn piece_bytes(token: &str) -> Vec<u8> {
    byte_of(token).map_or_else(|| token.replace('▁', " ").into_bytes(), |byte| vec![byte])
}

/// Parses the byte in `<0xAB>`.
fn byte_of(token: &str) -> Option<u8> {
    u8::from_str_radix(token.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}
