mod background;
mod left_behind;
mod service;

use std::{fs, path::Path, time::Duration};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;

const LONG: Duration = Duration::from_secs(120);
/// Interval of checks in a test that waits for an event; it waits for one minute at most.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 12_000;

fn bash(folder: &Path, script: &str) -> ProcessRequest {
    ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), script.into()],
        working_folder: folder.into(),
        environment: [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into(),
        input: Vec::new(),
        time_limit: LONG,
        output_limit: 100_000,
        confinement: Confinement::off(),
    }
}

fn here() -> TempDir {
    tempfile::tempdir().unwrap()
}

async fn outcome(request: ProcessRequest) -> ProcessOutcome {
    run(request, &CancellationToken::new()).await.unwrap()
}

/// Returns the process id that a script wrote to `file`, once the line is complete.
async fn pid(folder: &Path, file: &str) -> u32 {
    for _ in 0..LOOKS {
        if let Ok(text) = fs::read_to_string(folder.join(file))
            && text.ends_with('\n')
        {
            return text.trim().parse().unwrap();
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("no process has told its id in {file}");
}

/// A zombie process counts as dead.
fn alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

/// Waits for a process to die of a signal, which takes the kernel a moment.
async fn death(pid: u32) {
    for _ in 0..LOOKS {
        if !alive(pid) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("process {pid} lives on");
}

// Requirement: 15.4
#[cfg(unix)]
#[tokio::test]
async fn a_command_inherits_only_its_standard_streams() {
    let folder = here();
    let secret = fs::File::create(folder.path().join("secret")).unwrap();
    // As a file that this process inherited from a shell: `exec 9< secret`.
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let script = "for descriptor in /proc/self/fd/*; do readlink \"$descriptor\"; done | grep secret";
    assert_eq!(outcome(bash(folder.path(), script)).await.end, ProcessEnd::Exited(1));
    assert!(rustix::io::fcntl_getfd(&secret).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
}

#[tokio::test]
async fn ends_are_told_apart() {
    let folder = here();
    let cases = [
        ("exit 0", ProcessEnd::Exited(0)),
        ("exit 7", ProcessEnd::Exited(7)),
        ("no_such_command_here", ProcessEnd::Exited(127)),
        ("kill -9 $$", ProcessEnd::Signalled(9)),
        ("kill -TERM $$", ProcessEnd::Signalled(15)),
    ];
    for (script, end) in cases {
        assert_eq!(outcome(bash(folder.path(), script)).await.end, end, "{script}");
    }
}

#[tokio::test]
async fn output_folder_and_environment_are_those_asked_for() {
    let folder = here();
    let mut request = bash(folder.path(), "pwd -P; echo wrong >&2; env");
    request.environment.insert("LANG".into(), "C".into());
    let outcome = outcome(request).await;
    let stdout = outcome.stdout.text();
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(Path::new(lines[0]), folder.path().canonicalize().unwrap());
    assert_eq!(outcome.stderr.text(), "wrong\n");
    let mut names: Vec<_> = lines[1..].iter().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // The first is the mark of the command. Bash itself sets the last three.
    assert_eq!(names, ["AIME_PROCESS", "LANG", "PATH", "PWD", "SHLVL", "_"]);
}

#[tokio::test]
async fn the_time_limit_ends_children_of_children() {
    let folder = here();
    let mut request = bash(folder.path(), "bash -c 'sleep 1000 & echo $! > pid; wait' & echo begun; wait");
    request.time_limit = Duration::from_secs(5);
    let running = tokio::spawn(outcome(request));
    let grandchild = pid(folder.path(), "pid").await;
    let outcome = running.await.unwrap();
    assert_eq!(outcome.end, ProcessEnd::TimedOut);
    assert_eq!(outcome.stdout.text(), "begun\n", "what came before the limit is kept");
    death(grandchild).await;
}

// Requirement: 15.9
#[tokio::test]
async fn what_ignores_the_polite_signal_is_killed() {
    let folder = here();
    let mut request = bash(folder.path(), "trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done");
    request.time_limit = Duration::from_secs(5);
    assert_eq!(outcome(request).await.end, ProcessEnd::TimedOut);
    death(pid(folder.path(), "pid").await).await;
}

#[tokio::test]
async fn the_polite_signal_leaves_time_to_clean_up() {
    let folder = here();
    let cancel = CancellationToken::new();
    let script = "trap 'echo clean > cleaned; exit 0' TERM; echo $$ > pid; while true; do sleep 0.02; done";
    let (outcome, ()) = tokio::join!(run(bash(folder.path(), script), &cancel), async {
        pid(folder.path(), "pid").await;
        cancel.cancel();
    });
    assert_eq!(outcome.unwrap().end, ProcessEnd::Cancelled);
    assert_eq!(fs::read_to_string(folder.path().join("cleaned")).unwrap(), "clean\n");
}

#[tokio::test]
async fn a_cancelled_call_is_not_begun() {
    let folder = here();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = run(bash(folder.path(), "echo x > begun"), &cancel).await.unwrap();
    assert_eq!(outcome.end, ProcessEnd::Cancelled);
    assert!(!folder.path().join("begun").exists());
}

#[tokio::test]
async fn dropping_the_future_kills_the_group() {
    let folder = here();
    let cancel = CancellationToken::new();
    let script = "bash -c 'trap \"\" TERM; echo $$ > pid; while true; do sleep 0.05; done' & wait";
    let grandchild = tokio::select! {
        _ = run(bash(folder.path(), script), &cancel) => panic!("it does not end by itself"),
        grandchild = pid(folder.path(), "pid") => grandchild,
    };
    death(grandchild).await;
}

#[tokio::test]
async fn what_stays_in_the_background_ends_with_its_command() {
    let folder = here();
    let outcome = outcome(bash(folder.path(), "sleep 1000 & echo $! > pid; echo done")).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (ProcessEnd::Exited(0), "done\n"));
    death(pid(folder.path(), "pid").await).await;
}

// Requirement: 15.9
#[tokio::test]
async fn a_flood_is_counted_and_bounded() {
    let folder = here();
    let mut request =
        bash(folder.path(), "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last; head -c 3000000 /dev/zero >&2");
    request.output_limit = 1000;
    let outcome = outcome(request).await;
    assert_eq!(outcome.end, ProcessEnd::Exited(0));
    assert_eq!((outcome.stdout.total, outcome.stdout.bytes.len()), (20_000_012, 1000));
    assert_eq!((outcome.stderr.total, outcome.stderr.bytes.len()), (3_000_000, 1000));
    let text = outcome.stdout.text();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"), "{text}");
}

// Requirement: 15.9
#[tokio::test]
async fn an_endless_flood_ends_at_its_limit() {
    let folder = here();
    let mut request = bash(folder.path(), "yes");
    request.time_limit = Duration::from_secs(5);
    let outcome = outcome(request).await;
    assert_eq!(outcome.end, ProcessEnd::TimedOut);
    assert!(outcome.stdout.total > outcome.stdout.bytes.len() as u64);
}

// Requirement: 15.9
#[tokio::test]
async fn a_large_input_is_written_while_output_is_read() {
    let folder = here();
    let mut request = bash(folder.path(), "cat");
    request.input = vec![b'i'; 3_000_000];
    request.output_limit = 4_000_000;
    let outcome = outcome(request).await;
    assert_eq!((outcome.end, outcome.stdout.bytes.len()), (ProcessEnd::Exited(0), 3_000_000));
}

// Requirement: 15.9
#[tokio::test]
async fn an_input_that_is_not_read_is_no_fault() {
    let folder = here();
    let mut request = bash(folder.path(), "exec <&-; echo fine");
    request.input = vec![b'i'; 3_000_000];
    let outcome = outcome(request).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (ProcessEnd::Exited(0), "fine\n"));
}

// Requirement: 15.9
#[tokio::test]
async fn a_command_that_removes_its_own_folder_ends_and_the_next_is_refused() {
    let folder = here();
    let gone = folder.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let outcome = outcome(bash(&gone, "sleep 1000 & echo $! > ../pid; rm -r \"$PWD\"; ls; echo on; exit 3")).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (ProcessEnd::Exited(3), "on\n"));
    death(pid(folder.path(), "pid").await).await;
    let error = run(bash(&gone, "echo on"), &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, ProcessError::WorkingFolder { .. }), "{error}");
}

