use super::*;

fn started(folder: &Path, script: &str) -> BackgroundProcess {
    BackgroundProcess::start(&ProcessRequest { time_limit: Duration::MAX, ..bash(folder, script) }).unwrap()
}

/// Waits for this output.
async fn printed(process: &BackgroundProcess, expected: &str) {
    let mut text = String::new();
    for _ in 0..LOOKS {
        text.push_str(&process.take_printed().text());
        if text == expected {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("{text:?}");
}

#[tokio::test]
async fn reports_new_output_and_the_end() {
    let folder = here();
    let process = started(folder.path(), "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2; exit 3");
    printed(&process, "one\n").await;
    assert_eq!((process.end(), process.take_printed().text()), (None, String::new()));
    assert_eq!(process.wait(Duration::from_millis(10)).await, None);
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(process.wait(LONG).await, Some(ProcessEnd::Exited(3)));
    assert_eq!(process.untaken(), 4);
    assert_eq!(process.take_printed().text(), "two\n");
    assert_eq!(process.untaken(), 0);
}

#[tokio::test]
async fn ends_with_all_that_it_started() {
    let folder = here();
    let script = "setsid sleep 1000 & echo $! > child; echo $$ > pid; sleep 1000";
    let process = started(folder.path(), script);
    let (leader, child) = (pid(folder.path(), "pid").await, pid(folder.path(), "child").await);
    assert_eq!(process.number(), leader);
    assert_eq!(process.stop().await, Some(ProcessEnd::Cancelled));
    death(leader).await;
    death(child).await;

    let process = started(folder.path(), "echo $$ > again; sleep 1000");
    let leader = pid(folder.path(), "again").await;
    drop(process);
    death(leader).await;
}

#[tokio::test]
async fn a_flood_is_kept_in_part() {
    let folder = here();
    let process = BackgroundProcess::start(&ProcessRequest { output_limit: 1_000, ..bash(folder.path(), "seq 1 100000") }).unwrap();
    assert_eq!(process.wait(LONG).await, Some(ProcessEnd::Exited(0)));
    let text = process.take_printed().text();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n100000\n") && text.contains("bytes left out"), "{text}");
}
