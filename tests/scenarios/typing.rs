//! What is typed at the terminal of a run that goes on.

use aime_scripted_server::{Script, When};

use crate::harness::{Running, World, bash, done, said};

/// A direct run `trip` whose actor waits for the file `go`, and ends when it has heard what is said.
fn world() -> World {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("slowly"), [done("walked slowly")])
        .on(When::tools(), [done("walked")]);
    World::with(script)
}

const RUN: &str = "AIME run 'walk there' --mode direct --run-id trip";
const HINT: &str = "type to tell the run something";

/// How often something was said to the run.
fn words(world: &World) -> usize {
    world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0).events("evidence_added").len()
}

/// Types a line once the view invites to it, in two parts, and waits until it is told.
fn tells(running: &mut Running<'_>) {
    running.shows(HINT);
    running.types("walk slxyz\u{7f}\u{7f}\u{7f}");
    running.shows("walk sl_");
    running.types("owly\n");
    running.shows("walk slowly");
    running.shows("told");
}

#[test]
fn what_is_typed_while_a_run_goes_on_is_told_to_it() {
    let world = world();
    let Some(mut running) = world.at_a_terminal(&format!("exec {RUN} --approve all")) else { return };
    world.wait_for_file("began");
    tells(&mut running);
    crate::harness::wait_until("the words are in the journal", || words(&world) == 1);
    world.file("go", "");
    let ended = running.wait().must(0);
    assert!(ended.stdout.contains("walked slowly"), "{ended}");
    assert!(said(&world.server().requests()[1]).contains("The person you work for says: walk slowly"), "{ended}");
}

#[test]
fn a_question_has_the_terminal_for_itself() {
    let world = world();
    let Some(mut running) = world.at_a_terminal(&format!("exec {RUN}")) else { return };
    running.shows("[N]o >");
    assert!(!world.exists("began"));
    running.types("y\n");
    world.wait_for_file("began");
    tells(&mut running);
    crate::harness::wait_until("the words are in the journal", || words(&world) == 1);
    world.file("go", "");
    running.wait().must(0);
}

#[test]
fn the_terminal_is_left_as_it_was() {
    for typed in ["\u{3}", ""] {
        let world = world();
        let line = format!("trap : INT; {RUN} --approve all; code=$?; stty -a; echo ended with $code");
        let Some(mut running) = world.at_a_terminal(&line) else { return };
        running.shows(HINT);
        world.wait_for_file("began");
        if typed.is_empty() {
            world.file("go", "");
        }
        running.types(typed);
        let ended = running.wait().must(0);
        let code = if typed.is_empty() { 0 } else { 130 };
        assert!(ended.stdout.contains(&format!("ended with {code}")), "{ended}");
        let modes: Vec<&str> = ended.stdout.split_whitespace().collect();
        for mode in ["echo", "icanon", "isig"] {
            assert!(modes.contains(&mode), "{mode}\n{ended}");
        }
    }
}

#[test]
fn nobody_listens_where_no_view_invites_to_it() {
    for flags in ["--output json", "--output jsonl", "--unattended", "--quiet", "-v", "< /dev/null", "2> log"] {
        let world = world();
        let Some(mut running) = world.at_a_terminal(&format!("{RUN} --approve all {flags}")) else { return };
        world.wait_for_file("began");
        running.types("walk slowly\n");
        world.file("go", "");
        let ended = running.wait().must(0);
        assert!(!ended.stdout.contains(HINT), "{flags}\n{ended}");
        assert_eq!(words(&world), 0, "{flags}\n{ended}");
    }
}

#[test]
fn in_the_background_nothing_is_read_and_nothing_stops() {
    let world = world();
    let line = format!("set -m; {RUN} --approve all & wait; echo ended with $?");
    let Some(mut running) = world.at_a_terminal(&line) else { return };
    world.wait_for_file("began");
    running.types("walk slowly\n");
    world.file("go", "");
    let ended = running.wait().must(0);
    assert!(ended.stdout.contains("walked"), "{ended}");
    assert_eq!(words(&world), 0, "what is typed is for whoever is in the foreground\n{ended}");
}
