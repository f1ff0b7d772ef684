//! Loads the weights from the file.

use std::fs::File;

use super::{LayerWeights, Network, Projection, Shape};
use crate::LocalModelError;
use crate::gguf::Header;
use crate::matrix::{self, Instructions, Matrix};

impl Network {
    /// Checks that the file contains every tensor in the right shape, without reading any.
    pub(crate) fn check(header: &Header, shape: &Shape) -> Result<usize, LocalModelError> {
        let embeddings = header.tensor("token_embd.weight").ok_or_else(|| header.damaged("it has no tensor token_embd.weight"))?;
        let words = embeddings.shape.get(1).and_then(|words| usize::try_from(*words).ok()).unwrap_or(0);
        let mut wanted =
            vec![("token_embd.weight".to_owned(), vec![shape.width, words]), ("output_norm.weight".to_owned(), vec![shape.width])];
        if header.tensor("output.weight").is_some() {
            wanted.push(("output.weight".to_owned(), vec![shape.width, words]));
        }
        for layer in 0..shape.layers {
            let (own, kept) = (shape.heads * shape.head, shape.kv_heads * shape.head);
            for (name, sizes) in [
                ("attn_norm", vec![shape.width]),
                ("ffn_norm", vec![shape.width]),
                ("attn_q", vec![shape.width, own]),
                ("attn_k", vec![shape.width, kept]),
                ("attn_v", vec![shape.width, kept]),
                ("attn_output", vec![own, shape.width]),
                ("ffn_gate", vec![shape.width, shape.ffn_width]),
                ("ffn_up", vec![shape.width, shape.ffn_width]),
                ("ffn_down", vec![shape.ffn_width, shape.width]),
            ] {
                wanted.push((format!("blk.{layer}.{name}.weight"), sizes));
            }
        }
        for (name, sizes) in wanted {
            let tensor = header.tensor(&name).ok_or_else(|| header.damaged(format!("it has no tensor {name}")))?;
            let fits = tensor.shape.iter().copied().eq(sizes.iter().map(|size| *size as u64));
            if !fits {
                return Err(header.damaged(format!("tensor {name} has the shape {:?}, not {sizes:?}", tensor.shape)));
            }
        }
        Ok(words)
    }

    /// Reads all weights into memory.
    pub(crate) fn load(header: &Header, shape: Shape) -> Result<Self, LocalModelError> {
        Self::check(header, &shape)?;
        let file = File::open(header.file())
            .map_err(|error| LocalModelError::Unreadable { file: header.file().to_owned(), reason: error.to_string() })?;
        let mut source = Source { header, file };
        let layers = (0..shape.layers).map(|number| source.layer(number, &shape)).collect::<Result<_, _>>()?;
        let factors = source.optional("rope_freqs.weight", shape.rope_dims / 2)?;
        let turns = (0..shape.rope_dims / 2)
            .map(|pair| {
                let turn = shape.rope_base.powf(-2.0 * pair as f32 / shape.rope_dims as f32) / shape.rope_scale;
                turn / factors.as_ref().and_then(|factors| factors.get(pair)).copied().unwrap_or(1.0)
            })
            .collect();
        let output = if header.tensor("output.weight").is_some() { Some(source.matrix("output.weight")?) } else { None };
        Ok(Self {
            instructions: Instructions::new(),
            embeddings: source.matrix("token_embd.weight")?,
            layers,
            output_norm: source.numbers("output_norm.weight", shape.width)?,
            output,
            turns,
            shape,
        })
    }
}

struct Source<'a> {
    header: &'a Header,
    file: File,
}

impl Source<'_> {
    fn layer(&mut self, number: usize, shape: &Shape) -> Result<LayerWeights, LocalModelError> {
        let name = |part: &str| format!("blk.{number}.{part}");
        Ok(LayerWeights {
            attention_norm: self.numbers(&name("attn_norm.weight"), shape.width)?,
            query: self.projection(&name("attn_q"))?,
            key: self.projection(&name("attn_k"))?,
            value: self.projection(&name("attn_v"))?,
            query_norm: self.optional(&name("attn_q_norm.weight"), shape.head)?,
            key_norm: self.optional(&name("attn_k_norm.weight"), shape.head)?,
            attention_output: self.projection(&name("attn_output"))?,
            feed_norm: self.numbers(&name("ffn_norm.weight"), shape.width)?,
            gate: self.projection(&name("ffn_gate"))?,
            up: self.projection(&name("ffn_up"))?,
            down: self.projection(&name("ffn_down"))?,
        })
    }

    fn projection(&mut self, name: &str) -> Result<Projection, LocalModelError> {
        let weights = self.matrix(&format!("{name}.weight"))?;
        let bias = self.optional(&format!("{name}.bias"), weights.rows())?;
        Ok(Projection { weights, bias })
    }

    fn matrix(&mut self, name: &str) -> Result<Matrix, LocalModelError> {
        let place = self.header.tensor(name).ok_or_else(|| self.header.damaged(format!("it has no tensor {name}")))?;
        let bytes = self.header.tensor_bytes(&mut self.file, place)?;
        let [columns, rows] = *place.shape.as_slice() else {
            return Err(self.header.damaged(format!("tensor {name} is not a matrix")));
        };
        let (rows, columns) = (usize::try_from(rows).unwrap_or(0), usize::try_from(columns).unwrap_or(0));
        Matrix::new(place.format, rows, columns, bytes).ok_or_else(|| self.header.damaged(format!("tensor {name} has an odd size")))
    }

    fn numbers(&mut self, name: &str, length: usize) -> Result<Vec<f32>, LocalModelError> {
        self.optional(name, length)?.ok_or_else(|| self.header.damaged(format!("it has no tensor {name}")))
    }

    fn optional(&mut self, name: &str, length: usize) -> Result<Option<Vec<f32>>, LocalModelError> {
        let Some(place) = self.header.tensor(name) else { return Ok(None) };
        let bytes = self.header.tensor_bytes(&mut self.file, place)?;
        let numbers = matrix::numbers(place.format, &bytes).filter(|numbers| numbers.len() == length);
        numbers.map(Some).ok_or_else(|| self.header.damaged(format!("tensor {name} is not a vector of {length} numbers")))
    }
}
