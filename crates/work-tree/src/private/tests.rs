mod cuts;
mod extras;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use aime_progress_management::ConflictKind;
use proptest::{prelude::*, test_runner::TestRunner};

use super::{Extras, FolderMerge, PrivateFolder, PrivateFolders, UnmergedFile};
use crate::{FileConflict, WorkTreeError};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// A shared folder, and the place of its private folders.
struct Shared {
    root: tempfile::TempDir,
}

#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
fn path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

impl Shared {
    fn new() -> Self {
        let shared = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(shared.folder()).unwrap();
        shared.write("text", TEXT);
        shared
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("work")
    }

    async fn open(&self, path: OsString) -> Result<PrivateFolders, WorkTreeError> {
        PrivateFolders::open(&self.folder(), &self.root.path().join("place"), path).await
    }

    async fn opened(&self) -> PrivateFolders {
        self.open(path()).await.unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder().join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder().join(path)).unwrap_or_default()
    }
}

fn edit(folder: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join("text")).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(folder.join("text"), text.replacen(from, to, 1)).unwrap();
}

/// Resolves every conflict of a folder by keeping both versions.
fn keep_both(private: &PrivateFolder, conflicts: &[FileConflict]) {
    for conflict in conflicts {
        let path = private.path().join(&conflict.path);
        let text = fs::read_to_string(&path).unwrap();
        let marks = ["<<<<<<<", "=======", ">>>>>>>"];
        let kept: Vec<&str> = text.lines().filter(|line| !marks.iter().any(|mark| line.starts_with(mark))).collect();
        fs::write(&path, kept.join("\n") + "\n").unwrap();
    }
}

#[tokio::test]
async fn edits_of_two_are_both_kept() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    edit(a.path(), "one", "1");
    edit(b.path(), "seven", "7");
    fs::write(b.path().join("new"), "b's\n").unwrap();
    shared.write("by hand", "a person's\n");
    assert_eq!(shared.read("text"), TEXT, "nobody sees what is not joined");
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Unchanged);
    assert_eq!(shared.read("text"), TEXT.replace("one", "1").replace("seven", "7"));
    assert_eq!((shared.read("new"), shared.read("by hand")), ("b's\n".to_owned(), "a person's\n".to_owned()));
    assert_eq!(fs::read_to_string(a.path().join("new")).unwrap(), "b's\n", "a folder that is joined goes on from all that is there");
    assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new());
    assert!(!shared.root.path().join("place").exists());
}

#[tokio::test]
async fn texts_that_name_a_private_folder_name_the_shared_one_once_merged() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let a = folders.begin("a", &Extras::default()).await.unwrap();
    let own = a.path().to_str().unwrap();
    let script = a.path().join("run.sh");
    fs::write(&script, format!("cd {own}\n./{own}2\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = [own.as_bytes(), &[0xff]].concat();
    fs::write(a.path().join("bytes"), &binary).unwrap();
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    let folder = shared.folder().canonicalize().unwrap();
    assert_eq!(shared.read("run.sh"), format!("cd {}\n./{own}2\n", folder.display()));
    assert_eq!(fs::metadata(shared.folder().join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(shared.folder().join("bytes")).unwrap(), binary, "only texts are changed");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Unchanged);
}

#[tokio::test]
async fn folders_whose_files_move_to_several_places_are_merged() {
    let shared = Shared::new();
    fs::create_dir(shared.folder().join("d")).unwrap();
    for name in ["1", "2", "3", "4"] {
        shared.write(&format!("d/{name}"), &format!("{TEXT}{name}\n"));
    }
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    for (name, place) in [("1", "x"), ("2", "x"), ("3", "y"), ("4", "y")] {
        fs::create_dir_all(a.path().join(place)).unwrap();
        fs::rename(a.path().join("d").join(name), a.path().join(place).join(name)).unwrap();
    }
    fs::write(b.path().join("d/new"), "b's\n").unwrap();
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
    assert_eq!(
        (shared.read("d/new"), shared.read("x/1"), shared.read("y/3")),
        ("b's\n".to_owned(), format!("{TEXT}1\n"), format!("{TEXT}3\n"))
    );
}

#[tokio::test]
async fn a_merged_folder_can_be_removed_alone() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    edit(a.path(), "one", "a's");
    edit(b.path(), "one", "b's");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    folders.end(&a).await.unwrap();
    assert!(!a.path().exists());
    assert_eq!(shared.read("text"), TEXT.replace("one", "a's"));
    assert!(matches!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Conflict(_)));
    folders.end(&b).await.unwrap();
    assert!(b.path().exists(), "its changes are nowhere else");
    let again = folders.begin("a", &Extras::default()).await.unwrap();
    assert_eq!(fs::read_to_string(again.path().join("text")).unwrap(), TEXT.replace("one", "a's"), "a new one has what is merged");
}

