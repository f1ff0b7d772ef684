//! Llama-like transformer networks as described by GGUF files.

mod attention;
mod forward;
mod load;
mod shape;

pub(crate) use forward::Part;
pub(crate) use shape::Shape;

use crate::matrix::{Instructions, Matrix};

/// Network with its weights.
#[derive(Debug)]
pub(crate) struct Network {
    shape: Shape,
    instructions: Instructions,
    embeddings: Matrix,
    layers: Vec<LayerWeights>,
    output_norm: Vec<f32>,
    /// Output matrix. Without one, the embeddings are used.
    output: Option<Matrix>,
    /// Rotation of each pair of a head from one token to the next.
    turns: Vec<f32>,
}

#[derive(Debug)]
struct LayerWeights {
    attention_norm: Vec<f32>,
    query: Projection,
    key: Projection,
    value: Projection,
    query_norm: Option<Vec<f32>>,
    key_norm: Option<Vec<f32>>,
    attention_output: Projection,
    feed_norm: Vec<f32>,
    gate: Projection,
    up: Projection,
    down: Projection,
}

#[derive(Debug)]
struct Projection {
    weights: Matrix,
    bias: Option<Vec<f32>>,
}
