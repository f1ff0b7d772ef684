//! Conversion of rows to floats, and of floats to the own block format.

use super::unpack::{Block, UnpackedBlock};

/// Writes the weights of a row as floats.
pub(super) fn expand<B: Block>(row: &[u8], to: &mut [f32]) {
    let mut unpacked = UnpackedBlock::new();
    to.fill(0.0);
    for (block, to) in row.chunks_exact(B::BYTES).zip(to.chunks_exact_mut(B::WEIGHTS)) {
        let scale = B::unpack(block, &mut unpacked);
        for ((to, value), place) in to.iter_mut().zip(unpacked.values).zip(0..) {
            let low = if B::LOWS { unpacked.lows.get(place / 16).copied().unwrap_or(0) } else { 0 };
            *to = scale * f32::from(value) - unpacked.low * f32::from(low);
        }
    }
}

/// Converts floats to blocks of 32 with a scale.
pub(super) fn whole(values: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() / 32 * 68);
    for block in values.as_chunks::<32>().0 {
        let largest = block.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 && largest.is_finite() { largest / 32_767.0 } else { 1.0 };
        bytes.extend(scale.to_le_bytes());
        for value in block {
            bytes.extend(((value / scale).round() as i16).to_le_bytes());
        }
    }
    bytes
}
