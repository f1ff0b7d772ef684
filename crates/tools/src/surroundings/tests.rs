use std::fs;

use super::*;

fn folder(files: &[&str]) -> (tempfile::TempDir, ToolContext) {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let context = ToolContext::in_folder(folder.path()).unwrap();
    (folder, context)
}

#[tokio::test]
async fn two_levels_are_shown_and_folders_marked() {
    let (place, context) = folder(&[
        "README.md",
        ".github/workflows/ci.yml",
        "src/lib.rs",
        "src/deep/deeper/x.rs",
        "src/deep/AGENTS.md",
        "AGENTS.md",
        "out/big.bin",
        ".aime/aime.db",
        ".git/HEAD",
    ]);
    fs::write(place.path().join(".gitignore"), "out\n").unwrap();
    let read = Surroundings::read(&context, "", "2026-11-25".to_owned(), Programs::default()).await;
    let expected = ".github/\n  workflows/\n.gitignore\nAGENTS.md\nREADME.md\nsrc/\n  deep/\n  lib.rs";
    assert_eq!(read.tree, expected);
    assert_eq!(read.instructions, ["AGENTS.md", "src/deep/AGENTS.md"]);
    assert_eq!(read.git, None, "no program is there to ask");
}

// Requirement: 4.9
#[tokio::test]
async fn instructions_of_named_folders_come_first() {
    let mut files: Vec<String> = (0..40).map(|number| format!("crates/c{number:02}/AGENTS.md")).collect();
    files.extend(["AGENTS.md", "crates/c30/src/deep/CLAUDE.md", "crates/c30x/AGENTS.md", "docs/GEMINI.md"].map(str::to_owned));
    let (place, context) = folder(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let table = [
        ("Fix it", "AGENTS.md", "crates/c00/AGENTS.md"),
        ("Fix crates/c30/src/lib.rs.", "AGENTS.md", "crates/c30/AGENTS.md"),
        ("Fix `./crates/c30/src/lib.rs`, then docs/guide.md", "AGENTS.md", "crates/c30/AGENTS.md docs/GEMINI.md"),
        ("crates/c30", "AGENTS.md", "crates/c30/AGENTS.md crates/c30/src/deep/CLAUDE.md"),
        ("ROOT/crates/c39/a.rs does not compile", "AGENTS.md", "crates/c39/AGENTS.md"),
        ("docs", "AGENTS.md", "docs/GEMINI.md"),
    ];
    for (task, root, next) in table {
        let task = task.replace("ROOT", &context.working_folder().display().to_string());
        let found = Surroundings::read(&context, &task, String::new(), Programs::default()).await.instructions;
        let next: Vec<&str> = next.split(' ').collect();
        assert_eq!((found[0].as_str(), found.len()), (root, 20), "{task}");
        assert_eq!(found[1..=next.len()], next, "{task}");
    }
    drop(place);
}

#[tokio::test]
async fn long_folders_are_cut_with_their_number() {
    let names: Vec<String> = (0..30).map(|number| format!("many/{number:02}.txt")).chain((0..200).map(|n| format!("f{n:03}"))).collect();
    let (_place, context) = folder(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let tree = Surroundings::read(&context, "", String::new(), Programs::default()).await.tree;
    assert_eq!(tree.lines().last(), Some("… 106 more lines"));
    let (_place, context) = folder(&names[..30].iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(Surroundings::read(&context, "", String::new(), Programs::default()).await.tree.lines().last(), Some("  … 6 more"));
}

#[test]
fn the_facts_as_a_prompt_tells_them() {
    let mut facts = Surroundings {
        date: "2026-11-25".to_owned(),
        system: "linux (x86_64)".to_owned(),
        commands: "Commands write in the working folder and in $TMPDIR only.".to_owned(),
        ..Surroundings::default()
    };
    insta::assert_snapshot!(facts.to_markdown(), @r"
    - System: linux (x86_64). Today is 2026-11-25.
    - Commands write in the working folder and in $TMPDIR only.
    - The working folder is empty.
    ");
    facts.programs = vec!["python3 3.12.3".to_owned(), "git 2.43.0".to_owned()];
    facts.missing = vec!["pytest".to_owned(), "make".to_owned()];
    facts.git = Some(GitState { branch: "branch `main`".to_owned(), changes: vec![" M a.rs".to_owned()] });
    facts.instructions = vec!["AGENTS.md".to_owned(), "src/AGENTS.md".to_owned()];
    facts.tree = "src/\n  a.rs".to_owned();
    insta::assert_snapshot!(facts.to_markdown(), @r"
    - System: linux (x86_64). Today is 2026-11-25.
    - Commands write in the working folder and in $TMPDIR only.
    - Programs: python3 3.12.3, git 2.43.0.
    - Not on PATH: pytest, make.
    - Git: branch `main`, 1 changed file: ` M a.rs`.
    - Instructions: `AGENTS.md`, `src/AGENTS.md`. Read those of the folders that you work in.

    The working folder:
    ```
    src/
      a.rs
    ```
    ");
}

#[tokio::test]
async fn changed_files_are_told() {
    let (_place, context) = folder(&["a.txt", "src/b.txt"]);
    let (before, later) = (SystemTime::UNIX_EPOCH, SystemTime::now() + std::time::Duration::from_secs(3_600));
    assert_eq!(Surroundings::changed_since(&context, before).await, "Files changed since: `a.txt`, `src/b.txt`");
    assert_eq!(Surroundings::changed_since(&context, later).await, "No file of the working folder was changed since");
}

#[tokio::test]
async fn all_usual_programs_that_are_missing_are_named() {
    for (files, present, expected) in [
        (&["a.txt"][..], &[][..], "python3 pytest node npm cargo go make git"),
        (&["a.txt"], &["python3", "git"], "pytest (nor as a module of python3 when this run began) node npm cargo go make"),
        (&[".venv/bin/pytest", "node_modules/.bin/npm"], &["python3", "node"], "cargo go make git"),
        (&["a.txt"], &["python3", "pytest", "node", "npm", "cargo", "go", "make", "git"], ""),
    ] {
        let (place, mut context) = folder(files);
        let programs = tempfile::tempdir().unwrap();
        for name in present {
            fs::write(programs.path().join(format!("{name}{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
        }
        context.environment = std::sync::Arc::new([("PATH".into(), programs.path().into())].into());
        let read = Surroundings::read(&context, "", String::new(), Programs::default()).await;
        assert_eq!(read.missing.join(" "), expected, "{files:?}");
        drop(place);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_module_that_works_is_named_and_looked_for_once() {
    let (_place, mut context) = folder(&["pyproject.toml"]);
    let programs = tempfile::tempdir().unwrap();
    let python = programs.path().join("python3");
    fs::write(&python, "#!/bin/sh\necho \"$@\" >>\"$0.calls\"\n").unwrap();
    fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    context.environment = std::sync::Arc::new([("PATH".into(), programs.path().into())].into());
    context.confinement = aime_sandbox::Confinement::off();
    let known = Programs::read(&context).await;
    for _ in 0..2 {
        let read = Surroundings::read(&context, "", String::new(), known.clone()).await;
        assert_eq!(read.missing.first().map(String::as_str), Some("pytest (but `python3 -m pytest` works)"));
    }
    let calls = fs::read_to_string(programs.path().join("python3.calls")).unwrap();
    assert_eq!(calls.lines().collect::<std::collections::BTreeSet<_>>(), ["--version", "-m pytest --version"].into());
    assert_eq!(calls.lines().count(), 2, "{calls}");
}

/// The tree would stop at such a folder, or before it.
#[tokio::test]
async fn folders_that_the_goal_names_are_shown() {
    let files =
        ["src/deep/deeper/x.rs", "src/deep/a.rs", "src/deep/b.rs", "src/other/c.rs", "far/down/the/tree/leaf/z", "far/down/y", "top"];
    let (_place, context) = folder(&files);
    let all = "far/\n  down/\n    the/\n      tree/\n        leaf/\nsrc/\n  deep/\n    a.rs\n    b.rs\n    deeper/\n  other/\ntop";
    for (goal, expected) in [
        ("Tidy src, and see no/such/folder.", "far/\n  down/\nsrc/\n  deep/\n  other/\ntop"),
        ("Tidy `src/deep/`, and count the files in ./far/down/the/tree.", all),
    ] {
        let read = Surroundings::read(&context, goal, String::new(), Programs::default()).await;
        assert_eq!(read.tree, expected, "{goal}");
    }
}

#[tokio::test]
async fn the_folder_of_records_is_named_where_it_exists() {
    for (files, expected) in [(&["a.txt"][..], false), (&["a.txt", ".aime/aime.db"], true)] {
        let (_place, context) = folder(files);
        let read = Surroundings::read(&context, "", String::new(), Programs::default()).await;
        assert_eq!(read.commands.contains("`.aime/` holds aime's own records"), expected, "{files:?}");
    }
}
