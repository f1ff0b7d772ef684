//! Messages in the language of the person; English for whatever a program reads.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{Ended, World, actor, bash, done, gives_up, plan, tool, wait_until, write};

/// A planned run of two tasks.
fn planned() -> World {
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("a", "write out.txt", &[]), actor("b", "look at it", &["a"])]))])
        .on(When::tools().and_contains("look at it"), [done("it is there")])
        .on(When::tools().and_turn(0), [write("out.txt", "out\n")])
        .on(When::tools(), [done("out.txt is written")])
        .on(When::plain(), [Reply::text("文件 out.txt 已写好。")]);
    World::with(script)
}

const RUN: [&str; 6] = ["run", "写 out.txt", "--mode", "complex", "--run-id", "r1"];

/// Fails unless a line of the text begins with each of these.
#[track_caller]
fn assert_lines(ended: &Ended, text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found.trim_start().starts_with(line)), "no line begins {line:?}\n{ended}");
    }
}

#[test]
fn a_lead_answers_in_the_language_of_the_goal() {
    for (goal, answer) in [("写 out.txt", "文件 out.txt 已写好。"), ("Écris out.txt", "Le fichier out.txt est écrit.")] {
        let world = World::led(Script::new().on(When::tools(), [write("out.txt", "out\n"), done(answer)]));
        let ended = world.aime(["run", goal]).must(0);
        assert_eq!(ended.stdout, format!("{answer}\n"), "{ended}");
        let requests = world.server().requests();
        assert_eq!(requests.len(), 2, "the answer is the lead's own: {ended}");
        assert!(requests[0]["messages"].to_string().contains("all that people read, in the language of the goal"), "{}", requests[0]);
    }
}

// Requirement: 19.1
#[test]
fn a_run_is_told_in_chinese() {
    let mut world = planned();
    world.set("LANG", "zh_CN.UTF-8");
    let ended = world.aime(RUN).must(0);
    assert_eq!(ended.stdout, "文件 out.txt 已写好。\n");
    assert_lines(
        &ended,
        &ended.stderr,
        &[
            "模型",
            "沙箱",
            "目标    写 out.txt",
            "方式    复杂（由命令行决定，类别 general：已指定方式）",
            "正在向模型要计划",
            "计划    v1",
            "[ ] b b 在 a 之后",
            "开始    a",
            "完成    b",
            "运行    已完成",
        ],
    );
    assert_lines(&ended, &ended.stderr, &["运行 r1 已完成：2 个任务完成 2 个，用时 "]);
    for english in ["route", "asking for", "tasks", "tokens in", "no network"] {
        assert!(!ended.stderr.contains(english), "{english}\n{ended}");
    }
    let ended = world.aime(["runs", "list"]).must(0);
    assert!(ended.stdout.contains("已完成") && ended.stdout.contains("写 out.txt"), "{ended}");
    let ended = world.aime(["runs", "show", "r1"]).must(0);
    assert_lines(&ended, &ended.stdout, &["运行    r1 已完成", "目标    写 out.txt", "方式    复杂", "计划    v1", "回答"]);
    let ended = world.aime(["runs", "events", "r1"]).must(0);
    assert!(ended.stdout.contains("目标    写 out.txt"), "what was recorded is told in the language of who looks\n{ended}");
    let ended = world.aime(["--lang", "en", "runs", "show", "r1"]).must(0);
    assert_lines(&ended, &ended.stdout, &["run     r1 completed", "mode    complex", "answer"]);
}

