//! Block of weights as integers, a scale and offsets: weight `i` is `scale * values[i] - low * lows[i / 16]`.
//!
//! The scales within a block of 256 are integers too and are multiplied in, so that a block has one scale. The conversion of `f16` is
//! written out because it must be inlined into code whose instructions are chosen at run time.

use super::format::Format;

/// Numbers of one block.
pub(super) struct UnpackedBlock {
    /// At most 4,096 in absolute value, except for [`Whole`], which has blocks of 32.
    pub(super) values: [i16; 256],
    /// One for each 16 values; the other half stays zero.
    pub(super) lows: [i16; 32],
    pub(super) low: f32,
}

impl UnpackedBlock {
    pub(super) const fn new() -> Self {
        Self { values: [0; 256], lows: [0; 32], low: 0.0 }
    }
}

/// Block format, selected at compile time.
pub(super) trait Block {
    /// Weights per block: 32 or 256.
    const WEIGHTS: usize;
    /// Bytes per block.
    const BYTES: usize;
    /// True if it has offsets.
    const LOWS: bool;
    /// Writes the values, and the offsets if it has any; returns the scale.
    fn unpack(block: &[u8], to: &mut UnpackedBlock) -> f32;
}

/// Converts a 16-bit float, without a table or a special instruction.
#[inline(always)]
pub(super) fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let sign = (bits & 0x8000) << 16;
    let rest = bits & 0x7fff;
    // The shift puts the exponent in its place; the product corrects its bias, for subnormal numbers too.
    let size = f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000);
    let size = if rest >= 0x7c00 { f32::from_bits((rest << 13) | 0x7f80_0000) } else { size };
    f32::from_bits(size.to_bits() | sign)
}

#[inline(always)]
pub(super) fn split<const N: usize>(bytes: &[u8]) -> (&[u8; N], &[u8]) {
    bytes.split_first_chunk().unwrap_or((&[0; N], &[]))
}

/// Splits each of 16 bytes into two nibbles, all low ones first.
#[inline(always)]
fn nibbles(quants: &[u8; 16], to: &mut [i16], below: i16) {
    let (low, high) = to.split_at_mut(16);
    for ((low, high), quant) in low.iter_mut().zip(high).zip(quants) {
        *low = i16::from(quant & 15) - below;
        *high = i16::from(quant >> 4) - below;
    }
}

#[inline(always)]
fn fifth_bits(bits: [u8; 4], to: &mut [i16]) {
    let bits = u32::from_le_bytes(bits);
    for (place, value) in to.iter_mut().take(32).enumerate() {
        *value += (((bits >> place) & 1) << 4) as i16;
    }
}

macro_rules! formats {
    ($($name:ident $format:ident $lows:literal: |$block:ident, $to:ident| $unpack:expr;)*) => {$(
        pub(super) struct $name;
        impl Block for $name {
            const WEIGHTS: usize = Format::$format.block().0;
            const BYTES: usize = Format::$format.block().1;
            const LOWS: bool = $lows;
            #[inline(always)]
            fn unpack($block: &[u8], $to: &mut UnpackedBlock) -> f32 { $unpack }
        }
    )*};
}

