//! Starts, watches and ends one process group.

use std::{
    convert::Infallible,
    ffi::OsStr,
    future::pending,
    io::{self, ErrorKind},
    pin::pin,
    process::ExitStatus,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use process_wrap::tokio::ChildWrapper;
use tokio::{
    io::AsyncWriteExt,
    process::{ChildStderr, ChildStdin, ChildStdout},
    select,
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    CapturedOutput, ProcessEnd, ProcessError, ProcessOutcome, ProcessRequest,
    capture::{HeadTailBuffer, InterleavedOutput, Stream, drain},
    mark::Mark,
    start::start,
    system::{OFTEN, ProcessTree, Watch, ask_to_end, ended, ensure_guardian},
};
use crate::{ResourceLimits, RunningProxy};

/// Delay between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Time to read the rest of the pipes after the group was killed: a process that could not be found may hold them open for ever.
const SETTLE: Duration = Duration::from_millis(500);

/// Delay of the first report on a running program.
const FIRST_REPORT: Duration = Duration::from_millis(200);
/// Interval of further reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Receiver of reports on a running program: its output so far, or `None` if nothing was printed since the last report.
type Report<'a> = &'a mut (dyn FnMut(Option<CapturedOutput>) + Send);

/// Runs one program to its end, within its limits.
///
/// The program leads a process group of its own. At the time limit, and when `cancel` is cancelled, the whole group gets SIGTERM, and
/// SIGKILL half a second later. Processes that the program left running in its group are killed, too; so is the group if the returned
/// future is dropped. On Windows the program and all that it starts is in a job object, which is terminated at once.
///
/// On Linux this includes all that it started, even in sessions of their own: each process carries the variable `AIME_PROCESS` with the
/// mark of this command and is killed with it, and a guardian (one `sh` for this whole process) does this if this process was killed
/// itself. A process that hides its environment, by emptying or overwriting it, is found as long as its parents live, and lost when they
/// have exited; the call does not wait for it.
///
/// Output is read continuously, so that a program never blocks on it; output over the limit is counted and dropped.
///
/// # Errors
/// [`ProcessError`] if the program could not be started. Every way to end is an outcome, not an error.
pub async fn run(request: ProcessRequest, cancel: &CancellationToken) -> Result<ProcessOutcome, ProcessError> {
    // Boxed, so that no caller holds its memory before and after.
    Box::pin(run_to_end(request, cancel, None)).await
}

/// Like [`run`], and calls `report` about each second while the program runs: with the output so far of both streams, as in
/// [`ProcessOutcome::printed`], or with `None` if nothing was printed since the last report. The first report comes early.
///
/// # Errors
/// The errors of [`run`].
pub async fn run_reporting(
    request: ProcessRequest,
    cancel: &CancellationToken,
    mut report: impl FnMut(Option<CapturedOutput>) + Send,
) -> Result<ProcessOutcome, ProcessError> {
    Box::pin(run_to_end(request, cancel, Some(&mut report))).await
}

async fn run_to_end(
    request: ProcessRequest,
    cancel: &CancellationToken,
    report: Option<Report<'_>>,
) -> Result<ProcessOutcome, ProcessError> {
    check(&request)?;
    let mut stdout = HeadTailBuffer::new(request.output_limit);
    let mut stderr = HeadTailBuffer::new(request.output_limit);
    let printed = Mutex::new(InterleavedOutput::new(request.output_limit));
    let mut refused = Vec::new();
    let end = if cancel.is_cancelled() {
        ProcessEnd::Cancelled
    } else {
        let mut group = Group::start(&request, !request.input.is_empty())?;
        let (stdin, out, err) = group.pipes();
        let flow = async {
            let out = drain(out, Stream::Stdout, &mut stdout, &printed);
            let err = drain(err, Stream::Stderr, &mut stderr, &printed);
            // If both streams have something, standard output is read first: programs print their error last.
            tokio::join!(biased; feed(stdin, &request.input), out, err);
        };
        let end = select! {
            biased;
            end = group.watch(flow, request.time_limit, cancel) => end,
            never = report_output(&printed, report) => match never {},
        };
        refused = group.refused();
        end.map_err(|source| ProcessError::Wait { program: name(&request.program), source })?
    };
    let printed = printed.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(ProcessOutcome { end, stdout: stdout.finish(), stderr: stderr.finish(), printed: printed.finish(), refused })
}

/// Reports the output of a running program until it is dropped.
async fn report_output(printed: &Mutex<InterleavedOutput>, report: Option<Report<'_>>) -> Infallible {
    let Some(report) = report else { return pending().await };
    let (mut delay, mut reported) = (FIRST_REPORT, None);
    loop {
        sleep(delay).await;
        delay = REPORT_INTERVAL;
        let new_output = {
            let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            (reported.replace(printed.len()) != Some(printed.len())).then(|| printed.captured())
        };
        report(new_output);
    }
}

pub(super) fn name(program: &OsStr) -> String {
    program.to_string_lossy().into_owned()
}

/// Refuses arguments that the operating system would cut short, or report without naming the place.
pub(super) fn check(request: &ProcessRequest) -> Result<(), ProcessError> {
    let nul = |text: &OsStr, place: &dyn Fn() -> String| match text.as_encoded_bytes().contains(&0) {
        true => Err(ProcessError::NulByte { place: place() }),
        false => Ok(()),
    };
    nul(&request.program, &|| "the program's name".into())?;
    for (index, argument) in request.arguments.iter().enumerate() {
        nul(argument, &|| format!("argument {} of `{}`", index + 1, name(&request.program)))?;
    }
    for (variable, value) in &request.environment {
        nul(variable, &|| "the name of a variable".into())?;
        nul(value, &|| format!("the variable {}", name(variable)))?;
    }
    if request.working_folder.is_dir() { Ok(()) } else { Err(ProcessError::WorkingFolder { folder: request.working_folder.clone() }) }
}

/// Writes the input and closes the pipe. A program may choose not to read to the end.
pub(super) async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin
        && let Err(error) = stdin.write_all(input).await
        && error.kind() != ErrorKind::BrokenPipe
    {
        tracing::debug!(%error, "standard input could not be written");
    }
}

