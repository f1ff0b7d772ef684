use std::{
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use tempfile::TempDir;

use super::*;

/// Returns a working folder `w` next to a file that it must never reach.
fn folder() -> (TempDir, ConfinedFolder) {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("w");
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    fs::create_dir(root.join(".aime")).unwrap();
    fs::create_dir(outer.path().join("w2")).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    fs::write(outer.path().join("w2/secret"), "secret").unwrap();
    fs::write(root.join("a.txt"), "a").unwrap();
    fs::write(root.join("sub/b.txt"), "b").unwrap();
    fs::write(root.join(".aime/aime.db"), "journal").unwrap();
    symlink("../secret", root.join("link_file")).unwrap();
    symlink("..", root.join("link_up")).unwrap();
    symlink("/", root.join("link_root")).unwrap();
    symlink("/proc/self/root", root.join("link_proc")).unwrap();
    symlink("sub", root.join("link_inside")).unwrap();
    symlink("a.txt", root.join("link_a")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink(".aime", root.join("link_reserved")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let folder = ConfinedFolder::open(&root).unwrap();
    (outer, folder)
}

/// Returns the name of an error's variant, so that tables stay readable.
fn kind(error: &FileError) -> &'static str {
    match error {
        FileError::Empty => "empty",
        FileError::NulByte { .. } => "nul",
        FileError::Outside { .. } => "outside",
        FileError::Home { .. } => "home",
        FileError::Drive { .. } => "drive",
        FileError::LinkOutside { .. } => "link",
        FileError::DanglingLink { .. } => "dangling",
        FileError::Reserved { .. } => "reserved",
        FileError::Protected { .. } => "protected",
        FileError::NotFound { .. } => "missing",
        FileError::NotAFile { .. } => "not a file",
        FileError::NotAFolder { .. } => "not a folder",
        FileError::TooLarge { .. } => "large",
        FileError::ReadOnly { .. } => "read-only",
        FileError::Io { .. } => "io",
    }
}

#[test]
fn reads_inside_and_nowhere_else() {
    let (outer, folder) = folder();
    let absolute = folder.path().join("sub/b.txt").display().to_string();
    let given = outer.path().join("w/a.txt").display().to_string();
    let sibling = outer.path().join("w2/secret").display().to_string();
    let climbing = format!("{}/../secret", folder.path().display());
    let cases: [(&str, Result<&str, &str>); 41] = [
        ("a.txt", Ok("a")),
        ("./a.txt", Ok("a")),
        ("sub//b.txt", Ok("b")),
        ("sub/../a.txt", Ok("a")),
        ("missing/../a.txt", Ok("a")),
        ("link_a", Ok("a")),
        ("link_inside/b.txt", Ok("b")),
        (".aime/aime.db", Ok("journal")),
        (&absolute, Ok("b")),
        (&given, Ok("a")),
        ("", Err("empty")),
        (".", Err("not a file")),
        ("sub", Err("not a file")),
        ("sub/", Err("not a file")),
        ("a.txt/", Err("not a file")),
        ("a.txt/.", Err("not a file")),
        ("a.txt/x", Err("not a folder")),
        ("missing", Err("missing")),
        ("a.txt\0", Err("nul")),
        ("..", Err("outside")),
        ("../secret", Err("outside")),
        ("sub/../../secret", Err("outside")),
        ("a/../../w/a.txt", Err("outside")),
        ("./.././secret", Err("outside")),
        (&sibling, Err("outside")),
        (&climbing, Err("outside")),
        ("/etc/passwd", Err("outside")),
        ("/proc/self/root/etc/passwd", Err("outside")),
        ("/proc/self/cwd/Cargo.toml", Err("outside")),
        ("//etc/passwd", Err("outside")),
        ("/../etc/passwd", Err("outside")),
        ("~", Err("home")),
        ("~/a.txt", Err("home")),
        ("~a.txt", Err("missing")),
        ("C:\\a.txt", Err("drive")),
        ("c:/a.txt", Err("drive")),
        ("link_file", Err("link")),
        ("link_up/secret", Err("link")),
        ("link_root/etc/passwd", Err("link")),
        ("link_proc/etc/passwd", Err("link")),
        ("dangling", Err("missing")),
    ];
    for (path, expected) in cases {
        let got = folder.read(path);
        let got = got.as_ref().map(|bytes| std::str::from_utf8(bytes).unwrap()).map_err(kind);
        assert_eq!(got, expected, "{path:?}");
    }
    assert_eq!(folder.read("loop").as_ref().map_err(kind), Err("io"));
}

// Requirement: 15.8
#[test]
fn writes_inside_and_nowhere_else() {
    let (outer, folder) = folder();
    let absolute = folder.path().join("new/c.txt").display().to_string();
    let cases: [(&str, Result<bool, &str>); 23] = [
        ("a.txt", Ok(false)),
        ("x/y/z.txt", Ok(true)),
        ("link_a", Ok(false)),
        ("link_inside/new.txt", Ok(true)),
        (&absolute, Ok(true)),
        (".aimed", Ok(true)),
        ("", Err("empty")),
        (".", Err("not a file")),
        ("sub", Err("not a file")),
        ("new/", Err("not a file")),
        ("a.txt/x", Err("not a folder")),
        ("a\0b", Err("nul")),
        ("../evil", Err("outside")),
        ("x/../../evil", Err("outside")),
        ("/tmp/evil-of-aime", Err("outside")),
        ("link_file", Err("link")),
        ("link_up/evil", Err("link")),
        ("link_root/tmp/evil-of-aime", Err("link")),
        ("dangling", Err("dangling")),
        (".aime/aime.db", Err("reserved")),
        ("sub/../.aime/x", Err("reserved")),
        (".AIME/x", Err("reserved")),
        ("link_reserved/aime.db", Err("reserved")),
    ];
    for (path, expected) in cases {
        let got = folder.write(path, path.as_bytes());
        assert_eq!(got.as_ref().map(|written| written.created).map_err(kind), expected, "{path:?}");
        if expected.is_ok() {
            assert_eq!(folder.read(path).unwrap(), path.as_bytes());
        }
    }
    assert!(fs::symlink_metadata(folder.path().join("link_a")).unwrap().is_symlink(), "a link is written through, not replaced");
    assert_eq!(fs::read(folder.path().join("a.txt")).unwrap(), b"link_a");
    assert_eq!(fs::read(folder.path().join(".aime/aime.db")).unwrap(), b"journal");
    assert_eq!(fs::read(outer.path().join("secret")).unwrap(), b"secret");
    assert!(!outer.path().join("evil").exists());
    let left: Vec<_> = folder.read_dir(".").unwrap().into_iter().filter(|entry| entry.name.as_bytes().ends_with(b".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Two threads: one swaps a folder with a link that leads out, the other reads and writes through that name.
// Requirement: 15.8
#[test]
fn links_that_are_swapped_in_lead_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let (outer, folder) = folder();
    let root = outer.path().join("w");
    fs::write(outer.path().join("w2/b.txt"), "outside").unwrap();
    symlink("../w2", root.join("out")).unwrap();
    let over = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, root.join("sub"), CWD, root.join("out"), RenameFlags::EXCHANGE).unwrap();
            }
        });
        let begun = std::time::Instant::now();
        // The race is real only if both outcomes occurred.
        while (inside < 200 || refused < 200) && begun.elapsed().as_secs() < 60 {
            match folder.read("sub/b.txt") {
                Ok(text) => {
                    assert!(text != b"outside", "it read outside");
                    inside += 1;
                }
                Err(_) => refused += 1,
            }
            drop(folder.write("sub/new.txt", b"new"));
            drop(folder.write("sub/b.txt", b"b"));
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(inside >= 200 && refused >= 200, "{inside} {refused}");
    assert_eq!(fs::read_to_string(outer.path().join("w2/b.txt")).unwrap(), "outside");
    assert!(!outer.path().join("w2/new.txt").exists());
}

// Requirement: 15.8
#[test]
fn keeps_the_mode_and_respects_read_only() {
    let (_outer, folder) = folder();
    let script = folder.path().join("run.sh");
    fs::write(&script, "1").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o751)).unwrap();
    folder.write("run.sh", b"2").unwrap();
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o751);
    folder.write_as("bin/copy.sh", b"2", Some(0o750)).unwrap();
    assert_eq!(fs::metadata(folder.path().join("bin/copy.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(folder.write("run.sh", b"3").as_ref().map_err(kind), Err("read-only"));
    assert_eq!(fs::read(&script).unwrap(), b"2");
}

// Requirement: 15.8
#[test]
fn only_regular_files_are_read_and_written() {
    let (_outer, folder) = folder();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    symlink("/dev/zero", folder.path().join("zero")).unwrap();
    assert_eq!(folder.read("socket").as_ref().map_err(kind), Err("not a file"));
    assert_eq!(folder.write("socket", b"x").as_ref().map_err(kind), Err("not a file"));
    assert_eq!(folder.read("zero").as_ref().map_err(kind), Err("link"));
    assert_eq!(folder.facts("socket").unwrap().kind, EntryKind::Other);
}

// Requirement: 15.8
#[tokio::test]
async fn a_pipe_in_the_folder_is_not_waited_for() {
    let (_outer, folder) = folder();
    let request = crate::ProcessRequest {
        program: "mkfifo".into(),
        arguments: vec!["pipe".into()],
        working_folder: folder.path().into(),
        environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
        input: Vec::new(),
        time_limit: std::time::Duration::from_secs(60),
        confinement: crate::Confinement::off(),
        output_limit: 1000,
    };
    let made = crate::run(request, &tokio_util::sync::CancellationToken::new()).await.unwrap();
    assert_eq!(made.end, crate::ProcessEnd::Exited(0));
    assert_eq!(folder.read("pipe").as_ref().map_err(kind), Err("not a file"));
}

// Requirement: 15.8
#[test]
fn huge_files_are_refused_unread() {
    let (_outer, folder) = folder();
    let file = File::create(folder.path().join("huge")).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    assert_eq!(folder.read("huge").as_ref().map_err(kind), Err("large"));
}

// Requirement: 15.8
#[test]
fn names_need_not_be_text() {
    let (_outer, folder) = folder();
    let name = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    folder.write(name, b"x").unwrap();
    assert_eq!(folder.read(name).unwrap(), b"x");
    assert!(folder.read_dir(".").unwrap().iter().any(|entry| entry.name == name.as_os_str()));
}

#[test]
fn lists_a_folder() {
    let (_outer, folder) = folder();
    let names = |path| folder.read_dir(path).map(|entries| entries.into_iter().map(|e| (e.name, e.kind, e.size)).collect::<Vec<_>>());
    assert_eq!(
        names("sub").unwrap(),
        [("b.txt".into(), EntryKind::File, 1), ("deep".into(), EntryKind::Folder, size(&folder, "sub/deep"))]
    );
    assert_eq!(names("sub/deep/").unwrap(), []);
    assert_eq!(names("a.txt").as_ref().map_err(kind), Err("not a folder"));
    assert_eq!(names("link_up").as_ref().map_err(kind), Err("link"));
    assert_eq!(names("..").as_ref().map_err(kind), Err("outside"));
}

fn size(folder: &ConfinedFolder, path: &str) -> u64 {
    folder.facts(path).unwrap().size
}

#[test]
fn relative_and_resolved_paths() {
    let (_outer, folder) = folder();
    let inside = folder.path().join("sub/./b.txt");
    assert_eq!(folder.relative(&inside).unwrap(), Path::new("sub/b.txt"));
    assert_eq!(folder.relative(folder.path()).unwrap(), Path::new("."));
    assert_eq!(folder.relative("not/there").unwrap(), Path::new("not/there"));
    assert_eq!(folder.resolve("link_inside/b.txt").unwrap(), Path::new("sub/b.txt"));
    assert_eq!(folder.resolve(".").unwrap(), Path::new("."));
    assert_eq!(folder.resolve("link_up").as_ref().map_err(kind), Err("link"));
}

#[test]
fn errors_name_the_path_and_the_hint() {
    let (_outer, folder) = folder();
    let text = folder.read("../secret").unwrap_err().to_string();
    assert_eq!(text, format!("`../secret` is outside of the working folder {}; use a path inside it", folder.path().display()));
    assert_eq!(
        folder.read("link_file").unwrap_err().to_string(),
        "`link_file` leads out of the working folder through a link; use a path inside it"
    );
    assert_eq!(ConfinedFolder::open("no/such").unwrap_err().to_string(), "`no/such` does not exist");
}

#[test]
fn a_protected_place_is_written_under_its_own_name() {
    let (_outer, folder) = folder();
    let root = folder.path().to_path_buf();
    for repository in [".git", "bare"] {
        for name in ["hooks", "objects", "refs"] {
            fs::create_dir_all(root.join(repository).join(name)).unwrap();
        }
        fs::write(root.join(repository).join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    fs::write(root.join(".envrc"), "").unwrap();
    fs::write(root.join("bare/config"), "").unwrap();
    symlink(".git/hooks", root.join("link_hooks")).unwrap();
    symlink(".envrc", root.join("link_envrc")).unwrap();
    symlink("..", root.join("sub/up")).unwrap();
    for path in ["link_hooks/pre-commit", "link_hooks/deep/x", "link_envrc", "bare/config", "bare/hooks/update", "bare/Hooks/update"] {
        let error = folder.write(path, b"x").unwrap_err();
        assert_eq!(kind(&error), "protected", "{path}: {error}");
    }
    assert_eq!(kind(&folder.remove_file("bare/config").unwrap_err()), "protected");
    // A link itself may be removed: its target stays.
    folder.remove_file("link_envrc").unwrap();
    // The person who decides on a call sees these names.
    for path in [".git/hooks/pre-commit", "a/../.git/hooks/x", "sub/up/.git/config", ".envrc", "bare/refs/main"] {
        folder.write(path, b"x").unwrap();
    }
}

#[test]
fn a_folder_may_be_named_by_links_to_it() {
    let (outer, folder) = folder();
    let at = |path: &str| outer.path().join(path);
    symlink(folder.path(), at("link")).unwrap();
    symlink(outer.path(), at("above")).unwrap();
    assert_eq!(folder.read(at("link/a.txt")).as_ref().map_err(kind), Err("outside"));
    let folder = folder.also_named(&at("link")).also_named(&at("above")).also_named(&at("nowhere")).also_named(Path::new("w"));
    assert_eq!(folder.aliases(), [at("link"), at("above/w")]);
    let table = [
        (at("link/a.txt"), Ok("a")),
        (at("above/w/sub/b.txt"), Ok("b")),
        (at("link/x/../a.txt"), Ok("a")),
        (at("link/../secret"), Err("outside")),
        (at("above/secret"), Err("outside")),
        (at("linked/a.txt"), Err("outside")),
    ];
    for (path, expected) in table {
        let got = folder.read(&path);
        assert_eq!(got.as_ref().map(|bytes| std::str::from_utf8(bytes).unwrap()).map_err(kind), expected, "{path:?}");
    }
}

/// Of an ordinary user, all files have the same owner.
#[test]
fn the_superuser_keeps_owners() {
    use std::os::unix::fs::{MetadataExt, chown};

    let (outer, folder) = folder();
    if fs::metadata(outer.path()).unwrap().uid() != 0 {
        return;
    }
    for path in [".", "sub", "a.txt", "sub/b.txt", ".aime"] {
        chown(folder.path().join(path), Some(1234), Some(2345)).unwrap();
    }
    chown(folder.path().join("a.txt"), Some(3456), Some(4567)).unwrap();
    folder.write("a.txt", b"written").unwrap();
    folder.write("new/folder/file", b"new").unwrap();
    folder.put_file("sub/b.txt", b"put", 0o4755).unwrap();
    folder.put_file("sub/put", b"put", 0o600).unwrap();
    folder.put_folder("made").unwrap();
    let from = ConfinedFolder::open(outer.path().join("w2")).unwrap();
    folder.take_entry("sub/taken", &from, "secret").unwrap();
    let owner = |path: &str| fs::symlink_metadata(folder.path().join(path)).map(|found| (found.uid(), found.gid())).unwrap();
    assert_eq!(owner("a.txt"), (3456, 4567));
    for path in ["new", "new/folder", "new/folder/file", "sub/b.txt", "sub/put", "made", "sub/taken"] {
        assert_eq!(owner(path), (1234, 2345), "{path}");
    }
    assert_eq!(fs::metadata(folder.path().join("sub/b.txt")).unwrap().permissions().mode() & 0o7777, 0o4755);
    fs::write(outer.path().join("w2/again"), "again").unwrap();
    folder.take_entry("a.txt", &from, "again").unwrap();
    assert_eq!(owner("a.txt"), (3456, 4567), "that of the file before");
}

#[test]
fn entries_are_moved_into_real_folders_only() {
    let (outer, folder) = folder();
    fs::write(outer.path().join("w2/new"), "new").unwrap();
    let from = ConfinedFolder::open(outer.path().join("w2")).unwrap();
    folder.put_folders("sub/deep/deeper/deepest").unwrap();
    folder.put_folders(".").unwrap();
    for (path, expected) in
        [("link_up/x", "not a folder"), ("sub/../link_inside/x", "not a folder"), ("a.txt/x", "not a folder"), (".aime/x", "reserved")]
    {
        assert_eq!(kind(&folder.put_folders(path).unwrap_err()), expected, "{path}");
        assert_eq!(kind(&folder.take_entry(path, &from, "new").unwrap_err()), expected, "{path}");
    }
    assert_eq!(kind(&folder.remove_empty_folder("sub").unwrap_err()), "io");
    assert_eq!(kind(&folder.remove_empty_folder("link_inside").unwrap_err()), "not a folder");
    folder.remove_empty_folder("sub/deep/deeper/deepest").unwrap();
    assert_eq!(kind(&folder.take_entry("x", &from, "../w/a.txt").unwrap_err()), "outside");
    folder.take_entry("link_a", &from, "new").unwrap();
    let read = |path: &str| fs::read_to_string(outer.path().join(path)).ok();
    assert_eq!((read("w/link_a"), read("w/a.txt"), read("w2/new")), (Some("new".to_owned()), Some("a".to_owned()), None));
    assert!(!folder.path().join("link_a").is_symlink(), "the link is replaced, and its target stays");
    folder.clone().with_reserved().put_folders(".aime/x").unwrap();
    assert!(outer.path().join("w/.aime/x").is_dir());
}
