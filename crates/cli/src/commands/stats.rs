//! `aime runs stats`.

use aime_orchestrator::RunStats;
use aime_planner::PlanningMetrics;
use serde_json::{Value, json};

use crate::{
    args::Output,
    failure::Failure,
    i18n::{msg, said},
    output::{self, BOLD, DIM, count},
    screen::{column, span},
};

/// Prints the statistics.
pub(super) fn tell(stats: &RunStats, form: Output) -> Result<(), Failure> {
    for left_out in &stats.left_out {
        output::note(&msg!("stats-not-counted", what = said(left_out)));
    }
    if form == Output::Text {
        output::result(&text(stats));
        return Ok(());
    }
    output::json(&document(stats), form == Output::Json)
}

/// Returns `aime.stats/v1`. A rate (0 to 1) or mean is null if there is no data for it.
fn document(stats: &RunStats) -> Value {
    let RunStats { runs, metrics, left_out } = stats;
    let PlanningMetrics { asked, made, reused, executed, succeeded, .. } = metrics;
    json!({
        "schema": "aime.stats/v1",
        "runs": runs,
        "planning": {
            "asked": asked, "made": made, "success_rate": metrics.planning_success_rate(),
            "mean_ms": metrics.mean_planning_ms(), "reused": reused,
        },
        "execution": {"ended": executed, "succeeded": succeeded, "success_rate": metrics.execution_success_rate()},
        "left_out": left_out,
    })
}

fn text(stats: &RunStats) -> String {
    let metrics = &stats.metrics;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let percent = |rate: Option<f64>| rate.map(|rate| format!(" {DIM}({:.0}%){DIM:#}", rate * 100.0)).unwrap_or_default();
    let plans = |of: u64| count(number(of), "plan");
    let made = msg!("stats-made", made = metrics.made, plans = plans(metrics.asked), percent = percent(metrics.planning_success_rate()));
    let planned = match metrics.mean_planning_ms() {
        Some(mean) => msg!("stats-mean", made = made, span = span(mean.round() as u64)),
        None => made,
    };
    let rate = percent(metrics.execution_success_rate());
    let carried_out = msg!("stats-reached", succeeded = metrics.succeeded, plans = plans(metrics.executed), percent = rate);
    let lines = [
        (msg!("stats-runs"), stats.runs.to_string()),
        (msg!("stats-planning"), planned),
        (msg!("stats-again"), msg!("stats-reused", plans = plans(metrics.reused))),
        (msg!("stats-execution"), carried_out),
    ];
    lines.map(|(what, said)| format!("{}{said}", column(&format!("{BOLD}{what}{BOLD:#}"), 11))).join("\n")
}
