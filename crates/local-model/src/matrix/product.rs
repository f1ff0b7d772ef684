//! Product of quantised rows with many inputs.

use std::marker::PhantomData;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::lanes::{Lanes, Plain};
use super::unpack::{Block, UnpackedBlock};

/// Instructions of this processor.
pub(crate) type Instructions = pulp::Arch;

/// Number of rows of weights that are unpacked together for the same inputs.
pub(super) const TOGETHER: usize = 4;
/// Number of rows of weights that one thread takes at a time.
const SHARE: usize = 16;
/// Largest rounded input: 4,096 × 2,047 × 256 still fits 32 bits.
const MAX_ROUNDED: f32 = 2_047.0;

/// Returns the dot product of integers.
#[inline(always)]
pub(crate) fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).fold(0i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)))
}

/// Rounded inputs: for each block of columns, one piece per input.
struct RoundedInputs {
    values: Vec<i16>,
    scales: Vec<f32>,
    /// Sums of each 16 values of a block, padded with zeros; empty if the weights have no offsets.
    sums: Vec<[i16; 32]>,
}

impl RoundedInputs {
    fn new<B: Block>(instructions: Instructions, inputs: &[f32], columns: usize) -> Self {
        let count = inputs.len() / columns;
        let blocks = inputs.len() / B::WEIGHTS;
        let mut rounded =
            Self { values: vec![0; inputs.len()], scales: vec![0.0; blocks], sums: vec![[0; 32]; if B::LOWS { blocks } else { 0 }] };
        let mut sums = rounded.sums.iter_mut();
        for (block, (values, scales)) in
            rounded.values.chunks_exact_mut(count * B::WEIGHTS).zip(rounded.scales.chunks_exact_mut(count)).enumerate()
        {
            for ((input, values), scale) in inputs.chunks_exact(columns).zip(values.chunks_exact_mut(B::WEIGHTS)).zip(scales.iter_mut()) {
                let input = input.chunks_exact(B::WEIGHTS).nth(block).unwrap_or(&[]);
                *scale = instructions.dispatch(Round { input, to: values });
                if let Some(sums) = sums.next() {
                    for (sum, values) in sums.iter_mut().zip(values.as_chunks::<16>().0) {
                        *sum = values.iter().sum();
                    }
                }
            }
        }
        rounded
    }
}

/// Rounds a piece to integers and returns the scale.
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
    let factor = MAX_ROUNDED / largest;
    for (to, value) in to.iter_mut().zip(input) {
        // Adding and subtracting 1.5 × 2^23 rounds to the nearest integer without a function call.
        *to = ((value * factor + 12_582_912.0) - 12_582_912.0) as i32 as i16;
    }
    largest / MAX_ROUNDED
}

/// Multiplies the weights with each input; see [`Matrix::times`](super::Matrix::times).
pub(super) fn times<B: Block>(instructions: Instructions, weights: &[u8], rows: usize, columns: usize, inputs: &[f32]) -> Vec<f32> {
    let count = inputs.len() / columns;
    if count == 0 || rows == 0 {
        return Vec::new();
    }
    let rounded = RoundedInputs::new::<B>(instructions, inputs, columns);
    let row_bytes = columns / B::WEIGHTS * B::BYTES;
    by_rows(weights, (rows, row_bytes), count, |weights, outputs| {
        let rows = SomeRows::<Plain, B> { lanes: Plain, weights, row_bytes, inputs: &rounded, count, outputs, block: PhantomData };
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::V4(lanes) => Simd::vectorize(lanes, rows.with(lanes)),
            #[cfg(target_arch = "x86_64")]
            Instructions::V3(lanes) => Simd::vectorize(lanes, rows.with(lanes)),
            other => other.dispatch(rows),
        }
    })
}

