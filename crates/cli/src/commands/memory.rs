//! `aime memory`.

use aime_memory::{Memory, MemoryError, MemoryStore, StoredMemory};
use aime_messages::message;
use aime_runs::Setup;
use serde_json::{Value, json};

use crate::{
    args::{MemoryCommand, MemoryFormat},
    failure::{Failure, code},
    i18n::msg,
    output::{self, BOLD, DIM, count, plain},
    screen::{column, first_line, moment, rfc3339},
};

/// Number of memories that a search shows.
const FOUND: usize = 20;
/// Width of a title, in columns.
const TITLE: usize = 80;
/// Width of a text, in columns.
const WIDTH: usize = 160;

pub(super) fn memory(command: Option<MemoryCommand>, form: MemoryFormat, setup: &Setup) -> Result<u8, Failure> {
    let store = setup.existing_memory()?;
    match command.unwrap_or(MemoryCommand::List) {
        MemoryCommand::List => list(store.as_ref(), form)?,
        MemoryCommand::Search { text } => search(store.as_ref(), &text.join(" "), form)?,
        MemoryCommand::Show { id } => {
            let (_, found) = find(store, &id)?;
            match form {
                MemoryFormat::Json => output::json(&document(&found.memory, ("recalled", json!(found.recalled))), true)?,
                MemoryFormat::Text => show(&found),
            }
        }
        MemoryCommand::Forget { id: Some(id), .. } => {
            let (store, found) = find(store, &id)?;
            store.forget(&found.memory.id).map_err(|error| failure(&error))?;
            output::note(&msg!("memory-forgotten", what = first_line(&found.memory.title, TITLE)));
        }
        MemoryCommand::Forget { .. } => {
            let forgotten = store.map(|store| store.forget_all()).transpose().map_err(|error| failure(&error))?.unwrap_or_default();
            output::note(&msg!("memory-forgotten", what = memories(forgotten)));
        }
    }
    Ok(0)
}

fn failure(error: &MemoryError) -> Failure {
    Failure::caused(code::USAGE, error)
}

/// Formats a count: `1 memory`, `2 memories`.
pub(super) fn memories(number: usize) -> String {
    count(number, "memory")
}

fn list(store: Option<&MemoryStore>, form: MemoryFormat) -> Result<(), Failure> {
    let all = store.map(|store| store.list(usize::MAX)).transpose().map_err(|error| failure(&error))?.unwrap_or_default();
    if form == MemoryFormat::Json {
        return output::json(
            &all.iter().map(|stored| document(&stored.memory, ("recalled", json!(stored.recalled)))).collect::<Vec<_>>(),
            true,
        );
    }
    if all.is_empty() {
        output::note(&msg!("memory-none"));
    }
    let width = all.iter().map(|stored| stored.memory.id.chars().count()).max().unwrap_or(0);
    for StoredMemory { memory, recalled } in &all {
        let recalled =
            if *recalled == 0 { String::new() } else { format!(" {DIM}{}{DIM:#}", msg!("memory-recalled", times = times(*recalled))) };
        output::result(&format!("{}{recalled}", headline(memory, width)));
    }
    Ok(())
}

fn search(store: Option<&MemoryStore>, question: &str, form: MemoryFormat) -> Result<(), Failure> {
    let found = store.map(|store| store.search(question, FOUND)).transpose().map_err(|error| failure(&error))?.unwrap_or_default();
    if form == MemoryFormat::Json {
        let documents = found.iter().map(|found| document(&found.memory, ("score", json!(found.score))));
        return output::json(&documents.collect::<Vec<_>>(), true);
    }
    if found.is_empty() {
        output::note(&msg!("memory-not-found"));
    }
    let width = found.iter().map(|found| found.memory.id.chars().count()).max().unwrap_or(0);
    for found in &found {
        output::result(&format!(
            "{}\n  {DIM}{}{DIM:#}",
            headline(&found.memory, width),
            first_line(&found.excerpt.replace('\n', " "), WIDTH)
        ));
    }
    Ok(())
}

fn headline(memory: &Memory, width: usize) -> String {
    format!("{BOLD}{:<width$}{BOLD:#}  {}  {}", plain(&memory.id), moment(memory.at), first_line(&memory.title, TITLE))
}

fn show(StoredMemory { memory, recalled }: &StoredMemory) {
    let row = |name: String, value: &str| output::result(&format!("{}{}", column(&format!("{BOLD}{name}{BOLD:#}"), 9), plain(value)));
    row(msg!("head-memory"), &memory.id);
    row(msg!("head-goal"), &memory.title);
    row(msg!("memory-learnt"), &moment(memory.at).to_string());
    row(msg!("memory-how-often"), &times(*recalled));
    let origins: Vec<&str> = memory.tags.iter().filter_map(|tag| tag.strip_prefix("from ")).collect();
    let origin = if origins.is_empty() { msg!("memory-origin-unknown") } else { origins.join(", ") };
    row(msg!("memory-origin"), &origin);
    output::result(&format!("\n{}", plain(&memory.text)));
}

fn times(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "time")
}

/// Finds the memory with this id, or the only one whose id begins with it.
fn find(store: Option<MemoryStore>, id: &str) -> Result<(MemoryStore, StoredMemory), Failure> {
    let unknown = || Failure::usage(message!("no-memory", name = format!("{id:?}"))).hint(message!("memory-list"));
    let store = store.ok_or_else(unknown)?;
    if let Some(found) = store.get(id).map_err(|error| failure(&error))? {
        return Ok((store, found));
    }
    let mut found = store.list(usize::MAX).map_err(|error| failure(&error))?;
    found.retain(|stored| !id.is_empty() && stored.memory.id.starts_with(id));
    match found.len() {
        0 => Err(unknown()),
        1 => found.pop().map(|found| (store, found)).ok_or_else(unknown),
        many => Err(Failure::usage(message!("memory-many", number = many, name = format!("{id:?}"))).hint(message!("memory-more"))),
    }
}

/// Returns a memory as a document with one additional member.
fn document(memory: &Memory, (name, more): (&str, Value)) -> Value {
    let Memory { id, at, kind, title, text, run, tags } = memory;
    json!({"id": id, "time": rfc3339(*at), "kind": kind.to_string(), "title": title, "text": text, "run_id": run, "tags": tags, name: more})
}
