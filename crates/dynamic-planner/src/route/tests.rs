//! Tables of goals and their routes.

use aime_progress_management::PlanMode::{Complex, Direct, Emergent, Simple};

use super::*;

/// Returns the result of the default rules for a goal.
fn stage1(goal: &str) -> Stage1 {
    classify(goal, &ClassifierSettings::default())
}

/// Returns the mode that [`route`] chooses, or `None` if a model is asked.
fn mode_of(goal: &str, settings: &RouteSettings) -> (Option<PlanMode>, String) {
    match route(goal, settings, &default_categories()) {
        Route::Decided(routed) => (Some(routed.mode), format!("{routed:?}")),
        Route::AskModel(undecided) => (None, format!("{undecided:?}")),
    }
}

// Requirement: 1.2, 2.3, 2.4, 2.7
#[test]
fn goals_go_where_they_belong() {
    let cases = [
        // Short goals, one file, a clear category.
        ("Fix the typo in README.md", Some(Direct)),
        ("What is in this folder?", Some(Direct)),
        ("Count the TODO comments and write a report", Some(Direct)),
        ("Rename foo to bar in src/main.rs", Some(Direct)),
        ("hello", Some(Direct)),
        ("", Some(Direct)),
        ("Translate notes.txt into French", Some(Direct)),
        ("把 README.md 翻译成英文", Some(Direct)),
        ("现在几点", Some(Direct)),
        ("修复登录页面的错别字", Some(Direct)),
        ("统计 data.csv 的行数", Some(Direct)),
        (
            "Please have a careful look at the long function that parses the command line in src/cli/arguments.rs, which nobody understands",
            Some(Direct),
        ),
        (
            "The python script that we use for the monthly invoices has a bug somewhere: the code raises an error for customers without an address",
            Some(Direct),
        ),
        // A goal of several steps never bypasses the planner.
        ("Read a.txt, then write its summary to b.txt", None),
        ("First, read a.txt, then summarize it", Some(Complex)),
        ("Download the data, clean it and plot it", None),
        ("Update the docs, and finally publish them", None),
        ("1. read the log\n2. find the error\n3. fix it", Some(Complex)),
        ("- add a test\n- fix the bug", Some(Complex)),
        ("Build the app and run the tests in parallel", Some(Complex)),
        ("Fetch both pages at the same time and compare them", Some(Complex)),
        ("先读取日志，再总结错误", None),
        ("首先下载数据，然后分析，最后写报告", Some(Complex)),
        ("同时抓取三个网站的价格", None),
        ("并行运行所有测试，如果失败则修复", Some(Complex)),
        ("步骤：安装依赖，运行测试，生成报告", Some(Complex)),
        // Long goals.
        (
            "Refactor the parser into its own crate, move its tests there, update every import in the workspace and write a changelog entry about it",
            Some(Complex),
        ),
        (
            "If the tests pass, tag a release and publish it; otherwise collect the failures, write an issue for each of them and notify the team",
            Some(Complex),
        ),
        (
            "Compare Postgres, MySQL and SQLite for our workload, write a benchmark for each, run them, and recommend one with the numbers in a table",
            Some(Complex),
        ),
        ("请阅读项目里的所有模块，整理它们的依赖关系，检查循环依赖，修复发现的问题，并编写一份架构说明文档放到 docs 目录", Some(Complex)),
        (
            "I need a complete overview of how the settlement of payments between the three regional offices has worked during the past year",
            None,
        ),
        // Open-ended goals.
        ("Explore this codebase and tell me what is odd", Some(Emergent)),
        ("Brainstorm names for a coffee shop", Some(Emergent)),
        ("Investigate why the build is slow", Some(Emergent)),
        ("Figure out what makes the tests flaky", Some(Emergent)),
        ("Come up with a marketing plan", Some(Emergent)),
        ("Be creative: a landing page for cats", Some(Emergent)),
        ("探索一下这个数据集", Some(Emergent)),
        ("头脑风暴一些产品创意", Some(Emergent)),
        ("深入研究量子计算的最新进展", Some(Emergent)),
        ("想一些新功能", Some(Emergent)),
    ];
    assert!(cases.len() >= 40);
    for (goal, expected) in cases {
        let (mode, why) = mode_of(goal, &RouteSettings::default());
        assert_eq!(mode, expected, "{goal:?}\n{why}\n{:#?}", stage1(goal));
    }
}

// Requirement: 2.6
#[test]
fn points_are_as_the_rules_say() {
    let cases = [
        ("x", -3),                                                                            // length −2, no verb −1
        ("Fix the bug", -3),                                                                  // −2, one verb −1
        ("Fix the bug that makes the window flicker", -2),                                    // −1, −1
        ("Fix the bug that makes the window flicker when it is moved to another screen", -1), // 0, −1
        ("Write the code and test it", -1),                                                   // −2, two verbs +1
        ("Write code, test it, and fix it", 1),                                               // −1, three verbs +2
        ("Go there, then stop", -2),                                                          // −2, one marker +1, −1
        ("First, go there, then stop", 0),                                                    // −2, two markers +3, −1
        ("Stop if it rains", -1),                                                             // −2, condition +2, −1
        ("Sing and dance in parallel", -1),                                                   // −2, parallel +2, −1
        ("分析数据", -3),                                                                     // 12: −2, −1
        ("首先分析数据，然后编写报告", 3),                                                    // 37: −1, +3, two verbs +1
    ];
    for (goal, score) in cases {
        let stage1 = stage1(goal);
        assert_eq!(stage1.score, score, "{goal:?} {stage1:#?}");
    }
}

