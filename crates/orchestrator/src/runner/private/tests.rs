//! Private folders that cannot be made, and notes on them.

use super::*;

/// Returns the private folders of a folder `work` with one file.
#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
fn private_workspaces(root: &Path) -> PrivateWorkspaces {
    let (folder, place) = (root.join("work"), root.join("private"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("text"), "all of it").unwrap();
    PrivateWorkspaces {
        folder,
        place,
        path: std::env::var_os("PATH").unwrap(),
        folders: Mutex::default(),
        is_slow: AtomicBool::new(false),
        turn: Arc::default(),
        remarks: Mutex::default(),
    }
}

#[tokio::test]
async fn a_refused_copy_is_given_up_and_noted() {
    let root = tempfile::tempdir().unwrap();
    let private = private_workspaces(root.path());
    std::fs::write(private.folder.join(".git"), "gitdir: /nowhere").unwrap();
    assert!(private.can_be_copied().await);
    let settings = WorktreeSettings::default();
    for name in ["a-1", "b-1"] {
        assert!(private.begin_within(MAX_COPY, name, &settings).await.unwrap().is_none(), "the task takes turns");
    }
    let notes = private.remove().await;
    assert!(matches!(&notes[..], [note] if note.to_string().contains("/nowhere")), "{notes:?}");
    assert!(!private.place.exists());
}

#[tokio::test]
async fn a_git_that_cannot_merge_is_noted_once() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = tempfile::tempdir().unwrap();
    let git = root.path().join("git");
    std::fs::write(&git, "#!/bin/sh\necho git version 2.37.9\n").unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let reason = "git 2.37.9 is installed, and git 2.38 or later is needed";
    let private = PrivateWorkspaces { path: root.path().into(), ..private_workspaces(root.path()) };
    for _ in 0..2 {
        assert!(!private.can_be_copied().await, "the task takes turns");
    }
    let refused = private.begin("a-1", &WorktreeSettings::default()).await.unwrap_err();
    assert_eq!(refused.to_string(), reason);
    assert!(!private.place.exists());
    let notes = private.remove().await;
    assert_eq!(notes, [format!("tasks took turns in the working folder, because it cannot be copied for them: {reason}")]);
}

#[test]
fn a_note_names_some_ignored_files() {
    let ignored = |number: usize| (0..number).map(|file| PathBuf::from(file.to_string())).collect::<BTreeSet<_>>();
    let notes = |number| Remarks { ignored: ignored(number), ..Remarks::default() }.notes();
    let prefix = "ignored files in private folders were not merged";
    assert_eq!(notes(0), Vec::<String>::new());
    assert_eq!(notes(2), [format!("{prefix}: 0, 1")]);
    assert_eq!(notes(7), [format!("{prefix}: 0, 1, 2, 3, 4 and 2 more")]);
}

#[tokio::test]
async fn a_copy_that_takes_too_long_is_given_up() {
    let root = tempfile::tempdir().unwrap();
    let private = private_workspaces(root.path());
    let place = private.place.clone();
    assert!(private.can_be_copied().await);
    let settings = WorktreeSettings::default();
    assert!(private.begin_within(Duration::ZERO, "a-1", &settings).await.unwrap().is_none());
    assert!(!private.can_be_copied().await, "no other task waits as long in vain");
    // An unfinished copy does not count as one.
    assert!(!private.has("a-1"));
    let made = private.begin("a-1", &settings).await.unwrap();
    assert_eq!(std::fs::read_to_string(made.path().join("text")).unwrap(), "all of it");
    assert_eq!(private.remove().await, Vec::<String>::new());
    assert!(!place.exists());
}
