//! What a person types while the live view is on: the view shows it, and each line is told to the run.
//!
//! The terminal neither echoes nor gathers lines meanwhile, or what is typed would tear what is drawn. Ctrl-C and Ctrl-Z work as ever. Who asks
//! a question borrows the terminal as it was. A process in the background reads nothing: the system would stop it.

mod line;
#[cfg(unix)]
mod terminal;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use self::line::Line;
#[cfg(unix)]
use self::terminal::Terminal;

/// How long one look for what was typed takes, and the longest that a borrower waits.
const LOOK: Duration = Duration::from_millis(100);

/// Gets what is typed.
pub(crate) trait Typed: Send + Sync {
    /// The line as it stands so far.
    fn typing(&self, text: &str);
    /// A line is whole.
    fn typed(&self, line: String);
}

/// The keyboard. The terminal is as it was when this is dropped.
pub(crate) struct Keyboard {
    shared: Arc<Shared>,
}

struct Shared {
    /// Held by whoever reads.
    terminal: Mutex<Terminal>,
    /// How many want to borrow the terminal, or have it.
    lent: AtomicUsize,
    closed: AtomicBool,
}

impl Shared {
    fn terminal(&self) -> MutexGuard<'_, Terminal> {
        self.terminal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed) > 0
    }

    /// Reads until it is closed, or nothing more can come.
    fn listen(&self, to: &dyn Typed) {
        let mut line = Line::default();
        while !self.closed() {
            if self.lent() {
                thread::sleep(LOOK / 4);
                continue;
            }
            let mut terminal = self.terminal();
            if self.closed() || self.lent() {
                continue;
            }
            let Some(bytes) = terminal.read(LOOK) else { return };
            drop(terminal);
            if bytes.is_empty() {
                line.pause();
                continue;
            }
            for byte in bytes {
                if let Some(whole) = line.take(byte) {
                    to.typed(whole);
                }
            }
            to.typing(line.text());
        }
    }
}

impl Keyboard {
    /// Listens to the terminal of standard input; `None` where it is none.
    pub(crate) fn listen(to: Arc<dyn Typed>) -> Option<Self> {
        let terminal = Mutex::new(Terminal::of_stdin()?);
        let shared = Arc::new(Shared { terminal, lent: AtomicUsize::new(0), closed: AtomicBool::new(false) });
        let listening = Arc::clone(&shared);
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || listening.listen(to.as_ref())).ok()?;
        Some(Self { shared })
    }

    /// Runs `work` while the terminal is as it was before and nobody else reads it.
    pub(crate) fn lend(&self, work: &mut dyn FnMut()) {
        self.shared.lent.fetch_add(1, Ordering::Relaxed);
        let mut terminal = self.shared.terminal();
        terminal.restore();
        work();
        drop(terminal);
        self.shared.lent.fetch_sub(1, Ordering::Relaxed);
    }

    /// Listens no more, and makes the terminal what it was before.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Whoever has borrowed it has it as it was, and may wait for a person still.
        while !self.shared.lent() {
            match self.shared.terminal.try_lock() {
                Ok(mut terminal) => return terminal.restore(),
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner().restore(),
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK / 10),
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(not(unix))]
use elsewhere::Terminal;

#[cfg(not(unix))]
mod elsewhere {
    use std::time::Duration;

    /// Where terminals work in another way nothing is listened to: `aime tell` does.
    pub(super) struct Terminal(std::convert::Infallible);

    impl Terminal {
        pub(super) const fn of_stdin() -> Option<Self> {
            None
        }

        pub(super) const fn restore(&mut self) {
            match self.0 {}
        }

        pub(super) const fn read(&mut self, _: Duration) -> Option<Vec<u8>> {
            match self.0 {}
        }
    }
}
