use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Place;
use crate::ToolError;

// Requirement: 8.4
#[tokio::test]
async fn bash_tells_output_errors_and_exit_code() {
    let place = Place::new(&[("a.txt", "hello\n")]);
    let output = place.call("bash", json!({"command": "cat a.txt; echo careful >&2"})).await.unwrap();
    assert_eq!(output.text, "hello\n[stderr]\ncareful\n");
    assert_eq!(output.value, json!({"exit_code": 0, "stdout": "hello\n", "stderr": "careful\n"}));
    let table = [
        ("true", "(nothing printed, exit code 0)"),
        ("echo out; echo err >&2; exit 3", "out\n[stderr]\nerr\n[exit code 3]"),
        ("printf out; exit 1", "out\n[exit code 1]"),
        ("exit 2", "[exit code 2, nothing printed]"),
        ("grep nothing a.txt", "(nothing printed: grep has found nothing)\n[exit code 1]"),
        ("cat a.txt | grep nothing", "(nothing printed: grep has found nothing)\n[exit code 1]"),
        ("test -f missing && grep -q x missing", "[exit code 1, nothing printed]"),
        ("kill -9 $$", "[ended by signal 9]"),
        ("wc -c < a.txt > n.txt; : > none.txt", "`n.txt` is now:\n6\n\n`none.txt` is empty now."),
        ("echo far > /dev/null", "(nothing printed, exit code 0)"),
        ("ln -s /dev/null link; echo far > link", "(nothing printed, exit code 0)"),
        ("cat", "(nothing printed, exit code 0)"),
    ];
    for (command, expected) in table {
        assert_eq!(place.text("bash", json!({"command": command})).await, expected, "{command}");
    }
}

#[tokio::test]
async fn nothing_is_emptied_before_it_is_read() {
    let place = Place::new(&[("a.txt", "one\ntwo\n")]);
    let text = place.text("bash", json!({"command": "head -n 1 a.txt > a.txt"})).await;
    let expected = "Error: not run: the shell empties `a.txt` before `head` reads it. Write to another file, then rename it: `… > a.txt.new && mv a.txt.new a.txt`";
    assert_eq!(text, expected);
    assert_eq!(place.text("bash", json!({"command": "cat a.txt"})).await, "one\ntwo\n");
}

// Requirement: 8.14
#[tokio::test]
async fn the_time_limit_keeps_what_was_printed() {
    let place = Place::new(&[]);
    let text = place.text("bash", json!({"command": "echo begun; sleep 1000", "timeout_seconds": 1})).await;
    assert_eq!(text, "begun\n[timed out after 1 s; timeout_seconds may be up to 600]");
    let text = place.text("bash", json!({"command": "true", "timeout_seconds": 601})).await;
    assert_eq!(text, "Error: The parameters do not fit: `timeout_seconds` must be at most 600, not 601.");
}