#[tokio::test]
async fn caches_of_two_are_not_merged() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    for (private, name) in [(&a, "a"), (&b, "b")] {
        for cache in ["__pycache__", "inside/.pytest_cache", "target"] {
            fs::create_dir_all(private.path().join(cache)).unwrap();
            fs::write(private.path().join(cache).join("made"), name).unwrap();
        }
        fs::write(private.path().join("target/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55").unwrap();
        fs::write(private.path().join(name), name).unwrap();
    }
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
    assert_eq!((shared.read("a"), shared.read("b")), ("a".to_owned(), "b".to_owned()));
    let is_there = |path: &str| shared.folder().join(path).exists();
    assert_eq!([is_there("__pycache__"), is_there("inside"), is_there("target")], [false; 3]);
    assert_eq!(fs::read_to_string(a.path().join("target/made")).unwrap(), "a", "its own caches stay");
}

/// Runs `git` in a folder, with an author.
#[expect(clippy::disallowed_methods, reason = "the test prepares repositories with git itself")]
fn git(folder: &Path, line: &str) -> String {
    let author = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
    let output = Command::new("git").args(author).args(line.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn tracked_files_are_merged_though_ignored() {
    let shared = Shared::new();
    shared.write(".gitignore", "*.jar\nlib/\nbuild/\n");
    for folder in ["gradle", "lib", "linked"] {
        fs::create_dir(shared.folder().join(folder)).unwrap();
    }
    for path in ["gradle/wrapper.jar", "lib/tracked", "linked/kept.jar"] {
        shared.write(path, "first");
    }
    symlink("tracked", shared.folder().join("lib/link")).unwrap();
    for line in ["init -q", "add --force .", "commit -qm first"] {
        git(&shared.folder(), line);
    }
    shared.write("lib/untracked", "only here");
    let folders = shared.opened().await;
    let extras = Extras { copy: Vec::new(), link: vec!["linked".into()] };
    let (a, b) = (folders.begin("a", &extras).await.unwrap(), folders.begin("b", &extras).await.unwrap());
    assert_eq!(fs::read_to_string(a.path().join("gradle/wrapper.jar")).unwrap(), "first");
    assert_eq!(fs::read_link(a.path().join("lib/link")).unwrap(), Path::new("tracked"));
    assert!(a.path().join("linked").is_symlink() && !a.path().join("lib/untracked").exists());
    fs::write(a.path().join("lib/tracked"), "a's").unwrap();
    fs::create_dir(a.path().join("build")).unwrap();
    fs::write(a.path().join("build/report.html"), "a's").unwrap();
    fs::remove_file(b.path().join("gradle/wrapper.jar")).unwrap();
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Clean);
    assert_eq!((shared.read("lib/tracked"), shared.folder().join("gradle/wrapper.jar").exists()), ("a's".to_owned(), false));
    assert!(!shared.folder().join("build").exists());
    let report = BTreeSet::from([PathBuf::from("build/report.html")]);
    assert_eq!(folders.ignored(&a).await.unwrap(), report);
    assert_eq!(folders.ignored(&b).await.unwrap(), BTreeSet::new());
    assert_eq!(folders.all_ignored().await.unwrap(), report);
}

#[tokio::test]
async fn a_merge_keeps_permissions() {
    let shared = Shared::new();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    shared.write("script", TEXT);
    for path in ["text", "script"] {
        fs::set_permissions(shared.folder().join(path), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let folders = shared.opened().await;
    let a = folders.begin("a", &Extras::default()).await.unwrap();
    assert_eq!(mode(a.path().join("text")), 0o600, "that of the file that is copied");
    edit(a.path(), "one", "1");
    fs::set_permissions(a.path().join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(shared.read("text"), TEXT.replace("one", "1"));
    assert_eq!((mode(shared.folder().join("text")), mode(shared.folder().join("script"))), (0o600, 0o700));
}

#[tokio::test]
async fn markers_have_a_known_length() {
    let shared = Shared::new();
    shared.write(".gitattributes", "text conflict-marker-size=32\n");
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    edit(a.path(), "one", "a's");
    edit(b.path(), "one", "b's");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    let found = conflicts(folders.merge(&b, "b").await.unwrap());
    assert_eq!(found[0].kind, ConflictKind::Text);
    assert_eq!(conflicts(folders.merge(&b, "b").await.unwrap()), found, "the markers are still there");
}

#[tokio::test]
async fn a_conflict_stands_in_the_private_folder_until_it_is_resolved() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    edit(a.path(), "one", "a's");
    edit(b.path(), "one", "b's");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    let conflicts = conflicts(folders.merge(&b, "b").await.unwrap());
    let [conflict] = conflicts.as_slice() else { panic!("{conflicts:?}") };
    assert_eq!((conflict.path.as_str(), conflict.kind), ("text", ConflictKind::Text));
    let hunks = "@@ line 1 @@\n<<<<<<< in the working folder\na's\n=======\nb's\n>>>>>>> by this task\ntwo\nthree\nfour\n";
    assert_eq!(conflict.hunks, hunks);
    let own = conflict.own.clone().unwrap();
    assert_eq!(fs::read_to_string(&own).unwrap(), TEXT.replace("one", "b's"), "the version without markers is kept");
    assert!(own.starts_with(&b.reads()[0]), "commands may read it");
    assert_eq!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Conflict(conflicts.clone()), "the marks are still there");
    assert_eq!(shared.read("text"), TEXT.replace("one", "a's"), "the shared folder is as it was");
    edit(a.path(), "seven", "7");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    keep_both(&b, &conflicts);
    let resolved = FolderMerge::Resolved(vec![FileConflict { hunks: String::new(), own: None, ..conflict.clone() }]);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), resolved);
    assert_eq!(folders.merge(&b, "b").await.unwrap(), resolved, "a caller that died learns it again");
    assert_eq!(shared.read("text"), TEXT.replace("one", "a's\nb's").replace("seven", "7"));
    assert_eq!(folders.remove().await.unwrap(), Vec::<PathBuf>::new());
}

