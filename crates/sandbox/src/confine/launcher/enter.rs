//! Launcher's side: enters a network namespace, passes its socket out, confines itself, and becomes the command.

use std::{
    fs,
    io::{self, IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::Command,
};

use nix::sched::{CloneFlags, unshare};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{
    super::{Kernel, Reach, confine_this_thread, kernel::KernelError},
    PORT, loopback,
    order::Order,
};

/// Prefixes of the answer: before the passed socket, and before the error message.
pub(super) const READY: u8 = b'K';
pub(super) const FAILED: u8 = b'E';

/// Reason why a launcher has not become a command.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The launcher was started by hand, or by a program of another version.
    #[error("this starts confined commands for a run, and was given none")]
    NoOrder,
    /// The kernel refuses to create a network namespace.
    #[error("the kernel makes no network namespace: {0}")]
    Namespace(io::Error),
    /// The loopback device of the namespace cannot be enabled.
    #[error("the loopback device of a new network namespace cannot be used: {0}")]
    Loopback(io::Error),
    /// The confinement is not available.
    #[error("{0}")]
    Confinement(String),
    /// The program does not exist or cannot be started.
    #[error("the command could not be started: {0}")]
    Start(io::Error),
}

impl From<KernelError> for LaunchError {
    fn from(error: KernelError) -> Self {
        Self::Confinement(error.to_string())
    }
}

/// Entry point of a [`Launcher`](super::Launcher) program; call it first, with a single thread. Replaces the process by the command from
/// its standard input, in a network namespace of its own. Returns if there is no command, or if it could not be started.
///
/// # Errors
/// [`LaunchError`]; the caller has received its message, too.
pub fn launch() -> Result<(), LaunchError> {
    let mut socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(|_| LaunchError::NoOrder)?;
    let stdin = receive(&socket).ok_or(LaunchError::NoOrder)?;
    let mut bytes = Vec::new();
    let order = socket.read_to_end(&mut bytes).ok().and_then(|_| Order::of_bytes(&bytes)).ok_or(LaunchError::NoOrder)?;
    let launched = enter(&order, &socket, &stdin);
    if let Err(error) = &launched {
        // The caller may be gone.
        let _sent = socket.write_all(&[&[FAILED], error.to_string().as_bytes()].concat());
    }
    launched
}

/// Receives the standard input of the command, which is sent with the first byte.
fn receive(socket: &UnixStream) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })
}

fn enter(order: &Order, socket: &UnixStream, stdin: &OwnedFd) -> Result<(), LaunchError> {
    namespace().map_err(LaunchError::Namespace)?;
    loopback::raise().map_err(LaunchError::Loopback)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(LaunchError::Loopback)?;
    confine_this_thread(Kernel::of_this_machine(), &order.rules(), Reach::Port(PORT))?;
    hand_out(socket, &listener).map_err(LaunchError::Start)?;
    drop(listener);
    order.program.as_ref().map_or(Ok(()), |program| Err(LaunchError::Start(become_command(program, order, stdin))))
}

/// Enters new namespaces. Root may create a network namespace alone, and keeps its rights over files, which it would lose in a user
/// namespace. Other users get both, with their own user id mapped.
fn namespace() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        return Ok(unshare(CloneFlags::CLONE_NEWNET)?);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

fn hand_out(socket: &UnixStream, listener: &TcpListener) -> io::Result<()> {
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(&[READY])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Executes the command; returns only on failure. The kernel closes all other descriptors.
#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
fn become_command(program: &std::ffi::OsStr, order: &Order, stdin: &OwnedFd) -> io::Error {
    match rustix::stdio::dup2_stdin(stdin) {
        Ok(()) => Command::new(program).args(&order.arguments).env_clear().envs(&order.environment).exec(),
        Err(error) => error.into(),
    }
}