#[tokio::test]
async fn a_cancelled_command_is_cancelled() {
    let mut place = Place::new(&[]);
    let cancel = CancellationToken::new();
    place.context = place.context.clone().with_cancel(cancel.clone());
    let (result, ()) = tokio::join!(place.call("bash", json!({"command": "echo x > begun; sleep 1000"})), async {
        while !place.root().join("begun").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    assert_eq!(result, Err(ToolError::Cancelled));
    assert_eq!(place.call("bash", json!({"command": "echo x > again"})).await, Err(ToolError::Cancelled));
    assert!(!place.root().join("again").exists());
}

#[tokio::test]
async fn the_environment_is_the_clean_one() {
    let place = Place::new(&[]);
    let text = place.text("bash", json!({"command": "env | cut -d= -f1 | sort | tr '\\n' ' '"})).await;
    // The usual variables, and those of the private temporary folder.
    assert_eq!(text, "AIME_PROCESS GOCACHE PATH PWD SHLVL TEMP TMP TMPDIR XDG_CACHE_HOME _ npm_config_cache ");
}

// Requirement: 4.39, 4.40
#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_whole() {
    let mut place = Place::new(&[]);
    let outputs = place.root().join(".aime/runs/r1/outputs");
    place.context = place.context.clone().with_output_folder(&outputs);
    let text = place.text("bash", json!({"command": "seq 1 5000; echo end; exit 4"})).await;
    assert!(text.starts_with("1\n2\n") && text.ends_with("\nend\n[exit code 4]"), "{text}");
    let file = text.split("the whole is in ").nth(1).unwrap().split(']').next().unwrap();
    assert!(file.starts_with(".aime/runs/r1/outputs/bash-"), "{file}");
    assert!(place.content(file).contains("\n2500\n"));
    let read = place.text("read_file", json!({"path": file, "offset": 2500, "limit": 1})).await;
    assert!(read.starts_with("2500\n"), "{read}");

    let whole = Place { context: place.context.clone().with_whole_results(), outer: place.outer };
    let text = whole.text("bash", json!({"command": "seq 1 5000"})).await;
    assert!(text.ends_with("\n5000\n") && text.contains("\n2500\n"));
}

// Requirement: 8.4
#[tokio::test]
async fn python_runs_code_where_there_is_python() {
    let place = Place::new(&[("mine.py", "word = 'ä'\n")]);
    let code = "import mine, os\nprint(mine.word)\nopen('made', 'w').write('x')\n";
    let result = place.call("python", json!({"code": code})).await;
    if matches!(&result, Err(ToolError::Failed(text)) if text.contains("was not found")) {
        return;
    }
    let output = result.unwrap();
    assert_eq!(output.value, json!({"exit_code": 0, "stdout": "ä\n", "stderr": ""}));
    assert_eq!(place.content("made"), "x");
    assert!(!place.root().join("__pycache__").exists());
    let error = place.text("python", json!({"code": "print('so far')\n1/0"})).await;
    assert!(
        error.starts_with("so far\n[stderr]\nTraceback") && error.ends_with("ZeroDivisionError: division by zero\n[exit code 1]"),
        "{error}"
    );
}

#[tokio::test]
async fn python_knows_its_own_program() {
    let place = Place::new(&[]);
    let code = "import os, subprocess, sys\nassert os.access(sys.executable, os.X_OK), sys.executable\n\
                print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)";
    if super::has_python() {
        assert_eq!(place.text("python", json!({"code": code})).await, "42\n\n");
    }
}

#[tokio::test]
async fn a_command_may_be_longer_than_an_argument() {
    let place = Place::new(&[]);
    let long = format!("x='{}'\ncat; echo ${{#x}}; exit 3", "a".repeat(200 * 1024));
    assert_eq!(place.text("bash", json!({"command": long})).await, "204800\n[exit code 3]");
}

// Requirement: 8.29
#[tokio::test]
async fn a_command_goes_on_in_the_background() {
    let place = Place::new(&[]);
    let command = "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo gone; exit 5";
    let started = place.call("bash", json!({"command": command, "background": true})).await.unwrap();
    let id = started.value["id"].as_str().unwrap().to_owned();
    let runs = |text: &str| {
        let (printed, state) = text.split_once(&format!("[{id} runs, since ")).unwrap();
        assert!(state.strip_suffix(" s]").is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{text}");
        printed.to_owned()
    };
    // A slow machine may print the first line after the call.
    let mut printed = runs(&started.text);
    while printed.is_empty() {
        printed = runs(&place.text("bash_output", json!({"id": id})).await);
    }
    assert_eq!(printed, "begun\n");
    assert_eq!(runs(&place.text("bash_output", json!({"id": id})).await), "", "nothing is shown twice");
    assert_eq!(place.text("bash_output", json!({})).await, format!("In the background:\n{id}: {command}"));
    std::fs::write(place.root().join("go"), "").unwrap();
    let mut output = String::new();
    // The line and the end may be seen by two calls.
    while !output.contains(" ended after ") {
        let next = place.text("bash_output", json!({"id": id})).await;
        output.push_str(next.split(&format!("[{id} runs, since ")).next().unwrap_or_default());
    }
    assert!(output.starts_with("gone\n") && output.ends_with("with exit code 5]"), "{output}");
    let gone = "it was ended, or with an earlier part of the run that was interrupted. No command runs in the background.";
    assert_eq!(place.text("bash_output", json!({"id": id})).await, format!("Error: no process `{id}` runs: {gone}"));
}

// Requirement: 8.29
#[tokio::test]
async fn background_commands_end_by_call_and_with_the_run() {
    let mut place = Place::new(&[]);
    let start = json!({"command": "echo $$ > pid; sleep 1000", "background": true});
    let id = place.value("bash", start.clone()).await["id"].as_str().unwrap().to_owned();
    let pid = place.content("pid").trim().to_owned();
    let text = place.text("bash_kill", json!({"id": id})).await;
    assert!(text.contains(&format!("[{id} was ended after")), "{text}");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());

    let processes = place.context.background.clone().unwrap();
    place.context.background = Some(processes.of_owner("a"));
    place.value("bash", start.clone()).await;
    place.context.background = Some(processes.of_owner("b"));
    place.value("bash", start).await;
    let count = async || place.value("bash_output", json!({})).await["processes"].as_array().map_or(0, Vec::len);
    assert_eq!(count().await, 2);
    processes.of_owner("a").end_own(&place.context).await;
    assert_eq!(count().await, 1);
    processes.end_all(&place.context).await;
    assert_eq!(count().await, 0);

    place.context.background = None;
    let text = place.text("bash", json!({"command": "sleep 1000", "background": true})).await;
    assert!(text.starts_with("Error: commands cannot run in the background here"), "{text}");
}

/// Commands that have ended do not count, and their end can still be read.
#[tokio::test]
async fn only_running_commands_are_limited() {
    let place = Place::new(&[]);
    let processes = place.context.background.clone().unwrap();
    let start = async |command: &str| {
        let started = place.call("bash", json!({"command": command, "background": true})).await?;
        Ok::<_, ToolError>(started.value["id"].as_str().unwrap().to_owned())
    };
    let mut first = String::new();
    for _ in 0..16 {
        first = start("echo a; sleep 0.2").await.unwrap();
        processes.ended(&first).await;
    }
    for _ in 0..16 {
        start("echo a; sleep 1000").await.unwrap();
    }
    let refused = start("echo a; sleep 1000").await.unwrap_err().to_string();
    assert!(refused.contains("too many commands run in the background"), "{refused}");
    let end = place.text("bash_output", json!({"id": first})).await;
    assert!(end.contains("with exit code 0]"), "{end}");
    processes.end_all(&place.context).await;
}

#[tokio::test]
async fn other_commands_stay_listed_while_own_ones_end() {
    let place = Place::new(&[]);
    place.value("bash", json!({"command": "sleep 1000", "background": true})).await;
    let processes = place.context.background.clone().unwrap();
    let seen = processes.clone();
    let reader = std::thread::spawn(move || (0..10_000).all(|_| seen.list().len() == 1));
    while !reader.is_finished() {
        processes.of_owner("another").end_own(&place.context).await;
    }
    assert!(reader.join().unwrap());
    processes.end_all(&place.context).await;
}

#[tokio::test]
async fn a_background_command_changes_no_protected_place() {
    let place =
        Place::new(&[(".envrc", "old"), ("run.sh", "while [ ! -e go ]; do sleep 0.02; done; echo evil > .envrc; echo > done; sleep 1000")]);
    let command = "sh ./run.sh";
    let id = place.value("bash", json!({"command": command, "background": true})).await["id"].as_str().unwrap().to_owned();
    std::fs::write(place.root().join("go"), "").unwrap();
    for _ in 0..500 {
        if place.root().join("done").exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let text = place.text("bash_kill", json!({"id": id})).await;
    assert!(text.contains("put back as it was: `.envrc`"), "{text}");
    assert_eq!(place.content(".envrc"), "old");
}

#[tokio::test]
async fn a_program_that_is_missing_is_named() {
    let mut place = Place::new(&[]);
    place.context.environment = std::sync::Arc::new([("PATH".into(), "/nowhere".into())].into());
    let text = place.text("python", json!({"code": "1"})).await;
    assert_eq!(text, "Error: the program `python3` was not found; install it, or put its folder on PATH");
    let text = place.text("bash", json!({"command": "echo a\0b"})).await;
    assert_eq!(text, "Error: argument 2 of `bash` contains a NUL byte, which cannot be given to a program; leave it out");
}