/// Distributes the rows to threads, which multiply some rows at a time with `count` inputs and return the products row by row. Transposes
/// them into one row per input.
pub(super) fn by_rows(
    weights: &[u8],
    (rows, row_bytes): (usize, usize),
    count: usize,
    multiply: impl Fn(&[u8], &mut [f32]) + Sync,
) -> Vec<f32> {
    let mut by_row = vec![0.0f32; rows * count];
    by_row
        .par_chunks_mut(SHARE * count)
        .zip(weights.par_chunks(SHARE * row_bytes))
        .for_each(|(outputs, weights)| multiply(weights, outputs));
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

/// Multiplies some rows. This is a type, because a closure would not be compiled for the chosen instructions.
struct SomeRows<'a, L, B> {
    lanes: L,
    weights: &'a [u8],
    row_bytes: usize,
    inputs: &'a RoundedInputs,
    count: usize,
    outputs: &'a mut [f32],
    block: PhantomData<B>,
}

impl<'a, L, B: Block> SomeRows<'a, L, B> {
    fn with<M>(self, lanes: M) -> SomeRows<'a, M, B> {
        let Self { weights, row_bytes, inputs, count, outputs, block, .. } = self;
        SomeRows { lanes, weights, row_bytes, inputs, count, outputs, block }
    }
}

impl<L: Lanes, B: Block> WithSimd for SomeRows<'_, L, B> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { lanes, weights, row_bytes, inputs, count, outputs, .. } = self;
        let mut unpacked = Vec::new();
        for (outputs, weights) in outputs.chunks_mut(TOGETHER * count).zip(weights.chunks(TOGETHER * row_bytes)) {
            if count > 1 && outputs.len() == TOGETHER * count {
                several::<L, B>(lanes, weights, row_bytes, inputs, count, outputs, &mut unpacked);
            } else {
                for (outputs, row) in outputs.chunks_exact_mut(count).zip(weights.chunks_exact(row_bytes)) {
                    for (number, output) in outputs.iter_mut().enumerate() {
                        *output = one::<L, B>(lanes, row, inputs, count, number);
                    }
                }
            }
        }
    }
}

/// Multiplies one row of weights with one input.
#[inline(always)]
fn one<L: Lanes, B: Block>(lanes: L, row: &[u8], inputs: &RoundedInputs, count: usize, number: usize) -> f32 {
    let mut unpacked = UnpackedBlock::new();
    let mut total = lanes.zero();
    let places = (number..).step_by(count);
    for (block, place) in row.chunks_exact(B::BYTES).zip(places) {
        let scale = B::unpack(block, &mut unpacked);
        let input_scale = inputs.scales.get(place).copied().unwrap_or(0.0);
        let values = inputs.values.get(place * B::WEIGHTS..(place + 1) * B::WEIGHTS).unwrap_or(&[]);
        let (weights, _) = unpacked.values.split_at(B::WEIGHTS);
        let mut sum = lanes.nothing();
        for (weights, values) in L::pieces(weights).iter().zip(L::pieces(values)) {
            sum = lanes.add_products(sum, *weights, *values);
        }
        total = lanes.add_scaled(total, sum, scale * input_scale);
        if B::LOWS
            && let Some(sums) = inputs.sums.get(place)
        {
            let mut sum = lanes.nothing();
            for (lows, sums) in L::pieces(&unpacked.lows).iter().zip(L::pieces(sums)) {
                sum = lanes.add_products(sum, *lows, *sums);
            }
            total = lanes.add_scaled(total, sum, -unpacked.low * input_scale);
        }
    }
    lanes.total(total)
}

