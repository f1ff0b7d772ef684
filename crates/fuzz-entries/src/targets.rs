//! The targets: each reads bytes, and panics where something does not hold that must.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use aime_actor_factory::ProfileCatalog;
use aime_durable::Journal;
use aime_dynamic_planner::{PlanChecker, parse_patch, parse_plan, progress::Plan, read_categories};
use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, Model, ModelError, ModelStack, OpenAiSettings, Redactor, Transport, TransportResponse,
    calls_in_text, coerce_to_schema, read_arguments, read_json,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

/// A reader that is fuzzed.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Seeds, as paths below `crates`: corpora, other files, or folders of them.
    pub seeds: &'static [&'static str],
    /// Reads an input.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 7] = [
    Target { name: "json", seeds: &["llm/tests/corpus/json", "llm/tests/corpus/arguments.toml"], run: json },
    Target { name: "sse", seeds: &["llm/tests/corpus/streams.toml", "llm/tests/corpus/documents.toml"], run: sse },
    Target {
        name: "calls",
        seeds: &["llm/tests/corpus/calls.toml", "llm/tests/corpus/calls_raw.toml", "llm/tests/corpus/calls_prose.toml"],
        run: calls,
    },
    Target { name: "plan", seeds: &["dynamic-planner/tests/corpus/plans.toml"], run: plan },
    Target { name: "patch", seeds: &["dynamic-planner/tests/corpus/patches.toml"], run: patch },
    Target { name: "journal", seeds: &[], run: journal },
    Target { name: "config", seeds: &["dynamic-planner/data", "actor-factory/data/profiles"], run: config },
];

/// JSON as models write it, and arguments of calls: what is strict stays as it is, and half an object is never arguments.
pub fn json(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let strict = serde_json::from_str::<Value>(text.trim()).ok().filter(|value| value.is_object() || value.is_array());
    let read = read_json(&text);
    let arguments = read_arguments(&text, None);
    if let Some(value) = strict {
        let read = read.ok();
        assert_eq!(read.as_ref().map(|read| &read.value), Some(&value), "strict JSON was changed");
        if let (Value::Object(object), Ok(arguments)) = (&value, &arguments) {
            assert_eq!(object, arguments, "strict arguments were changed");
        }
    }
    if let Ok(arguments) = arguments {
        let schema = serde_json::json!({"type": "object", "additionalProperties": {"type": "integer"}});
        coerce_to_schema(&mut Value::Object(arguments), &schema, &mut Vec::new());
    }
}

/// Brings the same pieces to whoever asks.
#[derive(Default)]
struct Player(Mutex<Vec<Vec<u8>>>);

impl Transport for Player {
    fn send(&self, _: &[u8]) -> BoxFuture<'_, std::io::Result<TransportResponse>> {
        let pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        async { Ok(TransportResponse::of(pieces)) }.boxed()
    }
}

struct Reader {
    runtime: tokio::runtime::Runtime,
    player: Arc<Player>,
    models: [Model; 2],
}

impl Reader {
    fn new() -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().ok()?;
        let player = Arc::new(Player::default());
        let model = |streaming| {
            let mut settings = OpenAiSettings::new("m", "http://localhost/v1");
            settings.retry.max_retries = 0;
            settings.streaming = streaming;
            let stack = ModelStack::with_transport(settings, Arc::clone(&player) as Arc<dyn Transport>);
            stack.ok().map(|stack| stack.build(&Redactor::default()))
        };
        let entered = runtime.enter();
        let models = [model(true)?, model(false)?];
        drop(entered);
        Some(Self { runtime, player, models })
    }

    fn read(&self, which: usize, pieces: Vec<Vec<u8>>) -> Option<Result<ChatResponse, ModelError>> {
        *self.player.0.lock().unwrap_or_else(PoisonError::into_inner) = pieces;
        let model = self.models.get(which)?;
        Some(self.runtime.block_on(model.complete(ChatRequest::default())))
    }
}

thread_local! {
    static READER: RefCell<Option<Reader>> = RefCell::new(Reader::new());
}