/// A started process group, and all that has left it. Killed on drop.
#[derive(Debug)]
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    family: ProcessTree,
    limits: Option<ResourceLimits>,
    passage: Option<RunningProxy>,
    over: bool,
}

pub(super) type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

impl Group {
    /// Starts a process group; all processes of tools start here.
    pub(super) fn start(request: &ProcessRequest, reads: bool) -> Result<Self, ProcessError> {
        ensure_guardian(&request.environment);
        let mark = Mark::new();
        let (child, passage) = start(request, &mark, reads)?;
        let limits = request.confinement.confined().map(|confined| confined.limits());
        Ok(Self { child, family: ProcessTree::new(mark), limits, passage, over: false })
    }

    pub(super) fn pipes(&mut self) -> Pipes {
        (self.child.stdin().take(), self.child.stdout().take(), self.child.stderr().take())
    }

    /// Returns the hosts that its proxy has refused, as text.
    pub(super) fn refused(&self) -> Vec<String> {
        self.passage.as_ref().map(RunningProxy::refused).unwrap_or_default()
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.inner_mut().try_wait(), Ok(None))
    }

    /// Starts to watch its resources, if they are limited.
    pub(super) fn bounded(&self, ticks: u32) -> Option<Watch> {
        self.limits.map(|limits| Watch::over(self.family.clone(), self.child.id(), limits, ticks))
    }

    /// Waits for the leader only: other processes of its group may continue. Cancel-safe.
    async fn leader(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }

    /// Returns the process id of the leader.
    pub(super) fn number(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Reads the pipes until the leader exits or must stop, then ends the whole group and all that has left it.
    pub(super) async fn watch(
        &mut self,
        flow: impl Future<Output = ()>,
        time_limit: Duration,
        cancel: &CancellationToken,
    ) -> io::Result<ProcessEnd> {
        self.watch_every(OFTEN, flow, time_limit, cancel).await
    }

    /// Like `watch`, with another number of ticks between two resource checks.
    pub(super) async fn watch_every(
        &mut self,
        ticks: u32,
        flow: impl Future<Output = ()>,
        time_limit: Duration,
        cancel: &CancellationToken,
    ) -> io::Result<ProcessEnd> {
        let mut flow = pin!(flow);
        let mut flowed = false;
        let mut deadline = pin!(sleep(time_limit));
        let watch = self.bounded(ticks);
        let mut end = loop {
            select! {
                biased;
                status = self.leader() => break ended(status?),
                () = cancel.cancelled() => break ProcessEnd::Cancelled,
                () = &mut deadline => break ProcessEnd::TimedOut,
                () = &mut flow, if !flowed => flowed = true,
            }
        };
        let mut gone = matches!(end, ProcessEnd::Exited(_) | ProcessEnd::Signalled(_));
        if let Some(bound) = watch.as_ref().and_then(Watch::exceeded) {
            end = ProcessEnd::Exceeded(bound);
        }
        // A process without the mark is found only through its parents, which are about to die.
        self.family(|family| {
            family.look();
        })
        .await;
        if matches!(end, ProcessEnd::TimedOut | ProcessEnd::Cancelled) && ask_to_end(&*self.child) {
            // Open pipes show that others of the group are still cleaning up.
            let mut grace = pin!(sleep(GRACE));
            while !(gone && flowed) {
                select! {
                    biased;
                    _ = self.leader(), if !gone => gone = true,
                    () = &mut flow, if !flowed => flowed = true,
                    () = &mut grace => break,
                }
            }
        }
        // A group is killed atomically, however fast it grows; processes that its members started outside were found above.
        self.kill();
        self.family(ProcessTree::end).await;
        let mut settle = pin!(sleep(SETTLE));
        while !(gone && flowed) {
            select! {
                biased;
                _ = self.leader(), if !gone => gone = true,
                () = &mut flow, if !flowed => flowed = true,
                () = &mut settle => break,
            }
        }
        // As the first process of a container this one inherits the orphans of the group, and must reap them.
        self.over = gone && timeout(SETTLE, self.child.wait()).await.is_ok();
        Ok(end)
    }

    /// Runs an operation on the family that takes milliseconds, on a blocking thread.
    async fn family(&mut self, act: fn(&mut ProcessTree)) {
        let mut family = self.family.clone();
        let acted = spawn_blocking(move || {
            act(&mut family);
            family
        });
        if let Ok(family) = acted.await {
            self.family = family;
        }
    }

    fn kill(&mut self) {
        if let Err(error) = self.child.start_kill() {
            tracing::trace!(%error, "the process group is gone");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            self.family.end();
            self.kill();
        }
    }
}
