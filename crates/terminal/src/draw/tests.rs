//! Snapshots of whole screens.

use aime_progress_management::ProgressState;
use proptest::prelude::*;
use ratatui_core::{buffer::Buffer, layout::Rect, style::Color};
use serde_json::{Value, json};

use super::render;
use crate::{
    Key, ProcessRole, Screen, Theme,
    testing::{self, asks, at, at_work, for_the_book, observe_all, replanned, run_started, screen, status_change},
    text::width,
};

fn drawn(screen: &mut Screen, second: i64, (columns, rows): (u16, u16)) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    render(screen, at(second), Theme::new(true), &mut buffer);
    buffer
}

/// Returns the rows of a buffer without trailing spaces. A wide character takes two cells.
fn rows(buffer: &Buffer) -> Vec<String> {
    let area = *buffer.area();
    let row = |y| {
        let (mut text, mut x) = (String::new(), 0);
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += u16::try_from(width(symbol)).unwrap().max(1);
        }
        text.trim_end().to_owned()
    };
    (0..area.height).map(row).collect()
}

fn picture(screen: &mut Screen, second: i64, size: (u16, u16)) -> String {
    let rows = rows(&drawn(screen, second, size));
    for row in &rows {
        assert!(width(row) <= usize::from(size.0), "{row:?} is wider than {}", size.0);
    }
    rows.join("\n")
}

fn press(screen: &mut Screen, keys: &str) {
    for key in keys.chars() {
        let key = if key == '\n' { Key::Enter } else { Key::Char(key) };
        testing::press(screen, key);
    }
}

// Requirement: 12.12
#[test]
fn at_work_in_terminals_of_each_size() {
    for size in [(80, 24), (40, 20), (120, 40), (24, 8)] {
        insta::assert_snapshot!(format!("at_work_{}x{}", size.0, size.1), picture(&mut replanned(), 75, size));
    }
}

#[test]
fn before_the_plan_there_is_only_what_is_being_done() {
    let mut screen = screen(ProcessRole::Driver);
    assert!(picture(&mut screen, 0, (40, 8)).starts_with("beginning"));
    let (event, words) = run_started("walk there");
    observe_all(&mut screen, 0, vec![(event, &words)]);
    insta::assert_snapshot!(picture(&mut screen, 3, (60, 10)));
}

// Requirement: 12.13
#[test]
fn what_waits_for_what() {
    let mut screen = replanned();
    press(&mut screen, "g");
    insta::assert_snapshot!("graph_80x24", picture(&mut screen, 75, (80, 24)));
    insta::assert_snapshot!("graph_40x12", picture(&mut screen, 75, (40, 12)));
}

#[test]
fn all_about_a_task() {
    let mut screen = replanned();
    assert_eq!(testing::press(&mut screen, Key::Home), None);
    press(&mut screen, "jj\n");
    insta::assert_snapshot!("task_80x24", picture(&mut screen, 75, (80, 24)));
    press(&mut screen, "j");
    insta::assert_snapshot!("task_failed_80x24", picture(&mut screen, 75, (80, 24)));
}

#[test]
fn the_keys_are_told() {
    let mut screen = at_work();
    press(&mut screen, "?");
    insta::assert_snapshot!("help_80x24", picture(&mut screen, 75, (80, 24)));
    insta::assert_snapshot!("help_40x20", picture(&mut screen, 75, (40, 20)));
}

#[test]
fn a_question_is_asked_below_the_plan() {
    let mut screen = at_work();
    asks(&mut screen, "q1", "approval", "Run this command?\n  rm -r build \u{1b}[2J\nAlways allows here: `bash(rm -r build)`");
    asks(&mut screen, "q2", "question", "Which season? 哪个季节？");
    insta::assert_snapshot!("approval_80x24", picture(&mut screen, 75, (80, 24)));
    insta::assert_snapshot!("approval_40x20", picture(&mut screen, 75, (40, 20)));
    press(&mut screen, "y");
    assert!(picture(&mut screen, 75, (80, 24)).contains("Enter answers"));
    press(&mut screen, "\n春天");
    insta::assert_snapshot!("answer_80x24", picture(&mut screen, 75, (80, 24)));
}

