use super::*;
use crate::{Suite, prove::solved_and_not, suite::tests::folder};

/// Proves the only task of the suite and returns it.
async fn proven(files: &[(&str, &str)]) -> (Task, Vec<String>) {
    let folder = folder(files);
    let mut suite = Suite::read(folder.path()).unwrap();
    assert_eq!(suite.tasks.len(), 1);
    let task = suite.tasks.remove(0);
    assert_eq!(solved_and_not(&task).await, (true, false), "{task:?}");
    (task, suite.notes.iter().map(ToString::to_string).collect())
}

// Requirement: 17.5
#[tokio::test]
async fn a_task_of_terminal_bench_is_read() {
    let (task, notes) = proven(&[
        ("greet/task.yaml", "instruction: |-\n  Write hello to /app/out.txt.\ncategory: files\nmax_agent_timeout_sec: 120.0\ntags: [a]\n"),
        ("greet/run-tests.sh", "#!/bin/bash\nsh $TEST_DIR/check.sh\n"),
        ("greet/tests/check.sh", "grep -q hello /app/out.txt"),
        ("greet/solution.sh", "echo hello > /app/out.txt"),
        ("greet/data.csv", "a,b\n"),
        ("greet/Dockerfile", "FROM debian\nRUN apt-get install -y jq\nCOPY data.csv /app/\n"),
    ])
    .await;
    assert_eq!((task.name.as_str(), task.goal.as_str(), task.category.as_str()), ("greet", "Write hello to ./out.txt.", "files"));
    assert_eq!((task.bounds.seconds, task.files.len(), task.hidden.len()), (120, 1, 1));
    assert_eq!(notes, ["greet needs a container image, and aime does not build images: RUN apt-get install -y jq"]);
}

// Requirement: 17.5
#[tokio::test]
async fn a_task_of_harbor_is_read() {
    let (task, notes) = proven(&[
        ("tasks/greet/task.toml", "version = \"1.0\"\n[metadata]\ncategory = \"files\"\n[agent]\ntimeout_sec = 900.0\n"),
        ("tasks/greet/instruction.md", "Write hello to `/app/out.txt`."),
        ("tasks/greet/environment/Dockerfile", "FROM debian\nCOPY data.csv /app/data.csv\n"),
        ("tasks/greet/environment/data.csv", "a,b\n"),
        (
            "tasks/greet/tests/test.sh",
            "#!/bin/bash\nif grep -q hello /app/out.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
        ),
        ("tasks/greet/solution/solve.sh", "echo hello > /app/out.txt"),
    ])
    .await;
    assert_eq!(task.goal, "Write hello to `./out.txt`.");
    assert_eq!((task.bounds.seconds, task.files.len()), (900, 1));
    assert!(notes.is_empty(), "{notes:?}");
}

/// The image has another working folder and copies a folder; its scripts change the folder and write paths in quotes; its reward is an
/// object, and a run has left another one.
#[tokio::test]
async fn a_task_of_harbor_with_an_image_is_read() {
    let (task, notes) = proven(&[
        ("tasks/sum/task.toml", "version = \"1.0\"\n"),
        ("tasks/sum/instruction.md", "Write sum.py, which prints the sum of `/srv/numbers.txt`."),
        ("tasks/sum/environment/Dockerfile", "FROM debian\nWORKDIR /srv\nCOPY parts/ ./\n"),
        ("tasks/sum/environment/parts/numbers.txt", "1\n2\n"),
        ("tasks/sum/tests/test.sh", "cd /tests\nif sh check.sh; then echo '{\"reward\": 1}' > /logs/verifier/reward.json; fi\n"),
        ("tasks/sum/tests/check.sh", "cd /srv && test \"$(python3 /srv/sum.py)\" = 3\n"),
        (
            "tasks/sum/solution/solve.sh",
            "mkdir /srv/build && cd /srv/build\ncat > /srv/sum.py <<'EOF'\nprint(sum(map(int, open('/srv/numbers.txt'))))\nEOF\n",
        ),
    ])
    .await;
    assert_eq!(task.goal, "Write sum.py, which prints the sum of `./numbers.txt`.");
    assert!(task.files.has(Path::new("numbers.txt")) && notes.is_empty(), "{notes:?}");
    let left = "mkdir -p .check/logs; echo 1 > .check/logs/reward.txt; chmod a-w .check/logs";
    assert!(!crate::prove::passes_after(&task, Some(left)).await, "what a run leaves is no reward");
}