/// Multiplies [`TOGETHER`] rows of weights with all inputs, two inputs at a time.
#[inline(always)]
fn several<L: Lanes, B: Block>(
    lanes: L,
    rows: &[u8],
    row_bytes: usize,
    inputs: &RoundedInputs,
    count: usize,
    outputs: &mut [f32],
    unpacked: &mut Vec<([UnpackedBlock; TOGETHER], [f32; TOGETHER])>,
) {
    unpacked.resize_with(row_bytes / B::BYTES, || ([const { UnpackedBlock::new() }; TOGETHER], [0.0; TOGETHER]));
    for (row, weights) in rows.chunks_exact(row_bytes).enumerate() {
        for (block, (unpacked, scales)) in weights.chunks_exact(B::BYTES).zip(unpacked.iter_mut()) {
            if let (Some(unpacked), Some(scale)) = (unpacked.get_mut(row), scales.get_mut(row)) {
                *scale = B::unpack(block, unpacked);
            }
        }
    }
    let mut number = 0;
    while number < count {
        // With an odd number of inputs, the last one is paired with itself.
        let second = (number + 1).min(count - 1);
        let mut totals = [[lanes.zero(); 2]; TOGETHER];
        for (block, (unpacked, scales)) in unpacked.iter().enumerate() {
            let places = [block * count + number, block * count + second];
            let [Some(first), Some(second)] = places.map(|place| inputs.values.get(place * B::WEIGHTS..(place + 1) * B::WEIGHTS)) else {
                return;
            };
            let input_scales = places.map(|place| inputs.scales.get(place).copied().unwrap_or(0.0));
            let [w0, w1, w2, w3] = unpacked.each_ref().map(|unpacked| L::pieces(unpacked.values.split_at(B::WEIGHTS).0));
            let sums = tile(lanes, [w0, w1, w2, w3], [L::pieces(first), L::pieces(second)]);
            add(lanes, &mut totals, sums, *scales, input_scales);
            if B::LOWS
                && let [Some(first), Some(second)] = places.map(|place| inputs.sums.get(place))
            {
                let weights = unpacked.each_ref().map(|unpacked| L::pieces(&unpacked.lows));
                let sums = tile(lanes, weights, [L::pieces(first), L::pieces(second)]);
                add(lanes, &mut totals, sums, unpacked.each_ref().map(|unpacked| -unpacked.low), input_scales);
            }
        }
        for (outputs, [first, other]) in outputs.chunks_exact_mut(count).zip(totals) {
            if let Some(output) = outputs.get_mut(number) {
                *output = lanes.total(first);
            }
            if let Some(output) = outputs.get_mut(second) {
                *output = lanes.total(other);
            }
        }
        number += 2;
    }
}

/// Returns the sums of the products of four rows with two inputs.
#[inline(always)]
fn tile<L: Lanes>(lanes: L, [w0, w1, w2, w3]: [&[L::Piece]; TOGETHER], [a, b]: [&[L::Piece]; 2]) -> [[L::Sum; 2]; TOGETHER] {
    let zero = lanes.nothing();
    let (mut a0, mut a1, mut a2, mut a3, mut b0, mut b1, mut b2, mut b3) = (zero, zero, zero, zero, zero, zero, zero, zero);
    for (((((w0, w1), w2), w3), a), b) in w0.iter().zip(w1).zip(w2).zip(w3).zip(a).zip(b) {
        a0 = lanes.add_products(a0, *w0, *a);
        b0 = lanes.add_products(b0, *w0, *b);
        a1 = lanes.add_products(a1, *w1, *a);
        b1 = lanes.add_products(b1, *w1, *b);
        a2 = lanes.add_products(a2, *w2, *a);
        b2 = lanes.add_products(b2, *w2, *b);
        a3 = lanes.add_products(a3, *w3, *a);
        b3 = lanes.add_products(b3, *w3, *b);
    }
    [[a0, b0], [a1, b1], [a2, b2], [a3, b3]]
}

#[inline(always)]
fn add<L: Lanes>(
    lanes: L,
    totals: &mut [[L::Total; 2]; TOGETHER],
    sums: [[L::Sum; 2]; TOGETHER],
    scales: [f32; TOGETHER],
    [first, second]: [f32; 2],
) {
    for ((total, sum), scale) in totals.iter_mut().zip(sums).zip(scales) {
        total[0] = lanes.add_scaled(total[0], sum[0], scale * first);
        total[1] = lanes.add_scaled(total[1], sum[1], scale * second);
    }
}
