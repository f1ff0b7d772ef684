//! Matrices of quantised weights, and their product with what flows through a network.
//!
//! The idea: both sides become whole numbers of 16 bits, because every processor since SSE2 multiplies and adds pairs of those in one
//! instruction, and because compilers find that instruction by themselves. Weights become so block by block when they are needed; what
//! flows through the network is rounded to 12 bits per block. The K formats, which most files have, become numbers of 8 bits where the
//! processor has AVX2. `pulp` runs the loops with the instructions of the processor at hand; so a plain build is as fast as one for this very
//! machine.

#[cfg(target_arch = "x86_64")]
mod bytes;
mod format;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod open;
mod product;
mod rows;
mod unpack;

pub(crate) use format::Format;
pub(crate) use product::{Instructions, dot};

use unpack::Block;

/// Weights: `rows` rows of `columns`, as in the file.
#[derive(Debug)]
pub(crate) struct Matrix {
    form: Form,
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

/// [`Format`], with one of our own for weights that are not quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Whole,
}

/// Runs `$body` with `$block` standing for the block format of a form.
macro_rules! with_block {
    ($form:expr, $block:ident => $body:expr) => {
        match $form {
            Form::Q4_0 => {
                type $block = unpack::Q4_0;
                $body
            }
            Form::Q4_1 => {
                type $block = unpack::Q4_1;
                $body
            }
            Form::Q5_0 => {
                type $block = unpack::Q5_0;
                $body
            }
            Form::Q5_1 => {
                type $block = unpack::Q5_1;
                $body
            }
            Form::Q8_0 => {
                type $block = unpack::Q8_0;
                $body
            }
            Form::Q2K => {
                type $block = unpack::Q2K;
                $body
            }
            Form::Q3K => {
                type $block = unpack::Q3K;
                $body
            }
            Form::Q4K => {
                type $block = unpack::Q4K;
                $body
            }
            Form::Q5K => {
                type $block = unpack::Q5K;
                $body
            }
            Form::Q6K => {
                type $block = unpack::Q6K;
                $body
            }
            Form::Whole => {
                type $block = unpack::Whole;
                $body
            }
        }
    };
}

impl Matrix {
    /// A matrix from the bytes of a tensor. `None` where the bytes do not have that size.
    pub(crate) fn new(format: Format, rows: usize, columns: usize, bytes: Vec<u8>) -> Option<Self> {
        let form = match format {
            Format::Q4_0 => Form::Q4_0,
            Format::Q4_1 => Form::Q4_1,
            Format::Q5_0 => Form::Q5_0,
            Format::Q5_1 => Form::Q5_1,
            Format::Q8_0 => Form::Q8_0,
            Format::Q2K => Form::Q2K,
            Format::Q3K => Form::Q3K,
            Format::Q4K => Form::Q4K,
            Format::Q5K => Form::Q5K,
            Format::Q6K => Form::Q6K,
            Format::F32 | Format::F16 | Format::Bf16 => {
                let values = numbers(format, &bytes)?;
                return (values.len() == rows.checked_mul(columns)? && columns.is_multiple_of(32)).then(|| Self {
                    form: Form::Whole,
                    rows,
                    columns,
                    bytes: rows::whole(&values),
                });
            }
        };
        let (weights, size) = format.block();
        (columns.is_multiple_of(weights) && bytes.len() == rows.checked_mul(columns / weights)?.checked_mul(size)?).then_some(Self {
            form,
            rows,
            columns,
            bytes,
        })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The product with each row of `inputs` (of as many numbers as there are columns): as many rows of [`rows`](Self::rows) numbers.
    pub(crate) fn times(&self, instructions: Instructions, inputs: &[f32]) -> Vec<f32> {
        #[cfg(target_arch = "x86_64")]
        if let Some(products) = bytes::times(self.form, instructions, &self.bytes, (self.rows, self.columns), inputs) {
            return products;
        }
        with_block!(self.form, B => product::times::<B>(instructions, &self.bytes, self.rows, self.columns, inputs))
    }

    /// One row, as plain numbers. Zeros beyond the last row.
    pub(crate) fn row(&self, row: usize, to: &mut [f32]) {
        with_block!(self.form, B => {
            let size = self.columns / B::WEIGHTS * B::BYTES;
            rows::expand::<B>(self.bytes.chunks_exact(size.max(1)).nth(row).unwrap_or(&[]), to);
        });
    }
}

/// The numbers of a tensor that is not quantised. `None` for other formats.
pub(crate) fn numbers(format: Format, bytes: &[u8]) -> Option<Vec<f32>> {
    Some(match format {
        Format::F32 => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        Format::F16 => bytes.as_chunks().0.iter().map(|bytes| unpack::half(*bytes)).collect(),
        Format::Bf16 => bytes.as_chunks::<2>().0.iter().map(|bytes| f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16)).collect(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
