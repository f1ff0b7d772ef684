use super::*;

#[test]
fn the_same_goal_is_remembered_once_and_the_later_one_stays() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    let remember = |memory: Memory| store.remember(&memory).unwrap();
    assert_eq!(remember(memory("a", 5, "Deploy it", "first")), RememberResult { stored: true, ..Default::default() });
    store.recall("deploy", 1).unwrap();
    let second = remember(memory("b", 6, " deploy\n IT", "second"));
    assert_eq!(second, RememberResult { stored: true, replaced: vec!["a".into()], evicted: vec![] });
    assert_eq!(store.get("b").unwrap().unwrap().recalled, 1, "what was useful stays so");
    assert_eq!(remember(memory("c", 4, "Deploy it", "an older run that ends late")), RememberResult::default());
    // Another kind is another memory; the same id is the same.
    remember(Memory { kind: MemoryKind::Fact, ..memory("d", 4, "Deploy it", "a fact") });
    assert_eq!(remember(memory("b", 1, "Deploy it", "told anew")), RememberResult { stored: true, ..Default::default() });
    assert_eq!(listed(store), ["d", "b"]);
    assert_eq!(store.get("b").unwrap().unwrap().memory.text, "told anew");
    // Without a title, the text counts.
    remember(memory("e", 1, "", "one"));
    remember(memory("f", 1, " ", "two"));
    assert_eq!(remember(memory("g", 1, "", "two")).replaced, ["f"]);
    assert_eq!((fixture.count("memory"), fixture.count("memory_words")), (4, 4));
    assert_eq!(store.search("first", 1).unwrap(), [], "no word is left of what was replaced");
}

#[test]
fn beyond_the_bound_the_longest_unused_goes() {
    let fixture = Fixture::bounded(MemorySettings { max_entries: 3, ..MemorySettings::default() });
    let store = &fixture.store;
    for id in ["apple", "pear", "plum"] {
        store.remember(&memory(id, 0, &format!("Pick the {id}"), "done")).unwrap();
    }
    assert_eq!(ids(&store.recall("apple", 3).unwrap()), ["apple"]);
    // Looking for it is not recalling it.
    store.search("pear", 3).unwrap();
    assert_eq!(store.remember(&memory("fig", 0, "Pick the fig", "done")).unwrap().evicted, ["pear"]);
    assert_eq!(store.remember(&memory("date", 0, "Pick the date", "done")).unwrap().evicted, ["plum"]);
    assert_eq!(listed(store), ["date", "fig", "apple"]);
    assert_eq!((fixture.count("memory"), fixture.count("memory_words")), (3, 3));
    // A smaller limit applies from the next memory on, and never removes that one.
    let smaller = MemoryStore::open(store.path(), MemorySettings { max_entries: 0, ..MemorySettings::default() }).unwrap();
    assert_eq!(smaller.remember(&memory("kiwi", 0, "Pick the kiwi", "done")).unwrap().evicted.len(), 3);
    assert_eq!(listed(&smaller), ["kiwi"]);
}

#[test]
fn what_is_too_long_is_cut() {
    let fixture = Fixture::bounded(MemorySettings { max_text_chars: 10, ..MemorySettings::default() });
    let long = Memory { tags: vec!["标".repeat(100); 50], ..memory("m", 0, &"题".repeat(600), "一二三四五六七八九十百千") };
    fixture.store.remember(&long).unwrap();
    let kept = fixture.store.get("m").unwrap().unwrap().memory;
    assert_eq!(kept.text, "一二三四五六七八九十…");
    assert_eq!((kept.title.chars().count(), kept.tags.len(), kept.tags[0].chars().count()), (501, 32, 65));
}

#[test]
fn what_is_forgotten_is_gone() {
    let fixture = Fixture::with(&[("Deploy", "text"), ("部署", "文字")]);
    assert!(fixture.store.forget("m1").unwrap());
    assert!(!fixture.store.forget("m1").unwrap());
    assert_eq!((fixture.store.get("m1").unwrap(), fixture.store.search("部署", 9).unwrap()), (None, vec![]));
    assert_eq!(fixture.count("memory_words"), 1);
}

#[test]
fn kinds_without_a_name_here_are_kept() {
    let fixture = Fixture::new();
    let preference = Memory { kind: MemoryKind::Other("preference".into()), run: None, ..memory("p", 0, "Tabs", "four") };
    fixture.store.remember(&preference).unwrap();
    let kept = fixture.store.list(1).unwrap().remove(0);
    assert_eq!(kept, StoredMemory { memory: preference, recalled: 0 });
    for (kind, name) in [(MemoryKind::Run, "run"), (MemoryKind::Fact, "fact"), (MemoryKind::Other("x".into()), "x")] {
        assert_eq!((kind.to_string(), MemoryKind::from(name.to_owned())), (name.to_owned(), kind));
    }
}
