//! Use of the working folder: by any number of actions that may write in it, or by one merge of a private folder.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, watch};

/// Current use of the working folder of a run. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct FolderAccess(watch::Sender<State>);

#[derive(Debug, Clone, Copy)]
struct State {
    now: AccessState,
    /// Number of merges so far.
    merges: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccessState {
    /// The number of actions under way.
    Actions(usize),
    Merge,
}

/// One use, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct FolderAccessGuard(watch::Sender<State>);

impl FolderAccess {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(State { now: AccessState::Actions(0), merges: 0 }))
    }

    /// Begins an action as soon as no merge is under way. It does not wait for merges that wait themselves, because an action may begin within
    /// another.
    pub(super) async fn act(&self) -> FolderAccessGuard {
        self.when(|now| match now {
            AccessState::Actions(others) => Some(AccessState::Actions(others + 1)),
            AccessState::Merge => None,
        })
        .await
    }

    /// Begins a merge as soon as nothing else uses the folder.
    pub(super) async fn merge(&self) -> FolderAccessGuard {
        self.when(|now| (now == AccessState::Actions(0)).then_some(AccessState::Merge)).await
    }

    /// Begins a merge if nothing else uses the folder.
    pub(super) fn try_merge(&self) -> Option<FolderAccessGuard> {
        self.change(|now| (now == AccessState::Actions(0)).then_some(AccessState::Merge))
    }

    /// Returns the number of merges so far.
    fn merges(&self) -> u64 {
        self.0.borrow().merges
    }

    async fn when(&self, next: impl Fn(AccessState) -> Option<AccessState>) -> FolderAccessGuard {
        let mut changes = self.0.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(begun) = self.change(&next) {
                return begun;
            }
            // `self` holds the sender, so this cannot fail.
            let _is_open = changes.changed().await;
        }
    }

    fn change(&self, next: impl Fn(AccessState) -> Option<AccessState>) -> Option<FolderAccessGuard> {
        let set = |state: &mut State| next(state.now).map(|after| state.now = after).is_some();
        self.0.send_if_modified(set).then(|| FolderAccessGuard(self.0.clone()))
    }
}

impl Drop for FolderAccessGuard {
    fn drop(&mut self) {
        self.0.send_modify(|state| match state.now {
            AccessState::Actions(all) => state.now = AccessState::Actions(all.saturating_sub(1)),
            AccessState::Merge => *state = State { now: AccessState::Actions(0), merges: state.merges + 1 },
        });
    }
}

/// The lock by which a task holds the working folder itself.
#[derive(Debug)]
#[expect(dead_code, reason = "the guards are only held")]
pub(super) enum LeaseGuard {
    /// Of one task alone.
    Exclusive(OwnedRwLockWriteGuard<()>),
    /// Of several tasks, each with one call that reads and writes a file at once.
    Shared(OwnedRwLockReadGuard<()>),
}

/// Lease of a task that works in the working folder itself. No private folder is merged there before the task ends, because what its
/// actors write may be based on what they have read before. Only while they do nothing but wait for a person, merges take place.
#[derive(Debug)]
pub(super) struct FolderLease {
    folder: FolderAccess,
    now: Mutex<LeaseState>,
    _guard: LeaseGuard,
}

#[derive(Debug, Default)]
struct LeaseState {
    /// Number of calls of models and tools under way.
    calls: usize,
    /// Number of open questions to a person.
    questions: usize,
    in_use: Option<FolderAccessGuard>,
}

impl FolderLease {
    pub(super) fn new(guard: LeaseGuard, folder: &FolderAccess) -> Self {
        Self { folder: folder.clone(), now: Mutex::default(), _guard: guard }
    }

    /// Makes a call of a model or a tool, as soon as no merge is under way.
    pub(super) async fn call<T>(&self, call: impl Future<Output = T>) -> T {
        self.locked().calls += 1;
        let _ended = CountGuard(self, |now| &mut now.calls);
        let is_in_use = self.locked().in_use.is_some();
        if !is_in_use {
            let in_use = self.folder.act().await;
            self.locked().in_use = Some(in_use);
        }
        call.await
    }

