//! Tiny models: a GGUF writer, a vocabulary of bytes, and random or designed weights.

use std::path::PathBuf;
use std::sync::Arc;

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelError};
use aime_local_model::{LocalModel, LocalModelSettings};

pub(crate) const TEMPLATE: &str = "{% if tools %}<|im_start|>system\n{{ tools | tojson }} Use <tool_call>.<|im_end|>\n{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// Content of a model file. Change a part, then [`write`](Self::write) it.
pub(crate) struct Tiny {
    pub(crate) architecture: &'static str,
    pub(crate) name: &'static str,
    pub(crate) template: Option<String>,
    pub(crate) tokenizer: Option<&'static str>,
    pub(crate) context: u32,
    pub(crate) layers: u32,
    pub(crate) width: usize,
    /// Words after those of the 256 bytes and the two control tokens.
    pub(crate) words: Vec<&'static str>,
    /// Number of the format that the embeddings claim to have.
    pub(crate) format: u32,
    /// Pairs of a word and its certain successor; without any, the weights are random.
    pub(crate) chain: Vec<(u32, u32)>,
    pub(crate) seed: u64,
}

pub(crate) const START: u32 = 256;
pub(crate) const END: u32 = 257;
/// Index of the first of [`Tiny::words`].
pub(crate) const WORDS: u32 = 258;

impl Default for Tiny {
    fn default() -> Self {
        Self {
            architecture: "qwen2",
            name: "tiny",
            template: Some(TEMPLATE.to_owned()),
            tokenizer: Some("gpt2"),
            context: 2048,
            layers: 2,
            width: 32,
            words: Vec::new(),
            format: 0,
            chain: Vec::new(),
            seed: 1,
        }
    }
}

/// Returns a model whose words follow one another as given.
pub(crate) fn chained(words: &[&'static str], chain: &[(u32, u32)]) -> Tiny {
    Tiny { words: words.to_vec(), chain: chain.to_vec(), width: 320, layers: 1, ..Tiny::default() }
}

impl Tiny {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let count = WORDS as usize + self.words.len();
        let key = |name: &str| format!("{}.{name}", self.architecture);
        let mut values = Values::default();
        values.text("general.architecture", self.architecture);
        values.text("general.name", self.name);
        for (name, value) in [
            ("block_count", self.layers),
            ("context_length", self.context),
            ("embedding_length", self.width as u32),
            ("feed_forward_length", 64),
            ("attention.head_count", 2),
            ("attention.head_count_kv", 1),
        ] {
            values.whole(&key(name), value);
        }
        values.number(&key("attention.layer_norm_rms_epsilon"), 1e-6);
        if let Some(tokenizer) = self.tokenizer {
            let mut words: Vec<String> = (0..=255u8).map(letter).collect();
            words.extend(["<|im_start|>".to_owned(), "<|im_end|>".to_owned()]);
            words.extend(self.words.iter().map(|word| word.bytes().map(letter).collect::<String>()));
            let kinds: Vec<i32> = (0..count).map(|token| if token == START as usize || token == END as usize { 3 } else { 1 }).collect();
            values.text("tokenizer.ggml.model", tokenizer);
            values.text("tokenizer.ggml.pre", "qwen2");
            values.texts("tokenizer.ggml.tokens", &words);
            values.wholes("tokenizer.ggml.token_type", &kinds);
            values.texts("tokenizer.ggml.merges", &[]);
            values.whole("tokenizer.ggml.eos_token_id", END);
        }
        if let Some(template) = &self.template {
            values.text("tokenizer.chat_template", template);
        }
        let mut tensors = self.tensors(count);
        let mut header = Vec::new();
        header.extend(b"GGUF");
        header.extend(3u32.to_le_bytes());
        header.extend((tensors.len() as u64).to_le_bytes());
        header.extend(values.count.to_le_bytes());
        header.extend(&values.bytes);
        let mut offset = 0u64;
        for (name, shape, format, weights) in &tensors {
            text(&mut header, name);
            header.extend((shape.len() as u32).to_le_bytes());
            for size in shape {
                header.extend((*size as u64).to_le_bytes());
            }
            header.extend(format.to_le_bytes());
            header.extend(offset.to_le_bytes());
            offset += (weights.len() as u64).next_multiple_of(32);
        }
        header.resize(header.len().next_multiple_of(32), 0);
        for (.., weights) in &mut tensors {
            weights.resize(weights.len().next_multiple_of(32), 0);
            header.append(weights);
        }
        header
    }

    fn tensors(&self, count: usize) -> Vec<(String, Vec<usize>, u32, Vec<u8>)> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let (width, feed, kept) = (self.width, 64, self.width / 2);
        let chance = self.chain.is_empty();
        let mut weights =
            |length: usize| -> Vec<u8> { (0..length).flat_map(|_| if chance { random.f32() - 0.5 } else { 0.0 }.to_le_bytes()).collect() };
        let mut tensors = Vec::new();
        let ones = |length: usize| -> Vec<u8> { (0..length).flat_map(|_| 1.0f32.to_le_bytes()).collect() };
        for layer in 0..self.layers {
            for (name, shape) in [
                ("attn_q", [width, width]),
                ("attn_k", [width, kept]),
                ("attn_v", [width, kept]),
                ("attn_output", [width, width]),
                ("ffn_gate", [width, feed]),
                ("ffn_up", [width, feed]),
                ("ffn_down", [feed, width]),
            ] {
                tensors.push((format!("blk.{layer}.{name}.weight"), shape.to_vec(), 0, weights(shape[0] * shape[1])));
            }
            tensors.push((format!("blk.{layer}.attn_norm.weight"), vec![width], 0, ones(width)));
            tensors.push((format!("blk.{layer}.ffn_norm.weight"), vec![width], 0, ones(width)));
        }
        tensors.push(("output_norm.weight".to_owned(), vec![width], 0, ones(width)));
        if chance {
            tensors.push(("token_embd.weight".to_owned(), vec![width, count], self.format, weights(width * count)));
            return tensors;
        }
        // Each word has its own direction, and the output looks for the direction of its predecessor.
        assert!(count <= width, "{count} words do not fit");
        let mut embeddings = vec![0.0f32; width * count];
        for token in 0..count {
            embeddings[token * width + token] = 1.0;
        }
        let mut output = vec![0.0f32; width * count];
        for (before, after) in &self.chain {
            output[*after as usize * width + *before as usize] = 1.0;
        }
        let bytes = |numbers: Vec<f32>| numbers.into_iter().flat_map(f32::to_le_bytes).collect();
        tensors.push(("token_embd.weight".to_owned(), vec![width, count], 0, bytes(embeddings)));
        tensors.push(("output.weight".to_owned(), vec![width, count], 0, bytes(output)));
        tensors
    }

    /// Writes the file into the folder.
    pub(crate) fn write(&self, folder: &tempfile::TempDir) -> PathBuf {
        let file = folder.path().join(format!("{}.gguf", self.name));
        std::fs::write(&file, self.bytes()).unwrap();
        file
    }

    pub(crate) fn open(&self, folder: &tempfile::TempDir) -> LocalModel {
        LocalModel::open(LocalModelSettings { threads: Some(2), ..LocalModelSettings::new("tiny", self.write(folder)) }).unwrap()
    }
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn user(content: &str) -> Arc<Message> {
    Arc::new(Message::user(content.to_owned()))
}

