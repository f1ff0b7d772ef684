//! Tables of the file, and the upgrade of older files.

use std::{path::Path, sync::Arc};

use rusqlite::{Connection, OpenFlags};

use super::{JournalError, stream::number};
use crate::sqlite::{connect, write_ahead};

/// "aime", in the header of the file.
const APPLICATION: i32 = 0x6169_6d65;

/// One step for each version of the schema, applied in order and never changed once it has been released.
const STEPS: &[&str] = &[
    "
    CREATE TABLE run (
        id TEXT PRIMARY KEY NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        machine_version INTEGER NOT NULL,
        title TEXT NOT NULL,
        status TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        body TEXT NOT NULL,
        taken INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX inbox_run ON inbox(run, taken);
    -- The state of a machine after fact seq. A lost one follows from the facts. events: the number of events of the stream up to then.
    CREATE TABLE snapshot (
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
        stream TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        version INTEGER NOT NULL,
        form INTEGER NOT NULL,
        events INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (run, stream, seq)
    ) STRICT;
    -- last_fact: who appends must know it. That is the fence, and how a loss at the end is seen. No id is given twice: writers remember theirs.
    CREATE TABLE stream (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        last_fact INTEGER NOT NULL,
        UNIQUE (run, name)
    ) STRICT;
    -- Facts of one time that were appended together, and the events kept with them: JSON, a line each. The numbers are those of the last fact and the
    -- last event of the stream by then; fact 0 is the input. Rows lie as they come, so that all that is written at the same time shares pages, of
    -- whatever stream it is. Both numbers rise together: one index finds facts and events.
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL REFERENCES stream(id) ON DELETE CASCADE,
        last_fact INTEGER NOT NULL,
        last_event INTEGER NOT NULL,
        at INTEGER NOT NULL,
        version INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        facts TEXT NOT NULL,
        events TEXT NOT NULL,
        UNIQUE (stream, last_event, last_fact)
    ) STRICT;
",
];

/// Opens the file for writing, creates it if it is not there, and brings its tables up to this version.
pub(super) fn open(path: &Path) -> Result<Connection, JournalError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| JournalError::Folder { path: folder.to_owned(), source: Arc::new(source) })?;
    }
    let fault = |error| JournalError::from_sqlite(path, error);
    let connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(fault)?;
    if connection.is_readonly("main").map_err(fault)? {
        return Err(JournalError::ReadOnly { path: path.to_owned() });
    }
    // Checked before any write, because the file may belong to another program.
    check(&connection, path)?;
    write_ahead(&connection).map_err(fault)?;
    migrate(&connection, path)?;
    Ok(connection)
}

/// Opens an existing file for reading alone.
pub(super) fn open_reader(path: &Path) -> Result<Connection, JournalError> {
    let fault = |error| JournalError::from_sqlite(path, error);
    let connection = connect(path, OpenFlags::empty()).map_err(fault)?;
    connection.pragma_update(None, "query_only", true).map_err(fault)?;
    Ok(connection)
}

/// Opens a new journal that is nowhere but in memory.
#[cfg(any(test, feature = "simulation"))]
pub(super) fn in_memory(path: &Path) -> Result<Connection, JournalError> {
    let open = || {
        let connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    let connection = open().map_err(|error| JournalError::from_sqlite(path, error))?;
    migrate(&connection, path)?;
    Ok(connection)
}

/// Returns the version of the tables in the file.
fn check(connection: &Connection, path: &Path) -> Result<usize, JournalError> {
    // One statement, so one state of the file: another process may be making the tables at this moment.
    let header =
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version";
    let read = || connection.query_row(header, [], |row| Ok((row.get::<_, i32>(0)?, row.get::<_, u32>(1)?, row.get::<_, i64>(2)?)));
    let (application, found, tables) = read().map_err(|error| JournalError::from_sqlite(path, error))?;
    let fresh = application == 0 && found == 0 && tables == 0;
    if application != APPLICATION && !fresh {
        return Err(JournalError::NotAJournal { path: path.to_owned() });
    }
    match usize::try_from(found) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        _ => Err(JournalError::Newer { path: path.to_owned(), found, known: u32::try_from(STEPS.len()).unwrap_or(u32::MAX) }),
    }
}

fn migrate(connection: &Connection, path: &Path) -> Result<(), JournalError> {
    let fault = |error| JournalError::from_sqlite(path, error);
    if check(connection, path)? == STEPS.len() {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(fault)?;
    // Asked again: another process may have done it while we waited for the lock.
    let steps = check(connection, path).and_then(|version| {
        for step in STEPS.iter().skip(version) {
            connection.execute_batch(step).map_err(fault)?;
        }
        connection.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
        connection.pragma_update(None, "user_version", number(STEPS.len())).map_err(fault)
    });
    match steps {
        Ok(()) => connection.execute_batch("COMMIT").map_err(fault),
        Err(error) => {
            connection.execute_batch("ROLLBACK").map_err(fault)?;
            Err(error)
        }
    }
}
