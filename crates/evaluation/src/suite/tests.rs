use std::{fs, path::Path};

use super::*;
use crate::prove::{passes_after, solved_and_not};

/// Returns a folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const HELLO: &str = "name = \"small\"\n[[task]]\nname = \"hello\"\ngoal = \"Write hello\"\ncheck = \"grep -q hello out\"\nsolution = \"echo hello > out\"\n";

#[tokio::test]
async fn tables_and_folders_are_read_together() {
    let folder = folder(&[
        ("suite.toml", HELLO),
        (
            "more.toml",
            "[[task]]\nname = \"late\"\ngoal = \"g\"\ncheck = \"test -f a.txt\"\nsolution = \":\"\nfiles = {\"a.txt\" = \"x\"}\nlate = [\"a.txt\"]\nlevel = 4\n",
        ),
        ("tasks/own/task.toml", "goal = \"Copy\"\ncategory = \"files\"\nheld_out = true\n"),
        ("tasks/own/files/deep/a.txt", "a"),
        ("tasks/own/hidden/expected", "a"),
        ("tasks/own/check.sh", "cmp expected b.txt"),
        ("tasks/own/solution.sh", "cp deep/a.txt b.txt"),
        ("README.md", "no task"),
    ]);
    let suite = Suite::read(folder.path()).unwrap();
    assert_eq!(suite.name, "small");
    assert_eq!(suite.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["late", "hello", "own"]);
    let own = suite.tasks.last().unwrap();
    assert!(own.held_out && own.files.has(Path::new("deep/a.txt")) && own.hidden.len() == 1, "{own:?}");
    assert_eq!(solved_and_not(own).await, (true, false));
}

#[test]
fn all_faults_are_told_at_once() {
    let folder = folder(&[
        ("suite.toml", "[[task]]\nname = \"a b\"\ngoal = \"\"\nfiles = {\"../x\" = \"\"}\nlate = [\"y\"]\nlevel = 9\nwrong_plan = \"{\"\n"),
        ("twice.toml", HELLO),
        ("twice2.toml", HELLO),
        ("typo.toml", "[[task]]\nname = \"x\"\ngoall = \"y\"\n"),
    ]);
    let error = Suite::read(folder.path()).unwrap_err().to_string();
    for text in [
        "\"a b\" is invalid",
        "the goal is missing",
        "\"../x\" is outside",
        "the late file \"y\"",
        "level is 9",
        "wrong_plan is not JSON",
        "the check is missing",
        "two tasks are named \"hello\"",
        "goall",
    ] {
        assert!(error.contains(text), "{text}: {error}");
    }
}

#[test]
fn a_folder_without_tasks_says_what_to_write() {
    let empty = folder(&[("notes.md", "")]);
    assert!(Suite::read(empty.path()).unwrap_err().to_string().contains("`[[task]]`"));
    assert!(matches!(Suite::read(Path::new("/nowhere/at/all")), Err(SuiteError::Unreadable { .. })));
}

#[test]
fn a_sample_is_spread_over_categories_and_levels_and_always_the_same() {
    let sampled = |wanted| {
        let mut suite = Suite::core().unwrap();
        suite.sample(wanted);
        suite.tasks
    };
    let of = |tasks: &[Task], what: fn(&Task) -> String| tasks.iter().map(what).collect::<BTreeSet<_>>().len();
    let twelve = sampled(12);
    assert_eq!(twelve, sampled(12));
    assert_eq!(twelve.len(), 12);
    assert!(of(&twelve, |task| task.category.clone()) >= 5 && of(&twelve, |task| task.level.to_string()) >= 4, "{twelve:?}");
    assert!((1..59).all(|wanted| sampled(wanted).iter().all(|task| sampled(wanted + 1).contains(task))), "a larger one holds the smaller");
    for (wanted, got) in [(0, 0), (1, 1), (59, 59), (1_000, Suite::core().unwrap().tasks.len())] {
        assert_eq!(sampled(wanted).len(), got, "{wanted}");
    }
}

