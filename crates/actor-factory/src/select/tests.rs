use aime_progress_management::TaskId;
use proptest::prelude::*;

use super::*;

fn task(description: &str) -> TaskSpec {
    TaskSpec::actor(TaskId::new("t").unwrap(), description)
}

/// Selects from the built-in profiles for a small model.
fn small(task: &TaskSpec, category: &str) -> Selection {
    select(&ProfileCatalog::builtin(), task, category, |_| true)
}

fn chosen(description: &str, category: &str) -> String {
    small(&task(description), category).profile
}

// Requirement: 4.8
#[test]
fn a_profile_is_chosen_by_the_words_of_the_task() {
    let cases = [
        ("Write report.md with a table of all results and check that it is complete", "general", "sisyphus"),
        ("Implement the parser, fix the failing test and build it", "coding", "sisyphus"),
        ("Where is the retry logic?", "coding", "explore"),
        ("Find all usages of the function parse", "coding", "explore"),
        ("Find every TODO comment and write them to todo.md", "coding", "sisyphus"),
        ("Review the architecture and recommend which risk to deal with first", "analysis", "oracle"),
        ("Research articles on the web about durable execution and summarise the sources", "research", "librarian"),
        ("Run the command make install", "quick", "atlas"),
        ("What is 2+2?", "general", "sisyphus"),
        ("", "", "sisyphus"),
        ("在代码中查找所有用法", "coding", "explore"),
        ("比较两种架构并给出建议", "analysis", "oracle"),
        ("编写一个脚本并保存到文件", "coding", "sisyphus"),
    ];
    for (description, category, expected) in cases {
        let selection = small(&task(description), category);
        assert_eq!(selection.profile, expected, "{description}: {selection:#?}");
        assert!(!selection.reasons.is_empty());
        assert_eq!(selection.scores.len(), 5);
    }
}

/// Of words that do not say whether a task writes, only a small model gets a read-only worker.
// Requirement: 4.8
#[test]
fn a_capable_model_gets_no_read_only_profile_by_words() {
    let cases: [(&str, &[&str], &str, &str); 7] = [
        ("Speed up the search endpoint: cache the tokenized queries", &[], "explore", "sisyphus"),
        ("Switch the list view to pages, wherever it is", &[], "explore", "sisyphus"),
        ("Wire the review queue to the risk engine", &[], "oracle", "sisyphus"),
        ("Where is the retry logic?", &[], "explore", "sisyphus"),
        ("Where is the retry logic?", &["files_read"], "explore", "explore"),
        ("Where is the retry logic?", &["files_read", "web"], "explore", "sisyphus"),
        ("Research articles on the web about durable execution and summarise the sources", &[], "librarian", "librarian"),
    ];
    let catalog = ProfileCatalog::builtin();
    for (description, bundles, of_small, of_capable) in cases {
        let task = TaskSpec { bundles: bundles.iter().map(|bundle| (*bundle).to_owned()).collect(), ..task(description) };
        let [simple, capable] = [true, false].map(|is_small| select(&catalog, &task, "coding", |_| is_small));
        assert_eq!((simple.profile.as_str(), capable.profile.as_str()), (of_small, of_capable), "{description} {bundles:?}");
        assert!(!capable.reasons.is_empty());
    }
}

// Requirement: 4.8
#[test]
fn words_are_found_in_their_inflected_forms() {
    let found = [
        ("write", &["write", "writes", "writing"][..]),
        ("move", &["move", "moves", "moved", "moving"]),
        ("copy", &["copy", "copys", "copies", "copied", "copying"]),
        ("run", &["run", "runs", "running", "runner", "runed"]),
        ("fix", &["fixes", "fixed", "fixing"]),
        ("修改", &["请修改代码"]),
    ];
    for (word, forms) in found {
        for form in forms {
            assert!(TaskWords::of(&task(&format!("aaa {form} zzz"))).has(word), "{form} of {word}");
        }
    }
    for (word, other) in
        [("write", "writer"), ("move", "movement"), ("copy", "copier"), ("run", "runtime"), ("fix", "fi"), ("add", "address")]
    {
        assert!(!TaskWords::of(&task(&format!("aaa {other} zzz"))).has(word), "{other} of {word}");
    }
}

// Requirement: 3.39
#[test]
fn an_explicit_profile_is_honoured() {
    let cases = [
        ("oracle", "Write report.md", "oracle", true),
        ("explore", "把结果写到文件", "explore", true),
        ("oracle", "Review the architecture", "oracle", false),
        ("sisyphus", "Write report.md", "sisyphus", false),
        ("nobody", "Write report.md", "sisyphus", false),
    ];
    for (profile, description, expected, lacks) in cases {
        let task = TaskSpec { profile: Some(profile.to_owned()), ..task(description) };
        let selection = small(&task, "general");
        let has_reason = selection.reasons.iter().any(|reason| reason.contains("cannot do: write"));
        assert_eq!((selection.profile.as_str(), has_reason), (expected, lacks), "{profile}: {description}");
    }
}

