use super::*;

const MEMORIES: &[(&str, &str)] = &[
    ("Deploy the website", "Uploaded with rsync; the server only takes ed25519 keys."),
    ("修复登录页面的错误", "登录按钮没有反应，是因为事件没有绑定。测试全部通过。"),
    ("Write unit tests for the parser", "Covered errors with property tests. PlanPatch was renamed."),
    ("把数据库迁移到 PostgreSQL", "用 pgloader 迁移，花了三小时。"),
    ("Draw a logo 🦀", "A crab on a wheel."),
    ("给猫写一首诗", "猫喜欢。"),
    ("Prepare the café menu", "Full-width ＡＢＣ letters were replaced."),
    ("東京の天気を調べる", "晴れでした。"),
];

// Requirement: 1.1
#[test]
fn words_of_both_languages_are_found() {
    let fixture = Fixture::with(MEMORIES);
    let cases: &[(&str, &[&str])] = &[
        // English, in other forms, cases and spellings.
        ("deploying websites", &["m0"]),
        ("SERVER KEY", &["m0"]),
        ("plan_patch", &["m2"]),
        ("covering errors", &["m2"]),
        ("cafe", &["m6"]),
        ("abc", &["m6"]),
        // Chinese words of one, two and more characters.
        ("猫", &["m5"]),
        ("登录", &["m1"]),
        ("测试", &["m1"]),
        ("迁移", &["m3"]),
        ("数据库", &["m3"]),
        ("登录页面", &["m1"]),
        ("如何修复页面错误？", &["m1"]),
        // Both in one, without a space between.
        ("迁移PostgreSQL数据库", &["m3"]),
        ("用pgloader", &["m3"]),
        // Pictures, Japanese, and what is not there.
        ("🦀", &["m4"]),
        ("🦀🦀 crab", &["m4"]),
        ("天気", &["m7"]),
        ("部署", &[]),
        ("页登", &[]),
        ("kubernetes", &[]),
        ("", &[]),
        ("?!。", &[]),
    ];
    for (question, expected) in cases {
        assert_eq!(ids(&fixture.store.recall(question, 1).unwrap()), *expected, "recall {question}");
        assert_eq!(ids(&fixture.store.search(question, 1).unwrap()), *expected, "search {question}");
    }
}

// Requirement: 1.1
#[test]
fn what_covers_more_of_the_question_comes_first() {
    let fixture = Fixture::with(&[
        ("Test the parser", "Nothing else."),
        ("Release notes", "The parser is mentioned, and so is the release, parser, parser, parser."),
        ("Release the parser crate", "Published."),
        ("部署", "网站"),
        ("部署网站到服务器", "完成。"),
        ("Buy milk", "At the shop."),
    ]);
    let cases: &[(&str, &[&str])] = &[
        ("release the parser crate", &["m2", "m1"]),
        ("部署网站到服务器", &["m4", "m3"]),
        ("milk", &["m5"]),
        // All else equal, the later one.
        ("nothing published", &["m2", "m0"]),
    ];
    for (question, expected) in cases {
        let recalled = fixture.store.recall(question, expected.len()).unwrap();
        assert_eq!(ids(&recalled), *expected, "{question}");
        assert!(recalled.is_sorted_by(|one, other| one.score >= other.score) && recalled[0].score <= 1.0, "{recalled:?}");
    }
    let whole = fixture.store.recall("Release the parser crate", 1).unwrap();
    assert!(whole[0].score > 0.9, "{whole:?}");
}

#[test]
fn what_only_shares_a_common_word_is_found_by_people_but_not_recalled() {
    let goals: Vec<String> = (0..40).map(|number| format!("Write module number{number}")).collect();
    let memories: Vec<(&str, &str)> = goals.iter().map(|goal| (goal.as_str(), "Done.")).collect();
    let fixture = Fixture::with(&memories);
    let question = "Write a haiku about the northern sea";
    assert_eq!(fixture.store.recall(question, 3).unwrap(), []);
    assert_eq!(fixture.store.search(question, 3).unwrap().len(), 3);
    assert_eq!(ids(&fixture.store.recall("Write module number7 again", 3).unwrap())[0], "m7");
}

#[test]
fn tags_are_found_and_excerpts_show_the_place() {
    let fixture = Fixture::new();
    let text = format!("{}The real cause was a stale lock file.{}", "Something else. ".repeat(30), " Something else.".repeat(30));
    let tagged = Memory { tags: vec!["持续集成".into(), "CI".into()], ..memory("m", 1, "Fix the build", &text) };
    fixture.store.remember(&tagged).unwrap();
    assert_eq!(ids(&fixture.store.search("集成", 1).unwrap()), ["m"]);
    let found = fixture.store.search("why a stale lock", 1).unwrap();
    assert!(found[0].excerpt.contains("The real cause was a stale lock file."), "{found:?}");
    assert_eq!(found[0].memory, tagged);
}

// Requirement: 1.1
#[test]
fn chunks_are_found_by_heading_path_and_text() {
    let (_fixture, knowledge) = Fixture::knowing(&[
        ("guide/install.md", "# Install\n\n## Linux\n\nUse the package manager.\n\n## Windows\n\nRun the installer as administrator.\n"),
        ("指南/部署.md", "# 部署\n\n## 前提条件\n\n需要 Docker 和两台服务器。\n\n## 回滚\n\n执行回滚脚本即可恢复。\n"),
        ("src/retry.rs", "/// Waits between tries.\nfn back_off(attempt: u32) -> Duration {\n    todo()\n}\n"),
        ("notes.txt", "The office closes at six.\n\n办公室六点关门。\n"),
    ]);
    let cases = [
        ("install on windows", "guide/install.md", "Install › Windows", 9),
        ("回滚", "指南/部署.md", "部署 › 回滚", 9),
        ("docker服务器", "指南/部署.md", "部署 › 前提条件", 5),
        ("backOff duration", "src/retry.rs", "", 1),
        ("办公室什么时候关门", "notes.txt", "", 1),
        ("retry", "src/retry.rs", "", 1),
    ];
    for (question, path, heading, line) in cases {
        let chunks = knowledge.retrieve(question, 1).unwrap();
        let found: Vec<_> = chunks.iter().map(|chunk| (chunk.path.as_str(), chunk.heading.as_str(), chunk.line)).collect();
        assert_eq!(found, [(path, heading, line)], "{question}");
    }
    assert_eq!(knowledge.retrieve("回滚", 0).unwrap(), []);
}
