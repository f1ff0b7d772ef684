//! What was used so far, held against the bounds.

use aime_actors::effect_prefix;
use aime_progress::{TaskId, TaskKind};

use super::RunMachine;

impl RunMachine {
    /// How many actors were made that have told of themselves: one for each attempt at a task that was not taken up again after a stop, one for
    /// each delegation.
    #[must_use]
    pub fn actors(&self) -> u32 {
        u32::try_from(self.reported.len()).unwrap_or(u32::MAX)
    }

    /// The same, with those that are about to be made or to tell of themselves.
    fn actors_to_come(&self) -> u32 {
        let silent = self.open.tasks_under_way().filter(|task| {
            let is_actor = self.state.tasks.get(*task).is_some_and(|known| known.spec.kind == TaskKind::Actor);
            is_actor && !self.has_told(task)
        });
        self.actors().saturating_add(u32::try_from(silent.count()).unwrap_or(u32::MAX))
    }

    /// Whether the actor that works on a task has told of itself: another attempt takes it up again.
    fn has_told(&self, task: &TaskId) -> bool {
        self.executions.get(task).is_some_and(|execution| self.reported.contains_key(&effect_prefix(task, *execution, None)))
    }

    /// How many actors were made, those among them that began their journals and of which the run had not heard when its process died. `streams` are
    /// the names of all journals of the run.
    pub(crate) fn actors_begun(&self, streams: &[String]) -> u32 {
        // That of the run itself has no name.
        let unheard = streams.iter().filter(|stream| !stream.is_empty() && !self.reported.contains_key(*stream)).count();
        self.actors().saturating_add(u32::try_from(unheard).unwrap_or(u32::MAX))
    }

    /// Each task that has begun and is not settled, with its execution.
    pub fn executions_under_way(&self) -> impl Iterator<Item = (&TaskId, u32)> {
        let open = |task: &TaskId| self.state.tasks.get(task).is_some_and(|known| !known.status.is_settled());
        self.executions.iter().filter(move |(task, _)| open(task)).map(|(task, execution)| (task, *execution))
    }

    /// How many reports of an actor were heard, by the name of its journal.
    #[must_use]
    pub fn heard_of(&self, actor: &str) -> u64 {
        self.reported.get(actor).copied().unwrap_or_default()
    }

    /// The bound that does not allow another attempt at a task of this kind, in words.
    pub(super) fn count_bound(&self, task: &TaskId, kind: TaskKind) -> Option<(&'static str, String)> {
        let most = self.bounds.max_actors;
        // Attempts under way are counted one by one only where they could make a difference.
        let may_be_all = || usize::try_from(self.actors()).unwrap_or(usize::MAX).saturating_add(self.open.tasks()) >= most as usize;
        if kind == TaskKind::Actor && may_be_all() && !self.has_told(task) {
            let actors = self.actors_to_come();
            if actors >= most {
                return Some(("actors", format!("{actors} of {most} actors were used")));
            }
        }
        let calls = self.state.tool_calls;
        (calls >= self.bounds.max_tool_calls)
            .then(|| ("tool_calls", format!("{calls} of {} tool calls were made", self.bounds.max_tool_calls)))
    }
}
