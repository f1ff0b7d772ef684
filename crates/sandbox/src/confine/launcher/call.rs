//! Caller's side of the launcher: sends the order and receives the listening socket.

use std::{
    io::{self, IoSlice, IoSliceMut, Write},
    mem::MaybeUninit,
    net::{Shutdown, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Command, Stdio},
    time::Duration,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{Launcher, Order, enter::READY};

/// Time limit for the launcher's answer. A launcher normally answers within milliseconds, or dies.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of an answer.
const ANSWER: usize = 4096;

/// Socket to a launcher that is not started yet.
#[derive(Debug)]
pub(crate) struct Call(UnixStream);

impl Call {
    /// Returns the socket, and its other end for the launcher's standard input.
    pub(crate) fn new() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        ours.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok((Self(ours), theirs.into()))
    }

    /// Sends the order, and the standard input of the command. Returns a socket that listens in the command's network, at
    /// [`PORT`](super::PORT).
    ///
    /// # Errors
    /// The launcher's own message, if it has sent one.
    pub(crate) fn place(mut self, order: &Order, stdin: BorrowedFd<'_>) -> io::Result<TcpListener> {
        self.send(stdin)?;
        self.0.write_all(&order.to_bytes())?;
        self.0.shutdown(Shutdown::Write)?;
        self.answer()
    }

    fn send(&self, stdin: BorrowedFd<'_>) -> io::Result<()> {
        let descriptors = [stdin];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.0, &[IoSlice::new(b"\0")], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    fn answer(&self) -> io::Result<TcpListener> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut answer = [0; ANSWER];
        let count = recvmsg(&self.0, &mut [IoSliceMut::new(&mut answer)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        let socket = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        match (answer.get(..count), socket) {
            (Some([READY, ..]), Some(socket)) => Ok(TcpListener::from(socket)),
            (Some([_, words @ ..]), _) => Err(io::Error::other(String::from_utf8_lossy(words).into_owned())),
            _ => Err(io::Error::other("it ended without a word")),
        }
    }
}

/// Starts the launcher to enter a namespace and exit.
#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
pub(super) fn attempt(launcher: &Launcher) -> io::Result<()> {
    let (call, theirs) = Call::new()?;
    let mut child = Command::new(launcher.program())
        .args(launcher.arguments())
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (nothing, _) = io::pipe()?;
    let answer = call.place(&Order::default(), nothing.as_fd());
    if answer.is_err() {
        // It may be waiting for input that never comes.
        let _gone = child.kill();
    }
    child.wait()?;
    answer.map(drop)
}
