//! A long-running program: its standard input and output belong to the caller until it is ended.

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
    capture::HeadTailBuffer,
    run::{Group, check, name},
    system::{SELDOM, Watch},
};
use crate::Confinement;

/// Bytes of standard error per read.
const CHUNK: usize = 8 * 1024;

/// A program to start. It has no time limit; the caller ends it.
#[derive(Debug, Clone)]
pub struct ServiceRequest {
    /// Program to start.
    pub program: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// Working folder.
    pub working_folder: PathBuf,
    /// Complete environment: nothing is inherited, and only the mark `AIME_PROCESS` is added.
    pub environment: BTreeMap<OsString, OsString>,
    /// Number of bytes of standard error that are kept: the first half and the last half.
    pub error_limit: usize,
    /// Files, network and resources that the program may use.
    pub confinement: Confinement,
}

/// A started program. If it exceeds the limits of its confinement, it is killed with all that it started. Dropping it kills it and all that
/// it started at once, and so does the end of this process; see [`run`](super::run).
#[derive(Debug)]
pub struct Service {
    group: Group,
    watch: Option<Watch>,
    program: String,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr_text: Arc<Mutex<HeadTailBuffer>>,
    error_closed: CancellationToken,
}

impl Service {
    /// Starts a program that leads a process group of its own. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ProcessError`] if it could not be started.
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
        let stderr_text = Arc::new(Mutex::new(HeadTailBuffer::new(error_limit)));
        let error_closed = CancellationToken::new();
        let close = error_closed.clone().drop_guard();
        if let Some(stderr) = stderr {
            let stderr_text = Arc::clone(&stderr_text);
            tokio::spawn(async move {
                listen(stderr, stderr_text).await;
                drop(close);
            });
        }
        Ok(Self { group, watch, program: name(&request.program), stdin, stdout, stderr_text, error_closed })
    }

    /// Returns its standard output and input, once. Closing the input asks it to end.
    pub fn streams(&mut self) -> Option<(ChildStdout, ChildStdin)> {
        Some((self.stdout.take()?, self.stdin.take()?))
    }

    /// Returns its output to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr_text.lock().unwrap_or_else(PoisonError::into_inner).captured().text()
    }

    /// Returns a token that is cancelled once its standard error is closed and [`stderr`](Self::stderr) is complete.
    #[must_use]
    pub fn error_closed(&self) -> CancellationToken {
        self.error_closed.clone()
    }

    /// Returns the hosts that were refused to it so far, as text.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.group.refused()
    }

    /// Returns the exceeded resource limit, if it was killed for that.
    #[must_use]
    pub fn exceeded(&self) -> Option<Bound> {
        self.watch.as_ref().and_then(Watch::exceeded)
    }

    /// Returns true if it runs; the end may be noticed with a delay.
    pub fn is_running(&mut self) -> bool {
        self.group.is_running()
    }

    /// Closes its streams, gives it `patience` to end by itself, and then ends it and all that it started as [`run`](super::run) does.
    ///
    /// # Errors
    /// [`ProcessError::Wait`] if the operating system does not report how it ended.
    pub async fn end(mut self, patience: Duration) -> Result<ProcessEnd, ProcessError> {
        drop((self.stdin.take(), self.stdout.take()));
        let end = self.group.watch(async {}, patience, &CancellationToken::new()).await;
        end.map_err(|source| ProcessError::Wait { program: self.program, source })
    }
}

/// Reads standard error to its end, so that the program never blocks.
async fn listen(mut stderr: ChildStderr, kept: Arc<Mutex<HeadTailBuffer>>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count) = stderr.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(chunk.get(..count).unwrap_or_default());
    }
}
