//! Files of a task: from a table of texts, or from a folder.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Component, Path, PathBuf},
};

#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use aime_messages::{Message, message};
use walkdir::WalkDir;

/// Maximum total bytes of the files of one task.
const MAX_BYTES: u64 = 64 << 20;

/// Files by their path below a folder, each with its bytes and an executable flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFiles(BTreeMap<PathBuf, TaskFile>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct TaskFile {
    bytes: Vec<u8>,
    executable: bool,
}

impl TaskFiles {
    /// Creates files with these texts.
    ///
    /// # Errors
    /// A sentence for each name that leads out of the folder.
    pub(super) fn of_texts(texts: BTreeMap<String, String>) -> Result<Self, Vec<Message>> {
        let (good, bad): (Vec<_>, Vec<_>) = texts.into_iter().partition(|(name, _)| is_inside(Path::new(name)));
        if bad.is_empty() {
            let file = |text: String| TaskFile { executable: text.starts_with("#!"), bytes: text.into_bytes() };
            Ok(Self(good.into_iter().map(|(name, text)| (name.into(), file(text))).collect()))
        } else {
            Err(bad.into_iter().map(|(name, _)| message!("suite-outside", file = format!("{name:?}"))).collect())
        }
    }

    /// Reads all files below a folder, except those for which `left_out` returns true, given the path in the folder. Empty if the folder
    /// does not exist. Skips links.
    pub(crate) fn of_folder(folder: &Path, left_out: impl Fn(&Path) -> bool) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut size = 0;
        if !folder.is_dir() {
            return Ok(Self(files));
        }
        for entry in WalkDir::new(folder).sort_by_file_name() {
            let entry = entry?;
            let Ok(name) = entry.path().strip_prefix(folder) else { continue };
            if !entry.file_type().is_file() || left_out(name) {
                continue;
            }
            size += entry.metadata()?.len();
            if size > MAX_BYTES {
                return Err(io::Error::other(format!("the files in {} are larger than {} MB", folder.display(), MAX_BYTES >> 20)));
            }
            let bytes = fs::read(entry.path())?;
            let executable = bytes.starts_with(b"#!");
            files.insert(name.to_owned(), TaskFile { bytes, executable });
        }
        Ok(Self(files))
    }

    /// Adds these files; they replace files at the same path.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Moves the files into a folder of this name.
    pub(crate) fn within(self, folder: &str) -> Self {
        Self(self.0.into_iter().map(|(name, file)| (Path::new(folder).join(name), file)).collect())
    }

    /// Copies each file to the places that are returned for it; files without one stay in place.
    pub(crate) fn placed(self, places: impl Fn(&Path) -> Vec<PathBuf>) -> Self {
        let mut placed = BTreeMap::new();
        for (name, file) in self.0 {
            let mut found: Vec<PathBuf> = places(&name).into_iter().filter(|place| is_inside(place)).collect();
            if found.is_empty() {
                found.push(name);
            }
            placed.extend(found.into_iter().map(|place| (place, file.clone())));
        }
        Self(placed)
    }

    /// Creates empty files of these names.
    #[cfg(test)]
    pub(crate) fn of_names(names: &[&str]) -> Self {
        let empty = TaskFile { bytes: Vec::new(), executable: false };
        Self(names.iter().map(|name| (name.into(), empty.clone())).collect())
    }

    /// Changes the texts; other files stay as they are.
    pub(crate) fn map_text(self, change: impl Fn(&str) -> String) -> Self {
        let changed = |file: TaskFile| match String::from_utf8(file.bytes) {
            Ok(text) => TaskFile { bytes: change(&text).into_bytes(), ..file },
            Err(error) => TaskFile { bytes: error.into_bytes(), ..file },
        };
        Self(
            self.0
                .into_iter()
                .map(|(name, file)| {
                    let changed = changed(TaskFile { bytes: file.bytes, executable: file.executable });
                    (name, changed)
                })
                .collect(),
        )
    }

    /// Splits the files into those at these paths, and the others.
    pub(crate) fn divided(&self, places: &[PathBuf]) -> (Self, Self) {
        let (among, others) = self.0.clone().into_iter().partition(|(name, _)| places.contains(name));
        (Self(among), Self(others))
    }

    /// Returns true if there is a file at this path.
    pub(crate) fn has(&self, place: &Path) -> bool {
        self.0.contains_key(place)
    }

    /// Returns true if there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the paths and contents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.0.iter().map(|(name, file)| (name.as_path(), file.bytes.as_slice()))
    }

    /// Returns the number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes the files into a folder, over existing ones, each atomically: a reader finds either nothing or the complete file. Removes
    /// links and files in the place of a folder, and folders in the place of a file, so that nothing is written elsewhere.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        for (name, file) in &self.0 {
            let path = folder.join(name);
            clear(folder, name)?;
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            // An unused name, so that a link which a run has left there is not followed.
            let mut beside = tempfile::Builder::new().prefix(".aime-").tempfile_in(path.parent().unwrap_or(folder))?;
            beside.write_all(&file.bytes)?;
            #[cfg(unix)]
            beside.as_file().set_permissions(PermissionsExt::from_mode(if file.executable { 0o755 } else { 0o644 }))?;
            beside.persist(&path)?;
        }
        Ok(())
    }
}

/// Removes whatever prevents a file of this name.
fn clear(folder: &Path, name: &Path) -> io::Result<()> {
    let mut above: Vec<&Path> = name.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    above.reverse();
    let kind = |path: &Path| fs::symlink_metadata(path).map(|found| found.file_type()).ok();
    for above in above.into_iter().map(|above| folder.join(above)) {
        if kind(&above).is_some_and(|kind| !kind.is_dir()) {
            fs::remove_file(&above)?;
        }
    }
    let path = folder.join(name);
    if kind(&path).is_some_and(|kind| kind.is_dir()) { fs::remove_dir_all(&path) } else { Ok(()) }
}

/// Returns true if a path stays below the folder that it is joined to.
pub(super) fn is_inside(place: &Path) -> bool {
    let mut parts = place.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}
