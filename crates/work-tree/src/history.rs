//! Work between two states: the history of commits as a sequence of changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use crate::{
    Commit, WorkTree, WorkTreeError,
    tree::{as_path, line},
};

/// Content of a path in a state: a file, or a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Blob {
    pub(crate) mode: String,
    pub(crate) id: String,
}

impl Blob {
    /// Returns true for a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    /// Returns true for a file that its owner may execute.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.mode == "100755"
    }
}

/// Change of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// Former content; `None` if the path did not exist.
    pub before: Option<Blob>,
    /// New content; `None` if the path was removed.
    pub after: Option<Blob>,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Authors, as [recorded](WorkTree::record_for); several if their concurrent changes to a file were merged in this step.
    pub authors: BTreeSet<String>,
    /// Changes, each path once.
    pub changes: Vec<ChangedPath>,
}

/// Work that led from one state to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkHistory {
    /// First state.
    pub from: Commit,
    /// Steps, each of which begins where the one before it ended. Concurrent work is listed one after the other.
    pub steps: Vec<Step>,
}

impl WorkTree {
    /// Returns the work that led to a state: from an earlier one, or from the very first. `None` if no work led from one to the other.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if the state is missing.
    pub async fn history(&self, from: Option<&Commit>, to: &Commit) -> Result<Option<WorkHistory>, WorkTreeError> {
        let output = self.git.run_ok(&["log", "-z", "--format=%H %T %P%n%B", to.as_str(), "--"]).await?;
        let output = String::from_utf8_lossy(&output);
        let states = States::read(&output);
        let Some((first, parts)) = states.parts(to.as_str(), &|state, parents| match from {
            Some(from) => state == from.as_str(),
            None => parents.is_empty(),
        }) else {
            return Ok(None);
        };
        let mut pairs = Vec::new();
        parts.iter().for_each(|part| part.pairs(&mut pairs));
        let differences = self.differences(&pairs).await?;
        let mut steps = Vec::new();
        for part in &parts {
            steps.extend(part.steps(&differences));
        }
        Ok(Some(WorkHistory { from: first.parse()?, steps }))
    }

    /// Returns the differences between two states.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if one of them is missing.
    pub async fn changed(&self, from: &Commit, to: &Commit) -> Result<Vec<ChangedPath>, WorkTreeError> {
        let (from, to) = (self.tree_of(from).await?, self.tree_of(to).await?);
        Ok(self.differences(&[(&from, &to)]).await?.remove(&(from, to)).unwrap_or_default())
    }

    /// Returns the size of each file in bytes.
    ///
    /// # Errors
    /// [`WorkTreeError`], for example if one of them is missing.
    pub async fn sizes(&self, blobs: &[&Blob]) -> Result<Vec<u64>, WorkTreeError> {
        let input: String = blobs.iter().map(|blob| format!("{}\n", blob.id)).collect();
        let output = self.git.run_ok_with_input(&["cat-file", "--batch-check=%(objectsize)"], input.into_bytes()).await?;
        let output = String::from_utf8_lossy(&output);
        // For a missing object the line contains a message.
        let sizes: Option<Vec<u64>> = output.lines().map(|size| size.parse().ok()).collect();
        sizes.filter(|sizes| sizes.len() == blobs.len()).ok_or_else(|| WorkTreeError::Incomplete { stderr: output.trim().to_owned() })
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// [`WorkTreeError::TooMuch`] for a file of over 64 MiB.
    pub async fn content(&self, blob: &Blob) -> Result<Vec<u8>, WorkTreeError> {
        self.git.run_ok(&["cat-file", "blob", &blob.id]).await
    }

    /// Returns the target of a link, as it is written.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn target(&self, blob: &Blob) -> Result<PathBuf, WorkTreeError> {
        Ok(as_path(&self.content(blob).await?).to_owned())
    }

    /// Returns the differences of each pair of trees.
    async fn differences(&self, pairs: &[(&str, &str)]) -> Result<Differences, WorkTreeError> {
        if pairs.is_empty() {
            return Ok(Differences::new());
        }
        let input: String = pairs.iter().map(|(from, to)| format!("{from} {to}\n")).collect();
        let compare = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let output = self.git.run_ok_with_input(&compare, input.into_bytes()).await?;
        Ok(read_differences(&output))
    }
}

/// Differences, by the names of two trees.
type Differences = HashMap<(String, String), Vec<ChangedPath>>;

/// Parses the output of `git diff-tree --stdin -z --raw` for pairs of trees: a line for each pair, then its differences.
fn read_differences(output: &[u8]) -> Differences {
    let mut differences = Differences::new();
    let mut rest = output;
    while let Some((pair, after)) = cut(rest, b'\n') {
        rest = after;
        let mut changes = Vec::new();
        while rest.first() == Some(&b':')
            && let Some((about, after)) = cut(rest, 0)
            && let Some((path, after)) = cut(after, 0)
        {
            rest = after;
            let about = line(about.to_vec());
            let words: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            if let [from, to, before, after, ..] = words.as_slice() {
                changes.push(ChangedPath { path: as_path(path).to_owned(), before: blob(from, before), after: blob(to, after) });
            }
        }
        if let Some((from, to)) = line(pair.to_vec()).split_once(' ') {
            differences.insert((from.to_owned(), to.to_owned()), changes);
        }
    }
    differences
}

/// Returns the content of a path; `None` if the mode means that there is none.
fn blob(mode: &str, id: &str) -> Option<Blob> {
    mode.bytes().any(|digit| digit != b'0').then(|| Blob { mode: mode.to_owned(), id: id.to_owned() })
}