/// Each check of the built-in suite passes after its solution, and fails after nothing.
// Requirement: 17.2
#[tokio::test(flavor = "multi_thread")]
async fn the_suite_that_is_built_in_is_proven() {
    let suite = Suite::core().unwrap();
    assert!(suite.tasks.len() >= 40, "{}", suite.tasks.len());
    let mut names: Vec<_> = suite.tasks.iter().map(|task| task.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), suite.tasks.len(), "two tasks have one name");
    let mut bad = Vec::new();
    for task in &suite.tasks {
        let found = solved_and_not(task).await;
        if found != (true, false) {
            bad.push(format!("{}: the check passes after the solution: {}, after nothing: {}", task.name, found.0, found.1));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Other work than the solution, and true if it is right: a task, and a script that may run its solution (`SOLUTION`).
const WORK: [(&str, bool, &str); 28] = [
    ("haiku", true, "printf 'Foam upon the surf\nwhite gulls cry above the cliffs\nnight comes with the swell\n' > haiku.txt"),
    ("haiku", false, "printf 'The season has come\nresearch of the falling leaves\nwind is in the trees\n' > haiku.txt"),
    ("page", true, "printf '<h1>\n  Welcome\n</h1>\n' > index.html"),
    ("page", false, "printf '<p>Welcome</p>\n' > index.html"),
    ("table", false, "SOLUTION\necho Paris,France >> cities.csv"),
    ("readme", true, "printf 'Demo\n====\n\n- main.py\n- data.csv\n' > README.md"),
    ("readme", false, "printf 'A demo\n\n- main.py\n- data.csv\n' > README.md"),
    ("which-release", true, "echo '1.2 (1.3 only says that it works with --json)' > ANSWER"),
    ("which-release", false, "echo '1.2 or 1.3' > ANSWER"),
    ("who-approves", false, "echo 'Not Tomas Reyes: it is Ida Holm' > ANSWER"),
    ("timeline", false, "echo '1901-05-02 1901-05-10 1901-05-13 1901-05-22' > timeline.md"),
    ("timeline", false, "SOLUTION\ntac timeline.md > turned; mv turned timeline.md"),
    ("compare-plans", true, "echo '**Medium**: 30.00' > ANSWER"),
    ("compare-plans", false, "echo 'Small: 10 + 30 GB x 0.50 = 35, Medium 25 + 5. The cheapest is Large: 33' > ANSWER"),
    ("compare-plans", false, "echo 'Medium: 300' > ANSWER"),
    ("failing-step", false, "SOLUTION\necho >> convert.py"),
    ("split-and-merge", false, "SOLUTION\nrm letters/c.txt"),
    ("split-and-merge", false, "SOLUTION\necho plum > letters/p.txt"),
    ("ledger", true, "SOLUTION\nsed -i 's/balance: 230/balance: 230.00/' report.md"),
    ("ledger", false, "SOLUTION\nsed -i 's/balance: 230/balance: 2305/' report.md"),
    (
        "package",
        false,
        "SOLUTION\nprintf 'import unittest\n\nclass Test(unittest.TestCase):\n    def test(self):\n        pass\n' > tests/test_greet.py",
    ),
    ("rename-everywhere", false, "SOLUTION\necho 'fetch = load' >> store.py"),
    ("rename-everywhere", true, "SOLUTION\necho '# load gives a value' >> store.py"),
    ("calculator", true, "SOLUTION\necho '# Without eval or exec.' >> calc.py"),
    ("calculator", false, "SOLUTION\necho 'if False: eval(\"1\")' >> calc.py"),
    ("dirty-dates", false, "SOLUTION\nsed -i /2026-03-01/d clean.txt"),
    ("dirty-dates", false, "SOLUTION\ntac clean.txt > turned; mv turned clean.txt"),
    ("tests-pass", false, "rm -f test*.py"),
];

#[tokio::test(flavor = "multi_thread")]
async fn checks_tell_right_work_from_wrong() {
    let suite = Suite::core().unwrap();
    let mut bad = Vec::new();
    for (name, right, script) in WORK {
        let task = suite.tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("{name}"));
        let script = script.replace("SOLUTION", task.solution.as_deref().unwrap());
        if passes_after(task, Some(&script)).await != right {
            bad.push(format!("{name}: {script}"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
