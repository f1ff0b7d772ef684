//! Matrices of quantised weights, and their product with activations.
//!
//! Both operands are converted to 16-bit integers, because every processor since SSE2 multiplies and adds pairs of those in one
//! instruction, and compilers find that instruction by themselves. Weights are converted block by block on demand; activations are rounded
//! to 12 bits per block. The K formats, which most files use, are converted to 8-bit integers if the processor has AVX2. `pulp` selects the
//! instructions at run time, so a plain build is as fast as one for this very machine.

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

/// Weights: `rows` rows of `columns`, in the format of the file.
#[derive(Debug)]
pub(crate) struct Matrix {
    form: Form,
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

/// [`Format`], extended by an own format for weights that are not quantised.
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

/// Runs `$body` with `$block` bound to the block type of a form.
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
    /// Creates a matrix from the bytes of a tensor. Returns `None` if the bytes have another size.
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

    /// Multiplies each row of `inputs` (of `columns` numbers) with the matrix. Returns the same number of rows, of [`rows`](Self::rows)
    /// numbers each.
    pub(crate) fn times(&self, instructions: Instructions, inputs: &[f32]) -> Vec<f32> {
        #[cfg(target_arch = "x86_64")]
        if let Some(products) = bytes::times(self.form, instructions, &self.bytes, (self.rows, self.columns), inputs) {
            return products;
        }
        with_block!(self.form, B => product::times::<B>(instructions, &self.bytes, self.rows, self.columns, inputs))
    }

    /// Writes one row as floats, or zeros if the index is beyond the last row.
    pub(crate) fn row(&self, row: usize, to: &mut [f32]) {
        with_block!(self.form, B => {
            let size = self.columns / B::WEIGHTS * B::BYTES;
            rows::expand::<B>(self.bytes.chunks_exact(size.max(1)).nth(row).unwrap_or(&[]), to);
        });
    }
}

/// Returns the numbers of a tensor that is not quantised. Returns `None` for other formats.
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
