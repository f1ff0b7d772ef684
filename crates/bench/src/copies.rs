//! Cost of the private folders of tasks that run at once, compared with `git clone --shared`.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use aime_orchestrator::sandbox::{Confinement, ProcessEnd, ProcessRequest, run};
use aime_work_tree::{Extras, FolderMerge, PrivateFolders};
use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::run::milliseconds;

/// Number of files in each folder of the repository.
const IN_A_FOLDER: usize = 100;
/// Number of lines in each file, some 2 KB.
const LINES: usize = 40;
/// Time limit of one command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// Makes a repository of this many files with the `git` on `path`, then in turn a clone of it, the private folders of two tasks, and merges of a file that one of them
/// has changed, and of nothing.
///
/// # Errors
/// A `git` that fails, a file that cannot be written.
pub(crate) async fn beside_a_clone(files: usize, path: OsString) -> Result<serde_json::Value> {
    let place = tempfile::tempdir()?;
    let (folder, clone) = (place.path().join("work"), place.path().join("clone"));
    fill(&folder, files)?;
    for arguments in [&["init", "-q"][..], &["add", "."], &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]] {
        git(&path, &folder, arguments.iter().map(OsString::from).collect()).await?;
    }
    let begun = Instant::now();
    git(&path, place.path(), vec!["clone".into(), "-q".into(), "--shared".into(), folder.clone().into(), clone.into()]).await?;
    let clone = begun.elapsed();

    let begun = Instant::now();
    let folders = PrivateFolders::open(&folder, &place.path().join("private"), path).await?;
    let first = folders.begin("a", &Extras::default()).await?;
    let (made_first, begun) = (begun.elapsed(), Instant::now());
    let next = folders.begin("b", &Extras::default()).await?;
    let made_next = begun.elapsed();
    fs::write(first.path().join(name(0)), "changed\n")?;
    let begun = Instant::now();
    if folders.merge(&first, "a").await? != FolderMerge::Clean {
        bail!("one change is not merged");
    }
    let (merged, begun) = (begun.elapsed(), Instant::now());
    if folders.merge(&next, "b").await? != FolderMerge::Unchanged {
        bail!("a folder without changes has some");
    }
    let looked_at = begun.elapsed();
    let times = [("clone", clone), ("first", made_first), ("next", made_next), ("merge", merged), ("unchanged", looked_at)];
    let times: BTreeMap<&str, f64> = times.into_iter().map(|(name, time)| (name, milliseconds(time))).collect();
    Ok(json!({"files": files, "ms": times}))
}

fn name(number: usize) -> PathBuf {
    Path::new(&format!("folder-{}", number / IN_A_FOLDER)).join(format!("file-{number}.txt"))
}

/// Writes files of made-up lines, each file another one.
fn fill(folder: &Path, files: usize) -> Result<()> {
    for number in 0..files {
        let file = folder.join(name(number));
        fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
        let text: String = (0..LINES).map(|line| format!("line {line} of file {number}, and some more words of it\n")).collect();
        fs::write(file, text)?;
    }
    Ok(())
}

async fn git(path: &OsString, folder: &Path, arguments: Vec<OsString>) -> Result<()> {
    let request = ProcessRequest {
        program: "git".into(),
        arguments,
        working_folder: folder.to_owned(),
        environment: BTreeMap::from([("PATH".into(), path.clone()), ("HOME".into(), folder.into())]),
        input: Vec::new(),
        time_limit: COMMAND_TIMEOUT,
        output_limit: 1 << 16,
        confinement: Confinement::off(),
    };
    let ended = run(request, &CancellationToken::new()).await?;
    match ended.end {
        ProcessEnd::Exited(0) => Ok(()),
        end => bail!("git ended with {end:?}: {}", String::from_utf8_lossy(&ended.stderr.bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
    #[tokio::test]
    async fn copies_of_a_small_repository_are_measured() {
        let measured = beside_a_clone(120, std::env::var_os("PATH").unwrap()).await.unwrap();
        assert_eq!(measured["files"], 120);
        let times: Vec<&str> = measured["ms"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(times, ["clone", "first", "merge", "next", "unchanged"]);
    }
}