#[test]
fn the_bundles_of_needed_capabilities_are_those_that_the_profile_has() {
    let catalog = ProfileCatalog::builtin();
    let cases = [
        ("sisyphus", "Download the page and run the tests", vec!["files", "shell", "web"]),
        ("explore", "Find where the tests run", vec!["files_read"]),
        ("oracle", "Write a report", vec![]),
    ];
    for (profile, description, expected) in cases {
        assert_eq!(needed_bundles(catalog.get(profile).unwrap(), &task(description)), expected, "{profile}: {description}");
    }
}

// Requirement: 4.8
#[test]
fn domains_capabilities_and_difficulty_count() {
    let mut catalog = ProfileCatalog::default();
    let profile = |name: &str, rest: &str| format!("name = {name:?}\ndescription = \"d\"\nprompt = \"p\"\n{rest}\n");
    for (name, rest) in [
        ("quick", "domains = [\"garden\"]\ncomplexity = \"low\""),
        ("steady", "domains = [\"garden\"]\ncomplexity = \"medium\""),
        ("deep", "domains = [\"garden\"]\ncomplexity = \"high\""),
        ("reader", "domains = [\"garden\"]\ncapabilities = [\"read\"]"),
        ("sailor", "domains = [\"harbour\"]"),
    ] {
        catalog.add_toml(&profile(name, rest), "own.toml").unwrap();
    }
    let of = |words: usize| format!("Tend the garden {}", "again ".repeat(words));
    for (description, expected, why) in [
        (of(1), "quick", "the task looks easy"),
        (of(20), "steady", "the task looks medium"),
        (of(80), "deep", "the task looks hard"),
        ("Sail to the harbour".to_owned(), "sailor", "made for harbour"),
        ("Write down what grows in the garden".to_owned(), "quick", "can write"),
    ] {
        let selection = select(&catalog, &task(&description), "", |_| true);
        assert_eq!(selection.profile, expected, "{description}: {selection:#?}");
        assert!(selection.reasons.iter().any(|reason| reason.contains(why)), "{why}: {:?}", selection.reasons);
    }
}

// Requirement: 4.8
#[test]
fn the_tasks_own_profile_wins() {
    let mut asked = task("Review the architecture");
    asked.profile = Some("oracle".to_owned());
    let selection = select(&ProfileCatalog::builtin(), &asked, "research", |_| false);
    assert_eq!(selection.profile, "oracle");
    assert_eq!(selection.reasons, ["the plan asks for `oracle`"]);
}

// Requirement: 4.8
#[test]
fn an_unknown_profile_is_named_and_replaced() {
    let mut asked = task("Look at it");
    asked.profile = Some("sisyfus".to_owned());
    let selection = small(&asked, "general");
    assert_eq!(selection.profile, "sisyphus");
    assert!(selection.reasons[0].contains("`sisyfus`, which does not exist; the nearest is `sisyphus`"));
}

#[test]
fn files_to_write_are_recognised() {
    let cases = [
        ("Write hello.txt", true),
        ("Create a folder for the notes", true),
        ("Fixing the script", true),
        ("把结果写到文件里", true),
        ("Write a haiku about rain", false),
        ("What is in report.md?", false),
        ("Add 1.5 and 2.5", false),
    ];
    for (description, expected) in cases {
        assert_eq!(must_write_files(&task(description)), expected, "{description}");
    }
}

// Requirement: 4.34
#[test]
fn files_that_a_task_names_are_listed() {
    let cases: [(&str, &[&str]); 8] = [
        ("Delete the file old.log and keep new.log", &[]),
        ("把 a.txt 移动到 b.txt", &[]),
        ("Make the folder src with the files a.txt and `B.txt`, each with ok.", &["a.txt", "b.txt"]),
        ("Write site/index.html, and link it in site/index.html. See https://example.org/a.html", &["index.html"]),
        ("Create greet/__init__.py", &["__init__.py"]),
        ("把 1.txt 的内容写到 out.txt", &["1.txt", "out.txt"]),
        ("What is in report.md?", &[]),
        ("Fix the script", &[]),
    ];
    for (description, expected) in cases {
        assert_eq!(named_files(&task(description)), expected, "{description}");
    }
}

proptest! {
    // Requirement: 3.39
    #[test]
    fn whoever_must_write_can_write(
        words in proptest::collection::vec(prop_oneof![
            Just("find"), Just("where"), Just("review"), Just("write"), Just("web"), Just("run"), Just("report.md"), Just("查找"), Just("写"),
        ], 0..12),
        category in prop_oneof![Just("coding"), Just("analysis"), Just("")],
    ) {
        let catalog = ProfileCatalog::builtin();
        let spec = task(&words.join(" "));
        let selection = small(&spec, category);
        let profile = catalog.get(&selection.profile).unwrap();
        prop_assert!(!(TaskWords::of(&spec).ask_to_write() && profile.read_only()));
        prop_assert_eq!(&selection, &small(&spec, category));
    }

    #[test]
    fn any_text_selects_something(text in "\\PC{0,80}") {
        prop_assert!(!chosen(&text, "general").is_empty());
    }
}
