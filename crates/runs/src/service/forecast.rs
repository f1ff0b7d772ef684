//! Estimate of what a plan will use, before it is run.

use std::collections::BTreeSet;

use aime_llm::{ChatModel, Prices, Usage};
use aime_messages::{Message, message};
use aime_orchestrator::{Models, run_status};
use aime_progress_management::{Plan, ProgressState, ReasoningEffort, RunId, RunStatus, TaskKind, TaskSpec};

use super::Runs;
use crate::{ErrorKind, RunsError};

/// Number of completed runs that the estimate uses at most, the newest first.
const MAX_RUNS: usize = 20;
/// Number of completed runs below which the estimate is a rule of thumb.
const MIN_RUNS: usize = 3;

/// Estimate of what a plan will use. Replans and retries are in it only as far as earlier runs had them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Requests to models.
    pub requests: u64,
    /// Tokens sent and received.
    pub tokens: u64,
    /// Price in US dollars without discounts for cached tokens; `None` if the price of a model is unknown.
    pub cost_usd: Option<f64>,
    /// Source of the estimate.
    pub basis: ForecastBasis,
}

impl Forecast {
    /// Returns what the plan will use, about, and the source of the estimate.
    pub fn message(&self) -> Message {
        let cost = self.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
        let basis = match self.basis {
            ForecastBasis::Runs(number) => message!("forecast-runs", runs = message!("count-run", number)),
            ForecastBasis::Capable => message!("forecast-capable"),
            ForecastBasis::Small => message!("forecast-small"),
            ForecastBasis::Mixed => message!("forecast-mixed"),
        };
        message!("forecast", requests = message!("count-request", number = self.requests), tokens = self.tokens, cost, basis)
    }
}

/// Source of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForecastBasis {
    /// Medians of this number of completed runs of the folder, per actor task.
    Runs(usize),
    /// Rule of thumb for capable models.
    Capable,
    /// Rule of thumb for small models.
    Small,
    /// Rules of thumb for small and for capable models, by the models of the tasks.
    Mixed,
}

/// Use of one actor task, with its share of planning, checks and the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PerTask {
    requests: f64,
    input: f64,
    output: f64,
}

impl PerTask {
    /// Typical use with a capable model: few turns that carry files and results.
    const CAPABLE: Self = Self { requests: 6.0, input: 50_000.0, output: 2_500.0 };
    /// Typical use with a small model.
    const SMALL: Self = Self { requests: 4.0, input: 6_000.0, output: 600.0 };

    /// Returns the use per actor task of a run; `None` for a run without actors or requests.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn of(state: &ProgressState) -> Option<Self> {
        let actors = state.tasks.values().filter(|task| task.spec.kind == TaskKind::Actor).count();
        let spent = &state.spent;
        if actors == 0 || spent.requests == 0 || state.status != RunStatus::Completed {
            return None;
        }
        let share = |count: u64| count as f64 / actors as f64;
        Some(Self { requests: share(spent.requests), input: share(spent.input_tokens), output: share(spent.output_tokens) })
    }

    /// Returns the medians; `None` without values.
    fn median(known: &[Self]) -> Option<Self> {
        let middle = |of: fn(&Self) -> f64| {
            let mut values: Vec<f64> = known.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        Some(Self { requests: middle(|one| one.requests)?, input: middle(|one| one.input)?, output: middle(|one| one.output)? })
    }
}

/// Model of a task, as far as a forecast needs it.
#[derive(Debug, Clone, Copy)]
struct TaskModel {
    small: bool,
    prices: Option<Prices>,
}

