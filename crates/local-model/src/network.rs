//! The network: llama-like transformers, as GGUF files describe them.

mod attention;
mod forward;
mod load;
mod shape;

pub(crate) use forward::Part;
pub(crate) use shape::Shape;

use crate::matrix::{Instructions, Matrix};

/// A network with its weights.
#[derive(Debug)]
pub(crate) struct Network {
    shape: Shape,
    instructions: Instructions,
    embeddings: Matrix,
    layers: Vec<LayerWeights>,
    output_norm: Vec<f32>,
    /// Without it, the embeddings serve again.
    output: Option<Matrix>,
    /// How far each pair of a head turns from one token to the next.
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

#[cfg(test)]
mod trial {
    use super::*;
    #[test]
    #[ignore]
    fn speed() {
        let file = std::env::var("GGUF").unwrap();
        let t = std::time::Instant::now();
        let header = crate::gguf::Header::read(std::path::Path::new(&file)).unwrap();
        println!("header {:?}", t.elapsed());
        let shape = Shape::read(&header).unwrap();
        let network = Network::load(&header, shape.clone()).unwrap();
        println!("load {:?}", t.elapsed());
        let mut sequence = crate::kept::Sequence::new(shape.layers);
        let ids: Vec<u32> = (0..512).map(|i| 1000 + (i * 37) % 5000).collect();
        let t = std::time::Instant::now();
        let mut scores = Vec::new();
        for ids in ids.chunks(128) {
            scores = network.forward(&mut [Part { sequence: &mut sequence, tokens: ids, scores: true }]);
        }
        println!("prompt {:.1} tok/s", 512.0 / t.elapsed().as_secs_f32());
        let t = std::time::Instant::now();
        let mut out = vec![];
        for _ in 0..32 {
            let best = scores[0].iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0 as u32;
            out.push(best);
            scores = network.forward(&mut [Part { sequence: &mut sequence, tokens: &[best], scores: true }]);
        }
        println!("gen {:.2} tok/s {out:?}", 32.0 / t.elapsed().as_secs_f32());
        let s = std::fs::read_to_string("/proc/self/status").unwrap();
        for l in s.lines().filter(|l| l.starts_with("VmHWM")) {
            println!("{l}");
        }
    }
}
