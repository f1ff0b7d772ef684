//! A copy holds more than the files of its commit: ignored files, submodules, and the state of the repository.

use super::*;

#[tokio::test]
async fn extras_are_brought_along_and_never_merged() {
    let shared = Shared::new();
    shared.write(".gitignore", "ignored/\nsecret\n");
    fs::create_dir_all(shared.folder().join("ignored/inner")).unwrap();
    fs::create_dir_all(shared.folder().join("linked folder")).unwrap();
    shared.write("ignored/inner/file", "x");
    shared.write("ignored/script", "run");
    fs::set_permissions(shared.folder().join("ignored/script"), fs::Permissions::from_mode(0o755)).unwrap();
    shared.write("linked folder/file", "y");
    shared.write("secret", "z");
    symlink("/", shared.folder().join("out")).unwrap();
    let folders = shared.opened().await;
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
    let extras = Extras {
        copy: paths(&["ignored", "not there", "out/etc", "../place", "text"]),
        link: paths(&["linked folder", "out/etc", "/etc", ".git", ".aime/x"]),
    };
    let a = folders.begin("a", &extras).await.unwrap();
    let read = |path: &str| fs::read_to_string(a.path().join(path)).ok();
    assert_eq!(
        (read("ignored/inner/file"), read("linked folder/file"), read("secret")),
        (Some("x".to_owned()), Some("y".to_owned()), None)
    );
    assert_eq!(fs::metadata(a.path().join("ignored/script")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(a.reads()[..1], [shared.folder().join("linked folder")]);
    assert_eq!(a.reads().len(), 2, "{:?}", a.reads());
    fs::write(a.path().join("ignored/inner/file"), "a's").unwrap();
    edit(a.path(), "one", "1");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!((shared.read("text"), shared.read("ignored/inner/file")), (TEXT.replace("one", "1"), "x".to_owned()));
    assert!(!shared.folder().join("linked folder").is_symlink());
    drop(folders);
    let again = shared.opened().await.begin("a", &extras).await.unwrap();
    assert_eq!(again.reads(), a.reads(), "a folder that is there keeps what it may read");
    shared.opened().await.remove().await.unwrap();
    assert_eq!(shared.read("linked folder/file"), "y", "removing a private folder follows no link");
}

#[expect(clippy::disallowed_methods, reason = "the test looks with git itself")]
#[tokio::test]
async fn submodules_and_filtered_files_are_brought_along_and_merged() {
    let shared = Shared::new();
    let git = |folder: &Path, arguments: &[&str]| {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "protocol.file.allow=always"];
        let output = Command::new("git").args(settings).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let origin = |name: &str| {
        let folder = shared.root.path().join(name);
        fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "-q", "-b", "trunk"]);
        fs::write(folder.join("text"), TEXT).unwrap();
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "-qm", name]);
        folder
    };
    let (inner, outer) = (origin("inner"), origin("outer"));
    git(&outer, &["submodule", "--quiet", "add", &inner.display().to_string(), "deep"]);
    git(&outer, &["commit", "-qm", "with inner"]);
    git(&shared.folder(), &["init", "-q", "-b", "trunk"]);
    git(&shared.folder(), &["submodule", "--quiet", "add", &outer.display().to_string(), "lib/sub"]);
    git(&shared.folder(), &["submodule", "--quiet", "update", "--init", "--recursive"]);
    // A file that a filter has smudged, such as that of LFS, is in no object of the folder's repository.
    git(&shared.folder(), &["config", "filter.lfs.clean", "echo pointer"]);
    shared.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    shared.write("large.bin", "all of it");
    git(&shared.folder(), &["add", "."]);
    git(&shared.folder(), &["commit", "-qm", "first"]);
    // A repository that is no submodule stays out.
    fs::create_dir(shared.folder().join("other")).unwrap();
    git(&shared.folder().join("other"), &["init", "-q"]);
    shared.write("other/file", "x");

    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    assert_eq!(fs::read_to_string(a.path().join("large.bin")).unwrap(), "all of it");
    assert!(!a.path().join("other").exists());
    assert_eq!(git(a.path(), &["status", "--short"]), git(&shared.folder(), &["status", "--short", "-uno"]), "the filter is there, too");
    for (path, subject) in [("lib/sub", "with inner\nouter\n"), ("lib/sub/deep", "inner\n")] {
        assert_eq!(git(&a.path().join(path), &["status", "--short"]), "", "{path}");
        assert_eq!(git(&a.path().join(path), &["log", "--format=%s"]), subject);
    }
    assert_eq!(a.reads().len(), 4, "{:?}", a.reads());
    let change = |folder: &Path, from: &str, to: &str| {
        let path = folder.join("lib/sub/deep/text");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(from, to)).unwrap();
    };
    change(a.path(), "one", "1");
    fs::write(a.path().join("large.bin"), "a's").unwrap();
    git(&a.path().join("lib/sub"), &["checkout", "-qb", "of-a"]);
    fs::write(a.path().join("lib/sub/new"), "new").unwrap();
    git(&a.path().join("lib/sub"), &["add", "new"]);
    git(&a.path().join("lib/sub"), &["commit", "-qm", "of a"]);
    change(b.path(), "seven", "7");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
    assert_eq!(shared.read("lib/sub/deep/text"), TEXT.replace("one", "1").replace("seven", "7"));
    assert_eq!((shared.read("lib/sub/new"), shared.read("large.bin")), ("new".to_owned(), "a's".to_owned()));
    assert_eq!(git(&shared.folder().join("lib/sub"), &["status", "--short"]), " m deep\n?? new\n", "commits stay in the private folder");
    assert_eq!(git(&shared.folder().join("lib/sub/deep"), &["status", "--short"]), " M text\n");
    assert_eq!(shared.read("other/file"), "x");
}

