//! Headers of git in a unified diff, and the paths that a diff names.

use super::parse::Section;

/// The lines of git before the hunks of a file. Changes without hunks have nothing else: renames, and files that are or were empty.
#[derive(Debug, Default)]
pub(super) struct GitHeader {
    /// Index of its first line in the patch.
    pub(super) at: usize,
    /// True if the file is created as an executable one.
    pub(super) executable: bool,
    /// The text after `diff --git`.
    paths: Option<String>,
    /// Index of the last line after `diff --git` that was read.
    last: usize,
    /// True if a line names the content of an empty file.
    is_empty_file: bool,
    created: bool,
    deleted: bool,
    from: Option<String>,
    to: Option<String>,
}

impl GitHeader {
    /// Returns the paths of a rename.
    pub(super) fn renamed(&self) -> (Option<&str>, Option<&str>) {
        (self.from.as_deref(), self.to.as_deref())
    }

    /// Returns true if a line begins the header of another file.
    pub(super) fn begins_anew(&self, line: &str) -> bool {
        line.starts_with("diff --git ") || (line.starts_with("rename from ") && self.from.is_some())
    }

    /// Returns true if the paths of `---` and `+++` may be those of this header; `None` means `/dev/null`.
    pub(super) fn fits(&self, old: Option<&str>, new: Option<&str>) -> bool {
        let path = self.paths.as_deref().and_then(one_path);
        let is_path = |other: Option<&str>| path.is_none() || path.as_deref() == other;
        match (self.created, self.deleted) {
            (true, _) => old.is_none() && is_path(new),
            (_, true) => new.is_none() && is_path(old),
            _ => self.renamed() == (None, None) || self.renamed() == (old, new),
        }
    }

    /// Returns true if `---` and `+++` at an index count instead of this header, although they name another path: they follow it directly.
    /// The header of an empty file is a change of its own, too, if they are of a change of another kind.
    pub(super) fn is_overruled(&self, old: Option<&str>, new: Option<&str>, at: usize) -> bool {
        let is_same_kind = (self.created && old.is_none()) || (self.deleted && new.is_none());
        let is_other = self.paths.as_deref().and_then(one_path).is_some_and(|path| ![old, new].contains(&Some(&path)));
        (self.created || self.deleted) && is_other && at == self.last + 1 && (is_same_kind || !self.is_empty_file)
    }

    /// Returns true for the header of a file that is not changed. `git diff` prints it for files whose time has changed.
    pub(super) fn is_without_change(&self) -> bool {
        !self.created && !self.deleted && self.renamed() == (None, None) && self.paths.as_deref().and_then(one_path).is_some()
    }

    /// Reads a line at an index of the patch. Ignores a line that is no part of a header.
    ///
    /// # Errors
    /// A message on a change that a patch of text cannot make.
    pub(super) fn read(&mut self, line: &str, at: usize) -> Result<(), String> {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            *self = Self { at, last: at, paths: Some(paths.trim().to_owned()), ..Self::default() };
        } else if let Some(path) = line.strip_prefix("rename from ") {
            self.begin(at);
            self.from = Some(unquoted(path.trim()));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.begin(at);
            self.to = Some(unquoted(path.trim()));
        } else if is_binary(line) {
            return Err(BINARY.to_owned());
        } else if self.paths.is_some() {
            self.read_mode(line, at)?;
        }
        Ok(())
    }

    /// Sets the first line, if this is it.
    fn begin(&mut self, at: usize) {
        if self.paths.is_none() && self.renamed() == (None, None) {
            self.at = at;
        }
    }

    /// Reads a line that occurs only after `diff --git`.
    fn read_mode(&mut self, line: &str, at: usize) -> Result<(), String> {
        if ["index ", "new file mode ", "deleted file mode "].iter().any(|head| line.starts_with(head)) {
            self.last = at;
        }
        if let Some(mode) = line.strip_prefix("new file mode ") {
            (self.created, self.executable) = (true, mode.trim() == "100755");
            if !matches!(mode.trim(), "100644" | "100755") {
                return Err(NO_FILE.to_owned());
            }
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            self.deleted = true;
            if mode.trim() == "160000" {
                return Err(NO_FILE.to_owned());
            }
        } else if let Some(contents) = line.strip_prefix("index ") {
            self.is_empty_file = contents.contains(EMPTY);
        } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
            return Err(
                "apply_patch does not change the mode of a file; leave out the lines `old mode` and `new mode`, and use `chmod` by `bash`"
                    .to_owned(),
            );
        } else if line.starts_with("copy from ") || line.starts_with("copy to ") {
            return Err("apply_patch does not copy files; copy it with `cp` by `bash`, and leave it out or change the copy".to_owned());
        }
        Ok(())
    }

    /// Returns the change of a header without hunks; `None` if nothing was read.
    ///
    /// # Errors
    /// A message on what is missing.
    pub(super) fn section(&self) -> Result<Option<Section>, String> {
        match (&self.from, &self.to, &self.paths) {
            (Some(from), Some(to), _) => Ok(Some(Section::Update { path: from.clone(), to: Some(to.clone()), hunks: Vec::new() })),
            (None, None, None) => Ok(None),
            (None, None, Some(paths)) if self.created || self.deleted => {
                let path = one_path(paths).ok_or("its path is unclear; use `*** Add File: PATH` or `*** Delete File: PATH` instead")?;
                Ok(Some(match self.created {
                    true => Section::Add { path, content: String::new(), executable: self.executable },
                    false => Section::Delete { path, hunks: Vec::new() },
                }))
            }
            (None, None, Some(_)) => {
                Err("no change follows it; add `--- a/PATH`, `+++ b/PATH` and the changes, or leave it out".to_owned())
            }
            _ => Err("`rename from` and `rename to` belong together, and one of them is missing".to_owned()),
        }
    }
}

