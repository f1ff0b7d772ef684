mod history;

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{Commit, MergeResult, WorkTree, WorkTreeError, forget_repositories, git_version};

/// Two hosts, each with a folder and a repository.
struct Hosts {
    root: tempfile::TempDir,
    here: WorkTree,
    there: WorkTree,
}

#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
async fn hosts() -> Hosts {
    let root = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let mut trees = Vec::new();
    for name in ["here", "there"] {
        let folder = root.path().join(name);
        fs::create_dir(&folder).unwrap();
        trees.push(WorkTree::open(&folder, &root.path().join(format!("{name}.git")), path.clone()).await.unwrap());
    }
    let there = trees.pop().unwrap();
    Hosts { root, here: trees.pop().unwrap(), there }
}

impl Hosts {
    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    /// Transfers a commit to the other host, and checks it out there.
    async fn hand(&self, commit: &Commit, known: Option<&Commit>, holder: &str) {
        self.there.import(&self.here.bundle(commit, known).await.unwrap(), commit).await.unwrap();
        self.there.check_out(commit, holder).await.unwrap();
    }
}

#[tokio::test]
async fn only_a_git_that_can_merge_is_used() {
    let root = tempfile::tempdir().unwrap();
    let (git, output, folder, repository) =
        (root.path().join("git"), root.path().join("output"), root.path().join("here"), root.path().join("here.git"));
    fs::create_dir(&folder).unwrap();
    let found = || git_version(&folder, root.path().into());
    let missing = found().await.unwrap_err();
    assert_eq!(missing.to_string(), "no git is found on PATH, and git 2.38 or later is needed");
    fs::write(&git, format!("#!/bin/sh\nread -r line < '{}'\necho \"$line\"\n", output.display())).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    for (text, version, is_used) in [
        ("git version 2.38.0", "2.38.0", true),
        ("git version 2.39.5 (Apple Git-154)", "2.39.5", true),
        ("git version 2.50.0.windows.1", "2.50.0.windows.1", true),
        ("git version 3.0", "3.0", true),
        ("git version 2.37.9", "2.37.9", false),
        ("git version 1.40.0", "1.40.0", false),
        ("git version unknown", "unknown", false),
    ] {
        fs::write(&output, format!("{text}\n")).unwrap();
        let refused = format!("git {version} is installed, and git 2.38 or later is needed");
        let expected = if is_used { Ok(version.to_owned()) } else { Err(refused) };
        assert_eq!(found().await.map_err(|error| error.to_string()), expected, "{text}");
    }
    let opened = WorkTree::open(&folder, &repository, root.path().into()).await;
    assert!(matches!(opened, Err(WorkTreeError::GitVersion { .. })), "{opened:?}");
    assert!(!repository.exists());
}

