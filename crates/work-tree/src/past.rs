//! What was done between two states: the history of commits as a sequence of changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use crate::{
    Commit, WorkTree, WorkTreeError,
    tree::{as_path, line},
};

/// What a state holds at a path: a file, or a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Blob {
    mode: String,
    id: String,
}

impl Blob {
    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    /// Whether it is a file that its owner may run.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.mode == "100755"
    }
}

/// What became of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Relative to the folder.
    pub path: PathBuf,
    /// What stood there.
    pub before: Option<Blob>,
    /// What stands there since.
    pub after: Option<Blob>,
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// On whose behalf it was done, as it was [recorded](WorkTree::record_for): several where what they did to a file at once was joined in it.
    pub by: BTreeSet<String>,
    /// What it changed, each path once.
    pub changes: Vec<Changed>,
}

/// The work that led from one state to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Where it began.
    pub from: Commit,
    /// The pieces, each of which begins where the one before it ended. Work that went on at once stands one after the other.
    pub steps: Vec<Step>,
}

impl WorkTree {
    /// The work that led to a state: from an earlier one, or from the first of all. None where no work led from the one to the other.
    ///
    /// # Errors
    /// [`WorkTreeError`], as where the state is not here.
    pub async fn past(&self, from: Option<&Commit>, to: &Commit) -> Result<Option<Past>, WorkTreeError> {
        let said = self.git.must("look at what was done", &["log", "-z", "--format=%H %T %P%n%B", to.as_str(), "--"]).await?;
        let said = String::from_utf8_lossy(&said);
        let states = States::read(&said);
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
        Ok(Some(Past { from: first.parse()?, steps }))
    }

    /// What of the folder differs from one state to another.
    ///
    /// # Errors
    /// [`WorkTreeError`], as where one of them is not here.
    pub async fn changed(&self, from: &Commit, to: &Commit) -> Result<Vec<Changed>, WorkTreeError> {
        let (from, to) = (self.tree_of(from).await?, self.tree_of(to).await?);
        Ok(self.differences(&[(&from, &to)]).await?.remove(&(from, to)).unwrap_or_default())
    }

    /// How many bytes each holds.
    ///
    /// # Errors
    /// [`WorkTreeError`], as where one of them is not here.
    pub async fn sizes(&self, blobs: &[&Blob]) -> Result<Vec<u64>, WorkTreeError> {
        let input: String = blobs.iter().map(|blob| format!("{}\n", blob.id)).collect();
        let what = "look at files of states";
        let said = self.git.must_read(what, &["cat-file", "--batch-check=%(objectsize)"], input.into_bytes()).await?;
        let said = String::from_utf8_lossy(&said);
        // Of one that is missing a line says so in words.
        let sizes: Option<Vec<u64>> = said.lines().map(|size| size.parse().ok()).collect();
        sizes.filter(|sizes| sizes.len() == blobs.len()).ok_or_else(|| WorkTreeError::Incomplete { said: said.trim().to_owned() })
    }

    /// What a file holds.
    ///
    /// # Errors
    /// [`WorkTreeError::TooMuch`] for a file of over 64 MiB.
    pub async fn content(&self, blob: &Blob) -> Result<Vec<u8>, WorkTreeError> {
        self.git.must("read a file of a state", &["cat-file", "blob", &blob.id]).await
    }

    /// Where a link points, as it is written.
    ///
    /// # Errors
    /// [`WorkTreeError`].
    pub async fn target(&self, blob: &Blob) -> Result<PathBuf, WorkTreeError> {
        Ok(as_path(&self.content(blob).await?).to_owned())
    }

    /// What differs between trees, pair by pair.
    async fn differences(&self, pairs: &[(&str, &str)]) -> Result<Differences, WorkTreeError> {
        if pairs.is_empty() {
            return Ok(Differences::new());
        }
        let input: String = pairs.iter().map(|(from, to)| format!("{from} {to}\n")).collect();
        let compare = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let said = self.git.must_read("compare states", &compare, input.into_bytes()).await?;
        Ok(read_differences(&said))
    }
}

/// What differs, by the names of two trees.
type Differences = HashMap<(String, String), Vec<Changed>>;

/// Reads what `git diff-tree --stdin -z --raw` says of pairs of trees: a line for each pair, then what differs.
fn read_differences(said: &[u8]) -> Differences {
    let mut differences = Differences::new();
    let mut rest = said;
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
                changes.push(Changed { path: as_path(path).to_owned(), before: blob(from, before), after: blob(to, after) });
            }
        }
        if let Some((from, to)) = line(pair.to_vec()).split_once(' ') {
            differences.insert((from.to_owned(), to.to_owned()), changes);
        }
    }
    differences
}

/// What stands at a path; nothing where its mode says so.
fn blob(mode: &str, id: &str) -> Option<Blob> {
    mode.bytes().any(|digit| digit != b'0').then(|| Blob { mode: mode.to_owned(), id: id.to_owned() })
}

/// What stands before the first such byte, and what after it.
fn cut(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|found| *found == byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// States by their names.
struct States<'a>(HashMap<&'a str, State<'a>>);

/// What is known of a state.
struct State<'a> {
    tree: &'a str,
    parents: Vec<&'a str>,
    by: &'a str,
}

