//! Block of a K format in bytes: weight `i` is `scale * factor * values[i] - low * lows[i / 16]`, with a factor for each 16 weights.

use pulp::x86::V3;
use pulp::{cast, u8x32, u32x8};

use super::format::Format;
use super::unpack::{half, split};

/// Numbers of one block.
#[derive(Clone)]
pub(super) struct Opened {
    /// At most 63 in absolute value.
    pub(super) values: [u8; 256],
    /// Factors for each 32 values: eight times that of the first 16, then eight times that of the others.
    pub(super) factors: [[i16; 16]; 8],
    pub(super) lows: [i16; 16],
    pub(super) scale: f32,
    pub(super) low: f32,
}

impl Opened {
    pub(super) const ZERO: Self = Self { values: [0; 256], factors: [[0; 16]; 8], lows: [0; 16], scale: 0.0, low: 0.0 };

    /// Iterates over groups of 32 values with their factors.
    #[inline(always)]
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&[u8; 32], &[i16; 16])> {
        self.values.as_chunks().0.iter().zip(&self.factors)
    }

    /// Sets a factor and an offset for each 32 values.
    #[inline(always)]
    fn set_eight(&mut self, lanes: V3, factors: u64, lows: u64) {
        for (to, places) in self.factors.iter_mut().zip(&PLACES) {
            *to = spread(lanes, factors, places);
        }
        self.lows = spread(lanes, lows, &PAIRS);
    }

    /// Sets a factor for each 16 values.
    #[inline(always)]
    fn set_sixteen(&mut self, lanes: V3, factors: [i16; 16]) {
        for (to, factors) in self.factors.as_chunks_mut::<4>().0.iter_mut().zip(factors.as_chunks::<8>().0) {
            let both = lanes.avx2._mm256_broadcastsi128_si256(cast(*factors));
            for (to, places) in to.iter_mut().zip(&HALVES) {
                *to = cast(lanes.avx2._mm256_shuffle_epi8(both, cast(*places)));
            }
        }
    }
}

/// Indices by which [`spread`] copies one factor to all of 32 weights: the index of the byte, and 128 to make the upper byte 0.
const PLACES: [[u16; 16]; 8] =
    [[0x8000; 16], [0x8001; 16], [0x8002; 16], [0x8003; 16], [0x8004; 16], [0x8005; 16], [0x8006; 16], [0x8007; 16]];
/// Indices by which it copies each of eight offsets twice.
const PAIRS: [u16; 16] =
    [0x8000, 0x8000, 0x8001, 0x8001, 0x8002, 0x8002, 0x8003, 0x8003, 0x8004, 0x8004, 0x8005, 0x8005, 0x8006, 0x8006, 0x8007, 0x8007];
/// Positions of two factors among eight 16-bit ones, the first for 16 weights and the second for the next 16.
const HALVES: [[[u16; 8]; 2]; 4] =
    [[[0x0100; 8], [0x0302; 8]], [[0x0504; 8], [0x0706; 8]], [[0x0908; 8], [0x0b0a; 8]], [[0x0d0c; 8], [0x0f0e; 8]]];

/// Returns the bytes at these indices as 16-bit integers.
#[inline(always)]
fn spread(lanes: V3, bytes: u64, places: &[u16; 16]) -> [i16; 16] {
    cast(lanes.avx2._mm256_shuffle_epi8(cast(lanes.splat_u64x4(bytes)), cast(*places)))
}

/// Block format, selected at compile time.
pub(super) trait Opens {
    /// Size of a block of 256 weights, in bytes.
    const BYTES: usize;
    fn open(lanes: V3, block: &[u8], to: &mut Opened);
}

// Loops instead of `map` over arrays: closures are compiled for the baseline processor, and each instruction in them becomes a call.
macro_rules! formats {
    ($($name:ident: |$lanes:ident, $block:ident, $to:ident| $open:expr;)*) => {$(
        pub(super) struct $name;
        impl Opens for $name {
            const BYTES: usize = Format::$name.block().1;
            #[inline(always)]
            fn open($lanes: V3, $block: &[u8], $to: &mut Opened) { $open }
        }
    )*};
}

