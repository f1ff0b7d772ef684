//! Opening of SQLite files, with the settings that all files of aime have.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Result};

/// Time to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// Opens a file for reading and writing. Each transaction is on the disk when it ends, and deleted data is overwritten.
///
/// # Errors
/// SQLite's error.
pub fn connect(path: &Path, more: OpenFlags) -> Result<Connection> {
    // Not SQLITE_OPEN_URI, so that a path with any characters is read as a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Deleted and overwritten data does not stay readable in the free pages of the file.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Turns write-ahead logging on. SQLite does not wait for a lock here when two processes create the file at once, so this
/// function does.
///
/// # Errors
/// SQLite's error, such as that the file is still locked after ten seconds.
pub fn write_ahead(connection: &Connection) -> Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(10));
            }
            outcome => return outcome,
        }
    }
}
