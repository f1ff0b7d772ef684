use super::rust::Source;
use super::*;

/// Valid codebase: two packages on two layers.
const IN_ORDER: [(&str, &str); 10] = [
    ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\nlow = { path = \"crates/low\" }\nserde = \"1\"\n"),
    ("docs/dependencies.md", "# Dependencies\n\n| crate | why |\n|---|---|\n| `serde` | reads and writes |\n"),
    ("crates/low/Cargo.toml", "[package]\nname = \"low\"\n[package.metadata.aime]\nlayer = 1\n[dependencies]\nserde.workspace = true\n"),
    ("crates/low/README.md", "# low\n"),
    ("crates/low/src/lib.rs", "//! The lower one.\n"),
    ("crates/high/Cargo.toml", "[package]\nname = \"high\"\n[package.metadata.aime]\nlayer = 2\n[dependencies]\nlow.workspace = true\n"),
    ("crates/high/README.md", "# high\n"),
    ("crates/high/src/lib.rs", "//! The upper one.\n"),
    ("crates/low/tests/works.rs", "//! All of it.\n// Requirement: 1.1\n#[test]\nfn it_works() {}\nfn helper() {}\n"),
    (
        "docs/src/reference/requirements.md",
        "# Requirements\n\n| | requirement | tests |\n|---|---|---|\n| 1.1 | It works. | `low`: `it_works` |\n",
    ),
];

/// Returns the faults of [`IN_ORDER`] after some of its files were replaced or added.
fn faults_with(changes: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in IN_ORDER.iter().chain(changes) {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    check(folder.path()).unwrap().iter().map(ToString::to_string).collect()
}

/// Checks that changes give exactly one fault, which begins with a place and contains a text.
#[track_caller]
fn one_fault(changes: &[(&str, &str)], place: &str, expected: &str) {
    let faults = faults_with(changes);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].starts_with(place) && faults[0].contains(expected), "{faults:#?}");
}

#[test]
fn this_workspace_is_tidy() {
    let faults = check(&workspace::root()).unwrap();
    assert!(faults.is_empty(), "{}", faults.iter().map(|fault| format!("\n{fault}")).collect::<String>());
}

/// Checks by the manifests, without resolving dependencies: only `aime-runs` may depend on it, behind a feature that is off by default, also
/// in the command.
// Requirement: 18.11
#[test]
fn an_engine_is_in_no_default_build() {
    let codebase = Codebase::read(&workspace::root()).unwrap();
    let naming = |package: &&codebase::Package| package.dependencies("dependencies").iter().any(|(name, _)| *name == "aime-temporal");
    let naming: Vec<_> = codebase.packages.iter().filter(naming).collect();
    assert_eq!(naming.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["aime-runs"]);
    assert_eq!(naming[0].manifest["dependencies"]["aime-temporal"]["optional"].as_bool(), Some(true));
    for package in codebase.packages.iter().filter(|package| ["aime", "aime-runs"].contains(&package.name.as_str())) {
        let features = package.manifest["features"].as_table().unwrap();
        let (mut on, mut seen) = (vec!["default"], Vec::new());
        while let Some(feature) = on.pop() {
            seen.push(feature);
            on.extend(features.get(feature).and_then(|list| list.as_array()).into_iter().flatten().filter_map(|word| word.as_str()));
        }
        assert!(!seen.iter().any(|feature| feature.contains("temporal")), "{seen:?}");
        assert_eq!(seen.contains(&"mcp"), package.name == "aime", "{seen:?}");
    }
}

#[test]
fn what_is_in_order_has_no_faults() {
    assert_eq!(faults_with(&[]), Vec::<String>::new());
}

#[test]
fn all_faults_are_reported_at_once() {
    let faults = faults_with(&[("crates/low/src/lib.rs", "fn a() { todo!() }\n"), ("crates/high/src/lib.rs", "fn b() { todo!() }\n")]);
    assert_eq!(faults.len(), 4, "{faults:#?}");
}

