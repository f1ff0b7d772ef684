//! Keys and values of a token sequence.

mod store;

pub(crate) use store::Store;

/// Keys and values of a sequence, layer by layer, with its tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequence {
    pub(crate) tokens: Vec<u32>,
    pub(crate) layers: Vec<Layer>,
}

/// Keys and values of one layer: for each token and head, a vector of integers and its scale.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    pub(crate) keys: Vec<i16>,
    pub(crate) key_scales: Vec<f32>,
    pub(crate) values: Vec<i16>,
    pub(crate) value_scales: Vec<f32>,
}

impl Sequence {
    pub(crate) fn new(layers: usize) -> Self {
        Self { tokens: Vec::new(), layers: vec![Layer::default(); layers] }
    }

    /// Returns the length of the common prefix with `tokens`.
    pub(crate) fn common(&self, tokens: &[u32]) -> usize {
        self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count()
    }

    /// Removes everything after the first `length` tokens.
    pub(crate) fn truncate(&mut self, length: usize) {
        let count = self.tokens.len();
        if count <= length {
            return;
        }
        for layer in &mut self.layers {
            layer.keys.truncate(layer.keys.len() / count * length);
            layer.values.truncate(layer.values.len() / count * length);
            layer.key_scales.truncate(layer.key_scales.len() / count * length);
            layer.value_scales.truncate(layer.value_scales.len() / count * length);
        }
        self.tokens.truncate(length);
    }

    /// Copies the first `length` tokens.
    pub(crate) fn prefix(&self, length: usize) -> Self {
        let count = self.tokens.len().max(1);
        let length = length.min(self.tokens.len());
        fn first<T: Copy>(all: &[T], count: usize, length: usize) -> Vec<T> {
            all.iter().take(all.len() / count * length).copied().collect()
        }
        Self {
            tokens: first(&self.tokens, count, length),
            layers: self
                .layers
                .iter()
                .map(|layer| Layer {
                    keys: first(&layer.keys, count, length),
                    key_scales: first(&layer.key_scales, count, length),
                    values: first(&layer.values, count, length),
                    value_scales: first(&layer.value_scales, count, length),
                })
                .collect(),
        }
    }

    /// Returns its size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let layers: usize = self
            .layers
            .iter()
            .map(|layer| (layer.keys.len() + layer.values.len()) * 2 + (layer.key_scales.len() + layer.value_scales.len()) * 4)
            .sum();
        layers + self.tokens.len() * 4
    }
}