#[tokio::test]
async fn a_copy_is_as_sparse_as_the_folder() {
    let shared = Shared::new();
    for folder in ["inside", "outside"] {
        fs::create_dir(shared.folder().join(folder)).unwrap();
        shared.write(&format!("{folder}/file"), folder);
    }
    for line in ["init -q", "add .", "commit -qm first", "sparse-checkout set inside"] {
        git(&shared.folder(), line);
    }
    assert!(!shared.folder().join("outside").exists());
    let a = shared.opened().await.begin("a", &Extras::default()).await.unwrap();
    for line in ["status --short", "sparse-checkout list", "ls-files -t"] {
        assert_eq!(git(a.path(), line), git(&shared.folder(), line), "{line}");
    }
    assert_eq!(git(a.path(), "status --short"), "");
    assert!(!a.path().join("outside").exists());
}

/// A private folder shows the branches, remotes, stashes and logs of the shared one.
#[expect(clippy::disallowed_methods, reason = "the test looks with git itself")]
#[tokio::test]
async fn a_copy_shows_the_repository_of_the_folder() {
    let shared = Shared::new();
    let git = |folder: &Path, line: &str| {
        let output = Command::new("git").args(line.split(' ')).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let folder = shared.folder();
    for line in ["init -q -b trunk", "config user.name o\"ne", "config user.email a@b.example", "add .", "commit -qm first", "tag v1"] {
        git(&folder, line);
    }
    let elsewhere = shared.root.path().join("elsewhere");
    git(&folder, &format!("clone -q --bare . {}", elsewhere.display()));
    git(&folder, &format!("remote add upstream {}", elsewhere.display()));
    for line in ["fetch -q upstream", "branch -q --set-upstream-to=upstream/trunk", "branch side/one", "config alias.last log"] {
        git(&folder, line);
    }
    shared.write("text", "stashed");
    git(&folder, "stash -q");
    shared.write("text", "changed");
    git(&folder, "commit -qam second");
    shared.write("new", "untracked");
    shared.write("staged", "staged");
    git(&folder, "add staged");
    shared.write("staged", "staged, and changed");
    shared.write("text", "changed again");
    let folders = shared.opened().await;
    let a = folders.begin("a", &Extras::default()).await.unwrap();
    for line in [
        "status --branch",
        "diff --cached",
        "diff",
        "branch -avv",
        "remote -v",
        "log --all --format=%h%d%s",
        "stash list",
        "stash show -p",
        "reflog",
        "tag",
        "config --get-regexp (user|alias|branch|remote)\\..*",
    ] {
        assert_eq!(git(a.path(), line), git(&folder, line), "{line}");
    }
    assert_eq!(git(a.path(), "count-objects").split(' ').next(), Some("0"), "no object is copied");
    git(a.path(), "stash drop -q");
    git(a.path(), "branch -D side/one");
    assert_eq!(git(&folder, "stash list").lines().count(), 1, "what is done in a copy does not reach the original");
    git(&folder, "rev-parse --verify -q side/one");
}
