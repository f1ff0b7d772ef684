//! Attention over the cached keys and values.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Shape;
use super::forward::{Part, exp};
use crate::matrix::{Instructions, dot};
use crate::prompt_cache::Layer;

/// Largest rounded key or query: its square times 512 still fits 32 bits.
const MAX_ROUNDED: f32 = 2_047.0;

/// Token of a pass: its part and its position in the sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) part: usize,
    pub(super) position: usize,
}

/// Rounds a vector to integers and returns the scale.
pub(super) fn round(vector: &[f32], to: &mut Vec<i16>) -> f32 {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        to.extend(vector.iter().map(|_| 0));
        return 0.0;
    }
    let factor = MAX_ROUNDED / largest;
    to.extend(vector.iter().map(|value| ((value * factor + 12_582_912.0) - 12_582_912.0) as i16));
    largest / MAX_ROUNDED
}

/// Computes the attention output of each head of each row over the tokens up to it.
pub(super) fn attend(
    instructions: Instructions,
    shape: &Shape,
    layer: usize,
    rows: &[Row],
    parts: &[Part<'_>],
    queries: &[f32],
) -> Vec<f32> {
    let Shape { heads, kv_heads, head, .. } = *shape;
    let group = heads / kv_heads * head;
    let mut outputs = vec![0.0f32; queries.len()];
    outputs.par_chunks_exact_mut(group).zip(queries.par_chunks_exact(group)).enumerate().for_each(|(number, (outputs, queries))| {
        let (row, kept_head) = (number / kv_heads, number % kv_heads);
        let Some(Row { part, position }) = rows.get(row).copied() else { return };
        let Some(kept) = parts.get(part).and_then(|part| part.sequence.layers.get(layer)) else { return };
        instructions.dispatch(Heads { kept, kept_head, kv_heads, head, position, queries, outputs });
    });
    outputs
}

/// Heads of one row that share keys and values. This is a type, because a closure would not be compiled for the chosen instructions.
struct Heads<'a> {
    kept: &'a Layer,
    kept_head: usize,
    kv_heads: usize,
    head: usize,
    position: usize,
    queries: &'a [f32],
    outputs: &'a mut [f32],
}

impl WithSimd for Heads<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { kept, kept_head, kv_heads, head, position, queries, outputs } = self;
        let (width, from) = (kv_heads * head, kept_head * head);
        let scale = 1.0 / (head as f32).sqrt();
        let mut rounded = Vec::with_capacity(head);
        let mut scores = vec![0.0f32; position + 1];
        for (query, output) in queries.chunks_exact(head).zip(outputs.chunks_exact_mut(head)) {
            rounded.clear();
            let query_scale = round(query, &mut rounded) * scale;
            let mut largest = f32::MIN;
            for ((score, keys), scales) in scores.iter_mut().zip(kept.keys.chunks_exact(width)).zip(kept.key_scales.chunks_exact(kv_heads))
            {
                let key = keys.split_at(from).1.split_at(head).0;
                *score = dot(&rounded, key) as f32 * (query_scale * scales.get(kept_head).copied().unwrap_or(0.0));
                largest = largest.max(*score);
            }
            for score in &mut scores {
                *score = exp(*score - largest);
            }
            let sum: f32 = scores.iter().sum();
            for ((score, values), scales) in
                scores.iter().zip(kept.values.chunks_exact(width)).zip(kept.value_scales.chunks_exact(kv_heads))
            {
                let value = values.split_at(from).1.split_at(head).0;
                let weight = score * scales.get(kept_head).copied().unwrap_or(0.0) / sum;
                for (output, value) in output.iter_mut().zip(value) {
                    *output += weight * f32::from(*value);
                }
            }
        }
    }
}
