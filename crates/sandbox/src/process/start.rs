//! Starts a command, confined or unconfined.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process::Stdio,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap};

use super::{
    ProcessError, ProcessRequest,
    mark::{Mark, VARIABLE},
    run::name,
    system::{hold_together, keep_descriptors},
};
#[cfg(target_os = "linux")]
use crate::confine::ReservedProxy;
use crate::confine::{PreparedCommand, RunningProxy};

type Child = Box<dyn ChildWrapper>;

/// Starts the program as the leader of a process group of its own, with its proxy if it has one. `reads` is true if it gets a standard
/// input.
pub(super) fn start(request: &ProcessRequest, mark: &Mark, reads: bool) -> Result<(Child, Option<RunningProxy>), ProcessError> {
    if let Some(reason) = request.confinement.refusal() {
        return Err(ProcessError::Unconfined { program: name(&request.program), reason: reason.to_string() });
    }
    keep_descriptors();
    let mut hidden = None;
    let started = match request.confinement.confined() {
        None => {
            let stdin = if reads { Stdio::piped() } else { Stdio::null() };
            command(request, &request.program, &request.arguments, &request.environment, mark, stdin).spawn().map(|child| (child, None))
        }
        Some(confined) => {
            if let Err((folder, source)) = confined.make_temporary_folder() {
                return Err(ProcessError::TemporaryFolder { program: name(&request.program), folder, source });
            }
            // A shell sets the limits first, so the program is looked up before, to report a missing one.
            find(&request.program, &request.environment, &request.working_folder).and_then(|place| {
                let mut prepared = confined.prepare(&request.environment)?;
                if let Err(error) = find(&request.program, &prepared.environment, &request.working_folder) {
                    hidden = (error.kind() == ErrorKind::NotFound).then_some(place);
                    return Err(error);
                }
                let (program, arguments) = confined.command(&prepared, reads, &request.program, &request.arguments);
                #[cfg(target_os = "linux")]
                if let Some(launcher) = prepared.door.as_ref().and_then(ReservedProxy::launcher).cloned() {
                    let (mut child, listener) = launched(request, &launcher, &prepared, (program, arguments), mark)?;
                    let passage = prepared.door.map(|door| door.open(Some(listener))).transpose()?;
                    begin(&mut *child, reads)?;
                    return Ok((child, passage));
                }
                // The proxy is open before the command can use it.
                let passage = prepared.door.take().map(|door| door.open(None)).transpose()?;
                let command = command(request, &program, &arguments, &prepared.environment, mark, Stdio::piped());
                let mut child = spawn(prepared, command)?;
                begin(&mut *child, reads)?;
                Ok((child, passage))
            })
        }
    };
    started.map_err(|source| match source.kind() {
        _ if hidden.is_some() => ProcessError::ProgramHidden { program: name(&request.program), place: hidden.unwrap_or_default() },
        ErrorKind::NotFound => ProcessError::ProgramNotFound { program: name(&request.program) },
        _ => ProcessError::Start { program: name(&request.program), source },
    })
}