#[test]
fn an_upward_edge_needs_a_reason() {
    let manifest = |extra: &str| {
        format!(
            "[package]\nname = \"low\"\n[package.metadata.aime]\nlayer = 2\n{extra}[dependencies]\nserde.workspace = true\nhigh.workspace = true\n"
        )
    };
    let root =
        ("Cargo.toml", "[workspace.dependencies]\nlow = { path = \"crates/low\" }\nhigh = { path = \"crates/high\" }\nserde = \"1\"\n");
    let other = (
        "crates/high/Cargo.toml",
        "[package]\nname = \"high\"\n[package.metadata.aime]\nlayer = 3\n[dependencies]\nlow.workspace = true\n",
    );
    one_fault(
        &[root, other, ("crates/low/Cargo.toml", &manifest(""))],
        "crates/low/Cargo.toml:7:",
        "low (layer 2) depends on high (layer 3)",
    );
    let allowed = manifest("[package.metadata.aime.allow]\nhigh = \"it is a trial\"\n");
    assert_eq!(faults_with(&[root, other, ("crates/low/Cargo.toml", &allowed)]), Vec::<String>::new());
    let empty = manifest("[package.metadata.aime.allow]\nhigh = \" \"\n");
    one_fault(&[root, other, ("crates/low/Cargo.toml", &empty)], "crates/low/Cargo.toml:", "depends on high");
}

#[test]
fn an_edge_within_a_layer_is_refused_and_a_needless_permission_too() {
    let low = (
        "crates/low/Cargo.toml",
        "[package]\nname = \"low\"\n[package.metadata.aime]\nlayer = 2\n[dependencies]\nserde.workspace = true\n",
    );
    one_fault(&[low], "crates/high/Cargo.toml:", "depends on low (layer 2)");
    let permitted = "[package]\nname = \"high\"\n[package.metadata.aime]\nlayer = 2\n[package.metadata.aime.allow]\nlow = \"once\"\n[dependencies]\nlow.workspace = true\n";
    one_fault(&[("crates/high/Cargo.toml", permitted)], "crates/high/Cargo.toml:6:", "allow low already");
}

#[test]
fn commands_that_import_in_a_circle_are_refused() {
    let command = |name: &'static str, text: &'static str| (name, text);
    let run = command("crates/cli/src/commands/run.rs", "//! Runs.\nuse super::{plan::made, texts::said};\n");
    let plan = command("crates/cli/src/commands/plan.rs", "//! Plans.\nuse crate::{args, commands::show::shown};\n");
    let texts = command("crates/cli/src/commands/texts.rs", "//! Texts.\n");
    let show = command("crates/cli/src/commands/show.rs", "//! Shows.\nuse super::texts::said;\n");
    assert_eq!(faults_with(&[run, plan, texts, show]), Vec::<String>::new());
    let below = command("crates/cli/src/commands/show/lines.rs", "//! Lines.\nuse super::super::run::begun;\n");
    one_fault(&[run, plan, texts, show, below], "crates/cli/src/commands/plan.rs:2:", "plan → show → run → plan");
    let direct = command("crates/cli/src/commands/texts.rs", "//! Texts.\nfn a() { super::show::shown() }\n");
    one_fault(&[run, plan, direct, show], "crates/cli/src/commands/show.rs:2:", "show → texts → show");
}

#[test]
fn a_crate_says_its_layer_and_has_a_readme() {
    let manifest = "[package]\nname = \"new\"\n";
    let faults = faults_with(&[("crates/new/Cargo.toml", manifest), ("crates/new/src/lib.rs", "//! New.\n")]);
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].contains("has no README.md") && faults[1].contains("no layer"), "{faults:#?}");
}

