//! Tests of the effects of keys and events.

use aime_progress_management::{QuestionId, TaskId};
use serde_json::json;

use super::*;
use crate::{
    Key,
    testing::{asks, at_work, observe_all, press, press_after, replanned, run_started, screen, show, status_change},
};

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn question(id: &str) -> QuestionId {
    QuestionId::new(id).unwrap()
}

fn key(letter: char) -> Key {
    match letter {
        '\n' => Key::Enter,
        '\u{1b}' => Key::Escape,
        '\u{3}' => Key::Ctrl('c'),
        other => Key::Char(other),
    }
}

/// Presses keys, with a drawing before each: one per letter, `\n` for Enter, `\u{1b}` for Escape, `\u{3}` for Ctrl-C. Returns all acts.
fn presses(screen: &mut Screen, keys: &str) -> Vec<UserAction> {
    let pressed = |letter| {
        show(screen);
        press(screen, key(letter))
    };
    keys.chars().filter_map(pressed).collect()
}

fn tell_act(to: Option<&str>, text: &str) -> UserAction {
    UserAction::Tell { task: to.map(task), text: text.to_owned() }
}

// Requirement: 12.8
#[test]
fn keys_give_acts() {
    let cancels = |id: Option<&str>| UserAction::Cancel { task: id.map(task) };
    for (keys, acts) in [
        ("tnot by train\n", vec![tell_act(None, "not by train")]),
        ("t  \n", vec![]),
        ("tnever mind\u{1b}", vec![]),
        ("Twith rhymes\n", vec![tell_act(Some("poem"), "with rhymes")]),
        ("tpyx?\n", vec![tell_act(None, "pyx?")]),
        ("py", vec![UserAction::Pause]),
        ("pn", vec![]),
        ("p\n", vec![]),
        ("qy", vec![UserAction::Pause]),
        ("xy", vec![cancels(Some("poem"))]),
        ("x\u{1b}y", vec![]),
        ("jxy", vec![cancels(Some("party"))]),
        ("Xy", vec![cancels(None)]),
        ("\u{3}", vec![UserAction::Interrupt]),
        ("thalf a line\u{3}", vec![UserAction::Interrupt]),
        ("p\u{3}", vec![UserAction::Interrupt]),
        ("yna", vec![]),
        ("g?d\n\u{1b}l", vec![]),
    ] {
        assert_eq!(presses(&mut at_work(), keys), acts, "{keys:?}");
    }
}

// Requirement: 12.17
#[test]
fn who_only_looks_leaves_the_run_alone() {
    let mut watching = screen(ProcessRole::Watcher);
    let (began, words) = run_started("walk");
    observe_all(&mut watching, 0, vec![(began, words.as_str())]);
    assert_eq!(presses(&mut watching, "q"), [UserAction::Leave]);
    assert_eq!(presses(&mut watching, "\u{3}"), [UserAction::Leave]);
    assert_eq!(presses(&mut watching, "py"), [UserAction::Pause], "another process carries it out");
    watching.set_driven(false);
    assert_eq!(presses(&mut watching, "py"), []);
    assert!(watching.notice.is_empty());
    assert_eq!(presses(&mut watching, "p"), []);
    assert!(watching.notice.contains("aime resume"), "{}", watching.notice);
    assert_eq!(presses(&mut watching, "Xy"), [UserAction::Cancel { task: None }], "that needs no other process");
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut screen = at_work();
    press(&mut screen, Key::Home);
    for (keys, notice) in [("T", "sources has no actor"), ("jT", "find has no actor"), ("x", "find is completed")] {
        assert_eq!(presses(&mut screen, keys), [], "{keys}");
        assert!(screen.notice.contains(notice), "{keys}: {}", screen.notice);
    }
    let mut direct = crate::testing::screen(ProcessRole::Driver);
    observe_all(
        &mut direct,
        0,
        vec![
            (run_started("walk").0, ""),
            (json!({"type": "routed", "mode": "direct", "by": "flag", "category": "", "reasons": []}), ""),
            (
                json!({"type": "plan_created", "plan": {"goal": "g", "edges": [], "tasks": [{"id": "walk", "kind": "actor", "description": "walk"}]}}),
                "",
            ),
        ],
    );
    assert_eq!(presses(&mut direct, "xy"), [], "its one task is the run");
    observe_all(&mut direct, 5, vec![(json!({"type": "run_status_changed", "from": "planning", "to": "cancelled"}), "")]);
    for keys in ["tx\n", "py", "Xy", "xy"] {
        assert_eq!(presses(&mut direct, keys), [], "a run that has ended hears nothing: {keys}");
    }
    assert_eq!(presses(&mut crate::testing::screen(ProcessRole::Driver), "xyTx\n"), [], "nor is there a task before the plan");
}

