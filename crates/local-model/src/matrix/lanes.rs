//! SIMD products of integers, with the instructions of several generations of processors.

/// SIMD instructions of one generation.
pub(super) trait Lanes: Copy + Send + Sync {
    /// Vector of 16-bit integers.
    type Piece: Copy;
    /// Vector of integer sums.
    type Sum: Copy;
    /// Vector of scaled sums.
    type Total: Copy;

    /// Casts a slice, whose length is a multiple of 32, to vectors.
    fn pieces(values: &[i16]) -> &[Self::Piece];
    fn nothing(self) -> Self::Sum;
    fn zero(self) -> Self::Total;
    /// Adds the products of two vectors.
    fn add_products(self, sum: Self::Sum, a: Self::Piece, b: Self::Piece) -> Self::Sum;
    /// Adds a sum times a factor.
    fn add_scaled(self, total: Self::Total, sum: Self::Sum, factor: f32) -> Self::Total;
    fn total(self, total: Self::Total) -> f32;
}

/// Portable code, which compilers turn into SSE2 or NEON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

impl Lanes for Plain {
    type Piece = [i16; 8];
    type Sum = [i32; 4];
    type Total = [f32; 4];

    #[inline(always)]
    fn pieces(values: &[i16]) -> &[[i16; 8]] {
        values.as_chunks().0
    }

    #[inline(always)]
    fn nothing(self) -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn zero(self) -> [f32; 4] {
        [0.0; 4]
    }

    #[inline(always)]
    fn add_products(self, mut sum: [i32; 4], a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        for ((sum, a), b) in sum.iter_mut().zip(a.as_chunks::<2>().0).zip(b.as_chunks::<2>().0) {
            let products = (i32::from(a[0]) * i32::from(b[0])).wrapping_add(i32::from(a[1]) * i32::from(b[1]));
            *sum = sum.wrapping_add(products);
        }
        sum
    }

    #[inline(always)]
    fn add_scaled(self, mut total: [f32; 4], sum: [i32; 4], factor: f32) -> [f32; 4] {
        for (total, sum) in total.iter_mut().zip(sum) {
            *total += sum as f32 * factor;
        }
        total
    }

    #[inline(always)]
    fn total(self, total: [f32; 4]) -> f32 {
        total.iter().sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use pulp::x86::{V3, V4};
    use pulp::{Simd, cast, f32x8, f32x16, i32x8, i32x16};

    use super::Lanes;

    impl Lanes for V3 {
        type Piece = [i16; 16];
        type Sum = i32x8;
        type Total = f32x8;

        #[inline(always)]
        fn pieces(values: &[i16]) -> &[[i16; 16]] {
            values.as_chunks().0
        }

        #[inline(always)]
        fn nothing(self) -> i32x8 {
            cast([0i32; 8])
        }

        #[inline(always)]
        fn zero(self) -> f32x8 {
            self.splat_f32x8(0.0)
        }

        #[inline(always)]
        fn add_products(self, sum: i32x8, a: [i16; 16], b: [i16; 16]) -> i32x8 {
            self.wrapping_add_i32x8(sum, self.multiply_wrapping_add_adjacent_i16x16(cast(a), cast(b)))
        }

        #[inline(always)]
        fn add_scaled(self, total: f32x8, sum: i32x8, factor: f32) -> f32x8 {
            self.mul_add_f32x8(self.convert_i32x8_to_f32x8(sum), self.splat_f32x8(factor), total)
        }

        #[inline(always)]
        fn total(self, total: f32x8) -> f32 {
            self.reduce_sum_f32s(total)
        }
    }

    impl Lanes for V4 {
        type Piece = [i16; 32];
        type Sum = i32x16;
        type Total = f32x16;

        #[inline(always)]
        fn pieces(values: &[i16]) -> &[[i16; 32]] {
            values.as_chunks().0
        }

        #[inline(always)]
        fn nothing(self) -> i32x16 {
            cast([0i32; 16])
        }

        #[inline(always)]
        fn zero(self) -> f32x16 {
            self.splat_f32x16(0.0)
        }

        #[inline(always)]
        fn add_products(self, sum: i32x16, a: [i16; 32], b: [i16; 32]) -> i32x16 {
            self.wrapping_add_i32x16(sum, self.multiply_wrapping_add_adjacent_i16x32(cast(a), cast(b)))
        }

        #[inline(always)]
        fn add_scaled(self, total: f32x16, sum: i32x16, factor: f32) -> f32x16 {
            self.mul_add_f32x16(self.convert_i32x16_to_f32x16(sum), self.splat_f32x16(factor), total)
        }

        #[inline(always)]
        fn total(self, total: f32x16) -> f32 {
            self.reduce_sum_f32s(total)
        }
    }
}
