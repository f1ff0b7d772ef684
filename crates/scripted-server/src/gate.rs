//! Holds requests until enough of them wait, so that tests count instead of measuring time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// One barrier for each number of requests.
#[derive(Default)]
pub(crate) struct Gates {
    open: Notify,
    gates: Mutex<BTreeMap<usize, Gate>>,
}

#[derive(Default, Clone, Copy)]
struct Gate {
    waiting: usize,
    opened: usize,
}

impl Gates {
    fn with<R>(&self, size: usize, change: impl FnOnce(&mut Gate) -> R) -> R {
        change(self.gates.lock().unwrap_or_else(PoisonError::into_inner).entry(size).or_default())
    }

    /// Returns when `size` requests wait in here at once.
    pub(crate) async fn pass(&self, size: usize) {
        let (mine, last) = self.with(size, |gate| {
            gate.waiting += 1;
            let mine = gate.opened;
            if gate.waiting >= size {
                *gate = Gate { waiting: 0, opened: gate.opened + 1 };
            }
            (mine, gate.opened != mine)
        });
        if last {
            self.open.notify_waiters();
            return;
        }
        let _leave = Leave { gates: self, size, mine };
        loop {
            let opened = self.open.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if self.with(size, |gate| gate.opened != mine) {
                return;
            }
            opened.await;
        }
    }

    pub(crate) fn waiting(&self, size: usize) -> usize {
        self.with(size, |gate| gate.waiting)
    }
}

/// Removes a client that has disconnected from the waiting ones.
struct Leave<'a> {
    gates: &'a Gates,
    size: usize,
    mine: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.gates.with(self.size, |gate| {
            if gate.opened == self.mine {
                gate.waiting = gate.waiting.saturating_sub(1);
            }
        });
    }
}
