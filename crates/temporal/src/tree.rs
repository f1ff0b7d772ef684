//! The state of a run's folder, or of an actor's, in a workflow: effects begin from it, and what they hand back is taken into it.

use aime_durable::EffectId;
use temporalio_sdk::{WorkflowCancellationToken, WorkflowContext};

use crate::{Capability, Effects, Handover, JoinOrder, Joined, Queues, Tree, effect::lost};

/// A workflow whose folder goes from host to host.
pub(crate) trait HasTree {
    /// Returns its current state; `None` if the folder does not move.
    fn tree(&self) -> &Option<Tree>;

    /// Sets a later state.
    fn set_tree(&mut self, tree: Tree);
}

/// Returns the current state.
pub(crate) fn tree_now<W: HasTree>(ctx: &WorkflowContext<W>) -> Option<Tree> {
    ctx.state(|workflow| workflow.tree().clone())
}

/// Reason why the file changes of some work are rejected, as text for the planner.
pub(crate) enum LeftOut {
    /// The changes conflict with concurrent changes.
    Conflict(String),
    /// The changes could not be handed back or merged.
    Lost(String),
}

impl LeftOut {
    /// Returns the reason as text.
    pub(crate) fn into_words(self) -> String {
        match self {
            Self::Conflict(why) | Self::Lost(why) => why,
        }
    }
}

/// Takes in what work handed back that began from an earlier state: as it is, or joined with what was taken in meanwhile.
///
/// # Errors
/// [`LeftOut`]. The state is as it was.
pub(crate) async fn take_in<W: HasTree + 'static>(
    ctx: &WorkflowContext<W>,
    queues: &Queues,
    id: &EffectId,
    from: &Tree,
    back: Handover,
) -> Result<(), LeftOut> {
    let mut theirs = match back {
        Handover::Tree { tree } => tree,
        Handover::Lost { why } => {
            return Err(LeftOut::Lost(format!("what it did to files could not be handed back, and is left out: {why}")));
        }
    };
    if theirs.commit == from.commit {
        return Ok(());
    }
    let mut from = from.clone();
    loop {
        let Some(ours) = tree_now(ctx) else { return Ok(()) };
        if ours.commit == from.commit {
            ctx.state_mut(|workflow| workflow.set_tree(theirs));
            return Ok(());
        }
        let queue = queues.name(Capability::Files);
        let options = queues.options(Capability::Files, id, WorkflowCancellationToken::new());
        let order = JoinOrder { ours: ours.clone(), theirs };
        match ctx.execute_activity(Effects::join, order, options).await {
            // Others may have been quicker: then it is joined with theirs.
            Ok(Joined::Clean { tree }) => (from, theirs) = (ours, tree),
            Ok(Joined::Conflict { paths }) => return Err(LeftOut::Conflict(conflict(&paths))),
            Err(error) => {
                let why = lost(&queue, &error);
                let why = format!("what it did to files could not be joined with what was done meanwhile, and is left out: {why}");
                return Err(LeftOut::Lost(why));
            }
        }
    }
}

fn conflict(paths: &[String]) -> String {
    const NAMED: usize = 20;
    let more = paths.len().saturating_sub(NAMED);
    let mut named = paths.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        named.push_str(&format!(" and {more} more"));
    }
    format!(
        "what it did to files is left out, since it conflicts with what others did meanwhile: {named}. \
         Done again it begins from theirs; what changes the same files should go one after the other"
    )
}

#[cfg(test)]
mod tests {
    use super::conflict;

    #[test]
    fn a_conflict_names_files_within_bounds() {
        assert!(conflict(&["a.txt".to_owned()]).contains("meanwhile: a.txt. Done again"));
        let many: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        assert!(conflict(&many).contains(", 19 and 5 more. Done"));
    }
}
