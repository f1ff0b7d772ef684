//! Parser of a Dockerfile, for the working folder of its container.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::suite::TaskFiles;

/// Working folder of an image that names none.
const USUAL: &str = "/app";

/// Content of an image, as far as the Dockerfile can be parsed; <https://docs.docker.com/reference/dockerfile/>.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// Working folder.
    pub(super) work: PathBuf,
    /// Copies: source among the files, target below the working folder, and true if the target is a folder.
    copies: Vec<(PathBuf, PathBuf, bool)>,
    /// Other instructions, which are not executed here.
    pub(super) not_made: Vec<String>,
}

impl Image {
    /// Reads a Dockerfile. A missing one counts as an image with the working folder `/app`.
    pub(super) fn read(path: &Path) -> Self {
        Self::of(&fs::read_to_string(path).unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let (mut folder, mut copies, mut not_made) = (PathBuf::from("/"), Vec::new(), Vec::new());
        let mut work = None;
        for instruction in instructions(text) {
            let (name, rest) = instruction.split_once(char::is_whitespace).unwrap_or((instruction.as_str(), ""));
            match name.to_ascii_uppercase().as_str() {
                "WORKDIR" => {
                    folder.push(rest.trim());
                    work = Some(folder.clone());
                }
                "COPY" | "ADD" => copies.push((folder.clone(), instruction)),
                "RUN" => not_made.push(instruction),
                _ => {}
            }
        }
        let work = work.filter(|work| work.parent().is_some()).unwrap_or_else(|| USUAL.into());
        let mut image = Self { work, copies: Vec::new(), not_made };
        for (folder, instruction) in copies {
            match image.copy(&folder, &instruction) {
                Some(copies) => image.copies.extend(copies),
                None => image.not_made.push(instruction),
            }
        }
        image
    }

    /// Returns the copies of an instruction; `None` if it copies files of another image, of a pattern or from the network, or copies them
    /// outside of the working folder.
    fn copy(&self, folder: &Path, instruction: &str) -> Option<Vec<(PathBuf, PathBuf, bool)>> {
        let (_, words) = instruction.split_once(char::is_whitespace)?;
        let words: Vec<String> =
            serde_json::from_str(words.trim()).unwrap_or_else(|_| words.split_whitespace().map(str::to_owned).collect());
        let (flags, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.starts_with("--"));
        let (to, from) = words.split_last()?;
        if flags.iter().any(|flag| flag.starts_with("--from")) || from.iter().any(|from| from.contains(['*', '?', ':', '$'])) {
            return None;
        }
        let into = to.ends_with('/') || to.ends_with('.') || from.len() > 1;
        let to = plain(&folder.join(to)).strip_prefix(&self.work).ok()?.to_owned();
        let into = into || to.as_os_str().is_empty();
        Some(from.iter().map(|from| (plain(Path::new(from)), to.clone(), into)).collect())
    }

    /// Returns the files at the targets of the copies; files that are not copied stay in place.
    pub(super) fn install_files(&self, files: TaskFiles) -> TaskFiles {
        files.placed(|name| {
            let place = |(from, to, into): &(PathBuf, PathBuf, bool)| {
                let rest = name.strip_prefix(from).ok()?;
                match (rest.as_os_str().is_empty(), into) {
                    (true, true) => Some(to.join(name.file_name()?)),
                    (true, false) => Some(to.clone()),
                    (false, _) => Some(to.join(rest)),
                }
            };
            self.copies.iter().filter_map(place).collect()
        })
    }
}

/// Returns the instructions, each in one line.
fn instructions(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line.trim_end(), true));
        if let Some(last) = found.last_mut() {
            let between = if last.is_empty() || line.is_empty() { "" } else { " " };
            last.extend([between, line]);
        }
        if !goes_on {
            found.push(String::new());
        }
    }
    found.retain(|instruction| !instruction.is_empty());
    found
}

/// Removes `.` and a prefix before `/` from a path.
fn plain(path: &Path) -> PathBuf {
    let root = path.has_root();
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    if root { std::iter::once(Component::RootDir).chain(parts).collect() } else { parts.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_where_an_image_has_them() {
        let names = ["data.csv", "deps/a.txt", "deps/in/b.txt", "conf/x.ini", "left.txt"];
        let paths = |text: &str| {
            let files = TaskFiles::of_names(&names);
            let files = Image::of(text).install_files(files);
            files.iter().map(|(name, _)| name.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("", "conf/x.ini data.csv deps/a.txt deps/in/b.txt left.txt"),
            ("COPY deps/ /app/", "a.txt conf/x.ini data.csv in/b.txt left.txt"),
            (
                "WORKDIR /srv\nCOPY --chown=me ./deps more\nADD [\"conf/x.ini\", \"y.ini\"]",
                "data.csv left.txt more/a.txt more/in/b.txt y.ini",
            ),
            (
                "WORKDIR /srv\nCOPY data.csv \\\n  # the other\n  left.txt in/",
                "conf/x.ini deps/a.txt deps/in/b.txt in/data.csv in/left.txt",
            ),
            ("WORKDIR /srv\nWORKDIR deep\nCOPY . .", "conf/x.ini data.csv deps/a.txt deps/in/b.txt left.txt"),
            (
                "COPY *.csv /app/in/\nCOPY --from=other data.csv /app/other\nCOPY data.csv /etc/",
                "conf/x.ini data.csv deps/a.txt deps/in/b.txt left.txt",
            ),
        ] {
            assert_eq!(paths(text), expected, "{text}");
        }
    }

    #[test]
    fn missing_images_are_reported() {
        let image = Image::of("FROM debian\n# RUN no\nRUN apt-get update && \\\n    apt-get install jq\nCOPY data.csv /etc/\nworkdir /\n");
        assert_eq!(image.not_made, ["RUN apt-get update && apt-get install jq", "COPY data.csv /etc/"]);
        assert_eq!(image.work, Path::new("/app"));
    }
}
