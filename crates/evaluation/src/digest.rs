//! Digest of the inputs of a trial.

use std::{io, path::Path};

use toml::{Table, Value};

use crate::{Task, TaskFiles};

/// Digest of several parts, each prefixed by its length.
pub(crate) struct Digest(blake3::Hasher);

impl Digest {
    /// Adds a part.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    fn files(&mut self, files: &TaskFiles) {
        self.part(&(files.len() as u64).to_le_bytes());
        for (name, bytes) in files.iter() {
            self.part(name.as_os_str().as_encoded_bytes());
            self.part(bytes);
        }
    }

    /// Returns the first 64 bits as hexadecimal digits.
    pub(crate) fn short(&self) -> String {
        self.0.finalize().to_hex().chars().take(16).collect()
    }
}

impl Task {
    /// Returns a digest of all inputs of a trial of this task, and of its check.
    pub(crate) fn digest(&self) -> Digest {
        let mut digest = Digest(blake3::Hasher::new());
        digest.part(self.goal.as_bytes());
        digest.part(self.check.as_bytes());
        for files in [&self.files, &self.hidden] {
            digest.files(files);
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

/// Named settings to evaluate.
#[derive(Debug, Clone, Default)]
pub struct NamedSettings {
    pub(crate) table: Table,
    /// Content on which a trial with them depends: the settings, and the content of their extension folders, wherever those are.
    pub(crate) made_of: String,
}

impl NamedSettings {
    /// Creates settings from the content of a file, with absolute paths.
    ///
    /// # Errors
    /// A folder of extensions that cannot be read.
    pub fn new(table: Table) -> io::Result<Self> {
        let mut settings = table.clone();
        let extensions = settings.get_mut("extensions").and_then(Value::as_table_mut);
        let folders = extensions.and_then(|extensions| extensions.remove("folders"));
        let mut made_of = settings.to_string();
        if let Some(folders) = folders {
            let mut held = Digest(blake3::Hasher::new());
            for folder in folders.as_array().into_iter().flatten().filter_map(Value::as_str) {
                held.files(&TaskFiles::of_folder(Path::new(folder), |_| false)?);
            }
            made_of += &held.short();
        }
        Ok(Self { table, made_of })
    }
}
