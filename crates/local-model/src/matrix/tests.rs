use proptest::prelude::*;

use super::{Format, Instructions, Matrix};

const FORMATS: [Format; 11] = [
    Format::F32,
    Format::Q4_0,
    Format::Q4_1,
    Format::Q5_0,
    Format::Q5_1,
    Format::Q8_0,
    Format::Q2K,
    Format::Q3K,
    Format::Q4K,
    Format::Q5K,
    Format::Q6K,
];

/// Returns rows of random weights with ordinary scales.
fn random(format: Format, rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut random = fastrand::Rng::with_seed(seed);
    let (weights, size) = format.block();
    let mut bytes = Vec::new();
    for _ in 0..rows * columns / weights {
        let mut block: Vec<u8> = (0..size).map(|_| random.u8(..)).collect();
        // Positions of the 16-bit floats that scale a block: 0x1c00 is 2^-8.
        let scales: &[usize] = match format {
            Format::F32 => {
                block = (random.f32() - 0.5).to_le_bytes().to_vec();
                &[]
            }
            Format::Q4_0 | Format::Q5_0 | Format::Q8_0 => &[0],
            Format::Q4_1 | Format::Q5_1 | Format::Q4K | Format::Q5K => &[0, 2],
            Format::Q2K => &[80, 82],
            Format::Q3K => &[108],
            Format::Q6K => &[208],
            Format::F16 | Format::Bf16 => unreachable!(),
        };
        for at in scales {
            block[*at] = random.u8(..);
            block[at + 1] = 0x1c | (random.u8(..) & 0x80);
        }
        bytes.extend(block);
    }
    Matrix::new(format, rows, columns, bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The product matches its definition, within the precision of the rounding, with each generation of instructions, and does not depend
    /// on other inputs in the same call.
    #[test]
    fn products_are_right_and_independent(place in 0..FORMATS.len(), rows in 1..40usize, count in 1..6usize, seed: u64) {
        let columns = 512;
        let matrix = random(FORMATS[place], rows, columns, seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let inputs: Vec<f32> = (0..count * columns).map(|_| random.f32() * 2.0 - 1.0).collect();
        let mut kinds = vec![Instructions::new(), Instructions::Scalar];
        #[cfg(target_arch = "x86_64")]
        if let Some(older) = pulp::x86::V3::try_new() {
            kinds.push(Instructions::V3(older));
        }
        for instructions in kinds {
            let products = matrix.times(instructions, &inputs);
            prop_assert_eq!(products.len(), rows * count);
            for (input, products) in inputs.chunks(columns).zip(products.chunks(rows)) {
                prop_assert_eq!(products, &matrix.times(instructions, input)[..]);
                for (row, product) in products.iter().enumerate() {
                    let mut weights = vec![0.0; columns];
                    matrix.row(row, &mut weights);
                    let right: f64 = weights.iter().zip(input).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    let size: f64 = weights.iter().map(|weight| f64::from(*weight).powi(2)).sum::<f64>().sqrt();
                    prop_assert!((right - f64::from(*product)).abs() <= size * 0.02, "{right} {product} {size}");
                }
            }
        }
    }
}

/// Checks hand-written blocks against ggml's definitions.
#[test]
fn rows_are_what_their_formats_say() {
    let one = [0x00, 0x3c]; // 1.0
    let two = [0x00, 0x40];
    let mut q4_0 = one.to_vec();
    q4_0.extend((0..16).map(|n| n | (15 - n) << 4));
    let mut q8_0 = two.to_vec();
    q8_0.extend((0..32).map(|n: i8| (n - 16) as u8));
    let mut row = vec![0.0; 32];
    Matrix::new(Format::Q4_0, 1, 32, q4_0).unwrap().row(0, &mut row);
    assert_eq!((row[0], row[15], row[16], row[31]), (-8.0, 7.0, 7.0, -8.0));
    Matrix::new(Format::Q8_0, 1, 32, q8_0).unwrap().row(0, &mut row);
    assert_eq!((row[0], row[31]), (-32.0, 30.0));

    // d = 1, dmin = 2; the first scale is 3, the fifth 1 + 2·16; the first minimum is 5; all quants are 9 and 4.
    let mut q4k = [one, two].concat();
    q4k.extend([3 | 0x80, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0]);
    q4k.extend([0x49; 128]);
    let mut row = vec![0.0; 256];
    Matrix::new(Format::Q4K, 1, 256, q4k).unwrap().row(0, &mut row);
    assert_eq!((row[0], row[31], row[32], row[128]), (9.0 * 3.0 - 10.0, 17.0, 0.0, 9.0 * 33.0));

    let mut q6k = vec![0x21; 128];
    q6k.extend([0b11_10_01_00; 64]);
    q6k.extend([1u8; 15]);
    q6k.push(0xff);
    q6k.extend(one);
    Matrix::new(Format::Q6K, 1, 256, q6k).unwrap().row(0, &mut row);
    assert_eq!((row[0], row[32], row[64], row[96], row[255]), (1.0 - 32.0, 17.0 - 32.0, 34.0 - 32.0, 50.0 - 32.0, -(50.0 - 32.0)));
    assert!(Matrix::new(Format::Q6K, 1, 256, vec![0; 209]).is_none());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn two_halves_are_read_as_one_is() {
    let Some(lanes) = pulp::x86::V3::try_new() else { return };
    for bits in 0..=u16::MAX {
        let ([low, high], other) = (bits.to_le_bytes(), bits.wrapping_mul(31).to_le_bytes());
        let (first, second) = super::open::halves(lanes, [low, high, other[0], other[1]]);
        let expected = [[low, high], other].map(super::unpack::half);
        assert_eq!([first.to_bits(), second.to_bits()], expected.map(f32::to_bits), "{bits:#x}");
    }
}

#[test]
fn halves_are_read_over_their_whole_range() {
    for (bits, value) in
        [(0x3c00u16, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65_504.0), (0x0000, 0.0), (0x7c00, f32::INFINITY)]
    {
        assert_eq!(super::unpack::half(bits.to_le_bytes()), value);
    }
}