// Requirement: 19.8
#[test]
fn what_is_published_has_the_text_of_its_licence() {
    let licence = |path: &'static str| (path, "You may.\n");
    let all = [licence("LICENSE-MIT"), licence("crates/low/LICENSE-MIT"), licence("crates/high/LICENSE-MIT")];
    assert_eq!(faults_with(&all), Vec::<String>::new());
    one_fault(&all[..2], "crates/high/Cargo.toml:1:", "high is published without the text of LICENSE-MIT");
    one_fault(&[all[0], all[1], ("crates/high/LICENSE-MIT", "You may not.\n")], "crates/high/Cargo.toml:1:", "LICENSE-MIT");
    let kept = "[package]\nname = \"high\"\npublish = false\n[package.metadata.aime]\nlayer = 2\n[dependencies]\nlow.workspace = true\n";
    assert_eq!(faults_with(&[all[0], all[1], ("crates/high/Cargo.toml", kept)]), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_link_is_the_file_that_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").unwrap();
    std::fs::create_dir(folder.path().join("crates")).unwrap();
    for (target, link) in [("../Cargo.toml", "crates/linked"), ("gone", "crates/broken"), ("..", "crates/around")] {
        std::os::unix::fs::symlink(target, folder.path().join(link)).unwrap();
    }
    let codebase = Codebase::read(folder.path()).unwrap();
    let paths: Vec<&str> = codebase.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["Cargo.toml", "crates/linked"]);
    assert!(codebase.data.is_empty(), "{:?}", codebase.data);
}

#[test]
fn what_the_workspace_excludes_is_no_member() {
    let fuzz = ("fuzz/Cargo.toml", "[workspace]\n[package]\nname = \"fuzz\"\n[dependencies]\nlibfuzzer-sys = \"0.4\"\n");
    assert!(!faults_with(&[fuzz]).is_empty(), "it would be one");
    let root = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"fuzz\"]\n[workspace.dependencies]\nlow = { path = \"crates/low\" }\nserde = \"1\"\n";
    assert_eq!(faults_with(&[fuzz, ("Cargo.toml", root)]), Vec::<String>::new());
}

#[test]
fn a_dependency_has_a_reason_a_use_and_one_version() {
    let root = "[workspace.dependencies]\nlow = { path = \"crates/low\" }\nserde = \"1\"\nuuid = \"1\"\n";
    let faults = faults_with(&[("Cargo.toml", root)]);
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].starts_with("Cargo.toml:4: no package uses uuid") && faults[1].contains("no reason for uuid"), "{faults:#?}");
    let stale = "| `serde` | reads and writes |\n| `gone` | was of use |\n";
    one_fault(&[("docs/dependencies.md", stale)], "docs/dependencies.md:2:", "gone is no dependency");
    let twice = "| `serde` | reads |\n| `serde` | writes |\n";
    one_fault(&[("docs/dependencies.md", twice)], "docs/dependencies.md:2:", "serde has two rows");
    let own = "[package]\nname = \"low\"\n[package.metadata.aime]\nlayer = 1\n[dependencies]\nserde.workspace = true\nhttp = \"1\"\n";
    one_fault(&[("crates/low/Cargo.toml", own)], "crates/low/Cargo.toml:7:", "http has a version of its own");
}

#[test]
fn a_file_is_documented_small_and_finished() {
    let lib = |text: &str| format!("//! The lower one.\n{text}\n");
    one_fault(&[("crates/low/src/lib.rs", "pub fn a() {}\n")], "crates/low/src/lib.rs:1:", "no module documentation");
    one_fault(&[("crates/low/src/lib.rs", &lib(&"//\n".repeat(600)))], "crates/low/src/lib.rs:600:", "lines → split");
    one_fault(&[("crates/low/src/lib.rs", &lib("#[allow(dead_code)]\nfn a() {}"))], "crates/low/src/lib.rs:2:", "silenced lint");
    one_fault(&[("crates/low/src/lib.rs", &lib("fn a() { todo!() }"))], "crates/low/src/lib.rs:2:", "unfinished");
    let skipped = lib("#[cfg(test)]\nmod tests {\n    #[test]\n    #[ignore]\n    fn a() {}\n}");
    one_fault(&[("crates/low/src/lib.rs", &skipped)], "crates/low/src/lib.rs:5:", "does not run");
    let spoken_of = lib("/* #[allow(x)] */ // todo!()\nconst A: &str = \"todo!() #[ignore]\";");
    assert_eq!(faults_with(&[("crates/low/src/lib.rs", &spoken_of)]), Vec::<String>::new());
}

