//! Changes of the run in its folder.

use maud::{Markup, html};

use super::{name, rest, section};
use crate::{DiffLine, FileView, Files, time::number};

/// Number of lines up to which a diff is shown expanded.
const SHORT: usize = 40;

pub(super) fn files(files: &Files) -> Markup {
    section(
        "files",
        "Files",
        html! {
            @if files.changed.is_empty() { p.quiet { "No file was changed." } }
            @else if files.by_call { p.quiet { "How the folder was before the run is not kept. These are the changes that file tools told of; commands may have made others." } }
            @else { p.quiet { "The folder as the run left it against how it was before. What was undone since is not among it." } }
            @for file in &files.changed { (one(file)) }
            (rest(files.left_out, "more path", ""))
        },
    )
}

fn one(file: &FileView) -> Markup {
    let short = file.lines.len() <= SHORT;
    html! {
        details.file data-item open[short] {
            summary {
                span class=(format!("did {}", file.did)) { (file.did) } " " code { (name(&file.path)) } " "
                @if file.added + file.removed > 0 {
                    span.came { "+" (number(file.added as u64)) } " " span.went { "−" (number(file.removed as u64)) } " "
                }
                span.quiet {
                    @if !file.note.is_empty() { (name(&file.note)) " " }
                    @if !file.by.is_empty() { "by " (name(&file.by.join(", "))) }
                }
            }
            @if !file.lines.is_empty() { (lines(&file.lines)) }
            (rest(file.left_out, "more line", ""))
        }
    }
}

/// Renders the lines of a diff.
pub(super) fn lines(lines: &[DiffLine]) -> Markup {
    html! {
        div.diff tabindex="0" role="region" aria-label="What changed, line by line" {
            table {
                tbody {
                    @for line in lines {
                        @match line.sign {
                            '@' => { tr.skip { td {} td { (line.text) } } }
                            '+' => { tr.came { td { "+" } td { ins { (line.text) } } } }
                            '-' => { tr.went { td { "−" } td { del { (line.text) } } } }
                            _ => { tr { td {} td { (line.text) } } }
                        }
                    }
                }
            }
        }
    }
}
