//! What each key does, and what events make of it.

use aime_progress::{QuestionId, TaskId};
use serde_json::json;

use super::*;
use crate::{
    Key,
    testing::{asks, at_work, begun, goes, replanned, screen, takes},
};

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn question(id: &str) -> QuestionId {
    QuestionId::new(id).unwrap()
}

/// Presses keys: a letter each, `\n` for Enter, `\u{1b}` for Escape, `\u{3}` for Ctrl-C. Gives all acts.
fn presses(screen: &mut Screen, keys: &str) -> Vec<Act> {
    let key = |letter| match letter {
        '\n' => Key::Enter,
        '\u{1b}' => Key::Escape,
        '\u{3}' => Key::Ctrl('c'),
        other => Key::Char(other),
    };
    keys.chars().filter_map(|letter| screen.press(key(letter))).collect()
}

fn tells(to: Option<&str>, text: &str) -> Act {
    Act::Tell { task: to.map(task), text: text.to_owned() }
}

#[test]
fn keys_give_acts() {
    let cancels = |id: Option<&str>| Act::Cancel { task: id.map(task) };
    for (keys, acts) in [
        ("tnot by train\n", vec![tells(None, "not by train")]),
        ("t  \n", vec![]),
        ("tnever mind\u{1b}", vec![]),
        ("Twith rhymes\n", vec![tells(Some("poem"), "with rhymes")]),
        ("tpyx?\n", vec![tells(None, "pyx?")]),
        ("py", vec![Act::Pause]),
        ("pn", vec![]),
        ("p\n", vec![]),
        ("qy", vec![Act::Pause]),
        ("xy", vec![cancels(Some("poem"))]),
        ("x\u{1b}y", vec![]),
        ("jxy", vec![cancels(Some("party"))]),
        ("Xy", vec![cancels(None)]),
        ("\u{3}", vec![Act::Interrupt]),
        ("thalf a line\u{3}", vec![Act::Interrupt]),
        ("p\u{3}", vec![Act::Interrupt]),
        ("yna", vec![]),
        ("g?d\n\u{1b}l", vec![]),
    ] {
        assert_eq!(presses(&mut at_work(), keys), acts, "{keys:?}");
    }
}

#[test]
fn who_only_looks_leaves_the_run_alone() {
    let mut watching = screen(Part::Watches);
    let (began, words) = begun("walk");
    takes(&mut watching, 0, vec![(began, words.as_str())]);
    assert_eq!(presses(&mut watching, "q"), [Act::Leave]);
    assert_eq!(presses(&mut watching, "\u{3}"), [Act::Leave]);
    assert_eq!(presses(&mut watching, "py"), [Act::Pause], "another process carries it out");
    watching.set_driven(false);
    assert_eq!(presses(&mut watching, "py"), []);
    assert!(watching.notice.is_empty());
    assert_eq!(presses(&mut watching, "p"), []);
    assert!(watching.notice.contains("aime resume"), "{}", watching.notice);
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut screen = at_work();
    screen.press(Key::Home);
    for (keys, notice) in [("T", "sources has no actor"), ("jT", "find has no actor"), ("x", "find is completed")] {
        assert_eq!(presses(&mut screen, keys), [], "{keys}");
        assert!(screen.notice.contains(notice), "{keys}: {}", screen.notice);
    }
    let mut direct = crate::testing::screen(Part::Drives);
    takes(
        &mut direct,
        0,
        vec![
            (begun("walk").0, ""),
            (json!({"type": "routed", "mode": "direct", "by": "flag", "category": "", "reasons": []}), ""),
            (
                json!({"type": "plan_created", "plan": {"goal": "g", "edges": [], "tasks": [{"id": "walk", "kind": "actor", "description": "walk"}]}}),
                "",
            ),
        ],
    );
    assert_eq!(presses(&mut direct, "xy"), [], "its one task is the run");
    takes(&mut direct, 5, vec![(json!({"type": "run_status_changed", "from": "planning", "to": "cancelled"}), "")]);
    for keys in ["tx\n", "py", "Xy", "xy"] {
        assert_eq!(presses(&mut direct, keys), [], "a run that has ended hears nothing: {keys}");
    }
    assert_eq!(presses(&mut crate::testing::screen(Part::Drives), "xyTx\n"), [], "nor is there a task before the plan");
}

