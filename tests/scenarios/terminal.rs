//! The view that takes the whole terminal, driven by keys through a real one.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::{
    harness::{World, actor, bash, done, gives_up, messages_text, plan, task, tool, wait_until},
    pty::AtTerminal,
};

const SIZE: (u16, u16) = (100, 24);
const RUN: &str = "AIME run 'walk there' --mode direct --run-id trip";

/// A direct run `trip` whose actor waits for the file `go`, and ends when it has heard what is said.
fn direct() -> World {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("slowly"), [done("walked slowly")])
        .on(When::tools(), [done("walked")]);
    World::with(script)
}

/// A run `trip` of four tasks: a tool that has ended, two actors that wait for the file `go`, and one after them.
fn several() -> World {
    let waits = |name: &str| bash(&format!("touch {name}; until test -e go; do sleep 0.1; done"));
    let mut find = tool("find", "grep", json!({"pattern": "TODO", "path": "."}), &[]);
    find["name"] = json!("找出所有的待办事项 🔎");
    let mut walk = actor("walk", "WALK-ON", &["find"]);
    walk["name"] = json!("Walk to the lake, and round it as far as the old mill");
    let tasks = [find, walk, actor("sing", "SING-ALONG", &["find"]), actor("rest", "REST-THERE", &["walk", "sing"])];
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&tasks))])
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [waits("walking")])
        .on(When::tools().and_contains("SING-ALONG").and_turn(0), [waits("singing")])
        .on(When::tools().and_contains("WALK-ON"), [done("walked")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("我们到了。 We are there.")]);
    let world = World::with(script).in_one_folder();
    world.file("notes.txt", "TODO: rest\n");
    world
}

const SEVERAL: &str = "AIME run 'walk there, sing and rest' --mode complex --approve all --run-id trip";

/// The view of [`several`] while both wait; nothing where the system has no terminal to give.
fn several_at_work(world: &World, flags: &str, size: (u16, u16)) -> AtTerminal {
    let terminal = world.terminal(&format!("exec {SEVERAL} {flags}"), size);
    world.wait_for_file("walking");
    world.wait_for_file("singing");
    terminal
}

/// How often something was said to the run.
fn words(world: &World) -> usize {
    world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).events("evidence_added").len()
}

/// Compares what is on the screen, without what differs from run to run.
macro_rules! assert_screen {
    ($name:expr, $terminal:expr) => {{
        let mut settings = insta::Settings::clone_current();
        // Times and tokens, and the room that they leave.
        settings.add_filter(r" *\d+:\d\d · [\d,]+ tokens", "   0:00 · N tokens");
        settings.add_filter(r"\b\d+:\d\d\b", "0:00");
        settings.bind(|| insta::assert_snapshot!($name, $terminal.screen()));
    }};
}

// Requirement: 12.12
#[test]
fn the_plan_at_work_in_terminals_of_each_size() {
    for size in [(80, 24), (40, 20), (120, 40)] {
        let world = several();
        let terminal = several_at_work(&world, "", size);
        terminal.shows(&["bash: touch wa", "bash: touch si", "start   sing"]);
        assert_screen!(format!("at_work_{}x{}", size.0, size.1), terminal);
        world.file("go", "");
        let left = terminal.ends().must(0).took_all(true);
        for text in ["route", "4 of 4 tasks done", "[x] rest", "我们到了。 We are there.", "completed"] {
            assert!(left.text.contains(text), "{text} stays\n{}", left.text);
        }
    }
}

// Requirement: 12.14
#[test]
fn it_follows_the_size_of_the_terminal() {
    let world = several();
    let mut terminal = several_at_work(&world, "", (120, 40));
    terminal.shows(&["Ctrl-C stop", "bash: touch"]);
    terminal.resize((40, 12));
    terminal.hides("Ctrl-C stop");
    terminal.shows(&["? help", "[x]"]);
    assert!(terminal.screen().lines().count() <= 12, "{}", terminal.screen());
    terminal.types("g");
    terminal.shows(&["What waits for what", "x find: 找出所有的待办事项 🔎"]);
    terminal.resize((100, 30));
    terminal.shows(&["o rest", "├─┘", "t tell"]);
    world.file("go", "");
    terminal.ends().must(0);
}

