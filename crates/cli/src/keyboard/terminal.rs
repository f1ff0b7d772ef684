//! The terminal of standard input, as a Unix has it.

use std::{io, thread, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, read},
    process::getpgrp,
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};

/// The terminal of standard input, and what it was before.
pub(super) struct Terminal {
    before: Termios,
    /// It neither echoes nor gathers lines.
    quiet: bool,
}

impl Terminal {
    /// `None` where standard input is no terminal.
    pub(super) fn of_stdin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        Some(Self { before, quiet: false })
    }

    /// What was typed, within `patience`; nothing where nothing was, or where another process has the terminal. `None` at its end.
    pub(super) fn read(&mut self, patience: Duration) -> Option<Vec<u8>> {
        if !in_foreground() {
            // Whoever gives it back may have set it anew.
            self.quiet = false;
            thread::sleep(patience);
            return Some(Vec::new());
        }
        self.hush();
        let stdin = io::stdin();
        let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut wanted, patience.as_ref()) {
            Ok(0) | Err(Errno::INTR | Errno::AGAIN) => return Some(Vec::new()),
            Ok(_) => {}
            Err(_) => return None,
        }
        // Another process may have come to the foreground meanwhile.
        if !in_foreground() {
            return Some(Vec::new());
        }
        let mut bytes = vec![0; 1_024];
        match read(&stdin, &mut bytes) {
            Ok(0) => None,
            Ok(count) => {
                bytes.truncate(count);
                Some(bytes)
            }
            Err(Errno::INTR | Errno::AGAIN) => Some(Vec::new()),
            Err(_) => None,
        }
    }

    fn hush(&mut self) {
        if self.quiet {
            return;
        }
        let mut quiet = self.before.clone();
        quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.quiet = tcsetattr(io::stdin(), OptionalActions::Now, &quiet).is_ok();
    }

    /// Makes it what it was before. In the background it is another's by then.
    pub(super) fn restore(&mut self) {
        if std::mem::replace(&mut self.quiet, false) && in_foreground() {
            // A terminal that is gone needs nothing.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        }
    }
}

/// Whether this process may read: one in the background would be stopped. A terminal that is not the controlling one stops nobody.
fn in_foreground() -> bool {
    tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp())
}
