use super::*;

#[tokio::test]
async fn a_whole_file_has_no_faults_and_a_row_that_belongs_to_nothing_is_one() {
    let fixture = Fixture::written(&["a", "b"]).await;
    assert_eq!(fixture.journal.faults_of_file().unwrap(), Vec::<String>::new());
    let raw = fixture.raw();
    raw.pragma_update(None, "foreign_keys", false).unwrap();
    raw.execute("DELETE FROM run", []).unwrap();
    assert_eq!(fixture.journal.faults_of_file().unwrap(), ["a row of stream belongs to no run"]);
}

// Requirement: 7.19
#[tokio::test]
async fn pages_that_were_written_over_are_told() {
    let fixture = Fixture::written(&["a"; 400]).await;
    let (source, folder) = (fixture.journal.path().to_owned(), fixture.folder);
    drop(fixture.journal);
    let mut bytes = std::fs::read(&source).unwrap();
    let pages = bytes.len() / 4096;
    assert!(pages > 8, "{pages} pages");
    // The header of a page in the middle, which SQLite follows.
    bytes[(pages / 2) * 4096..(pages / 2) * 4096 + 8].fill(0xff);
    let harmed = folder.path().join("harmed.db");
    std::fs::write(&harmed, bytes).unwrap();
    let found = Journal::open(&harmed).and_then(|journal| journal.faults_of_file());
    match found {
        Ok(faults) => assert!(!faults.is_empty() && faults.len() <= 20, "{faults:?}"),
        Err(error) => assert!(matches!(error, JournalError::Damaged { .. }), "{error}"),
    }
}
