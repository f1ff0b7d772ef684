mod cuts;
mod damage;
mod files;
mod pages;
mod snapshots;
mod streams;
mod whole;

use super::*;
use crate::{
    Commit, Recorded, UnixMillis,
    contract::{Toy, ToyEvent, ToyFact, ToyInput},
};

/// A journal in a folder of its own, with run "r".
struct Fixture {
    folder: tempfile::TempDir,
    journal: Journal,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path().join("aime.db")).unwrap();
        journal.create_run(new_run("r")).await.unwrap();
        Self { folder, journal }
    }

    /// Another connection to the same file, as another process has.
    fn other(&self) -> Journal {
        Journal::open(self.journal.path()).unwrap()
    }

    /// Opens the file directly, for changes that no journal makes.
    fn raw(&self) -> Connection {
        Connection::open(self.journal.path()).unwrap()
    }

    fn load(&self) -> Option<Loaded<Toy>> {
        self.journal.load("r", RUN_STREAM).unwrap()
    }

    /// Run "r" with its input and one note for each of the texts, each a commit of its own.
    async fn written(texts: &[&str]) -> Self {
        let fixture = Self::new().await;
        let mut writer = fixture.journal.stream("r", RUN_STREAM);
        begin(&mut writer).await.unwrap();
        for text in texts {
            note(&mut writer, &[text]).await.unwrap();
        }
        fixture
    }
}

fn new_run(id: &str) -> NewRun<'_> {
    NewRun { id, at: 1_000, machine_version: 1, title: "count the stars", status: "running" }
}

fn at<F>(at: UnixMillis, fact: F) -> Recorded<F> {
    Recorded { at, fact }
}

/// Appends the first commit of a toy: its input and its first event.
async fn begin(writer: &mut StreamWriter) -> Result<(), JournalError> {
    let (input, event) = (at(1_001, ToyInput { lanes: 1, steps: 1 }), at(1_001, ToyEvent::Began { lane: 0, step: 0 }));
    writer.append::<Toy>(Commit { input: Some(&input), facts: &[], events: (&[event]).into() }).await
}

/// Appends a commit of notes, with the event that follows from each.
async fn note(writer: &mut StreamWriter, texts: &[&str]) -> Result<(), JournalError> {
    let facts: Vec<_> = texts.iter().map(|text| at(2_000, ToyFact::Note { text: (*text).to_owned() })).collect();
    let events: Vec<_> = texts.iter().map(|text| at(2_000, ToyEvent::Noted { text: (*text).to_owned() })).collect();
    writer.append::<Toy>(Commit { input: None, facts: &facts, events: events.into() }).await
}

fn texts(loaded: &Loaded<Toy>) -> Vec<&str> {
    loaded.facts.iter().filter_map(|fact| if let ToyFact::Note { text } = &fact.fact { Some(text.as_str()) } else { None }).collect()
}

/// Numbers and notes of a run's events.
fn events(journal: &Journal, run: &str) -> Vec<(u64, String)> {
    let events = journal.events(run, 1, usize::MAX).unwrap();
    let text = |body: &str| match serde_json::from_str(body).unwrap() {
        ToyEvent::Noted { text } => text,
        ToyEvent::Began { .. } => "began".to_owned(),
        ToyEvent::Ended { .. } => "ended".to_owned(),
    };
    events.into_iter().map(|event| (event.seq, text(&event.body))).collect()
}

fn numbered(texts: &[&str]) -> Vec<(u64, String)> {
    (1..).zip(texts.iter().map(|text| (*text).to_owned())).collect()
}

/// Returns the error of a result whose value has no debug form.
fn fault<T>(outcome: Result<T, JournalError>) -> JournalError {
    outcome.err().unwrap()
}
