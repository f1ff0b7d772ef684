use std::collections::BTreeSet;

use aime_llm::ToolCall;
use aime_tools::cut_output;
use proptest::prelude::*;

use super::*;
use crate::marks::marked;

/// Number of messages at the end that compaction keeps.
const KEPT: usize = 6;
const BEGINNING_LEFT: Removal<'_> = Removal::Beginning { read_only: &|name| name == "read_file" };

fn turn(history: &mut History, at: usize, results: &[usize]) {
    let calls = (0..results.len()).map(|i| ToolCall { id: format!("c{at}-{i}"), name: "read_file".into(), arguments: "{}".into() });
    history.push(Message::assistant(String::new(), calls.collect()));
    history.all_seen();
    for (i, length) in results.iter().enumerate() {
        history.push(Message::tool(format!("c{at}-{i}"), "read_file", "x".repeat(*length)));
    }
}

fn history(turns: &[Vec<usize>]) -> History {
    let mut history = History::new("system".into(), Message::user("task"));
    for (at, results) in turns.iter().enumerate() {
        turn(&mut history, at, results);
    }
    history
}

/// Returns true if every call has its result after it and every result its call before it.
pub(crate) fn paired(messages: &[Arc<Message>]) -> bool {
    let mut open = BTreeSet::new();
    for message in messages {
        match message.as_ref() {
            Message::Assistant { tool_calls, .. } => {
                if !open.is_empty() {
                    return false;
                }
                open.extend(tool_calls.iter().map(|c| c.id.clone()));
            }
            Message::Tool { call_id, .. } => {
                if !open.remove(call_id) {
                    return false;
                }
            }
            Message::System { .. } | Message::User { .. } => {
                if !open.is_empty() {
                    return false;
                }
            }
        }
    }
    open.is_empty()
}

fn contents(history: &History) -> Vec<String> {
    let short = |m: &Arc<Message>| match m.as_ref() {
        Message::System { content } => format!("system: {content}"),
        Message::User { content, .. } => format!("user: {content}"),
        Message::Assistant { tool_calls, .. } => format!("assistant: {} calls", tool_calls.len()),
        Message::Tool { content, .. } if content.starts_with('x') => format!("tool: {} x", content.matches('x').count()),
        Message::Tool { content, .. } => format!("tool: {content}"),
    };
    history.messages().iter().map(short).collect()
}

#[test]
fn results_of_older_calls_go_first() {
    let mut history = history(&[vec![4_000], vec![50], vec![4_000], vec![4_000], vec![4_000]]);
    assert!(history.compact(4_000, "", KEPT, BEGINNING_LEFT));
    assert_eq!(
        contents(&history),
        [
            "system: system",
            "user: task",
            "assistant: 1 calls",
            "tool: 100 x",
            "assistant: 1 calls",
            "tool: 50 x",
            "assistant: 1 calls",
            "tool: 4000 x",
            "assistant: 1 calls",
            "tool: 4000 x",
            "assistant: 1 calls",
            "tool: 4000 x",
        ]
    );
}

/// Returns the remaining text of one removed result.
fn left_of(name: &str, content: &str, removal: Removal<'_>) -> String {
    let mut history = History::new("system".into(), Message::user("task"));
    for (tool, content) in [(name, content), ("todo", "0"), ("todo", "0"), ("todo", "0")] {
        let call = ToolCall { id: "c".into(), name: tool.into(), arguments: "{}".into() };
        history.push(Message::assistant(String::new(), vec![call]));
        history.push(Message::tool("c", tool, content));
    }
    history.all_seen();
    for _ in 0..2 {
        // A second compaction does not change the replacement.
        history.compact(10_000, "", KEPT, removal);
    }
    let Message::Tool { content, .. } = history.messages()[3].as_ref() else { panic!() };
    content.clone()
}

// Requirement: 4.37
#[test]
fn a_removed_result_leaves_its_beginning_and_how_to_have_it_again() {
    let (long, beginning) = ("x".repeat(4_000), "x".repeat(100));
    let cut = cut_output(&"x".repeat(40_000), 10_000, Some(".aime/runs/r/t/bash-1.txt")).into_owned();
    let whole = note_of_whole(&cut).unwrap();
    let data = marked("files", "c", &long);
    let (head, end) = (data.lines().next().unwrap(), data.lines().last().unwrap());
    for (name, content, expected) in [
        ("read_file", &long, format!("{beginning}…\n[output of read_file removed, 4000 characters; make the call again to see it]")),
        ("bash", &long, format!("{beginning}…\n[output of bash removed, 4000 characters]")),
        ("bash", &cut, format!("{beginning}…\n{whole}\n[output of bash removed, {} characters]", cut.chars().count())),
        ("read_file", &cut, format!("{beginning}…\n{whole}\n[output of read_file removed, {} characters]", cut.chars().count())),
        ("grep", &data, format!("{head}\n{beginning}…\n{end}\n[output of grep removed, {} characters]", data.chars().count())),
        ("bash", &"x".repeat(200), "x".repeat(200)),
    ] {
        assert_eq!(left_of(name, content, BEGINNING_LEFT), expected);
    }
    let small = left_of("read_file", &long, Removal::Size);
    assert_eq!(small, "[output of read_file removed, 4000 characters]", "small models have little room");
}

