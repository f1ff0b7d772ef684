//! Tables of the file, and the upgrade of older files.

use std::path::Path;

use aime_durable::sqlite::{connect, write_ahead};
use rusqlite::{Connection, OpenFlags};

use crate::MemoryError;

/// "aimm", in the header of the file: the journal's is "aime".
const APPLICATION: i32 = 0x6169_6d6d;

/// One step for each version of the schema, applied in order and never changed once it has been released.
///
/// The word tables keep no text, only the words that `tokenizer::indexed` makes of it; the triggers keep them in step with what is deleted.
const STEPS: &[&str] = &["
    -- title_key: hash of the title without its spacing. used: the number of the last writing or recall, counted over all memories.
    CREATE TABLE memory (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        title_key TEXT NOT NULL,
        text TEXT NOT NULL,
        run TEXT,
        tags TEXT NOT NULL,
        recalled INTEGER NOT NULL DEFAULT 0,
        used INTEGER NOT NULL,
        UNIQUE (kind, title_key)
    ) STRICT;
    CREATE INDEX memory_used ON memory(used, recalled);
    CREATE VIRTUAL TABLE memory_words USING fts5(
        title, text, tags, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER memory_gone AFTER DELETE ON memory BEGIN DELETE FROM memory_words WHERE rowid = old.number; END;
    -- modified: nanoseconds since 1970. checked: milliseconds since 1970, when the content was last looked at.
    CREATE TABLE document (
        number INTEGER PRIMARY KEY,
        folder TEXT NOT NULL,
        path TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        checked INTEGER NOT NULL,
        hash TEXT NOT NULL,
        chunk_tokens INTEGER NOT NULL,
        UNIQUE (folder, path)
    ) STRICT;
    CREATE TABLE chunk (
        number INTEGER PRIMARY KEY,
        document INTEGER NOT NULL REFERENCES document(number) ON DELETE CASCADE,
        heading TEXT NOT NULL,
        line INTEGER NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chunk_document ON chunk(document);
    CREATE VIRTUAL TABLE chunk_words USING fts5(
        heading, path, text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER chunk_gone AFTER DELETE ON chunk BEGIN DELETE FROM chunk_words WHERE rowid = old.number; END;
"];

/// Opens the file, creates it if it is not there, and brings its tables up to this version.
pub(crate) fn open(path: &Path) -> Result<Connection, MemoryError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| MemoryError::Folder { path: folder.to_owned(), source })?;
    }
    let fault = |error| MemoryError::from_sqlite(path, error);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(fault)?;
    if connection.is_readonly("main").map_err(fault)? {
        return Err(MemoryError::ReadOnly { path: path.to_owned() });
    }
    // Checked before any write, because the file may belong to another program.
    check(&connection, path)?;
    write_ahead(&connection).map_err(fault)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Returns the version of the tables in the file.
fn check(connection: &Connection, path: &Path) -> Result<usize, MemoryError> {
    // One statement, so one state of the file: another process may be making the tables at this moment.
    let header =
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version";
    let read = || connection.query_row(header, [], |row| Ok((row.get::<_, i32>(0)?, row.get::<_, u32>(1)?, row.get::<_, i64>(2)?)));
    let (application, found, tables) = read().map_err(|error| MemoryError::from_sqlite(path, error))?;
    let fresh = application == 0 && found == 0 && tables == 0;
    if application != APPLICATION && !fresh {
        return Err(MemoryError::NotAMemory { path: path.to_owned() });
    }
    match usize::try_from(found) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        _ => Err(MemoryError::Newer { path: path.to_owned(), found, known: u32::try_from(STEPS.len()).unwrap_or(u32::MAX) }),
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), MemoryError> {
    let fault = |error| MemoryError::from_sqlite(path, error);
    if check(connection, path)? == STEPS.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fault)?;
    // Asked again: another process may have done it while we waited for the lock.
    let version = check(&transaction, path)?;
    for step in STEPS.iter().skip(version) {
        transaction.execute_batch(step).map_err(fault)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
    transaction.pragma_update(None, "user_version", i64::try_from(STEPS.len()).unwrap_or(i64::MAX)).map_err(fault)?;
    transaction.commit().map_err(fault)
}