/// Splits a text at the first such byte.
fn cut(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|found| *found == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// States by their names.
struct States<'a>(HashMap<&'a str, State<'a>>);

/// Data of a state.
struct State<'a> {
    tree: &'a str,
    parents: Vec<&'a str>,
    by: &'a str,
}

impl<'a> States<'a> {
    /// Parses the output of `git log`: for each state a line with its name, its tree and its parents, and the author for whom it was
    /// recorded.
    fn read(output: &'a str) -> Self {
        let states = output.split('\0').filter_map(|state| {
            let (names, by) = state.split_once('\n')?;
            let mut names = names.split(' ').filter(|name| !name.is_empty());
            let (commit, tree) = (names.next()?, names.next()?);
            Some((commit, State { tree, parents: names.collect(), by: by.trim() }))
        });
        Self(states.collect())
    }

    /// Returns the last state before `to` at which the work may begin, and the parts of the work since. Follows the first parent of each
    /// state, onto which it was recorded or merged.
    fn parts(&self, to: &'a str, begins: &dyn Fn(&str, &[&str]) -> bool) -> Option<(&'a str, Vec<Part<'a>>)> {
        let (mut parts, mut at) = (Vec::new(), to);
        loop {
            let state = self.0.get(at)?;
            if begins(at, &state.parents) {
                parts.reverse();
                return Some((at, parts));
            }
            let (&onto, merged) = state.parents.split_first()?;
            let before = self.0.get(onto)?.tree;
            parts.push(match merged.first() {
                None => Part::Done { by: state.by, from: before, to: state.tree },
                Some(&theirs) => {
                    let ours = self.ancestors(onto);
                    let parts = self.parts(theirs, &|state, _| ours.contains(state)).map(|(_, parts)| parts).unwrap_or_default();
                    Part::Merged { from: before, to: state.tree, theirs: parts, by: self.authors(theirs, &ours) }
                }
            });
            at = onto;
        }
    }

    /// Returns a state and all its ancestors.
    fn ancestors(&self, state: &'a str) -> HashSet<&'a str> {
        let (mut found, mut next) = (HashSet::new(), vec![state]);
        while let Some(state) = next.pop() {
            if found.insert(state) {
                next.extend(self.0.get(state).into_iter().flat_map(|state| &state.parents));
            }
        }
        found
    }

    /// Returns the authors of a state and of its ancestors, except for those of known states.
    fn authors(&self, state: &'a str, known: &HashSet<&str>) -> BTreeSet<String> {
        let states = self.ancestors(state).into_iter().filter(|state| !known.contains(state)).filter_map(|state| self.0.get(state));
        states.filter(|state| state.parents.len() < 2).map(|state| state.by.to_owned()).collect()
    }
}

/// A part of the work from one state to another, by the names of trees.
enum Part<'a> {
    /// Work of one author.
    Done { by: &'a str, from: &'a str, to: &'a str },
    /// Work of others that was merged, with its own parts if they are known.
    Merged { from: &'a str, to: &'a str, theirs: Vec<Part<'a>>, by: BTreeSet<String> },
}

impl<'a> Part<'a> {
    /// Adds the pairs of trees that must be compared.
    fn pairs(&self, pairs: &mut Vec<(&'a str, &'a str)>) {
        match self {
            Self::Done { from, to, .. } => pairs.push((from, to)),
            Self::Merged { from, to, theirs, .. } => {
                pairs.push((from, to));
                theirs.iter().for_each(|part| part.pairs(pairs));
            }
        }
    }

    fn steps(&self, differences: &Differences) -> Vec<Step> {
        let of = |from: &str, to: &str| differences.get(&(from.to_owned(), to.to_owned())).cloned().unwrap_or_default();
        match self {
            Self::Done { by, from, to } => vec![Step { authors: BTreeSet::from([(*by).to_owned()]), changes: of(from, to) }],
            Self::Merged { from, to, theirs, by } => {
                merged_steps(of(from, to), theirs.iter().flat_map(|part| part.steps(differences)).collect(), by)
            }
        }
    }
}

/// Returns the steps of merged work. A path that only the others changed keeps their steps; a path that both sides changed becomes one
/// change.
fn merged_steps(whole: Vec<ChangedPath>, theirs: Vec<Step>, by: &BTreeSet<String>) -> Vec<Step> {
    let mut ends: HashMap<&Path, (&Option<Blob>, &Option<Blob>)> = HashMap::new();
    let mut authors: HashMap<&Path, BTreeSet<String>> = HashMap::new();
    for step in &theirs {
        for ChangedPath { path, before, after } in &step.changes {
            ends.entry(path).or_insert((before, after)).1 = after;
            authors.entry(path).or_default().extend(step.authors.iter().cloned());
        }
    }
    let theirs_alone: HashSet<PathBuf> = whole
        .iter()
        .filter(|changed| ends.get(changed.path.as_path()) == Some(&(&changed.before, &changed.after)))
        .map(|changed| changed.path.clone())
        .collect();
    let mut of_both: BTreeMap<BTreeSet<String>, Vec<ChangedPath>> = BTreeMap::new();
    for changed in whole {
        if !theirs_alone.contains(&changed.path) {
            let by = authors.get(changed.path.as_path()).unwrap_or(by).clone();
            of_both.entry(by).or_default().push(changed);
        }
    }
    let of_theirs = theirs.into_iter().map(|Step { authors: by, mut changes }| {
        changes.retain(|changed| theirs_alone.contains(&changed.path));
        Step { authors: by, changes }
    });
    let of_both = of_both.into_iter().map(|(by, changes)| Step { authors: by, changes });
    of_theirs.chain(of_both).filter(|step| !step.changes.is_empty()).collect()
}
