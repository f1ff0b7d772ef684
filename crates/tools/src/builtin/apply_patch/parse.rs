//! Parser of patches in two formats: `*** Begin Patch`, and unified diffs.

use super::git::{GitHeader, is_binary, names};

/// Change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Section {
    /// Create the file, perhaps as an executable one.
    Add { path: String, content: String, executable: bool },
    /// Delete the file. The hunks of a diff remove its lines; without hunks it may hold anything.
    Delete { path: String, hunks: Vec<Hunk> },
    /// Change the file, and perhaps rename it.
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

impl Section {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path, .. } | Self::Update { path, .. } => path,
        }
    }
}

/// A contiguous range of lines with changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines that precede the hunk in this order, such as the head of a function.
    pub(super) below: Vec<String>,
    /// Line of the old file where the hunk begins, from 1, if given; it may be wrong.
    pub(super) near: Option<usize>,
    pub(super) lines: Vec<(Sign, String)>,
    /// True if the hunk ends at the end of the file.
    pub(super) at_end: bool,
    /// True if the new file ends without a line break, if given.
    pub(super) open_end: Option<bool>,
    /// True if the lines of the patch end with `\r\n`.
    pub(super) windows: bool,
}

impl Hunk {
    /// Returns the lines that the file must contain.
    pub(super) fn old(&self) -> Vec<&str> {
        self.lines.iter().filter(|(sign, _)| *sign != Sign::Add).map(|(_, line)| line.as_str()).collect()
    }
}

/// Sign of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The line stays.
    Keep,
    /// The line is removed.
    Remove,
    /// The line is added.
    Add,
}

const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";

/// Description of the expected format, for errors.
const FORM: &str = "write `*** Begin Patch`, then for each file `*** Update File: PATH` (or `*** Add File: PATH`, `*** Delete File: PATH`), `@@`, and its lines with ` `, `-` or `+` before them, then `*** End Patch`";

/// Parses a patch.
///
/// # Errors
/// A message that names the line that cannot be parsed.
pub(super) fn parse(patch: &str) -> Result<Vec<Section>, String> {
    let ending = if windows(patch) { "\r\n" } else { "\n" };
    let lines: Vec<&str> = patch.lines().collect();
    let mut reader = Reader { lines: &lines, at: 0, ending };
    let sections = if lines.iter().any(|line| [ADD, DELETE, UPDATE].iter().any(|head| line.trim_start().starts_with(head))) {
        reader.marked()?
    } else {
        reader.unified()?
    };
    if sections.is_empty() { Err(format!("there is no change in the patch: {FORM}")) } else { Ok(sections) }
}

/// Returns true if every line ends with `\r\n`.
fn windows(text: &str) -> bool {
    let breaks = text.matches('\n').count();
    breaks > 0 && text.matches("\r\n").count() == breaks
}

struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
    ending: &'a str,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn ahead(&self, by: usize) -> &'a str {
        self.lines.get(self.at + by).copied().unwrap_or_default()
    }

    fn fault<T>(&self, what: &str) -> Result<T, String> {
        self.fault_at(self.at, what)
    }

    fn fault_at<T>(&self, at: usize, what: &str) -> Result<T, String> {
        let line: String = self.lines.get(at).unwrap_or(&"the end").chars().take(120).collect();
        Err(format!("line {} of the patch, `{line}`: {what}", at + 1))
    }

    /// Parses the `*** Begin Patch` format.
    fn marked(&mut self) -> Result<Vec<Section>, String> {
        let mut sections = Vec::new();
        while let Some(line) = self.peek() {
            let named = |head: &str| line.trim_start().strip_prefix(head).map(|path| path.trim().to_owned());
            let (add, delete, update) = (named(ADD), named(DELETE), named(UPDATE));
            if add.iter().chain(&delete).chain(&update).any(String::is_empty) {
                return self.fault("a path is missing");
            }
            if add.is_none() && delete.is_none() && update.is_none() {
                // Skip the frame of the patch, and text that models put around it.
                if !is_frame(line) {
                    return self.fault(&format!("this belongs to no file; {FORM}"));
                }
                self.at += 1;
                continue;
            }
            self.at += 1;
            if let Some(path) = add {
                sections.push(self.added(path)?);
            } else if let Some(path) = delete {
                sections.push(Section::Delete { path, hunks: Vec::new() });
            } else if let Some(path) = update {
                let to = self.peek().and_then(|line| line.trim_start().strip_prefix(MOVE)).map(|to| to.trim().to_owned());
                self.at += usize::from(to.is_some());
                let hunks = self.hunks(false)?;
                if hunks.is_empty() && to.is_none() {
                    return self.fault(&format!("no change of `{path}` comes before it"));
                }
                sections.push(Section::Update { path, to, hunks });
            }
        }
        Ok(sections)
    }

    fn added(&mut self, path: String) -> Result<Section, String> {
        let mut content = String::new();
        let mut blank_lines = 0;
        while let Some(line) = self.peek().filter(|line| !is_mark(line)) {
            match line.strip_prefix('+') {
                Some(text) => {
                    content.push_str(&self.ending.repeat(std::mem::take(&mut blank_lines)));
                    content.push_str(text);
                    content.push_str(self.ending);
                }
                // Models omit the + of a blank line. Blank lines at the end, and before the first line, are not lines of the file.
                None if line.trim().is_empty() => blank_lines += usize::from(!content.is_empty()),
                None if is_frame(line) => {}
                None => return self.fault("each line of a new file begins with +"),
            }
            self.at += 1;
        }
        Ok(Section::Add { path, content, executable: false })
    }

    /// Parses hunks up to the first line that begins something else.
    fn hunks(&mut self, unified: bool) -> Result<Vec<Hunk>, String> {
        let mut hunks: Vec<Hunk> = Vec::new();
        // Lines before the first `@@` form a hunk of their own.
        let mut open: Option<Hunk> = None;
        while let Some(line) = self.peek() {
            let new_file = || line.starts_with("diff --git ") || (line.starts_with("--- ") && self.ahead(1).starts_with("+++ "));
            if if unified { new_file() || is_binary(line) } else { is_mark(line) } {
                break;
            }
            if let Some(head) = line.strip_prefix("@@") {
                let (near, below) = head_of(head);
                match &mut open {
                    // Consecutive heads, such as `@@ class A` and `@@ def f`.
                    Some(hunk) if hunk.lines.is_empty() => {
                        hunk.below.extend(below);
                        hunk.near = hunk.near.or(near);
                    }
                    _ => hunks.extend(open.replace(Hunk {
                        below: below.into_iter().collect(),
                        near,
                        windows: self.ending == "\r\n",
                        ..Hunk::default()
                    })),
                }
                self.at += 1;
                continue;
            }
            let hunk = open.get_or_insert_default();
            if line.trim_end() == "*** End of File" {
                hunk.at_end = true;
            } else if line.starts_with('\\') {
                // The mark refers to the line before it. If only the old file lacks the final line break, the new file has one.
                match hunk.lines.last() {
                    Some((Sign::Remove, _)) => hunk.open_end = Some(false),
                    Some(_) => hunk.open_end = Some(true),
                    None => {}
                }
            } else if is_fence(line) {
                // Text that models put around the patch.
            } else {
                let Some(read) = signed(line) else {
                    return self.fault("a line of a change begins with a space, - or +; a line that stays as it is begins with a space");
                };
                hunk.lines.push(read);
            }
            self.at += 1;
        }
        hunks.extend(open);
        // Blank lines after the last change are more likely not lines of the file.
        for hunk in hunks.iter_mut().filter(|hunk| !hunk.at_end) {
            while hunk.lines.last().is_some_and(|(sign, line)| *sign == Sign::Keep && line.is_empty()) {
                hunk.lines.pop();
            }
        }
        hunks.retain(|hunk| !hunk.lines.is_empty());
        Ok(hunks)
    }

    /// Parses a unified diff, also one from git.
    fn unified(&mut self) -> Result<Vec<Section>, String> {
        let mut sections = Vec::new();
        let mut header = GitHeader::default();
        // The first header without a change.
        let mut idle = None;
        while let Some(line) = self.peek() {
            if line.starts_with("--- ") && self.ahead(1).starts_with("+++ ") {
                let (old, new) = names(line, self.ahead(1), header.renamed());
                let (old_path, new_path) = (old.as_deref(), new.as_deref());
                if !header.fits(old_path, new_path) && !header.is_overruled(old_path, new_path, self.at) {
                    // The header belongs to a file without hunks, and these files have no header.
                    sections.extend(self.header_only(&mut header, &mut idle)?);
                }
                let executable = std::mem::take(&mut header).executable;
                self.at += 2;
                let hunks = self.hunks(true)?;
                sections.push(self.file((old, new), hunks, executable)?);
                continue;
            } else if line.starts_with("@@") {
                return self.fault("no file is named before it: write `--- a/PATH` and `+++ b/PATH`");
            } else if header.begins_anew(line) {
                sections.extend(self.header_only(&mut header, &mut idle)?);
            }
            if let Err(why) = header.read(line, self.at) {
                return self.fault(&why);
            }
            self.at += 1;
        }
        sections.extend(self.header_only(&mut header, &mut idle)?);
        match idle.filter(|_| sections.is_empty()) {
            Some(idle) => self.fault_at(idle.at, &idle.section().err().unwrap_or_default()),
            None => Ok(sections),
        }
    }

    /// Returns the change that a header of git without hunks describes, and leaves an empty header. Moves a header without a change to `idle`,
    /// unless there is one.
    fn header_only(&self, header: &mut GitHeader, idle: &mut Option<GitHeader>) -> Result<Option<Section>, String> {
        let header = std::mem::take(header);
        if header.is_without_change() {
            idle.get_or_insert(header);
            return Ok(None);
        }
        header.section().or_else(|why| self.fault_at(header.at, &why))
    }

    fn file(&self, names: (Option<String>, Option<String>), hunks: Vec<Hunk>, executable: bool) -> Result<Section, String> {
        match names {
            (None, Some(path)) => {
                let open = hunks.iter().any(|hunk| hunk.open_end == Some(true));
                let lines: Vec<&str> = hunks.iter().flat_map(|hunk| &hunk.lines).map(|(_, line)| line.as_str()).collect();
                let mut content = lines.join(self.ending);
                if !open && !lines.is_empty() {
                    content.push_str(self.ending);
                }
                Ok(Section::Add { path, content, executable })
            }
            (Some(path), None) => Ok(Section::Delete { path, hunks }),
            (Some(path), Some(to)) => Ok(Section::Update { to: (to != path).then_some(to), path, hunks }),
            (None, None) => self.fault("a file that neither was nor will be"),
        }
    }
}

