//! Driver: shows a screen on a terminal, which is restored afterwards.

mod device;

use std::{
    io::{self, Write},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, Sender, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use aime_progress_management::{ProgressEvent, Timestamp};
use ratatui_crossterm::crossterm::event;

use self::device::Device;
pub use self::device::discard_typed_input;
use crate::{Key, Screen, Theme, UserAction};

/// Longest interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
/// Interval of redraws if only the time has changed.
const TICK: Duration = Duration::from_secs(1);

/// Opens the stream to the terminal, such as standard error.
pub type Tty = fn() -> Box<dyn Write + Send>;

/// Receives the actions of the person, and [`UserAction::Lost`] if the terminal can no longer be drawn or a panic has restored it.
pub type ActionHandler = Box<dyn Fn(UserAction) + Send>;

/// Screen on a terminal. The terminal is restored when this is closed or dropped, and after a panic anywhere in the process.
#[derive(Debug)]
pub struct View {
    messages: Sender<ViewMessage>,
    showing: Mutex<Option<JoinHandle<Screen>>>,
}

/// Message to a view.
enum ViewMessage {
    Event(Box<(Timestamp, ProgressEvent, Option<String>)>),
    Note(String),
    Driven(bool),
    Close,
}

impl View {
    /// Shows a screen on the terminal of standard input, to which `tty` writes, and reads its keys. Returns `None` if this process is in
    /// the background of its terminal, which would stop it.
    ///
    /// # Errors
    /// Fails if the terminal cannot be configured or written.
    pub fn open(screen: Screen, theme: Theme, tty: Tty, on_action: ActionHandler) -> io::Result<Option<Self>> {
        if !device::in_foreground() {
            return Ok(None);
        }
        let mut device = Device::new(tty, theme.has_color());
        device.enter()?;
        let (sender, messages) = mpsc::channel();
        let showing = ViewState { screen, theme, device, messages, listener: Listener(on_action), changed: true, drawn_at: None };
        let thread = thread::Builder::new().name("view".to_owned()).spawn(move || showing.show())?;
        Ok(Some(Self { messages: sender, showing: Mutex::new(Some(thread)) }))
    }

    /// Applies an event; `words` are its log entry.
    pub fn observe(&self, at: Timestamp, event: ProgressEvent, words: Option<String>) {
        self.send(ViewMessage::Event(Box::new((at, event, words))));
    }

    /// Adds a log entry that belongs to no event.
    pub fn log(&self, words: &str) {
        self.send(ViewMessage::Note(words.to_owned()));
    }

    /// Sets whether a process drives the run now.
    pub fn set_driven(&self, driven: bool) {
        self.send(ViewMessage::Driven(driven));
    }

    /// Restores the terminal and returns the last screen. Returns none if that was done before or the view has panicked.
    pub fn close(&self) -> Option<Screen> {
        let showing = self.showing.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.send(ViewMessage::Close);
        showing.join().ok()
    }

    fn send(&self, message: ViewMessage) {
        // Sending fails if the view has ended and needs no further messages.
        drop(self.messages.send(message));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// Receiver of acts, which also learns of a panic in the view itself.
struct Listener(ActionHandler);

impl Drop for Listener {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)(UserAction::Lost);
        }
    }
}

/// State of the view's thread.
struct ViewState {
    screen: Screen,
    theme: Theme,
    device: Device,
    messages: Receiver<ViewMessage>,
    listener: Listener,
    changed: bool,
    drawn_at: Option<Instant>,
}

impl ViewState {
    fn show(mut self) -> Screen {
        while self.listen() {
            if self.poll_events().is_err() {
                // The terminal is gone, or a panic has restored it. Messages are still applied, because `close` returns the screen.
                self.device.leave();
                (self.listener.0)(UserAction::Lost);
                while let Ok(message) = self.messages.recv() {
                    if !self.observe(message) {
                        break;
                    }
                }
                break;
            }
        }
        self.device.leave();
        self.screen
    }

