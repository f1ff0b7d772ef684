use std::{
    cell::Cell,
    time::{Duration, UNIX_EPOCH},
};

use super::*;

/// Long after all files of a test were written, so that sizes and times of change are trusted.
const LATER: UnixMillis = 100_000_000_000_000;

fn update(knowledge: &Knowledge) -> IndexReport {
    knowledge.update(LATER, || true).unwrap()
}

fn skipped(report: &IndexReport) -> Vec<(&str, SkipReason)> {
    report.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.reason.clone())).collect()
}

#[test]
fn what_is_added_changed_and_removed_is_noticed() {
    let (fixture, files) = (Fixture::new(), Cell::new(0));
    let knowledge = fixture.knowledge();
    fixture.write("a.md", "# Apples\n\nred");
    fixture.write("sub/b.md", "# Pears\n\ngreen");
    fixture.write("empty.txt", "");
    let report = update(&knowledge);
    assert_eq!(report, IndexReport { added: vec!["a.md".into(), "empty.txt".into(), "sub/b.md".into()], ..Default::default() });
    assert_eq!(update(&knowledge), IndexReport { unchanged: 3, ..Default::default() });

    fixture.write("a.md", "# Apples\n\nyellow");
    fixture.write("c.md", "blue");
    std::fs::remove_file(fixture.place("sub/b.md")).unwrap();
    let counted = knowledge.update(LATER, || {
        files.set(files.get() + 1);
        true
    });
    let expected = IndexReport {
        added: vec!["c.md".into()],
        changed: vec!["a.md".into()],
        removed: vec!["sub/b.md".into()],
        unchanged: 1,
        ..Default::default()
    };
    assert_eq!((counted.unwrap(), files.get()), (expected, 3));
    for (question, expected) in [("yellow apples", vec!["a.md"]), ("red", vec![]), ("pears green", vec![]), ("blue", vec!["c.md"])] {
        assert_eq!(paths(&knowledge.retrieve(question, 3).unwrap()), expected, "{question}");
    }
    assert_eq!((fixture.count("chunk"), fixture.count("chunk_words")), (2, 2), "nothing is left of what was before");
}

#[test]
fn size_and_time_are_trusted_only_when_they_can_be() {
    let fixture = Fixture::new();
    let knowledge = fixture.knowledge();
    let changed = UNIX_EPOCH + Duration::from_secs(1_000);
    let write = |text: &str| {
        fixture.write("a.txt", text);
        std::fs::File::options().write(true).open(fixture.place("a.txt")).unwrap().set_modified(changed).unwrap();
    };
    write("one");
    // Read within the moment of its change, it is read again: it may have changed once more.
    knowledge.update(1_001_000, || true).unwrap();
    write("two");
    assert_eq!(knowledge.update(1_002_500, || true).unwrap().changed, ["a.txt"]);
    // The content is the same, and is known to be from now on.
    assert_eq!(knowledge.update(1_010_000, || true).unwrap().unchanged, 1);
    write("six");
    assert_eq!(knowledge.update(1_020_000, || true).unwrap().unchanged, 1, "not read: same size, same time");
    // Touched without change.
    std::fs::File::options().write(true).open(fixture.place("a.txt")).unwrap().set_modified(changed + Duration::from_secs(1)).unwrap();
    assert_eq!(knowledge.update(1_030_000, || true).unwrap().changed, ["a.txt"]);
}

#[test]
fn what_is_no_document_is_skipped_with_a_reason() {
    let fixture = Fixture::new();
    fixture.write("good.md", "\u{feff}# Good\n\ntext");
    fixture.write("binary.bin", b"text\0more");
    fixture.write("binary.end", [b"text ".repeat(4_000).as_slice(), b"\0"].concat());
    fixture.write("gbk.txt", b"\xc4\xe3\xba\xc3");
    fixture.write("large.txt", "x".repeat(40_000));
    fixture.write(".gitignore", "ignored/\n*.log\n");
    fixture.write("ignored/a.md", "never");
    fixture.write("b.log", "never");
    fixture.write(".env", "SECRET=never");
    fixture.write(".hidden/c.md", "never");
    fixture.write("tls/site.key", "never");
    let settings = KnowledgeSettings { max_file_bytes: 30_000, ..Default::default() };
    let knowledge = fixture.store.knowledge(fixture.place(""), settings).unwrap();
    let report = update(&knowledge);
    assert_eq!(report.added, ["good.md"]);
    let too_large = SkipReason::TooLarge { bytes: 40_000 };
    let expected = [
        ("binary.bin", SkipReason::Binary),
        ("binary.end", SkipReason::Binary),
        ("gbk.txt", SkipReason::NotUtf8),
        ("large.txt", too_large),
        ("tls/site.key", SkipReason::Keys),
    ];
    assert_eq!(skipped(&report), expected);
    assert_eq!(knowledge.retrieve("never", 9).unwrap(), []);
    assert_eq!(knowledge.retrieve("good", 9).unwrap()[0].heading, "Good");
    // Files that become unindexable are dropped from the index.
    fixture.write("good.md", "\0");
    let report = update(&knowledge);
    assert_eq!((report.removed, report.skipped.len()), (vec!["good.md".to_owned()], 6));
    assert_eq!(knowledge.retrieve("good", 9).unwrap(), []);
}