/// Returns the conflicts of a merge, sorted by path.
fn conflicts(joined: FolderMerge) -> Vec<FileConflict> {
    let FolderMerge::Conflict(mut conflicts) = joined else { panic!("{joined:?}") };
    conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    conflicts
}

/// Changes of two actors to paths that cannot be merged line by line: `a` merges first.
async fn whole_conflicts(shared: &Shared) -> (PrivateFolders, PrivateFolder, Vec<FileConflict>) {
    fs::write(shared.folder().join("image"), [0, 1, 2]).unwrap();
    for name in ["cut", "link", "thing"] {
        shared.write(name, TEXT);
    }
    symlink("text", shared.folder().join("pointer")).unwrap();
    let folders = shared.opened().await;
    let (a, b) = (folders.begin("a", &Extras::default()).await.unwrap(), folders.begin("b", &Extras::default()).await.unwrap());
    let pointed = |folder: &Path, target: &str| {
        fs::remove_file(folder.join("pointer")).unwrap();
        symlink(target, folder.join("pointer")).unwrap();
    };
    fs::write(a.path().join("image"), [0, 1, 3]).unwrap();
    fs::write(b.path().join("image"), [0, 1, 4]).unwrap();
    fs::remove_file(a.path().join("text")).unwrap();
    edit(b.path(), "one", "b's");
    fs::write(a.path().join("cut"), "a's\n").unwrap();
    fs::remove_file(b.path().join("cut")).unwrap();
    pointed(a.path(), "cut");
    pointed(b.path(), "image");
    fs::write(a.path().join("place"), "a's file\n").unwrap();
    fs::create_dir(b.path().join("place")).unwrap();
    fs::write(b.path().join("place/inner"), "b's\n").unwrap();
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    let found = conflicts(folders.merge(&b, "b").await.unwrap());
    (folders, b, found)
}

