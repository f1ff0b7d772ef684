//! Folders whose runs are served.

mod begin;
mod drafts;
mod folder;
mod search;

use std::{path::Path, sync::Arc};

use aime_orchestrator::FailureCode;
use aime_runs::{ErrorKind, RunsError, Setup};
use futures::future::{BoxFuture, join_all};

use self::folder::FolderRuns;
use crate::{Act, Draft, Event, Found, NewRun, PlanReview, Problem, Refusal, RunDetails, RunEntry, RunList, Runs, UnreadableFolder};

/// Separator between the folder and the run in a run's name.
const SEPARATOR: char = ':';

/// Runs of served folders, as the folders are configured. A run of another folder than the first has the folder in its name.
pub struct Folders {
    folders: Vec<Arc<FolderRuns>>,
}

impl Folders {
    /// Opens folders, each once; the first one is the working folder.
    pub fn new(setups: impl IntoIterator<Item = Setup>) -> Self {
        let mut folders: Vec<Arc<FolderRuns>> = Vec::new();
        for setup in setups {
            if folders.iter().any(|known| known.is_at(&setup.folder)) {
                continue;
            }
            let name = free_name(&setup.folder, &folders.iter().map(|folder| folder.name()).collect::<Vec<_>>());
            let prefix = if folders.is_empty() { String::new() } else { format!("{name}{SEPARATOR}") };
            folders.push(Arc::new(FolderRuns::new(name, prefix, aime_runs::Runs::new(setup).for_clients())));
        }
        Self { folders }
    }

    /// Stops the runs that are driven here, so that they can be resumed.
    pub async fn end(&self) {
        join_all(self.folders.iter().map(|folder| folder.end())).await;
    }

    /// Reads every folder. Returns the results, and the folders that cannot be read; an error only if none can be read.
    fn read_all<T>(&self, read: impl Fn(&FolderRuns) -> Result<T, Refusal>) -> Result<(Vec<T>, Vec<UnreadableFolder>), Refusal> {
        let (mut results, mut unreadable) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            match read(folder) {
                Ok(result) => results.push(result),
                Err(reason) => unreadable.push(UnreadableFolder { folder: folder.name().to_owned(), reason }),
            }
        }
        if results.is_empty() && !unreadable.is_empty() {
            return Err(unreadable.swap_remove(0).reason);
        }
        Ok((results, unreadable))
    }

    /// Returns the folder of a run, and the run's name in it.
    fn room<'a>(&self, run: &'a str) -> Result<(&Arc<FolderRuns>, &'a str), Refusal> {
        match run.split_once(SEPARATOR) {
            Some((folder, run)) => Ok((self.folder(Some(folder))?, run)),
            None => Ok((self.folder(None)?, run)),
        }
    }

    fn folder(&self, name: Option<&str>) -> Result<&Arc<FolderRuns>, Refusal> {
        let found = match name {
            Some(name) => self.folders.iter().find(|folder| folder.name() == name),
            None => self.folders.first(),
        };
        found.ok_or_else(|| Refusal {
            problem: Problem::NotFound,
            message: format!("no folder {:?} is served", name.unwrap_or_default()),
            hint: Some("start `aime serve` with --folder DIR for each further folder".to_owned()),
        })
    }
}

/// Returns a short, unused name for a folder, of characters that need no escape in a URL.
fn free_name(folder: &Path, taken: &[&str]) -> String {
    let own = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = own.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).take(40).collect();
    let name = if plain.is_empty() { "root".to_owned() } else { plain };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(&name.as_str())).unwrap_or(name)
}

impl Runs for Folders {
    fn folders(&self) -> Vec<String> {
        self.folders.iter().map(|folder| folder.name().to_owned()).collect()
    }

    fn list(&self) -> Result<RunList, Refusal> {
        let (listed, unreadable) = self.read_all(FolderRuns::list)?;
        let mut runs: Vec<RunEntry> = listed.into_iter().flatten().collect();
        runs.sort_by(|one, other| other.created.cmp(&one.created));
        Ok(RunList { runs, unreadable })
    }

    fn details(&self, run: &str) -> Result<RunDetails, Refusal> {
        let (folder, run) = self.room(run)?;
        folder.details(run)
    }

    fn is_driven(&self, run: &str) -> Result<bool, Refusal> {
        let (folder, run) = self.room(run)?;
        folder.is_driven(run)
    }

    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal> {
        let (folder, run) = self.room(run)?;
        folder.events(run, after, most)
    }

    fn search(&self, words: &[String]) -> Result<Found, Refusal> {
        let (searched, unreadable) = self.read_all(|folder| folder.search(words))?;
        let mut all = Found { unreadable, ..Found::default() };
        for found in searched {
            all.hits.extend(found.hits);
            all.more |= found.more;
        }
        Ok(all)
    }

    fn start(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async move {
            let folder = self.folder(new.folder.as_deref())?;
            folder.start(new).await
        })
    }

    fn plan(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async move { self.folder(new.folder.as_deref())?.plan(new.clone()) })
    }

    fn drafts(&self) -> Vec<Draft> {
        self.folders.iter().flat_map(|folder| folder.drafts()).collect()
    }

    fn draft(&self, draft: &str) -> Result<Draft, Refusal> {
        let (folder, draft) = self.room(draft)?;
        folder.draft(draft)
    }

    fn review<'a>(&'a self, draft: &'a str, review: PlanReview) -> BoxFuture<'a, Result<Option<String>, Refusal>> {
        Box::pin(async move {
            let (folder, draft) = self.room(draft)?;
            folder.review(draft, review).await
        })
    }

    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>> {
        Box::pin(async move {
            let (folder, run) = self.room(run)?;
            folder.act(run, act).await
        })
    }
}

fn refusal(error: impl Into<RunsError>) -> Refusal {
    let error = error.into();
    let problem = if error.kind == ErrorKind::Run(FailureCode::Internal) { Problem::Fault } else { Problem::Refused };
    Refusal { problem, message: error.with_causes().to_string(), hint: error.hint.map(|hint| hint.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_short_names_of_their_own() {
        assert_eq!(free_name(Path::new("projects/my project"), &[]), "my-project");
        assert_eq!(free_name(Path::new("projects/a"), &["a", "a-2"]), "a-3");
        assert_eq!(free_name(Path::new("/"), &[]), "root");
    }
}
