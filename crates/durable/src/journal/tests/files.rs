use super::*;

#[tokio::test]
async fn the_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one/two/aime.db");
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.path(), path);
    assert!(path.is_file());
}

#[tokio::test]
async fn a_file_is_made_at_the_first_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one/aime.db");
    drop(Journal::at_first_write(&path).unwrap());
    let journal = Journal::at_first_write(&path).unwrap();
    assert!(!folder.path().join("one").exists());
    journal.flush().await.unwrap();
    assert_eq!(journal.runs().unwrap(), []);
    std::fs::write(folder.path().join("text"), "this is no database, and long enough not to be taken for an empty one").unwrap();
    let journal = Journal::at_first_write(folder.path().join("text")).unwrap();
    for _ in 0..2 {
        assert!(fault(journal.flush().await).to_string().contains("is not a journal of aime"));
    }
}

#[test]
fn what_cannot_be_opened_says_why_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    std::fs::write(of("text"), "this is no database, and long enough not to be taken for an empty one").unwrap();
    let foreign = Connection::open(of("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let claimed = Connection::open(of("claimed")).unwrap();
    claimed.execute_batch("PRAGMA application_id = 77").unwrap();
    let cases = [
        ("text", "is not a journal of aime"),
        ("foreign", "is not a journal of aime"),
        ("claimed", "is not a journal of aime"),
        ("text/aime.db", "cannot create the folder"),
        ("", "cannot open the journal"),
    ];
    for (name, expected) in cases {
        let text = fault(Journal::open(of(name))).to_string();
        assert!(text.contains(expected), "{name}: {text}");
        assert!(text.contains(&folder.path().display().to_string()), "{name}: {text}");
    }
    assert!(foreign.query_row("SELECT count(*) FROM theirs", [], |row| row.get::<_, i64>(0)).is_ok(), "it is left as it was");
    let text = std::fs::read_to_string(of("text")).unwrap();
    assert!(text.starts_with("this is no database"));
}

// Requirement: 7.11
#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let fixture = Fixture::new().await;
    fixture.raw().pragma_update(None, "user_version", 7).unwrap();
    let fault = fault(Journal::open(fixture.journal.path()));
    assert!(matches!(fault, JournalError::Newer { found: 7, known: 1, .. }));
    assert!(fault.to_string().contains("has schema 7, and this version reads up to 1: use the newer version"), "{fault}");
}

#[test]
fn an_empty_file_becomes_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aime.db");
    std::fs::write(&path, "").unwrap();
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.runs().unwrap(), []);
    let pragma = |name: &str| Connection::open(&path).unwrap().pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("user_version"), pragma("application_id")), (1, 0x6169_6d65));
}

#[test]
fn a_name_is_a_name_and_no_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file:aime db?mode=memory#1");
    drop(Journal::open(&path).unwrap());
    assert!(path.is_file());
}

#[test]
fn many_may_open_a_new_file_at_once() {
    // Repeated many times, because the fault occurs between two readings.
    for _ in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/aime.db");
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Journal::open(&path).and_then(|journal| journal.runs()))).collect();
            for opening in opening {
                assert_eq!(opening.join().unwrap().unwrap(), []);
            }
        });
    }
}

#[tokio::test]
async fn what_is_waiting_is_written_before_the_journal_closes() {
    let fixture = Fixture::new().await;
    let path = fixture.journal.path().to_owned();
    let Fixture { folder: _folder, journal } = fixture;
    for number in 0..20 {
        drop(futures::FutureExt::now_or_never(journal.inbox_put("r", number, "{}")));
    }
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().inbox("r").unwrap().len(), 20);
    assert!(!path.with_extension("db-wal").exists() || std::fs::metadata(path.with_extension("db-wal")).unwrap().len() == 0);
}

/// A file as version 1 wrote it is read for ever: its tables, numbers and checksums are a protocol. A change of schema adds a step and a
/// fixture and leaves this one as it is.
// Requirement: 7.11, 7.20
#[tokio::test]
async fn a_file_of_version_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aime.db");
    Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/journal-v1.sql")).unwrap();
    let journal = Journal::open(&path).unwrap();
    let loaded = journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap();
    assert_eq!((texts(&loaded), loaded.damage.clone()), (vec!["a", "星"], None));
    assert_eq!(events(&journal, "r"), numbered(&["began", "a", "星"]));
    let message = Message { id: 1, at: 3_000, body: r#"{"answer":"yes"}"#.to_owned() };
    assert_eq!(journal.inbox("r").unwrap(), [message]);
    let snapshot = journal.load_machine::<Toy>("r", RUN_STREAM).unwrap().unwrap();
    assert_eq!((snapshot.state.replayed(), snapshot.state.events(), snapshot.unused), (1, 3, vec![]));
    assert_eq!(journal.check_snapshots::<Toy>("r", RUN_STREAM).unwrap(), []);
    note(&mut journal.stream("r", RUN_STREAM).after(&loaded), &["more"]).await.unwrap();
    assert_eq!(events(&journal, "r").len(), 4);
    let same = |sql: &str| Connection::open_in_memory().and_then(|fresh| fresh.execute_batch(sql).and_then(|()| tables(&fresh))).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    let made = Journal::open(fresh.path().join("aime.db")).unwrap();
    assert_eq!(same(include_str!("fixtures/journal-v1.sql")), tables(&Connection::open(made.path()).unwrap()).unwrap());
}

/// Returns the tables of a file and their columns.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut select = connection.prepare(
        "SELECT t.name, group_concat(c.name || ' ' || c.type || ' ' || c.pk || c.[notnull], ', ' ORDER BY c.cid)
         FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' GROUP BY t.name ORDER BY t.name",
    )?;
    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