#[tokio::test]
async fn conflicts_of_whole_files_are_kept() {
    use ConflictKind::{Binary, DeleteEdit, Place, Symlink};
    let shared = Shared::new();
    let (folders, b, found) = whole_conflicts(&shared).await;
    let kinds: Vec<_> = found.iter().map(|conflict| (conflict.path.split('~').next().unwrap(), conflict.kind)).collect();
    assert_eq!(kinds, [("cut", DeleteEdit), ("image", Binary), ("place", Place), ("pointer", Symlink), ("text", DeleteEdit)]);
    let own = |at: usize| found[at].own.clone();
    assert_eq!(own(0), None, "the folder deleted it");
    assert_eq!(fs::read(own(1).unwrap()).unwrap(), [0, 1, 4]);
    assert_eq!(fs::read_link(own(3).unwrap()).unwrap(), Path::new("image"));
    assert_eq!(fs::read_to_string(own(4).unwrap()).unwrap(), TEXT.replace("one", "b's"));
    assert_eq!(fs::read(shared.folder().join("image")).unwrap(), [0, 1, 3]);
    assert_eq!(fs::read_to_string(b.path().join("text")).unwrap(), TEXT.replace("one", "b's"), "the changed version is there");
    assert_eq!(fs::read_to_string(b.path().join("place/inner")).unwrap(), "b's\n");
    let folder = b.path().to_owned();
    assert_eq!(folders.remove().await.unwrap(), [folder.as_path()], "an unresolved conflict stays");
    assert!(!folder.parent().unwrap().with_file_name("a").exists());
}

#[tokio::test]
async fn a_version_that_lost_is_kept_after_the_conflict() {
    for takes_own in [false, true] {
        let shared = Shared::new();
        let (folders, b, found) = whole_conflicts(&shared).await;
        if takes_own {
            for conflict in found.iter().filter_map(|conflict| Some((&conflict.path, conflict.own.as_ref()?))) {
                let path = b.path().join(conflict.0);
                fs::remove_file(&path).unwrap();
                match fs::read_link(conflict.1) {
                    Ok(target) => symlink(target, path).unwrap(),
                    Err(_) => drop(fs::copy(conflict.1, path).unwrap()),
                }
            }
        }
        let FolderMerge::Resolved(resolved) = folders.merge(&b, "b").await.unwrap() else { panic!() };
        assert_eq!(resolved.len(), found.len());
        let kept: Vec<&str> = resolved.iter().filter(|conflict| conflict.own.is_some()).map(|conflict| conflict.path.as_str()).collect();
        assert_eq!(kept, if takes_own { [].as_slice() } else { &["image", "pointer"] });
        assert_eq!(fs::read(shared.folder().join("image")).unwrap(), if takes_own { [0, 1, 4] } else { [0, 1, 3] });
        let folder = b.path().to_owned();
        let left = folders.remove().await.unwrap();
        assert_eq!(left, if takes_own { Vec::new() } else { vec![folder] });
        assert!(takes_own || resolved.iter().filter_map(|conflict| conflict.own.as_ref()).all(|own| own.symlink_metadata().is_ok()));
    }
}

#[tokio::test]
async fn versions_of_two_conflicts_are_both_kept() {
    let shared = Shared::new();
    let (folders, b, found) = whole_conflicts(&shared).await;
    let own = found[1].own.clone().unwrap();
    fs::write(b.path().join("image"), [0, 1, 5]).unwrap();
    fs::write(shared.folder().join("image"), [0, 1, 6]).unwrap();
    let again = conflicts(folders.merge(&b, "b").await.unwrap());
    assert_eq!(again.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), ["image"]);
    assert_eq!(fs::read(&own).unwrap(), [0, 1, 5]);
    assert_eq!(fs::read(own.with_extension("1")).unwrap(), [0, 1, 4]);
    assert!(matches!(folders.merge(&b, "b").await.unwrap(), FolderMerge::Resolved(_)));
    assert_eq!(folders.remove().await.unwrap(), [b.path()]);
}

#[expect(clippy::disallowed_methods, reason = "the test looks with git itself")]
#[tokio::test]
async fn a_repository_of_its_own_reaches_nobody_else() {
    let shared = Shared::new();
    shared.write(".gitignore", "ignored\n");
    shared.write("ignored", "x");
    let git = |folder: &Path, arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&shared.folder(), &["init", "-q", "-b", "trunk"]);
    git(&shared.folder(), &["add", "."]);
    git(&shared.folder(), &["commit", "-qm", "first"]);
    shared.write("text", &TEXT.replace("seven", "7"));
    let folders = shared.opened().await;
    let a = folders.begin("a", &Extras::default()).await.unwrap();
    assert_eq!(git(a.path(), &["status", "--short"]), " M text\n", "it stands where the shared folder stands");
    assert!(a.reads()[0].starts_with(fs::canonicalize(shared.folder()).unwrap()));
    edit(a.path(), "one", "1");
    git(a.path(), &["checkout", "-qb", "other"]);
    git(a.path(), &["commit", "-qam", "second"]);
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(git(&shared.folder(), &["branch", "--show-current"]), "trunk\n");
    assert_eq!(git(&shared.folder(), &["log", "--format=%s"]), "first\n");
    assert_eq!((shared.read("text"), shared.read("ignored")), (TEXT.replace("one", "1").replace("seven", "7"), "x".to_owned()));
    assert!(!a.path().join("ignored").exists());
}