#[test]
fn a_prompt_is_a_file() {
    let prompt = format!("//! A.\nconst PROMPT: &str = r#\"You are a planner. {}\"#;\n", "Plan well. ".repeat(60));
    one_fault(&[("crates/low/src/lib.rs", &prompt)], "crates/low/src/lib.rs:2:", "a prompt in the code");
    let short = "//! A.\nconst PERSONA: &str = \"You are a planner.\";\n";
    assert_eq!(faults_with(&[("crates/low/src/lib.rs", short)]), Vec::<String>::new());
    assert_eq!(faults_with(&[("crates/low/tests/all.rs", &prompt)]), Vec::<String>::new());
}

// Requirement: 18.11
#[test]
fn reserved_names_stay_with_their_owners() {
    for (code, expected) in [
        ("use async_openai::Client;", "async_openai::Client outside of crates/llm"),
        ("use std::{fmt, process::{Command, Stdio}};", "std::process::Command outside of crates/sandbox"),
        ("fn a() { std::process::Command::new(\"ls\"); }", "std::process::Command::new"),
        ("fn a() { tokio::process::Command::new(\"ls\"); }", "tokio::process"),
        ("fn a() -> rusqlite::Result<()> { Ok(()) }", "rusqlite::Result"),
        ("use temporalio_sdk::WorkflowContext;", "temporalio_sdk::WorkflowContext outside of crates/temporal"),
        ("use aime_temporal::RunsClient;", "aime_temporal::RunsClient outside of crates/temporal and crates/runs"),
        ("use std::env;\nfn a() { env::var(\"HOME\"); }", "env::var outside of crates/cli and crates/runs"),
    ] {
        one_fault(&[("crates/low/src/lib.rs", &format!("//! A.\n{code}\n"))], "crates/low/src/lib.rs:", expected);
        let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{code}\n}}\n");
        assert_eq!(faults_with(&[("crates/low/src/lib.rs", &test)]), Vec::<String>::new(), "{code}");
    }
    let allowed =
        "//! A.\nuse std::process::ExitCode;\nconst OS: &str = std::env::consts::OS;\nconst A: &str = env!(\"CARGO_PKG_NAME\");\n";
    assert_eq!(faults_with(&[("crates/low/src/lib.rs", allowed)]), Vec::<String>::new());
    let owner = [
        ("crates/sandbox/Cargo.toml", "[package]\nname = \"sandbox\"\n[package.metadata.aime]\nlayer = 1\n"),
        ("crates/sandbox/README.md", "# sandbox\n"),
        ("crates/sandbox/src/lib.rs", "//! A.\nuse tokio::process::Command;\n"),
    ];
    assert_eq!(faults_with(&owner), Vec::<String>::new());
}

// Requirement: 6.6
#[test]
fn pure_code_names_no_clock_no_files_and_does_not_wait() {
    let package = "[package]\nname = \"triggers\"\n[package.metadata.aime]\nlayer = 1\n";
    let with = |code: &str| {
        let code = format!("//! A.\n{code}\n");
        faults_with(&[
            ("crates/replan-triggers/Cargo.toml", package),
            ("crates/replan-triggers/README.md", "# triggers\n"),
            ("crates/replan-triggers/src/lib.rs", &code),
        ])
    };
    for code in [
        "use std::time::Instant;",
        "fn a() { std::fs::read(\"a\"); }",
        "use std::{env, fmt};",
        "fn a() { tokio::time::sleep(b); }",
        "async fn a() {}",
    ] {
        let faults = with(code);
        assert_eq!(faults.len(), 1, "{code}: {faults:#?}");
        assert!(faults[0].contains("in pure code"), "{faults:#?}");
    }
    assert_eq!(with("use std::time::Duration;\n/// An Instant of std::fs.\nfn operand() {}"), Vec::<String>::new());
}

