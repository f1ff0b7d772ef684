//! The product of quantised rows with many inputs.

use std::marker::PhantomData;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::unpack::{Block, Unpacked};

/// The instructions of the processor at hand.
pub(crate) type Instructions = pulp::Arch;

/// Rows of weights that are unpacked together and meet each input once.
const TOGETHER: usize = 4;
/// Rows of weights that one thread takes at a time.
const SHARE: usize = 16;
/// The largest input in whole numbers: 4,096 × 2,047 × 256 still fits 32 bits.
const LARGEST: f32 = 2_047.0;

/// The sum of the products of whole numbers.
#[inline(always)]
pub(crate) fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).fold(0i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)))
}

/// Inputs in whole numbers: for each block of columns, one piece for each input.
struct Rounded {
    values: Vec<i16>,
    scales: Vec<f32>,
    /// The sum of each 16 values, times the scale; empty where the weights have no offsets.
    sums: Vec<f32>,
}

impl Rounded {
    fn new<B: Block>(instructions: Instructions, inputs: &[f32], columns: usize) -> Self {
        let count = inputs.len() / columns;
        let mut rounded = Self {
            values: vec![0; inputs.len()],
            scales: vec![0.0; inputs.len() / B::WEIGHTS],
            sums: vec![0.0; if B::LOWS { inputs.len() / 16 } else { 0 }],
        };
        let mut sums = rounded.sums.chunks_mut(count * B::WEIGHTS / 16);
        for (block, (values, scales)) in
            rounded.values.chunks_exact_mut(count * B::WEIGHTS).zip(rounded.scales.chunks_exact_mut(count)).enumerate()
        {
            let mut sums = sums.next().unwrap_or_default().chunks_exact_mut(B::WEIGHTS / 16);
            for ((input, values), scale) in inputs.chunks_exact(columns).zip(values.chunks_exact_mut(B::WEIGHTS)).zip(scales.iter_mut()) {
                let input = input.chunks_exact(B::WEIGHTS).nth(block).unwrap_or(&[]);
                *scale = instructions.dispatch(Round { input, to: values });
                for (sum, values) in sums.next().unwrap_or_default().iter_mut().zip(values.chunks_exact(16)) {
                    *sum = values.iter().map(|value| i32::from(*value)).sum::<i32>() as f32 * *scale;
                }
            }
        }
        rounded
    }
}

/// Rounds a piece to whole numbers; gives the scale.
struct Round<'a> {
    input: &'a [f32],
    to: &'a mut [i16],
}

impl WithSimd for Round<'_> {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        round(self.input, self.to)
    }
}

#[inline(always)]
fn round(input: &[f32], to: &mut [i16]) -> f32 {
    let mut largest = [0.0f32; 16];
    for piece in input.as_chunks::<16>().0 {
        for (largest, value) in largest.iter_mut().zip(piece) {
            *largest = if value.abs() > *largest { value.abs() } else { *largest };
        }
    }
    let largest = largest.iter().fold(0.0f32, |largest, value| largest.max(*value));
    if largest == 0.0 || !largest.is_finite() {
        to.fill(0);
        return 0.0;
    }
    let factor = LARGEST / largest;
    for (to, value) in to.iter_mut().zip(input) {
        // Adding and taking away 1.5 × 2^23 rounds to the nearest whole number without a call.
        *to = ((value * factor + 12_582_912.0) - 12_582_912.0) as i32 as i16;
    }
    largest / LARGEST
}

/// The product of the weights with each input; see [`Matrix::times`](super::Matrix::times).
pub(super) fn times<B: Block>(instructions: Instructions, weights: &[u8], rows: usize, columns: usize, inputs: &[f32]) -> Vec<f32> {
    let count = inputs.len() / columns;
    if count == 0 || rows == 0 {
        return Vec::new();
    }
    let rounded = Rounded::new::<B>(instructions, inputs, columns);
    let row_bytes = columns / B::WEIGHTS * B::BYTES;
    let mut by_row = vec![0.0f32; rows * count];
    by_row.par_chunks_mut(SHARE * count).zip(weights.par_chunks(SHARE * row_bytes)).for_each(|(outputs, weights)| {
        instructions.dispatch(SomeRows::<B> { weights, row_bytes, inputs: &rounded, count, outputs, block: PhantomData });
    });
    if count == 1 {
        return by_row;
    }
    let mut by_input = vec![0.0f32; rows * count];
    by_input.par_chunks_exact_mut(rows).enumerate().for_each(|(number, outputs)| {
        for (output, row) in outputs.iter_mut().zip(by_row.chunks_exact(count)) {
            *output = row.get(number).copied().unwrap_or(0.0);
        }
    });
    by_input
}

