//! Tests the amount of data written for an append, in pages of the write-ahead log. No time is measured.

use futures::FutureExt as _;

use super::*;

/// Pages in the log.
fn pages(fixture: &Fixture) -> f64 {
    let log = std::fs::metadata(fixture.folder.path().join("aime.db-wal")).unwrap().len();
    (log / (4_096 + 24)) as f64
}

#[tokio::test]
async fn an_append_of_one_stream_writes_little_more_than_a_page_of_each_table() {
    let fixture = Fixture::written(&["a"]).await;
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    let (before, text) = (pages(&fixture), "x".repeat(480));
    for _ in 0..200 {
        // A fact and an event, 1 KiB in all.
        note(&mut writer, &[&text]).await.unwrap();
    }
    let each = (pages(&fixture) - before) / 200.0;
    assert!((3.0..4.5).contains(&each), "{each} pages");
}

#[tokio::test]
async fn appends_of_many_streams_share_pages() {
    let fixture = Fixture::new().await;
    let mut writers: Vec<_> = (0..64).map(|number| fixture.journal.stream("r", &format!("task/{number}"))).collect();
    for writer in &mut writers {
        begin(writer).await.unwrap();
    }
    let raw = fixture.raw();
    let text = "x".repeat(1_000);
    for round in 0..8 {
        let before = pages(&fixture);
        // All of them wait for the file, so that they come into one transaction or two.
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        for writer in &mut writers {
            assert!(note(writer, &[&text]).now_or_never().is_none());
        }
        raw.execute_batch("COMMIT").unwrap();
        fixture.journal.flush().await.unwrap();
        let each = (pages(&fixture) - before) / 64.0;
        assert!(each < 1.0, "{each} pages for each, in round {round}");
    }
    let loaded = fixture.journal.load::<Toy>("r", "task/63").unwrap().unwrap();
    assert_eq!((loaded.facts.len(), loaded.damage), (8, None));
}