    /// Waits for a person. Returns true with the answer if private folders were merged meanwhile.
    pub(super) async fn ask<T>(&self, answer: impl Future<Output = T>) -> (T, bool) {
        let before = self.folder.merges();
        self.locked().questions += 1;
        let _ended = CountGuard(self, |now| &mut now.questions);
        self.locked().rest();
        (answer.await, self.folder.merges() > before)
    }

    fn locked(&self) -> MutexGuard<'_, LeaseState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseState {
    /// Lets merges take place if everything waits for a person.
    fn rest(&mut self) {
        if self.calls == 0 && self.questions > 0 {
            self.in_use = None;
        }
    }
}

/// Counts the end of a call or a question when it is dropped.
struct CountGuard<'a>(&'a FolderLease, fn(&mut LeaseState) -> &mut usize);

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        let mut now = self.0.locked();
        let count = self.1(&mut now);
        *count = count.saturating_sub(1);
        now.rest();
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_merge_is_alone_and_actions_are_not() {
        let folder = FolderAccess::new();
        let outer = folder.act().now_or_never().unwrap();
        let mut waiting = Box::pin(folder.merge());
        assert!(waiting.as_mut().now_or_never().is_none() && folder.try_merge().is_none(), "an action is under way");
        let inner = folder.act().now_or_never().expect("an action within another does not wait for the merge that waits");
        drop(outer);
        assert!(waiting.as_mut().now_or_never().is_none(), "the inner action is under way");
        drop(inner);
        let merge = waiting.now_or_never().expect("nothing uses the folder");
        let mut action = Box::pin(folder.act());
        assert!(action.as_mut().now_or_never().is_none() && folder.try_merge().is_none());
        drop(merge);
        let action = action.now_or_never().expect("the merge is over");
        drop(action);
        assert!(folder.try_merge().is_some());
    }

    fn lease(folder: &FolderAccess) -> FolderLease {
        FolderLease::new(LeaseGuard::Exclusive(Arc::new(tokio::sync::RwLock::default()).try_write_owned().unwrap()), folder)
    }

    fn merges(folder: &FolderAccess) -> bool {
        folder.try_merge().is_some()
    }

    #[test]
    fn a_task_holds_merges_up_between_its_calls() {
        let folder = FolderAccess::new();
        let lease = lease(&folder);
        assert!(merges(&folder), "the task has read nothing yet");
        lease.call(async {}).now_or_never().unwrap();
        assert!(!merges(&folder));
        drop(lease);
        assert!(merges(&folder));
    }

    #[test]
    fn a_question_lets_merges_in_unless_a_call_is_under_way() {
        let folder = FolderAccess::new();
        let lease = lease(&folder);
        lease.call(async {}).now_or_never().unwrap();
        let (answers, answer) = oneshot::channel::<()>();
        let mut question = Box::pin(lease.ask(answer));
        assert!(question.as_mut().now_or_never().is_none() && merges(&folder));
        let mut call = Box::pin(lease.call(pending::<()>()));
        assert!(call.as_mut().now_or_never().is_none() && !merges(&folder), "a call beside the question");
        drop(call);
        assert!(merges(&folder), "a call that was cut off is over");
        let merge = folder.try_merge().unwrap();
        let mut call = Box::pin(lease.call(async {}));
        assert!(call.as_mut().now_or_never().is_none(), "a call waits for the merge");
        drop(merge);
        call.now_or_never().expect("the merge is over");
        assert!(merges(&folder), "the question is still open");
        answers.send(()).unwrap();
        assert!(question.now_or_never().unwrap().1, "the actor learns that files may have changed");
        lease.call(async {}).now_or_never().unwrap();
        assert!(!merges(&folder));
        let (_, has_merged) = lease.ask(async {}).now_or_never().unwrap();
        assert!(!has_merged);
    }
}