#[test]
fn there_is_one_path_for_each_thing() {
    for (path, code, of) in [
        ("crates/low/src/lib.rs", "impl ChatModel for Loud {}", "a model call"),
        ("crates/low/src/lib.rs", "impl<M: Clone> aime_llm::ChatModel for Loud<M> {}", "a model call"),
        ("crates/low/src/lib.rs", "struct Seat { model: Arc<dyn ChatModel> }", "a model call"),
        ("crates/high/src/ask.rs", "fn ask(model: &impl ChatModel) {}", "a model call"),
        ("crates/high/src/ask.rs", "fn ask<M: ChatModel>(model: &M) {}", "a model call"),
        ("crates/local-model/src/lib.rs", "fn ask(model: &dyn ChatModel) {}", "a model call"),
        ("crates/llm/src/loud.rs", "impl Layer for Loud {}", "a layer of a model"),
        ("crates/high/src/ask.rs", "fn plan() { aime_dynamic_planner::Planner::new(); }", "planning"),
        ("crates/orchestrator/src/orchestrator.rs", "use aime_dynamic_planner::{Planner, ask_route};", "planning"),
        ("crates/high/src/ask.rs", "fn call() { tools.call_with_consent(name, parameters, &context); }", "a tool call"),
        ("crates/high/src/ask.rs", "fn call() { self.parts.tools.call(call, &context); }", "a tool call"),
        ("crates/high/src/ask.rs", "fn call() { permissions.decide(spec, call).consented()?; }", "a tool call"),
        ("crates/high/src/ask.rs", "fn run() { EmbeddedHost::new(runner, sink); }", "starting a run"),
    ] {
        let source = format!("//! A.\n{code}\n");
        one_fault(&[(path, &source)], &format!("{path}:2:"), &format!("is a second path for {of}"));
        let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n    {code}\n}}\n");
        assert_eq!(faults_with(&[(path, &test)]), Vec::<String>::new(), "{code}");
    }
    for (path, code) in [
        ("crates/llm/src/stack/loud.rs", "impl Layer for Loud {}"),
        ("crates/llm/src/model.rs", "impl ChatModel for Loud {}"),
        ("crates/local-model/src/lib.rs", "impl ChatModel for Local {}"),
        ("crates/low/src/lib.rs", "use aime_llm::ChatModel;\nfn ask(model: &Model) {}\n// dyn ChatModel"),
        ("crates/low/tests/own.rs", "impl ChatModel for Loud {}"),
        ("crates/low/examples/own.rs", "impl ChatModel for Loud {}"),
    ] {
        let source = format!("//! A.\n{code}\n");
        assert_eq!(faults_with(&[(path, &source)]), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn no_machine_and_no_registry_is_named() {
    for path in ["/root/a/b", "/home/someone", "(/Users/someone/x)", "see /tmp/trial/out"] {
        one_fault(&[("docs/a.md", path)], "docs/a.md:1:", "a path of one machine");
    }
    for path in ["~/root/a", "crates/home/a", "/rooted/a", "/tmp/plan.json", "`/tmp`", "https://example.org/home/a"] {
        assert_eq!(faults_with(&[("docs/a.md", path)]), Vec::<String>::new(), "{path}");
    }
    assert_eq!(faults_with(&[("crates/low/tests/all.rs", "const A: &str = \"/root/a\";\n")]), Vec::<String>::new());
    one_fault(&[("docs/a.md", concat!("from pypi.", "org/simple"))], "docs/a.md:1:", "the host of a registry");
}

// Requirement: 19.8
#[test]
fn what_is_published_includes_nothing_from_outside() {
    let with = |text: &str| faults_with(&[("crates/low/src/deep/a.rs", &format!("//! A.\nconst A: &str = include_str!(\"{text}\");\n"))]);
    for inside in ["a.md", "../a.md", "../../README.md"] {
        assert_eq!(with(inside), Vec::<String>::new(), "{inside}");
    }
    let faults = with("../../../README.md");
    assert!(
        faults.len() == 1 && faults[0].starts_with("crates/low/src/deep/a.rs:2:") && faults[0].contains("not published"),
        "{faults:#?}"
    );
    let test = "//! A.\n#[cfg(test)]\nmod tests {\n    const A: &str = include_str!(\"../../../a.md\");\n}\n";
    assert_eq!(faults_with(&[("crates/low/src/a.rs", test)]), Vec::<String>::new());
}

#[test]
fn links_lead_somewhere() {
    one_fault(&[("docs/a.md", "\n[b](b.md)\n")], "docs/a.md:2:", "the link to b.md leads nowhere");
    one_fault(&[("docs/a.md", "[b](../../b.md)\n")], "docs/a.md:1:", "leads nowhere");
    one_fault(&[("docs/a.md", "[`missing`](../crates/low/src/lib.rs)\n")], "docs/a.md:1:", "has nothing named missing");
    one_fault(&[("docs/a.md", "\n[b](b.md#c)\n"), ("docs/b.md", "# C d\n")], "docs/a.md:2:", "docs/b.md has no heading #c");
    one_fault(&[("docs/a.md", "# A\n[b](#b)\n```\n# B\n```\n")], "docs/a.md:2:", "docs/a.md has no heading #b");
    let fine = "# Top\n## The `here_it` (is), 2 & more\n### Top\n[a](a.md#top) [b](../crates/low) [c](https://example.org#d) `[d](e.md)`\n\
                [#](#the-here_it-is-2--more) [2](#top-1) [`lower`](../crates/low/src/lib.rs#L1)\n```\n[f](g.md)\n```\n";
    assert_eq!(faults_with(&[("docs/a.md", fine)]), Vec::<String>::new());
}

/// Returns the faults with these rows of requirements and this test file in the package `low`.
fn requirements(rows: &str, tests: &str) -> Vec<String> {
    faults_with(&[("docs/src/reference/requirements.md", rows), ("crates/low/tests/works.rs", &format!("//! All of it.\n{tests}"))])
}

#[test]
fn requirements_list_their_tests() {
    let works = "// Requirement: 1.1\n#[test]\nfn it_works() {}\n";
    for (rows, tests) in [
        ("| 1.1 | It works. | `low`: `it_works` |\n", works.to_owned()),
        (
            "| 1.1 | It works. | `low`: `also`, `it_works` |\n",
            format!("{works}/// So.\n// Requirement: 1.1\n/// And so.\n#[test]\nfn also() {{}}\n"),
        ),
        ("| 1.1 | It works. | `low`: `it_works` |\n| 1.2 | It flies. | not shown by a test yet |\n", works.to_owned()),
        ("| 3.4 | `a` | `low`: `b` |\n\n| 12.10 | C. | `low`: `b` |\n", "// Requirement: 3.4, 12.10\n#[test]\nfn b() {}\n".to_owned()),
    ] {
        assert_eq!(requirements(rows, &tests), Vec::<String>::new(), "{rows}{tests}");
    }
    for (rows, tests, place, expected) in [
        ("| 1.1 | It works. | |\n", works, "docs/src/reference/requirements.md:1:", "run `cargo xtask requirements`"),
        ("| 1.1 | It works. | not shown by a test yet |\n", works, "docs/src/reference/requirements.md:1:", "differ from the marks"),
        (
            "| 1.1 | It works. | `low`: `it_works` |\n",
            "fn no_test() {}\n",
            "docs/src/reference/requirements.md:1:",
            "differ from the marks",
        ),
        ("# None\n", works, "crates/low/tests/works.rs:2:", "unknown requirement"),
        ("# None\n", "// Requirement: all\n#[test]\nfn a() {}\n", "crates/low/tests/works.rs:2:", "all is no number"),
        (
            "| 1.1 | A. | not shown by a test yet |\n",
            "// Requirement: 1.1\nfn helper() {}\n",
            "crates/low/tests/works.rs:2:",
            "without a test",
        ),
        (
            "| 1.1 | A. | `low`: `it_works` |\n| 1.1 | B. | `low`: `it_works` |\n",
            works,
            "docs/src/reference/requirements.md:2:",
            "there twice",
        ),
    ] {
        let faults = requirements(rows, tests);
        assert_eq!(faults.len(), 1, "{rows}{tests} {faults:#?}");
        assert!(faults[0].starts_with(place) && faults[0].contains(expected), "{faults:#?}");
    }
}

#[test]
fn requirements_need_their_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").unwrap();
    let faults = check(folder.path()).unwrap();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].to_string().starts_with("docs/src/reference/requirements.md:1: the page is missing"), "{faults:#?}");
}