// Requirement: 12.13
#[test]
fn of_a_long_question_each_line_can_be_read() {
    let mut screen = at_work();
    let lines: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
    asks(&mut screen, "q1", "approval", &lines.join("\n"));
    assert!(picture(&mut screen, 75, (80, 24)).contains("more lines: PgDn"));
    let mut seen = String::new();
    for _ in 0..20 {
        seen.push_str(&picture(&mut screen, 75, (80, 24)));
        testing::press(&mut screen, Key::PageDown);
    }
    assert!(lines.iter().all(|line| seen.contains(line.as_str())), "{seen}");
    assert!(!picture(&mut screen, 75, (80, 24)).contains("more lines"));
}

#[test]
fn what_is_typed_is_seen_to_its_end() {
    let mut screen = at_work();
    press(&mut screen, "tnot by train");
    let size = Rect::new(0, 0, 40, 12);
    let mut buffer = Buffer::empty(size);
    let cursor = render(&mut screen, at(75), Theme::new(true), &mut buffer).unwrap();
    assert_eq!(rows(&buffer)[10], "tell the run > not by train");
    assert_eq!((cursor.x, cursor.y), (27, 10));
    press(&mut screen, &"慢".repeat(40));
    let cursor = render(&mut screen, at(75), Theme::new(true), &mut buffer).unwrap();
    assert!(rows(&buffer)[10].ends_with("慢慢慢"), "{:?}", rows(&buffer)[10]);
    assert!(cursor.x < 40);
    testing::press(&mut screen, Key::Escape);
    press(&mut screen, "x");
    assert!(picture(&mut screen, 75, (80, 24)).contains("Cancel the task poem? y / n"));
}

#[test]
fn an_end_and_one_who_only_looks() {
    let mut screen = screen(ProcessRole::Watcher);
    let (event, words) = run_started("walk there");
    observe_all(
        &mut screen,
        0,
        vec![
            (event, words.as_str()),
            (
                json!({"type": "plan_created", "plan": {"goal": "g", "edges": [], "tasks": [{"id": "walk", "kind": "actor", "description": "walk"}]}}),
                "",
            ),
            (json!({"type": "run_status_changed", "from": "planning", "to": "executing"}), ""),
            (status_change("walk", "pending", "ready"), ""),
            (status_change("walk", "ready", "running"), "start   walk"),
        ],
    );
    screen.set_driven(false);
    insta::assert_snapshot!("left_60x12", picture(&mut screen, 10, (60, 12)));
    observe_all(
        &mut screen,
        20,
        vec![
            (status_change("walk", "running", "completed"), "done    walk"),
            (json!({"type": "run_status_changed", "from": "executing", "to": "completed"}), "run     completed"),
        ],
    );
    insta::assert_snapshot!("ended_60x12", picture(&mut screen, 500, (60, 12)));
}

fn many() -> Screen {
    let tasks: Vec<Value> = (1..=60)
        .map(|number| json!({"id": format!("t{number}"), "kind": "actor", "name": format!("task {number}"), "description": "x", "dependencies": if number > 50 { vec![format!("t{}", number - 1)] } else { vec![] }}))
        .collect();
    let mut screen = screen(ProcessRole::Driver);
    let (event, words) = run_started("many");
    observe_all(
        &mut screen,
        0,
        vec![(event, words.as_str()), (json!({"type": "plan_created", "plan": {"goal": "g", "tasks": tasks, "edges": []}}), "")],
    );
    for number in [3, 40] {
        observe_all(
            &mut screen,
            2,
            vec![
                (status_change(&format!("t{number}"), "pending", "ready"), ""),
                (status_change(&format!("t{number}"), "ready", "running"), "start"),
            ],
        );
    }
    observe_all(&mut screen, 5, vec![(status_change("t3", "running", "completed"), "done")]);
    screen
}

#[test]
fn of_many_tasks_those_around_the_one_at_work_are_shown() {
    let mut screen = many();
    insta::assert_snapshot!(picture(&mut screen, 75, (60, 18)));
    testing::press(&mut screen, Key::End);
    assert!(picture(&mut screen, 75, (60, 18)).contains("> [ ] task 60"));
    testing::press(&mut screen, Key::Home);
    assert!(picture(&mut screen, 75, (60, 18)).contains("> [ ] task 1\n"));
}