#[cfg(unix)]
#[test]
fn links_and_strange_names_are_skipped() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let outside = fixture.folder.path().join("outside.md");
    std::fs::write(&outside, "secret").unwrap();
    std::os::unix::fs::symlink(&outside, fixture.place("link.md")).unwrap();
    std::os::unix::fs::symlink(fixture.folder.path(), fixture.place("loop")).unwrap();
    std::fs::write(fixture.place("").join(std::ffi::OsStr::from_bytes(b"\xff.md")), "text").unwrap();
    let report = update(&fixture.knowledge());
    assert_eq!(skipped(&report), [("link.md", SkipReason::Link), ("loop", SkipReason::Link), ("\u{fffd}.md", SkipReason::Name)]);
    assert_eq!(report.added, Vec::<String>::new());
    // The folder itself may be one.
    fixture.write("a.md", "through a link");
    let link = fixture.folder.path().join("to-knowledge");
    std::os::unix::fs::symlink(fixture.place(""), &link).unwrap();
    let through = fixture.store.knowledge(&link, KnowledgeSettings::default()).unwrap();
    assert_eq!(update(&through).added, ["a.md"]);
    assert_eq!(paths(&fixture.knowledge().retrieve("link", 1).unwrap()), ["a.md"], "it is the same folder");
}

#[test]
fn the_bounds_hold() {
    let fixture = Fixture::new();
    for number in 0..5 {
        fixture.write(&format!("{number}.md"), format!("word{number} {}", "x".repeat(93)));
    }
    let with = |settings| fixture.store.knowledge(fixture.place(""), settings).unwrap();
    let all = update(&with(KnowledgeSettings::default()));
    assert_eq!(all.added.len(), 5);
    let few = update(&with(KnowledgeSettings { max_files: 3, ..Default::default() }));
    assert_eq!((few.more, few.removed, few.unchanged), (true, vec!["3.md".to_owned(), "4.md".to_owned()], 3));
    let small = update(&with(KnowledgeSettings { max_total_bytes: 250, ..Default::default() }));
    assert_eq!((small.removed.as_slice(), small.unchanged), (["2.md".to_owned()].as_slice(), 2));
    assert_eq!(skipped(&small), [("2.md", SkipReason::NoRoom), ("3.md", SkipReason::NoRoom), ("4.md", SkipReason::NoRoom)]);
}

#[test]
fn another_size_of_chunks_indexes_anew() {
    let text: String = (0..100).map(|number| format!("Paragraph {number} of a long document.\n\n")).collect();
    let (fixture, knowledge) = Fixture::knowing(&[("a.md", &text)]);
    let before = fixture.count("chunk");
    let small = fixture.store.knowledge(fixture.place(""), KnowledgeSettings { chunk_tokens: 100, ..Default::default() }).unwrap();
    assert_eq!(update(&small).changed, ["a.md"]);
    assert!(fixture.count("chunk") > 3 * before);
    assert_eq!(update(&small).unchanged, 1);
    let found = knowledge.retrieve("paragraph 77", 1).unwrap();
    assert!(found[0].text.contains("Paragraph 77 ") && found[0].line > 100, "{found:?}");
}

#[test]
fn a_stopped_update_keeps_what_it_read_and_removes_nothing() {
    let (fixture, knowledge) = Fixture::knowing(&[("z.md", "last")]);
    fixture.write("a.md", "first");
    fixture.write("b.md", "second");
    std::fs::remove_file(fixture.place("z.md")).unwrap();
    let asked = Cell::new(0);
    let report = knowledge.update(LATER, || {
        asked.set(asked.get() + 1);
        asked.get() < 2
    });
    assert_eq!(report.unwrap(), IndexReport { added: vec!["a.md".into()], stopped: true, ..Default::default() });
    assert_eq!(paths(&knowledge.retrieve("first second last", 3).unwrap()), ["z.md", "a.md"]);
    assert_eq!(update(&knowledge).removed, ["z.md"]);
}

#[test]
fn folders_do_not_mix() {
    let (fixture, knowledge) = Fixture::knowing(&[("a.md", "apple")]);
    let place = fixture.folder.path().join("other");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("a.md"), "apple pie").unwrap();
    let other = fixture.store.knowledge(&place, KnowledgeSettings::default()).unwrap();
    assert_eq!(other.retrieve("apple", 9).unwrap(), []);
    update(&other);
    assert_eq!((knowledge.retrieve("apple", 9).unwrap().len(), other.retrieve("apple", 9).unwrap().len()), (1, 1));
    assert_eq!((other.clear().unwrap(), other.clear().unwrap()), (1, 0));
    assert_eq!((knowledge.retrieve("apple", 9).unwrap().len(), other.retrieve("apple", 9).unwrap().len()), (1, 0));
    assert_eq!(fixture.count("chunk_words"), 1);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let fixture = Fixture::new();
    fixture.write("file", "");
    for name in ["nowhere", "file"] {
        let fault = fixture.store.knowledge(fixture.place(name), KnowledgeSettings::default()).unwrap_err();
        assert!(matches!(fault, MemoryError::KnowledgeFolder { .. }) && fault.to_string().contains(name), "{fault}");
    }
    let (fixture, knowledge) = Fixture::knowing(&[("a.md", "apple")]);
    std::fs::remove_dir_all(fixture.place("")).unwrap();
    let fault = knowledge.update(LATER, || true).unwrap_err();
    assert!(fault.to_string().contains("check that it is there"), "{fault}");
    assert_eq!(knowledge.retrieve("apple", 1).unwrap().len(), 1, "nothing is dropped for it");
}
