//! Git in a working folder whose git folder lies outside of it, and forged `.git` files.

use std::{fs, path::Path};

use aime_sandbox::{Confinement, ConfinementSettings, ProcessEnd, ProcessOutcome};

use crate::{attempt, place::Place};

/// Runs a script in a folder beside the working folder, confined to it.
async fn run_in(place: &Place, folder: &str, script: &str) -> (ProcessOutcome, Confinement) {
    let path = place.work().with_file_name(folder);
    let confinement = Confinement::new(ConfinementSettings::new(path, &place.environment())).unwrap();
    let script = format!("cd \"$ROOT/{folder}\" && {script}");
    (place.outcome(&attempt("git", &script), &confinement).await, confinement)
}

#[tokio::test(flavor = "multi_thread")]
async fn git_reads_a_repository_outside_of_the_folder() {
    let place = Place::new();
    let set_up = "command -v git || exit 127; git init -q \"$ROOT/repo\" && cd \"$ROOT/repo\" && mkdir -p packages/a && echo ignored > .gitignore && \
        echo x > packages/a/file && git add . && git -c user.name=n -c user.email=e commit -q -m first && \
        git worktree add -q \"$ROOT/tree\" -b other && echo kept > notes.txt";
    let made = place.outcome(&attempt("set up", set_up), &Confinement::off()).await;
    if made.end == ProcessEnd::Exited(127) {
        return;
    }
    assert_eq!(made.end, ProcessEnd::Exited(0), "{made:?}");
    for folder in ["tree", "tree/packages/a", "repo/packages/a"] {
        let script =
            "git log -1 --format=%s && git diff HEAD && echo x > made && echo x > ignored && git status --short . && rm made ignored";
        let (outcome, _) = run_in(&place, folder, script).await;
        assert_eq!(
            (outcome.end.clone(), outcome.stdout.text().as_str()),
            (ProcessEnd::Exited(0), "first\n?? made\n"),
            "{folder}: {outcome:?}"
        );
        let (outcome, _) = run_in(&place, folder, "cat \"$ROOT/repo/notes.txt\"; true").await;
        assert!(!outcome.stdout.text().contains("kept"), "the files of the work tree above stay out of reach: {outcome:?}");
        let (outcome, confinement) = run_in(&place, folder, "git -c user.name=n -c user.email=e commit -q --allow-empty -m second").await;
        assert_ne!(outcome.end, ProcessEnd::Exited(0), "{folder}: {outcome:?}");
        let explained = confinement.explain(&outcome.stderr.text(), &[]).unwrap_or_default();
        assert!(explained.contains("/repo/.git\"]"), "{folder}: {explained} {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_git_file_opens_nothing() {
    let place = Place::new();
    let work = place.work();
    let at = |name: &str| work.with_file_name(name);
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let names_back = format!("[core]\n\tworktree = {}\n", work.display());
    let names_back = names_back.as_str();
    for (folder, config, has_head) in
        [("named", names_back, true), ("other/.git", "", true), ("plain", names_back, false), ("home/.ssh", names_back, true)]
    {
        write(&at(folder).join("objects/pack"), "");
        write(&at(folder).join("kept.txt"), "kept");
        write(&at(folder).join("config"), config);
        if has_head {
            write(&at(folder).join("HEAD"), "ref: refs/heads/main\n");
        }
    }
    // A git folder in the working folder can name any other.
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("commondir", "../../other/.git\n"), ("gitdir", "../.git\n")] {
        write(&work.join("forged").join(name), text);
    }
    for (git_file, folder, is_read) in [
        ("gitdir: ../named\n", "named", true),
        ("gitdir: ../other/.git\n", "other/.git", false),
        ("gitdir: ../plain\n", "plain", false),
        ("gitdir: ../home/.ssh\n", "home/.ssh", false),
        ("gitdir: forged\n", "other/.git", false),
    ] {
        fs::write(work.join(".git"), git_file).unwrap();
        let (outcome, _) = run_in(&place, "work", &format!("cat \"$ROOT/{folder}/kept.txt\"")).await;
        assert_eq!(outcome.stdout.text().contains("kept"), is_read, "{git_file}: {outcome:?}");
    }
    fs::remove_file(work.join(".git")).unwrap();
    std::os::unix::fs::symlink(at("other/.git"), work.join(".git")).unwrap();
    let (outcome, _) = run_in(&place, "work", "cat \"$ROOT/other/.git/kept.txt\" .git/kept.txt; true").await;
    assert!(!outcome.stdout.text().contains("kept"), "{outcome:?}");
}