/// Returns the forecast for a plan. `model_of` returns the model of an actor's task, `measured` the use in earlier runs and
/// their number. A task that names an effort receives more or fewer tokens.
fn estimate(plan: &Plan, measured: Option<(PerTask, usize)>, default: TaskModel, model_of: impl Fn(&TaskSpec) -> TaskModel) -> Forecast {
    let (mut requests, mut tokens, mut cost_usd, mut classes) = (0.0, 0.0, Some(0.0), BTreeSet::new());
    for task in plan.tasks.iter().filter(|task| task.kind == TaskKind::Actor) {
        let model = model_of(task);
        classes.insert(model.small);
        let of_class = if model.small { PerTask::SMALL } else { PerTask::CAPABLE };
        let PerTask { requests: asked, input, output } = measured.map_or(of_class, |(measured, _)| measured);
        let output = output * weight(task.effort);
        requests += asked;
        tokens += input + output;
        let usage = Usage { input_tokens: whole(input), output_tokens: whole(output), ..Usage::default() };
        cost_usd = cost_usd.zip(model.prices).map(|(cost, prices)| cost + prices.cost(&usage));
    }
    if classes.is_empty() {
        classes.insert(default.small);
        cost_usd = default.prices.map(|_| 0.0);
    }
    let basis = match (measured, classes.len(), classes.contains(&true)) {
        (Some((_, runs)), ..) => ForecastBasis::Runs(runs),
        (None, 2.., _) => ForecastBasis::Mixed,
        (None, _, true) => ForecastBasis::Small,
        (None, _, false) => ForecastBasis::Capable,
    };
    Forecast { requests: whole(requests), tokens: whole(tokens), cost_usd, basis }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate is positive and far below 2^53")]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

/// Returns how many times the usual tokens are received with an effort.
const fn weight(effort: Option<ReasoningEffort>) -> f64 {
    match effort {
        Some(ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low) => 0.7,
        None | Some(ReasoningEffort::Medium) => 1.0,
        Some(ReasoningEffort::High) => 1.5,
        Some(_) => 2.0,
    }
}

impl Runs {
    /// Estimates what a plan will use with these models, from completed runs of this folder or by a rule of thumb.
    pub fn forecast(&self, plan: &Plan, models: &Models) -> Result<Forecast, RunsError> {
        let mut known = Vec::new();
        if let Some(journal) = self.setup.existing_journal()? {
            let runs = journal.runs().map_err(|error| RunsError::caused(ErrorKind::Usage, error))?;
            let completed = runs.iter().filter(|run| run.status == RunStatus::Completed.to_string());
            for run in completed.filter_map(|run| RunId::new(&run.id).ok()).take(MAX_RUNS) {
                // A damaged journal is no reason to show no plan.
                known.extend(run_status(&journal, &run).ok().and_then(|seen| PerTask::of(&seen.state)));
            }
        }
        let measured = PerTask::median(&known).filter(|_| known.len() >= MIN_RUNS).map(|measured| (measured, known.len()));
        let profiles = self.setup.profiles()?;
        let model = |name: &str| {
            let model = models.role(name);
            TaskModel { small: model.limits().small, prices: model.build(self.setup.redactor()).prices() }
        };
        // As when an actor is made: the task's own model, then that of its profile.
        let model_of = |task: &TaskSpec| {
            let profile = task.profile.as_deref().and_then(|name| profiles.get(name));
            model(task.model.as_deref().or(profile.and_then(|profile| profile.model.as_deref())).unwrap_or("default"))
        };
        Ok(estimate(plan, measured, model("default"), model_of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Price in US dollars for a million tokens, sent or received.
    fn prices(million: f64) -> Option<Prices> {
        serde_json::from_value(serde_json::json!({"input": million, "output": million})).ok()
    }

    fn model_of(task: &TaskSpec) -> TaskModel {
        match task.model.as_deref() {
            Some("cheap") => TaskModel { small: true, prices: prices(1.0) },
            Some("free") => TaskModel { small: true, prices: None },
            _ => TaskModel { small: false, prices: prices(10.0) },
        }
    }

    #[test]
    fn each_task_counts_with_its_own_model() {
        let runs = Some((PerTask { requests: 2.0, input: 100.0, output: 10.0 }, 4));
        let high = Some(ReasoningEffort::High);
        let cases = [
            (vec![(None, None), (None, high)], runs, (4, 225, Some(0.002_25)), ForecastBasis::Runs(4)),
            (vec![(None, None), (Some("cheap"), None)], runs, (4, 220, Some(0.001_21)), ForecastBasis::Runs(4)),
            (vec![(None, None), (Some("free"), None)], runs, (4, 220, None), ForecastBasis::Runs(4)),
            (vec![(None, None)], None, (6, 52_500, Some(0.525)), ForecastBasis::Capable),
            (vec![(Some("cheap"), None)], None, (4, 6_600, Some(0.006_6)), ForecastBasis::Small),
            (vec![(None, None), (Some("cheap"), None)], None, (10, 59_100, Some(0.531_6)), ForecastBasis::Mixed),
            (vec![], None, (0, 0, Some(0.0)), ForecastBasis::Capable),
        ];
        for (tasks, measured, (requests, tokens, cost), basis) in cases {
            let specs = (0..).zip(&tasks).map(|(number, (model, effort))| TaskSpec {
                effort: *effort,
                model: model.map(str::to_owned),
                ..TaskSpec::actor(format!("t{number}").parse().unwrap(), "do it")
            });
            let found = estimate(&Plan::new("goal", specs), measured, model_of(&TaskSpec::actor("d".parse().unwrap(), "")), model_of);
            assert_eq!((found.requests, found.tokens, found.basis), (requests, tokens, basis), "{tasks:?}");
            let near = |(one, other): (f64, f64)| (one - other).abs() < 1e-9;
            assert!(found.cost_usd.is_some() == cost.is_some() && found.cost_usd.zip(cost).is_none_or(near), "{tasks:?}: {found:?}");
        }
    }

    #[test]
    fn only_actors_ask_models() {
        let group = TaskSpec { kind: TaskKind::Group, ..TaskSpec::actor("g".parse().unwrap(), "") };
        let found = estimate(&Plan::new("goal", [group]), None, TaskModel { small: true, prices: None }, model_of);
        assert_eq!(found, Forecast { requests: 0, tokens: 0, cost_usd: None, basis: ForecastBasis::Small });
    }

    #[test]
    fn an_unusual_run_does_not_decide() {
        let run = |count: f64| PerTask { requests: count, input: count, output: count };
        assert_eq!(PerTask::median(&[]), None);
        assert_eq!(PerTask::median(&[run(3.0), run(900.0), run(4.0)]), Some(run(4.0)));
    }
}
