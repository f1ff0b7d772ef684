//! Turns of a continued run, for the list of its changes.

use std::{collections::BTreeMap, path::Path};

use aime_orchestrator::RunView;
use aime_progress_management::ProgressEvent;

use crate::{
    i18n::msg,
    output::{DIM, plain},
    screen::first_line,
};

/// Longest goal in a heading, in characters.
const WIDTH: usize = 100;

/// Goals of the turns of a continued run, and the turn in which each file was last changed. Empty for a run of one turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    goals: Vec<String>,
    last: BTreeMap<String, usize>,
}

impl Turns {
    pub(super) fn of(seen: &RunView) -> Self {
        let goals = seen.state.turns.iter().map(|turn| turn.goal.clone()).collect();
        Self::from_events(goals, seen.events.iter().map(|published| &published.event))
    }

    fn from_events<'a>(goals: Vec<String>, events: impl IntoIterator<Item = &'a ProgressEvent>) -> Self {
        let (mut turn, mut last) = (0, BTreeMap::new());
        for event in events {
            match event {
                ProgressEvent::RunContinued { .. } => turn += 1,
                ProgressEvent::FileChanged(change) => drop(last.insert(change.path.clone(), turn)),
                _ => {}
            }
        }
        Self { goals, last }
    }

    /// Returns the turn in which a path was last changed, from 0: of a folder, the first one of a file in it. `None` if that
    /// is unknown, or if the run has one turn.
    pub(super) fn of_path(&self, path: &Path) -> Option<usize> {
        if self.goals.len() < 2 {
            return None;
        }
        let inside = || self.last.iter().filter(|(file, _)| Path::new(file).starts_with(path)).map(|(_, turn)| *turn).min();
        self.last.get(path.to_string_lossy().as_ref()).copied().or_else(inside)
    }

    /// Returns the heading of the changes of a turn.
    pub(super) fn heading(&self, turn: usize) -> String {
        let goal = self.goals.get(turn).map(String::as_str).unwrap_or_default();
        format!("{DIM}{}{DIM:#}", msg!("undo-turn", number = turn + 1, goal = plain(&first_line(goal, WIDTH))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_belongs_to_its_last_turn() {
        let changed = |path: &str| {
            let change =
                json!({"type": "file_changed", "tool": "bash", "path": path, "did": "created", "added": 0, "removed": 0, "diff": ""});
            serde_json::from_value(change).unwrap()
        };
        let goes_on = || ProgressEvent::RunContinued { goal: "more".to_owned() };
        let events = [changed("a"), changed("in/b"), goes_on(), changed("a"), changed("in/c"), goes_on(), changed("d")];
        let of = |turns: &Turns, path: &str| turns.of_path(Path::new(path));
        let turns = Turns::from_events(vec!["one".into(), "two".into(), "three".into()], &events);
        for (path, turn) in [("a", Some(1)), ("in/b", Some(0)), ("in", Some(0)), ("d", Some(2)), ("unknown", None), ("i", None)] {
            assert_eq!(of(&turns, path), turn, "{path}");
        }
        assert_eq!(of(&Turns::from_events(Vec::new(), &events[..1]), "a"), None, "a run of one turn needs no headings");
    }
}
