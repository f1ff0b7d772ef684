//! A program that stays: its standard input and output are the caller's until it is ended.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{ChildStderr, ChildStdin, ChildStdout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Bound, ProcessEnd, ProcessError, ProcessRequest,
    capture::Keeper,
    run::{Group, check, name},
    system::{SELDOM, Watch},
};
use crate::Confinement;

/// Bytes of standard error that are read at once.
const CHUNK: usize = 8 * 1024;

/// What to start. Nothing bounds its time: who starts it ends it.
#[derive(Debug, Clone)]
pub struct ServiceRequest {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub working_folder: PathBuf,
    /// The whole environment: nothing is inherited, and only the mark `AIME_PROCESS` is added.
    pub environment: BTreeMap<OsString, OsString>,
    /// How many bytes of its standard error are kept: the first half and the last half.
    pub error_limit: usize,
    /// What it may read, write, reach and take.
    pub confinement: Confinement,
}

/// A started program. One that takes more than its confinement allows is killed with all that it started. Dropped, it and all that it started is killed at once, as it is when this process is gone; see [`run`](super::run).
#[derive(Debug)]
pub struct Service {
    group: Group,
    watch: Option<Watch>,
    program: String,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    said: Arc<Mutex<Keeper>>,
}

impl Service {
    /// Starts a program that leads a process group of its own. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ProcessError`] when it could not be started.
    pub fn start(request: ServiceRequest) -> Result<Self, ProcessError> {
        let ServiceRequest { program, arguments, working_folder, environment, error_limit, confinement } = request;
        let request = ProcessRequest {
            program,
            arguments,
            working_folder,
            environment,
            input: Vec::new(),
            time_limit: Duration::MAX,
            output_limit: error_limit,
            confinement,
        };
        check(&request)?;
        let mut group = Group::start(&request, true)?;
        let watch = group.bounded(SELDOM);
        let (stdin, stdout, stderr) = group.pipes();
        let said = Arc::new(Mutex::new(Keeper::new(error_limit)));
        if let Some(stderr) = stderr {
            tokio::spawn(listen(stderr, Arc::clone(&said)));
        }
        Ok(Self { group, watch, program: name(&request.program), stdin, stdout, said })
    }

    /// Its standard output and input, once. Closing the input tells it to end.
    pub fn streams(&mut self) -> Option<(ChildStdout, ChildStdin)> {
        Some((self.stdout.take()?, self.stdin.take()?))
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).so_far().text()
    }

    /// The hosts that were refused to it so far, in words.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.group.refused()
    }

    /// What it took too much of, where it was killed for that.
    #[must_use]
    pub fn exceeded(&self) -> Option<Bound> {
        self.watch.as_ref().and_then(Watch::exceeded)
    }

    /// Whether it runs; its end may be noticed a moment late.
    pub fn is_running(&mut self) -> bool {
        self.group.is_running()
    }

    /// Closes its streams, gives it `patience` to end by itself, and then ends it and all that it started as [`run`](super::run) does.
    ///
    /// # Errors
    /// [`ProcessError::Wait`] when the operating system does not say how it ended.
    pub async fn end(mut self, patience: Duration) -> Result<ProcessEnd, ProcessError> {
        drop((self.stdin.take(), self.stdout.take()));
        let end = self.group.watch(async {}, patience, &CancellationToken::new()).await;
        end.map_err(|source| ProcessError::Wait { program: self.program, source })
    }
}

/// Reads standard error to its end, so that the program never waits.
async fn listen(mut stderr: ChildStderr, said: Arc<Mutex<Keeper>>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count) = stderr.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        said.lock().unwrap_or_else(PoisonError::into_inner).push(chunk.get(..count).unwrap_or_default());
    }
}