// Requirement: 12.8
#[test]
fn what_is_typed_while_a_run_goes_on_is_told_to_it() {
    let world = direct();
    let mut terminal = world.terminal(&format!("exec {RUN} --approve all"), SIZE);
    world.wait_for_file("began");
    terminal.shows(&["t tell"]);
    terminal.types("twalk slxyz\u{7f}\u{7f}\u{7f}");
    terminal.shows(&["tell the run > walk sl", "Enter sends"]);
    terminal.types("owly\r");
    terminal.shows(&["sent    walk slowly"]);
    wait_until("the words are in the journal", || words(&world) == 1);
    world.file("go", "");
    let left = terminal.ends().must(0);
    assert!(left.text.contains("walked slowly"), "{}", left.text);
    assert!(messages_text(&world.server().requests()[1]).contains("The person you work for says: walk slowly"));
}

// Requirement: 12.13
#[test]
fn a_call_is_approved_and_refused_by_a_key() {
    for (keys, code, answer) in [("y", 0, "it is walked"), ("n", 1, "I was not allowed to")] {
        let script = Script::new()
            .on(When::tools().and_turn(0), [bash("echo ran >> log; echo it went w''ell")])
            .on(When::tools().and_contains("it went well").and_turn(1), [done("it is walked")])
            .on(When::tools().and_turn(1), [gives_up("I was not allowed to")]);
        let world = World::with(script);
        let mut terminal = world.terminal(&format!("exec {RUN}"), (80, 24));
        terminal.shows(&["waiting for you", "echo ran >> log", "y yes", "n no"]);
        assert!(!world.exists("log"), "nothing runs before");
        if keys == "y" {
            assert_screen!("approval_80x24", terminal);
        }
        terminal.types(keys);
        let left = terminal.ends().must(code);
        assert_eq!(world.exists("log"), keys == "y", "{}", left.text);
        assert!(left.text.contains(answer), "{}", left.text);
    }
}

// Requirement: 12.13
#[test]
fn a_key_that_is_held_down_answers_one_question() {
    let makes = |name: &str| bash(&format!("touch {name}"));
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("walk", "WALK-ON", &[]), actor("sing", "SING-ALONG", &[])]))])
        .on(When::tools().and_contains("WALK-ON").and_turn(0), [makes("walked")])
        .on(When::tools().and_contains("SING-ALONG").and_turn(0), [makes("sung")])
        .on(When::tools(), [done("done")])
        .on(When::plain(), [Reply::text("We are there.")]);
    let world = World::with(script);
    let mut terminal = world.terminal("exec AIME run 'walk and sing' --mode complex --run-id trip", (80, 24));
    terminal.shows(&["1 of 2", "y yes"]);
    let answers = || world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).events("question_answered").len();
    // The line that opens says that all before it was taken.
    terminal.types("yyyyyyyyt");
    terminal.shows(&["tell the run >", "y yes"]);
    wait_until("an answer is in the journal", || answers() > 0);
    terminal.types("\u{1b}");
    terminal.hides("tell the run >");
    assert_eq!(answers(), 1);
    assert!(!(world.exists("walked") && world.exists("sung")));
    terminal.types("y");
    terminal.ends().must(0);
    assert!(world.exists("walked") && world.exists("sung"));
}

// Requirement: 12.13
#[test]
fn a_question_is_answered_in_any_script() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "走哪条路？ Which way?"}))])
        .on(When::tools().and_contains("沿着湖"), [done("walked by the lake")]);
    let world = World::with(script);
    let mut terminal = world.terminal(&format!("exec {RUN}"), (60, 16));
    terminal.shows(&["走哪条路？ Which way?", "Enter answers"]);
    terminal.types("\r沿着湖走");
    terminal.shows(&["answer > 沿着湖走"]);
    terminal.types("\r");
    let left = terminal.ends().must(0);
    assert!(left.text.contains("walked by the lake"), "{}", left.text);
    assert!(left.text.contains("沿着湖走"), "the answer stays\n{}", left.text);
}

#[test]
fn an_answer_from_elsewhere_closes_the_question() {
    let script = Script::new().on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which way?"}))]).on(
        When::tools().and_contains("by the lake"),
        [bash("touch heard; until test -e go; do sleep 0.1; done"), done("walked by the lake")],
    );
    let world = World::with(script);
    let terminal = world.terminal(&format!("exec {RUN} --approve all"), SIZE);
    terminal.shows(&["Enter answers"]);
    world.aime(["answer", "trip", "by the lake"]).must(0);
    world.wait_for_file("heard");
    terminal.hides("Enter answers");
    world.file("go", "");
    terminal.ends().must(0);
}