pub(crate) fn system(content: &str) -> Arc<Message> {
    Arc::new(Message::System { content: content.to_owned() })
}

/// Returns a request for a few tokens at temperature 0.
pub(crate) fn asking(content: &str) -> ChatRequest {
    ChatRequest { messages: vec![user(content)], temperature: Some(0.0), max_output_tokens: Some(12), ..ChatRequest::default() }
}

pub(crate) async fn ask(model: &LocalModel, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
    model.complete(request.clone()).await
}

/// Returns GPT-2's character for a byte.
fn letter(byte: u8) -> String {
    let code = match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u32::from(byte),
        0..=0x20 => 0x100 + u32::from(byte),
        0x7f..=0xa0 => 0x121 + u32::from(byte) - 0x7f,
        0xad => 0x143,
    };
    char::from_u32(code).unwrap().to_string()
}

fn text(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as u64).to_le_bytes());
    to.extend(text.as_bytes());
}

#[derive(Default)]
struct Values {
    bytes: Vec<u8>,
    count: u64,
}

impl Values {
    fn key(&mut self, key: &str, kind: u32) {
        text(&mut self.bytes, key);
        self.bytes.extend(kind.to_le_bytes());
        self.count += 1;
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key, 8);
        text(&mut self.bytes, value);
    }

    fn whole(&mut self, key: &str, value: u32) {
        self.key(key, 4);
        self.bytes.extend(value.to_le_bytes());
    }

    fn number(&mut self, key: &str, value: f32) {
        self.key(key, 6);
        self.bytes.extend(value.to_le_bytes());
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        self.key(key, 9);
        self.bytes.extend(8u32.to_le_bytes());
        self.bytes.extend((values.len() as u64).to_le_bytes());
        for value in values {
            text(&mut self.bytes, value);
        }
    }

    fn wholes(&mut self, key: &str, values: &[i32]) {
        self.key(key, 9);
        self.bytes.extend(5u32.to_le_bytes());
        self.bytes.extend((values.len() as u64).to_le_bytes());
        for value in values {
            self.bytes.extend(value.to_le_bytes());
        }
    }
}
