//! HTML page with the tables and plots. It needs no network and no script.

use aime_messages::Describe;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Cell, Summary, summary::heads};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:right}th:first-child,td:first-child{text-align:left}\
figure{margin:1rem 0}svg text{font:13px system-ui,sans-serif;fill:currentColor}.bar{fill:#4a7ebb}.range{stroke:#1a1a1a;stroke-width:2}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}td,th{border-color:#333}.range{stroke:#e6e6e6}}";

/// Height of a row of a plot, and widths of its names and bars, in pixels.
const ROW: usize = 28;
const NAMES: usize = 320;
const BARS: usize = 400;

/// Returns a self-contained page of these tables.
#[must_use]
pub fn page(summary: &Summary) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (summary.suite) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (summary.suite) }
                    p { (summary.tasks) " tasks" }
                    h2 { "Success" }
                    (success(&summary.variants))
                    (cells(&summary.variants))
                    @for note in summary.notes() { p { (note.to_string()) } }
                    @if !summary.held_out.is_empty() {
                        h2 { "On tasks that were held out" }
                        (success(&summary.held_out))
                        (cells(&summary.held_out))
                    }
                    h2 { "By category" }
                    @for (category, found) in &summary.categories { h3 { (category) } (success(found)) }
                    h2 { "By level" }
                    @for (level, found) in &summary.levels { h3 { "Level " (level) } (success(found)) }
                    h2 { "By task" }
                    table {
                        tr { th { "task" } th { "reached every time by" } }
                        @for (task, ways) in &summary.by_task { tr { td { (task) } td { @if ways.is_empty() { "–" } @else { (ways.join("; ")) } } } }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Returns a plot with a bar per variant, and the confidence interval of its success rate.
fn success(cells: &[(String, Cell)]) -> Markup {
    let at = |share: f64| {
        format!(
            "{:.1}",
            share.mul_add(f64::from(u32::try_from(BARS).unwrap_or_default()), f64::from(u32::try_from(NAMES).unwrap_or_default()))
        )
    };
    let wide = |share: f64| format!("{:.1}", share * f64::from(u32::try_from(BARS).unwrap_or_default()));
    html! {
        figure {
            svg role="img" aria-label="The share of trials that reached their goal, for each way, with its range at 95%" viewBox=(format!("0 0 {} {}", NAMES + BARS + 130, cells.len() * ROW + 4)) width=(NAMES + BARS + 130) {
                @for (row, (name, cell)) in cells.iter().enumerate() {
                    @let top = row * ROW;
                    text x="0" y=(top + 19) { (name) }
                    rect class="bar" x=(NAMES) y=(top + 5) height="18" width=(wide(cell.success.share)) {}
                    line class="range" x1=(at(cell.success.low)) x2=(at(cell.success.high)) y1=(top + 14) y2=(top + 14) {}
                    text x=(NAMES + BARS + 10) y=(top + 19) { (cell.reached) " of " (cell.tried) }
                }
            }
        }
    }
}

fn cells(cells: &[(String, Cell)]) -> Markup {
    html! {
        table {
            tr { @for head in heads() { th { (head) } } th { "failures" } }
            @for (name, cell) in cells {
                tr {
                    td { (name) }
                    td { (cell.reached) " of " (cell.tried) }
                    td { (cell.false_claims) }
                    @for tokens in cell.tokens() { td { (tokens) } }
                    td { (cell.seconds) }
                    td { (cell.cost()) }
                    td { (cell.replans) }
                    td { (cell.interventions) }
                    td { (cell.failures.iter().map(|(failure, count)| format!("{count} {}", failure.describe())).collect::<Vec<_>>().join(", ")) }
                }
            }
        }
    }
}
