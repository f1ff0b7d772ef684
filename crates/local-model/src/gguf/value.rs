//! Values of the metadata.

/// Value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GgufValue {
    Whole(u64),
    Negative(i64),
    Number(f64),
    Truth(bool),
    Text(String),
    Texts(Vec<String>),
    Wholes(Vec<u64>),
    Numbers(Vec<f32>),
    /// Array of arrays, which is skipped because no relevant key has one.
    Passed,
}

impl GgufValue {
    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_texts(&self) -> Option<&[String]> {
        if let Self::Texts(texts) = self { Some(texts) } else { None }
    }

    pub(crate) fn as_numbers(&self) -> Option<&[f32]> {
        if let Self::Numbers(numbers) = self { Some(numbers) } else { None }
    }

    pub(crate) fn as_wholes(&self) -> Option<&[u64]> {
        if let Self::Wholes(wholes) = self { Some(wholes) } else { None }
    }

    pub(crate) fn as_whole(&self) -> Option<u64> {
        if let Self::Whole(whole) = self { Some(*whole) } else { None }
    }

    pub(crate) fn as_truth(&self) -> Option<bool> {
        if let Self::Truth(truth) = self { Some(*truth) } else { None }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Whole(whole) => Some(*whole as f64),
            _ => None,
        }
    }
}
