//! `aime run --commit`: the work as commits on a branch of its own.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, bash, done, plan};

const TEXT: &str = "one\ntwo\nthree\n";

/// Two tasks, of which the second goes on with the file of the first.
fn two() -> World {
    let edit = |old: &str, new: &str| Reply::call("edit_file", json!({"path": "text", "old_text": old, "new_text": new}));
    let (a, b) = (|turn| When::tools().and_contains("A-PART").and_turn(turn), |turn| When::tools().and_contains("B-PART").and_turn(turn));
    let script = Script::new()
        .on(a(0), [edit("one", "1")])
        .on(a(1), [bash("echo '#!/bin/sh' > script; chmod 755 script; echo x > ignored; mkdir __pycache__; echo x > __pycache__/text.pyc")])
        .on(a(2), [done("one is a number")])
        .on(b(0), [edit("three", "3")])
        .on(b(1), [bash("rm old; ln -s text link")])
        .on(b(2), [done("three is a number")]);
    let world = World::with(script).settings("");
    world.file("text", TEXT);
    world.file("old", "old\n");
    world.file(".gitignore", "ignored\n.aime/\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &["a"])]));
    world
}

const RUN: [&str; 10] = ["run", "--commit", "--plan", "plan.json", "--run-id", "r", "--approve", "all", "--output", "json"];

#[test]
fn each_task_is_a_commit_on_a_branch_of_its_own() {
    let world = two();
    world.git(&["init", "-q", "-b", "trunk"]);
    world.git(&["add", "text", "old", ".gitignore"]);
    world.git(&["commit", "-qm", "before"]);
    world.file("staged", "a person's\n");
    world.git(&["add", "staged"]);
    let (index, head) = (world.git(&["ls-files", "--stage"]), world.git(&["rev-parse", "HEAD"]));
    let ended = world.aime(RUN).must(0);
    assert!(ended.json()["notes"].to_string().contains("the work is on the branch aime/r, in 2 commits"), "{ended}");
    assert_eq!(world.git(&["log", "--reverse", "--format=%an %s", "trunk..aime/r"]), "aime a\naime b\n");
    assert_eq!(world.git(&["log", "-1", "--format=%b", "aime/r~1"]), "one is a number\n\nAime-Task: a\nAime-Run: r\n\n");
    let changed = |commit: &str| world.git(&["diff-tree", "-r", "--no-commit-id", "--name-status", commit]);
    assert_eq!((changed("aime/r~1"), changed("aime/r")), ("A\tscript\nM\ttext\n".to_owned(), "A\tlink\nD\told\nM\ttext\n".to_owned()));
    assert_eq!(world.git(&["show", "aime/r~1:text"]), TEXT.replace("one", "1"));
    assert_eq!(world.git(&["show", "aime/r:text"]), TEXT.replace("one", "1").replace("three", "3"));
    let modes = world.git(&["ls-tree", "--format=%(objectmode) %(path)", "aime/r"]);
    assert!(
        modes.contains("100755 script") && modes.contains("120000 link") && !modes.contains("ignored") && !modes.contains("__pycache__"),
        "{modes}"
    );
    assert_eq!((world.git(&["ls-files", "--stage"]), world.git(&["rev-parse", "HEAD"])), (index, head), "the index and the branch stay");
    assert_eq!(world.git(&["branch", "--show-current"]), "trunk\n");
    assert_eq!(world.read("staged"), "a person's\n");
}

/// Commits all files of a world.
fn committed(world: World) -> World {
    world.git(&["init", "-q", "-b", "trunk"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "before"]);
    world
}

/// Returns the notes of a result, which name the paths that the commits lack.
fn notes(ended: &crate::harness::Ended) -> String {
    ended.json()["notes"].to_string()
}

#[test]
fn ignored_files_are_named_and_left_out() {
    let world = committed(two());
    let ended = world.aime(RUN).must(0);
    assert!(notes(&ended).contains("not in the commits: ignored (git ignores it)"), "{ended}");
    assert_eq!(world.read("ignored"), "x\n");
}

/// A reason that would prevent the commits is reported before the work.
#[test]
fn a_folder_without_a_repository_is_refused() {
    let world = two();
    let ended = world.aime(RUN).must(2);
    for part in ["the work cannot be committed: the folder is in no git repository", "git init"] {
        assert!(ended.stderr.contains(part), "{part}: {ended}");
    }
    let mut unrecorded = two();
    unrecorded.user_settings("[undo]\nenabled = false\n");
    unrecorded.git(&["init", "-q"]);
    let ended = unrecorded.aime(RUN).must(2);
    assert!(ended.stderr.contains("the changes of files are not recorded"), "{ended}");
    for world in [&world, &unrecorded] {
        assert_eq!((world.server().requests().len(), world.read("text")), (0, TEXT.to_owned()), "nothing was begun");
    }
}

/// A commit of a task has its changes alone, though a person had not committed theirs.
#[test]
fn changes_of_a_person_are_a_commit_of_their_own() {
    let world = committed(two());
    world.file("text", &TEXT.replace("two", "a person's"));
    world.file("unrelated", "a person's\n");
    let ended = world.aime(RUN).must(0);
    assert!(
        notes(&ended).contains("in 3 commits; the first has changes of the same files that were not committed before the run"),
        "{ended}"
    );
    let log = world.git(&["log", "--reverse", "--format=%s", "trunk..aime/r"]);
    assert_eq!(log, "Uncommitted changes from before the run\na\nb\n");
    let lines = |commit: &str| {
        let diff = world.git(&["show", "--format=", "--unified=0", commit, "--", "text"]);
        diff.lines().filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")).collect::<String>()
    };
    assert_eq!(["aime/r~2", "aime/r~1", "aime/r"].map(lines), ["-two+a person's", "-one+1", "-three+3"]);
    assert_eq!(world.git(&["show", "aime/r:text"]), world.read("text"), "the branch has the files of the folder");
    assert!(!world.git(&["ls-tree", "--name-only", "aime/r"]).contains("unrelated"), "files that the run did not change are left alone");
    assert_eq!(world.git(&["status", "--short", "unrelated", "text"]), " M text\n?? unrelated\n");
}

/// One task that runs a command, in a repository with these attributes.
fn command(attributes: &str, command: &str) -> World {
    let script = Script::new().on(When::tools().and_turn(0), [bash(command)]).on(When::tools().and_turn(1), [done("done")]);
    let world = World::with(script).settings("");
    world.file(".gitignore", ".aime/\nplan.json\n");
    world.file(".gitattributes", attributes);
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[])]));
    committed(world)
}

