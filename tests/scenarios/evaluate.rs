//! Suites of tasks, tried by the program on itself.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, done, messages_text, write};

const SUITE: &str = r#"
name = "small"
[[task]]
name = "good"
goal = "GOOD-GOAL: write hello to out.txt"
check = "grep -q hello out.txt"
solution = "echo hello > out.txt"
[[task]]
name = "lie"
goal = "LIE-GOAL: write hello to out.txt"
check = "grep -q hello out.txt"
solution = "echo hello > out.txt"
held_out = true
level = 3
"#;

fn world() -> World {
    let script = Script::new()
        .on(When::tools().and_contains("GOOD-GOAL").and_turn(0), [write("out.txt", "hello\n")])
        .on(When::tools(), [done("it is written")]);
    let world = World::with(script);
    world.file("suite/suite.toml", SUITE);
    world
}

const EVAL: [&str; 8] = ["eval", "suite", "--mode", "direct", "--repeat", "2", "--output", "json"];

fn cell<'a>(report: &'a Value, part: &str) -> &'a Value {
    &report["summary"][part][0][1]
}

// Requirement: 17.1
#[test]
fn what_counts_is_the_check_and_nothing_is_tried_twice() {
    let world = world();
    let ended = world.aime(EVAL).must(0).stderr_contains(&["4 trials in 1 way", "reached", "claimed and not reached"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["schema"], "aime.evaluation/v1");
    let all = cell(&report, "variants");
    assert_eq!((&all["tried"], &all["reached"], &all["false_claims"]), (&json!(4), &json!(2), &json!(2)), "{ended}");
    let (low, high) = (all["success"]["low"].as_f64().unwrap(), all["success"]["high"].as_f64().unwrap());
    assert!(low < 0.2 && high > 0.8, "four trials tell little: {ended}");
    assert_eq!(cell(&report, "held_out")["reached"], 0);
    assert_eq!(report["trials"].as_array().unwrap().len(), 4);
    let kept = ".aime/evaluations/small";
    assert!(world.read(&format!("{kept}/summary.html")).contains("<svg") && world.read(&format!("{kept}/summary.md")).contains("2 of 4"));
    assert!(world.exists(&format!("{kept}/trials/good.direct.2/work/.aime/aime.db")), "each has a journal of its own");
    // The same again: all of it is done. One more round: two trials.
    let requests = world.server().requests().len();
    world.aime(EVAL).must(0).stderr_contains(&["4 of them are already done"]);
    assert_eq!(world.server().requests().len(), requests);
    world.aime(["eval", "suite", "--mode", "direct", "--repeat", "3"]).must(0).stderr_contains(&["6 trials in 1 way", "6/6"]);
    world
        .aime(["eval", "suite", "--mode", "direct", "--task", "good", "--fresh"])
        .must(0)
        .stderr_contains(&["1 trial in 1 way; 0 of them are already done"]);
    world
        .aime(["eval", "suite", "--mode", "direct", "--level", "3", "--level", "4", "--fresh"])
        .must(0)
        .stderr_contains(&["1 trial in 1 way; 0 of them are already done"]);
}

// Requirement: 17.6
#[test]
fn tools_fail_and_information_comes_late_on_purpose() {
    let call = |number: usize| Reply::call("write_file", json!({"path": format!("{number}.txt"), "content": "x"}));
    let script = (1..=7)
        .fold(Script::new(), |script, number| script.on(When::tools().and_contains("BUSY-GOAL").and_turn(number - 1), [call(number)]))
        .on(
            When::tools().and_contains("LATE-GOAL").and_turn(0),
            [Reply::call("bash", json!({"command": "until [ -e late.txt ]; do sleep 0.1; done; cat late.txt"}))],
        )
        .on(When::tools(), [done("done")]);
    let world = World::with(script);
    world.file("suite/suite.toml", "[[task]]\nname = \"busy\"\ngoal = \"BUSY-GOAL\"\ncheck = \"test -f 7.txt\"\n");
    let late = "[[task]]\nname = \"late\"\ngoal = \"LATE-GOAL\"\nfiles = { \"late.txt\" = \"THE-NEWS\" }\nlate = [\"late.txt\"]\nlate_seconds = 0\n\
                check = \"true\"\n";
    world.file("suite/late.toml", late);
    let eval = |fault: &str, task: &str| {
        world.aime(["eval", "suite", "--mode", "direct", "--fault", fault, "--replanning", "off", "--task", task]).must(0)
    };
    eval("flaky-tools", "busy").stderr_contains(&["busy, direct, flaky-tools, replanning off: reached"]);
    let made = |number: &usize| {
        world.exists(&format!(".aime/evaluations/suite/trials/busy.direct--flaky-tools--replanning-off.1/work/{number}.txt"))
    };
    assert_eq!((1..=7).filter(made).collect::<Vec<_>>(), [7]);
    let last = world.actor_requests("BUSY-GOAL").pop().unwrap();
    assert!(messages_text(&last).contains("the machine is busy; try it later"), "{last}");
    eval("late-information", "late").stderr_contains(&["reached"]);
    let last = world.actor_requests("LATE-GOAL").pop().unwrap();
    assert!(messages_text(&last).contains("THE-NEWS"), "it comes while the first command waits for it: {last}");
    world.aime(["eval", "suite", "--fault", "wrong-plan"]).must(2).stderr_contains(&["no task of this suite has what these faults need"]);
}

#[test]
fn settings_are_compared() {
    let world = world();
    // A prompt of one's own lies beside the file that names its folder.
    world.file("other/mine/prompts/steps_left.md", "SAY-WHAT-YOU-KNOW {left}");
    world.file("other/short.toml", "[extensions]\nfolders = [\"mine\"]\n[run]\nmax_steps = 2\n");
    let eval = ["eval", "suite", "--task", "good", "--mode", "direct", "--settings", "usual=", "--settings", "short=other/short.toml"];
    world.aime(eval).must(0).stderr_contains(&["2 trials in 2 ways", "good, direct, usual: reached", "good, direct, short: "]);
    let asked = world.actor_requests("GOOD-GOAL");
    assert!(asked.iter().any(|request| messages_text(request).contains("SAY-WHAT-YOU-KNOW")), "the folder was looked for beside the file");
    world.file("other/wrong.toml", "[run]\nmax_stepz = 1\n");
    let wrong = |settings: [&str; 2]| world.aime(["eval", "suite", "--settings", settings[0], "--settings", settings[1]]).must(2);
    wrong(["a=", "b=other/wrong.toml"]).stderr_contains(&["wrong.toml:2", "max_stepz"]);
    wrong(["a=", "a="]).stderr_contains(&["two settings are called \"a\""]);
    wrong(["a=", "b=nowhere.toml"]).stderr_contains(&["nowhere.toml"]);
    wrong(["a=", "other/short.toml"]).stderr_contains(&["NAME=FILE"]);
}

// Requirement: 17.2
#[test]
fn checks_are_proven_without_a_model() {
    let world = World::alone();
    world.file("suite/suite.toml", SUITE);
    let ended = world.aime(["eval", "suite", "--verify-checks"]).must(0).stderr_contains(&["2 of 2 checks hold"]);
    assert!(ended.stdout.contains("good: good"), "{ended}");
    world.file("suite/more.toml", "[[task]]\nname = \"idle\"\ngoal = \"g\"\ncheck = \"true\"\n");
    let ended = world.aime(["eval", "suite", "--verify-checks"]).must(1).stderr_contains(&["2 of 3 checks hold"]);
    assert!(ended.stdout.contains("idle: the check passes although nothing was done"), "{ended}");
    let (_, example) = include_str!("../../docs/src/guide/evaluation.md").split_once("```toml\n").unwrap();
    world.file("guide/suite.toml", example.split("```").next().unwrap());
    world.aime(["eval", "guide", "--verify-checks"]).must(0).stderr_contains(&["2 of 2 checks hold"]);
    // What a run keeps in its folder is there when a check is proven too.
    let counts = "[[task]]\nname = \"idle\"\ngoal = \"g\"\ncheck = \"echo files: $(find . -type f | wc -l); test $(find . -type f | wc -l) = 2\"\n\
                  solution = \"touch one two\"\n";
    world.file("suite/more.toml", counts);
    let ended = world.aime(["eval", "suite", "--verify-checks"]).must(1);
    assert!(ended.stdout.contains("idle: the check fails after the solution\n  files: 3\n  exit code 1\n"), "{ended}");
}

#[test]
fn wrong_use_prints_a_hint() {
    let world = World::alone();
    world.aime(["eval", "nowhere"]).must(2).stderr_contains(&["there is no folder \"nowhere\"", "suite.toml"]);
    world.file("suite/suite.toml", "[[task]]\nname = \"a\"\n");
    world.aime(["eval", "suite"]).must(2).stderr_contains(&["the goal is missing", "the check is missing"]);
    world.file("suite/suite.toml", SUITE);
    world.aime(["eval", "suite", "--task", "none"]).must(2).stderr_contains(&["no task of this suite is asked for"]);
    world
        .aime(["eval", "suite", "--task", "good", "--level", "3"])
        .must(2)
        .stderr_contains(&["no task of this suite is asked for", "--level"]);
    let twice = ["eval", "suite", "--agent", "direct=true", "--mode", "direct"];
    world.aime(twice).must(2).stderr_contains(&["two ways are called \"direct\"", "names of their own"]);
    world.aime(["eval", "suite", "--agent", "other=true", "--fault", "flaky-tools"]).must(2).stderr_contains(&["aime's own", "--mode"]);
    let held = std::fs::File::create(world.path(".aime/evaluations/small/lock")).unwrap();
    held.lock().unwrap();
    world.aime(["eval", "suite", "--verify-checks"]).must(2).stderr_contains(&["another evaluation is under way in", "-o"]);
    world.file("suite/suite.toml", &SUITE.replace("\"small\"", "\"../small\""));
    world.aime(["eval", "suite"]).must(2).stderr_contains(&["suite.toml: the name \"../small\" is invalid"]);
    world.file("x.toml", "");
    world.aime(["--config", "x.toml", "eval", "suite"]).must(2).stderr_contains(&["--config file of its own"]);
}

/// A model that cannot be reached ends the trials with it: the others would only repeat its error.
#[test]
fn an_unreachable_model_is_tried_once() {
    let mut world = World::alone().settings("[models.default]\nmodel = \"m\"\nmax_retries = 0\n");
    world.file("suite/suite.toml", SUITE);
    world.set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let ended = world.aime(EVAL).must(3);
    let ended = ended.stderr_contains(&[
        "1 trial could not use the model and will not count",
        "3 trials with the same model were skipped: check it with `aime doctor` first",
    ]);
    assert_eq!(ended.stderr.matches("cannot reach").count(), 1, "{ended}");
}

/// What could not be tried says why, does not count, and takes nothing from the tables of before.
#[test]
fn failed_starts_are_reported_and_repeated() {
    let world = world();
    let agent = ["eval", "suite", "--task", "good", "--agent", "mine=./mine.sh"];
    world.aime(agent).must(2).stderr_contains(&["good, mine: wrong use", "mine.sh: No such file", "1 trial could not begin"]);
    assert!(!world.exists(".aime/evaluations/small/summary.md"));
    let there = ["eval", "suite", "--task", "good", "--agent", "mine=echo hello > out.txt"];
    let ended = world.aime(there).must(0).stderr_contains(&["good, mine: reached"]);
    assert!(ended.stdout.contains("| mine | 1 of 1 | 100% (21–100) | 0 | – |"), "it does not tell its tokens: {ended}");
    world.aime(agent).must(2);
    assert!(world.read(".aime/evaluations/small/summary.md").contains("| mine | 1 of 1 |"));
}

#[test]
fn a_projects_settings_do_not_count_in_trials_and_folders_of_others_stay() {
    let world = world();
    world.file("aime.toml", "[models.default]\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    world
        .aime(["eval", "suite", "--task", "good", "--mode", "direct"])
        .must(0)
        .stderr_contains(&["aime.toml does not count in trials", "reached"]);
    for part in ["trials", "proofs"] {
        world.file(&format!("{part}-of-mine/{part}/work.txt"), "mine");
        let kept = format!("{part}-of-mine");
        let refused = ["eval", "suite", "--verify-checks", "-o", &kept];
        world.aime(refused).must(2).stderr_contains(&["existed before and is not the folder of an evaluation", "-o"]);
        assert!(world.exists(&format!("{kept}/{part}/work.txt")));
    }
}
