//! Picture of a plan graph.

use aime_progress_management::{TaskKind, TaskStatus};
use maud::{Markup, html};

use crate::{
    Graph, LineKind, Node,
    layout::{BOX, Layout, Point, layered},
    text::wrap,
    time::count,
};

/// Largest number of tasks that are drawn.
const MAX_TASKS: usize = 300;
/// Margin around the graph, in pixels.
const MARGIN: f64 = 10.0;
/// Width of a title in a box, in columns; it has two lines.
const COLUMNS: usize = 26;

/// Returns the symbol of a status, since colour alone is not accessible to everybody.
pub(crate) const fn sign(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Completed => "✓",
        TaskStatus::Failed => "✗",
        TaskStatus::Running => "▶",
        TaskStatus::Blocked => "■",
        TaskStatus::Skipped => "–",
        TaskStatus::RolledBack => "↶",
        TaskStatus::Pending | TaskStatus::Ready => "○",
    }
}

/// Returns the CSS class of a status.
pub(crate) const fn class(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Completed => "done",
        TaskStatus::Failed => "failed",
        TaskStatus::Running => "running",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Skipped => "skipped",
        TaskStatus::RolledBack => "back",
        TaskStatus::Pending | TaskStatus::Ready => "waits",
    }
}

/// Renders the graph as an inline picture, or a sentence if it is empty or too large. `marked` explains the meaning of a mark.
pub(crate) fn picture(graph: &Graph, what: &str, marked: &str) -> Markup {
    if graph.nodes.is_empty() {
        return html! { p.quiet { "There is no plan." } };
    }
    let lines: Vec<(usize, usize)> = graph.edges.iter().map(|line| (line.from, line.to)).collect();
    let layout = if graph.nodes.len() > MAX_TASKS { None } else { layered(graph.nodes.len(), &lines) };
    let Some(layout) = layout else {
        let (tasks, lines) = (count(graph.nodes.len(), "task"), count(graph.edges.len(), "line"));
        return html! { p.quiet { "The picture of " (tasks) " and " (lines) " is left out: it is too large to be read. The tasks are listed below." } };
    };
    let (width, height) = (layout.width + 2.0 * MARGIN, layout.height + 2.0 * MARGIN);
    let label = format!(
        "{what}: {} and {}; the tasks are listed below with what each waits for",
        count(graph.nodes.len(), "task"),
        count(lines.len(), "line")
    );
    html! {
        div.picture tabindex="0" role="region" aria-label=(what) {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("{} {} {} {}", -MARGIN, -MARGIN, round(width), round(height)))
                width=(round(width)) height=(round(height)) role="group" aria-label=(label) {
                (edges(graph, &layout))
                @for (node, place) in graph.nodes.iter().zip(&layout.boxes) { (boxed(node, *place, marked)) }
            }
        }
    }
}

fn edges(graph: &Graph, layout: &Layout) -> Markup {
    html! {
        g.lines aria-hidden="true" {
            @for (line, points) in graph.edges.iter().zip(&layout.lines) {
                @let kind = match line.kind {
                    LineKind::Waits => "line",
                    LineKind::Conditional => "line conditional",
                    LineKind::Rollback => "line rollback",
                    LineKind::Part => "line part",
                };
                path class=(kind) d=(way(points)) {}
                @if let Some(end) = points.last() { path class=(format!("{kind} head")) d=(head(*end)) {} }
            }
        }
    }
}

/// Returns the path of a line: curved at boxes, straight beside others.
fn way(points: &[Point]) -> String {
    let Some(first) = points.first() else { return String::new() };
    let mut way = format!("M{} {}", round(first.x), round(first.y));
    for (number, pair) in points.windows(2).enumerate() {
        let [from, to] = pair else { continue };
        if number % 2 == 1 {
            way.push_str(&format!("L{} {}", round(to.x), round(to.y)));
        } else {
            let middle = round((from.y + to.y) / 2.0);
            way.push_str(&format!("C{} {middle} {} {middle} {} {}", round(from.x), round(to.x), round(to.x), round(to.y)));
        }
    }
    way
}

fn head(end: Point) -> String {
    let (x, y) = (round(end.x), round(end.y));
    format!("M{} {}L{x} {y}L{} {}Z", x - 4.0, y - 7.0, x + 4.0, y - 7.0)
}

fn boxed(node: &Node, place: Point, marked: &str) -> Markup {
    let (x, y) = (round(place.x), round(place.y));
    let mark = if node.marked { " marked" } else { "" };
    let state = if node.more.is_empty() { node.status.to_string() } else { format!("{} · {}", node.status, node.more) };
    let lines = wrap(&node.title, COLUMNS, 2);
    let top = if lines.len() > 1 { 21.0 } else { 29.0 };
    let label = format!("{}: {state}{}", node.title, if node.marked { format!(", {marked}") } else { String::new() });
    let round_corner = if node.kind == TaskKind::Group { "33" } else { "8" };
    html! {
        a class=(format!("node {}{mark}", class(node.status))) href=(format!("#task-{}", node.number + 1)) aria-label=(label) {
            title { (label) }
            rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx=(round_corner) {}
            @for (number, line) in lines.iter().enumerate() {
                text.name x=(x + BOX.0 / 2.0) y=(y + top + 16.0 * number as f64) { (line) }
            }
            text.state x=(x + BOX.0 / 2.0) y=(y + 56.0) { (sign(node.status)) " " (state) }
        }
    }
}

/// Rounds to tenths of a pixel.
pub(crate) fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
