//! Full-screen view in Chinese: the same pictures as in crates/terminal, translated.

use aime_messages::{Language, Message, message, stored::with_ids};
use aime_progress_management::{CallOutcome, TaskId, TaskStatus};
use aime_terminal::{Help, Hint, Key, Limits, Phrase, ProcessRole, Screen, Theme, english};
use ratatui_core::{buffer::Buffer, layout::Rect};

use super::*;
use crate::{
    i18n::in_language,
    screen::{full_screen::words_of, phrases::phrase_text},
};

/// Returns a run with a changed plan: one task done, one running, one failed, one waiting.
fn at_work(words: bool) -> Screen {
    let limits = Limits { tokens: Some(100_000), cost_usd: None, seconds: Some(600) };
    let mut screen = Screen::new(run(), ProcessRole::Driver, limits).with_always(|_| true);
    if words {
        screen = screen.with_words(phrase_text);
    }
    let task =
        |id: &str, name: &str, after: &[&str]| json!({"id": id, "kind": "actor", "name": name, "description": name, "dependencies": after});
    let mut events = vec![
        json!({"type": "run_started", "plan_id": "p", "goal": "把构建从 make 迁移到 just，并让持续集成使用它"}),
        json!({"type": "routed", "mode": "complex", "by": "rules", "category": "coding", "reasons": []}),
        json!({"type": "plan_created", "plan": {"goal": "g", "edges": [], "tasks": [
            {"id": "look", "kind": "tool", "tool": "glob", "name": "找出所有的 Makefile 🔎", "parameters": {"pattern": "**/Makefile"}},
            task("port", "把每个目标改写到 justfile 里，逐个核对它们的结果", &["look"]), task("ci", "让持续集成调用 just", &["look"]), task("check", "每个配方运行一次", &["port", "ci"])]}}),
        json!({"type": "run_status_changed", "from": "planning", "to": "executing"}),
    ];
    events.extend(starts("look"));
    events.push(
        json!({"type": "task_concluded", "task": "look", "conclusion": {"outcome": "success", "summary": "三个文件", "references": []}}),
    );
    events.push(goes("look", "running", "completed"));
    events.extend(starts("ci"));
    let stalled = message!("trigger-stalled", seconds = 7);
    let failed = message!("trigger-failed", number = 3, task = "ci", reason = stalled.clone());
    let stored = |message: &Message| with_ids(|| serde_json::to_value(message).unwrap());
    events.push(json!({"type": "task_status_changed", "task": "ci", "from": "running", "to": "failed", "attempt": 1, "for_good": true, "reason": stored(&stalled)}));
    events.push(json!({"type": "plan_changed", "decision": {"version": 2, "at": 1, "triggers": [{"kind": "task_failed", "priority": 90, "detail": stored(&failed)}],
        "patch": {"reasoning": "说明书有自己的构建。", "changes": [{"op": "add_task", "task": task("docs", "迁移说明书的构建", &["look"])}]}, "evidence": []}}));
    events.extend(starts("port"));
    events.push(json!({"type": "actor_created", "task": "port", "actor": "port-1", "profile": "sisyphus", "model": "gpt-5-mini", "tools": [], "reasons": []}));
    events.push(json!({"type": "model_called", "task": "port", "purpose": "act", "model": "gpt-5-mini", "spent": {"requests": 1, "input_tokens": 12_000, "output_tokens": 345, "cost_usd": 0.0123}, "duration_ms": 900}));
    events.push(json!({"type": "tool_call_started", "task": "port", "call": "1", "tool": "write_file", "parameters": {"path": "说明/构建.md", "content": "x"}}));
    events.extend(starts("docs"));
    for (second, value) in (0..).zip(events) {
        let published = PublishedEvent { seq: 1, at: Timestamp::from_millis(BEGIN + 1_000 * second), event: event(value) };
        let line = line_of(&published);
        screen.observe(published.at, &published.event, words_of(&published.event, line.as_deref()).as_deref());
    }
    screen
}

/// Returns the rows of a screen; a wide character takes two cells.
fn picture(screen: &mut Screen, (columns, rows): (u16, u16)) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    aime_terminal::render(screen, Timestamp::from_millis(BEGIN + 75_000), Theme::new(true), &mut buffer);
    let row = |y| {
        let (mut text, mut x) = (String::new(), 0);
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += u16::try_from(console::measure_text_width(symbol)).unwrap().max(1);
        }
        assert_eq!(x, columns, "a wide character stands half outside: {text:?}");
        text.trim_end().to_owned()
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

fn press(screen: &mut Screen, keys: &str) {
    for key in keys.chars() {
        screen.press(if key == '\n' { Key::Enter } else { Key::Char(key) }, Timestamp::from_millis(BEGIN));
    }
}

