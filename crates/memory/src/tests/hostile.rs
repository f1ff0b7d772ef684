use proptest::prelude::*;

use super::*;

const HOSTILE: &[&str] = &[
    "\"",
    "\"\"",
    "'",
    "*",
    "a*",
    "^a",
    "-a",
    "NOT a",
    "a AND",
    "OR",
    "a OR OR b",
    "NEAR(a b)",
    "NEAR(a, 5",
    "title:a",
    "{title text}: a",
    "(",
    ")",
    "((((",
    "a + b",
    "\0",
    "a\0b",
    "\u{202e}a",
    "'; DROP TABLE memory; --",
    "%",
    "_",
    "\\",
    "Ⓐ ℵ ²",
    "ﷺ",
    "\u{301}",
    "e\u{301}\u{302}",
    "𝒜𝓫",
    "𰻝𰻝",
];

#[test]
fn signs_of_query_languages_are_no_signs_here() {
    let (fixture, knowledge) = Fixture::knowing(&[("a.md", "a near title b")]);
    fixture.store.remember(&memory("m", 0, "a near title", "text or and not b")).unwrap();
    for question in HOSTILE {
        for _ in 0..2 {
            let outcome = (fixture.store.recall(question, 3), fixture.store.search(question, 3), knowledge.retrieve(question, 3));
            assert!(matches!(outcome, (Ok(_), Ok(_), Ok(_))), "{question:?}: {outcome:?}");
        }
    }
    // Texts that are hostile as questions are used as titles too.
    for (number, text) in HOSTILE.iter().enumerate() {
        fixture.store.remember(&memory(&format!("{text}{number}"), 0, text, text)).unwrap();
    }
    for (number, text) in HOSTILE.iter().enumerate() {
        let id = format!("{text}{number}");
        assert_eq!(fixture.store.get(&id).unwrap().map(|stored| stored.memory.id), Some(id));
    }
    assert_eq!(fixture.store.search("𰻝𰻝", 1).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// No question and no text is an error, and a memory is found again by its own words.
    #[test]
    fn any_text_is_a_question_and_a_memory(text in "\\PC{0,40}|.{0,40}|[a-zA-Z\"*(){}:^+-]{0,40}|[一-龥a-c 猫。🦀]{0,40}", question in ".{0,60}") {
        let (fixture, knowledge) = Fixture::knowing(&[("a.md", &text)]);
        fixture.store.remember(&memory(&text, 0, &text, &text)).unwrap();
        for question in [&text, &question] {
            fixture.store.recall(question, 3).unwrap();
            fixture.store.search(question, 3).unwrap();
            knowledge.retrieve(question, 3).unwrap();
        }
        if text.chars().any(|c| c.is_ascii_alphanumeric() || ('一'..='龥').contains(&c)) {
            let found = fixture.store.search(&text, 3).unwrap();
            prop_assert_eq!(ids(&found), [text.as_str()]);
        }
    }
}