#[test]
fn what_is_counted_is_a_setting() {
    let settings =
        ClassifierSettings { shorter_than: vec![(50, 1), (10, 5)], verbs: [7, 0, 0], cjk_weight: 1, ..ClassifierSettings::default() };
    assert_eq!((classify("fix it", &settings).score, classify("fix it, or else", &settings).score), (12, 8), "the shortest counts");
    assert_eq!(classify("字", &settings).signals.length, 1);
    let settings = ClassifierSettings { max_simple_score: -3, min_complex_score: -1, ..ClassifierSettings::default() };
    let verdicts = ["Fix the bug", "Go there, then stop", "Write the code and test it"].map(|goal| classify(goal, &settings).verdict);
    assert_eq!(verdicts, [Stage1Verdict::Simple, Stage1Verdict::Unsure, Stage1Verdict::Complex]);
}

// Requirement: 2.7, 2.8
#[test]
fn scores_lead_to_modes() {
    let settings = RouteSettings { strategy: Strategy::Always, ..RouteSettings::default() };
    let cases = [
        ("Fix the bug", -3, Some(Simple)),
        ("Write the code and test it", -1, Some(Simple)),
        ("First, go there, then stop", 0, None),
        ("Write code, test it, and fix it", 1, None),
        ("Write the code and test it in parallel with the rest", 2, Some(Complex)),
        ("首先分析数据，然后编写报告", 3, Some(Complex)),
        ("首先探索数据，然后编写报告", 1, Some(Emergent)),
    ];
    for (goal, score, mode) in cases {
        assert_eq!((stage1(goal).score, mode_of(goal, &settings).0), (score, mode), "{goal:?} {:#?}", stage1(goal));
    }
}

// Requirement: 2.5, 2.6
#[test]
fn length_bounds_are_exact() {
    // One verb at the beginning: −1 in addition to the length.
    for (length, score) in [(29, -3), (30, -2), (59, -2), (60, -1), (120, -1), (121, 0), (200, 0), (201, 1)] {
        let goal = format!("fix {}", "x".repeat(length - 4));
        assert_eq!(stage1(&goal).score, score, "{length}");
    }
    for (length, verdict) in [(9, -3), (10, -2), (19, -2), (20, -1), (41, 0), (67, 1)] {
        assert_eq!(stage1(&"字".repeat(length)).score, verdict, "{length} characters of a dense script");
    }
}

// Requirement: 2.6
#[test]
fn verbs_count_where_a_clause_begins() {
    let cases = [
        ("Fix the failing test", vec!["fix"]),
        ("Write a report and send it", vec!["write", "send"]),
        ("write A, write B, write C", vec!["write", "write", "write"]),
        ("The test list of the build report", vec![]),
        ("Carefully refactor it", vec!["refactor"]),
        ("用 Rust 写一个解析器，并运行单元测试", vec!["运行", "写"]),
        ("编写单元测试", vec!["编写"]),
        ("撰写分析报告", vec!["撰写"]),
    ];
    for (goal, verbs) in cases {
        assert_eq!(stage1(goal).signals.verbs, verbs, "{goal:?}");
    }
}

