use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::*;
use crate::Failure;

/// Returns a program that runs a small script in place of aime, with the arguments `-C WORK --config SETTINGS run --goal-file GOAL …`.
fn program(folder: &Path, script: &str) -> Program {
    let path = folder.join("program");
    fs::write(&path, format!("#!/bin/sh\ncd \"$2\"\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let environment = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
    let scripts = Scripts { environment: environment.clone(), ..Scripts::default() };
    Program { path, agents: Vec::new(), settings: BTreeMap::new(), models: BTreeMap::new(), scripts, environment }
}

fn suite(folder: &Path, text: &str) -> Suite {
    fs::create_dir_all(folder.join("suite")).unwrap();
    fs::write(folder.join("suite/suite.toml"), text).unwrap();
    Suite::read(&folder.join("suite")).unwrap()
}

const TWO: &str = "[[task]]\nname = \"good\"\ngoal = \"write\"\ncheck = \"test -f out\"\n[[task]]\nname = \"bad\"\ngoal = \"fail\"\nfiles = { \"here\" = \"x\" }\ncheck = \"test -f out\"\n";
const DOES: &str = "if test -f here; then code=0; else echo x > out; code=0; fi\necho '{\"schema\":\"aime.result/v1\",\"status\":\"completed\",\"answer\":\"done\",\"replans\":0,\"usage\":{}}'\necho \"$@\" >&2; exit $code";

// Requirement: 17.3
#[tokio::test]
async fn each_trial_is_made_once_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), TWO);
    let variants = [Variant { mode: Some("simple".into()), ..Variant::default() }, Variant::default()];
    let all = trials(&suite, &variants, 2);
    assert_eq!(all.len(), 8);
    let program = program(folder.path(), DOES);
    let path = folder.path().join("trials.jsonl");
    let mut log = OutcomeLog::open(&path).unwrap();
    let mut reported = 0;
    let evaluated =
        program.evaluate(&all, &folder.path().join("trials"), 3, &mut log, &CancellationToken::new(), |_, _| reported += 1).await.unwrap();
    assert_eq!((evaluated, reported), (Evaluated { finished: 8, all: 8, stopped: false, without_model: 0, skipped: 0, wrong_use: 0 }, 8));
    for outcome in log.outcomes() {
        let expected = if outcome.task == "good" { (true, None) } else { (false, Some(Failure::FalseClaim)) };
        assert_eq!((outcome.reached, outcome.failure), expected, "{outcome:?}");
    }
    let typed = fs::read_to_string(folder.path().join("trials/good.simple.1/log.txt")).unwrap();
    assert!(typed.contains("--mode simple --timeout 600s --approve all --unattended --output jsonl"), "{typed}");
    // A second evaluation has nothing left to do.
    let mut log = OutcomeLog::open(&path).unwrap();
    let evaluated = program.evaluate(&all, folder.path(), 3, &mut log, &CancellationToken::new(), |_, _| reported += 1).await.unwrap();
    assert_eq!((evaluated.finished, reported), (8, 8));
}

// Requirement: 17.3
#[tokio::test]
async fn one_that_is_stopped_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), TWO);
    let variants = [Variant::default()];
    let all = trials(&suite, &variants, 1);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    let program = program(folder.path(), "sleep 600");
    let evaluated = program.evaluate(&all, folder.path(), 1, &mut log, &cancel, |_, _| ()).await.unwrap();
    assert_eq!(evaluated, Evaluated { finished: 0, all: 2, stopped: true, without_model: 0, skipped: 0, wrong_use: 0 });
    assert!(log.outcomes().is_empty());
}

