//! Timeline as a picture: a row for each task, a bar for each period in which it ran.

use aime_progress_management::Timestamp;
use maud::{Markup, html};

use crate::{
    Timeline,
    picture::{class, round, sign},
    text::fit,
    time::{clock, count, span},
};

/// Width of the whole picture in pixels; below, those of the titles, a row and the axis.
const WIDTH: f64 = 1000.0;
const TITLES: f64 = 250.0;
const ROW: f64 = 26.0;
const AXIS: f64 = 30.0;
/// Width of a pause and smallest width of a bar, in pixels.
const PAUSE: f64 = 30.0;
const NARROW: f64 = 3.0;
/// Largest number of marks on the axis.
const TICKS: u64 = 8;
/// Width of a title, in columns.
const COLUMNS: usize = 32;

/// Maps time to position. Pauses are drawn short.
struct Scale<'a> {
    timeline: &'a Timeline,
    /// Pixels per millisecond.
    unit: f64,
}

impl<'a> Scale<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        let room = WIDTH - TITLES - 10.0 - PAUSE * timeline.pauses.len() as f64;
        Self { timeline, unit: room.max(100.0) / (active(timeline, timeline.to).max(1) as f64) }
    }

    fn x(&self, at: Timestamp) -> f64 {
        let pauses = self.timeline.pauses.iter().map(|(from, to)| match at.millis_since(*from) {
            0 => 0.0,
            since => (since as f64 / to.millis_since(*from).max(1) as f64).min(1.0) * PAUSE,
        });
        round(TITLES + active(self.timeline, at) as f64 * self.unit + pauses.sum::<f64>())
    }

    fn is_paused(&self, at: Timestamp) -> bool {
        self.timeline.pauses.iter().any(|(from, to)| *from < at && at < *to)
    }
}

/// Returns the milliseconds from the start to a moment, without the pauses.
fn active(timeline: &Timeline, at: Timestamp) -> u64 {
    let paused: u64 = timeline.pauses.iter().map(|(from, to)| at.min(*to).millis_since(*from)).sum();
    at.millis_since(timeline.from).saturating_sub(paused)
}

/// Returns the moments with a mark on the axis, in round steps.
fn ticks(timeline: &Timeline) -> Vec<Timestamp> {
    const STEPS: [u64; 17] = [
        100, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000,
        43_200_000, 86_400_000,
    ];
    let all = active(timeline, timeline.to).max(1);
    let step = STEPS.into_iter().find(|step| all / step <= TICKS).unwrap_or(all / TICKS + 1);
    let mut marks = Vec::new();
    let mut at = timeline.from;
    for _ in 0..=TICKS + 1 {
        if at > timeline.to {
            break;
        }
        marks.push(at);
        at = at.plus_millis(step);
        // The axis has no room for a pause, so a mark that would reach into one moves later by its length.
        for (from, to) in &timeline.pauses {
            if at > *from && marks.last().is_some_and(|last| last <= from) {
                at = to.plus_millis(at.millis_since(*from));
            }
        }
    }
    marks
}

/// Renders the timeline as an inline picture whose labels contain the same information as text.
pub(crate) fn chart(timeline: &Timeline) -> Markup {
    if timeline.rows.is_empty() {
        return html! { p.quiet { "Nothing has run." } };
    }
    let scale = Scale::new(timeline);
    let bottom = AXIS + ROW * timeline.rows.len() as f64;
    let label = format!("Timeline of {}, from {} to {} UTC", count(timeline.rows.len(), "row"), clock(timeline.from), clock(timeline.to));
    html! {
        div.picture tabindex="0" role="region" aria-label="Timeline" {
            svg.chart xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {}", bottom + 8.0)) role="group" aria-label=(label) {
                @for tick in ticks(timeline) {
                    @let x = scale.x(tick);
                    line.tick x1=(x) x2=(x) y1=(AXIS - 8.0) y2=(bottom) {}
                    @if !scale.is_paused(tick) { text.tick x=(x) y="14" { (passed(timeline, tick)) } }
                }
                @for (from, to) in &timeline.pauses {
                    @let (left, right) = (scale.x(*from), scale.x(*to));
                    rect.pause x=(left) y=(AXIS - 8.0) width=(round(right - left)) height=(round(bottom - AXIS + 8.0)) {
                        title { "nothing ran for " (span(to.millis_since(*from))) }
                    }
                }
                @for (number, row) in timeline.rows.iter().enumerate() {
                    @let y = AXIS + ROW * number as f64;
                    @let named = if row.critical { format!("◆ {}", row.title) } else { row.title.clone() };
                    @if let Some(task) = row.task {
                        a href=(format!("#task-{}", task + 1)) { text.row x="4" y=(y + 17.0) { title { (row.title) } (fit(&named, COLUMNS)) } }
                    } @else {
                        text class="row planner" x="4" y=(y + 17.0) { (fit(&named, COLUMNS)) }
                    }
                    @for bar in &row.bars {
                        @let (left, right) = (scale.x(bar.from), scale.x(bar.to));
                        @let kind = if row.task.is_some() { class(bar.status) } else { "planner" };
                        @let mark = if row.critical { " critical" } else { "" };
                        rect class=(format!("bar {kind}{mark}")) x=(left) y=(y + 4.0) width=(round((right - left).max(NARROW))) height=(ROW - 8.0) rx="3" {
                            title { (row.title) ": " (sign(bar.status)) " " (bar.status) ", " (span(bar.to.millis_since(bar.from))) " from " (clock(bar.from)) }
                        }
                    }
                }
            }
        }
    }
}

fn passed(timeline: &Timeline, at: Timestamp) -> String {
    match active(timeline, at) {
        0 => "0".to_owned(),
        passed if passed < 60_000 && passed.is_multiple_of(1000) => format!("{} s", passed / 1000),
        passed if passed.is_multiple_of(3_600_000) => format!("{} h", passed / 3_600_000),
        passed if passed.is_multiple_of(60_000) => format!("{} m", passed / 60_000),
        passed => span(passed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(to: i64, pauses: &[(i64, i64)]) -> Timeline {
        let at = Timestamp::from_millis;
        Timeline { to: at(to), pauses: pauses.iter().map(|(from, to)| (at(*from), at(*to))).collect(), ..Timeline::default() }
    }

    #[test]
    fn marks_are_read_easily_and_leave_pauses_out() {
        let labels = |timeline: &Timeline| ticks(timeline).into_iter().map(|at| passed(timeline, at)).collect::<Vec<_>>();
        assert_eq!(labels(&timeline(4_000, &[])), ["0", "500 ms", "1 s", "1.5 s", "2 s", "2.5 s", "3 s", "3.5 s", "4 s"]);
        assert_eq!(labels(&timeline(0, &[])), ["0"]);
        assert_eq!(labels(&timeline(7_200_000 + 60_000, &[(30_000, 7_230_000)])), ["0", "10 s", "20 s", "30 s", "40 s", "50 s", "1 m"]);
    }

    #[test]
    fn later_is_further_right_and_nothing_leaves_the_picture() {
        let timeline = timeline(7_260_000, &[(30_000, 7_230_000)]);
        let scale = Scale::new(&timeline);
        let places: Vec<f64> = (0..=726).map(|at| scale.x(Timestamp::from_millis(at * 10_000))).collect();
        assert!(places.windows(2).all(|pair| pair[0] <= pair[1]), "{places:?}");
        assert_eq!((places[0], places[726]), (TITLES, WIDTH - 10.0));
    }
}