#[test]
fn words_for_order_count_where_a_clause_begins() {
    let none: [&str; 0] = [];
    let cases: [(&str, &[&str], &[&str]); 19] = [
        ("Read a.txt, then write b.txt", &["then"], &none),
        ("Read a.txt and then write b.txt", &["then"], &none),
        ("Read a.txt then write b.txt", &["then"], &none),
        ("读取日志之后写报告", &["之后"], &none),
        ("Fix the then branch of parse()", &none, &none),
        ("Explain the finally block in main.py", &none, &none),
        ("Finally, publish it", &["finally"], &none),
        ("删除 notes.txt 的最后一行", &none, &none),
        ("显示日志，最后 10 行", &none, &none),
        ("修复最后的错误", &none, &none),
        ("读取日志，最后写报告", &["最后"], &none),
        ("列出2020年之后的文件", &none, &none),
        ("读取日志。之后写报告", &["之后"], &none),
        ("同时抓取三个网站的价格", &none, &["同时"]),
        ("支持同时的连接", &none, &none),
        ("安装依赖，并同时运行测试", &none, &["同时"]),
        ("解释安装步骤", &none, &none),
        ("步骤：安装依赖", &["步骤"], &none),
        ("步骤1 安装依赖", &["步骤"], &none),
    ];
    for (goal, steps, parallel) in cases {
        let signals = stage1(goal).signals;
        assert_eq!((signals.multi_step.as_slice(), signals.parallel.as_slice()), (&*owned(steps), &*owned(parallel)), "{goal:?}");
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn files_are_told_from_addresses_and_versions() {
    let cases = [
        ("Fix src/main.rs", vec!["src/main.rs"]),
        ("Compare a.txt with b.txt.", vec!["a.txt", "b.txt"]),
        ("Read notes.txt. Then stop", vec!["notes.txt"]),
        ("Look at https://example.com/index.html", vec![]),
        ("Write to me@example.com about example.com and Node.js 1.2", vec![]),
        ("把report.md翻译成英文", vec!["report.md"]),
        ("e.g. this", vec![]),
    ];
    for (goal, files) in cases {
        assert_eq!(stage1(goal).signals.files, files, "{goal:?}");
    }
    assert!(stage1("Fix a.rs").signals.is_single_file());
    assert!(!stage1("Fix all imports of a.rs").signals.is_single_file());
    assert!(!stage1("Fix a.rs and b.rs").signals.is_single_file());
}

// Requirement: 2.1
#[test]
fn settings_come_first() {
    let with = |strategy, mode| RouteSettings { strategy, mode, ..RouteSettings::default() };
    let by = |goal: &str, settings: &RouteSettings| match route(goal, settings, &default_categories()) {
        Route::Decided(routed) => (routed.mode, routed.by),
        Route::AskModel(undecided) => panic!("{undecided:?}"),
    };
    let hard = "First, read it, then explore it in parallel";
    assert_eq!(by(hard, &with(Strategy::Never, None)), (Direct, "strategy".to_owned()));
    assert_eq!(by(hard, &with(Strategy::Never, Some(Complex))), (Complex, "flag".to_owned()));
    assert_eq!(by("Fix a typo", &with(Strategy::Always, None)), (Simple, "rules".to_owned()));
    assert_eq!(by("Fix a typo", &with(Strategy::Adaptive, None)), (Direct, "bypass".to_owned()));
}

// Requirement: 2.3, 2.5
#[test]
fn bypass_can_be_narrowed() {
    let bypass = BypassSettings { max_input_length: 0, single_file: false, clear_category: false };
    let settings = RouteSettings { bypass, ..RouteSettings::default() };
    assert_eq!(mode_of("Fix the typo in README.md", &settings).0, Some(Simple));
    let bypass = BypassSettings { max_input_length: 12, single_file: false, clear_category: false };
    let settings = RouteSettings { bypass, ..RouteSettings::default() };
    assert_eq!(mode_of("字字字字", &settings).0, Some(Direct), "4 dense characters count 12");
    assert_eq!(mode_of("字字字字字", &settings).0, Some(Simple));
}

// Requirement: 2.13
#[test]
fn categories_are_found_by_their_words() {
    let categories = default_categories();
    let cases = [
        ("Refactor the function and run the unit test", "coding", true),
        ("Research the literature on sleep", "research", true),
        ("Write an article for the blog", "writing", true),
        ("Compare the statistics of both csv tables", "analysis", true),
        ("What is that?", "quick", false),
        ("Make it nice", "general", false),
        ("重构这个函数的代码", "coding", true),
        ("翻译这篇文章", "writing", true),
        ("classless methodology", "general", false),
    ];
    for (goal, name, clear) in cases {
        let found = match_category(goal, &categories);
        assert_eq!((found.name.as_str(), found.clear), (name, clear), "{goal:?} {found:?}");
    }
    assert_eq!(match_category("anything", &[]).name, "general");
}

// Requirement: 2.13
#[test]
fn the_built_in_categories_are_whole() {
    let names: Vec<String> = default_categories().into_iter().map(|category| category.name).collect();
    assert_eq!(names, ["coding", "research", "writing", "analysis", "quick", "general"]);
}

// Requirement: 2.14
#[test]
fn a_category_file_is_checked() {
    let twice = "[[category]]\nname = \"a\"\nprofile = \"p\"\n[[category]]\nname = \"a\"\nprofile = \"q\"\n";
    assert_eq!(
        read_categories("my.toml", twice).unwrap_err().to_string(),
        "my.toml: the category \"a\" is defined twice: rename or remove one"
    );
    let unknown = "[[category]]\nname = \"a\"\nprofile = \"p\"\nkeyword = []\n";
    let error = read_categories("my.toml", unknown).unwrap_err().to_string();
    assert!(error.contains("line 4") && error.contains("keyword"), "{error}");
}

#[test]
fn the_name_of_a_file_is_no_action() {
    let table = [
        ("Count the lines of log.txt and write the number to count.txt", vec!["count", "write"]),
        ("Copy test.py to report.md", vec!["copy"]),
        ("Put the sum into report/list.txt, then sort.sh", vec![]),
    ];
    for (goal, verbs) in table {
        assert_eq!(stage1(goal).signals.verbs, verbs, "{goal}");
    }
}