/// Files are stored as the attributes say: as pointers of Git LFS, whose objects are where it keeps them, and with the line ends of the
/// repository. No program of a filter is run.
#[test]
fn files_are_stored_as_their_attributes_say() {
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n*.bat text eol=crlf\n*.hidden filter=crypt\n";
    let world =
        command(attributes, "printf 'all of it' > a.bin; printf 'one\\r\\ntwo\\r\\n' > a.bat; echo hidden > a.hidden; : > empty.bin");
    world.git(&["config", "filter.crypt.clean", "touch ran; cat"]);
    world.git(&["config", "filter.lfs.clean", "touch ran; cat"]);
    let ended = world.aime(RUN).must(0);
    let oid = "07630777646b9ad0ad5940c20f7703e5ba431d90dc8f191af6916bffca3e859c";
    let pointer = world.git(&["show", "aime/r:a.bin"]);
    assert_eq!(pointer, format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 9\n"), "{ended}");
    assert_eq!(world.read(&format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4])), "all of it");
    assert_eq!((world.git(&["show", "aime/r:a.bat"]), world.git(&["show", "aime/r:empty.bin"])), ("one\ntwo\n".to_owned(), String::new()));
    assert!(notes(&ended).contains("not in the commits: a.hidden (its filter `crypt` is a program, which aime does not run)"), "{ended}");
    assert!(!world.git(&["ls-tree", "--name-only", "aime/r"]).contains("a.hidden"), "{ended}");
    assert!(!world.exists("ran"), "{ended}");
}

/// Files that are too large for the record of changes are read from the folder, up to the size that servers accept.
#[test]
fn large_files_are_committed_or_named() {
    let world = command("*.bin filter=lfs\n", "head -c 34000000 /dev/zero > large; truncate -s 101M larger; truncate -s 101M larger.bin");
    let ended = world.aime(RUN).must(0);
    assert_eq!(world.git(&["cat-file", "-s", "aime/r:large"]), "34000000\n", "{ended}");
    assert!(world.git(&["show", "aime/r:larger.bin"]).ends_with("size 105906176\n"), "{ended}");
    assert!(notes(&ended).contains("not in the commits: larger (over 100 MB: give it to Git LFS)"), "{ended}");
}

#[test]
fn files_of_submodules_are_named_and_left_out() {
    let world = command("", "echo x > lib/file; echo x > file");
    std::fs::create_dir(world.path("inner")).unwrap();
    world.git(&["-C", "inner", "init", "-q"]);
    world.git(&["-C", "inner", "commit", "-q", "--allow-empty", "-m", "inner"]);
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./inner", "lib"]);
    world.git(&["commit", "-qm", "with a submodule"]);
    let ended = world.aime(RUN).must(0);
    assert!(notes(&ended).contains("not in the commits: lib/file (in a submodule)"), "{ended}");
    assert_eq!(world.git(&["diff-tree", "-r", "--no-commit-id", "--name-only", "aime/r"]), "file\n");
}

/// Two tasks that work at once in one file have a commit each, with their own changes.
#[test]
fn tasks_at_once_in_one_file_are_commits_of_their_own() {
    let (a, b) = (|turn| When::tools().and_contains("A-PART").and_turn(turn), |turn| When::tools().and_contains("B-PART").and_turn(turn));
    let change = |old: &str, new: &str, name: &str| bash(&format!("sed -i s/{old}/{new}/ text && echo {name}-HAS-CHANGED"));
    let script = Script::new()
        .on(a(0), [change("one", "1", "A")])
        .on(a(1), [done("one is a number").after_request("B-HAS-CHANGED")])
        .on(b(0), [change("seven", "7", "B")])
        .on(b(1), [done("seven is a number").after_request("A-HAS-CHANGED")]);
    let world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    world.file("text", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    world.file(".gitignore", ".aime/\n");
    world.plan("plan.json", &plan(&[actor("a", "A-PART", &[]), actor("b", "B-PART", &[])]));
    let world = committed(world);
    let ended = world.aime(RUN).must(0);
    let log = world.git(&["log", "--format=%s", "trunk..aime/r"]);
    let mut subjects: Vec<&str> = log.lines().collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["a", "b"], "{ended}");
    for (task, (old, new)) in [("a", ("one", "1")), ("b", ("seven", "7"))] {
        let commit = world.git(&["log", "--format=%H", &format!("--grep=Aime-Task: {task}"), "aime/r"]);
        let diff = world.git(&["show", "--format=", "--unified=0", commit.trim()]);
        let lines: Vec<&str> =
            diff.lines().filter(|line| line.starts_with(['+', '-']) && !line.starts_with("---") && !line.starts_with("+++")).collect();
        assert_eq!(lines, [format!("-{old}"), format!("+{new}")], "{diff}");
    }
    assert_eq!(world.git(&["show", "aime/r:text"]), world.read("text"));
}
