//! Tests with a cut, torn or twice-written file: the states of SQLite's write-ahead log after a loss of power.

use super::*;

/// Length of a frame's head in the log, in bytes.
const FRAME_HEAD: usize = 24;
/// The head of the log.
const LOG_HEAD: usize = 32;

/// A journal's file and log, and how long the log was after each commit.
struct Grown {
    fixture: Fixture,
    file: Vec<u8>,
    log: Vec<u8>,
    /// The length of the log after the run was entered, after its input, and after each note.
    lengths: Vec<usize>,
}

impl Grown {
    async fn new(notes: usize) -> Self {
        let fixture = Fixture::new().await;
        let length = || std::fs::metadata(fixture.folder.path().join("aime.db-wal")).unwrap().len() as usize;
        let mut lengths = vec![length()];
        let mut writer = fixture.journal.stream("r", RUN_STREAM);
        begin(&mut writer).await.unwrap();
        lengths.push(length());
        for number in 0..notes {
            note(&mut writer, &[&number.to_string()]).await.unwrap();
            lengths.push(length());
        }
        let file = std::fs::read(fixture.journal.path()).unwrap();
        let log = std::fs::read(fixture.folder.path().join("aime.db-wal")).unwrap();
        assert_eq!(log.len(), lengths[notes + 1], "nothing was folded into the file meanwhile");
        Self { fixture, file, log, lengths }
    }

    fn frame(&self) -> usize {
        let page = u32::from_be_bytes(self.log[8..12].try_into().unwrap()) as usize;
        assert_eq!((self.log.len() - LOG_HEAD) % (FRAME_HEAD + page), 0);
        FRAME_HEAD + page
    }

    /// Returns the number of complete notes in the first bytes of the log; `None` if even the input is incomplete.
    fn whole(&self, bytes: usize) -> Option<usize> {
        self.lengths.iter().filter(|length| **length <= bytes).count().checked_sub(2)
    }

    /// Checks that a journal of this file and this log holds the notes of the complete commits in the first bytes,
    /// and continues from there.
    async fn check(&self, log: &[u8], bytes: usize, what: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aime.db");
        std::fs::write(&path, &self.file).unwrap();
        std::fs::write(folder.path().join("aime.db-wal"), log).unwrap();
        let journal = Journal::open(&path).unwrap();
        let loaded = journal.load::<Toy>("r", RUN_STREAM).unwrap();
        let Some(notes) = self.whole(bytes) else {
            assert!(loaded.is_none(), "{what}: nothing had begun");
            return;
        };
        let loaded = loaded.unwrap_or_else(|| panic!("{what}: what was durable is lost"));
        assert_eq!((loaded.facts.len(), loaded.damage.as_deref()), (notes, None), "{what}");
        assert_eq!(events(&journal, "r").len(), notes + 1, "{what}: facts and events go together");
        note(&mut journal.stream("r", RUN_STREAM).after(&loaded), &["more"]).await.unwrap();
        assert_eq!(journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap().facts.len(), notes + 1, "{what}");
    }
}

// Requirement: 7.10
#[tokio::test]
async fn a_log_cut_at_any_frame_and_within_gives_each_whole_commit() {
    let grown = Grown::new(12).await;
    let frames = (LOG_HEAD..=grown.log.len()).step_by(grown.frame());
    for at in frames.flat_map(|at| [at, at + 1, at + FRAME_HEAD, at + grown.frame() / 2, at + grown.frame() - 1]) {
        let at = at.min(grown.log.len());
        grown.check(&grown.log[..at], at, &format!("cut after {at} bytes")).await;
    }
    for at in [0, 1, LOG_HEAD - 1] {
        grown.check(&grown.log[..at], at, &format!("cut after {at} bytes")).await;
    }
    drop(grown.fixture);
}

// Requirement: 7.10
#[tokio::test]
async fn a_frame_that_was_torn_ends_the_log_before_its_commit() {
    let grown = Grown::new(8).await;
    let frames = (LOG_HEAD..grown.log.len()).step_by(grown.frame());
    for at in frames.flat_map(|at| [at + 3, at + FRAME_HEAD - 1, at + grown.frame() / 2, at + grown.frame() - 1]) {
        let mut log = grown.log.clone();
        log[at] ^= 0x5A;
        grown.check(&log, at, &format!("byte {at} is another")).await;
        // Half of a block was written, the rest is what was there before.
        let end = log.len().min(at + 512);
        log[at..end].fill(0);
        grown.check(&log, first_other(&grown.log, &log), &format!("{at} and what follows are empty")).await;
    }
}

fn first_other(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).position(|(one, other)| one != other).unwrap_or(one.len())
}

// Requirement: 7.10
#[tokio::test]
async fn a_commit_that_was_written_twice_counts_once() {
    let grown = Grown::new(8).await;
    let whole = grown.log.len();
    for before in &grown.lengths[..grown.lengths.len() - 1] {
        let mut log = grown.log.clone();
        log.extend_from_slice(&grown.log[*before..]);
        grown.check(&log, whole, &format!("the log from byte {before} on is there twice")).await;
    }
}