formats! {
    Q2K: |lanes, block, to| {
        let (scales, rest) = split::<16>(block);
        let (quants, rest) = split::<64>(rest);
        let (scale, rest) = split(rest);
        (to.scale, to.low) = (half(*scale), half(*split(rest).0));
        let mut factors = [0; 16];
        for ((factor, low), scale) in factors.iter_mut().zip(&mut to.lows).zip(scales) {
            (*factor, *low) = (i16::from(scale & 15), i16::from(scale >> 4));
        }
        to.set_sixteen(lanes, factors);
        for (values, quants) in to.values.as_chunks_mut::<128>().0.iter_mut().zip(quants.as_chunks().0) {
            for (to, shift) in values.as_chunks_mut::<32>().0.iter_mut().zip([0, 2, 4, 6]) {
                *to = cast(bits(lanes, quants, shift, 3));
            }
        }
    };
    Q3K: |lanes, block, to| {
        let (masks, rest) = split(block);
        let (quants, rest) = split::<64>(rest);
        let (packed, rest) = split::<12>(rest);
        to.scale = half(*split(rest).0);
        to.low = to.scale;
        let factors = three_bit_factors(*packed);
        to.set_sixteen(lanes, factors);
        // Weights range from -4 to 3.
        to.lows = cast(lanes.shl_const_i16x16::<2>(cast(factors)));
        for ((values, quants), place) in to.values.as_chunks_mut::<128>().0.iter_mut().zip(quants.as_chunks().0).zip([0, 4]) {
            for (to, shift) in values.as_chunks_mut::<32>().0.iter_mut().zip(0..4) {
                *to = cast(with_high::<2>(lanes, bits(lanes, quants, shift * 2, 3), bits(lanes, masks, place + shift, 1)));
            }
        }
    };
    Q4K: |lanes, block, to| {
        let (scales, rest) = split(block);
        let (packed, rest) = split::<12>(rest);
        let quants = split::<128>(rest).0;
        (to.scale, to.low) = halves(lanes, *scales);
        let (factors, lows) = six_bits(packed);
        to.set_eight(lanes, factors, lows);
        for (values, quants) in to.values.as_chunks_mut::<64>().0.iter_mut().zip(quants.as_chunks().0) {
            for (to, shift) in values.as_chunks_mut::<32>().0.iter_mut().zip([0, 4]) {
                *to = cast(bits(lanes, quants, shift, 15));
            }
        }
    };
    Q5K: |lanes, block, to| {
        let (scales, rest) = split(block);
        let (packed, rest) = split::<12>(rest);
        let (highs, rest) = split(rest);
        let quants = split::<128>(rest).0;
        (to.scale, to.low) = halves(lanes, *scales);
        let (factors, lows) = six_bits(packed);
        to.set_eight(lanes, factors, lows);
        for ((values, quants), place) in to.values.as_chunks_mut::<64>().0.iter_mut().zip(quants.as_chunks().0).zip([0, 2, 4, 6]) {
            for (to, half) in values.as_chunks_mut::<32>().0.iter_mut().zip([0, 1]) {
                *to = cast(with_high::<4>(lanes, bits(lanes, quants, half * 4, 15), bits(lanes, highs, place + half, 1)));
            }
        }
    };
    Q6K: |lanes, block, to| {
        let (lows, rest) = split::<128>(block);
        let (highs, rest) = split::<64>(rest);
        let (factors, rest) = split::<16>(rest);
        to.scale = half(*split(rest).0);
        to.low = to.scale;
        let factors = lanes.convert_i8x16_to_i16x16(cast(*factors));
        to.set_sixteen(lanes, cast(factors));
        // Weights range from -32 to 31.
        to.lows = cast(lanes.shl_const_i16x16::<5>(factors));
        for ((values, lows), highs) in
            to.values.as_chunks_mut::<128>().0.iter_mut().zip(lows.as_chunks::<64>().0).zip(highs.as_chunks().0)
        {
            for (values, shift) in values.as_chunks_mut::<64>().0.iter_mut().zip([0, 4]) {
                for ((to, lows), place) in values.as_chunks_mut::<32>().0.iter_mut().zip(lows.as_chunks().0).zip([0, 2]) {
                    *to = cast(with_high::<4>(lanes, bits(lanes, lows, shift, 15), bits(lanes, highs, shift + place, 3)));
                }
            }
        }
    };
}