// Requirement: 19.1
#[test]
fn the_whole_screen_in_chinese() {
    in_language(Language::Chinese, || {
        for size in [(80, 24), (40, 20)] {
            let name = |what: &str| format!("{what}_zh_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name("at_work"), picture(&mut at_work(true), size));
            for (what, key) in [("help", "?"), ("task", "\n")] {
                let mut screen = at_work(true);
                press(&mut screen, key);
                insta::assert_snapshot!(name(what), picture(&mut screen, size));
            }
        }
        let mut screen = at_work(true);
        screen.observe(
            Timestamp::from_millis(BEGIN + 40_000),
            &event(json!({"type": "question_asked", "id": "q1", "task": "port", "kind": "approval",
                "question": "Run this command?\n    rm -r build\nAlways allows here: `bash(rm -r build)`"})),
            None,
        );
        insta::assert_snapshot!("approval_zh_80x24", picture(&mut screen, (80, 24)));
        press(&mut screen, "x");
        assert!(picture(&mut screen, (80, 24)).contains("取消任务 port 吗？ y / n"));
        screen.press(Key::Escape, Timestamp::from_millis(BEGIN));
        press(&mut screen, "tjia");
        assert!(picture(&mut screen, (80, 24)).contains("对运行说 > jia"));
    });
}

// Requirement: 19.1
#[test]
fn the_checklist_in_chinese() {
    in_language(Language::Chinese, || {
        for columns in [80, 40] {
            let view = render(&super::at_work(), &run(), BEGIN + 75_000, (columns, 24));
            assert!(view.lines().all(|line| console::measure_text_width(line) < columns), "{view}");
            insta::assert_snapshot!(format!("live_zh_{columns}"), bare(&view));
        }
    });
}

/// Checks that the English catalogue equals the view's built-in phrases.
#[test]
fn the_english_words_are_the_screens_own() {
    for size in [(80, 24), (40, 20), (120, 40)] {
        for keys in ["", "?", "\n", "g", "t", "T", "x", "X", "p", "k\n", "kT", "kkx"] {
            let (mut ours, mut its) = (at_work(true), at_work(false));
            press(&mut ours, keys);
            press(&mut its, keys);
            assert_eq!(picture(&mut ours, size), picture(&mut its, size), "{keys:?}");
        }
    }
}

// Requirement: 19.1
#[test]
fn every_phrase_has_both_languages() {
    use Phrase as P;
    let id = TaskId::new("port").unwrap();
    let (used, most) = ("1", "2");
    let question = Message::text("Run this command?\n    ls");
    let stalled = message!("trigger-stalled", seconds = 7);
    let mut each = vec![
        P::Beginning,
        P::Planning,
        P::Working,
        P::Replanning,
        P::WaitingForYou,
        P::NotUnderWay,
        P::Done,
        P::Failed,
        P::Cancelled,
        P::NoPlanYet,
        P::Version(2),
        P::DoneOf { done: 1, tasks: 1 },
        P::DoneOf { done: 1, tasks: 2 },
        P::Failures(1),
        P::Tokens("12,345"),
        P::TokensOf { used, most },
        P::TitlePlan,
        P::TitleAtWork,
        P::TitleLog,
        P::TitleGraph,
        P::TitleTask,
        P::TitleKeys,
        P::MoreBelow(3),
        P::More(3),
        P::Around { above: 0, below: 2 },
        P::Around { above: 1, below: 0 },
        P::Around { above: 1, below: 2 },
        P::FirstOf(2),
        P::MoreToRead(9),
        P::AndMore(5),
        P::LinesLeftOut(7),
        P::NoneYet,
        P::NoPlanToDraw,
        P::Attempt(2),
        P::AttemptNumber(2),
        P::ForGood,
        P::After("a, b"),
        P::WaitsForYou,
        P::Thinking,
        P::Report { status: "completed", message: "m" },
        P::CameTo("x"),
        P::Tool { tool: "grep", parameters: "{}" },
        P::Actor { profile: "atlas", model: "m", requests: 1, tokens: "12,345" },
        P::Reason(&stalled),
        P::Kind("approval"),
        P::Question(&question),
        P::Approves { always: true },
        P::Approves { always: false },
        P::Answers,
        P::SurePause,
        P::SureCancel(&id),
        P::SureEnd,
        P::Tells(None),
        P::Tells(Some(&id)),
        P::AnswersWith,
        P::HasEnded,
        P::NobodyCarries("r1"),
        P::NothingToTell,
        P::NothingToCancel,
        P::NobodyHears(&id),
        P::HasSettled(&id, TaskStatus::RolledBack),
        P::IsTheRun(&id),
    ];
    let statuses = [
        TaskStatus::Pending,
        TaskStatus::Ready,
        TaskStatus::Running,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Skipped,
        TaskStatus::RolledBack,
    ];
    each.extend(statuses.map(P::Status));
    each.extend([CallOutcome::Ok, CallOutcome::Error, CallOutcome::Cancelled, CallOutcome::InDoubt].map(|outcome| P::Call(Some(outcome))));
    each.extend(
        [
            Hint::Sends,
            Hint::GivesUp,
            Hint::Empties,
            Hint::Yes,
            Hint::No,
            Hint::Back,
            Hint::Scroll,
            Hint::ScrollPage,
            Hint::OtherTask,
            Hint::Help,
            Hint::Tell,
            Hint::TellIt,
            Hint::Task,
            Hint::Graph,
            Hint::Pause,
            Hint::Cancel,
            Hint::CancelIt,
            Hint::Leave,
            Hint::Stop,
        ]
        .map(P::Hint),
    );
    each.extend(
        [
            Help::Tell,
            Help::TellIt,
            Help::Approve,
            Help::Answer,
            Help::Cancel,
            Help::End,
            Help::Pause,
            Help::Stop,
            Help::Leave,
            Help::Move,
            Help::Task,
            Help::Graph,
            Help::Log,
            Help::Next,
            Help::Scroll,
            Help::Back,
            Help::Redraw,
            Help::Help,
            Help::Marks,
        ]
        .map(P::Help),
    );
    for phrase in each {
        assert_eq!(phrase_text(phrase), english(phrase), "{phrase:?}");
        let text = in_language(Language::Chinese, || phrase_text(phrase));
        assert!(text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter)), "{phrase:?}: {text}");
        if let P::Call(_) = phrase {
            assert!(console::measure_text_width(&text) <= 8, "{text}");
        }
    }
    for phrase in [P::Comma, P::Of { used, most }, P::Call(None)] {
        assert_eq!(phrase_text(phrase), english(phrase));
    }
}
