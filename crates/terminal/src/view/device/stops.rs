//! Job control: stopping and continuing this process. Meanwhile the terminal belongs to another process.

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

    /// Largest number of polls for the continuation of a stopped process.
    const LOOKS: u32 = 400;

    /// Detects that this process was stopped and continued.
    pub(in crate::view) struct Stops {
        goes_on: Arc<AtomicBool>,
        /// None if the system does not report it.
        watched: Option<SigId>,
    }

    impl Stops {
        pub(in crate::view) fn watched() -> Self {
            let goes_on = Arc::new(AtomicBool::new(false));
            let watched = flag::register(SIGCONT, Arc::clone(&goes_on)).ok();
            Self { goes_on, watched }
        }

        /// Returns true if the process was continued since the last call.
        pub(in crate::view) fn take(&self) -> bool {
            self.goes_on.swap(false, Ordering::SeqCst)
        }

        /// Stops the process, and returns when it continues.
        pub(in crate::view) fn stop(&self) {
            if self.watched.is_none() {
                return;
            }
            self.goes_on.store(false, Ordering::SeqCst);
            let _unstopped = killpg(nix::unistd::getpgrp(), Signal::SIGTSTP);
            // The process stops during one of these polls. They are counted, because a clock would run on meanwhile. Without a shell that
            // could continue the process, nothing stops.
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

/// Placeholder for systems without job control.
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