#[tokio::test]
async fn faults_are_named() {
    let folder = here();
    fs::write(folder.path().join("plain"), "text").unwrap();
    let change = |change: &dyn Fn(&mut ProcessRequest)| {
        let mut request = bash(folder.path(), "true");
        change(&mut request);
        request
    };
    let cases = [
        (
            change(&|r| r.program = "no-such-program".into()),
            "the program `no-such-program` was not found; install it, or put its folder on PATH",
        ),
        (
            change(&|r| r.arguments.push("a\0b".into())),
            "argument 3 of `bash` contains a NUL byte, which cannot be given to a program; leave it out",
        ),
        (
            change(&|r| r.program = "a\0b".into()),
            "the program's name contains a NUL byte, which cannot be given to a program; leave it out",
        ),
        (
            change(&|r| drop(r.environment.insert("X".into(), "\0".into()))),
            "the variable X contains a NUL byte, which cannot be given to a program; leave it out",
        ),
        (change(&|r| r.working_folder = "/no/such".into()), "the working folder /no/such is not a folder that can be entered"),
        (change(&|r| r.program = "./plain".into()), "the program `./plain` could not be started: Permission denied (os error 13)"),
        (
            change(&|r| r.arguments.push("x".repeat(3_000_000).into())),
            "the program `bash` could not be started: Argument list too long (os error 7)",
        ),
    ];
    for (request, text) in cases {
        assert_eq!(run(request, &CancellationToken::new()).await.unwrap_err().to_string(), text);
    }
}

#[tokio::test]
async fn a_running_program_is_reported_with_its_output_so_far() {
    let (folder, mut reports) = (here(), Vec::new());
    let script = "echo one; echo two >&2; printf three; sleep 2.5; echo four";
    let report = |printed: Option<CapturedOutput>| reports.push(printed.map(|printed| printed.text()));
    let outcome = run_reporting(bash(folder.path(), script), &CancellationToken::new(), report).await.unwrap();
    assert_eq!(outcome.end, ProcessEnd::Exited(0));
    let first = reports.iter().flatten().next().unwrap();
    assert!(["one", "two", "three"].iter().all(|part| first.contains(part)) && !first.contains("four"), "{reports:?}");
    assert!(reports.iter().skip(1).any(Option::is_none), "nothing new is no output: {reports:?}");
}
