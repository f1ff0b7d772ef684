//! Two runs side by side.

use maud::{Markup, html};

use super::{files::lines, markdown::markdown, name, prose, rest, spent, tone, words};
use crate::{
    Comparison, FileView, Pair, Side, TaskSide,
    picture::{class, sign},
    time::{count, number, span},
};

impl Comparison {
    /// Renders the comparison as the content of another page: summaries, versions, tasks and files. `address` returns the address of a
    /// run's own page by its index, 0 or 1.
    #[must_use]
    pub fn fragment(&self, address: impl Fn(usize) -> String) -> String {
        let heads =
            html! { @for (at, side) in self.runs.iter().enumerate() { th scope="col" { a href=(address(at)) { code { (side.run) } } } } };
        html! {
            section #sides {
                h2 { "What they came to" }
                (table("What they came to", &html! { th scope="col" {} (heads) }, &html! {
                    (row("Goal", self.both(|side| prose(&side.goal))))
                    (row("Status", self.both(|side| html! { span class=(format!("pill {}", tone(side.status))) { (side.status.to_string().replace('_', " ")) } })))
                    (row("Outcome", self.both(outcome)))
                    (row("Mode", self.both(|side| html! { @if let Some(mode) = side.mode { (mode) } })))
                    (row("Tasks", self.both(|side| html! { (side.completed.0) " of " (side.completed.1) " completed" })))
                    (row("Plan", self.both(|side| html! { (count(side.versions.len(), "version")) })))
                    (row("Took", self.both(|side| html! { (span(side.duration_ms)) })))
                    (row("Model", self.both(|side| name(&side.models.join(", ")))))
                    (row("Used", self.both(|side| html! { (spent(&side.spent)) })))
                    (row("Of it received", self.both(|side| html! { (number(side.spent.output_tokens)) " tokens" })))
                    (row("Tool calls", self.both(|side| html! { (number(side.tool_calls)) })))
                }))
            }
            section #plans {
                h2 { "Versions of the plan" }
                (table("Versions of the plan", &html! { th scope="col" { "Version" } (heads) }, &self.versions()))
            }
            section #pairs {
                h2 { "Tasks" }
                @if self.tasks.is_empty() { p.quiet { "There are none." } } @else {
                    (table("Tasks", &html! { th scope="col" { "Task" } (heads) }, &html! { @for pair in &self.tasks { (task(pair)) } }))
                }
            }
            section #changed {
                h2 { "Files" }
                @if self.files.is_empty() { p.quiet { "No file was changed." } }
                @for pair in &self.files { (file(pair)) }
                @for side in &self.runs { (rest(side.files_left_out, "more path", &format!(" of {}", side.run))) }
            }
        }
        .into_string()
    }

    fn both(&self, shown: impl Fn(&Side) -> Markup) -> [Markup; 2] {
        self.runs.each_ref().map(shown)
    }

    fn versions(&self) -> Markup {
        let most = self.runs.iter().map(|side| side.versions.len()).max().unwrap_or(0);
        html! {
            @for at in 0..most {
                (row(&format!("{}", at + 1), self.both(|side| html! {
                    @if let Some((_, reasoning, changes)) = side.versions.get(at) { (words(reasoning)) p.quiet { (count(*changes, "change")) } }
                })))
            }
        }
    }
}

fn table(caption: &str, head: &Markup, rows: &Markup) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(caption) {
            table.cost.sides { thead { tr { (head) } } tbody { (rows) } }
        }
    }
}

fn row(head: &str, [one, other]: [Markup; 2]) -> Markup {
    html! { tr { th scope="row" { (head) } td { (one) } td { (other) } } }
}

fn outcome(side: &Side) -> Markup {
    html! {
        @if let Some(failure) = &side.failure { div.failure { strong { (failure.code.replace('_', " ")) ": " } span dir="auto" { (failure.message) } } }
        @if let Some(answer) = &side.answer { div.prose dir="auto" { (markdown(&answer.shown)) } }
    }
}

fn task(pair: &Pair<TaskSide>) -> Markup {
    let shown = |side: &Option<TaskSide>| {
        html! {
            @match side {
                Some(task) => {
                    span class=(format!("mark {}", class(task.status))) aria-hidden="true" { (sign(task.status)) } " " (task.status)
                    span.quiet {
                        @if task.attempts > 1 { " · " (count(task.attempts as usize, "attempt")) }
                        @if task.worked_ms > 0 { " · " (span(task.worked_ms)) }
                        @if task.spent.requests > 0 { " · " (spent(&task.spent)) }
                    }
                }
                None => { span.quiet { "not in its plan" } }
            }
        }
    };
    let [one, other] = pair.sides.each_ref().map(shown);
    html! { tr.differs[!pair.same] data-item { th scope="row" { (name(&pair.name)) } td { (one) } td { (other) } } }
}

fn file(pair: &Pair<FileView>) -> Markup {
    let change = |side: &Option<FileView>| match side {
        Some(file) if file.note.is_empty() => format!("{}, +{} −{}", file.did, file.added, file.removed),
        Some(file) => format!("{}, {}", file.did, file.note),
        None => "not changed".to_owned(),
    };
    html! {
        details.file data-item open[!pair.same] {
            summary {
                code { (name(&pair.name)) } " "
                @if pair.same { span.quiet { "the same change" } } @else { @let [one, other] = pair.sides.each_ref().map(change); span.quiet { (one) " | " (other) } }
            }
            div.beside {
                @for side in &pair.sides {
                    div {
                        @match side {
                            Some(file) if !file.lines.is_empty() => { (lines(&file.lines)) (rest(file.left_out, "more line", "")) },
                            _ => { p.quiet { (change(side)) } }
                        }
                    }
                }
            }
        }
    }
}
