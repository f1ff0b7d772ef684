use std::io::{Seek, SeekFrom, Write};

use super::*;

fn open(path: impl AsRef<std::path::Path>) -> Result<MemoryStore, MemoryError> {
    MemoryStore::open(path, MemorySettings::default())
}

#[test]
fn what_cannot_be_opened_says_why_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    std::fs::write(of("text"), "this is no database, and long enough not to be taken for an empty one").unwrap();
    let foreign = Connection::open(of("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE theirs (a)").unwrap();
    // The journal of runs.
    Connection::open(of("journal")).unwrap().execute_batch("PRAGMA application_id = 0x61696d65; PRAGMA user_version = 1").unwrap();
    drop(open(of("later")).unwrap());
    Connection::open(of("later")).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let cases = [
        ("text", "is not an aime memory database"),
        ("foreign", "is not an aime memory database"),
        ("journal", "is not an aime memory database"),
        ("text/memory.db", "cannot create the folder"),
        ("", "cannot open the memory"),
        ("later", "has schema 7, and this version reads up to 1: use the newer version"),
    ];
    for (name, expected) in cases {
        let text = open(of(name)).unwrap_err().to_string();
        assert!(text.contains(expected) && text.contains(&folder.path().display().to_string()), "{name}: {text}");
    }
    assert!(foreign.query_row("SELECT count(*) FROM theirs", [], |row| row.get::<_, i64>(0)).is_ok(), "it is left as it was");
}

#[test]
fn a_name_is_a_name_and_the_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one/two/file:aime db?mode=memory#1");
    assert_eq!(open(&path).unwrap().path(), path);
    assert!(path.is_file());
}

/// Overwrites a file from a byte on.
fn harm(path: &std::path::Path, from: u64) {
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(from)).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length - from).unwrap()]).unwrap();
}

#[test]
fn a_damaged_file_is_told_and_left() {
    for from in [100, 4_096, 8_192] {
        let Fixture { folder, store } = Fixture::with(&[("Deploy the website", "text"), ("部署网站", "文字")]);
        let path = store.path().to_owned();
        drop(store);
        harm(&path, from);
        let before = std::fs::read(&path).unwrap();
        let fault = open(&path).and_then(|store| store.recall("deploy 部署", 3)).unwrap_err();
        assert!(matches!(fault, MemoryError::Damaged { .. }), "from {from}: {fault:?}");
        assert!(fault.to_string().contains("move it away to begin anew"), "{fault}");
        assert!(fault.to_string().contains(&path.display().to_string()), "{fault}");
        assert_eq!(std::fs::read(&path).unwrap().len(), before.len());
        drop(folder);
    }
}

#[test]
fn each_fault_has_its_own_text_with_the_file_and_the_hint() {
    use rusqlite::ffi;
    let cases = [
        (ffi::SQLITE_FULL, "no room left", "free some disk space"),
        (ffi::SQLITE_READONLY, "may only be read", "writable"),
        (ffi::SQLITE_BUSY, "locked", "wait"),
        (ffi::SQLITE_NOTADB, "not an aime memory database", "move it away"),
        (ffi::SQLITE_CORRUPT, "damaged", ".recover"),
        (ffi::SQLITE_CORRUPT_VTAB, "damaged", ".recover"),
        (ffi::SQLITE_CANTOPEN, "cannot open", "check"),
        (ffi::SQLITE_IOERR, "cannot be used", ""),
    ];
    for (code, what, hint) in cases {
        let fault = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let text = MemoryError::from_sqlite("some/memory.db".as_ref(), fault).to_string();
        assert!(text.contains("some/memory.db") && text.contains(what) && text.contains(hint), "{code}: {text}");
    }
}

/// A file as version 1 wrote it is read for ever: its tables and words are a protocol. A change of schema, or of what words a text becomes, adds a
/// step and a fixture and leaves this one as it is.
#[test]
fn a_file_of_version_1_is_read() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("old.db");
    Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/memory-v1.sql")).unwrap();
    let store = open(&path).unwrap();
    let kept = Memory {
        id: "m1".into(),
        at: 1_000,
        kind: MemoryKind::Run,
        title: "Deploying 网站".into(),
        text: "PlanPatch 已部署 🦀".into(),
        run: Some("r1".into()),
        tags: vec!["服务器".into()],
    };
    assert_eq!(store.get("m1").unwrap(), Some(StoredMemory { memory: kept.clone(), recalled: 2 }));
    for question in ["deployed", "网站", "部署", "站", "plan patch", "🦀", "服务"] {
        assert_eq!(ids(&store.recall(question, 1).unwrap()), ["m1"], "{question}");
    }
    assert_eq!(store.remember(&Memory { id: "m2".into(), at: 2_000, ..kept }).unwrap().replaced, ["m1"]);
    let raw = Connection::open(&path).unwrap();
    // Real path of the folder.
    let place = fixture.place("").canonicalize().unwrap();
    raw.execute("UPDATE document SET folder = ?1", [place.to_str().unwrap()]).unwrap();
    let knowledge = store.knowledge(fixture.place(""), KnowledgeSettings::default()).unwrap();
    let chunk = knowledge.retrieve("安装 on linux", 1).unwrap().remove(0);
    assert_eq!(
        (chunk.path.as_str(), chunk.heading.as_str(), chunk.line, chunk.text.as_str()),
        ("a.md", "安装 › Linux", 5, "Use 包管理器.")
    );
    fixture.write("a.md", "# 安装\n\n## Linux\n\nUse 包管理器.\n");
    assert_eq!(knowledge.update(0, || true).unwrap(), IndexReport { unchanged: 1, ..Default::default() }, "the hash is the same");
}
