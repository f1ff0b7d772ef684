//! Cost of a run by purpose.

use aime_progress_management::{ModelCost, ProgressEvent, TimeUse};
use serde::Serialize;

use super::{
    RunCost,
    build::{TITLE, Titles},
};
use crate::{Source, text::Reader};

/// Largest number of rows in a table.
const MAX_ROWS: usize = 300;

pub(super) fn spending(source: &Source<'_>, titles: &Titles, reader: &Reader<'_>) -> RunCost {
    let (mut by_model, mut by_task) = (Sums::default(), Sums::default());
    for (_, event) in &source.events {
        if let ProgressEvent::ModelCalled { task, purpose, model, spent, .. } = event {
            by_model.add(reader.line(model, TITLE), spent);
            by_task.add(task.as_ref().map_or_else(|| reader.line(&for_the_run(purpose), TITLE), |task| titles.title(task)), spent);
        }
    }
    let ((by_model, models_left_out), (by_task, tasks_left_out)) = (by_model.most(), by_task.most());
    let by_who = source.state.spent_by.parts().into_iter().filter(|(_, spent)| spent.requests > 0);
    let by_who = by_who.map(|(who, spent)| (who.to_owned(), *spent)).collect();
    RunCost {
        total: source.state.spent,
        by_who,
        by_model,
        models_left_out,
        by_task,
        tasks_left_out,
        tool_calls: source.state.tool_calls,
        time: TimeUse::of(source.events.iter().copied()),
    }
}

/// Describes the purpose of a request for the run as a whole.
pub(super) fn for_the_run(purpose: &str) -> String {
    match purpose {
        "lead" => "leading the run".to_owned(),
        "route" => "choosing the way of working".to_owned(),
        "plan" => "making the plan".to_owned(),
        "patch" => "changing the plan".to_owned(),
        "verdict" => "looking at criteria".to_owned(),
        "answer" => "writing the answer".to_owned(),
        other => other.to_owned(),
    }
}

/// Sums by name, in the order of first appearance.
#[derive(Debug, Default, Serialize)]
struct Sums(Vec<(String, ModelCost)>);

impl Sums {
    fn add(&mut self, name: String, spent: &ModelCost) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => sum.add(spent),
            None => self.0.push((name, *spent)),
        }
    }

    /// Returns the entries with the most tokens, and the number of those left out.
    fn most(mut self) -> (Vec<(String, ModelCost)>, usize) {
        self.0.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.input_tokens + spent.output_tokens));
        let left_out = self.0.len().saturating_sub(MAX_ROWS);
        self.0.truncate(MAX_ROWS);
        (self.0, left_out)
    }
}