#[test]
fn a_prompt_does_nothing_after_the_end() {
    let run_ended = json!({"type": "run_status_changed", "from": "executing", "to": "completed"});
    let task_ended = status_change("poem", "running", "completed");
    for (opened, finished, end, notice) in [
        ("X", "y", &run_ended, "the run has ended"),
        ("p", "y", &run_ended, "the run has ended"),
        ("x", "y", &run_ended, "the run has ended"),
        ("thello", "\n", &run_ended, "the run has ended"),
        ("x", "y", &task_ended, "poem is completed"),
        ("Thello", "\n", &task_ended, "poem is completed"),
    ] {
        let mut screen = at_work();
        assert_eq!(presses(&mut screen, opened), []);
        observe_all(&mut screen, 20, vec![(end.clone(), "")]);
        assert_eq!(presses(&mut screen, finished), [], "{opened}");
        assert_eq!(screen.notice, notice, "{opened}");
    }
}

// Requirement: 12.8
#[test]
fn questions_are_answered_in_their_order_and_once() {
    let mut screen = at_work();
    asks(&mut screen, "q1", "approval", "May it?");
    asks(&mut screen, "q2", "approval", "And this?\nAlways allows here: `bash(ls)`");
    asks(&mut screen, "q3", "question", "Where?");
    let answers = |id: &str, text: &str| UserAction::Answer { question: question(id), text: text.to_owned() };
    assert_eq!(presses(&mut screen, "a"), [], "always was not offered");
    assert_eq!(screen.question().map(|(question, open)| (question.id.as_str(), open)), Some(("q1", 3)));
    assert_eq!(presses(&mut screen, "n"), [answers("q1", "no")]);
    assert_eq!(presses(&mut screen, "a"), [answers("q2", "always")]);
    assert_eq!(presses(&mut screen, "yn\nin the garden\n"), [answers("q3", "in the garden")]);
    assert_eq!(presses(&mut screen, "yna"), []);
    assert!(screen.question().is_none(), "the answers are on their way");
}

#[test]
fn an_empty_answer_lets_a_run_go_on() {
    for (kind, goes_on) in [("blocked", true), ("escalation", true), ("question", false), ("criterion", false)] {
        for keys in ["\n\n", "a  \n"] {
            let mut screen = at_work();
            asks(&mut screen, "q1", kind, "The key is missing.");
            let acts = presses(&mut screen, keys);
            assert_eq!(answered(&acts), if goes_on { vec![("q1", "")] } else { vec![] }, "{kind} {keys:?}");
            assert_eq!(screen.question().is_none(), goes_on, "{kind} {keys:?}");
        }
    }
    // A key that is held down opens the line and sends nothing.
    let mut screen = at_work();
    asks(&mut screen, "q1", "blocked", "The key is missing.");
    for _ in 0..50 {
        show(&mut screen);
        assert_eq!(press_after(&mut screen, Key::Enter, 30), None);
    }
    assert_eq!(answered(&Vec::from_iter(press_after(&mut screen, Key::Enter, 1_000))), [("q1", "")]);
}

/// Returns a screen with two open approvals, of which the first has been drawn.
fn asked_twice() -> Screen {
    let mut screen = at_work();
    asks(&mut screen, "q1", "approval", "May it?");
    asks(&mut screen, "q2", "approval", "And this?\nAlways allows here: `bash(ls)`");
    show(&mut screen);
    screen
}

fn answered(acts: &[UserAction]) -> Vec<(&str, &str)> {
    let mut answers = Vec::new();
    for act in acts {
        if let UserAction::Answer { question, text } = act {
            answers.push((question.as_str(), text.as_str()));
        }
    }
    answers
}

// Requirement: 12.13
#[test]
fn a_question_that_was_not_drawn_is_answered_by_no_key() {
    // Keys that are queued when the first question is answered do not answer the second.
    for keys in ["yy", "yn", "ya", "nya", "y\u{1b}y", "yYN"] {
        let mut screen = asked_twice();
        let acts: Vec<UserAction> = keys.chars().filter_map(|letter| press(&mut screen, key(letter))).collect();
        let first = if keys.starts_with('y') { "yes" } else { "no" };
        assert_eq!(answered(&acts), [("q1", first)], "{keys:?}");
        show(&mut screen);
        assert_eq!(answered(&presses(&mut screen, "a")), [("q2", "always")], "{keys:?}");
    }
    // Keys do not answer a question that has come up since the last picture.
    let mut screen = at_work();
    show(&mut screen);
    asks(&mut screen, "q1", "approval", "May it?");
    assert_eq!(press(&mut screen, Key::Char('y')), None);
    show(&mut screen);
    assert!(press(&mut screen, Key::Char('y')).is_some());
    // Keys do not answer a question for which the picture has no room.
    let mut screen = asked_twice();
    for size in [(1, 24), (80, 0), (80, 1)] {
        crate::render(
            &mut screen,
            crate::testing::at(75),
            crate::Theme::new(false),
            &mut ratatui_core::buffer::Buffer::empty(ratatui_core::layout::Rect::new(0, 0, size.0, size.1)),
        );
        assert_eq!(press(&mut screen, Key::Char('y')), None, "{size:?}");
    }
    // Keys do not open an input line for it either.
    let mut screen = at_work();
    asks(&mut screen, "q1", "question", "Where?");
    for key in [Key::Enter, Key::Char('a')] {
        press(&mut screen, key);
        assert!(matches!(screen.prompt, Prompt::None));
    }
}