// Requirement: 19.1
#[test]
fn the_whole_terminal_speaks_chinese() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [bash("touch began; until test -e go; do sleep 0.1; done")])
        .on(When::tools().and_contains("慢慢走"), [done("慢慢地走到了")])
        .on(When::tools(), [done("walked")]);
    let mut world = World::with(script);
    world.set("LANG", "zh_CN.UTF-8");
    let line = "exec AIME run '走到湖边' --mode direct --run-id trip --approve all";
    let mut terminal = world.terminal(line, (80, 24));
    world.wait_for_file("began");
    terminal.shows(&[
        "执行中  走到湖边",
        "计划 v1 [",
        "1 个任务已完成 0 个",
        "── 计划 ──",
        "── 正在进行 ──",
        "── 经过 ──",
        "? 帮助 · t 说话",
        "Ctrl-C 停止",
    ]);
    for english in ["tasks", "working", "Plan", "What happened", "help"] {
        assert!(!terminal.screen().contains(english), "{english}\n{}", terminal.screen());
    }
    terminal.types("?");
    terminal.shows(&["── 按键 ──", "对运行说话", "停止运行，之后可以继续；再按一次立即停止", "Esc 返回"]);
    terminal.types("\u{1b}");
    terminal.hides("── 按键 ──");
    terminal.types("t慢慢走");
    terminal.shows(&["对运行说 > 慢慢走", "Enter 发送"]);
    terminal.types("\r");
    terminal.shows(&["已告知  慢慢走"]);
    let events = || world.aime(["runs", "events", "trip", "--output", "jsonl"]).must(0);
    wait_until("the words are in the journal", || events().events("evidence_added").len() == 1);
    world.file("go", "");
    let left = terminal.ends().must(0);
    for text in ["1 个任务已完成 1 个", "慢慢地走到了", "已完成"] {
        assert!(left.text.contains(text), "{text} stays\n{}", left.text);
    }
    for english in ["tokens in", "sent", "done"] {
        assert!(!left.text.contains(english), "{english}\n{}", left.text);
    }
}

// Requirement: 19.1
#[test]
fn rarer_commands_speak_chinese() {
    let mut world = planned();
    world.set("LANG", "zh_CN.UTF-8");
    world.aime(RUN).must(0);
    let ended = world.aime(["runs", "undo", "r1", "--yes"]).must(0);
    assert_lines(&ended, &ended.stderr, &["撤销    运行 r1：1 个路径", "删除     out.txt"]);
    assert_lines(&ended, &ended.stdout, &["已恢复 1 个路径"]);
    let ended = world.aime(["runs", "redo", "r1", "--yes", "--output", "json"]).must(0);
    assert_eq!(ended.json()["changes"], json!([{"path": "out.txt", "did": "recreate"}]), "{ended}");
    world.file("out.txt", "mine\n");
    let ended = world.aime(["runs", "undo", "r1", "--yes"]).must(1);
    assert_lines(&ended, &ended.stdout, &["没有任何改动", "保留     out.txt：此后被你或别的运行改动过"]);
    let ended = world.aime(["runs", "stats"]).must(0);
    assert_lines(
        &ended,
        &ended.stdout,
        &[
            "运行       1",
            "规划       1 个计划中按要求做成 1 个",
            "执行       已结束的1 个计划中达到目标 1 个",
            "用时 ",
            "合并       0 ms (0%)",
        ],
    );
    let ended = world.aime(["memory", "search", "zzzz"]).must(0);
    assert_lines(&ended, &ended.stderr, &["没有记忆含有这些词"]);
    let ended = world.aime(["tools", "list"]).must(0);
    assert!(ended.stdout.lines().any(|line| line.starts_with("read_file") && line.contains(" 读取 ")), "{ended}");
    let ended = world.aime(["tools", "call", "read_file", "[]"]).must(2);
    assert_lines(&ended, &ended.stderr, &["错误：参数不是 JSON 对象"]);
}

