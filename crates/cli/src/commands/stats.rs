//! `aime runs stats`.

use aime_orchestrator::RunStats;
use aime_progress_management::{PartUse, TimeUse};
use aime_runs::stats_document;

use crate::{
    args::Output,
    failure::Failure,
    i18n::msg,
    output::{self, BOLD, DIM, count},
    screen::{column, span},
};

/// Prints the statistics.
pub(super) fn print_stats(stats: &RunStats, form: Output) -> Result<(), Failure> {
    for what in &stats.not_counted {
        output::note(&msg!("stats-not-counted", what));
    }
    if form == Output::Text {
        output::result(&text(stats));
        return Ok(());
    }
    output::json(&stats_document(stats), form == Output::Json)
}

fn text(stats: &RunStats) -> String {
    let metrics = &stats.metrics;
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let percent = |rate: Option<f64>| rate.map(|rate| format!(" {DIM}({:.0}%){DIM:#}", rate * 100.0)).unwrap_or_default();
    let plans = |of: u64| count(number(of), "plan");
    let made = msg!("stats-made", made = metrics.made, plans = plans(metrics.asked), percent = percent(metrics.planning_success_rate()));
    let planned = match metrics.mean_planning_ms() {
        Some(mean) => msg!("stats-mean", made, span = span(mean.round() as u64)),
        None => made,
    };
    let rate = percent(metrics.execution_success_rate());
    let carried_out = msg!("stats-reached", succeeded = metrics.succeeded, plans = plans(metrics.executed), percent = rate);
    let planning = [
        (msg!("stats-runs"), stats.runs.to_string()),
        (msg!("stats-planning"), planned),
        (msg!("stats-again"), msg!("stats-reused", plans = plans(metrics.reused))),
        (msg!("stats-execution"), carried_out),
    ];
    let lines = planning.into_iter().chain(time_lines(&stats.time));
    lines.map(|(what, value)| format!("{}{value}", column(&format!("{BOLD}{what}{BOLD:#}"), 11))).collect::<Vec<_>>().join("\n")
}

/// Returns the lines about the use of time, each with its heading.
fn time_lines(time: &TimeUse) -> [(String, String); 7] {
    let TimeUse { total_ms, models, tools, checks, merging_ms, people_ms, aime_ms } = time;
    let of_total = |ms: u64| {
        let percent = ms.saturating_mul(100).checked_div(*total_ms).map(|percent| format!(" {DIM}({percent}%){DIM:#}"));
        format!("{}{}", span(ms), percent.unwrap_or_default())
    };
    let part = |PartUse { ms, spent }: &PartUse| match spent.requests {
        0 => of_total(*ms),
        requests => {
            let requests = count(usize::try_from(requests).unwrap_or(usize::MAX), "request");
            msg!("stats-tokens", time = of_total(*ms), tokens = spent.input_tokens + spent.output_tokens, requests)
        }
    };
    [
        (msg!("stats-time"), span(*total_ms)),
        (msg!("stats-models"), part(models)),
        (msg!("stats-tools"), part(tools)),
        (msg!("stats-checks"), part(checks)),
        (msg!("stats-merging"), of_total(*merging_ms)),
        (msg!("stats-people"), of_total(*people_ms)),
        (msg!("stats-aime"), of_total(*aime_ms)),
    ]
}