/// The product of some rows. A type of its own, because a closure would not be compiled for the chosen instructions.
struct SomeRows<'a, B> {
    weights: &'a [u8],
    row_bytes: usize,
    inputs: &'a Rounded,
    count: usize,
    outputs: &'a mut [f32],
    block: PhantomData<B>,
}

impl<B: Block> WithSimd for SomeRows<'_, B> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { weights, row_bytes, inputs, count, outputs, .. } = self;
        for (outputs, weights) in outputs.chunks_mut(TOGETHER * count).zip(weights.chunks(TOGETHER * row_bytes)) {
            if count > 1 && outputs.len() == TOGETHER * count {
                many::<B>(weights, row_bytes, inputs, count, outputs);
            } else {
                for (outputs, row) in outputs.chunks_exact_mut(count).zip(weights.chunks_exact(row_bytes)) {
                    one::<B>(row, inputs, count, outputs);
                }
            }
        }
    }
}

/// One row of weights with all inputs.
#[inline(always)]
fn one<B: Block>(row: &[u8], inputs: &Rounded, count: usize, outputs: &mut [f32]) {
    let mut unpacked = Unpacked::new();
    let mut sums = inputs.sums.chunks_exact(count * B::WEIGHTS / 16);
    for ((block, values), scales) in
        row.chunks_exact(B::BYTES).zip(inputs.values.chunks_exact(count * B::WEIGHTS)).zip(inputs.scales.chunks_exact(count))
    {
        let scale = B::unpack(block, &mut unpacked);
        let (weights, _) = unpacked.values.split_at(B::WEIGHTS);
        for ((output, values), input_scale) in outputs.iter_mut().zip(values.chunks_exact(B::WEIGHTS)).zip(scales) {
            *output += dot(weights, values) as f32 * (scale * input_scale);
        }
        if B::LOWS {
            let sums = sums.next().unwrap_or(&[]);
            for (output, sums) in outputs.iter_mut().zip(sums.chunks_exact(B::WEIGHTS / 16)) {
                *output -= lows(sums, &unpacked.lows);
            }
        }
    }
}

/// [`TOGETHER`] rows of weights with all inputs: each input is read once for all of them.
#[inline(always)]
fn many<B: Block>(rows: &[u8], row_bytes: usize, inputs: &Rounded, count: usize, outputs: &mut [f32]) {
    let mut unpacked = [const { Unpacked::new() }; TOGETHER];
    let mut scale = [0.0; TOGETHER];
    let mut sums = inputs.sums.chunks_exact(count * B::WEIGHTS / 16);
    for (number, (values, scales)) in inputs.values.chunks_exact(count * B::WEIGHTS).zip(inputs.scales.chunks_exact(count)).enumerate() {
        for ((unpacked, scale), row) in unpacked.iter_mut().zip(&mut scale).zip(rows.chunks_exact(row_bytes)) {
            *scale = B::unpack(row.chunks_exact(B::BYTES).nth(number).unwrap_or(&[]), unpacked);
        }
        let sums = sums.next().unwrap_or(&[]);
        for ((outputs, unpacked), scale) in outputs.chunks_exact_mut(count).zip(&unpacked).zip(scale) {
            let (weights, _) = unpacked.values.split_at(B::WEIGHTS);
            for ((output, values), input_scale) in outputs.iter_mut().zip(values.chunks_exact(B::WEIGHTS)).zip(scales) {
                *output += dot(weights, values) as f32 * (scale * input_scale);
            }
            if B::LOWS {
                for (output, sums) in outputs.iter_mut().zip(sums.chunks_exact(B::WEIGHTS / 16)) {
                    *output -= lows(sums, &unpacked.lows);
                }
            }
        }
    }
}

#[inline(always)]
fn lows(sums: &[f32], lows: &[f32; 16]) -> f32 {
    if let Some(sums) = sums.as_array::<16>() {
        let mut products = [0.0f32; 16];
        for ((product, sum), low) in products.iter_mut().zip(sums).zip(lows) {
            *product = sum * low;
        }
        let mut width = 8;
        while width > 0 {
            let (left, right) = products.split_at_mut(width);
            for (left, right) in left.iter_mut().zip(right) {
                *left += *right;
            }
            width /= 2;
        }
        products[0]
    } else {
        sums.iter().zip(lows).map(|(sum, low)| sum * low).sum()
    }
}