// Requirement: 19.1
#[test]
fn faults_of_plans_are_told_in_chinese() {
    let mut faulty = plan(&[tool("find", "grepp", json!({}), &[]), tool("note", "write_file", json!({"content": 5}), &["finnd"])]);
    faulty["tasks"][1]["colour"] = json!("red");
    let world = World::alone();
    world.plan("plan.json", &faulty);
    let ended = world.aime(["check", "plan.json", "--lang", "zh"]).must(2);
    assert_lines(
        &ended,
        &ended.stdout,
        &[
            "错误 tasks[0].tool（任务 \"find\"）：没有工具 \"grepp\"（是不是 \"grep\"？）",
            "错误 tasks[1].dependencies[0]（任务 \"note\"）：未知的任务 \"finnd\"；是不是 \"find\"？",
            "错误 tasks[1].parameters（任务 \"note\"）：对 `write_file` 的调用缺少 \"path\"（参数：",
            "3 处错误",
        ],
    );
    let ended = world.aime(["run", "--plan", "plan.json", "--lang", "zh"]).must(2);
    assert_lines(
        &ended,
        &ended.stderr,
        &["错误：计划 plan.json 有 3 处错误：", "tasks[0].tool（任务 \"find\"）：没有工具", "提示：`aime schema plan` 给出计划的格式"],
    );
    let english = world.aime(["check", "plan.json"]).must(2);
    assert_lines(&english, &english.stdout, &["fault tasks[0].tool (task \"find\"): there is no tool \"grepp\" (did you mean \"grep\"?)"]);
    let json = |lang: &str| world.aime(["check", "plan.json", "--format", "json", "--lang", lang]).must(2).stdout;
    assert_eq!(json("zh"), json("en"));

    // A plan of a model that cannot stand, and one that was repaired.
    let mut repaired = plan(&[actor("a", "write out.txt", &[])]);
    repaired["tasks"][0]["colour"] = json!("red");
    let script = Script::new()
        .on(When::schema("aime_plan"), [Reply::json(faulty), Reply::json(repaired)])
        .on(When::tools(), [done("done")])
        .on(When::any(), [Reply::text("好了。")]);
    let world = World::with(script);
    let ended = world.aime(["run", "写 out.txt", "--mode", "complex", "--lang", "zh"]).must(0);
    assert_lines(
        &ended,
        &ended.stderr,
        &[
            "不采用  第 1 次：tasks[0].tool（任务 \"find\"）：没有工具 \"grepp\"（是不是 \"grep\"？）；tasks[1].parameters",
            "已修复：任务的成员 `colour` 未知，已略去",
        ],
    );
}

// Requirement: 19.1
#[test]
fn models_settings_and_servers_are_told_in_chinese() {
    let mut world = World::alone();
    world.user_settings(
        "[models.default]\nmodel = \"big\"\napi_key_env = \"NO_SUCH_KEY\"\n[mcp.servers.git]\ncommand = \"no-such-program\"\n\
         [permissions]\ndeny = [\"bash(rm *)\"]\n",
    );
    world.set("LANG", "zh_CN.UTF-8");
    let ended = world.aime(["models"]).must(0);
    assert!(ended.stdout.contains("没有密钥：NO_SUCH_KEY 未设置"), "{ended}");
    if cfg!(feature = "local-model") {
        assert!(ended.stderr.contains("本地模型，首次使用时下载：") && ended.stdout.contains("未下载"), "{ended}");
        let ended = world.aime(["models", "path", "1.5b"]).must(3);
        assert_lines(&ended, &ended.stderr, &["错误：qwen2.5-coder-1.5b 不在本机", "提示：`aime models pull qwen2.5-coder-1.5b` 下载它的"]);
        let ended = world.aime(["models", "pull", "nowhere.gguf"]).must(2);
        assert_lines(
            &ended,
            &ended.stderr,
            &["错误：nowhere.gguf 是你自己的文件：不需要下载", "提示：`aime models list` 列出可以下载的模型"],
        );
    }
    let ended = world.aime(["permissions"]).must(0);
    assert_lines(&ended, &ended.stdout, &["方式        ", "禁止        bash(rm *)"]);
    let ended = world.aime(["config", "show"]).must(0);
    assert_lines(&ended, &ended.stderr, &["来自："]);
    let ended = world.aime(["config", "check"]).must(0);
    assert_lines(&ended, &ended.stdout, &["有效  "]);
    if cfg!(feature = "mcp") {
        let ended = world.aime(["mcp", "list"]).must(0);
        assert!(ended.stdout.starts_with("git ") && ended.stdout.contains("尚未询问"), "{ended}");
        let ended = world.aime(["mcp", "test", "git"]).must(1);
        assert_lines(&ended, &ended.stderr, &["错误：无法启动 MCP 服务器 `git`", "起因："]);
        let ended = world.aime(["mcp", "test", "got"]).must(2);
        assert_lines(&ended, &ended.stderr, &["错误：没有 MCP 服务器 `got`；有：git", "提示：`aime mcp list` 列出它们"]);
    }
    world.file("aime.toml", "[run]\nmax_parallel = 0\nmax_paralel = 7\n");
    let ended = world.aime(["config", "check"]).must(2);
    assert_lines(&ended, &ended.stdout, &["错误   ", "是不是 `max_parallel`？"]);
    world.file("aime.toml", "[run]\nmax_parallel = 0\n");
    let ended = world.aime(["config", "check"]).must(2);
    assert!(ended.to_string().contains("run.max_parallel 是 0：请写从 1 到 1000 的数"), "{ended}");

    let mut bare = World::alone();
    bare.set("LANG", "zh_CN.UTF-8");
    bare.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let ended = bare.aime(["config", "init"]).must(0);
    assert_lines(&ended, &ended.stderr, &["模型：已设置 OPENAI_BASE_URL，所以文件中不写模型", "已写入 "]);
}