    /// Applies the queued messages. Returns false if the view ends.
    fn listen(&mut self) -> bool {
        loop {
            match self.messages.try_recv() {
                Ok(message) => {
                    if !self.observe(message) {
                        return false;
                    }
                    self.changed = true;
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn observe(&mut self, message: ViewMessage) -> bool {
        match message {
            ViewMessage::Event(shown) => {
                let (at, event, words) = *shown;
                self.screen.observe(at, &event, words.as_deref());
            }
            ViewMessage::Note(words) => self.screen.log_note(now(), &words),
            ViewMessage::Driven(driven) => self.screen.set_driven(driven),
            ViewMessage::Close => return false,
        }
        true
    }

    /// Draws if something is new, and waits briefly for keys.
    fn poll_events(&mut self) -> io::Result<()> {
        let stopped = self.device.was_stopped();
        if !device::in_foreground() {
            // The foreground process owns the terminal.
            self.device.forget();
            thread::sleep(POLL_INTERVAL);
            return Ok(());
        }
        if stopped {
            // Another process may have changed the terminal meanwhile.
            self.device.leave();
        }
        if !self.device.is_shown() {
            self.device.enter()?;
            self.changed = true;
        }
        if self.changed || self.drawn_at.is_none_or(|drawn| drawn.elapsed() >= TICK) {
            // Keys typed so far refer to the picture that is still shown.
            self.keys(Duration::ZERO)?;
            if !self.device.is_shown() {
                return Ok(());
            }
            self.device.draw(&mut self.screen, now(), self.theme)?;
            self.drawn_at = Some(Instant::now());
            self.changed = false;
        }
        self.keys(POLL_INTERVAL)
    }

    /// Reads all queued keys while the screen is shown; waits for the first one.
    fn keys(&mut self, mut patience: Duration) -> io::Result<()> {
        while self.device.is_shown() && event::poll(patience)? {
            self.changed = true;
            if let Some(key) = Key::of(event::read()?) {
                self.press(key)?;
            }
            patience = Duration::ZERO;
        }
        Ok(())
    }

    fn press(&mut self, key: Key) -> io::Result<()> {
        match self.screen.press(key, now()) {
            Some(UserAction::Suspend) => {
                self.device.leave();
                self.device.suspend();
            }
            Some(UserAction::Redraw) => self.device.clear()?,
            Some(act) => (self.listener.0)(act),
            None => {}
        }
        Ok(())
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use aime_progress_management::RunId;

    use super::*;
    use crate::{Limits, ProcessRole};

    /// Returns a view whose terminal a panic has restored, with its channels for messages and acts.
    fn lost() -> (ViewState, Sender<ViewMessage>, Receiver<UserAction>) {
        let screen = Screen::new(RunId::new("r").unwrap(), ProcessRole::Driver, Limits::default());
        let device = Device::new(|| Box::new(io::sink()), false);
        thread::spawn(|| panic!("on purpose")).join().unwrap_err();
        let ((messages_in, messages), (sender, acts)) = (mpsc::channel(), mpsc::channel());
        let listener = Listener(Box::new(move |act| sender.send(act).unwrap()));
        (ViewState { screen, theme: Theme::new(false), device, messages, listener, changed: true, drawn_at: None }, messages_in, acts)
    }

    #[test]
    fn who_listens_is_told_once_that_the_screen_is_gone() {
        let (showing, messages, acts) = lost();
        let shown = thread::spawn(move || showing.show());
        assert_eq!(acts.recv().unwrap(), UserAction::Lost);
        messages.send(ViewMessage::Driven(false)).unwrap();
        messages.send(ViewMessage::Close).unwrap();
        shown.join().unwrap();
        assert!(acts.recv().is_err(), "and of nothing else");
    }

    #[test]
    fn a_panic_of_the_view_itself_is_told_too() {
        let (showing, _news, acts) = lost();
        let shown = thread::spawn(move || {
            let _showing = showing;
            panic!("on purpose");
        });
        shown.join().unwrap_err();
        assert_eq!(acts.recv().unwrap(), UserAction::Lost);
    }
}