// Requirement: 17.5
#[tokio::test]
async fn an_exercise_of_exercism_is_read() {
    let (task, notes) = proven(&[
        ("exercises/practice/leap/.meta/config.json", r#"{"blurb": "Leap years.", "files": {"solution": ["leap.py"], "test": ["leap_test.py"], "editor": ["cases.py"], "example": [".meta/example.py"]}}"#),
        ("exercises/practice/leap/.meta/example.py", "def leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n"),
        ("exercises/practice/leap/.docs/instructions.md", "Say whether a year is a leap year."),
        ("exercises/practice/leap/cases.py", ""),
        ("exercises/practice/leap/leap.py", "def leap(year):\n    pass\n"),
        ("exercises/practice/leap/leap_test.py", "import unittest\nimport cases\nfrom leap import leap\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertTrue(leap(2000))\n        self.assertFalse(leap(1900))\n"),
    ])
    .await;
    assert_eq!(task.goal, "Leap years.\n\nSay whether a year is a leap year.\n\nWrite the solution in leap.py.");
    assert_eq!(notes, ["the tests of .py exercises need python3"]);
    for test in ["leap_test.py", "cases.py"].map(Path::new) {
        assert!(!task.files.has(test) && task.hidden.has(test), "{test:?}");
    }
}

/// A checkout of a benchmark contains tables of other programs, and folders with names that a suite does not allow.
#[test]
fn what_is_no_task_of_a_benchmark_does_not_keep_the_others_from_being_read() {
    let hello = [("task.yaml", "instruction: Write hello\n"), ("run-tests.sh", "grep -q hello out.txt\n")];
    let places = ["tasks/hello", "tasks/two words"].map(|folder| hello.map(|(name, text)| (format!("{folder}/{name}"), text)));
    let mut files: Vec<_> = places.iter().flatten().map(|(name, text)| (name.as_str(), *text)).collect();
    files.push(("pyproject.toml", "[project]\nname = \"bench\"\n"));
    let suite = Suite::read(folder(&files).path()).unwrap();
    assert_eq!(suite.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["hello"]);
    assert!(suite.notes.len() == 1 && suite.notes[0].to_string().contains("two words"), "{:?}", suite.notes);
    // In an aime suite each table contains tasks.
    files.push(("suite.toml", "name = \"mine\"\n"));
    let error = Suite::read(folder(&files).path()).unwrap_err().to_string();
    assert!(error.contains("pyproject.toml") && error.contains("unknown field"), "{error}");
}

#[test]
fn tests_that_are_to_be_skipped_are_wanted() {
    for (ending, text, expected) in [
        (
            "js",
            "test('a', f);\n  xtest('b', g);\nxdescribe('c');\nprocess.exit(1);",
            "test('a', f);\n  test('b', g);\ndescribe('c');\nprocess.exit(1);",
        ),
        (
            "rb",
            "  def test_a\n    # skip\n    x\n  end\n  def test_b\n    skip\n    y\n  end\n",
            "  def test_a\n    # skip\n    x\n  end\n  def test_b\n    y\n  end\n",
        ),
        ("py", "skip\nxtest(\n", "skip\nxtest(\n"),
    ] {
        assert_eq!(all_wanted(ending, text), expected, "{ending}");
    }
}

#[test]
fn a_path_is_put_where_it_stands_for_itself() {
    assert_eq!(beside("Mend /app/app/main.py in /app.", Path::new("/app")), "Mend ./app/main.py in ..");
    for (text, expected) in [
        ("cat /app/x /tests/y", "cat @AIME_FOLDER@/x @AIME_FOLDER@/.check/tests/y"),
        ("cd /app", "cd @AIME_FOLDER@"),
        ("ls /app/app/main.py /app/app", "ls @AIME_FOLDER@/app/main.py @AIME_FOLDER@/app"),
        ("tail /app.log. Look at /app.", "tail /app.log. Look at @AIME_FOLDER@."),
        ("/usr/app /application /srv/tests", "/usr/app /application /srv/tests"),
        ("$HOME/app ${X}/app", "$HOME/app ${X}/app"),
    ] {
        assert_eq!(localize(text, Path::new("/app")), expected);
    }
}

#[test]
fn an_unknown_language_is_reported() {
    let folder = folder(&[
        ("leap/.meta/config.json", r#"{"files": {"solution": ["leap.xyz"], "test": ["t.xyz"]}}"#),
        ("leap/.docs/instructions.md", "x"),
    ]);
    let error = Suite::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains(".xyz"), "{error}");
}