// Requirement: 12.13
#[test]
fn a_task_is_cancelled_and_the_run_paused_by_keys_that_ask_first() {
    let world = several();
    let mut terminal = several_at_work(&world, "", SIZE);
    terminal.shows(&["bash: touch"]);
    terminal.types("x");
    terminal.shows(&["Cancel the task walk? y / n"]);
    terminal.types("n");
    terminal.hides("Cancel the task");
    terminal.types("j");
    terminal.types("x");
    terminal.shows(&["Cancel the task sing? y / n"]);
    terminal.types("y");
    terminal.shows(&["cancel  sing", "[-] sing"]);
    terminal.types("p");
    terminal.shows(&["Stop the run? It can be resumed. y / n"]);
    terminal.types("y");
    let left = terminal.ends().must(130);
    assert!(left.text.contains("aime resume trip"), "{}", left.text);
    world.file("go", "");
    let result = world.aime(["resume", "trip", "--output", "json"]).must(0).json();
    assert_eq!(task(&result, "sing")["status"], "skipped");
    assert_eq!(task(&result, "walk")["status"], "completed");
}

// Requirement: 12.13
#[test]
fn the_keys_and_all_about_a_task() {
    let world = several();
    let mut terminal = several_at_work(&world, "", SIZE);
    terminal.shows(&["bash: touch"]);
    terminal.types("?");
    terminal.shows(&["Keys", "tell the run something", "Esc back"]);
    terminal.types("\u{1b}");
    terminal.hides("Keys");
    terminal.types("\r");
    terminal.shows(&["── Task", "walk: Walk to the lake", "after find", "actor sisyphus"]);
    terminal.types("\t");
    terminal.shows(&["What waits for what"]);
    world.file("go", "");
    terminal.ends().must(0);
}

// Requirement: 12.15
#[test]
fn the_terminal_is_left_as_it_was() {
    for end in ["\u{3}", "TERM", ""] {
        let world = direct();
        // The shell stays, to look at the terminal afterwards; a signal is sent to the command by its own number.
        let inner = RUN.replace('\'', "\"");
        let line = format!("trap : INT; sh -c 'echo $$ > number; exec {inner} --approve all'; code=$?; stty -a; echo ended with $code");
        let mut terminal = world.terminal(&line, SIZE);
        world.wait_for_file("began");
        terminal.shows(&["Ctrl-C stop", "bash: touch"]);
        assert!(terminal.is_whole());
        match end {
            "" => world.file("go", ""),
            "TERM" => signal("TERM", &world.read("number")),
            keys => terminal.types(keys),
        }
        let left = terminal.ends().must(0).took_all(true);
        let code = if end.is_empty() { 0 } else { 130 };
        assert!(left.text.contains(&format!("ended with {code}")), "{}", left.text);
        let modes: Vec<&str> = left.text.split_whitespace().collect();
        for mode in ["echo", "icanon", "isig", "opost"] {
            assert!(modes.contains(&mode), "{mode} after {end:?}\n{}", left.text);
        }
        assert!(left.raw.contains("\u{1b}[?2004l"), "pasting is as it was");
    }
}

#[expect(clippy::disallowed_methods, reason = "signals are what the scenario is about")]
fn signal(name: &str, number: &str) {
    assert!(std::process::Command::new("kill").args(["-s", name, number.trim()]).status().unwrap().success());
}

// Requirement: 12.15
#[test]
fn the_second_ctrl_c_ends_it_at_once() {
    let script = Script::new().on(When::tools().and_turn(0), [bash("trap '' TERM INT; touch began; until test -e go; do sleep 0.1; done")]);
    let world = World::with(script);
    let mut terminal = world.terminal(&format!("exec {RUN} --approve all"), SIZE);
    world.wait_for_file("began");
    terminal.shows(&["Ctrl-C stop", "bash: trap"]);
    terminal.types("\u{3}\u{3}");
    let left = terminal.ends().must(130);
    assert!(left.text.contains("aime resume trip"), "{}", left.text);
    world.file("go", "");
}

