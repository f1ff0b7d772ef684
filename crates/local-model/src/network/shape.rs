//! Shape of a network, read from a file's metadata.

use crate::LocalModelError;
use crate::gguf::Header;

/// The shape of a network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) ffn_width: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head: usize,
    pub(crate) epsilon: f32,
    /// Number of elements of a head that rotate with the position.
    pub(crate) rope_dims: usize,
    pub(crate) rope_base: f32,
    /// Stretch factor of positions.
    pub(crate) rope_scale: f32,
    /// True if the pairs that rotate together are adjacent (llama), false if they are half a head apart (qwen).
    pub(crate) interleaved: bool,
    /// Context length that it was trained for, in tokens.
    pub(crate) context: u32,
}

/// Architectures that differ only in [`Shape`] and optional tensors.
const KNOWN: [(&str, bool); 4] = [("llama", true), ("mistral", true), ("qwen2", false), ("qwen3", false)];

/// Largest number of parameters of a small model.
const SMALL: u64 = 4_000_000_000;

impl Shape {
    pub(crate) fn read(header: &Header) -> Result<Self, LocalModelError> {
        let Some(architecture) = header.text("general.architecture") else {
            return Err(header.damaged("it does not name its architecture"));
        };
        let Some((_, interleaved)) = KNOWN.iter().find(|(name, _)| *name == architecture) else {
            let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
            return Err(header.unsupported(
                format!("its architecture is {architecture}"),
                format!("use a model of one of the architectures {}, or serve this one with a model server", names.join(", ")),
            ));
        };
        let key = |name: &str| format!("{architecture}.{name}");
        let size = |name: &str| -> Result<usize, LocalModelError> {
            let found =
                header.whole(&key(name)).and_then(|value| usize::try_from(value).ok()).filter(|value| (1..=1 << 20).contains(value));
            found.ok_or_else(|| header.damaged(format!("{} is missing or not a sensible number", key(name))))
        };
        if header.whole(&key("expert_count")).is_some_and(|experts| experts > 0) {
            return Err(header.unsupported("it is a mixture of experts", "use a dense model"));
        }
        let scaling = header.text(&key("rope.scaling.type")).unwrap_or("none");
        let rope_scale = match scaling {
            "none" => 1.0,
            "linear" => header.number(&key("rope.scaling.factor")).unwrap_or(1.0) as f32,
            other => return Err(header.unsupported(format!("it stretches positions by {other}"), "use a model without it")),
        };
        let (width, heads) = (size("embedding_length")?, size("attention.head_count")?);
        let kv_heads = if header.value(&key("attention.head_count_kv")).is_some() { size("attention.head_count_kv")? } else { heads };
        let head = if header.value(&key("attention.key_length")).is_some() { size("attention.key_length")? } else { width / heads };
        let rope_dims = if header.value(&key("rope.dimension_count")).is_some() { size("rope.dimension_count")? } else { head };
        let shape = Self {
            layers: size("block_count")?,
            width,
            ffn_width: size("feed_forward_length")?,
            heads,
            kv_heads,
            head,
            epsilon: header.number(&key("attention.layer_norm_rms_epsilon")).unwrap_or(1e-5) as f32,
            rope_dims,
            rope_base: header.number(&key("rope.freq_base")).unwrap_or(10_000.0) as f32,
            rope_scale,
            interleaved: *interleaved,
            context: u32::try_from(size("context_length")?).unwrap_or(u32::MAX),
        };
        let sound = shape.heads.is_multiple_of(shape.kv_heads)
            && (2..=512).contains(&shape.head)
            && shape.rope_dims <= shape.head
            && shape.rope_dims.is_multiple_of(2)
            && shape.width.is_multiple_of(32)
            && shape.ffn_width.is_multiple_of(32)
            && (shape.heads * shape.head).is_multiple_of(32)
            && shape.layers <= 1024
            && shape.rope_base > 1.0
            && shape.rope_scale > 0.0
            && shape.epsilon > 0.0;
        if !sound {
            return Err(header.damaged(format!("its sizes do not fit one another: {shape:?}")));
        }
        // Within its length a sliding window makes no difference, so the context is limited to it.
        let window =
            header.whole(&key("attention.sliding_window")).filter(|window| *window > 0).and_then(|window| u32::try_from(window).ok());
        Ok(Self { context: window.unwrap_or(u32::MAX).min(shape.context), ..shape })
    }

    /// Returns true if its layers have fewer than four billion parameters.
    pub(crate) fn is_small(&self) -> bool {
        let attention = 2 * self.width * self.head * (self.heads + self.kv_heads);
        (self.layers * (attention + 3 * self.width * self.ffn_width)) as u64 <= SMALL
    }

    /// Returns the size of the keys and values of one token, in bytes.
    pub(crate) fn bytes_per_token(&self) -> usize {
        self.layers * self.kv_heads * (self.head * 4 + 8) + 4
    }
}