formats! {
    Q4_0 Q4_0 false: |block, to| {
        let (scale, quants) = split(block);
        nibbles(split(quants).0, &mut to.values, 8);
        half(*scale)
    };
    Q4_1 Q4_1 true: |block, to| {
        let (scale, rest) = split(block);
        let (low, quants) = split(rest);
        nibbles(split(quants).0, &mut to.values, 0);
        (to.lows[0], to.lows[1]) = (1, 1);
        to.low = -half(*low);
        half(*scale)
    };
    Q5_0 Q5_0 false: |block, to| {
        let (scale, rest) = split(block);
        let (bits, quants) = split(rest);
        nibbles(split(quants).0, &mut to.values, 16);
        fifth_bits(*bits, &mut to.values);
        half(*scale)
    };
    Q5_1 Q5_1 true: |block, to| {
        let (scale, rest) = split(block);
        let (low, rest) = split(rest);
        let (bits, quants) = split(rest);
        nibbles(split(quants).0, &mut to.values, 0);
        fifth_bits(*bits, &mut to.values);
        (to.lows[0], to.lows[1]) = (1, 1);
        to.low = -half(*low);
        half(*scale)
    };
    Q8_0 Q8_0 false: |block, to| {
        let (scale, quants) = split(block);
        for (value, quant) in to.values.iter_mut().zip(split::<32>(quants).0) {
            *value = i16::from(*quant as i8);
        }
        half(*scale)
    };
    Q2K Q2K true: |block, to| {
        let (scales, rest) = split::<16>(block);
        let (quants, rest) = split::<64>(rest);
        let (scale, rest) = split(rest);
        to.low = half(*split(rest).0);
        for (low, byte) in to.lows.iter_mut().zip(scales) {
            *low = i16::from(byte >> 4);
        }
        for (half_block, quants) in to.values.chunks_exact_mut(128).zip(quants.chunks_exact(32)).enumerate().map(|(n, pair)| (n * 8, pair)) {
            let (values, quants) = quants;
            for (shift, values) in values.chunks_exact_mut(32).enumerate() {
                for (part, (values, quants)) in values.chunks_exact_mut(16).zip(quants.chunks_exact(16)).enumerate() {
                    let factor = i16::from(scales.get(half_block + shift * 2 + part).copied().unwrap_or(0) & 15);
                    for (value, quant) in values.iter_mut().zip(quants) {
                        *value = i16::from((quant >> (shift * 2)) & 3) * factor;
                    }
                }
            }
        }
        half(*scale)
    };
    Q3K Q3K false: |block, to| {
        let (masks, rest) = split::<32>(block);
        let (quants, rest) = split::<64>(rest);
        let (packed, rest) = split::<12>(rest);
        let mut factors = [0i16; 16];
        for (place, factor) in factors.iter_mut().enumerate() {
            let byte = |at: usize| packed.get(at).copied().unwrap_or(0);
            let low = if place < 8 { byte(place) & 15 } else { byte(place - 8) >> 4 };
            let high = (byte(8 + place % 4) >> (2 * (place / 4))) & 3;
            *factor = i16::from(low | (high << 4)) - 32;
        }
        for (number, (values, quants)) in to.values.chunks_exact_mut(128).zip(quants.chunks_exact(32)).enumerate() {
            for (shift, values) in values.chunks_exact_mut(32).enumerate() {
                let mask = 1u8 << (number * 4 + shift);
                for (place, ((value, quant), high)) in values.iter_mut().zip(quants).zip(masks).enumerate() {
                    let factor = factors.get(number * 8 + shift * 2 + place / 16).copied().unwrap_or(0);
                    let below = if high & mask == 0 { 4 } else { 0 };
                    *value = (i16::from((quant >> (shift * 2)) & 3) - below) * factor;
                }
            }
        }
        half(*split(rest).0)
    };
    Q4K Q4K true: |block, to| {
        let (scale, rest) = split(block);
        let (low, rest) = split(rest);
        let (packed, rest) = split::<12>(rest);
        let quants = split::<128>(rest).0;
        let (factors, lows) = six_bits(packed);
        to.low = half(*low);
        spread(lows, &mut to.lows);
        for ((values, quants), [first, second]) in to.values.chunks_exact_mut(64).zip(quants.chunks_exact(32)).zip(pairs(factors)) {
            let (low, high) = values.split_at_mut(32);
            for ((low, high), quant) in low.iter_mut().zip(high).zip(quants) {
                *low = i16::from(quant & 15) * first;
                *high = i16::from(quant >> 4) * second;
            }
        }
        half(*scale)
    };
    Q5K Q5K true: |block, to| {
        let (scale, rest) = split(block);
        let (low, rest) = split(rest);
        let (packed, rest) = split::<12>(rest);
        let (bits, rest) = split::<32>(rest);
        let quants = split::<128>(rest).0;
        let (factors, lows) = six_bits(packed);
        to.low = half(*low);
        spread(lows, &mut to.lows);
        for (number, ((values, quants), [first, second])) in
            to.values.chunks_exact_mut(64).zip(quants.chunks_exact(32)).zip(pairs(factors)).enumerate()
        {
            let (low, high) = values.split_at_mut(32);
            for (((low, high), quant), bits) in low.iter_mut().zip(high).zip(quants).zip(bits) {
                *low = i16::from((quant & 15) | (((bits >> (number * 2)) & 1) << 4)) * first;
                *high = i16::from((quant >> 4) | (((bits >> (number * 2 + 1)) & 1) << 4)) * second;
            }
        }
        half(*scale)
    };
    Q6K Q6K false: |block, to| {
        let (lows, rest) = split::<128>(block);
        let (highs, rest) = split::<64>(rest);
        let (factors, rest) = split::<16>(rest);
        for (((values, lows), highs), factors) in
            to.values.chunks_exact_mut(128).zip(lows.chunks_exact(64)).zip(highs.chunks_exact(32)).zip(factors.chunks_exact(8))
        {
            let (first, second) = lows.split_at(32);
            for (quarter, (values, factors)) in values.chunks_exact_mut(32).zip(factors.chunks_exact(2)).enumerate() {
                let lows = if quarter % 2 == 0 { first } else { second };
                let shift = if quarter < 2 { 0 } else { 4 };
                for (((values, lows), highs), factor) in
                    values.chunks_exact_mut(16).zip(lows.chunks_exact(16)).zip(highs.chunks_exact(16)).zip(factors)
                {
                    let factor = i16::from(*factor as i8);
                    for ((value, low), high) in values.iter_mut().zip(lows).zip(highs) {
                        *value = (i16::from(((low >> shift) & 15) | (((high >> (quarter * 2)) & 3) << 4)) - 32) * factor;
                    }
                }
            }
        }
        half(*split(rest).0)
    };
}

