//! Processes that a command leaves behind end with the command, wherever they are.

use super::*;

/// Returns a command that runs a script in a session of its own, which writes its process id to `pid` and runs for ever, and waits for that
/// file.
fn detached(before: &str) -> String {
    format!("{before} setsid bash -c 'echo $$ > pid; trap \"\" TERM; while [ ! -e stop ]; do sleep 0.05; done' & {READY}")
}
const READY: &str = "until [ -s pid ]; do sleep 0.02; done; echo done";

#[tokio::test]
async fn a_session_of_its_own_ends_with_its_command() {
    for quiet in ["", "exec >/dev/null 2>&1;"] {
        let folder = here();
        let outcome = outcome(bash(folder.path(), &detached(quiet))).await;
        assert_eq!(outcome.end, ProcessEnd::Exited(0));
        death(pid(folder.path(), "pid").await).await;
    }
}

// Requirement: 15.9
#[tokio::test]
async fn a_daemon_that_has_lost_its_parents_ends_with_its_command() {
    let folder = here();
    let script =
        format!("( setsid bash -c '( echo $BASHPID > pid; cd /; exec sleep 1000 </dev/null >/dev/null 2>&1 ) & exit' & ); {READY}");
    let outcome = outcome(bash(folder.path(), &script)).await;
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (ProcessEnd::Exited(0), "done\n"));
    death(pid(folder.path(), "pid").await).await;
}

// Requirement: 15.9
#[tokio::test]
async fn the_time_limit_ends_sessions_of_their_own() {
    let folder = here();
    let mut request = bash(folder.path(), &format!("{}; wait", detached("")));
    request.time_limit = Duration::from_secs(5);
    let running = tokio::spawn(outcome(request));
    let session = pid(folder.path(), "pid").await;
    assert_eq!(running.await.unwrap().end, ProcessEnd::TimedOut);
    death(session).await;
}

#[tokio::test]
async fn an_emptied_environment_hides_nobody_whose_parents_live() {
    // SIGTERM kills its parent, so the process must have been found before.
    let folder = here();
    let cancel = CancellationToken::new();
    let script = format!("{}; wait", detached("env -i PATH=/usr/bin:/bin"));
    let (outcome, session) = tokio::join!(run(bash(folder.path(), &script), &cancel), async {
        let session = pid(folder.path(), "pid").await;
        cancel.cancel();
        session
    });
    assert_eq!(outcome.unwrap().end, ProcessEnd::Cancelled);
    death(session).await;
}

#[tokio::test]
async fn dropping_the_future_ends_sessions_of_their_own() {
    let folder = here();
    let cancel = CancellationToken::new();
    let script = format!("{}; wait", detached(""));
    let session = tokio::select! {
        _ = run(bash(folder.path(), &script), &cancel) => panic!("it does not end by itself"),
        session = pid(folder.path(), "pid") => session,
    };
    death(session).await;
}

// Requirement: 15.9
#[tokio::test]
async fn who_starts_others_without_end_is_ended() {
    let folder = here();
    let script = "cat > chain; setsid bash chain & until [ -s pid ]; do sleep 0.02; done";
    let mut request = bash(folder.path(), script);
    // Each process starts the next in a new session and exits.
    request.input = b"echo $$ >> pid; sleep 0.05; setsid bash chain & exit".to_vec();
    assert_eq!(outcome(request).await.end, ProcessEnd::Exited(0));
    let count = || fs::read_to_string(folder.path().join("pid")).unwrap().lines().count();
    // A survivor would start the next process a moment later.
    let before = count();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(count(), before, "the chain goes on");
}

#[tokio::test]
async fn a_command_ends_its_own_and_not_those_of_another() {
    let (one, other) = (here(), here());
    let cancel = CancellationToken::new();
    let script = format!("{}; wait", detached(""));
    let (first, ()) = tokio::join!(run(bash(one.path(), &script), &cancel), async {
        let mine = pid(one.path(), "pid").await;
        outcome(bash(other.path(), &detached(""))).await;
        death(pid(other.path(), "pid").await).await;
        assert!(alive(mine), "the command that it belongs to goes on");
        cancel.cancel();
        death(mine).await;
    });
    assert_eq!(first.unwrap().end, ProcessEnd::Cancelled);
}

#[tokio::test]
async fn what_runs_under_an_outer_command_ends_with_that_too() {
    let folder = here();
    let outer = mark::Mark::new();
    let mut request = bash(folder.path(), &format!("{}; wait", detached("")));
    request.environment.insert(mark::VARIABLE.into(), outer.below(None));
    let running = tokio::spawn(outcome(request));
    let session = pid(folder.path(), "pid").await;
    tokio::task::spawn_blocking(|| family::ProcessTree::new(outer).end()).await.unwrap();
    death(session).await;
    assert_eq!(running.await.unwrap().end, ProcessEnd::Signalled(9));
}

#[tokio::test]
async fn what_is_out_of_reach_is_not_waited_for() {
    // The process has emptied its environment and lost its parent, and holds the pipes open.
    let folder = here();
    let outcome = outcome(bash(folder.path(), &detached("env -i PATH=/usr/bin:/bin"))).await;
    let lost = pid(folder.path(), "pid").await;
    assert!(alive(lost), "the test means a process that holds the pipes open");
    assert_eq!((outcome.end, outcome.stdout.text().as_str()), (ProcessEnd::Exited(0), "done\n"));
    fs::write(folder.path().join("stop"), "").unwrap();
    death(lost).await;
}