// Requirement: 19.1
#[test]
fn evaluations_are_told_in_chinese() {
    let mut world = World::with(Script::new().on(When::tools(), [done("done")]).on(When::any(), [Reply::text("done")]));
    world.set("LANG", "zh_CN.UTF-8");
    let task = |name: &str| format!("[[task]]\nname = \"{name}\"\ngoal = \"GOAL\"\ncheck = \"test -f out.txt\"\n");
    world.file("suite/suite.toml", &task("one"));
    let ended = world.aime(["eval", "suite", "--mode", "direct"]).must(0);
    assert_lines(
        &ended,
        &ended.stdout,
        &[
            "1 个任务",
            "| 方式 | 达到 | 成功率（95%） | 声称而未达到 | token（中位数） |",
            "| 方式 | 声称达到而没有达到 |",
            "| direct | 0 of 1 |",
        ],
    );
    assert!(world.read(".aime/evaluations/suite/summary.md").contains("| way | reached |"), "files are for whoever reads them");
    world.file("suite/suite.toml", &format!("{}{}", task("one"), "[[task]]\nname = \"two\"\ngoal = \"GOAL\"\n"));
    let ended = world.aime(["eval", "suite"]).must(2);
    assert_lines(&ended, &ended.stderr, &["错误：套件 suite 有错误：", "suite/suite.toml：第 2 个任务（two）：没有检查：请写 `check = "]);
    let foreign = "instruction: do it\ncategory: x\n";
    world.file("foreign/hello/task.yaml", foreign);
    world.file("foreign/hello/run-tests.sh", "true\n");
    world.file("foreign/hello/Dockerfile", "FROM x\nRUN apt-get install y\n");
    let ended = world.aime(["eval", "foreign", "--mode", "direct"]).must(0);
    assert_lines(&ended, &ended.stderr, &["hello 需要一个镜像，这里不制作：RUN apt-get install y"]);
}

// Requirement: 19.3
#[test]
fn what_programs_read_is_the_same_in_every_language() {
    for (form, lang) in [("json", "zh"), ("jsonl", "zh"), ("json", "en")] {
        let world = planned();
        let ended = world.aime(RUN.iter().chain(&["--output", form, "--lang", lang])).must(0);
        let result = if form == "json" { ended.json() } else { ended.last() };
        assert_eq!((result["status"].as_str(), result["tasks"][0]["status"].as_str()), (Some("completed"), Some("completed")), "{ended}");
        if form == "jsonl" {
            assert_eq!(ended.events("routed")[0]["by"], "flag", "{ended}");
            assert!(!ended.events("task_status_changed").is_empty(), "{ended}");
        }
        let ended = world.aime(["runs", "list", "--output", "json", "--lang", lang]).must(0);
        assert_eq!(ended.json()[0]["status"], "completed");
    }
    let english = World::alone().aime(["schema", "config"]).must(0);
    assert_eq!(World::alone().aime(["--lang", "zh", "schema", "config"]).must(0).stdout, english.stdout);
}

