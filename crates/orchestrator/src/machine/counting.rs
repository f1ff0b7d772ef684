//! What was used so far, held against the bounds. It is kept up with each event, and counted anew only where it is not known.

use aime_progress::{ProgressEvent, TaskId, TaskKind};

use super::RunMachine;

impl RunMachine {
    /// How many actors were used: one for each attempt at a task, one for each delegation.
    #[must_use]
    pub fn actors(&self) -> u32 {
        self.actors.unwrap_or_else(|| self.count_actors())
    }

    /// How often the actor task has been tried whose status an event changes.
    pub(super) fn attempts_of_actor(&self, event: &ProgressEvent) -> u32 {
        let ProgressEvent::TaskStatusChanged { task, .. } = event else { return 0 };
        self.state.tasks.get(task).filter(|task| task.spec.kind == TaskKind::Actor).map_or(0, |task| task.attempts)
    }

    pub(super) fn count_actors(&self) -> u32 {
        let tasks = self.state.tasks.values().filter(|task| task.spec.kind == TaskKind::Actor);
        let delegated = self.reported.keys().filter(|actor| is_delegated(actor)).count();
        tasks.map(|task| task.attempts).sum::<u32>().saturating_add(u32::try_from(delegated).unwrap_or(u32::MAX))
    }

    /// The same, with those below others that began their journals and of which the run had not heard when its process died.
    pub(crate) fn actors_begun(&self, streams: &[String]) -> u32 {
        let unheard = streams.iter().filter(|stream| is_delegated(stream) && !self.reported.contains_key(*stream)).count();
        self.actors().saturating_add(u32::try_from(unheard).unwrap_or(u32::MAX))
    }

    /// An actor reports: one that another has made counts from its first report on.
    pub(super) fn count_delegated(&mut self, actor: &str) {
        if let (Some(actors), true, false) = (&mut self.actors, is_delegated(actor), self.reported.contains_key(actor)) {
            *actors = actors.saturating_add(1);
        }
    }

    /// Each task that has begun and is not settled, with its execution.
    pub(crate) fn executions_under_way(&self) -> impl Iterator<Item = (&TaskId, u32)> {
        let open = |task: &TaskId| self.state.tasks.get(task).is_some_and(|known| !known.status.is_settled());
        self.executions.iter().filter(move |(task, _)| open(task)).map(|(task, execution)| (task, *execution))
    }

    /// How many reports of an actor were heard, by the name of its journal.
    pub(crate) fn heard_of(&self, actor: &str) -> u64 {
        self.reported.get(actor).copied().unwrap_or_default()
    }

    /// The bound that does not allow another attempt at a task of this kind, in words.
    pub(super) fn count_bound(&mut self, kind: TaskKind) -> Option<(&'static str, String)> {
        let actors = if kind == TaskKind::Actor { self.actors() } else { 0 };
        if kind == TaskKind::Actor {
            self.actors = Some(actors);
        }
        if kind == TaskKind::Actor && actors >= self.bounds.max_actors {
            return Some(("actors", format!("{} of {} actors were used", actors, self.bounds.max_actors)));
        }
        let calls = self.state.tool_calls;
        (calls >= self.bounds.max_tool_calls)
            .then(|| ("tool_calls", format!("{calls} of {} tool calls were made", self.bounds.max_tool_calls)))
    }
}

/// Whether the journal of this name is of an actor that another one has made.
fn is_delegated(actor: &str) -> bool {
    actor.ends_with("/d")
}