// Requirement: 12.8
#[test]
fn it_takes_no_more_of_the_terminal_than_it_may() {
    for flags in ["--output json", "--output jsonl", "--unattended", "--quiet", "-v", "--plain", "< /dev/null", "2> log", "> out"] {
        let world = direct();
        let mut terminal = world.terminal(&format!("{RUN} --approve all {flags}"), SIZE);
        world.wait_for_file("began");
        terminal.types("twalk slowly\r");
        world.file("go", "");
        let left = terminal.ends().must(0).took_all(false);
        assert_eq!(words(&world), 0, "{flags}\n{}", left.text);
    }
    let mut world = direct();
    world.set("TERM", "dumb");
    world.file("go", "");
    let terminal = world.terminal(&format!("{RUN} --approve all"), SIZE);
    terminal.ends().must(0).took_all(false);
}

// Requirement: 12.16
#[test]
fn plain_lines_ask_and_tell_everything_in_the_order_in_which_it_happens() {
    for setting in ["", "[run]\nplain = true\n"] {
        let flag = if setting.is_empty() { "--plain" } else { "" };
        let world = direct().settings(setting);
        world.file("go", "");
        let mut terminal = world.terminal(&format!("exec {RUN} {flag}"), SIZE);
        terminal.shows(&["[N]o >"]);
        terminal.types("y\r");
        let left = terminal.ends().must(0).took_all(false);
        // Nothing moves back: who hears it hears each line once.
        for moves in ["\u{1b}[2K", "\u{1b}[1A", "\u{1b}[2J", "\u{1b}[H"] {
            assert!(!left.raw.contains(moves), "{moves:?}\n{}", left.raw);
        }
        for text in ["start", "bash", "done", "walked"] {
            assert!(left.text.contains(text), "{text}\n{}", left.text);
        }
    }
}

#[test]
fn what_was_typed_before_a_question_stands_there_is_no_answer_to_it() {
    let asks = bash("echo ran >> log").in_pieces_of(16).held_back(1);
    let script = Script::new().on(When::tools().and_turn(0), [asks]).on(When::tools(), [gives_up("I was not allowed to")]);
    let world = World::with(script);
    let mut terminal = world.terminal(&format!("exec {RUN} --plain"), SIZE);
    world.wait_for_requests(1);
    terminal.types("y\rtyped ahead\r");
    // The terminal has it.
    terminal.shows(&["y\ntyped ahead"]);
    world.server().release();
    terminal.shows(&["[N]o >"]);
    terminal.types("n\r");
    terminal.ends().must(1);
    assert!(!world.exists("log"), "nobody has seen what was asked");
}

// Requirement: 12.14
#[test]
fn without_colours_there_are_none() {
    // Of the eight colours, or of 256.
    let coloured = |raw: &str| {
        let mut codes = raw.split("\u{1b}[").filter_map(|code| code.split('m').next());
        codes.any(|code| code.starts_with("38;") || (code.len() == 2 && code.starts_with('3') && code != "39"))
    };
    for (flags, variable, colours) in
        [("", false, true), ("", true, false), ("--color never", false, false), ("--color always", true, true)]
    {
        let mut world = several();
        if variable {
            world.set("NO_COLOR", "1");
        }
        world.file("go", "");
        let terminal = world.terminal(&format!("exec {SEVERAL} {flags}"), SIZE);
        let left = terminal.ends().must(0).took_all(true);
        assert_eq!(coloured(&left.raw), colours, "{flags} NO_COLOR={variable}\n{}", left.raw);
    }
}

// Requirement: 12.8
#[test]
fn in_the_background_nothing_is_read_and_nothing_stops() {
    let world = direct();
    let line = format!("set -m; {RUN} --approve all & wait; echo ended with $?");
    let mut terminal = world.terminal(&line, SIZE);
    world.wait_for_file("began");
    terminal.types("twalk slowly\r");
    world.file("go", "");
    let left = terminal.ends().must(0).took_all(false);
    assert!(left.text.contains("walked"), "{}", left.text);
    assert_eq!(words(&world), 0, "what is typed is for whoever is in the foreground\n{}", left.text);
}