/// Own format for weights that are not quantised: 32 16-bit integers and their scale.
pub(super) struct Whole;

impl Block for Whole {
    const WEIGHTS: usize = 32;
    const BYTES: usize = 68;
    const LOWS: bool = false;
    #[inline(always)]
    fn unpack(block: &[u8], to: &mut UnpackedBlock) -> f32 {
        let (scale, values) = split(block);
        for (value, bytes) in to.values.iter_mut().zip(values.as_chunks::<2>().0) {
            *value = i16::from_le_bytes(*bytes);
        }
        f32::from_le_bytes(*scale)
    }
}

/// Returns the 6-bit scales and offsets of a K block.
#[inline(always)]
fn six_bits(packed: &[u8; 12]) -> ([i16; 8], [i16; 8]) {
    let (mut factors, mut lows) = ([0; 8], [0; 8]);
    let (first, rest) = packed.split_at(4);
    let (second, third) = rest.split_at(4);
    let (factors_low, factors_high) = factors.split_at_mut(4);
    let (lows_low, lows_high) = lows.split_at_mut(4);
    for (((to, high), from), top) in factors_low.iter_mut().zip(factors_high).zip(first).zip(third) {
        *to = i16::from(from & 63);
        *high = i16::from((top & 15) | ((from >> 6) << 4));
    }
    for (((to, high), from), top) in lows_low.iter_mut().zip(lows_high).zip(second).zip(third) {
        *to = i16::from(from & 63);
        *high = i16::from((top >> 4) | ((from >> 6) << 4));
    }
    (factors, lows)
}

#[inline(always)]
fn pairs(factors: [i16; 8]) -> [[i16; 2]; 4] {
    let [a, b, c, d, e, f, g, h] = factors;
    [[a, b], [c, d], [e, f], [g, h]]
}

/// Duplicates the offsets, each of which is for 32 values.
#[inline(always)]
fn spread(lows: [i16; 8], to: &mut [i16; 32]) {
    for (pair, low) in to.as_chunks_mut::<2>().0.iter_mut().zip(lows) {
        *pair = [low; 2];
    }
}