#[test]
fn a_note_goes_with_its_result_and_words_stay() {
    let data = marked("files", "c", &"x".repeat(4_000));
    for (result, left) in [("short", "short"), (data.as_str(), "[output of read_file removed")] {
        let mut history = History::new("system".into(), Message::user("task"));
        for at in 0..6 {
            history.push(Message::assistant(
                String::new(),
                vec![ToolCall { id: format!("c{at}"), name: "read_file".into(), arguments: "{}".into() }],
            ));
            history.all_seen();
            history.push(Message::tool(format!("c{at}"), "read_file", result));
            history.append_text("Go on.", Speaker::Runtime);
            history.append_text("The person says: slowly", Speaker::Person);
        }
        let counted = |history: &History| history.messages().iter().map(|m| message_tokens(m)).sum::<u64>();
        assert_eq!(history.tokens(), counted(&history));
        assert!(history.compact(100_000, "", KEPT, Removal::Size));
        assert_eq!(history.tokens(), counted(&history));
        let results: Vec<&str> = history
            .messages()
            .iter()
            .filter_map(|message| match message.as_ref() {
                Message::Tool { content, .. } => Some(content.as_str()),
                _ => None,
            })
            .collect();
        for (at, content) in results.iter().enumerate() {
            let old = at < 3;
            assert!(content.starts_with(if old { left } else { result }), "{at}: {content}");
            let end = if old { "\n\nThe person says: slowly" } else { "\n\nGo on.\n\nThe person says: slowly" };
            assert!(content.ends_with(end) && content.contains("Go on.") != old, "{at}: {content}");
        }
    }
}

#[test]
fn a_note_after_a_cut_result_stays_whole() {
    let mut history = History::new("system".into(), Message::user("task"));
    history.push(Message::assistant(String::new(), vec![ToolCall { id: "c".into(), name: "read_file".into(), arguments: "{}".into() }]));
    history.push(Message::tool("c", "read_file", marked("files", "c", &"x".repeat(8_000))));
    history.append_text("Go on.", Speaker::Runtime);
    assert!(history.compact(500, "", KEPT, BEGINNING_LEFT));
    let Message::Tool { content, .. } = history.messages()[3].as_ref() else { panic!() };
    let (cut, note) = content.rsplit_once("\n\n").unwrap();
    assert_eq!(note, "Go on.");
    assert!(cut.contains("of 8000 characters]\n[end "), "{cut}");
}

// Requirement: 4.26, 4.37, 4.38
#[test]
fn then_the_oldest_turns_and_the_todo_list_stays() {
    let mut history = history(&vec![vec![100]; 30]);
    assert!(history.compact(400, "Your TODO list:\n[ ] #1: go on", KEPT, BEGINNING_LEFT));
    let contents = contents(&history);
    let (task, note) = contents[1].split_once("\n\n").unwrap();
    assert_eq!(task, "user: task");
    assert!(note.starts_with("# Removed messages\n[Earlier messages were removed to save space.]"), "{note}");
    assert!(note.ends_with("\n\nYour TODO list:\n[ ] #1: go on"), "{note}");
    assert_eq!(contents[2], "assistant: 1 calls");
    assert!(contents.len() < 30 && contents.len() >= 8, "{contents:?}");
    assert!(history.tokens() <= 400);
    assert!(history.compact(200, "[x] #1: go on", KEPT, BEGINNING_LEFT));
    assert!(self::contents(&history)[1].ends_with("[x] #1: go on"), "the note is replaced, not repeated");
}

#[test]
fn at_last_long_results_are_cut() {
    let mut history = history(&[vec![8_000, 8_000, 100]]);
    assert!(history.compact(2_000, "", KEPT, BEGINNING_LEFT));
    assert!(history.tokens() <= 2_100, "{}", history.tokens());
    assert!(contents(&history)[5] == "tool: 100 x");
    assert!(matches!(history.messages()[3].as_ref(), Message::Tool { content, .. } if content.ends_with("of 8000 characters]")));
}

#[test]
fn a_history_that_cannot_be_shortened_stays() {
    let mut history = history(&[vec![10]]);
    let before = history.clone();
    assert!(!history.compact(5, "", KEPT, BEGINNING_LEFT));
    assert_eq!(history, before);
}

#[test]
fn a_note_that_is_longer_than_what_it_replaces_is_not_written() {
    let mut history = history(&vec![vec![1]; 6]);
    let before = history.clone();
    assert!(!history.compact(0, &"a long list of things to do ".repeat(20), KEPT, BEGINNING_LEFT));
    assert_eq!(history, before);
}

// Requirement: 4.36
#[test]
fn estimates_are_corrected() {
    let mut meter = TokenMeter::default();
    assert_eq!(meter.corrected(100), 100);
    meter.learn(100, 150);
    assert_eq!((meter.corrected(200), meter.estimate_of(300)), (300, 200));
    meter.learn(0, 5);
    assert_eq!(meter.corrected(100), 150);
}

proptest! {
    // Requirement: 4.17, 4.37
    #[test]
    fn compaction_keeps_pairs_and_the_end(
        turns in proptest::collection::vec(proptest::collection::vec(0usize..3_000, 0..4), 0..20),
        target in 0u64..6_000,
        small in any::<bool>(),
    ) {
        let mut history = history(&turns);
        history.append_text("Go on.", Speaker::Runtime);
        let before = history.clone();
        let changed = history.compact(target, "[ ] #1: t", KEPT, if small { Removal::Size } else { BEGINNING_LEFT });
        prop_assert!(paired(history.messages()));
        prop_assert_eq!(changed, history.tokens() < before.tokens());
        prop_assert!(changed || history == before);
        prop_assert_eq!(&history.messages()[0], &before.messages()[0]);
        let tail = |h: &History| contents(h).len().min(2 + KEPT);
        prop_assert!(tail(&history) >= tail(&before).min(2 + KEPT));
        let counted: u64 = history.messages().iter().map(|m| message_tokens(m)).sum();
        prop_assert_eq!(counted, history.tokens());
        prop_assert!(history.unseen_from <= history.messages().len());
        prop_assert!(turns.last().is_none_or(|results| results.is_empty()) || history.appended_to_last() == Some("Go on."));
    }
}