// Requirement: 17.6
#[tokio::test]
async fn files_come_late_and_wrong_plans_are_handed_over() {
    const PLAN: &str =
        r#"{"tasks": [{"id": "a", "kind": "tool"}, {"id": "b", "dependencies": ["a"]}, {"id": "c", "dependencies": ["a", "b"]}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[[task]]\nname = \"odd\"\ngoal = \"g\"\nfiles = {{ \"a\" = \"x\", \"b\" = \"y\" }}\nlate = [\"b\"]\nlate_seconds = 0\n\
         wrong_plan = '{PLAN}'\ncheck = \"test -f first\"\n[[task]]\nname = \"plain\"\ngoal = \"g\"\ncheck = \"true\"\n\
         [[task]]\nname = \"tools\"\ngoal = \"g\"\ncheck = \"true\"\nwrong_plan = '{{\"tasks\": [{{\"id\": \"a\", \"kind\": \"tool\"}}]}}'\n"
    );
    let mut suite = suite(folder.path(), &text);
    let faults = [Fault::LateInformation, Fault::WrongPlan, Fault::WrongTasks];
    let variants = faults.map(|fault| Variant { fault: Some(fault), ..Variant::default() });
    let names = ["odd.configured--late-information.1", "odd.configured--wrong-plan.1", "odd.configured--wrong-tasks.1"];
    let every = trials(&suite, &variants, 1);
    let every: Vec<_> = every.iter().map(Trial::name).collect();
    assert_eq!(every, [&names[..], &["tools.configured--wrong-plan.1"]].concat(), "no more than a task has what they need for");
    suite.tasks.retain(|task| task.name == "odd");
    let all = trials(&suite, &variants, 1);
    // Simulates a tool call: the hook, then waiting for the file.
    let waits = "echo \"$@\" >&2\ntest -e b || touch first\nmkdir .aime; : > .aime/called\nuntil test -e b; do sleep 0.05; done";
    let program = program(folder.path(), waits);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    let reached: Vec<_> = log.outcomes().iter().map(|outcome| outcome.reached).collect();
    assert_eq!(reached, [true, false, false], "the late file is not there at first, and is otherwise");
    let goal = |fault: &str| fs::read_to_string(folder.path().join(format!("odd.configured--{fault}.1/goal.md"))).unwrap();
    assert_eq!(goal("late-information"), "g (Another program writes b, and may not have done so yet: then wait for it.)");
    assert_eq!(goal("wrong-plan"), "g");
    for (name, plan) in [
        (names[1], serde_json::from_str(PLAN).unwrap()),
        (names[2], json!({"tasks": [{"id": "b", "dependencies": []}, {"id": "c", "dependencies": ["b"]}]})),
    ] {
        let place = folder.path().join(name);
        let typed = fs::read_to_string(place.join("log.txt")).unwrap();
        assert!(typed.contains("plan.json"), "{typed}");
        let given: Value = serde_json::from_slice(&fs::read(place.join("plan.json")).unwrap()).unwrap();
        assert_eq!(given, plan, "{name}");
    }
}

/// Another agent gets the same goal, files and bounds, and the same check.
// Requirement: 17.7
#[tokio::test]
async fn another_agent_is_tried_on_the_same_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), &TWO.replace("goal = \"fail\"", "goal = \"fail\"\nseconds = 1"));
    let mut program = program(folder.path(), "exit 1");
    let command = "if test -f here; then exec sleep 600; fi\ncp \"$GOAL_FILE\" out; echo $TIMEOUT_SECONDS$MAX_TOKENS $AIME_MODEL $OPENAI_BASE_URL $OPENAI_API_KEY >> out\n\
                   echo x > ../beside 2>&2 || echo '{\"schema\":\"aime.result/v1\",\"answer\":\"alone\",\"usage\":{\"requests\":2,\"input_tokens\":30}}'";
    program.environment.insert("MAX_TOKENS".into(), "7".into());
    program.environment.insert("OPENAI_API_KEY".into(), "of-another-server".into());
    let model = ModelInUse { name: "small-one".into(), base_url: Some("http://127.0.0.1:1/v1".into()), ..ModelInUse::default() };
    program.models = BTreeMap::from([(Some("small".into()), model)]);
    program.agents = vec![Agent { name: "other".into(), command: command.into() }];
    let variants = Variant::of_agent("other", &["small".into()]);
    let all = trials(&suite, &variants, 1);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    let [good, bad] = log.outcomes() else { panic!("{:?}", log.outcomes()) };
    assert_eq!(
        (good.reached, good.claimed, good.requests, good.input_tokens, good.answer.as_str()),
        (true, true, 2, Some(30), "alone"),
        "{good:?}"
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("good.other--small.1/work/out")).unwrap(),
        "write600 small-one http://127.0.0.1:1/v1\n"
    );
    assert_eq!(bad.failure, Some(Failure::Bound), "{bad:?}");
}