#[test]
fn test_functions_are_found_by_their_attributes() {
    let code = "#[test]\nfn a() {}\n#[tokio::test(start_paused = true)]\n#[should_panic]\nasync fn b() {}\n#[cfg(test)]\nfn c() {}\n\
                #[expect(dead_code)]\n#[test]\npub fn d() {}\nproptest! {\n#![proptest_config(x)]\n#[test]\nfn e(f in 0..3) {}\n}\n\
                // #[test]\nfn g() {}\nconst H: &str = \"#[test] fn h() {}\";\n#[test_case(1)]\nfn i() {}\n#[test]\nmod j {}\nfn k() {}\n";
    let source = Source::read(code);
    assert_eq!(source.tests(), [(1, "a"), (3, "b"), (8, "d"), (13, "e")]);
    assert_eq!((source.test_below(0), source.test_below(1)), (Some("a"), None));
}

#[test]
fn test_code_is_told_from_the_rest() {
    let code = "fn a(x: &'a str) -> char { '\\'' }\n#[cfg(test)]\n#[derive(Debug)]\nstruct B { c: [u8; 3] }\nfn d() { '{'; \"}\"; }\n#[cfg(not(test))]\nfn e() {}\n#[cfg(test)]\nmod tests;\n";
    let source = Source::read(code);
    let tests: Vec<usize> = (1..=9).filter(|line| source.is_test_line(*line)).collect();
    assert_eq!(tests, [2, 3, 4, 8, 9]);
    assert_eq!(source.lines_without_tests(), 4);
    assert_eq!(source.test_modules, ["tests"]);
}

