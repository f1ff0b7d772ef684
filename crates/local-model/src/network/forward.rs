//! Forward pass: from tokens to the scores of the next one.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::attention::{Row, attend, round};
use super::{Network, Projection, Shape};
use crate::prompt_cache::Sequence;

/// Tokens that are added to one sequence.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) sequence: &'a mut Sequence,
    pub(crate) tokens: &'a [u32],
    /// True if the scores of the next token are needed.
    pub(crate) scores: bool,
}

impl Network {
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Adds the tokens of each part to its sequence, all in one pass over the weights. Returns, for each part that needs them, the scores
    /// of all words for the next token.
    pub(crate) fn forward(&self, parts: &mut [Part<'_>]) -> Vec<Vec<f32>> {
        let Shape { width, epsilon, .. } = self.shape;
        let rows: Vec<Row> = parts
            .iter()
            .enumerate()
            .flat_map(|(part, of)| (0..of.tokens.len()).map(move |number| Row { part, position: of.sequence.tokens.len() + number }))
            .collect();
        let mut residual = vec![0.0f32; rows.len() * width];
        for (to, token) in residual.chunks_exact_mut(width).zip(parts.iter().flat_map(|part| part.tokens)) {
            self.embeddings.row(*token as usize, to);
        }
        for number in 0..self.layers.len() {
            self.layer(number, &rows, parts, &mut residual);
        }
        let mut last = Vec::new();
        let mut end = 0;
        for part in parts.iter_mut() {
            end += part.tokens.len();
            part.sequence.tokens.extend_from_slice(part.tokens);
            if part.scores
                && let Some(row) = residual.chunks_exact(width).take(end).next_back()
            {
                last.extend_from_slice(row);
            }
        }
        normalise(&mut last, &self.output_norm, epsilon);
        let output = self.output.as_ref().unwrap_or(&self.embeddings);
        output.times(self.instructions, &last).chunks_exact(output.rows()).map(<[f32]>::to_vec).collect()
    }

    fn layer(&self, number: usize, rows: &[Row], parts: &mut [Part<'_>], residual: &mut [f32]) {
        let Shape { head, kv_heads, epsilon, .. } = self.shape;
        let Some(layer) = self.layers.get(number) else { return };
        let mut normal = residual.to_vec();
        normalise(&mut normal, &layer.attention_norm, epsilon);
        let mut queries = self.project(&layer.query, &normal);
        let mut keys = self.project(&layer.key, &normal);
        let values = self.project(&layer.value, &normal);
        if let Some(norm) = &layer.query_norm {
            normalise(&mut queries, norm, epsilon);
        }
        if let Some(norm) = &layer.key_norm {
            normalise(&mut keys, norm, epsilon);
        }
        let kept_width = kv_heads * head;
        self.turn(rows, &mut queries);
        self.turn(rows, &mut keys);
        for ((row, keys), values) in rows.iter().zip(keys.chunks_exact(kept_width)).zip(values.chunks_exact(kept_width)) {
            let Some(kept) = parts.get_mut(row.part).and_then(|part| part.sequence.layers.get_mut(number)) else { continue };
            for (key, value) in keys.chunks_exact(head).zip(values.chunks_exact(head)) {
                kept.key_scales.push(round(key, &mut kept.keys));
                kept.value_scales.push(round(value, &mut kept.values));
            }
        }
        let attended = attend(self.instructions, &self.shape, number, rows, parts, &queries);
        add(residual, &self.project(&layer.attention_output, &attended));

        let mut normal = residual.to_vec();
        normalise(&mut normal, &layer.feed_norm, epsilon);
        let mut gate = self.project(&layer.gate, &normal);
        let up = self.project(&layer.up, &normal);
        gate.par_chunks_mut(2048).zip(up.par_chunks(2048)).for_each(|(gate, up)| {
            self.instructions.dispatch(Gate { gate, up });
        });
        add(residual, &self.project(&layer.down, &gate));
    }

    fn project(&self, by: &Projection, inputs: &[f32]) -> Vec<f32> {
        let mut outputs = by.weights.times(self.instructions, inputs);
        if let Some(bias) = &by.bias {
            for row in outputs.chunks_exact_mut(bias.len()) {
                add(row, bias);
            }
        }
        outputs
    }

    /// Rotates pairs of each head by the position (rotary embedding, Su et al. 2021).
    fn turn(&self, rows: &[Row], vectors: &mut [f32]) {
        let Shape { head, rope_dims, interleaved, .. } = self.shape;
        let width = vectors.len() / rows.len().max(1);
        vectors.par_chunks_exact_mut(width.max(1)).zip(rows).for_each(|(vectors, row)| {
            let angles: Vec<(f32, f32)> = self.turns.iter().map(|turn| (turn * row.position as f32).sin_cos()).collect();
            for vector in vectors.chunks_exact_mut(head) {
                let vector = vector.split_at_mut(rope_dims).0;
                if interleaved {
                    for ([a, b], (sin, cos)) in vector.as_chunks_mut().0.iter_mut().zip(&angles) {
                        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                    }
                } else {
                    let (first, second) = vector.split_at_mut(rope_dims / 2);
                    for ((a, b), (sin, cos)) in first.iter_mut().zip(second).zip(&angles) {
                        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                    }
                }
            }
        });
    }
}

/// Scales each vector of the norm's length to a mean square of 1 and multiplies it with the norm (RMSNorm).
fn normalise(vectors: &mut [f32], norm: &[f32], epsilon: f32) {
    vectors.par_chunks_exact_mut(norm.len().max(1)).with_min_len(8).for_each(|vector| {
        let mut sums = [0.0f32; 8];
        let (chunks, rest) = vector.as_chunks::<8>();
        for chunk in chunks {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value * value;
            }
        }
        let square: f32 = sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>();
        let scale = 1.0 / (square / norm.len() as f32 + epsilon).sqrt();
        for (value, norm) in vector.iter_mut().zip(norm) {
            *value *= scale * norm;
        }
    });
}

/// Gated activation (SwiGLU).
struct Gate<'a> {
    gate: &'a mut [f32],
    up: &'a [f32],
}

impl WithSimd for Gate<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (gate, up) in self.gate.iter_mut().zip(self.up) {
            *gate = *gate / (1.0 + exp(-*gate)) * up;
        }
    }
}

fn add(to: &mut [f32], what: &[f32]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

/// Returns `e` to the power of `x`, to about 7 digits, in a form that compilers vectorise (Cephes' `expf`).
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let whole = (x * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let square = rest * rest;
    let mut sum = 1.987_569_1e-4;
    for factor in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        sum = sum * rest + factor;
    }
    (sum * square + rest + 1.0) * f32::from_bits(((whole as i32 + 127) << 23) as u32)
}
