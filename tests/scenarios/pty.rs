//! A command at a real terminal, and what that terminal shows.

use std::{
    io::{Read, Write},
    sync::{Arc, Mutex, MutexGuard},
    thread::{self, JoinHandle},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::harness::{World, wait_until};

/// What ends the other screen of a terminal.
const LEFT: &str = "\u{1b}[?1049l";
/// What begins it.
const ENTERED: &str = "\u{1b}[?1049h";
/// What hides the cursor: a picture in which nobody types ends with it.
const DRAWN: &[u8] = b"\x1b[?25l";

/// A command under way at a terminal of its own.
pub(crate) struct AtTerminal {
    child: Box<dyn Child + Send + Sync>,
    terminal: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    shown: Arc<Mutex<Shown>>,
    reading: JoinHandle<()>,
}

struct Shown {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

/// What a command at a terminal came to.
pub(crate) struct Left {
    /// The exit code.
    pub(crate) code: u32,
    /// All that was written, with what steers the terminal.
    pub(crate) raw: String,
    /// What stands on the terminal when it has been given back.
    pub(crate) text: String,
    /// What the terminal shows at the end.
    pub(crate) hides_cursor: bool,
}

impl World {
    /// Starts a line of the shell, in which `AIME` stands for the command, at a terminal of so many columns and rows. Where the system has no
    /// terminal to give, nothing of the live view can be tried, and the test fails.
    pub(crate) fn terminal(&self, line: &str, (cols, rows): (u16, u16)) -> AtTerminal {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("the system gives a pseudo-terminal: is /dev/pts mounted?");
        let mut command = CommandBuilder::new("/bin/sh");
        command.args(["-c", &line.replace("AIME", env!("CARGO_BIN_EXE_aime"))]);
        command.env_clear();
        self.variables().for_each(|(name, value)| command.env(name, value));
        if self.variables().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm-256color");
        }
        command.cwd(self.work());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let (mut read, keys) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
        let shown = Arc::new(Mutex::new(Shown { screen: vt100::Parser::new(rows, cols, 0), bytes: Vec::new() }));
        let of_reader = Arc::clone(&shown);
        let reading = thread::spawn(move || {
            let mut bytes = [0; 4_096];
            // A terminal that nobody holds any more ends in an error.
            while let Ok(count) = read.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                let mut shown = of_reader.lock().unwrap();
                shown.screen.process(&bytes[..count]);
                shown.bytes.extend_from_slice(&bytes[..count]);
            }
        });
        AtTerminal { child, terminal: pair.master, keys, shown, reading }
    }
}

impl AtTerminal {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap()
    }

    /// What is to be seen now.
    pub(crate) fn screen(&self) -> String {
        let text = self.shown().screen.screen().contents();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// Whether no picture is half drawn.
    fn is_drawn(&self) -> bool {
        let shown = self.shown();
        let screen = shown.screen.screen();
        !screen.alternate_screen() || !screen.hide_cursor() || shown.bytes.ends_with(DRAWN)
    }

    /// Waits until all this is to be seen at once.
    #[track_caller]
    pub(crate) fn shows(&self, texts: &[&str]) {
        wait_until(&format!("{texts:?} is shown, and not\n{}", self.screen()), || {
            // A screen between two of which both are whole.
            self.is_drawn() && {
                let screen = self.screen();
                texts.iter().all(|text| screen.contains(text)) && self.is_drawn()
            }
        });
    }

    /// Waits until none of this is to be seen.
    #[track_caller]
    pub(crate) fn hides(&self, text: &str) {
        wait_until(&format!("{text:?} is gone"), || !self.screen().contains(text));
    }

    /// Whether the other screen is shown.
    pub(crate) fn is_whole(&self) -> bool {
        self.shown().screen.screen().alternate_screen()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    pub(crate) fn resize(&self, (cols, rows): (u16, u16)) {
        // First what is shown: what comes then is for the new size.
        self.shown().screen.screen_mut().set_size(rows, cols);
        self.terminal.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    /// Waits for its end; kills it, and fails, when it takes too long.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Left {
        let mut status = None;
        wait_until("the command ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        // The terminal is read to its end first: `keys` type a newline when they are dropped, and the terminal would echo it.
        self.reading.join().unwrap();
        drop((self.keys, self.terminal));
        let shown = self.shown.lock().unwrap();
        let raw = String::from_utf8_lossy(&shown.bytes).into_owned();
        assert!(!raw.contains("panicked"), "{raw}");
        let after = raw.rfind(LEFT).map_or(raw.as_str(), |at| &raw[at + LEFT.len()..]);
        let mut left = vt100::Parser::new(400, 200, 0);
        left.process(after.as_bytes());
        Left { code: status.unwrap().exit_code(), text: left.screen().contents(), hides_cursor: shown.screen.screen().hide_cursor(), raw }
    }
}

impl Left {
    /// Fails unless this is the exit code and the terminal is what it was before.
    #[track_caller]
    pub(crate) fn must(self, code: u32) -> Self {
        assert_eq!(self.code, code, "exit code\n{}", self.text);
        assert_eq!(self.raw.matches(ENTERED).count(), self.raw.matches(LEFT).count(), "the other screen was left\n{}", self.raw);
        assert!(!self.hides_cursor, "the cursor is there\n{}", self.raw);
        self
    }

    /// Fails unless the whole terminal was taken, or was not.
    #[track_caller]
    pub(crate) fn took_all(self, took: bool) -> Self {
        assert_eq!(self.raw.contains(ENTERED), took, "{}", self.raw);
        self
    }
}