/// Converts two 16-bit floats, as [`half`] converts one.
#[inline(always)]
pub(super) fn halves(lanes: V3, bytes: [u8; 4]) -> (f32, f32) {
    let bits: u32x8 = lanes.convert_u16x8_to_u32x8(cast(lanes.splat_u32x4(u32::from_le_bytes(bytes))));
    let rest = lanes.shl_const_u32x8::<13>(lanes.and_u32x8(bits, lanes.splat_u32x8(0x7fff)));
    let size: u32x8 = cast(lanes.mul_f32x8(cast(rest), lanes.splat_f32x8(f32::from_bits(0x7780_0000))));
    let endless = lanes.cmp_gt_i32x8(cast(rest), lanes.splat_i32x8((0x7c00 << 13) - 1));
    let size = lanes.or_u32x8(size, lanes.and_u32x8(cast(endless), lanes.or_u32x8(rest, lanes.splat_u32x8(0x7f80_0000))));
    let sign = lanes.shl_const_u32x8::<16>(lanes.and_u32x8(bits, lanes.splat_u32x8(0x8000)));
    let [first, second, ..]: [f32; 8] = cast(lanes.or_u32x8(size, sign));
    (first, second)
}

/// Returns bits of each byte: those of the mask, after the shift.
#[inline(always)]
fn bits(lanes: V3, from: &[u8; 32], shift: u64, mask: u8) -> u8x32 {
    // The mask removes bits from the other byte of a pair.
    lanes.and_u8x32(cast(lanes.shr_u16x16(cast(*from), cast([shift, 0]))), lanes.splat_u8x32(mask))
}

/// Adds upper bits to each byte, small enough to stay within the byte.
#[inline(always)]
fn with_high<const PLACE: i32>(lanes: V3, low: u8x32, high: u8x32) -> u8x32 {
    lanes.or_u8x32(low, cast(lanes.shl_const_u16x16::<PLACE>(cast(high))))
}

/// Returns the eight factors and eight offsets of 6 bits each, one per byte.
#[inline(always)]
fn six_bits(packed: &[u8; 12]) -> (u64, u64) {
    let (first, rest) = split(packed);
    let (second, third) = split(rest);
    let (first, second, third) = (u32::from_le_bytes(*first), u32::from_le_bytes(*second), u32::from_le_bytes(*split(third).0));
    let whole = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let high = |rest: u32, top: u32| (rest & 0x0f0f_0f0f) | ((top >> 6) & 0x0303_0303) << 4;
    (whole(first & 0x3f3f_3f3f, high(third, first)), whole(second & 0x3f3f_3f3f, high(third >> 4, second)))
}

/// Returns the sixteen 6-bit factors of a block with three bits per weight: four low bits in the first eight bytes, two high bits in the
/// others.
#[inline(always)]
fn three_bit_factors(packed: [u8; 12]) -> [i16; 16] {
    let (lows, highs) = packed.split_at(8);
    let mut factors = [0; 16];
    let (first, second) = factors.split_at_mut(8);
    for ((first, second), low) in first.iter_mut().zip(second).zip(lows) {
        (*first, *second) = (i16::from(low & 15), i16::from(low >> 4));
    }
    for (factors, shift) in factors.as_chunks_mut::<4>().0.iter_mut().zip([0, 2, 4, 6]) {
        for (factor, high) in factors.iter_mut().zip(highs) {
            *factor = (*factor | i16::from((high >> shift) & 3) << 4) - 32;
        }
    }
    factors
}
