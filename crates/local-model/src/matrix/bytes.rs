//! Products of the K formats with AVX2 in 8-bit integers: one instruction multiplies twice as many of them as 16-bit ones. Inputs are
//! rounded to 7 bits and a sign per block of 256, as in ggml.

use std::marker::PhantomData;

use pulp::x86::V3;
use pulp::{Simd, WithSimd, cast, f32x8, i32x8};

use super::Form;
use super::open::{self, Opened, Opens};
use super::product::{Instructions, TOGETHER, by_rows};

/// Size of a block of weights and inputs.
const BLOCK: usize = 256;
/// Largest rounded input: 2 × 63 × 127 still fits 16 bits.
const MAX_ROUNDED: f32 = 127.0;

/// Multiplies the weights with each input, for supported formats and processors; see [`Matrix::times`](super::Matrix::times).
pub(super) fn times(
    form: Form,
    instructions: Instructions,
    weights: &[u8],
    (rows, columns): (usize, usize),
    inputs: &[f32],
) -> Option<Vec<f32>> {
    if !matches!(instructions, Instructions::V3(_) | Instructions::V4(_)) {
        return None;
    }
    Some(match form {
        Form::Q2K => products::<open::Q2K>(instructions, weights, (rows, columns), inputs),
        Form::Q3K => products::<open::Q3K>(instructions, weights, (rows, columns), inputs),
        Form::Q4K => products::<open::Q4K>(instructions, weights, (rows, columns), inputs),
        Form::Q5K => products::<open::Q5K>(instructions, weights, (rows, columns), inputs),
        Form::Q6K => products::<open::Q6K>(instructions, weights, (rows, columns), inputs),
        _ => return None,
    })
}

fn products<B: Opens>(instructions: Instructions, weights: &[u8], (rows, columns): (usize, usize), inputs: &[f32]) -> Vec<f32> {
    let count = inputs.len() / columns;
    if count == 0 || rows == 0 {
        return Vec::new();
    }
    let mut rounded = vec![RoundedBlock::ZERO; inputs.len() / BLOCK];
    instructions.dispatch(Round { inputs, columns, to: &mut rounded });
    let row_bytes = columns / BLOCK * B::BYTES;
    by_rows(weights, (rows, row_bytes), count, |weights, outputs| {
        let rows = |lanes, outputs| SomeRows::<B> { lanes, weights, row_bytes, inputs: &rounded, count, outputs, block: PhantomData };
        match instructions {
            Instructions::V4(lanes) => Simd::vectorize(lanes, rows(*lanes, outputs)),
            Instructions::V3(lanes) => Simd::vectorize(lanes, rows(lanes, outputs)),
            _ => {}
        }
    })
}

/// Rounded block of an input.
#[derive(Clone)]
struct RoundedBlock {
    values: [i8; BLOCK],
    /// Sums of each 16 values.
    sums: [i16; 16],
    scale: f32,
}

impl RoundedBlock {
    const ZERO: Self = Self { values: [0; BLOCK], sums: [0; 16], scale: 0.0 };
}

/// Rounds inputs: for each block of columns, one piece per input.
struct Round<'a> {
    inputs: &'a [f32],
    columns: usize,
    to: &'a mut [RoundedBlock],
}

impl WithSimd for Round<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { inputs, columns, to } = self;
        let count = inputs.len() / columns;
        for (number, input) in inputs.chunks_exact(columns).enumerate() {
            for (block, to) in input.as_chunks::<BLOCK>().0.iter().zip(to.iter_mut().skip(number).step_by(count)) {
                round(block, to);
            }
        }
    }
}

#[inline(always)]
fn round(input: &[f32; BLOCK], to: &mut RoundedBlock) {
    let mut largest = [0.0f32; 16];
    for piece in input.as_chunks::<16>().0 {
        for (largest, value) in largest.iter_mut().zip(piece) {
            *largest = if value.abs() > *largest { value.abs() } else { *largest };
        }
    }
    let largest = largest.iter().fold(0.0f32, |largest, value| largest.max(*value));
    if largest == 0.0 || !largest.is_finite() {
        return;
    }
    let factor = MAX_ROUNDED / largest;
    for (to, value) in to.values.iter_mut().zip(input) {
        // Adding and subtracting 1.5 × 2^23 rounds to the nearest integer without a function call.
        *to = ((value * factor + 12_582_912.0) - 12_582_912.0) as i32 as i8;
    }
    for (sum, values) in to.sums.iter_mut().zip(to.values.as_chunks::<16>().0) {
        *sum = values.iter().map(|value| i16::from(*value)).sum();
    }
    to.scale = largest / MAX_ROUNDED;
}

/// Multiplies some rows. This is a type, because a closure would not be compiled for the chosen instructions.
struct SomeRows<'a, B> {
    lanes: V3,
    weights: &'a [u8],
    row_bytes: usize,
    inputs: &'a [RoundedBlock],
    count: usize,
    outputs: &'a mut [f32],
    block: PhantomData<B>,
}

impl<B: Opens> WithSimd for SomeRows<'_, B> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { lanes, weights, row_bytes, inputs, count, outputs, .. } = self;
        let mut opened = Vec::new();
        for (outputs, weights) in outputs.chunks_mut(TOGETHER * count).zip(weights.chunks(TOGETHER * row_bytes)) {
            if count > 1 && outputs.len() == TOGETHER * count {
                several::<B>(lanes, (weights, row_bytes), inputs, count, outputs, &mut opened);
            } else {
                for (outputs, row) in outputs.chunks_exact_mut(count).zip(weights.chunks_exact(row_bytes)) {
                    for (number, output) in outputs.iter_mut().enumerate() {
                        *output = one::<B>(lanes, row, inputs.iter().skip(number).step_by(count));
                    }
                }
            }
        }
    }
}