/// Returns a path with a `git` that dies at this call, before or after its work.
fn mortal(root: &Path, dies_at: u32, after: bool) -> OsString {
    let bin = root.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let real = std::env::split_paths(&path()).map(|folder| folder.join("git")).find(|git| git.exists()).unwrap();
    let (count, real) = (root.join("count").display().to_string(), real.display().to_string());
    let work = if after { format!("{real} \"$@\"; exit 137") } else { "exit 137".to_owned() };
    let script = format!(
        "#!/bin/sh\nn=$(cat '{count}' 2>/dev/null || echo 0); n=$((n + 1)); echo $n > '{count}'\nif [ $n -ge {dies_at} ]; then {work}; fi\nexec {real} \"$@\"\n"
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    drop(fs::remove_file(root.join("count")));
    let mut all = OsString::from(bin);
    all.push(":");
    all.push(path());
    all
}

/// Creates two private folders, works in them, and merges them; continues after an interruption.
async fn work(shared: &Shared, path: OsString) -> Result<(), WorkTreeError> {
    let folders = shared.open(path).await?;
    for (name, from, to) in [("a", "one", "1"), ("b", "seven", "7")] {
        let private = folders.begin(name, &Extras::default()).await?;
        let text = fs::read_to_string(private.path().join("text")).unwrap();
        if text.contains(from) {
            fs::write(private.path().join("text"), text.replace(from, to)).unwrap();
        }
    }
    for name in ["a", "b"] {
        let private = folders.begin(name, &Extras::default()).await?;
        assert!(!matches!(folders.merge(&private, name).await?, FolderMerge::Conflict(_)));
    }
    Ok(())
}

#[tokio::test]
async fn a_cut_anywhere_leaves_the_folder_before_or_after() {
    let (one, both) = (TEXT.replace("one", "1"), TEXT.replace("one", "1").replace("seven", "7"));
    let mut cuts = 0;
    for cut in (1..).step_by(3) {
        // Dies before the work of a call, or after it.
        let after = cut % 2 == 0;
        let shared = Shared::new();
        let finished = work(&shared, mortal(shared.root.path(), cut, after)).await.is_ok();
        let text = shared.read("text");
        assert!([TEXT, &one, &both].contains(&text.as_str()), "cut {cut}: {text}");
        work(&shared, path()).await.unwrap();
        assert_eq!(shared.read("text"), both, "cut {cut}");
        if finished {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 10, "{cuts}");
}

/// An edit: a line of the text, the author, true if the author merges then, and true if it resolves the conflicts of that.
type Edit = (usize, usize, bool, bool);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    proptest::collection::vec((0..7_usize, 0..8_usize, proptest::bool::weighted(0.2), proptest::bool::weighted(0.7)), 200)
}

/// Eight actors at work: each edit is in the shared folder at the end, or in a version that the report of a conflict names.
#[test]
fn every_edit_of_eight_is_joined_or_reported() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases: 1, failure_persistence: None, ..ProptestConfig::default() });
    let run = |edits: Vec<Edit>| {
        runtime.block_on(async {
            let shared = Shared::new();
            let folders = shared.opened().await;
            let mut all = Vec::new();
            for name in 0..8 {
                all.push(folders.begin(&format!("actor-{name}"), &Extras::default()).await.unwrap());
            }
            let (mut resolved, mut reported) = (0, Vec::new());
            for (number, (line, actor, joins, resolves)) in edits.iter().enumerate() {
                let text = fs::read_to_string(all[*actor].path().join("text")).unwrap();
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                let line = line * lines.len() / 7;
                lines[line].push_str(&format!(" edit-{number}."));
                fs::write(all[*actor].path().join("text"), lines.join("\n") + "\n").unwrap();
                if *joins && *resolves {
                    resolved += settle(&folders, &all[*actor]).await;
                } else if *joins && let FolderMerge::Conflict(found) = folders.merge(&all[*actor], "an actor").await.unwrap() {
                    reported.extend(found.into_iter().map(|conflict| fs::read_to_string(conflict.own.unwrap()).unwrap()));
                    // The task failed, and another actor does it.
                    all[*actor] = folders.begin(&format!("actor-{actor}-{number}"), &Extras::default()).await.unwrap();
                }
            }
            for private in &all {
                resolved += settle(&folders, private).await;
            }
            let text = shared.read("text");
            let (mut joined, mut kept) = (0, 0);
            for edit in (0..edits.len()).map(|number| format!(" edit-{number}.")) {
                let is_reported = reported.iter().any(|version| version.contains(&edit));
                prop_assert!(text.contains(&edit) || is_reported, "{} is lost:\n{}", edit, text);
                (joined, kept) = (joined + u32::from(text.contains(&edit)), kept + u32::from(!text.contains(&edit)));
            }
            prop_assert!(resolved > 0 && joined > 0 && kept > 0, "{} resolved, {} joined, {} kept", resolved, joined, kept);
            let left = folders.remove().await.unwrap();
            prop_assert_eq!(left.len(), reported.len(), "each conflict that stays keeps its folder");
            Ok(())
        })
    };
    runner.run(&edits(), run).unwrap();
}

