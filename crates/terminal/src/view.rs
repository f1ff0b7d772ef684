//! The thin part: a screen on a terminal that is borrowed and given back.

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

use aime_progress::{ProgressEvent, Timestamp};
use ratatui_crossterm::crossterm::event;

use self::device::Device;
pub use self::device::forget_typed;
use crate::{Act, Key, Screen, Theme};

/// The longest time for which nothing is looked at.
const LOOK: Duration = Duration::from_millis(40);
/// How often it is drawn where nothing but time has changed.
const TICK: Duration = Duration::from_secs(1);

/// Opens the stream that leads to the terminal, such as standard error.
pub type Tty = fn() -> Box<dyn Write + Send>;

/// Gets what a person wants; [`Act::Lost`] where the terminal cannot be drawn any more, or a panic has taken it back.
pub type Heard = Box<dyn Fn(Act) + Send>;

/// A screen that is shown. The terminal is as it was before once this is closed or dropped, or after a panic anywhere in the process.
#[derive(Debug)]
pub struct View {
    news: Sender<News>,
    showing: Mutex<Option<JoinHandle<Screen>>>,
}

/// What a view is told.
enum News {
    Event(Box<(Timestamp, ProgressEvent, Option<String>)>),
    Said(String),
    Driven(bool),
    Close,
}

impl View {
    /// Shows a screen on the terminal of standard input, to which `tty` writes, and listens to its keys. `None` where this process is in the
    /// background of its terminal: it would be stopped.
    ///
    /// # Errors
    /// Where the terminal cannot be set or written.
    pub fn open(screen: Screen, theme: Theme, tty: Tty, heard: Heard) -> io::Result<Option<Self>> {
        if !device::in_foreground() {
            return Ok(None);
        }
        let mut device = Device::new(tty, theme.has_color());
        device.enter()?;
        let (news, told) = mpsc::channel();
        let showing = Showing { screen, theme, device, told, heard: Listener(heard), changed: true, drawn: None };
        let thread = thread::Builder::new().name("view".to_owned()).spawn(move || showing.show())?;
        Ok(Some(Self { news, showing: Mutex::new(Some(thread)) }))
    }

    /// Shows what an event changed; `words` are for its log.
    pub fn take(&self, at: Timestamp, event: ProgressEvent, words: Option<String>) {
        self.tell(News::Event(Box::new((at, event, words))));
    }

    /// Says something beside the events, in the log.
    pub fn say(&self, words: &str) {
        self.tell(News::Said(words.to_owned()));
    }

    /// Whether a process carries the run out now.
    pub fn set_driven(&self, driven: bool) {
        self.tell(News::Driven(driven));
    }

    /// Gives the terminal back, and the screen as it stood; nothing where that was done before, or the screen has come to a panic.
    pub fn close(&self) -> Option<Screen> {
        let showing = self.showing.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.tell(News::Close);
        showing.join().ok()
    }

    fn tell(&self, news: News) {
        // Whoever shows nothing any more needs no news.
        drop(self.news.send(news));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// Who is told what a person wants, and of a panic in the view itself.
struct Listener(Heard);

impl Drop for Listener {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)(Act::Lost);
        }
    }
}

/// What the thread of a view holds.
struct Showing {
    screen: Screen,
    theme: Theme,
    device: Device,
    told: Receiver<News>,
    heard: Listener,
    changed: bool,
    drawn: Option<Instant>,
}

impl Showing {
    fn show(mut self) -> Screen {
        while self.listen() {
            if self.look().is_err() {
                // The terminal is gone, or a panic has taken it back: what is told is taken in all the same.
                self.device.leave();
                (self.heard.0)(Act::Lost);
                while let Ok(news) = self.told.recv() {
                    if !self.take(news) {
                        break;
                    }
                }
                break;
            }
        }
        self.device.leave();
        self.screen
    }

    /// Takes in what was told. Whether it goes on.
    fn listen(&mut self) -> bool {
        loop {
            match self.told.try_recv() {
                Ok(news) => {
                    if !self.take(news) {
                        return false;
                    }
                    self.changed = true;
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn take(&mut self, news: News) -> bool {
        match news {
            News::Event(told) => {
                let (at, event, words) = *told;
                self.screen.take(at, &event, words.as_deref());
            }
            News::Said(words) => self.screen.say(now(), &words),
            News::Driven(driven) => self.screen.set_driven(driven),
            News::Close => return false,
        }
        true
    }

    /// Draws where something is new, and waits a little for keys.
    fn look(&mut self) -> io::Result<()> {
        let stopped = self.device.was_stopped();
        if !device::in_foreground() {
            // Whoever is in the foreground has the terminal.
            self.device.forget();
            thread::sleep(LOOK);
            return Ok(());
        }
        if stopped {
            // Nobody knows what was done with the terminal meanwhile.
            self.device.leave();
        }
        if !self.device.is_shown() {
            self.device.enter()?;
            self.changed = true;
        }
        if self.changed || self.drawn.is_none_or(|drawn| drawn.elapsed() >= TICK) {
            // What is typed already was meant for what stands there yet.
            self.keys(Duration::ZERO)?;
            if !self.device.is_shown() {
                return Ok(());
            }
            self.device.draw(&mut self.screen, now(), self.theme)?;
            self.drawn = Some(Instant::now());
            self.changed = false;
        }
        self.keys(LOOK)
    }

    /// Takes every key that is there while the screen is; waits for the first one.
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
            Some(Act::Suspend) => {
                self.device.leave();
                self.device.suspend();
            }
            Some(Act::Redraw) => self.device.clear()?,
            Some(act) => (self.heard.0)(act),
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
    use aime_progress::RunId;

    use super::*;
    use crate::{Limits, Part};

    /// A view on a terminal that a panic has taken back, what it is told by, and what it wants.
    fn lost() -> (Showing, Sender<News>, Receiver<Act>) {
        let screen = Screen::new(RunId::new("r").unwrap(), Part::Drives, Limits::default());
        let device = Device::new(|| Box::new(io::sink()), false);
        thread::spawn(|| panic!("on purpose")).join().unwrap_err();
        let ((news, told), (heard, acts)) = (mpsc::channel(), mpsc::channel());
        let heard = Listener(Box::new(move |act| heard.send(act).unwrap()));
        (Showing { screen, theme: Theme::new(false), device, told, heard, changed: true, drawn: None }, news, acts)
    }

    #[test]
    fn who_listens_is_told_once_that_the_screen_is_gone() {
        let (showing, news, acts) = lost();
        let shown = thread::spawn(move || showing.show());
        assert_eq!(acts.recv().unwrap(), Act::Lost);
        news.send(News::Driven(false)).unwrap();
        news.send(News::Close).unwrap();
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
        assert_eq!(acts.recv().unwrap(), Act::Lost);
    }
}
