//! Estimate of what a plan will use, before it is run.

use aime_llm::{ChatModel, Usage};
use aime_messages::{Message, message};
use aime_orchestrator::{Models, run_status};
use aime_progress_management::{Plan, ProgressState, ReasoningEffort, RunId, RunStatus, TaskKind};

use super::Runs;
use crate::{ErrorKind, RunsError};

/// Number of completed runs that the estimate uses at most, the newest first.
const MOST_RUNS: usize = 20;
/// Number of completed runs below which the estimate is a rule of thumb.
const FEWEST_RUNS: usize = 3;

/// Estimate of what a plan will use. Replans and retries are in it only as far as earlier runs had them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Requests to models.
    pub requests: u64,
    /// Tokens sent and received.
    pub tokens: u64,
    /// Price in US dollars without discounts for cached tokens; `None` if the price of the default model is unknown.
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

    /// Returns the use of a plan: requests, tokens sent and tokens received. A task that names an effort receives more
    /// or fewer tokens.
    fn of_plan(self, plan: &Plan) -> (u64, Usage) {
        let actors: Vec<f64> = plan.tasks.iter().filter(|task| task.kind == TaskKind::Actor).map(|task| weight(task.effort)).collect();
        let number = actors.iter().fold(0.0, |sum, _| sum + 1.0);
        let tokens = |count: f64| whole(count);
        let usage = Usage {
            input_tokens: tokens(self.input * number),
            output_tokens: tokens(self.output * actors.iter().sum::<f64>()),
            ..Usage::default()
        };
        (whole(self.requests * number), usage)
    }
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
            for run in completed.filter_map(|run| RunId::new(&run.id).ok()).take(MOST_RUNS) {
                // A damaged journal is no reason to show no plan.
                known.extend(run_status(&journal, &run).ok().and_then(|seen| PerTask::of(&seen.state)));
            }
        }
        let default = models.role("default");
        let rule = if default.limits().small { (PerTask::SMALL, ForecastBasis::Small) } else { (PerTask::CAPABLE, ForecastBasis::Capable) };
        let measured = PerTask::median(&known).filter(|_| known.len() >= FEWEST_RUNS);
        let (per_task, basis) = measured.map_or(rule, |measured| (measured, ForecastBasis::Runs(known.len())));
        let (requests, usage) = per_task.of_plan(plan);
        let cost_usd = default.build(self.setup.redactor()).prices().map(|prices| prices.cost(&usage));
        Ok(Forecast { requests, tokens: usage.input_tokens + usage.output_tokens, cost_usd, basis })
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::TaskSpec;

    use super::*;

    #[test]
    fn a_plan_uses_what_its_actors_use() {
        let actor = |id: &str, effort| TaskSpec { effort, ..TaskSpec::actor(id.parse().unwrap(), "do it") };
        let mut plan = Plan::new("goal", [actor("a", None), actor("b", Some(ReasoningEffort::High))]);
        let one = PerTask { requests: 2.0, input: 100.0, output: 10.0 };
        let (requests, usage) = one.of_plan(&plan);
        assert_eq!((requests, usage.input_tokens, usage.output_tokens), (4, 200, 25));
        plan.tasks.iter_mut().for_each(|task| task.kind = TaskKind::Group);
        assert_eq!(one.of_plan(&plan), (0, Usage::default()), "only actors ask models");
    }

    #[test]
    fn an_unusual_run_does_not_decide() {
        let run = |count: f64| PerTask { requests: count, input: count, output: count };
        assert_eq!(PerTask::median(&[]), None);
        assert_eq!(PerTask::median(&[run(3.0), run(900.0), run(4.0)]), Some(run(4.0)));
    }
}