impl<'a> States<'a> {
    /// Reads what `git log` says: of each state a line with its name, its tree and those before it, and on whose behalf it was recorded.
    fn read(said: &'a str) -> Self {
        let states = said.split('\0').filter_map(|state| {
            let (names, by) = state.split_once('\n')?;
            let mut names = names.split(' ').filter(|name| !name.is_empty());
            let (commit, tree) = (names.next()?, names.next()?);
            Some((commit, State { tree, parents: names.collect(), by: by.trim() }))
        });
        Self(states.collect())
    }

    /// What led to a state from the last one before it that is a beginning, and that one. The way goes over what each state was recorded or joined onto.
    fn parts(&self, to: &'a str, begins: &dyn Fn(&str, &[&str]) -> bool) -> Option<(&'a str, Vec<Part<'a>>)> {
        let (mut parts, mut at) = (Vec::new(), to);
        loop {
            let state = self.0.get(at)?;
            if begins(at, &state.parents) {
                parts.reverse();
                return Some((at, parts));
            }
            let (&onto, joined) = state.parents.split_first()?;
            let before = self.0.get(onto)?.tree;
            parts.push(match joined.first() {
                None => Part::Done { by: state.by, from: before, to: state.tree },
                Some(&theirs) => {
                    let ours = self.until(onto);
                    let parts = self.parts(theirs, &|state, _| ours.contains(state)).map(|(_, parts)| parts).unwrap_or_default();
                    Part::Joined { from: before, to: state.tree, theirs: parts, by: self.by(theirs, &ours) }
                }
            });
            at = onto;
        }
    }

    /// A state and all before it.
    fn until(&self, state: &'a str) -> HashSet<&'a str> {
        let (mut found, mut next) = (HashSet::new(), vec![state]);
        while let Some(state) = next.pop() {
            if found.insert(state) {
                next.extend(self.0.get(state).into_iter().flat_map(|state| &state.parents));
            }
        }
        found
    }

    /// On whose behalf a state came to be, beyond what was known.
    fn by(&self, state: &'a str, known: &HashSet<&str>) -> BTreeSet<String> {
        let states = self.until(state).into_iter().filter(|state| !known.contains(state)).filter_map(|state| self.0.get(state));
        states.filter(|state| state.parents.len() < 2).map(|state| state.by.to_owned()).collect()
    }
}

/// A piece of the way from one state to another, by the names of trees.
enum Part<'a> {
    /// Work.
    Done { by: &'a str, from: &'a str, to: &'a str },
    /// Work of others that was joined, part by part where that is known.
    Joined { from: &'a str, to: &'a str, theirs: Vec<Part<'a>>, by: BTreeSet<String> },
}

impl<'a> Part<'a> {
    /// The trees that are compared for it.
    fn pairs(&self, pairs: &mut Vec<(&'a str, &'a str)>) {
        match self {
            Self::Done { from, to, .. } => pairs.push((from, to)),
            Self::Joined { from, to, theirs, .. } => {
                pairs.push((from, to));
                theirs.iter().for_each(|part| part.pairs(pairs));
            }
        }
    }

    fn steps(&self, differences: &Differences) -> Vec<Step> {
        let of = |from: &str, to: &str| differences.get(&(from.to_owned(), to.to_owned())).cloned().unwrap_or_default();
        match self {
            Self::Done { by, from, to } => vec![Step { by: BTreeSet::from([(*by).to_owned()]), changes: of(from, to) }],
            Self::Joined { from, to, theirs, by } => {
                joined(of(from, to), theirs.iter().flat_map(|part| part.steps(differences)).collect(), by)
            }
        }
    }
}

/// What the steps of others come to where they are joined. Of a path that only they changed it is what they did; what both did to one became one change.
fn joined(whole: Vec<Changed>, theirs: Vec<Step>, by: &BTreeSet<String>) -> Vec<Step> {
    let mut ends: HashMap<&Path, (&Option<Blob>, &Option<Blob>)> = HashMap::new();
    let mut authors: HashMap<&Path, BTreeSet<String>> = HashMap::new();
    for step in &theirs {
        for Changed { path, before, after } in &step.changes {
            ends.entry(path).or_insert((before, after)).1 = after;
            authors.entry(path).or_default().extend(step.by.iter().cloned());
        }
    }
    let theirs_alone: HashSet<PathBuf> = whole
        .iter()
        .filter(|changed| ends.get(changed.path.as_path()) == Some(&(&changed.before, &changed.after)))
        .map(|changed| changed.path.clone())
        .collect();
    let mut of_both: BTreeMap<BTreeSet<String>, Vec<Changed>> = BTreeMap::new();
    for changed in whole {
        if !theirs_alone.contains(&changed.path) {
            let by = authors.get(changed.path.as_path()).unwrap_or(by).clone();
            of_both.entry(by).or_default().push(changed);
        }
    }
    let of_theirs = theirs.into_iter().map(|Step { by, mut changes }| {
        changes.retain(|changed| theirs_alone.contains(&changed.path));
        Step { by, changes }
    });
    let of_both = of_both.into_iter().map(|(by, changes)| Step { by, changes });
    of_theirs.chain(of_both).filter(|step| !step.changes.is_empty()).collect()
}