/// Beginning of git's name of an empty content.
const EMPTY: &str = "e69de29";
const BINARY: &str = "apply_patch changes text only; leave this file out, and make it with a command by `bash`";
const NO_FILE: &str = "apply_patch makes and deletes files only, and this is a symbolic link or a submodule; leave it out, and use `ln -s` or `git` by `bash`";

/// Returns true for the line that a diff has in the place of the content of a binary file.
pub(super) fn is_binary(line: &str) -> bool {
    line.starts_with("GIT binary patch") || (line.starts_with("Binary files ") && line.trim_end().ends_with(" differ"))
}

/// Returns the path of a file that is not renamed, from the text after `diff --git`: `a/PATH b/PATH`, or `PATH PATH` without prefixes.
fn one_path(paths: &str) -> Option<String> {
    let middle = paths.len() / 2;
    let (one, other) = (paths.get(..middle)?, paths.get(middle..)?.strip_prefix(' ')?);
    let (one, other) = (unquoted(one), unquoted(other));
    match one.strip_prefix("a/").zip(other.strip_prefix("b/")) {
        Some((one, other)) => (one == other).then(|| one.to_owned()),
        None => (one == other).then_some(one),
    }
}

/// Returns the paths in `--- a/PATH` and `+++ b/PATH`; `None` for `/dev/null`. In a diff without prefixes `a/` is a folder. `renamed` are
/// the paths in the lines `rename from` and `rename to`, which never have prefixes.
pub(super) fn names(old: &str, new: &str, renamed: (Option<&str>, Option<&str>)) -> (Option<String>, Option<String>) {
    let (old, new) = (path_in(old), path_in(new));
    let (old, new) = (old.as_deref(), new.as_deref());
    let (old, new) = match (old, new) {
        _ if (old, new) == renamed => renamed,
        (Some(path), None) => (path.strip_prefix("a/").or(old), None),
        (None, Some(path)) => (None, path.strip_prefix("b/").or(new)),
        (Some(one), Some(other)) => match one.strip_prefix("a/").zip(other.strip_prefix("b/")) {
            Some((one, other)) => (Some(one), Some(other)),
            // A reversed diff, or a prefix that a model has left out.
            None if one != other && without_prefix(one) == without_prefix(other) => {
                (Some(without_prefix(one)), Some(without_prefix(other)))
            }
            None => (old, new),
        },
        (None, None) => (None, None),
    };
    (old.map(str::to_owned), new.map(str::to_owned))
}

/// Returns the path in a line `--- PATH` or `+++ PATH` as written; `None` for `/dev/null`.
fn path_in(line: &str) -> Option<String> {
    let path = line.get(4..).unwrap_or_default();
    // A time may follow after a tab.
    let path = path.split('\t').next().unwrap_or_default().trim();
    (path != "/dev/null").then(|| unquoted(path))
}

/// Returns a path that git may have quoted: `"caf\\303\\251"` is `café`.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut left = quoted.bytes();
    while let Some(byte) = left.next() {
        let escaped = if byte == b'\\' { left.next() } else { None };
        match escaped {
            None => bytes.push(byte),
            Some(first @ b'0'..=b'3') => {
                let digits = [Some(first), left.next(), left.next()].into_iter().flatten();
                bytes.push(digits.fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'))));
            }
            Some(letter) => bytes.push(match letter {
                b'a' => 0x07,
                b'b' => 0x08,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 0x0b,
                b'f' => 0x0c,
                b'r' => b'\r',
                other => other,
            }),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| quoted.to_owned())
}

fn without_prefix(path: &str) -> &str {
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path)
}