/// Returns true for a mark of the `*** Begin Patch` format that ends the section before it.
fn is_mark(line: &str) -> bool {
    [ADD, DELETE, UPDATE, "*** Begin Patch", "*** End Patch"].iter().any(|mark| line.starts_with(mark))
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```")
}

/// Returns true for a line that frames a patch and has no content.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("*** Begin Patch") || line.starts_with("*** End Patch") || is_fence(line) || line == "EOF"
}

/// Parses a line of a hunk with its sign. Models omit the space of a blank line.
fn signed(line: &str) -> Option<(Sign, String)> {
    let mut characters = line.chars();
    let sign = match characters.next() {
        None | Some(' ') => Sign::Keep,
        Some('-') => Sign::Remove,
        Some('+') => Sign::Add,
        Some(_) => return None,
    };
    Some((sign, characters.as_str().to_owned()))
}

/// Parses the text after `@@`: line numbers, or a line that precedes the hunk. Text after line numbers is only a hint for people.
fn head_of(head: &str) -> (Option<usize>, Option<String>) {
    let head = head.trim();
    match head.strip_prefix('-').and_then(|rest| rest.split_once("@@")) {
        Some((numbers, _)) => {
            let first = numbers.split([',', ' ']).next().and_then(|number| number.parse().ok());
            (first, None)
        }
        None => {
            let line = head.strip_suffix("@@").unwrap_or(head).trim();
            (None, (!line.is_empty()).then(|| line.to_owned()))
        }
    }
}