// Requirement: 19.1
#[test]
fn what_fails_is_told_with_its_hint() {
    let alone = |arguments: &[&str]| World::alone().aime(arguments.iter().copied().chain(["--lang", "zh"]));
    for (arguments, code, lines) in [
        (&["run"][..], 2, &["错误：没有目标", "提示：aime run \"在这里写目标\""][..]),
        (&["resume", "r9"], 2, &["错误：", "提示：这个文件夹里还没有运行：用 `aime run \"…\"` 开始一个"]),
        (&["run", "--plan", "nowhere.json"], 2, &["错误：计划 nowhere.json 不存在", "提示：请检查路径"]),
        (&["-C", "nowhere", "doctor"], 2, &["错误：无法使用工作文件夹 nowhere", "提示：请指定一个存在的文件夹"]),
    ] {
        let ended = alone(arguments).must(code);
        assert_lines(&ended, &ended.stderr, lines);
    }
    // Not even the settings can be read: the locale says which language.
    let mut world = World::alone().settings("[messages]\nlanguage = \"klingon\"\n");
    world.set("LC_ALL", "zh_CN.UTF-8");
    let ended = world.aime(["runs"]).must(2);
    assert_lines(&ended, &ended.stderr, &["错误：", "提示：请写其中之一：auto, en, zh"]);

    // A server that is not there: what the library says, and what the run says.
    let mut world = World::alone();
    world.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    world.set("AIME__MODELS__DEFAULT__MAX_RETRIES", "0");
    let ended = world.aime(["run", "写一首诗", "--mode", "direct", "--lang", "zh"]).must(3);
    assert_lines(&ended, &ended.stderr, &["提示：请检查 http://127.0.0.1:1/v1 上是否有模型服务器在运行；这个地址由 OPENAI_BASE_URL 设置"]);
    assert!(ended.stderr.contains("无法连接 http://127.0.0.1:1/v1"), "{ended}");
}

// Requirement: 19.2
#[test]
fn the_settings_choose_and_the_flag_comes_before_them() {
    let empty = |world: &World, flag: &[&str]| world.aime(["runs"].iter().chain(flag)).must(0).stderr;
    let (english, chinese) = ("no runs in this folder yet\n", "这个文件夹里还没有运行\n");
    let mut world = World::alone();
    assert_eq!(empty(&world, &[]), english);
    world.user_settings("[messages]\nlanguage = \"zh\"\n");
    assert_eq!(empty(&world, &[]), chinese);
    assert_eq!(empty(&world, &["--lang", "en"]), english);
    world.set("AIME__MESSAGES__LANGUAGE", "en");
    assert_eq!(empty(&world, &[]), english);
    world.set("AIME__MESSAGES__LANGUAGE", "auto");
    world.set("LC_MESSAGES", "zh_CN.UTF-8");
    assert_eq!(empty(&world, &[]), chinese);
    assert_eq!(empty(&world, &["--lang", "auto"]), chinese);
    assert_eq!(empty(&world, &["-q"]), "");
}

// Requirement: 19.1
#[test]
fn the_doctor_speaks_chinese() {
    let world = World::with(Script::new().on(When::any(), [Reply::text("ready")]));
    let ended = world.aime(["doctor", "--lang", "zh"]).must(0);
    assert_lines(
        &ended,
        &ended.stdout,
        &["正常    配置", "正常    权限", "正常    日志", "正常    记忆", "正常    干净的环境变量", "缺少    模型 default"],
    );
    for expected in ["尚无；运行将保存在", "命令只看到列出的环境变量", "位于 http", "没有工具调用：它说“ready”"]
    {
        assert!(ended.stdout.contains(expected), "{expected}\n{ended}");
    }
    let ended = World::alone().aime(["doctor", "--lang", "zh"]).must(3);
    assert_lines(&ended, &ended.stdout, &["故障", "解决办法："]);
}

/// An actor that wants to run a command, and says whether it could.
fn commander() -> World {
    World::with(
        Script::new()
            .on(When::tools().and_turn(0), [bash("echo ran >> log; echo it went w''ell")])
            .on(When::tools().and_contains("it went well").and_turn(1), [done("the command ran")])
            .on(When::tools().and_turn(1), [gives_up("I was not allowed to")]),
    )
}

const ASK: &str = "AIME run '刷墙' --mode direct --run-id paint --lang zh";