// Requirement: 12.13
#[test]
fn a_key_that_is_held_down_answers_one_question() {
    for millis in [0, 30, 999, -60_000] {
        let mut screen = asked_twice();
        assert!(press(&mut screen, Key::Char('y')).is_some());
        for _ in 0..50 {
            show(&mut screen);
            assert_eq!(press_after(&mut screen, Key::Char('y'), millis), None, "{millis}");
            assert!(screen.notice.contains("let go"), "{}", screen.notice);
        }
        show(&mut screen);
        assert_eq!(answered(&Vec::from_iter(press_after(&mut screen, Key::Char('y'), 1_000))), [("q2", "yes")]);
    }
    // Another key in between shows that the first key was released.
    let mut screen = asked_twice();
    assert!(press(&mut screen, Key::Char('y')).is_some());
    show(&mut screen);
    assert!(press_after(&mut screen, Key::Char('n'), 10).is_some());
    // A confirmation of something else does not answer the question either.
    let mut screen = asked_twice();
    assert_eq!(presses(&mut screen, "xy"), [UserAction::Cancel { task: Some(task("poem")) }]);
    assert_eq!(press_after(&mut screen, Key::Char('y'), 30), None);
    // Keys that only move the view may be held down.
    assert!(screen.selected_task().is_some_and(|task| task.spec.id.as_str() == "poem"));
    for id in ["find", "sources", "sources"] {
        press_after(&mut screen, Key::Up, 30);
        assert_eq!(screen.selected_task().map(|task| task.spec.id.as_str()), Some(id));
    }
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_away() {
    let mut screen = at_work();
    asks(&mut screen, "q1", "question", "Where?");
    observe_all(&mut screen, 41, vec![(json!({"type": "question_answered", "id": "q1", "answer": "here"}), "answer  here")]);
    assert!(screen.question().is_none());
    assert_eq!(presses(&mut screen, "y"), []);
}

#[test]
fn the_screen_follows_what_moves_until_somebody_goes_elsewhere() {
    let mut screen = at_work();
    let chosen = |screen: &Screen| screen.selected_task().map(|task| task.spec.id.to_string());
    assert_eq!(chosen(&screen).as_deref(), Some("poem"));
    observe_all(&mut screen, 20, vec![(status_change("poem", "running", "completed"), "")]);
    assert_eq!(chosen(&screen).as_deref(), Some("party"));
    press(&mut screen, Key::Up);
    press(&mut screen, Key::Up);
    assert_eq!(chosen(&screen).as_deref(), Some("find"));
    observe_all(&mut screen, 21, vec![(status_change("party", "running", "completed"), "")]);
    assert_eq!(chosen(&screen).as_deref(), Some("find"), "it stays where one has gone");
    press(&mut screen, Key::Escape);
    assert_eq!(chosen(&screen).as_deref(), Some("report"), "what comes next");
    for (key, id) in [(Key::Home, "sources"), (Key::End, "tidy"), (Key::Down, "tidy"), (Key::Up, "report")] {
        press(&mut screen, key);
        assert_eq!(chosen(&screen).as_deref(), Some(id));
    }
}

#[test]
fn a_call_is_shown_until_it_ends() {
    let screen = replanned();
    let current = |id: &str| screen.actors.of(&task(id)).and_then(|actor| actor.current()).map(|call| call.description.clone());
    assert_eq!(current("poem").as_deref(), Some("write_file: 诗歌/春天.txt"));
    assert_eq!(current("party"), None, "it has ended");
    assert_eq!(screen.actors.of(&task("poem")).map(|actor| (actor.requests, actor.tokens)), Some((1, 12_345)));
}

#[test]
fn what_happened_is_bounded_and_stays_where_one_reads() {
    let mut screen = at_work();
    for number in 0..3_000 {
        screen.log_note(crate::testing::at(number), "word");
    }
    assert_eq!(screen.log.entries.len(), 1_000);
    let long: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
    screen.scroll.at = 5;
    screen.log_note(crate::testing::at(1), &long.join("\n"));
    let entry = screen.log.entries.back().unwrap();
    assert_eq!(entry.text.lines().count(), 14);
    assert!(entry.text.ends_with("… 87 more lines"), "{}", entry.text);
    assert_eq!(screen.scroll.at, 19, "what is read does not move");
}

// Requirement: 12.12
#[test]
fn an_event_that_does_not_follow_leaves_the_view_as_it_was() {
    let mut screen = at_work();
    let before = screen.state().cloned();
    observe_all(&mut screen, 30, vec![(status_change("nobody", "pending", "ready"), ""), (status_change("find", "pending", "ready"), "")]);
    assert_eq!(screen.state().cloned(), before);
}