fn command(
    request: &ProcessRequest,
    program: &OsStr,
    arguments: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
    mark: &Mark,
    stdin: Stdio,
) -> CommandWrap {
    let outer = request.environment.get(OsStr::new(VARIABLE));
    let mut command = CommandWrap::with_new(program, |command| {
        command
            .args(arguments)
            .current_dir(&request.working_folder)
            .env_clear()
            .envs(environment)
            .env(VARIABLE, mark.below(outer.map(OsString::as_os_str)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    });
    hold_together(&mut command);
    command
}

/// Starts the command from a thread that confines itself and then ends: only the command stays confined.
#[cfg(target_os = "linux")]
fn spawn(prepared: PreparedCommand, mut command: CommandWrap) -> io::Result<Child> {
    use crate::confine::{Kernel, confine_this_thread};

    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let spawn = move || {
        let _within = runtime.enter();
        confine_this_thread(Kernel::of_this_machine(), &prepared.rules, prepared.reach).map_err(io::Error::other)?;
        command.spawn()
    };
    let thread = std::thread::Builder::new().name("aime-confined".to_owned()).spawn(spawn)?;
    thread.join().map_err(|_| io::Error::other("the thread that starts commands has failed"))?
}

#[cfg(not(target_os = "linux"))]
fn spawn(_: PreparedCommand, mut command: CommandWrap) -> io::Result<Child> {
    command.spawn()
}

/// Starts the command through a launcher, in a network of its own, and returns the socket that listens there.
#[cfg(target_os = "linux")]
fn launched(
    request: &ProcessRequest,
    launcher: &crate::Launcher,
    prepared: &PreparedCommand,
    (program, arguments): (OsString, Vec<OsString>),
    mark: &Mark,
) -> io::Result<(Child, std::net::TcpListener)> {
    use std::os::fd::{AsFd, OwnedFd};

    use crate::confine::{Call, Order};

    let outer = request.environment.get(OsStr::new(VARIABLE));
    let mut environment = prepared.environment.clone();
    environment.insert(VARIABLE.into(), mark.below(outer.map(OsString::as_os_str)));
    let (call, theirs) = Call::new()?;
    // The command's environment must not affect the launcher, which is not confined yet, so the launcher gets only the mark.
    let mut command = command(request, launcher.program().as_os_str(), launcher.arguments(), &BTreeMap::new(), mark, Stdio::from(theirs));
    let mut child = command.spawn()?;
    // From now on only the launcher holds the other end of the socket, so that its end is noticed.
    drop(command);
    let (stdin, input) = io::pipe()?;
    let listener = call
        .place(&Order::new(&prepared.rules, environment, program, arguments), stdin.as_fd())
        .map_err(|error| io::Error::new(error.kind(), format!("it was given no network of its own: {error}")))?;
    let input = std::process::ChildStdin::from(OwnedFd::from(input));
    *child.stdin() = Some(tokio::process::ChildStdin::from_std(input)?);
    Ok((child, listener))
}

/// Writes the line that the shell waits for. An empty pipe has room for it.
#[cfg(unix)]
fn begin(child: &mut dyn ChildWrapper, reads: bool) -> io::Result<()> {
    let missing = || io::Error::other("the command has no standard input");
    rustix::io::write(child.stdin().as_ref().ok_or_else(missing)?, b"\n")?;
    if !reads {
        drop(child.stdin().take());
    }
    Ok(())
}

/// No shell precedes the command on this system.
#[cfg(windows)]
fn begin(child: &mut dyn ChildWrapper, reads: bool) -> io::Result<()> {
    if !reads {
        drop(child.stdin().take());
    }
    Ok(())
}

/// Returns the file of a program. Fails as the operating system would if it cannot be started.
#[cfg(unix)]
fn find(program: &OsStr, environment: &BTreeMap<OsString, OsString>, folder: &Path) -> io::Result<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 || path.is_absolute() || program.as_encoded_bytes().contains(&b'/') {
        return runs(&folder.join(path)).map(|()| folder.join(path));
    }
    let places = environment.get(OsStr::new("PATH")).map(|places| std::env::split_paths(places).collect::<Vec<PathBuf>>());
    let mut reason = io::Error::from(ErrorKind::NotFound);
    for place in places.unwrap_or_else(|| vec!["/bin".into(), "/usr/bin".into()]) {
        let file = folder.join(place).join(path);
        match runs(&file) {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => reason = error,
            Err(_) => {}
        }
    }
    Err(reason)
}

/// No shell precedes the command, so the operating system reports a missing program itself.
#[cfg(windows)]
fn find(_: &OsStr, _: &BTreeMap<OsString, OsString>, _: &Path) -> io::Result<PathBuf> {
    Ok(PathBuf::new())
}

#[cfg(unix)]
fn runs(file: &Path) -> io::Result<()> {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK)?;
    if file.is_file() { Ok(()) } else { Err(io::Error::from_raw_os_error(13)) }
}