// Requirement: 12.14
#[test]
fn without_colours_there_are_none_and_nothing_is_lost() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    render(&mut replanned(), at(75), Theme::new(false), &mut buffer);
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let coloured = drawn(&mut replanned(), 75, (80, 24));
    assert!(coloured.content().iter().any(|cell| cell.fg == Color::Red));
    assert_eq!(rows(&buffer), rows(&coloured), "the same words with and without");
}

#[test]
fn nothing_from_outside_steers_the_terminal() {
    let evil = "\u{1b}[2Jgone\u{7} \u{202e}dna";
    let mut screen = screen(ProcessRole::Driver);
    observe_all(
        &mut screen,
        0,
        vec![
            (run_started(evil).0, evil),
            (
                json!({"type": "plan_created", "plan": {"goal": evil, "edges": [], "tasks": [{"id": "a", "kind": "actor", "name": evil, "description": evil, "completion_criteria": [evil]}]}}),
                evil,
            ),
            (status_change("a", "pending", "ready"), ""),
            (status_change("a", "ready", "running"), evil),
            (json!({"type": "tool_call_started", "task": "a", "call": "1", "tool": "bash", "parameters": {"command": evil}}), evil),
            (json!({"type": "progress_reported", "task": "a", "report": {"status": evil, "message": evil}}), evil),
            (json!({"type": "question_asked", "id": "q", "task": "a", "kind": evil, "question": evil}), evil),
        ],
    );
    for keys in ["", "\u{1b}d", "g"] {
        press(&mut screen, keys);
        let buffer = drawn(&mut screen, 9, (100, 40));
        for cell in buffer.content() {
            assert!(!cell.symbol().contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", cell.symbol());
        }
    }
}

// Requirement: 12.12
#[test]
fn the_book_shows_what_is_to_be_seen() {
    let book = include_str!("../../../../docs/src/guide/terminal.md");
    let mut screen = for_the_book();
    let whole = picture(&mut screen, 40, (80, 24));
    assert!(book.contains(&format!("```text\n{whole}\n```")), "docs/src/guide/terminal.md shows something else than\n{whole}");
    press(&mut screen, "g");
    let graph = picture(&mut screen, 40, (80, 24));
    let graph =
        graph.lines().skip_while(|line| !line.starts_with("── What")).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert!(book.contains(&format!("```text\n{graph}\n```")), "docs/src/guide/terminal.md shows something else than\n{graph}");
    for (key, _) in super::help::KEYS.iter().filter(|(key, _)| !key.is_empty()) {
        for key in key.split([' ', ',']).filter(|key| !key.is_empty()) {
            assert!(book.contains(&format!("`{key}`")), "docs/src/guide/terminal.md does not tell the key {key}");
        }
    }
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        any::<char>().prop_map(Key::Char),
        prop::sample::select(vec!['t', 'T', 'p', 'x', 'X', 'g', '?', 'l', 'd', 'y', 'n', 'a', 'q']).prop_map(Key::Char),
        prop::sample::select(vec!['u', 'w', 'k', 'a', 'e', 'l']).prop_map(Key::Ctrl),
        ".{0,40}".prop_map(Key::Paste),
        prop::sample::select(vec![
            Key::Enter,
            Key::Escape,
            Key::Tab,
            Key::Backspace,
            Key::Delete,
            Key::Up,
            Key::Down,
            Key::Left,
            Key::Right,
            Key::Home,
            Key::End,
            Key::PageUp,
            Key::PageDown
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks for arbitrary keys and terminal sizes that the screen is drawn, and that drawing does not change the run.
    // Requirement: 12.12
    #[test]
    fn every_key_at_every_size_is_drawn(keys in prop::collection::vec(any_key(), 0..30), columns in 0_u16..130, rows in 0_u16..45, asked in any::<bool>()) {
        let mut screen = replanned();
        if asked {
            asks(&mut screen, "q1", "approval", "May it?");
            asks(&mut screen, "q2", "question", "Where?");
        }
        let before: ProgressState = screen.state().unwrap().clone();
        for key in keys {
            testing::press(&mut screen, key);
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
            if let Some(cursor) = render(&mut screen, at(75), Theme::new(true), &mut buffer) {
                prop_assert!(cursor.x < columns && cursor.y < rows, "{cursor} outside of {columns}x{rows}");
            }
        }
        prop_assert_eq!(screen.state().unwrap(), &before);
    }
}