#[test]
fn the_command_has_a_bound_on_its_lines() {
    let code = |lines: usize| format!("//! The command.\n{}#[cfg(test)]\nmod tests {{\n    fn a() {{}}\n}}\n", "fn a() {}\n".repeat(lines));
    let file = |text: &str| faults_with(&[("crates/cli/src/a.rs", &text[..text.len() / 2]), ("crates/cli/src/b.rs", text)]);
    let exceeded = |faults: Vec<String>| faults.iter().filter(|fault| fault.contains("lines without tests")).cloned().collect::<Vec<_>>();
    assert_eq!(exceeded(file(&code(5_000))).len(), 0);
    let faults = exceeded(file(&code(6_000)));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("crates/cli/Cargo.toml:1: "), "{faults:?}");
}

#[test]
fn programs_of_one_crate_are_short_and_import_no_other() {
    let file = |text: &str| faults_with(&[("crates/high/tests/alone.rs", text)]);
    assert!(file("//! Alone.\nuse high::run;\n").is_empty());
    assert!(file(&format!("//! Alone.\n{}", "\n".repeat(30)))[0].contains("31 lines"));
    let other = file("//! Alone.\nuse aime_low::run;\n");
    assert!(other.iter().any(|fault| fault.starts_with("crates/high/tests/alone.rs:2: imports aime_low")), "{other:?}");
}

