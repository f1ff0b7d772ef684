mod evicting;
mod files;
mod finding;
mod hostile;
mod knowledge;
mod rendering;
mod together;

use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

/// A memory in a folder of its own, with an empty knowledge folder beside it.
struct Fixture {
    folder: tempfile::TempDir,
    store: MemoryStore,
}

impl Fixture {
    fn new() -> Self {
        Self::bounded(MemorySettings::default())
    }

    fn bounded(settings: MemorySettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("knowledge")).unwrap();
        let store = MemoryStore::open(folder.path().join("memory.db"), settings).unwrap();
        Self { folder, store }
    }

    /// Remembers titles and texts as `m0`, `m1`, …, each a second after the other.
    fn with(memories: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        for (number, (title, text)) in memories.iter().enumerate() {
            fixture.store.remember(&memory(&format!("m{number}"), number as i64 * 1_000, title, text)).unwrap();
        }
        fixture
    }

    /// Creates a store with indexed documents.
    fn knowing(documents: &[(&str, &str)]) -> (Self, Knowledge) {
        let fixture = Self::new();
        documents.iter().for_each(|(path, text)| fixture.write(path, text));
        let knowledge = fixture.knowledge();
        knowledge.update(0, || true).unwrap();
        (fixture, knowledge)
    }

    fn place(&self, path: &str) -> PathBuf {
        self.folder.path().join("knowledge").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.place(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    fn knowledge(&self) -> Knowledge {
        self.store.knowledge(self.place(""), KnowledgeSettings::default()).unwrap()
    }

    /// Another connection to the same file, as another process has.
    fn other(&self) -> MemoryStore {
        MemoryStore::open(self.store.path(), self.store.settings().clone()).unwrap()
    }

    /// Opens the file directly, for changes that no memory makes.
    fn raw(&self) -> Connection {
        Connection::open(self.store.path()).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        self.raw().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }
}

fn memory(id: &str, at: UnixMillis, title: &str, text: &str) -> Memory {
    Memory {
        id: id.into(),
        at,
        kind: MemoryKind::Run,
        title: title.into(),
        text: text.into(),
        run: Some(format!("run-{id}")),
        tags: vec![],
    }
}

fn ids(recalled: &[RecalledMemory]) -> Vec<&str> {
    recalled.iter().map(|recalled| recalled.memory.id.as_str()).collect()
}

/// Ids of all memories, the latest first.
fn listed(store: &MemoryStore) -> Vec<String> {
    store.list(usize::MAX).unwrap().into_iter().map(|stored| stored.memory.id).collect()
}

fn paths(chunks: &[Chunk]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.path.as_str()).collect()
}
