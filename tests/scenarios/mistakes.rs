//! What a person reads after a mistake: the place, what is wrong, and the fix, in both languages.

use crate::harness::World;

/// Runs a command in both languages, and checks its exit code and what it tells.
fn check_message(world: &World, arguments: &[&str], code: i32, english: &[&str], chinese: &[&str]) {
    for (language, words) in [("en", english), ("zh", chinese)] {
        let ended = world.aime(arguments.iter().chain(&["--lang", language])).must(code);
        for word in words {
            assert!(ended.stderr.contains(word) || ended.stdout.contains(word), "{word}\n{ended}");
        }
    }
}

/// A run whose model was never reached has no plan.
#[test]
fn a_run_without_a_plan_has_no_versions() {
    let mut world = World::alone().settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n");
    world.set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    world.aime(["run", "hi", "--mode", "complex", "--run-id", "r"]).must(3);
    for arguments in [&["runs", "diff", "r", "1", "2"][..], &["runs", "fork", "r", "--at", "1"], &["runs", "show", "r", "--at", "1"]] {
        check_message(
            &world,
            arguments,
            2,
            &["error: run r has no plan\n", "hint: `aime runs show r` shows its state, tasks and plan versions\n"],
            &["错误：运行 r 没有计划\n", "提示：`aime runs show r` 显示它的状态、任务和计划的各个版本\n"],
        );
    }
    // A run that stopped with an error has not ended: it can be resumed, and has no follow-up yet.
    check_message(
        &world,
        &["continue", "last", "more"],
        2,
        &[
            "error: run r cannot be continued: it stopped with an error before its work was done\nhint: `aime resume r` finishes a stopped run",
        ],
        &["错误：不能接着做运行 r：它因错误停下，工作还没有做完\n提示：用 `aime resume r` 把被停止的运行做完"],
    );
    let shown = world.aime(["runs", "show", "r"]).must(0);
    assert!(!shown.stdout.contains("\nplan") && !shown.stdout.contains("\n\n"), "{shown}");
    // A file that cannot be written is named as it was given.
    let ended = world.aime(["runs", "report", "r", "-o", "none/x.html"]).must(2);
    let message = "error: the report cannot be written to none/x.html: No such file or directory (os error 2)\n";
    assert!(ended.stderr.starts_with(message), "{ended}");
    for (file, reason) in [("none/p.json", "No such file or directory (os error 2)"), (".", "is a directory")] {
        let ended = world.aime(["plan", "goal", "-o", file]).must(2);
        let message = format!("error: the plan cannot be written to {file}: {reason}\nhint: name a file in an existing folder\n");
        assert_eq!(ended.stderr, message, "{ended}");
    }
}

#[test]
fn a_misspelt_rule_suggests_the_tool() {
    for (rule, english, chinese) in [
        (
            "wriet_file(docs/**)",
            "the rule `wriet_file(docs/**)` names an unknown tool: there is no `wriet_file`; did you mean `write_file`?",
            "规则 `wriet_file(docs/**)` 没有指明工具：没有 `wriet_file`；是不是 `write_file`？",
        ),
        (
            "bsh",
            "the rule `bsh` names an unknown tool: there is no `bsh`; did you mean `bash`?",
            "规则 `bsh` 没有指明工具：没有 `bsh`；是不是 `bash`？",
        ),
        ("launch", "the rule `launch` names an unknown tool: there is no `launch`\n", "规则 `launch` 没有指明工具：没有 `launch`\n"),
    ] {
        let world = World::alone().settings(&format!("[permissions]\ndeny = [\"{rule}\"]\n"));
        check_message(&world, &["config", "check"], 2, &[english, "aime.toml:2:10"], &[chinese, "aime.toml:2:10"]);
        check_message(&world, &["run", "hi"], 2, &[english], &[chinese]);
    }
}

#[test]
fn tools_are_listed_by_name() {
    let list = World::alone().aime(["tools", "list"]).must(0).stdout;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 10 && names.is_sorted(), "{names:?}");
}

#[test]
fn a_suite_that_is_not_there_is_told_in_words_that_need_no_other_file() {
    check_message(
        &World::alone(),
        &["eval", "none"],
        2,
        &["there is no folder \"none\"", "hint: name `core`, or a folder with a `suite.toml` of `[[task]]` tables\n"],
        &["提示：请写 `core`，或一个含有 `suite.toml`（其中有 `[[task]]` 表）的文件夹\n"],
    );
}