/// Merges, and resolves conflicts until the merge succeeds; returns the number of conflicts.
async fn settle(folders: &PrivateFolders, private: &PrivateFolder) -> usize {
    let mut conflicts = 0;
    while let FolderMerge::Conflict(found) = folders.merge(private, "an actor").await.unwrap() {
        keep_both(private, &found);
        conflicts += 1;
    }
    conflicts
}

#[tokio::test]
async fn a_copy_fits_by_its_files_and_their_size_without_ignored_ones() {
    let shared = Shared::new();
    shared.write(".gitignore", "big\n");
    shared.write("big", &"x".repeat(10_000));
    let folders = shared.opened().await;
    let bytes = (TEXT.len() + "big\n".len()) as u64;
    for (files, most, fits) in [(2, bytes, true), (1, bytes, false), (2, bytes - 1, false)] {
        assert_eq!(folders.fits(files, most).await.unwrap(), fits, "{files} files, {most} bytes");
    }
}

#[tokio::test]
async fn effects_of_a_check_are_put_back() {
    let shared = Shared::new();
    let folders = shared.opened().await;
    let a = folders.begin("a", &Extras::default()).await.unwrap();
    edit(a.path(), "one", "1");
    fs::write(a.path().join("made"), "by the work").unwrap();
    let worked = fs::read_to_string(a.path().join("text")).unwrap();
    let ravage = || {
        fs::write(a.path().join("text"), "gone").unwrap();
        fs::remove_file(a.path().join("made")).unwrap();
        fs::write(a.path().join("new"), "by the check").unwrap();
    };
    let is_as_worked = || {
        let text = fs::read_to_string(a.path().join("text")).unwrap();
        assert_eq!((text, fs::read_to_string(a.path().join("made")).unwrap()), (worked.clone(), "by the work".to_owned()));
        assert!(!a.path().join("new").exists());
    };
    let state = a.begin_check().await.unwrap();
    ravage();
    let changed = a.discard_effects(&state).await.unwrap();
    assert_eq!(changed, ["made", "new", "text"].map(PathBuf::from));
    is_as_worked();
    // A check that a crash cut off.
    a.begin_check().await.unwrap();
    ravage();
    folders.begin("a", &Extras::default()).await.unwrap();
    is_as_worked();
    let unmerged = a.unmerged().await.unwrap();
    let made = UnmergedFile {
        path: PathBuf::from("made"),
        content: Some((Vec::new(), b"by the work".to_vec())),
        was_there: false,
        is_there: true,
    };
    assert_eq!((unmerged.len(), &unmerged[0]), (2, &made));
    let before = a.state().await.unwrap();
    shared.write("by hand", "a person's\n");
    assert_eq!(folders.merge(&a, "a").await.unwrap(), FolderMerge::Clean);
    assert_eq!(folders.differs_from(&before).await.unwrap(), [PathBuf::from("by hand")]);
    assert_eq!(a.unmerged().await.unwrap(), Vec::<UnmergedFile>::new());
}
