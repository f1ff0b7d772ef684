//! Use of the working folder: by any number of actions that may write in it, or by one merge of a private folder.

use tokio::sync::watch;

/// Current use of the working folder of a run. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct FolderUse(watch::Sender<Use>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The number of actions under way.
    Actions(usize),
    Merge,
}

/// One use, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct InUse(watch::Sender<Use>);

impl FolderUse {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Use::Actions(0)))
    }

    /// Begins an action as soon as no merge is under way. It does not wait for merges that wait themselves, because an action may begin within
    /// another.
    pub(super) async fn act(&self) -> InUse {
        self.when(|now| match now {
            Use::Actions(others) => Some(Use::Actions(others + 1)),
            Use::Merge => None,
        })
        .await
    }

    /// Begins a merge as soon as nothing else uses the folder.
    pub(super) async fn merge(&self) -> InUse {
        self.when(|now| (now == Use::Actions(0)).then_some(Use::Merge)).await
    }

    /// Begins a merge if nothing else uses the folder.
    pub(super) fn try_merge(&self) -> Option<InUse> {
        self.change(|now| (now == Use::Actions(0)).then_some(Use::Merge))
    }

    async fn when(&self, next: impl Fn(Use) -> Option<Use>) -> InUse {
        let mut changes = self.0.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(begun) = self.change(&next) {
                return begun;
            }
            // The sender is here, so that this fails never.
            let _is_open = changes.changed().await;
        }
    }

    fn change(&self, next: impl Fn(Use) -> Option<Use>) -> Option<InUse> {
        let set = |now: &mut Use| next(*now).map(|after| *now = after).is_some();
        self.0.send_if_modified(set).then(|| InUse(self.0.clone()))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.send_modify(|now| {
            *now = match *now {
                Use::Actions(all) => Use::Actions(all.saturating_sub(1)),
                Use::Merge => Use::Actions(0),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_merge_is_alone_and_actions_are_not() {
        let folder = FolderUse::new();
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
}
