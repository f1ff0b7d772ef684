//! Changes of a run in its folder, line by line.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::{
    DiffLine, FileView, Files,
    build::{LONG, TITLE, Titles, word},
};
use crate::{
    Content, FileSource, MAX_COMPARED, Source,
    text::{Reader, visible},
};

/// Largest number of paths.
const PATHS: usize = 500;
/// Largest number of lines of one path; below, that of all.
const LINES: usize = 400;
const ALL_LINES: usize = 20_000;
/// Longest line, in characters.
const CHARS: usize = 500;
/// Number of context lines around a change.
const AROUND: usize = 3;
/// Time limit of an exact diff; beyond it the diff is approximate.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

pub(super) fn files(source: &Source<'_>, titles: &Titles, reader: &Reader<'_>) -> Files {
    let (mut changed, by_call) = match &source.files {
        Some(files) => (files.iter().take(PATHS).map(|file| view(file, titles, reader)).collect::<Vec<_>>(), false),
        None => (reported_changes(source, titles, reader).take(PATHS).collect(), true),
    };
    let all = source.files.as_ref().map_or_else(|| reported_changes(source, titles, reader).count(), Vec::len);
    let mut room = ALL_LINES;
    for file in &mut changed {
        let most = LINES.min(room);
        file.left_out += file.lines.len().saturating_sub(most);
        file.lines.truncate(most);
        room -= file.lines.len();
    }
    Files { left_out: all - changed.len(), changed, by_call }
}

fn view(file: &FileSource, titles: &Titles, reader: &Reader<'_>) -> FileView {
    let did = match (&file.before, &file.after) {
        (Content::Nothing, _) => "created",
        (_, Content::Nothing) => "deleted",
        _ => "changed",
    };
    let mut by: Vec<String> = file.authors.iter().map(|name| titles.title_of(name).unwrap_or_else(|| reader.line(name, TITLE))).collect();
    by.dedup();
    let empty = FileView {
        path: reader.line(&file.path, TITLE * 2),
        did: did.to_owned(),
        by,
        added: 0,
        removed: 0,
        lines: Vec::new(),
        left_out: 0,
        note: String::new(),
    };
    match (text(&file.before, reader), text(&file.after, reader)) {
        (Ok(before), Ok(after)) => compare(empty, &before, &after),
        (Err(note), _) | (_, Err(note)) => FileView { note, ..empty },
    }
}

/// Returns the text of a content for the diff, without secrets, or else the remark to show instead.
fn text(content: &Content, reader: &Reader<'_>) -> Result<String, String> {
    match content {
        Content::Nothing => Ok(String::new()),
        Content::File(bytes) if bytes.len() as u64 > MAX_COMPARED => Err("too large to be compared here".to_owned()),
        Content::File(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(reader.whole(text)),
            _ => Err("no text".to_owned()),
        },
        Content::Folder => Err("a folder".to_owned()),
        Content::Link(target) => Err(format!("a link to {}", reader.line(target, TITLE))),
        Content::Unknown(why) => Err(reader.line(why, TITLE)),
    }
}

fn compare(mut file: FileView, before: &str, after: &str) -> FileView {
    if before == after {
        let same = if file.did == "changed" { "the same text: the mode differs, or only what is secret" } else { "empty" };
        return FileView { note: same.to_owned(), ..file };
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(DIFF_TIMEOUT).diff_lines(before, after);
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if let (Some(first), true) = (group.first(), number > 0) {
            file.lines.push(DiffLine { sign: '@', text: format!("line {}", first.new_range().start + 1) });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            file.added += usize::from(sign == '+');
            file.removed += usize::from(sign == '-');
            if file.lines.len() < LINES {
                file.lines.push(DiffLine { sign, text: line(change.value()) });
            } else {
                file.left_out += 1;
            }
        }
    }
    file
}

fn line(text: &str) -> String {
    let text = text.trim_end_matches(['\n', '\r']);
    let shown: String = text.chars().take(CHARS).collect();
    if shown.len() < text.len() { visible(&shown) + "…" } else { visible(&shown) }
}

/// Returns the changes that file tools reported, for a folder whose earlier state was not recorded.
fn reported_changes<'a>(source: &'a Source<'_>, titles: &'a Titles, reader: &'a Reader<'_>) -> impl Iterator<Item = FileView> + 'a {
    source.events.iter().filter_map(move |(_, event)| {
        let change = event.file_change()?;
        let by = change.task.as_ref().map_or_else(|| reader.line(&change.tool, TITLE), |task| titles.title(task));
        let split = |text: &str| match text.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => DiffLine { sign, text: line(text.get(1..).unwrap_or_default()) },
            _ => DiffLine { sign: '@', text: line(text) },
        };
        let diff = reader.text(&change.diff, LONG * 4);
        let (lines, note) = (diff.shown.lines().map(split).collect(), if diff.is_empty() { "no text".to_owned() } else { String::new() });
        // A line of which only the end is missing counts, too.
        let missing = || change.diff.lines().count().saturating_sub(diff.shown.lines().count()).max(1);
        Some(FileView {
            path: reader.line(&change.path, TITLE * 2),
            did: word(&change.did),
            by: vec![by],
            added: change.added,
            removed: change.removed,
            lines,
            left_out: if diff.left_out > 0 { missing() } else { 0 },
            note,
        })
    })
}
