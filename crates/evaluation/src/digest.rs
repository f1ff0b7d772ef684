//! What a trial was made of, in short.

use crate::Task;

/// A digest of parts, each with its length before it.
pub(crate) struct Digest(blake3::Hasher);

impl Digest {
    /// Adds a part.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    /// The first 64 bits of it, as hexadecimal digits.
    pub(crate) fn short(&self) -> String {
        self.0.finalize().to_hex().chars().take(16).collect()
    }
}

impl Task {
    /// A digest of all that a trial of it, and its check, depend on.
    pub(crate) fn digest(&self) -> Digest {
        let mut digest = Digest(blake3::Hasher::new());
        digest.part(self.goal.as_bytes());
        digest.part(self.check.as_bytes());
        for files in [&self.files, &self.hidden] {
            digest.part(&(files.len() as u64).to_le_bytes());
            for (name, bytes) in files.iter() {
                digest.part(name.as_os_str().as_encoded_bytes());
                digest.part(bytes);
            }
        }
        for late in &self.late {
            digest.part(late.as_os_str().as_encoded_bytes());
        }
        digest.part(self.wrong_plan.as_ref().map(ToString::to_string).unwrap_or_default().as_bytes());
        let bounds = self.bounds;
        for bound in [Some(bounds.seconds), bounds.tokens, Some(bounds.check_seconds), Some(bounds.late_seconds)] {
            digest.part(&bound.unwrap_or_default().to_le_bytes());
        }
        digest
    }
}