#[test]
fn libraries_name_no_command() {
    let messages = ("crates/messages/en/a.ftl", "plain = write it\nnamed = use `aime resume`, or --model\n");
    let code = |text: &str| format!("//! The lower one.\nfn a() {{ message!(\"{text}\") }}\n");
    for (text, names) in [("named", true), ("`aime resume` goes on", true), ("plain", false), ("aime resumes", false)] {
        let faults = faults_with(&[messages, ("crates/low/src/lib.rs", &code(text))]);
        assert_eq!(faults.iter().any(|fault| fault.starts_with("crates/low/src/lib.rs:2: a library names")), names, "{text}: {faults:?}");
    }
    let inner = "//! The lower one.\n#[cfg(test)]\nmod tests {\n    const A: &str = \"`aime run`\";\n}\n";
    assert!(faults_with(&[("crates/low/src/lib.rs", inner)]).is_empty());
}

#[test]
fn use_trees_are_spread_out() {
    let source = Source::read("pub use a::{self, b as c, d::{e, f::*}, g};\nuse ::h;\nfn i() { j::k::<l::M>(); }");
    let paths: Vec<String> = source.paths().iter().map(|(line, path)| format!("{line} {}", path.join("::"))).collect();
    assert_eq!(paths, ["1 pub", "1 a::self", "1 a::b", "1 a::d::e", "1 a::d::f", "1 a::g", "2 h", "3 fn", "3 i", "3 j::k", "3 l::M"]);
}

#[test]
fn comments_that_open_without_a_subject_are_counted() {
    let bare = "//! The lower one.\n\n/// What it holds.\npub struct A;\n";
    one_fault(&[("crates/low/src/lib.rs", &format!("{bare}\n/// Whether it is.\npub struct B;\n"))], "crates/low/src/lib.rs:3", "2 of 5");
    // One of at most 125 lines is within the bound.
    assert!(faults_with(&[("crates/low/src/lib.rs", bare)]).is_empty());
}

#[test]
fn limits_are_named_max_or_min() {
    for code in ["const MOST: u32 = 1;", "pub(crate) const LONGEST_LINE: usize = 1;", "    const LEAST_TOKENS: u64 = 1;"] {
        let source = format!("//! A.\n{code}\n");
        one_fault(&[("crates/low/src/limits.rs", &source)], "crates/low/src/limits.rs:2:", "name it `MAX_…` or `MIN_…`");
    }
    assert_eq!(faults_with(&[("crates/low/src/limits.rs", "//! A.\nconst MAX_LINES: u32 = 1;\nfn f() { MOST }\n")]), Vec::<String>::new());
}

#[test]
fn retired_phrases_stay_rare() {
    let text = format!("# low\n\n{}", "The actor is told.\n".repeat(9));
    one_fault(&[("crates/low/README.md", &text)], "crates/low/README.md:3:", "9 lines of documents and messages");
    assert!(faults_with(&[("crates/low/README.md", &text.replacen("The actor is told.\n", "", 1))]).is_empty());
}

#[test]
fn documents_wrap_outside_tables_and_code() {
    let (long, word) = ("long word ".repeat(13), "x".repeat(130));
    one_fault(&[("docs/src/a.md", &format!("# A\n\n{long}\n"))], "docs/src/a.md:3: the line is too long", "120 columns");
    let kept = format!("| {long} |\n\n```sh\n{long}\n```\n\n  [`{word}`](a.md),\n");
    assert_eq!(faults_with(&[("docs/src/a.md", &kept)]), [""; 0]);
    assert_eq!(faults_with(&[("crates/low/prompts/plan.md", &long)]), [""; 0]);
}
