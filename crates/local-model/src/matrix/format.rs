//! Block formats of ggml for the weights of a row.

/// Encoding of the weights of a row. Names and layouts are those of ggml (`ggml-common.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    F32,
    F16,
    Bf16,
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
}

impl Format {
    /// Returns the format with this number in a GGUF file, if it is supported.
    pub(crate) fn of(kind: u32) -> Option<Self> {
        Some(match kind {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            10 => Self::Q2K,
            11 => Self::Q3K,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// Returns the name of the format with this number.
    pub(crate) fn name_of(kind: u32) -> String {
        match kind {
            16 => "IQ2_XXS".to_owned(),
            17 => "IQ2_XS".to_owned(),
            18 => "IQ3_XXS".to_owned(),
            19 => "IQ1_S".to_owned(),
            20 => "IQ4_NL".to_owned(),
            21 => "IQ3_S".to_owned(),
            22 => "IQ2_S".to_owned(),
            23 => "IQ4_XS".to_owned(),
            29 => "IQ1_M".to_owned(),
            34 => "TQ1_0".to_owned(),
            35 => "TQ2_0".to_owned(),
            39 => "MXFP4".to_owned(),
            other => format!("type {other}"),
        }
    }

    /// Returns the numbers of weights and of bytes of one block.
    pub(crate) const fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (256, 84),
            Self::Q3K => (256, 110),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
        }
    }

    /// Returns the size of a tensor of this shape, in bytes. Returns none if a row is not a whole number of blocks, or if the size
    /// overflows.
    pub(crate) fn bytes(self, shape: &[u64]) -> Option<u64> {
        let (weights, bytes) = self.block();
        let row = *shape.first()?;
        if row == 0 || row % weights as u64 != 0 {
            return None;
        }
        let elements = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size)).filter(|elements| *elements > 0)?;
        (elements / weights as u64).checked_mul(bytes as u64)
    }
}
