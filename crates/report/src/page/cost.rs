//! Cost of the run.

use aime_progress_management::{ModelCost, TimeUse};
use maud::{Markup, html};

use super::{name, rest, section};
use crate::{
    RunCost,
    time::{number, span},
};

pub(super) fn cost(spending: &RunCost) -> Markup {
    section(
        "cost",
        "Cost",
        html! {
            p.quiet { (number(spending.tool_calls)) " calls of tools were begun. A model without a price costs nothing here." }
            @if spending.by_who.len() > 1 { (table("By who asked", "Who", &spending.by_who, &spending.total)) }
            (time(&spending.time))
            (table("By model", "Model", &spending.by_model, &spending.total))
            (rest(spending.models_left_out, "more model", ""))
            (table("By what was done", "Task", &spending.by_task, &spending.total))
            (rest(spending.tasks_left_out, "more task", ""))
        },
    )
}

/// Returns the table of the use of time.
fn time(time: &TimeUse) -> Markup {
    let none = ModelCost::default();
    let rows = [
        ("Models", time.models.ms, &time.models.spent),
        ("Tools", time.tools.ms, &time.tools.spent),
        ("Checks", time.checks.ms, &time.checks.spent),
        ("Merging", time.merging_ms, &none),
        ("People", time.people_ms, &none),
        ("aime itself", time.aime_ms, &none),
    ];
    let most = rows.iter().map(|(_, ms, _)| *ms).max().unwrap_or(0).max(1);
    html! {
        div.table tabindex="0" role="region" aria-label="Where the time went" {
            table.cost {
                caption { "Where the time went. Work at the same time counts for each" }
                thead {
                    tr {
                        th scope="col" { "Part" }
                        @for head in ["Time", "Requests", "Tokens"] { th.figure scope="col" { (head) } }
                        th scope="col" aria-label="Share" {}
                    }
                }
                tbody {
                    @for (row, ms, spent) in rows {
                        tr data-item {
                            th scope="row" { (row) }
                            td.figure { (span(ms)) }
                            @for figure in [spent.requests, tokens(spent)] { td.figure { (number(figure)) } }
                            td { (share(ms * 100 / most)) }
                        }
                    }
                }
                tfoot {
                    tr {
                        th scope="row" { "From start to end" }
                        td.figure { (span(time.total_ms)) }
                        td {} td {} td {}
                    }
                }
            }
        }
    }
}

fn share(percent: u64) -> Markup {
    html! { svg.share viewBox="0 0 100 10" aria-hidden="true" { rect width=(percent) height="10" rx="2" {} } }
}

fn table(caption: &str, what: &str, rows: &[(String, ModelCost)], total: &ModelCost) -> Markup {
    let most = rows.iter().map(|(_, spent)| tokens(spent)).max().unwrap_or(0).max(1);
    html! {
        div.table tabindex="0" role="region" aria-label=(caption) {
            table.cost {
                caption { (caption) }
                thead {
                    tr {
                        th scope="col" { (what) }
                        @for head in ["Requests", "Sent", "from the cache", "into the cache", "Received", "US dollars"] { th.figure scope="col" { (head) } }
                        th scope="col" aria-label="Share" {}
                    }
                }
                tbody {
                    @for (row, spent) in rows { (line(&name(row), spent, Some(tokens(spent) * 100 / most))) }
                }
                tfoot { (line(&html! { "All" }, total, None)) }
            }
        }
    }
}

const fn tokens(spent: &ModelCost) -> u64 {
    spent.input_tokens + spent.output_tokens
}

fn line(head: &Markup, spent: &ModelCost, percent: Option<u64>) -> Markup {
    html! {
        tr data-item[percent.is_some()] {
            th scope="row" { (head) }
            @for figure in [spent.requests, spent.input_tokens, spent.cached_input_tokens, spent.cache_write_tokens, spent.output_tokens] {
                td.figure { (number(figure)) }
            }
            td.figure { (format!("{:.4}", spent.cost_usd)) }
            td { @if let Some(percent) = percent { (share(percent)) } }
        }
    }
}
