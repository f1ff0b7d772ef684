//! Being stopped as a job of a shell, and going on: meanwhile the terminal is another's.

#[cfg(unix)]
pub(super) use self::unix::Stops;

#[cfg(unix)]
mod unix {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
        time::Duration,
    };

    use nix::sys::signal::{Signal, killpg};
    use signal_hook::{SigId, consts::SIGCONT, flag, low_level::unregister};

    /// The most looks whether a process that was to stop goes on.
    const LOOKS: u32 = 400;

    /// Whether this process was stopped and goes on.
    pub(in crate::view) struct Stops {
        goes_on: Arc<AtomicBool>,
        /// None where the system does not tell.
        watched: Option<SigId>,
    }

    impl Stops {
        pub(in crate::view) fn watched() -> Self {
            let goes_on = Arc::new(AtomicBool::new(false));
            let watched = flag::register(SIGCONT, Arc::clone(&goes_on)).ok();
            Self { goes_on, watched }
        }

        /// Whether it goes on since the last call.
        pub(in crate::view) fn take(&self) -> bool {
            self.goes_on.swap(false, Ordering::SeqCst)
        }

        /// Stops, and returns when it goes on.
        pub(in crate::view) fn stop(&self) {
            if self.watched.is_none() {
                return;
            }
            self.goes_on.store(false, Ordering::SeqCst);
            let _unstopped = killpg(nix::unistd::getpgrp(), Signal::SIGTSTP);
            // It stops somewhere in these looks, which are counted: a clock would go on meanwhile. Where no shell could let it go on nothing stops.
            for _ in 0..LOOKS {
                if self.goes_on.load(Ordering::SeqCst) {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    impl Drop for Stops {
        fn drop(&mut self) {
            self.watched.take().map(unregister);
        }
    }
}

/// Nothing is stopped so.
#[cfg(not(unix))]
pub(super) struct Stops;

#[cfg(not(unix))]
impl Stops {
    pub(super) const fn watched() -> Self {
        Self
    }

    pub(super) const fn take(&self) -> bool {
        false
    }

    pub(super) const fn stop(&self) {}
}
