use super::*;

#[test]
fn many_may_open_a_new_file_at_once() {
    // Repeated many times, because the fault occurs between two readings.
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/memory.db");
        std::thread::scope(|scope| {
            let open = || MemoryStore::open(&path, MemorySettings::default()).and_then(|store| store.list(1));
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for opening in opening {
                assert_eq!(opening.join().unwrap().unwrap(), []);
            }
        });
    }
}

#[test]
fn many_remember_recall_and_forget_at_once() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = fixture.other();
            scope.spawn(move || {
                for number in 0..20 {
                    let id = format!("{writer}-{number}");
                    store.remember(&memory(&id, number, &format!("Goal {id} 目标"), "text")).unwrap();
                    assert!(!store.recall("目标", 3).unwrap().is_empty());
                    if number % 2 == 0 {
                        assert!(store.forget(&id).unwrap());
                    }
                    store.remember(&memory(&format!("same-{id}"), number, "One goal of all", "text")).unwrap();
                }
            });
        }
    });
    assert_eq!((fixture.count("memory"), fixture.count("memory_words")), (41, 41));
    assert_eq!(fixture.store.search("goal of all", 1).unwrap()[0].memory.at, 19, "the latest one stayed");
}

#[test]
fn many_update_one_folder_at_once() {
    let fixture = Fixture::new();
    for number in 0..150 {
        fixture.write(&format!("{number}.md"), format!("# Document {number}\n\ntext{number}\n\n## Second\n\nmore"));
    }
    let all_at_once = || {
        std::thread::scope(|scope| {
            let one = |_| {
                let store = fixture.other();
                let folder = fixture.place("");
                scope.spawn(move || store.knowledge(folder, KnowledgeSettings::default()).unwrap().update(0, || true).unwrap())
            };
            let updates: Vec<_> = (0..3).map(one).collect();
            updates.into_iter().map(|update| update.join().unwrap()).collect::<Vec<_>>()
        })
    };
    all_at_once();
    assert_eq!((fixture.count("document"), fixture.count("chunk"), fixture.count("chunk_words")), (150, 300, 300));
    for number in 0..50 {
        std::fs::remove_file(fixture.place(&format!("{number}.md"))).unwrap();
        fixture.write(&format!("{}.md", number + 50), format!("new{number}"));
    }
    let reports = all_at_once();
    assert_eq!(reports.iter().map(|report| report.removed.len()).sum::<usize>(), 50, "each is removed by one of them");
    assert_eq!((fixture.count("document"), fixture.count("chunk"), fixture.count("chunk_words")), (100, 150, 150));
    assert_eq!(paths(&fixture.knowledge().retrieve("new7", 2).unwrap()), ["57.md"]);
}

#[test]
fn a_reader_is_not_kept_waiting_by_a_writer() {
    let fixture = Fixture::with(&[("Deploy", "text")]);
    let other = fixture.raw();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE memory SET recalled = 7").unwrap();
    assert_eq!(fixture.store.search("deploy", 1).unwrap().len(), 1);
    assert_eq!(fixture.store.list(1).unwrap()[0].recalled, 0);
}