/// A model that cannot be used says nothing about a variant: its trials have no outcome, and are repeated. After the first of them, the
/// others with that model are skipped.
#[tokio::test]
async fn one_without_its_model_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), TWO);
    let variants = [Variant::default()];
    let all = trials(&suite, &variants, 1);
    let path = folder.path().join("log");
    let mut log = OutcomeLog::open(&path).unwrap();
    let away = program(folder.path(), "echo more >&2; echo 'error: no key' >&2; echo 'hint: set it' >&2; exit 3");
    let mut why = Vec::new();
    let cancel = CancellationToken::new();
    let evaluated = away.evaluate(&all, folder.path(), 1, &mut log, &cancel, |outcome, _| why.push(outcome.error.clone())).await.unwrap();
    assert_eq!(evaluated, Evaluated { finished: 0, all: 2, stopped: false, without_model: 1, skipped: 1, wrong_use: 0 });
    assert_eq!(why, [Some("error: no key\nhint: set it".to_owned())]);
    let there = program(folder.path(), DOES);
    let evaluated = there.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    assert_eq!((evaluated.finished, OutcomeLog::open(&path).unwrap().outcomes().len()), (2, 2));
}

/// Another model may still be usable.
#[tokio::test]
async fn an_unusable_model_stops_only_its_own_trials() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), TWO);
    let variants = Variant::all(&[], &["away".to_owned(), "there".to_owned()], &[], &[], &[]);
    let all = trials(&suite, &variants, 2);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    let program = program(folder.path(), "case \"$*\" in *\"--model away\"*) exit 3 ;; *) exit 1 ;; esac");
    let evaluated = program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    assert_eq!(evaluated, Evaluated { finished: 4, all: 8, stopped: false, without_model: 1, skipped: 3, wrong_use: 0 });
}

/// The exit code of an agent is its only claim, and a missing agent was not tried.
#[tokio::test]
async fn an_agent_tells_by_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), "[[task]]\nname = \"t\"\ngoal = \"g\"\ncheck = \"test -f out\"\n");
    let mut program = program(folder.path(), "exit 9");
    let commands = [
        ("done", "touch out"),
        ("claims", "exit 0"),
        ("gives-up", "exit 1"),
        ("crashes", "exit 7"),
        ("away", "no-such-agent"),
        ("wrong", "exit 2"),
    ];
    program.agents = commands.map(|(name, command)| Agent { name: name.into(), command: command.into() }).into();
    let variants: Vec<_> = commands.iter().flat_map(|(name, _)| Variant::of_agent(name, &[])).collect();
    let all = trials(&suite, &variants, 1);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    let evaluated = program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    assert_eq!(evaluated, Evaluated { finished: 4, all: 6, stopped: false, without_model: 0, skipped: 0, wrong_use: 2 });
    let found: Vec<_> = log.outcomes().iter().map(|outcome| (outcome.claimed, outcome.failure, outcome.tokens())).collect();
    let expected = [(true, None), (true, Some(Failure::FalseClaim)), (false, Some(Failure::GivenUp)), (false, Some(Failure::Fault))];
    assert_eq!(found, expected.map(|(claimed, failure)| (claimed, failure, None)));
}

/// Files that a run leaves in the place of hidden files affect only that trial.
#[cfg(unix)]
#[tokio::test]
async fn hidden_files_are_laid_over_what_a_run_left() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[task]]\nname = \"t\"\ngoal = \"g\"\nhidden = { \"tests/x\" = \"1\", \"y\" = \"2\", \"z/w\" = \"3\" }\n\
                check = \"echo looked; grep -q 1 tests/x && grep -q 2 y && grep -q 3 z/w\"\n";
    let suite = suite(folder.path(), text);
    let variants = [Variant::default()];
    let all = trials(&suite, &variants, 1);
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let left = format!("echo > tests; mkdir y; echo > y/in; ln -s {0} z; ln -s {0}/other y.aime-part", elsewhere.display());
    let program = program(folder.path(), &left);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    assert!(log.outcomes()[0].reached, "{:?}", log.outcomes());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing is written through a link");
    assert_eq!(fs::read_to_string(folder.path().join("t.configured.1/check.txt")).unwrap(), "looked\nexit code 0\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_in_which_nothing_may_be_written_costs_its_trial_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[task]]\nname = \"t\"\ngoal = \"g\"\nhidden = { \"tests/x\" = \"1\" }\ncheck = \"true\"\n";
    let suite = suite(folder.path(), text);
    let variants = [Variant::default()];
    let all = trials(&suite, &variants, 1);
    let program = program(folder.path(), "mkdir tests; chmod a-w tests");
    // The second evaluation removes the folder of the first.
    for place in ["log", "another"] {
        let mut log = OutcomeLog::open(&folder.path().join(place)).unwrap();
        program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
        assert_eq!(log.outcomes().len(), 1);
    }
}

