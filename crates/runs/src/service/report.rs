//! Report of a run on one page.

use aime_durable::{Clock, SystemClock};
use aime_messages::Describe;
use aime_orchestrator::RunView;
use aime_progress_management::{RunId, Timestamp};
use aime_report::{Content, FileSource, MAX_COMPARED, ReportView, Source};
use aime_undo::{Author, Entry, UndoData, UndoError};

use super::outcome;
use crate::Setup;

/// Largest number of paths whose contents are read. A report shows fewer, and counts all.
const MAX_PATHS: usize = 2_000;

/// Returns the content of a run's report.
pub fn report_view(run: &RunId, seen: &RunView, driven: bool, setup: &Setup) -> ReportView {
    let mut notes: Vec<String> =
        seen.damage.iter().map(|damage| format!("The journal is damaged: {damage}. What follows ends there.")).collect();
    notes.extend(seen.inconsistencies.iter().map(|found| format!("The state contradicts itself: {found}.")));
    let files = match UndoData::read(&setup.data_folder(), run.as_str()) {
        Ok(kept) => kept.map(|kept| {
            notes.extend(kept.lost().map(|lost| format!("From some moment on the changes of files were not kept: {lost}.")));
            kept.changes().enumerate().map(|(number, (change, by))| changed(&kept, change, &by, number < MAX_PATHS)).collect()
        }),
        Err(error) => {
            notes.push(format!("What is kept of files cannot be read: {error}."));
            None
        }
    };
    // Calls under way have not failed.
    let under_way = seen.output.is_none() && driven;
    notes.extend(under_way.then(|| "The run is under way; this is how it stood.".to_owned()));
    let failure = outcome(run, seen, driven).error.map(|error| aime_report::Failure {
        code: error.code.word().to_owned(),
        message: error.message.to_string(),
        hint: error.hint.map(String::from),
    });
    let events = seen.events.iter().map(|event| (event.at, &event.event)).collect();
    let made_at = Timestamp::from_millis(SystemClock.now());
    let source = Source { run, state: &seen.state, events, failure, files, notes, made_at };
    ReportView::new(&source, setup.redactor())
}

fn changed(kept: &UndoData, change: aime_undo::Change, by: &[&Author], is_read: bool) -> FileSource {
    let mut names: Vec<String> = by.iter().map(|author| author.task.clone().unwrap_or_else(|| author.tool.clone())).collect();
    names.dedup();
    let content = |entry: Option<&Entry>| match is_read {
        true => content(kept, entry).unwrap_or_else(|_| Content::Unknown("no longer kept".to_owned())),
        false => Content::Unknown("one of too many paths".to_owned()),
    };
    FileSource {
        before: content(change.before.as_ref()),
        after: content(change.after.as_ref()),
        path: change.path.to_string_lossy().into_owned(),
        authors: names,
    }
}

fn content(kept: &UndoData, entry: Option<&Entry>) -> Result<Content, UndoError> {
    Ok(match entry {
        None => Content::Nothing,
        Some(Entry::File { size, .. }) if *size > MAX_COMPARED => Content::Unknown("too large to be compared here".to_owned()),
        Some(entry @ Entry::File { .. }) => kept.content(entry)?.map_or(Content::Nothing, Content::File),
        Some(Entry::Folder { .. }) => Content::Folder,
        Some(Entry::Link { target }) => Content::Link(target.to_string_lossy().into_owned()),
        Some(Entry::NotKept { why, .. }) => Content::Unknown(format!("not kept: {}", why.describe())),
    })
}
