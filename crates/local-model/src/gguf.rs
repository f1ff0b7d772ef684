//! GGUF: header of a model file, and its tensors.
//!
//! ggml's `docs/gguf.md` specifies the format. Every length in a header is checked against the rest of the file before memory is allocated
//! for it, so that a damaged file causes an error and does not exhaust the memory.

mod read;
mod value;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub(crate) use value::GgufValue;

use crate::LocalModelError;
use crate::matrix::Format;

/// Everything before the weights.
#[derive(Debug)]
pub(crate) struct Header {
    file: PathBuf,
    metadata: Vec<(String, GgufValue)>,
    tensors: Vec<TensorPlace>,
}

/// Location of a tensor in the file.
#[derive(Debug, Clone)]
pub(crate) struct TensorPlace {
    pub(crate) name: String,
    /// Dimensions: first the elements of a row, then the number of rows, and so on.
    pub(crate) shape: Vec<u64>,
    pub(crate) format: Format,
    /// Offset from the beginning of the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Header {
    /// Reads the header of a file and checks that all its tensors are within the file.
    pub(crate) fn read(file: &Path) -> Result<Self, LocalModelError> {
        read::read(file)
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn value(&self, key: &str) -> Option<&GgufValue> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.value(key).and_then(GgufValue::as_text)
    }

    pub(crate) fn whole(&self, key: &str) -> Option<u64> {
        self.value(key).and_then(GgufValue::as_whole)
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.value(key).and_then(GgufValue::as_number)
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<&TensorPlace> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Returns the size of all tensors, in bytes.
    pub(crate) fn weight_bytes(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.bytes).sum()
    }

    /// Reads the bytes of a tensor.
    pub(crate) fn tensor_bytes(&self, from: &mut File, place: &TensorPlace) -> Result<Vec<u8>, LocalModelError> {
        let failed = |error: std::io::Error| LocalModelError::Unreadable {
            file: self.file.clone(),
            reason: format!("tensor {}: {error}", place.name),
        };
        from.seek(SeekFrom::Start(place.offset)).map_err(failed)?;
        let mut bytes = Vec::with_capacity(usize::try_from(place.bytes).unwrap_or(0));
        from.take(place.bytes).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 != place.bytes {
            return Err(self.damaged(format!("tensor {} ends early: the file was changed while it was read", place.name)));
        }
        Ok(bytes)
    }

    pub(crate) fn damaged(&self, reason: impl Into<String>) -> LocalModelError {
        LocalModelError::Damaged { file: self.file.clone(), reason: reason.into() }
    }

    pub(crate) fn unsupported(&self, reason: impl Into<String>, hint: impl Into<String>) -> LocalModelError {
        LocalModelError::Unsupported { file: self.file.clone(), reason: reason.into(), hint: hint.into() }
    }
}