#[test]
fn questions_are_answered_in_their_order_and_once() {
    let mut screen = at_work();
    asks(&mut screen, "q1", "approval", "May it?");
    asks(&mut screen, "q2", "approval", "And this?\nAlways allows here: `bash(ls)`");
    asks(&mut screen, "q3", "question", "Where?");
    let answers = |id: &str, text: &str| Act::Answer { question: question(id), text: text.to_owned() };
    assert_eq!(presses(&mut screen, "a"), [], "always was not offered");
    assert_eq!(screen.question().map(|(question, open)| (question.id.as_str(), open)), Some(("q1", 3)));
    assert_eq!(presses(&mut screen, "n"), [answers("q1", "no")]);
    assert_eq!(presses(&mut screen, "a"), [answers("q2", "always")]);
    assert_eq!(presses(&mut screen, "yn\nin the garden\n"), [answers("q3", "in the garden")]);
    assert_eq!(presses(&mut screen, "yna"), []);
    assert!(screen.question().is_none(), "the answers are on their way");
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_away() {
    let mut screen = at_work();
    asks(&mut screen, "q1", "question", "Where?");
    takes(&mut screen, 41, vec![(json!({"type": "question_answered", "id": "q1", "answer": "here"}), "answer  here")]);
    assert!(screen.question().is_none());
    assert_eq!(presses(&mut screen, "y"), []);
}

#[test]
fn the_screen_follows_what_moves_until_somebody_goes_elsewhere() {
    let mut screen = at_work();
    let chosen = |screen: &Screen| screen.chosen().map(|task| task.spec.id.to_string());
    assert_eq!(chosen(&screen).as_deref(), Some("poem"));
    takes(&mut screen, 20, vec![(goes("poem", "running", "completed"), "")]);
    assert_eq!(chosen(&screen).as_deref(), Some("party"));
    screen.press(Key::Up);
    screen.press(Key::Up);
    assert_eq!(chosen(&screen).as_deref(), Some("find"));
    takes(&mut screen, 21, vec![(goes("party", "running", "completed"), "")]);
    assert_eq!(chosen(&screen).as_deref(), Some("find"), "it stays where one has gone");
    screen.press(Key::Escape);
    assert_eq!(chosen(&screen).as_deref(), Some("report"), "what comes next");
    for (key, id) in [(Key::Home, "sources"), (Key::End, "tidy"), (Key::Down, "tidy"), (Key::Up, "report")] {
        screen.press(key);
        assert_eq!(chosen(&screen).as_deref(), Some(id));
    }
}

#[test]
fn a_call_is_shown_until_it_ends() {
    let screen = replanned();
    let current = |id: &str| screen.actors.of(&task(id)).and_then(|actor| actor.current()).map(|call| call.what.clone());
    assert_eq!(current("poem").as_deref(), Some("write_file: 诗歌/春天.txt"));
    assert_eq!(current("party"), None, "it has ended");
    assert_eq!(screen.actors.of(&task("poem")).map(|actor| (actor.requests, actor.tokens)), Some((1, 12_345)));
}

#[test]
fn what_happened_is_bounded_and_stays_where_one_reads() {
    let mut screen = at_work();
    for number in 0..3_000 {
        screen.say(crate::testing::at(number), "word");
    }
    assert_eq!(screen.log.entries.len(), 1_000);
    let long: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
    screen.scroll.at = 5;
    screen.say(crate::testing::at(1), &long.join("\n"));
    let entry = screen.log.entries.back().unwrap();
    assert_eq!(entry.text.lines().count(), 14);
    assert!(entry.text.ends_with("… 87 more lines"), "{}", entry.text);
    assert_eq!(screen.scroll.at, 19, "what is read does not move");
}

#[test]
fn an_event_that_does_not_follow_leaves_the_view_as_it_was() {
    let mut screen = at_work();
    let before = screen.state().cloned();
    takes(&mut screen, 30, vec![(goes("nobody", "pending", "ready"), ""), (goes("find", "pending", "ready"), "")]);
    assert_eq!(screen.state().cloned(), before);
}
