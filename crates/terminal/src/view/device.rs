//! Terminal device: alternate screen, raw keys, and their restoration.

mod stops;

use std::{
    io::{self, BufWriter, Write},
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use aime_progress_management::Timestamp;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::{
    CrosstermBackend,
    crossterm::{
        cursor::Show,
        event::{DisableBracketedPaste, EnableBracketedPaste},
        execute,
        style::force_color_output,
        terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};

use self::stops::Stops;
use super::Tty;
use crate::{Screen, Theme, render};

type CrosstermTerminal = Terminal<CrosstermBackend<BufWriter<Box<dyn Write + Send>>>>;

/// Terminal that the view borrows.
pub(super) struct Device {
    tty: Tty,
    terminal: Option<CrosstermTerminal>,
    state: Arc<DeviceState>,
    stops: Stops,
}

/// State shared with the panic hook.
#[derive(Debug, Default)]
struct DeviceState {
    /// True if the terminal is in the view's mode.
    is_active: AtomicBool,
    /// True if a panic has restored it for good.
    is_restored: AtomicBool,
}

impl DeviceState {
    /// Restores the terminal, once.
    fn leave(&self, tty: Tty) {
        if self.is_active.swap(false, Ordering::SeqCst) {
            // If the terminal is gone, nothing needs restoring.
            drop(execute!(tty(), DisableBracketedPaste, LeaveAlternateScreen, Show));
            drop(disable_raw_mode());
        }
    }
}

impl Device {
    /// Creates a device that is not borrowed yet. From here on a panic anywhere restores the terminal before its message is printed.
    pub(super) fn new(tty: Tty, color: bool) -> Self {
        force_color_output(color);
        let held = Arc::new(DeviceState::default());
        let (of_panic, before) = (Arc::clone(&held), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            of_panic.is_restored.store(true, Ordering::SeqCst);
            of_panic.leave(tty);
            before(info);
        }));
        Self { tty, terminal: None, state: held, stops: Stops::watched() }
    }

    /// Borrows the terminal.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        if self.state.is_restored.load(Ordering::SeqCst) {
            return Err(io::Error::other("a panic has taken the terminal back"));
        }
        // After [`Self::forget`] crossterm still believes that raw mode is on, although another process has reset it.
        disable_raw_mode()?;
        enable_raw_mode()?;
        self.state.is_active.store(true, Ordering::SeqCst);
        execute!((self.tty)(), EnterAlternateScreen, EnableBracketedPaste)?;
        self.clear()
    }

    /// Restores the terminal.
    pub(super) fn leave(&mut self) {
        self.terminal = None;
        self.state.leave(self.tty);
    }

    /// Notes that another process has had the terminal meanwhile.
    pub(super) fn forget(&mut self) {
        self.terminal = None;
        self.state.is_active.store(false, Ordering::SeqCst);
    }

    /// Returns true if this process was stopped and continued since the last call.
    pub(super) fn was_stopped(&self) -> bool {
        self.stops.take()
    }

    /// Stops this process and its process group, like the terminal's Ctrl-Z. Returns when it continues.
    pub(super) fn suspend(&self) {
        self.stops.stop();
    }

    pub(super) const fn is_shown(&self) -> bool {
        self.terminal.is_some()
    }

    /// Makes the next drawing a complete one.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        // `Terminal::clear` would query the cursor position and wait for an answer that some terminals do not give.
        execute!((self.tty)(), Clear(ClearType::All))?;
        self.terminal = Some(Terminal::new(CrosstermBackend::new(BufWriter::new((self.tty)())))?);
        Ok(())
    }

    /// Draws, unless a panic has restored the terminal.
    pub(super) fn draw(&mut self, screen: &mut Screen, now: Timestamp, theme: Theme) -> io::Result<()> {
        if self.state.is_restored.load(Ordering::SeqCst) {
            return Err(io::Error::other("a panic has taken the terminal back"));
        }
        let Some(terminal) = &mut self.terminal else { return Ok(()) };
        terminal.draw(|frame| {
            if let Some(place) = render(screen, now, theme, frame.buffer_mut()) {
                frame.set_cursor_position(place);
            }
        })?;
        Ok(())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Returns true if this process may read its terminal. A background process would be stopped.
#[cfg(unix)]
pub(super) fn in_foreground() -> bool {
    // A terminal that is not the controlling one stops no process.
    nix::unistd::tcgetpgrp(io::stdin()).map_or(true, |group| group == nix::unistd::getpgrp())
}

#[cfg(not(unix))]
pub(super) const fn in_foreground() -> bool {
    true
}

/// Discards unread input on the terminal of standard input, since it cannot answer a later question. A pipe loses nothing. On systems other
/// than Unix nothing is discarded.
pub fn discard_typed_input() {
    #[cfg(unix)]
    {
        // This fails if standard input is not a terminal.
        let _ = nix::sys::termios::tcflush(io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, thread};

    use super::*;

    static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    struct Writes;

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            WRITTEN.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // Requirement: 12.15
    #[test]
    fn a_panic_gives_the_terminal_back_for_good() {
        let mut device = Device::new(|| Box::new(Writes), false);
        device.state.is_active.store(true, Ordering::SeqCst);
        thread::spawn(|| panic!("on purpose")).join().unwrap_err();
        let written = String::from_utf8(WRITTEN.lock().unwrap().clone()).unwrap();
        for end in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l"] {
            assert_eq!(written.matches(end).count(), 1, "{written:?}");
        }
        assert!(device.enter().is_err(), "nobody takes it again");
        drop(device);
        assert_eq!(WRITTEN.lock().unwrap().len(), written.len(), "it is given back once");
    }
}