/// A trial counts as long as its task, its model and its settings are unchanged.
#[tokio::test]
async fn a_trial_of_something_else_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let variants = [Variant { settings: Some("mine".into()), ..Variant::default() }];
    let mut program = program(folder.path(), DOES);
    let model = |name: &str| BTreeMap::from([(None, ModelInUse { name: name.into(), ..ModelInUse::default() })]);
    let settings = |text: &str| BTreeMap::from([("mine".into(), NamedSettings::new(text.parse().unwrap()).unwrap())]);
    program.models = model("one");
    program.settings = settings("a = 1");
    let path = folder.path().join("log");
    let trials_folder = folder.path().join("trials");
    let made = async |program: &Program, text: &str| {
        let suite = suite(folder.path(), text);
        let all = trials(&suite, &variants, 1);
        let mut log = OutcomeLog::open(&path).unwrap();
        let mut made = Vec::new();
        let cancel = CancellationToken::new();
        program.evaluate(&all, &trials_folder, 1, &mut log, &cancel, |outcome, _| made.push(outcome.task.clone())).await.unwrap();
        assert_eq!(program.outcomes_of(&all, &log).len(), 2, "each counts once");
        made
    };
    assert_eq!(made(&program, TWO).await, ["good", "bad"]);
    assert!(made(&program, TWO).await.is_empty());
    assert_eq!(made(&program, &TWO.replacen("test -f out", "test -e out", 1)).await, ["good"], "its check is another");
    program.models = model("two");
    assert_eq!(made(&program, TWO).await, ["good", "bad"]);
    program.settings = settings("a = 2");
    assert_eq!(made(&program, TWO).await, ["good", "bad"]);
    program.models = model("one");
    program.settings = settings("a = 1");
    assert!(made(&program, TWO).await.is_empty(), "what was made of these is there still");
    let extended = |place: &str, prompt: &str| {
        let place = folder.path().join(place);
        fs::create_dir_all(place.join("prompts")).unwrap();
        fs::write(place.join("prompts/plan_simple.md"), prompt).unwrap();
        settings(&format!("a = 1\nextensions.folders = [{:?}]", place.display().to_string()))
    };
    program.settings = extended("here", "Plan!");
    assert_eq!(made(&program, TWO).await, ["good", "bad"], "a prompt that there was not");
    program.settings = extended("there", "Plan!");
    assert!(made(&program, TWO).await.is_empty(), "the same prompt at another place");
    program.settings = extended("there", "Plan well!");
    assert_eq!(made(&program, TWO).await, ["good", "bad"], "another prompt at the same place");
}

/// A trial whose model fails after the goal was reached is no success of the variant: otherwise only the good ends of failed trials would
/// count.
#[tokio::test]
async fn one_whose_model_failed_at_its_end_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let suite = suite(folder.path(), TWO);
    let variants = [Variant::default()];
    let all = trials(&suite, &variants, 1);
    let mut log = OutcomeLog::open(&folder.path().join("log")).unwrap();
    let program = program(folder.path(), "echo x > out; exit 3");
    let evaluated = program.evaluate(&all, folder.path(), 1, &mut log, &CancellationToken::new(), |_, _| ()).await.unwrap();
    assert_eq!((evaluated.without_model, evaluated.skipped, log.outcomes().len()), (1, 1, 0));
}

#[test]
fn of_a_link_the_link_alone_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, link, locked] = ["kept", "link", "locked"].map(|name| folder.path().join(name));
    fs::create_dir_all(&kept).unwrap();
    fs::create_dir_all(locked.join("in")).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    for place in [&link, &locked, &folder.path().join("nothing")] {
        remove_tree(place).unwrap();
        assert!(place.symlink_metadata().is_err(), "{place:?}");
    }
    assert!(kept.is_dir());
}
