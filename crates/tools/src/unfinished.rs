//! Output of a command whose call has not ended: kept in a file while the command runs, so that a crash leaves it.

use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use aime_redact::Redactor;
use aime_sandbox::CapturedOutput;

/// Maximum characters that the file keeps, from the end of the output.
const MAX_KEPT: usize = 100_000;

/// Output of a command that a crash cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedOutput {
    /// End of the output, without secrets.
    pub text: String,
    /// Last time at which the command was seen running.
    pub seen_at: SystemTime,
}

impl UnfinishedOutput {
    /// Returns the file for the output of a call.
    pub(crate) fn place(folder: &Path, call: &str) -> PathBuf {
        let name: String = call.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        folder.join(format!("unfinished-{name}.txt"))
    }

    /// Reads the output that a crash left of a call, if there is any.
    #[must_use]
    pub fn read(folder: &Path, call: &str) -> Option<Self> {
        let place = Self::place(folder, call);
        let seen_at = place.metadata().and_then(|facts| facts.modified()).ok()?;
        Some(Self { text: fs::read_to_string(place).ok()?, seen_at })
    }

    /// Returns at most `limit` characters from the end of the output, from the beginning of a line if possible.
    #[must_use]
    pub fn tail(&self, limit: usize) -> String {
        let (text, total) = (self.text.trim_end(), self.text.trim_end().chars().count());
        let tail = last(text, limit);
        if tail.len() == text.len() {
            return text.to_owned();
        }
        let tail = tail.find('\n').filter(|end| *end < tail.len() / 2).and_then(|end| tail.get(end + 1..)).unwrap_or(tail);
        format!("[the last {} of {total} characters]\n{tail}", tail.chars().count())
    }
}

/// Writes the output of a running command to its file, and removes the file at the end of the command.
pub(crate) struct OutputFile<'a> {
    place: &'a Path,
    redactor: &'a Redactor,
    is_made: bool,
}

impl<'a> OutputFile<'a> {
    pub(crate) const fn new(place: &'a Path, redactor: &'a Redactor) -> Self {
        Self { place, redactor, is_made: false }
    }

    /// Writes the output so far, or only that the command still runs.
    pub(crate) fn write(&mut self, printed: Option<&CapturedOutput>) {
        let written = match printed {
            Some(printed) => self.write_text(&printed.text()),
            None => File::options()
                .write(true)
                .open(self.place)
                .and_then(|file| file.set_times(FileTimes::new().set_modified(SystemTime::now()))),
        };
        if let Err(error) = written {
            tracing::debug!(%error, file = %self.place.display(), "the output of a running command could not be kept");
        }
    }

    fn write_text(&mut self, printed: &str) -> io::Result<()> {
        if let Some(folder) = self.place.parent().filter(|_| !self.is_made) {
            fs::create_dir_all(folder)?;
        }
        self.is_made = true;
        // A crash in the middle of writing leaves the former text.
        let next = self.place.with_extension("new");
        fs::write(&next, last(&self.redactor.text(printed), MAX_KEPT))?;
        fs::rename(next, self.place)
    }
}

impl Drop for OutputFile<'_> {
    fn drop(&mut self) {
        if self.is_made
            && let Err(error) = fs::remove_file(self.place)
        {
            tracing::debug!(%error, file = %self.place.display(), "the output of an ended command could not be removed");
        }
    }
}

/// Returns at most `limit` characters from the end of a text.
fn last(text: &str, limit: usize) -> &str {
    match limit.checked_sub(1) {
        Some(before) => text.char_indices().nth_back(before).map_or(text, |(start, _)| text.get(start..).unwrap_or_default()),
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_shown() {
        let whole = UnfinishedOutput { text: "first\nsecond\nthird\n".into(), seen_at: SystemTime::UNIX_EPOCH };
        for (limit, expected) in [
            (100, "first\nsecond\nthird"),
            (18, "first\nsecond\nthird"),
            (14, "[the last 12 of 18 characters]\nsecond\nthird"),
            (3, "[the last 3 of 18 characters]\nird"),
            (0, "[the last 0 of 18 characters]\n"),
        ] {
            assert_eq!(whole.tail(limit), expected, "{limit}");
        }
    }

    #[test]
    fn a_file_holds_the_output_until_the_command_ends() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("outputs");
        let (place, redactor) = (UnfinishedOutput::place(&folder, "t/1/2/1"), Redactor::default());
        assert_eq!(place.file_name().unwrap(), "unfinished-t-1-2-1.txt");
        let mut file = OutputFile::new(&place, &redactor);
        file.write(Some(&CapturedOutput { bytes: b"one\n".to_vec(), total: 4 }));
        file.write(None);
        assert_eq!(UnfinishedOutput::read(&folder, "t/1/2/1").unwrap().text, "one\n");
        let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        file.write(Some(&CapturedOutput { bytes: secret.into(), total: secret.len() as u64 }));
        assert!(!UnfinishedOutput::read(&folder, "t/1/2/1").unwrap().text.contains(secret), "no secret is kept");
        drop(file);
        assert_eq!(UnfinishedOutput::read(&folder, "t/1/2/1"), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}