/// The answer of a server: the same however it is taken apart.
pub fn sse(input: &[u8]) {
    READER.with_borrow(|reader| {
        let Some(reader) = reader else { return };
        let size = input.first().map_or(1, |byte| usize::from(byte % 13) + 1);
        for which in 0..2 {
            let whole = reader.read(which, vec![input.to_vec()]);
            let split = reader.read(which, input.chunks(size).map(<[u8]>::to_vec).collect());
            match (whole, split) {
                (Some(Ok(whole)), Some(Ok(split))) => assert_eq!(whole, split, "in pieces of {size}"),
                (Some(Err(whole)), Some(Err(split))) => assert_eq!(whole.to_string(), split.to_string(), "in pieces of {size}"),
                (None, None) => {}
                (whole, split) => unequal(&whole, &split, size),
            }
        }
    });
}

#[expect(clippy::panic, reason = "a target panics where something does not hold")]
fn unequal(whole: &Option<Result<ChatResponse, ModelError>>, split: &Option<Result<ChatResponse, ModelError>>, size: usize) {
    panic!("{whole:?}, but in pieces of {size}: {split:?}");
}

/// Calls in a text: only tools that are offered, and never more text than there was.
pub fn calls(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let offered = ["write_file", "terminate", "glob", "read_file", "list_all"];
    let found = calls_in_text(&text, &offered);
    assert!(found.text.len() <= text.len(), "text was made up");
    assert!(found.calls.iter().all(|call| offered.contains(&call.name.as_str())), "a tool was made up");
}

/// A plan: what passes the checks is sound, and what was read is read again.
pub fn plan(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = PlanChecker::default().check(&text).map(|checked| assert!(checked.plan.check().is_ok(), "an unsound plan passed"));
    if let Ok(parsed) = parse_plan(&text) {
        let again = serde_json::to_string(&parsed.plan).ok().map(|text| parse_plan(&text));
        assert!(matches!(again, Some(Ok(_))), "a plan that was read is not read again: {again:?}");
    }
}

/// A patch: what was read is read again.
pub fn patch(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let plan = Plan::new("", Vec::new());
    if let Ok(parsed) = parse_patch(&text, &plan) {
        let again = serde_json::to_string(&parsed.patch).ok().map(|text| parse_patch(&text, &plan));
        assert!(matches!(again, Some(Ok(_))), "a patch that was read is not read again: {again:?}");
    }
}

/// A file in the place of a journal: opened and read, or refused.
pub fn journal(input: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("aime.db");
    if std::fs::write(&path, input).is_err() {
        return;
    }
    let Ok(journal) = Journal::open(&path) else { return };
    for run in journal.runs().unwrap_or_default() {
        let _ = journal.streams(&run.id);
        let _ = journal.events(&run.id, 0, 1_000);
    }
}

/// Files that users write: categories and profiles.
pub fn config(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = read_categories("categories.toml", &text);
    let _ = ProfileCatalog::builtin().add_toml(&text, "profile.toml");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mutator, seeds};

    /// So many changed inputs for each target but the journal, whose every input is a file.
    const CHANGED: usize = 3_000;

    fn check(name: &str, changed: usize) {
        let target = TARGETS.into_iter().find(|target| target.name == name).unwrap();
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        let mut mutator = Mutator::new(1);
        let changed = std::iter::repeat_with(|| mutator.next_of(&seeds)).take(changed);
        for input in seeds.iter().cloned().chain(changed) {
            let outcome = std::panic::catch_unwind(|| (target.run)(&input));
            assert!(outcome.is_ok(), "{name}: {:?}", String::from_utf8_lossy(&input));
        }
    }

    // Requirement: 16.4
    #[test]
    fn json_holds() {
        check("json", CHANGED);
    }

    // Requirement: 16.4
    #[test]
    fn sse_holds() {
        check("sse", CHANGED);
    }

    /// Found by libFuzzer: what three bytes seemed to be was not what five were.
    #[test]
    fn a_name_that_is_cut_is_no_name_yet() {
        sse(b"\xEF\xBB\xBFdat: {\"chois?h_reaso\xFFn\":\"stop\"}]}\n\ndada: [DONE]\n\n");
    }

    // Requirement: 16.4
    #[test]
    fn calls_hold() {
        check("calls", CHANGED);
    }

    // Requirement: 16.4
    #[test]
    fn plans_hold() {
        check("plan", CHANGED);
    }

    // Requirement: 16.4
    #[test]
    fn patches_hold() {
        check("patch", CHANGED);
    }

    // Requirement: 16.4
    #[test]
    fn journals_hold() {
        check("journal", 60);
    }

    // Requirement: 16.4
    #[test]
    fn config_holds() {
        check("config", CHANGED);
    }
}