/// Multiplies one row of weights with one input. It does not take several rows at once, because the processor prefetches one stream, but
/// not four.
#[inline(always)]
fn one<'a, B: Opens>(lanes: V3, row: &[u8], input: impl Iterator<Item = &'a RoundedBlock>) -> f32 {
    let mut opened = Opened::ZERO;
    let mut total = lanes.splat_f32x8(0.0);
    for (block, input) in row.chunks_exact(B::BYTES).zip(input) {
        B::open(lanes, block, &mut opened);
        let mut sum = lanes.splat_i32x8(0);
        for ((weights, factors), values) in opened.pieces().zip(input.values.as_chunks().0) {
            sum = add_products(lanes, sum, weights, factors, values);
        }
        total = add_block(lanes, total, sum, &opened, input);
    }
    lanes.reduce_sum_f32s(total)
}

/// Multiplies [`TOGETHER`] rows of weights with all inputs, two inputs at a time.
#[inline(always)]
fn several<B: Opens>(
    lanes: V3,
    (rows, row_bytes): (&[u8], usize),
    inputs: &[RoundedBlock],
    count: usize,
    outputs: &mut [f32],
    opened: &mut Vec<[Opened; TOGETHER]>,
) {
    opened.resize_with(row_bytes / B::BYTES, || [const { Opened::ZERO }; TOGETHER]);
    for (row, weights) in rows.chunks_exact(row_bytes).enumerate() {
        for (block, opened) in weights.chunks_exact(B::BYTES).zip(opened.iter_mut()) {
            if let Some(opened) = opened.get_mut(row) {
                B::open(lanes, block, opened);
            }
        }
    }
    let mut number = 0;
    while number < count {
        // With an odd number of inputs, the last one is paired with itself.
        let second = (number + 1).min(count - 1);
        let mut totals = [[lanes.splat_f32x8(0.0); 2]; TOGETHER];
        for (weights, inputs) in opened.iter().zip(inputs.chunks_exact(count)) {
            let (Some(first), Some(second)) = (inputs.get(number), inputs.get(second)) else { return };
            let sums = tile(lanes, weights, [first, second]);
            for ((totals, sums), weights) in totals.iter_mut().zip(sums).zip(weights) {
                for ((total, sum), input) in totals.iter_mut().zip(sums).zip([first, second]) {
                    *total = add_block(lanes, *total, sum, weights, input);
                }
            }
        }
        for (outputs, totals) in outputs.chunks_exact_mut(count).zip(totals) {
            for (place, total) in [number, second].into_iter().zip(totals) {
                if let Some(output) = outputs.get_mut(place) {
                    *output = lanes.reduce_sum_f32s(total);
                }
            }
        }
        number += 2;
    }
}

/// Returns the sums of the products of one block of each of four rows with two inputs.
#[inline(always)]
fn tile(lanes: V3, [w0, w1, w2, w3]: &[Opened; TOGETHER], [a, b]: [&RoundedBlock; 2]) -> [[i32x8; 2]; TOGETHER] {
    let zero = lanes.splat_i32x8(0);
    let (mut a0, mut a1, mut a2, mut a3, mut b0, mut b1, mut b2, mut b3) = (zero, zero, zero, zero, zero, zero, zero, zero);
    let (w0, w1, w2, w3) = (w0.pieces(), w1.pieces(), w2.pieces(), w3.pieces());
    for (((((w0, w1), w2), w3), a), b) in w0.zip(w1).zip(w2).zip(w3).zip(a.values.as_chunks().0).zip(b.values.as_chunks().0) {
        a0 = add_products(lanes, a0, w0.0, w0.1, a);
        b0 = add_products(lanes, b0, w0.0, w0.1, b);
        a1 = add_products(lanes, a1, w1.0, w1.1, a);
        b1 = add_products(lanes, b1, w1.0, w1.1, b);
        a2 = add_products(lanes, a2, w2.0, w2.1, a);
        b2 = add_products(lanes, b2, w2.0, w2.1, b);
        a3 = add_products(lanes, a3, w3.0, w3.1, a);
        b3 = add_products(lanes, b3, w3.0, w3.1, b);
    }
    [[a0, b0], [a1, b1], [a2, b2], [a3, b3]]
}

/// Adds the products of 32 weights with 32 values, with a factor for each 16 of them.
#[inline(always)]
fn add_products(lanes: V3, sum: i32x8, weights: &[u8; 32], factors: &[i16; 16], values: &[i8; 32]) -> i32x8 {
    let pairs = lanes.multiply_saturating_add_adjacent_i8x32(cast(*weights), cast(*values));
    lanes.wrapping_add_i32x8(sum, lanes.multiply_wrapping_add_adjacent_i16x16(pairs, cast(*factors)))
}

/// Adds the result of a block: the sum of its products, and its offsets.
#[inline(always)]
fn add_block(lanes: V3, total: f32x8, sum: i32x8, weights: &Opened, input: &RoundedBlock) -> f32x8 {
    let total = lanes.mul_add_f32x8(lanes.convert_i32x8_to_f32x8(sum), lanes.splat_f32x8(weights.scale * input.scale), total);
    let lows = lanes.multiply_wrapping_add_adjacent_i16x16(cast(weights.lows), cast(input.sums));
    lanes.mul_add_f32x8(lanes.convert_i32x8_to_f32x8(lows), lanes.splat_f32x8(-weights.low * input.scale), total)
}