// Requirement: 12.15
#[test]
fn it_goes_to_the_background_and_comes_back() {
    let world = direct();
    // A shell with jobs: it gets the terminal when the run is stopped, and gives it back.
    let line = format!("set -m; {RUN} --approve all; echo stopped with $?; touch go; fg; echo ended with $?");
    let mut terminal = world.terminal(&line, SIZE);
    world.wait_for_file("began");
    terminal.shows(&["Ctrl-C stop", "bash: touch"]);
    terminal.types("\u{1a}");
    let left = terminal.ends().must(0).took_all(true);
    assert!(left.raw.contains("stopped with 1"), "by a signal\n{}", left.raw);
    assert!(left.text.contains("walked") && left.text.contains("ended with 0"), "{}", left.text);
}

#[test]
fn stopped_from_elsewhere_it_takes_the_terminal_anew() {
    let world = direct();
    // Another shell stops it: nobody has given the terminal back before.
    let run = RUN.replace('\'', "\"");
    let line = format!("set -m; sh -c 'echo $$ > number; exec {run} --approve all'; stty sane; touch stopped; fg; echo ended with $?");
    let mut terminal = world.terminal(&line, SIZE);
    world.wait_for_file("began");
    terminal.shows(&["Ctrl-C stop", "bash: touch"]);
    signal("STOP", &world.read("number"));
    world.wait_for_file("stopped");
    terminal.types("twalk");
    terminal.shows(&["tell the run > walk"]);
    terminal.types("\u{1b}");
    world.file("go", "");
    let left = terminal.ends().must(0).took_all(true);
    assert!(left.text.contains("walked") && left.text.contains("ended with 0"), "{}", left.text);
}

// Requirement: 12.17
#[test]
fn a_run_of_another_process_is_watched_steered_and_left() {
    let world = several();
    let running = world.start(["run", "walk there, sing and rest", "--mode", "complex", "--approve", "all", "--run-id", "trip"]);
    world.wait_for_file("walking");
    world.wait_for_file("singing");
    let mut terminal = world.terminal("exec AIME runs watch trip", (80, 24));
    terminal.shows(&["working", "bash: touch wa", "bash: touch si", "start   sing", "q leave"]);
    assert_screen!("watch_80x24", terminal);
    terminal.types("tslowly\r");
    wait_until("the words are in the journal", || words(&world) == 1);
    terminal.types("q");
    terminal.ends().must(0).took_all(true);
    let mut again = world.terminal("exec AIME runs watch trip", (80, 24));
    again.shows(&["bash: touch"]);
    world.file("go", "");
    running.wait().must(0);
    again.shows(&["done  walk there", "4 of 4"]);
    again.types("q");
    again.ends().must(0);
}

/// No process reads what is sent to the run, so the one that shows it ends it.
// Requirement: 12.17
#[test]
fn a_run_that_nobody_drives_is_ended_by_its_watcher() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "note.txt", "content": "hello"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--approve", "ask", "--run-id", "trip"]).must(5);
    let mut terminal = world.terminal("exec AIME runs watch trip", SIZE);
    terminal.shows(&["note.txt"]);
    terminal.types("X");
    terminal.shows(&["End the run for good?"]);
    terminal.types("y");
    let status = || world.aime(["runs", "--output", "json"]).must(0).json()[0]["status"].clone();
    wait_until("the run is cancelled", || status() == "cancelled");
    terminal.types("q");
    terminal.ends().must(0).took_all(true);
}

// Requirement: 12.17
#[test]
fn off_a_terminal_a_run_is_watched_to_its_end() {
    let world = several();
    let running = world.start(["run", "walk there, sing and rest", "--mode", "complex", "--approve", "all", "--run-id", "trip"]);
    world.wait_for_file("walking");
    let text = world.start(["runs", "watch", "trip"]);
    let events = world.start(["runs", "watch", "last", "--output", "jsonl"]);
    world.file("go", "");
    running.wait().must(0);
    let text = text.wait().must(0);
    for line in ["start   walk", "done    rest", "run     completed"] {
        assert!(text.stdout.contains(line), "{line}\n{text}");
    }
    let lines = events.wait().must(0).lines();
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(result["schema"], "aime.result/v1");
    assert_eq!(result["status"], "completed");
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], at + 1, "without gaps");
    }
    assert_eq!(events.len(), world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).lines().len());
    world.aime(["runs", "watch", "nobody"]).must(2).stderr_contains(&["nobody"]);
}
