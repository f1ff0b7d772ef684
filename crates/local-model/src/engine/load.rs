//! Loads a model from its settings and file.

use std::path::PathBuf;

use aime_llm::ModelLimits;

use super::{Engine, Sampling};
use crate::gguf::Header;
use crate::network::{Network, Shape};
use crate::template::Template;
use crate::vocabulary::Vocabulary;
use crate::{LocalModelError, LocalModelSettings};

/// Smallest useful context, in tokens.
const MIN_CONTEXT: usize = 1_024;

/// File with a valid header.
pub(crate) struct Opened {
    header: Header,
    shape: Shape,
    words: usize,
    settings: LocalModelSettings,
    context_tokens: usize,
    kept_bytes: usize,
}

impl Opened {
    /// Reads the header and checks everything that does not need the weights.
    pub(crate) fn read(settings: LocalModelSettings) -> Result<Self, LocalModelError> {
        let header = Header::read(&settings.file)?;
        let shape = Shape::read(&header)?;
        let words = Network::check(&header, &shape)?;
        Template::read(&header)?;
        if header.value("tokenizer.ggml.tokens").is_none() {
            return Err(header.unsupported("it has no vocabulary", "use a file made with its tokenizer"));
        }
        let per_token = shape.bytes_per_token();
        let mut context_tokens = settings.context_tokens.min(shape.context).max(1) as usize;
        let mut kept_bytes = per_token.saturating_mul(context_tokens).saturating_mul(2);
        if let Some(granted) = settings.memory_bytes {
            let weights = header.weight_bytes();
            let needed = weights.saturating_add((MIN_CONTEXT.min(context_tokens) * per_token) as u64);
            if needed > granted {
                return Err(LocalModelError::TooLarge { file: settings.file, weights, needed, granted });
            }
            kept_bytes = usize::try_from(granted - weights).unwrap_or(usize::MAX);
            context_tokens = context_tokens.min(kept_bytes / per_token);
        }
        Ok(Self { header, shape, words, settings, context_tokens, kept_bytes })
    }

    pub(crate) fn limits(&self) -> ModelLimits {
        let context = u32::try_from(self.context_tokens).unwrap_or(u32::MAX);
        ModelLimits { context_tokens: context, max_output_tokens: (context / 2).clamp(1, 4_096), small: self.shape.is_small() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.settings.file.clone()
    }

    /// Reads the weights.
    pub(crate) fn load(self) -> Result<Engine, LocalModelError> {
        let most_output_tokens = self.limits().max_output_tokens as usize;
        let threads = self.settings.threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|number| format!("local-model-{number}"))
            .build()
            .map_err(|error| LocalModelError::Threads { file: self.file(), reason: error.to_string() })?;
        Ok(Engine {
            name: self.settings.name,
            network: Network::load(&self.header, self.shape)?,
            vocabulary: Vocabulary::read(&self.header, self.words)?,
            template: Template::read(&self.header)?,
            grammars: None,
            sampling: Sampling {
                temperature: self.settings.temperature,
                top_p: self.settings.top_p,
                top_k: self.settings.top_k,
                repetition_penalty: self.settings.repetition_penalty,
            },
            context_tokens: self.context_tokens,
            most_output_tokens,
            kept_bytes: self.kept_bytes,
            pool,
        })
    }
}
