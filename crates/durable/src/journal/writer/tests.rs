use std::sync::{Arc, Barrier};

use super::*;

fn counting() -> (tempfile::TempDir, PathBuf, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aime.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE number (n INTEGER PRIMARY KEY, body TEXT)").unwrap();
    let writer = Writer::start(move || Ok(connection), &path).unwrap();
    (folder, path, writer)
}

fn insert(writer: &Writer, number: i64) -> impl Future<Output = Result<i64, JournalError>> + Send + use<> {
    writer.write(move |connection| {
        connection
            .execute("INSERT INTO number (n) VALUES (?1)", [number])
            .map(|_| number)
            .map_err(|error| JournalError::from_sqlite(Path::new("numbers"), error))
    })
}

fn numbers(path: &Path) -> Vec<i64> {
    let connection = Connection::open(path).unwrap();
    let mut select = connection.prepare("SELECT n FROM number ORDER BY n").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Holds the thread, so that what is queued meanwhile comes into one group.
fn hold(writer: &Writer) -> Arc<Barrier> {
    let barrier = Arc::new(Barrier::new(2));
    let inside = Arc::clone(&barrier);
    let mut holds = true;
    drop(writer.write(move |_| {
        if std::mem::take(&mut holds) {
            inside.wait();
        }
        Ok(())
    }));
    barrier
}

#[tokio::test]
async fn what_waits_is_committed_together() {
    let (_folder, path, writer) = counting();
    let commits = writer.commits();
    let barrier = hold(&writer);
    let writes: Vec<_> = (0..500).map(|number| insert(&writer, number)).collect();
    barrier.wait();
    for (write, number) in writes.into_iter().zip(0..) {
        assert_eq!(write.await.unwrap(), number);
    }
    assert_eq!(numbers(&path), (0..500).collect::<Vec<_>>());
    assert!(*commits.borrow() <= 3, "{} transactions", *commits.borrow());
}

#[tokio::test]
async fn one_that_fails_leaves_the_others_of_its_group() {
    let (_folder, path, writer) = counting();
    insert(&writer, 3).await.unwrap();
    let barrier = hold(&writer);
    let writes: Vec<_> = [1, 2, 3, 4].map(|number| insert(&writer, number)).into_iter().collect();
    barrier.wait();
    let outcomes = futures::future::join_all(writes).await;
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(numbers(&path), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_full_disk_fails_what_did_not_fit_and_no_more() {
    let (_folder, path, writer) = counting();
    insert(&writer, 1).await.unwrap();
    let limit = |pages: i64| {
        writer.write(move |connection| {
            Ok(connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0)).unwrap())
        })
    };
    let pages = limit(1).await.unwrap();
    let big = |number: i64| {
        writer.write(move |connection| {
            connection
                .execute("INSERT INTO number VALUES (?1, ?2)", rusqlite::params![number, "x".repeat(50_000)])
                .map_err(|error| JournalError::from_sqlite(Path::new("numbers"), error))
        })
    };
    let fault = big(2).await.unwrap_err();
    assert!(matches!(fault, JournalError::Full { .. }), "{fault:?}");
    limit(pages + 100).await.unwrap();
    big(3).await.unwrap();
    assert_eq!(numbers(&path), [1, 3]);
}

#[tokio::test]
async fn a_transaction_that_is_lost_fails_all_of_its_group() {
    let (_folder, path, writer) = counting();
    let barrier = hold(&writer);
    let before = insert(&writer, 1);
    // SQLite does the same by itself after some faults.
    let fault = writer.write(|connection| -> Result<(), JournalError> {
        connection.execute_batch("ROLLBACK").unwrap();
        Err(JournalError::Full { path: "numbers".into() })
    });
    let after = insert(&writer, 2);
    barrier.wait();
    for outcome in [before.await, fault.await.map(|()| 0), after.await] {
        assert!(matches!(outcome, Err(JournalError::Full { .. })), "{outcome:?}");
    }
    insert(&writer, 3).await.unwrap();
    assert_eq!(numbers(&path), [3]);
}

#[tokio::test]
async fn dropping_the_writer_writes_what_is_queued() {
    let (_folder, path, writer) = counting();
    for number in 0..50 {
        drop(insert(&writer, number));
    }
    drop(writer);
    assert_eq!(numbers(&path).len(), 50);
}

#[tokio::test]
async fn a_dead_writer_answers_closed() {
    let (_folder, _, writer) = counting();
    let dies = writer.write(|_| -> Result<(), JournalError> { panic!("a fault in the program") });
    assert!(matches!(dies.await, Err(JournalError::Closed { .. })));
    assert!(matches!(insert(&writer, 1).await, Err(JournalError::Closed { .. })));
}

#[tokio::test]
async fn another_process_that_keeps_writing_is_waited_for() {
    let (_folder, path, writer) = counting();
    let impatient = writer.write(|connection| {
        connection.busy_timeout(std::time::Duration::from_millis(1)).unwrap();
        Ok(())
    });
    impatient.await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcome = insert(&writer, 1).await;
    assert!(matches!(outcome, Err(JournalError::Busy { .. })), "{outcome:?}");
    other.execute_batch("COMMIT").unwrap();
    insert(&writer, 1).await.unwrap();
    assert_eq!(numbers(&path), [1]);
}
