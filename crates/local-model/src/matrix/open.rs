//! One block of a K format in bytes: weight `i` is `scale * factor * values[i] - low * lows[i / 16]`, with a factor for each 16 weights.

use pulp::x86::V3;
use pulp::{cast, u8x32};

use super::format::Format;
use super::unpack::{half, split};

/// The numbers of one block.
#[derive(Clone)]
pub(super) struct Opened {
    /// At most 63 in size.
    pub(super) values: [u8; 256],
    /// For each 32 values: that of the first 16 eight times, that of the others eight times.
    pub(super) factors: [[i16; 16]; 8],
    pub(super) lows: [i16; 16],
    pub(super) scale: f32,
    pub(super) low: f32,
}

impl Opened {
    pub(super) const ZERO: Self = Self { values: [0; 256], factors: [[0; 16]; 8], lows: [0; 16], scale: 0.0, low: 0.0 };

    /// Each 32 values with their factors.
    #[inline(always)]
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&[u8; 32], &[i16; 16])> {
        self.values.as_chunks().0.iter().zip(&self.factors)
    }

    /// Sets a factor and an offset for each 32 values.
    #[inline(always)]
    fn set_eight(&mut self, lanes: V3, factors: u64, lows: u64) {
        for (to, factor) in self.factors.iter_mut().zip(factors.to_le_bytes()) {
            *to = cast(lanes.splat_i16x16(i16::from(factor)));
        }
        for (to, low) in self.lows.as_chunks_mut::<2>().0.iter_mut().zip(lows.to_le_bytes()) {
            *to = [i16::from(low); 2];
        }
    }

    /// Sets a factor for each 16 values.
    #[inline(always)]
    fn set_sixteen(&mut self, lanes: V3, factors: [i16; 16]) {
        for (to, [first, second]) in self.factors.iter_mut().zip(factors.as_chunks().0) {
            *to = cast([lanes.splat_i16x8(*first), lanes.splat_i16x8(*second)]);
        }
    }
}

/// A block format, chosen when code is compiled.
pub(super) trait Opens {
    /// Bytes of a block of 256 weights.
    const BYTES: usize;
    fn open(lanes: V3, block: &[u8], to: &mut Opened);
}

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
        to.set_sixteen(lanes, scales.map(|scale| i16::from(scale & 15)));
        to.lows = scales.map(|scale| i16::from(scale >> 4));
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
        // Weights are from -4 to 3.
        to.lows = factors.map(|factor| factor * 4);
        for ((values, quants), place) in to.values.as_chunks_mut::<128>().0.iter_mut().zip(quants.as_chunks().0).zip([0, 4]) {
            for (to, shift) in values.as_chunks_mut::<32>().0.iter_mut().zip(0..4) {
                *to = cast(with_high::<2>(lanes, bits(lanes, quants, shift * 2, 3), bits(lanes, masks, place + shift, 1)));
            }
        }
    };
    Q4K: |lanes, block, to| {
        let (scale, rest) = split(block);
        let (low, rest) = split(rest);
        let (packed, rest) = split::<12>(rest);
        let quants = split::<128>(rest).0;
        (to.scale, to.low) = (half(*scale), half(*low));
        let (factors, lows) = six_bits(packed);
        to.set_eight(lanes, factors, lows);
        for (values, quants) in to.values.as_chunks_mut::<64>().0.iter_mut().zip(quants.as_chunks().0) {
            *values = cast([0, 4].map(|shift| bits(lanes, quants, shift, 15)));
        }
    };
    Q5K: |lanes, block, to| {
        let (scale, rest) = split(block);
        let (low, rest) = split(rest);
        let (packed, rest) = split::<12>(rest);
        let (highs, rest) = split(rest);
        let quants = split::<128>(rest).0;
        (to.scale, to.low) = (half(*scale), half(*low));
        let (factors, lows) = six_bits(packed);
        to.set_eight(lanes, factors, lows);
        for ((values, quants), place) in to.values.as_chunks_mut::<64>().0.iter_mut().zip(quants.as_chunks().0).zip([0, 2, 4, 6]) {
            *values = cast([0, 1].map(|half| {
                with_high::<4>(lanes, bits(lanes, quants, half * 4, 15), bits(lanes, highs, place + half, 1))
            }));
        }
    };
    Q6K: |lanes, block, to| {
        let (lows, rest) = split::<128>(block);
        let (highs, rest) = split::<64>(rest);
        let (factors, rest) = split::<16>(rest);
        to.scale = half(*split(rest).0);
        to.low = to.scale;
        let factors = factors.map(|factor| i16::from(factor as i8));
        to.set_sixteen(lanes, factors);
        // Weights are from -32 to 31.
        to.lows = factors.map(|factor| factor * 32);
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

/// Some bits of each byte: those of the mask, once they are the lowest.
#[inline(always)]
fn bits(lanes: V3, from: &[u8; 32], shift: u64, mask: u8) -> u8x32 {
    // What comes in from the other byte of a pair is masked.
    lanes.and_u8x32(cast(lanes.shr_u16x16(cast(*from), cast([shift, 0]))), lanes.splat_u8x32(mask))
}

/// Each byte with more bits above, so small that none leaves its byte.
#[inline(always)]
fn with_high<const PLACE: i32>(lanes: V3, low: u8x32, high: u8x32) -> u8x32 {
    lanes.or_u8x32(low, cast(lanes.shl_const_u16x16::<PLACE>(cast(high))))
}

/// The eight factors and the eight offsets of 6 bits each, a byte for each of them.
#[inline(always)]
fn six_bits(packed: &[u8; 12]) -> (u64, u64) {
    let [first, second, third] = [0, 4, 8].map(|at| u32::from_le_bytes(*split(packed.split_at(at).1).0));
    let whole = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let high = |rest: u32, top: u32| (rest & 0x0f0f_0f0f) | ((top >> 6) & 0x0303_0303) << 4;
    (whole(first & 0x3f3f_3f3f, high(third, first)), whole(second & 0x3f3f_3f3f, high(third >> 4, second)))
}

/// The sixteen factors of a block with three bits a weight, of 6 bits each: four low bits in the first eight bytes, two high ones in the others.
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
