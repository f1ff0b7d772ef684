use std::{fs, path::Path, thread, time::Duration};

use super::*;

/// Starts a guardian for a session of the test's own.
fn guardian(session: &str) -> Child {
    start(session, &BTreeMap::new()).unwrap()
}

/// Starts a process in a session of its own with this environment, which sleeps for ever.
#[expect(clippy::disallowed_methods, reason = "the test stands for a command of aime")]
fn sleeper(folder: &Path, script: &str, mark: &str) -> u32 {
    let script = format!("{script} & until [ -s pid ]; do sleep 0.02; done; cat pid");
    let ended = Command::new("sh").args(["-c", &script]).env(VARIABLE, mark).current_dir(folder).stderr(Stdio::null()).output().unwrap();
    String::from_utf8(ended.stdout).unwrap().trim().parse().unwrap()
}
const SLEEP: &str = "setsid sh -c 'echo $$ > pid; exec sleep 1000 >/dev/null'";

fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    // One minute at most.
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("in vain: {what}");
}

fn death(pid: u32) {
    wait_until("the process ends", || !alive(pid));
}

#[expect(clippy::disallowed_methods, reason = "signals are what the test is about")]
fn signal(name: &str, target: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), "--", target]).status().unwrap().success());
}

#[test]
fn ends_what_is_left_when_its_pipe_ends_and_then_itself() {
    let (folder, of_another) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut guardian = guardian("ends-what-is-left.");
    let left = sleeper(folder.path(), SLEEP, "outer.1/ends-what-is-left.3");
    let spared = sleeper(of_another.path(), SLEEP, "another-session.3");
    assert!(alive(left), "nothing is ended before");
    drop(guardian.stdin.take());
    death(left);
    assert!(guardian.wait().unwrap().success());
    assert!(alive(spared), "that is no business of this guardian");
    signal("KILL", &spared.to_string());
}

#[test]
fn ends_children_with_an_emptied_environment() {
    let folder = tempfile::tempdir().unwrap();
    let mut guardian = guardian("ends-children.");
    // The process name contains the characters that delimit a name.
    let parent = "cp \"$(command -v sh)\" './a) S 1 (b'; './a) S 1 (b' -c 'env -i PATH=\"$PATH\" setsid sh -c \"echo \\$\\$ > pid; exec sleep 1000 >/dev/null\" & wait' >/dev/null";
    let left = sleeper(folder.path(), parent, "ends-children.1");
    drop(guardian.stdin.take());
    death(left);
    assert!(guardian.wait().unwrap().success());
}

/// Returns true if a process ignores these signals; the first bit is the first signal.
fn ignores(pid: u32, signals: u64) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & signals == signals
}

#[test]
fn no_signal_of_a_terminal_takes_it_and_it_holds_no_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut guardian = guardian("stays.");
    let descriptors = || -> Vec<String> {
        let held = |number| Some(fs::read_link(format!("/proc/{}/fd/{number}", guardian.id())).ok()?.display().to_string());
        (0..1_024).filter_map(held).collect()
    };
    // Before it executes the shell it is a copy of this test.
    wait_until("the guardian ignores HUP, INT, QUIT and TERM", || ignores(guardian.id(), 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14));
    for name in ["INT", "HUP", "TERM", "QUIT"] {
        signal(name, &format!("-{}", guardian.id()));
    }
    wait_until("the guardian closes what it does not need", || descriptors().len() == 3);
    let held = descriptors();
    assert!(
        matches!(held.as_slice(), [pipe, null, other] if pipe.starts_with("pipe:") && null == "/dev/null" && other == null),
        "{held:?}"
    );
    let left = sleeper(folder.path(), SLEEP, "stays.1");
    drop(guardian.stdin.take());
    death(left);
    assert!(guardian.wait().unwrap().success());
}

#[test]
fn one_stands_for_all_commands_and_is_replaced_when_it_is_killed() {
    // A guardian is also started for a command whose `PATH` leads nowhere.
    let nowhere = BTreeMap::from([("PATH".into(), "/nowhere".into())]);
    let process = || GUARDIAN.lock().unwrap().as_ref().unwrap().id();
    ensure(&nowhere);
    let first = process();
    ensure(&nowhere);
    assert_eq!(process(), first);
    signal("KILL", &first.to_string());
    death(first);
    ensure(&nowhere);
    assert_ne!(process(), first);
    assert!(alive(process()));
}
