//! What commands start and leave behind: it is gone when aime is, however aime ended. Linux only: elsewhere there is no `/proc` to find it in.
#![cfg(target_os = "linux")]

use std::{fs, io::Read, process::Stdio};

use aime_scripted_server::{Reply, Script, When};

use crate::harness::{Running, World, bash, done, wait_until};

const RUN: [&str; 6] = ["run", "sleep well", "--mode", "direct", "--approve", "all"];

/// Starts two sleepers outside of the command's group, one of them a daemon without parents, and tells their process ids.
const SLEEPERS: &str = "(setsid sh -c 'echo $$ > daemon; exec sleep 600' </dev/null >/dev/null 2>&1 &); setsid sleep 600 & echo $! > session; \
    until [ -s daemon ]; do sleep 0.02; done; echo $$ > group;";

fn alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

/// The processes that told their ids in these files.
fn recorded_pids(world: &World, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| world.read(name).trim().to_owned()).inspect(|pid| assert_ne!(pid, "")).collect()
}

fn wait_for_the_end_of(pids: &[String]) {
    for pid in pids {
        wait_until(&format!("process {pid} ends"), || !alive(pid));
    }
}

/// The guardian of a running aime: its one child that is `sh`.
fn guardian(running: &Running<'_>) -> String {
    let children = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str().map(str::to_owned));
    let is_guardian = |pid: &String| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().nth(1);
        parent == Some(&running.id().to_string()) && String::from_utf8_lossy(&line).contains("aime-guardian")
    };
    children.into_iter().find(is_guardian).expect("a guardian stands beside a command")
}

fn mid_command() -> World {
    World::with(Script::new().on(When::tools().and_turn(0), [bash(&format!("{SLEEPERS} echo > began; sleep 600"))]))
}

// Requirement: 15.9
#[test]
fn what_a_command_started_ends_when_aime_is_killed() {
    let world = mid_command();
    let running = world.start(RUN);
    world.wait_for_file("began");
    let mut processes = recorded_pids(&world, &["daemon", "session", "group"]);
    assert!(processes.iter().all(|pid| alive(pid)), "they go on as long as their command does");
    processes.push(guardian(&running));
    running.kill();
    wait_for_the_end_of(&processes);
}

// Requirement: 15.9
#[test]
fn what_a_command_started_ends_when_aime_is_stopped() {
    for signal in ["INT", "TERM"] {
        let world = mid_command();
        let running = world.start(RUN);
        world.wait_for_file("began");
        let processes = recorded_pids(&world, &["daemon", "session", "group"]);
        let guardian = guardian(&running);
        running.signal(signal);
        running.wait().must(130);
        assert!(!processes.iter().any(|pid| alive(pid)), "all is over when aime is");
        wait_for_the_end_of(&[guardian]);
    }
}

#[test]
fn what_a_command_started_ends_with_the_command() {
    let script = Script::new().on(When::tools().and_turn(0), [bash(SLEEPERS)]).on(When::tools().and_turn(1), [Reply::hang()]);
    let world = World::with(script);
    let running = world.start(RUN);
    world.wait_for_requests(2);
    assert!(
        !recorded_pids(&world, &["daemon", "session", "group"]).iter().any(|pid| alive(pid)),
        "they are gone before the result is told"
    );
    running.kill();
}

#[test]
fn a_reader_of_aime_waits_for_nobody_left_behind() {
    let script = Script::new().on(When::tools().and_turn(0), [bash(SLEEPERS)]).on(When::tools().and_turn(1), [done("slept")]);
    let world = World::with(script);
    let mut command = world.command();
    let mut child = command.args(RUN).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = String::new();
    // Does not return while anybody holds the pipe.
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    wait_for_the_end_of(&recorded_pids(&world, &["daemon", "session"]));
}