#[tokio::test]
async fn a_folder_stands_elsewhere_as_it_stood() {
    let hosts = hosts().await;
    hosts.write("here/text", "a\r\nb\n");
    hosts.write("here/.gitattributes", "* text=auto eol=lf\nsecret filter=none\n");
    hosts.write("here/日本 語/x", "unicode");
    hosts.write("here/--odd", "like an option");
    hosts.write("here/run", "#!/bin/sh\n");
    fs::set_permissions(hosts.at("here/run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("text", hosts.at("here/link")).unwrap();
    hosts.there.claim().await.unwrap();
    let commit = hosts.here.record(None, &[]).await.unwrap();
    hosts.hand(&commit, None, "run").await;
    for path in ["text", ".gitattributes", "日本 語/x", "--odd", "run"] {
        assert_eq!(hosts.read(&format!("there/{path}")), hosts.read(&format!("here/{path}")), "{path}");
    }
    assert_eq!(fs::read_link(hosts.at("there/link")).unwrap(), Path::new("text"));
    assert_ne!(fs::metadata(hosts.at("there/run")).unwrap().permissions().mode() & 0o100, 0);
    // An unchanged folder is the same state with the same name on both hosts.
    assert_eq!(hosts.there.record(Some(&commit), &[]).await.unwrap(), commit);
    assert_eq!(hosts.there.record(None, &[]).await.unwrap(), commit);
}

/// A folder may become a link while files are put into it.
#[tokio::test]
async fn no_link_in_the_folder_leads_out_of_it() {
    let hosts = hosts().await;
    for path in ["changed", "removed", "inner/removed"] {
        hosts.write(&format!("here/dir/{path}"), "old");
    }
    let before = hosts.here.record(None, &[]).await.unwrap();
    fs::remove_file(hosts.at("here/dir/removed")).unwrap();
    fs::remove_dir_all(hosts.at("here/dir/inner")).unwrap();
    for path in ["changed", "new", "deep/new"] {
        hosts.write(&format!("here/dir/{path}"), "new");
    }
    let after = hosts.here.record(Some(&before), &[]).await.unwrap();
    hosts.here.reset(&before).await.unwrap();
    fs::rename(hosts.at("here/dir"), hosts.at("outside")).unwrap();
    symlink(hosts.at("outside"), hosts.at("here/dir")).unwrap();
    for (from, to) in [(&before, &after), (&after, &before)] {
        let refused = hosts.here.put(from, to).await.unwrap_err();
        assert!(matches!(refused, WorkTreeError::Entry(_)), "{refused}");
    }
    let outside = ["changed", "removed", "inner/removed", "new", "deep/new"].map(|path| hosts.read(&format!("outside/{path}")));
    let old = Some("old".to_owned());
    assert_eq!(outside, [old.clone(), old.clone(), old, None, None]);
    fs::remove_file(hosts.at("here/dir")).unwrap();
    fs::rename(hosts.at("outside"), hosts.at("here/dir")).unwrap();
    hosts.here.put(&before, &after).await.unwrap();
    assert!(!hosts.at("here/dir/inner").exists(), "an empty folder goes with its last file");
    assert_eq!(hosts.here.record(Some(&after), &[]).await.unwrap(), after);
}

#[tokio::test]
async fn what_is_of_the_host_does_not_travel() {
    let hosts = hosts().await;
    hosts.write("here/.gitignore", "*.key\n");
    hosts.write("here/a.key", "secret");
    hosts.write("here/.aime/aime.db", "a journal");
    hosts.write("here/.aime/.gitignore", "*\n");
    hosts.write("here/.aime/runs/r/out.txt", "kept");
    hosts.write("here/.git/HEAD", "ref: refs/heads/main\n");
    // `git` cannot add a repository without a commit.
    for (name, path) in [("HEAD", "ref: refs/heads/main\n"), ("objects/x", ""), ("refs/x", "")].iter().map(|(path, text)| (*text, *path)) {
        hosts.write(&format!("here/other/.git/{path}"), name);
    }
    hosts.write("here/other/file", "of another repository");
    hosts.write("here/own", "own");
    let commit = hosts.here.record(None, &[".aime/runs/r".into(), ".aime/runs/none".into()]).await.unwrap();
    hosts.hand(&commit, None, "run").await;
    for (path, travels) in [
        ("own", true),
        (".gitignore", true),
        (".aime/runs/r/out.txt", true),
        ("a.key", false),
        (".aime/aime.db", false),
        (".git/HEAD", false),
        ("other/file", false),
    ] {
        assert_eq!(hosts.at(&format!("there/{path}")).exists(), travels, "{path}");
    }
}

#[tokio::test]
async fn no_setting_of_the_folder_starts_a_program() {
    let hosts = hosts().await;
    let touch = format!("touch {}", hosts.at("started").display());
    let config = format!(
        "[core]\n\tfsmonitor = {touch}\n\thooksPath = hooks\n[filter \"x\"]\n\tclean = {touch}\n\tsmudge = {touch}\n[merge \"x\"]\n\tdriver = {touch}\n"
    );
    for (path, text) in
        [(".git/config", config.as_str()), (".git/HEAD", "ref: refs/heads/main\n"), (".gitattributes", "* filter=x merge=x\n")]
    {
        hosts.write(&format!("here/{path}"), text);
    }
    hosts.write("here/.git/objects/x", "");
    hosts.write("here/.git/refs/x", "");
    hosts.write("here/a", "1\n");
    let first = hosts.here.record(None, &[]).await.unwrap();
    hosts.write("here/a", "2\n");
    let second = hosts.here.record(Some(&first), &[]).await.unwrap();
    hosts.hand(&second, None, "run").await;
    hosts.there.check_out(&first, "run").await.unwrap();
    hosts.write("there/a", "3\n");
    let third = hosts.there.record(Some(&first), &[]).await.unwrap();
    assert!(matches!(hosts.there.merge(&second, &third).await.unwrap(), MergeResult::Conflict(_)));
    assert!(!hosts.at("started").exists());
}

#[tokio::test]
async fn check_outs_take_away_what_they_do_not_hold() {
    let hosts = hosts().await;
    hosts.write("here/.gitignore", "cache\n");
    hosts.write("here/dir/a", "a");
    hosts.write("here/kept/b", "b");
    let first = hosts.here.record(None, &[]).await.unwrap();
    fs::remove_dir_all(hosts.at("here/dir")).unwrap();
    hosts.write("here/dir", "now a file");
    let second = hosts.here.record(Some(&first), &[]).await.unwrap();
    hosts.hand(&second, None, "one").await;
    for (path, text) in [
        ("dir", "changed"),
        ("new/file", "new"),
        ("cache", "kept in a run"),
        (".git/x", "its own"),
        ("kept/.git", "gitdir: ../.git"),
        (".aime/x", "of the host"),
    ] {
        hosts.write(&format!("there/{path}"), text);
    }
    hosts.there.check_out(&first, "one").await.unwrap();
    assert_eq!((hosts.read("there/dir/a").as_deref(), hosts.read("there/new/file")), (Some("a"), None));
    assert_eq!(hosts.read("there/cache").as_deref(), Some("kept in a run"));
    hosts.there.check_out(&second, "another").await.unwrap();
    assert_eq!(hosts.read("there/dir").as_deref(), Some("now a file"));
    let left = ["cache", ".git/x", "kept/.git"].map(|path| hosts.read(&format!("there/{path}")));
    assert_eq!(left, [None, None, None], "another run finds nothing of it");
    assert_eq!(hosts.read("there/.aime/x").as_deref(), Some("of the host"));
}

#[tokio::test]
async fn links_lead_no_check_out_elsewhere() {
    let hosts = hosts().await;
    hosts.write("here/dir/a", "ours");
    hosts.write("outside/a", "theirs");
    let commit = hosts.here.record(None, &[]).await.unwrap();
    hosts.hand(&commit, None, "run").await;
    fs::remove_dir_all(hosts.at("there/dir")).unwrap();
    symlink(hosts.at("outside"), hosts.at("there/dir")).unwrap();
    hosts.there.check_out(&commit, "another").await.unwrap();
    assert_eq!((hosts.read("outside/a").as_deref(), hosts.read("there/dir/a").as_deref()), (Some("theirs"), Some("ours")));
    assert!(!fs::symlink_metadata(hosts.at("there/dir")).unwrap().is_symlink());
}

#[tokio::test]
async fn changes_are_joined_and_what_cannot_be_is_named() {
    let hosts = hosts().await;
    hosts.write("here/a", "1\n");
    hosts.write("here/b", "1\n");
    let base = hosts.here.record(None, &[]).await.unwrap();
    hosts.hand(&base, None, "run").await;
    hosts.write("here/a", "here\n");
    let ours = hosts.here.record(Some(&base), &[]).await.unwrap();
    hosts.write("there/b", "there\n");
    let compatible = hosts.there.record(Some(&base), &[]).await.unwrap();
    hosts.write("there/a", "there\n");
    let across = hosts.there.record(Some(&compatible), &[]).await.unwrap();
    hosts.here.import(&hosts.there.bundle(&across, Some(&base)).await.unwrap(), &across).await.unwrap();
    let MergeResult::Clean(both) = hosts.here.merge(&ours, &compatible).await.unwrap() else { panic!("they changed different files") };
    let MergeResult::Conflict(conflicts) = hosts.here.merge(&ours, &across).await.unwrap() else { panic!("both changed it") };
    assert_eq!(conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), ["a"]);
    hosts.here.update(&ours, &both).await.unwrap();
    assert_eq!((hosts.read("here/a").as_deref(), hosts.read("here/b").as_deref()), (Some("here\n"), Some("there\n")));
}

#[tokio::test]
async fn an_update_overwrites_nothing_unknown() {
    let hosts = hosts().await;
    hosts.write("here/a", "1\n");
    let first = hosts.here.record(None, &[]).await.unwrap();
    hosts.write("here/new", "of the run\n");
    let second = hosts.here.record(Some(&first), &[]).await.unwrap();
    hosts.here.check_out(&first, "x").await.unwrap();
    hosts.write("here/new", "of a person\n");
    assert!(matches!(hosts.here.update(&first, &second).await, Err(WorkTreeError::InTheWay { paths }) if paths == ["new"]));
    assert_eq!(hosts.read("here/new").as_deref(), Some("of a person\n"));
}

// Requirement: 18.7
#[tokio::test]
async fn an_update_overwrites_nothing_that_is_ignored() {
    let hosts = hosts().await;
    hosts.write("here/.gitignore", "*.cfg\nout\nold\n");
    hosts.write("here/known", "1\n");
    hosts.write("here/kept/a", "1\n");
    let first = hosts.here.record(None, &[]).await.unwrap();
    hosts.hand(&first, None, "run").await;
    // The run no longer ignores anything, and creates such files itself; known files become other types.
    fs::remove_file(hosts.at("there/known")).unwrap();
    fs::remove_dir_all(hosts.at("there/kept")).unwrap();
    for (path, text) in
        [(".gitignore", ""), ("local.cfg", "r"), ("out/page", "r"), ("deep/x.cfg/y", "r"), ("old", "r"), ("known/a", "r"), ("kept", "r")]
    {
        hosts.write(&format!("there/{path}"), text);
    }
    let second = hosts.there.record(Some(&first), &[]).await.unwrap();
    hosts.here.import(&hosts.there.bundle(&second, Some(&first)).await.unwrap(), &second).await.unwrap();
    for (path, there) in [("local.cfg", "local.cfg"), ("out", "out"), ("deep/x.cfg", "deep/x.cfg"), ("old/b", "old/b")] {
        hosts.write(&format!("here/{path}"), "a person's");
        let refused = hosts.here.update(&first, &second).await;
        assert!(matches!(&refused, Err(WorkTreeError::InTheWay { paths }) if paths == &[there]), "{path}: {refused:?}");
        assert_eq!(hosts.read(&format!("here/{path}")).as_deref(), Some("a person's"), "{path}");
        assert_eq!(hosts.read("here/known").as_deref(), Some("1\n"), "nothing has changed");
        fs::remove_file(hosts.at(&format!("here/{path}"))).unwrap();
    }
    // An empty folder is not in the way.
    hosts.here.update(&first, &second).await.unwrap();
    assert_eq!((hosts.read("here/known/a").as_deref(), hosts.read("here/kept").as_deref()), (Some("r"), Some("r")));
}

// Requirement: 18.7
#[tokio::test]
async fn no_state_of_another_host_touches_what_aime_keeps() {
    let hosts = hosts().await;
    hosts.write("here/a", "1\n");
    hosts.write("here/.aime/aime.db", "a journal");
    let first = hosts.here.record(None, &[]).await.unwrap();
    hosts.hand(&first, None, "run").await;
    // A tool replaces it by a link.
    drop(fs::remove_dir_all(hosts.at("there/.aime")));
    symlink(hosts.root.path(), hosts.at("there/.aime")).unwrap();
    hosts.write("there/a", "2\n");
    let second = hosts.there.record(Some(&first), &[".aime/runs/run".into()]).await.unwrap();
    hosts.here.import(&hosts.there.bundle(&second, Some(&first)).await.unwrap(), &second).await.unwrap();
    hosts.here.update(&first, &second).await.unwrap();
    assert_eq!((hosts.read("here/a").as_deref(), hosts.read("here/.aime/aime.db").as_deref()), (Some("2\n"), Some("a journal")));
    // A commit that was made in another way is rejected.
    for own in [".aime", ".aime/aime.db", ".aime/runs"] {
        drop(fs::remove_file(hosts.at("there/.aime")));
        drop(fs::remove_dir_all(hosts.at("there/.aime")));
        hosts.write(&format!("there/{own}"), "forged");
        hosts.there.git.run_ok(&["add", "--force", "--", own]).await.unwrap();
        let forged = hosts.there.record(Some(&second), &[]).await.unwrap();
        let bundle = hosts.there.bundle(&forged, Some(&first)).await.unwrap();
        let refused = hosts.here.import(&bundle, &forged).await;
        assert!(matches!(&refused, Err(WorkTreeError::NotTaken { path, .. }) if path == own), "{own}: {refused:?}");
        assert!(!hosts.here.has(&forged).await.unwrap());
        hosts.there.git.run_ok(&["rm", "--cached", "-r", "--quiet", "--", own]).await.unwrap();
    }
}

#[tokio::test]
async fn one_process_at_a_time_works_with_a_repository_and_frees_what_a_killed_one_has_locked() {
    let hosts = hosts().await;
    hosts.write("here/a", "1\n");
    let first = hosts.here.record(None, &[]).await.unwrap();
    let held = hosts.here.lock(false).await.unwrap();
    assert!(matches!(hosts.here.lock(false).await, Err(WorkTreeError::InUse { .. })));
    drop(held);
    hosts.write("here/a", "2\n");
    for lock in ["index.lock".to_owned(), format!("refs/aime/commits/{first}.lock")] {
        hosts.write(&format!("here.git/{lock}"), "");
        assert!(matches!(hosts.here.check_out(&first, "run").await, Err(WorkTreeError::Git { .. })) || lock != "index.lock");
        drop(hosts.here.lock(true).await.unwrap());
        assert!(!hosts.at(&format!("here.git/{lock}")).exists(), "{lock}");
    }
    hosts.write("here.git/index.lock", "");
    hosts.here.free().await.unwrap();
    hosts.here.check_out(&first, "run").await.unwrap();
    hosts.here.free().await.unwrap();
}

#[tokio::test]
async fn what_nobody_has_used_for_long_is_forgotten() {
    let hosts = hosts().await;
    let (long_ago, since) = (SystemTime::UNIX_EPOCH, SystemTime::now() - Duration::from_secs(60));
    let mut commits = Vec::new();
    for text in ["1", "2", "3"] {
        hosts.write("here/a", text);
        commits.push(hosts.here.record(None, &[]).await.unwrap());
    }
    hosts.here.remember("runs/old", &commits[0]).await.unwrap();
    let age = |name: &str| fs::File::options().append(true).open(hosts.at("here.git").join(name)).unwrap().set_modified(long_ago).unwrap();
    age("refs/aime/runs/old");
    commits.iter().for_each(|commit| age(&format!("refs/aime/commits/{commit}")));
    // One state is used again, and one is recreated.
    hosts.here.check_out(&commits[1], "run").await.unwrap();
    hosts.write("here/a", "3");
    hosts.here.record(None, &[]).await.unwrap();
    assert_eq!(hosts.here.forget(since).await.unwrap(), 2);
    let mut there = Vec::new();
    for commit in &commits {
        there.push(hosts.here.has(commit).await.unwrap());
        let object = format!("{commit}^{{commit}}");
        let whole = hosts.here.git.run(&["cat-file", "-e", &object], Vec::new()).await.unwrap().code == 0;
        assert_eq!(there.last(), Some(&whole), "what a forgotten state held is gone, and nothing else");
    }
    assert_eq!((there, hosts.here.remembered("runs/old").await.unwrap()), (vec![false, true, true], None));
    hosts.here.check_out(&commits[1], "run").await.unwrap();
    assert_eq!(hosts.here.forget(since).await.unwrap(), 0);
}

#[tokio::test]
async fn repositories_of_folders_that_are_not_worked_in_any_more_are_deleted() {
    let root = tempfile::tempdir().unwrap();
    let (long_ago, since) = (SystemTime::UNIX_EPOCH, SystemTime::now() - Duration::from_secs(60));
    for repository in ["old/worker.git", "held/worker.git", "used/client.git", "used/worker.git", "other"] {
        let lock = root.path().join("trees").join(repository).join("aime-lock");
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::File::create(&lock).unwrap().set_modified(if repository.contains("client") { SystemTime::now() } else { long_ago }).unwrap();
    }
    let held = fs::File::open(root.path().join("trees/held/worker.git/aime-lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(forget_repositories(root.path().join("trees"), since).await.unwrap(), 2);
    let left =
        ["old", "held/worker.git", "used/client.git", "used/worker.git", "other"].map(|path| root.path().join("trees").join(path).exists());
    assert_eq!(left, [false, true, true, false, true]);
    assert_eq!(forget_repositories(root.path().join("nowhere"), since).await.unwrap(), 0);
}

#[tokio::test]
async fn folders_with_anything_of_their_own_are_left_alone() {
    let hosts = hosts().await;
    hosts.write("there/precious", "mine");
    assert!(matches!(hosts.there.claim().await, Err(WorkTreeError::NotEmpty { .. })));
    fs::remove_file(hosts.at("there/precious")).unwrap();
    hosts.write("there/.aime/aime.db", "a journal");
    hosts.there.claim().await.unwrap();
    // A claimed folder may contain checked-out files.
    hosts.write("there/file", "checked out");
    hosts.there.claim().await.unwrap();
    // Another folder of the same name was not claimed.
    fs::remove_dir_all(hosts.at("there")).unwrap();
    hosts.write("there/precious", "mine");
    assert!(matches!(hosts.there.claim().await, Err(WorkTreeError::NotEmpty { .. })));
    hosts.write("there/.aime/worker", "0123456789abcdef");
    assert!(matches!(hosts.there.claim().await, Err(WorkTreeError::NotEmpty { .. })));
}

#[tokio::test]
async fn a_bundle_is_what_it_is_said_to_be() {
    let hosts = hosts().await;
    hosts.write("here/a", "1\n");
    let first = hosts.here.record(None, &[]).await.unwrap();
    hosts.write("here/a", "2\n");
    let second = hosts.here.record(Some(&first), &[]).await.unwrap();
    let (whole, rest) = (hosts.here.bundle(&first, None).await.unwrap(), hosts.here.bundle(&second, Some(&first)).await.unwrap());
    assert!(matches!(hosts.there.import(&rest, &second).await, Err(WorkTreeError::Git { .. })), "what it builds on is not there");
    assert!(matches!(hosts.there.import(&whole, &second).await, Err(WorkTreeError::Missing { .. })));
    assert!(matches!(hosts.there.import(b"no bundle", &first).await, Err(WorkTreeError::Git { .. })));
    assert!(!hosts.there.has(&second).await.unwrap());
    hosts.there.import(&whole, &first).await.unwrap();
    hosts.there.import(&rest, &second).await.unwrap();
    assert!(hosts.there.has(&second).await.unwrap());
    assert_eq!(hosts.there.remembered("runs/r").await.unwrap(), None);
    hosts.there.remember("runs/r", &second).await.unwrap();
    assert_eq!(hosts.there.remembered("runs/r").await.unwrap(), Some(second));
}

#[test]
fn only_digits_name_a_commit() {
    for text in ["", "HEAD", "--all", &"g".repeat(40), &"a".repeat(41), &"A".repeat(40)] {
        assert!(text.parse::<Commit>().is_err(), "{text:?}");
    }
    assert_eq!("a".repeat(64).parse::<Commit>().unwrap().as_str().len(), 64);
}
