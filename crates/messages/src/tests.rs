//! Tests that the catalogues match each other and the code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, Pattern, PatternElement},
    parser,
};

use super::{
    Language, Message, Value, format, innermost, message,
    sentence::{Part, sentences},
    stored::with_ids,
    texts,
};

/// Ids of messages, with the names of the values of each.
type Messages = BTreeMap<String, BTreeSet<String>>;

fn messages(language: Language) -> Messages {
    let mut found = Messages::new();
    for text in texts(language) {
        let resource = parser::parse(*text).unwrap_or_else(|(_, faults)| panic!("{faults:?}\n{text}"));
        for entry in resource.body {
            match entry {
                Entry::Message(message) => {
                    let mut values = BTreeSet::new();
                    values_of(message.value.as_ref().unwrap(), &mut values);
                    assert!(found.insert(message.id.name.to_owned(), values).is_none(), "{} is there twice", message.id.name);
                }
                Entry::Comment(_) | Entry::GroupComment(_) | Entry::ResourceComment(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    found
}

fn values_of(pattern: &Pattern<&str>, values: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        match element {
            PatternElement::Placeable { expression: Expression::Inline(InlineExpression::VariableReference { id }) } => {
                values.insert(id.name.to_owned());
            }
            PatternElement::Placeable { expression: Expression::Select { selector, variants } } => {
                if let InlineExpression::VariableReference { id } = selector {
                    values.insert(id.name.to_owned());
                }
                variants.iter().for_each(|variant| values_of(&variant.value, values));
            }
            _ => {}
        }
    }
}

// Requirement: 19.4
#[test]
fn each_catalogue_has_every_message_with_the_same_values() {
    let (english, chinese) = (messages(Language::English), messages(Language::Chinese));
    assert!(english.len() > 200, "{}", english.len());
    for (id, values) in &english {
        assert_eq!(chinese.get(id), Some(values), "{id} in messages/zh");
    }
    let only: Vec<_> = chinese.keys().filter(|id| !english.contains_key(*id)).collect();
    assert!(only.is_empty(), "messages/en lacks {only:?}");
    let chinese_texts = texts(Language::Chinese).concat();
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    assert!(chinese_texts.chars().filter(|c| is_chinese(*c)).count() > 2_000, "the Chinese catalogue is Chinese");
    assert!(!texts(Language::English).concat().chars().any(is_chinese), "the English one is not");
}

/// Collects every source of a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the uses of a macro in a text: ids with the names of values.
fn uses(text: &str, name: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found = Vec::new();
    for (place, _) in text.match_indices(name) {
        let Some(rest) = text[place + name.len()..].trim_start().strip_prefix('"') else { continue };
        let Some((id, rest)) = rest.split_once('"') else { continue };
        let (mut depth, mut quoted, mut previous, mut inner) = (1_u32, false, ' ', String::new());
        for letter in rest.chars() {
            match letter {
                '"' if previous != '\\' => quoted = !quoted,
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            inner.push(if depth > 1 || quoted { ' ' } else { letter });
            previous = letter;
        }
        let names = inner.split(',').map(|value| value.split('=').next().unwrap_or_default().trim());
        let values = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        found.push((id.to_owned(), values));
    }
    found
}

// Requirement: 19.4
#[test]
fn code_and_catalogues_have_the_same_messages() {
    let known = messages(Language::English);
    let mut files = Vec::new();
    sources(&crates(), &mut files);
    let mut wrong = Vec::new();
    let quoted: BTreeSet<&str> = files.iter().flat_map(|(_, text)| text.split('"')).collect();
    for (path, text) in &files {
        if path.ends_with("i18n.rs") || path.starts_with(env!("CARGO_MANIFEST_DIR")) {
            continue;
        }
        for (id, values) in uses(text, "msg!(").into_iter().chain(uses(text, "message!(")) {
            if known.get(&id) != Some(&values) {
                wrong.push(format!("{}: {id} with {values:?} instead of {:?}", path.display(), known.get(&id)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Messages of these kinds are looked up by a word.
    let by_word = [
        "asked-",
        "help-",
        "typed-",
        "count-",
        "status-",
        "ended-",
        "owner-",
        "checked-",
        "conflict-",
        "code-",
        "mode-",
        "by-",
        "purpose-",
        "outcome-",
        "did-",
        "kind-",
        "answer-",
        "bound-",
        "thing-",
        "undo-effect-",
        "permissions-",
        "place-",
        "spent-",
    ];
    let unused: Vec<_> =
        known.keys().filter(|id| !by_word.iter().any(|kind| id.starts_with(kind))).filter(|id| !quoted.contains(id.as_str())).collect();
    assert!(unused.is_empty(), "nobody says {unused:?}");
}

/// Returns a source with the line breaks of its long texts removed.
fn unbroken(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut pieces = text.split("\\\n");
    joined.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        joined.push_str(piece.trim_start());
    }
    // A doc comment of several lines is one help text.
    let lines: Vec<&str> = joined.split("\n").map(|line| line.trim_start_matches([' ', '\t'])).collect();
    let joined = lines.join("\n").replace("\n/// ", " ");
    joined.replace("\\\"", "\"").replace("{{", "{").replace("}}", "}")
}

/// A sentence that no source contains any more in these words would no longer be recognised, and stay English.
// Requirement: 19.4
#[test]
fn every_sentence_that_is_recognised_is_said_somewhere() {
    let mut files = Vec::new();
    sources(&crates(), &mut files);
    let all: String = files.iter().map(|(_, text)| unbroken(text)).collect();
    let mut unsaid = Vec::new();
    for sentence in ["asked-", "help-"].into_iter().flat_map(sentences) {
        for part in &sentence.parts {
            let Part::Text(text) = part else { continue };
            let fixed = text.trim_matches([' ', '.', ',', ':', ';', '(', ')', '`', '[', ']', '?']);
            if !all.contains(fixed) {
                unsaid.push((sentence.id, fixed.to_owned()));
            }
        }
        assert!(sentence.parts.iter().any(|part| matches!(part, Part::Text(_))), "{} fits everything", sentence.id);
    }
    assert!(unsaid.is_empty(), "no source says {unsaid:#?}");
}

/// Returns the names of the values by which a pattern chooses a form.
fn selectors<'a>(pattern: &Pattern<&'a str>) -> BTreeSet<&'a str> {
    let selector = |element: &PatternElement<&'a str>| match element {
        PatternElement::Placeable { expression: Expression::Select { selector: InlineExpression::VariableReference { id }, .. } } => {
            Some(id.name)
        }
        _ => None,
    };
    pattern.elements.iter().filter_map(selector).collect()
}

#[test]
fn counts_have_their_plural_forms() {
    let mut table = String::new();
    for text in texts(Language::English) {
        for entry in parser::parse(*text).unwrap_or_else(|(_, faults)| panic!("{faults:?}")).body {
            let Entry::Message(message) = entry else { continue };
            let pattern = message.value.as_ref().unwrap();
            let (counts, mut names) = (selectors(pattern), BTreeSet::new());
            values_of(pattern, &mut names);
            for number in (0..3).filter(|_| !counts.is_empty()) {
                let value = |name: &str| if counts.contains(name) { Value::Number(number) } else { Value::Text("…".to_owned()) };
                let values: Vec<_> = names.iter().map(|name| (name.as_str(), value(name))).collect();
                let [english, chinese] =
                    [Language::English, Language::Chinese].map(|language| format(language, message.id.name, &values).unwrap());
                table.push_str(&format!("{}: {english} | {chinese}\n", message.id.name));
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// A number before a plural noun needs a plural form: `1 tasks` is wrong.
#[test]
fn numbers_before_nouns_have_plural_forms() {
    let mut wrong = Vec::new();
    for text in texts(Language::English) {
        // A number that chooses a form is on a line of its own.
        for line in text.lines().filter(|line| !line.starts_with([' ', '#'])) {
            for (place, _) in line.match_indices("{$") {
                let Some((name, rest)) = line[place + 2..].split_once("} ") else { continue };
                let is_number = NUMBERS.iter().any(|number| name.split('-').next() == Some(number));
                let word = rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
                let is_noun = word.len() > 1 && word.ends_with('s') && !["is", "was", "has", "becomes", "does"].contains(&word);
                if is_number && is_noun && !line.starts_with("asked-") {
                    wrong.push(line);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "use a plural form: {wrong:#?}");
}

/// Names of values that are numbers.
const NUMBERS: [&str; 13] =
    ["commits", "number", "count", "seconds", "tokens", "requests", "lines", "limit", "most", "bytes", "used", "left", "done"];

#[test]
fn a_message_renders_its_values() {
    let inner = message!("count-task", number = 1_u32);
    let path = PathBuf::from("a/b");
    let table = [
        (message!("no-plan", run = "r1"), "run r1 has no plan", "运行 r1 没有计划"),
        (message!("no-plan", run = path.display()), "run a/b has no plan", "运行 a/b 没有计划"),
        (message!("no-plan", run = inner), "run 1 task has no plan", "运行 1 个任务 没有计划"),
        (message!("no-plan", run = &inner), "run 1 task has no plan", "运行 1 个任务 没有计划"),
        (message!("count-task", number = 2_usize), "2 tasks", "2 个任务"),
        (message!("count-task", number = 1_234_567), "1234567 tasks", "1234567 个任务"),
        (message!("no-such-message"), "no-such-message", "no-such-message"),
        (Message::text("as it is"), "as it is", "as it is"),
    ];
    for (message, english, chinese) in table {
        assert_eq!(message.to_string(), english);
        assert_eq!(message.render(Language::Chinese), chinese);
    }
}

#[test]
fn a_stored_message_keeps_its_id_and_values() {
    let message = message!("no-plan", run = message!("count-task", number = 2));
    let list = Message::list("; ", &[message.clone(), Message::text("as it is")]);
    let both = [message, list];
    let plain = serde_json::to_value(&both).unwrap();
    assert_eq!(plain, serde_json::json!(["run 2 tasks has no plan", "run 2 tasks has no plan; as it is"]));
    let stored = with_ids(|| serde_json::to_value(&both).unwrap());
    assert_eq!(stored[0]["id"], "no-plan");
    let chinese = |written: &serde_json::Value| {
        let read: [Message; 2] = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(read, both, "the English texts are equal");
        read.map(|message| message.render(Language::Chinese))
    };
    assert_eq!(chinese(&stored), ["运行 2 个任务 没有计划", "运行 2 个任务 没有计划；as it is"]);
    assert_eq!(chinese(&plain), ["run 2 tasks has no plan", "run 2 tasks has no plan; as it is"]);
    let mut gone = stored;
    gone[0]["id"] = "no-such-message".into();
    assert_eq!(chinese(&gone)[0], "run 2 tasks has no plan", "an unknown id leaves the English text");
    assert_eq!(serde_json::to_value(&both).unwrap(), plain, "the scope has ended");
}

#[test]
fn the_last_cause_of_an_error_is_found() {
    #[derive(Debug)]
    struct Failure(Option<Box<Failure>>, &'static str);
    impl std::fmt::Display for Failure {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.1)
        }
    }
    impl std::error::Error for Failure {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            self.0.as_deref().map(|source| source as _)
        }
    }
    let first = || Box::new(Failure(None, "connection refused"));
    assert_eq!(innermost(&*first()), "connection refused");
    assert_eq!(innermost(&Failure(Some(Box::new(Failure(Some(first()), "tcp"))), "transport error")), "connection refused");
}