// Requirement: 19.5
#[test]
fn consent_is_asked_for_and_given_in_chinese() {
    for (typed, log, word) in [("是\n", "ran\n", "yes"), ("否\n", "", "no")] {
        let world = commander();
        let mut running = world.terminal(&format!("export TERM=dumb; exec {ASK}"), (100, 24));
        running.shows(&["请批准", "运行这条命令吗？", "echo ran >> log", "否 [N]"]);
        running.types(typed);
        let ended = running.ends();
        assert_eq!(world.read("log"), log, "{typed}\n{}", ended.text);
        let events = world.aime(["runs", "events", "paint", "--output", "jsonl"]).must(0);
        let asked = events.events("question_asked")[0]["question"].as_str().unwrap().to_owned();
        assert!(asked.starts_with("Run this command?"), "the journal keeps what was asked as it was: {asked}");
        assert_eq!(events.events("question_answered")[0]["answer"], word, "{events}");
    }
}

// Requirement: 19.1
#[test]
fn what_waits_for_consent_is_told_with_its_hint() {
    let world = commander();
    let ended = world.aime(["run", "刷墙", "--mode", "direct", "--run-id", "paint", "--lang", "zh"]).must(5);
    assert_lines(
        &ended,
        &ended.stderr,
        &[
            "请批准 运行这条命令吗？",
            "问题：运行这条命令吗？",
            "提示：用 `aime answer paint yes` 允许，或用 `aime answer paint no` 拒绝，然后 `aime resume paint`",
        ],
    );
    assert!(ended.stderr.contains("    echo ran >> log"), "{ended}");
    let ended = world.aime(["answer", "paint", "是", "--lang", "zh"]).must(0);
    assert!(ended.stderr.contains("已回答：") && ended.stderr.contains("用 `aime resume paint` 继续"), "{ended}");
    let ended = world.aime(["resume", "paint", "--output", "json", "--lang", "zh"]).must(0);
    assert_eq!(ended.json()["error"], json!(null));
}

// Requirement: 19.6
#[test]
fn the_whole_of_a_goal_in_chinese_is_asked_for_in_its_language() {
    let world = planned();
    world.aime(RUN).must(0);
    let asked = world.server().requests();
    let is_instructed = |request: &serde_json::Value| {
        let messages = request["messages"].to_string();
        messages.contains("in the language of the") || messages.contains("请用中文")
    };
    assert!(asked.len() > 3 && asked.iter().all(is_instructed), "planner, actors and the answer: {asked:#?}");
}

// Requirement: 19.1
#[test]
fn help_and_what_is_typed_wrong_are_told_in_chinese() {
    let mut world = World::alone();
    let english = world.aime(["run", "--help"]).must(0);
    assert!(english.stdout.contains("Usage: aime run") && english.stderr.is_empty(), "{english}");
    for flags in [&["--lang", "zh"][..], &["--lang=zh"]] {
        let help = world.aime(["run", "--help"].iter().chain(flags)).must(0);
        assert_lines(&help, &help.stdout, &["实现一个目标", "用法： aime run", "所有命令的选项:"]);
        assert!(help.stderr.is_empty(), "{help}");
    }
    world.user_settings("[messages]\nlanguage = \"zh\"\n");
    let help = world.aime(["help", "runs"]).must(0);
    assert_lines(&help, &help.stdout, &["查看运行", "用法： aime runs"]);
    let wrong = world.aime(["doctr"]).must(2);
    assert_lines(
        &wrong,
        &wrong.stderr,
        &["错误：没有命令 'doctr'", "提示：有一个相近的命令：'doctor'", "用法：aime", "更多说明请用 '--help'。"],
    );
    assert!(wrong.stdout.is_empty(), "{wrong}");
    let wrong = world.aime(["rum", "--lang", "en"]).must(2);
    assert_lines(&wrong, &wrong.stderr, &["error: unrecognized subcommand 'rum'"]);
    // Settings that cannot be read are no reason to say nothing.
    world.user_settings("[messages\n");
    world.set("LANG", "zh_CN.UTF-8");
    let nothing = world.aime([""; 0]).must(2);
    assert_lines(&nothing, &nothing.stderr, &["会规划的代理运行时", "命令:", "用法： aime"]);
    world.aime(["--version"]).must(0);
}
