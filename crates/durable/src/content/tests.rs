use super::*;

/// Stores bytes under their name.
fn put(store: &FolderStore, bytes: &[u8]) -> String {
    let name = content_name(bytes);
    store.put(&name, bytes).unwrap();
    name
}

fn stores(folder: &Path) -> [FolderStore; 2] {
    [FolderStore::new(folder.join("one/two")), FolderStore::new(folder.join("synced")).synced()]
}

// Requirement: 7.19
#[test]
fn damage_is_seen_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let name = put(&store, b"large");
        assert_eq!(name, blake3::hash(b"large").to_hex().as_str());
        assert_eq!((store.get(&name).unwrap(), store.has(&name, 5), store.has(&name, 4)), (b"large".to_vec(), true, false));
        let path = store.path(&name).unwrap();
        for other in ["cut", "other", ""] {
            fs::write(&path, other).unwrap();
            assert!(matches!(store.get(&name), Err(ContentError::Damaged { .. })), "{other}");
        }
        put(&store, b"large");
        assert_eq!(store.get(&name).unwrap(), b"large");
        fs::remove_file(&path).unwrap();
        let fault = store.get(&name).unwrap_err();
        assert!(matches!(&fault, ContentError::Store { source, .. } if source.kind() == ErrorKind::NotFound), "{fault}");
        assert!(!store.has(&name, 5));
    }
}

#[test]
fn equal_contents_are_stored_once_as_long_as_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let (large, empty) = (put(&store, b"large"), put(&store, b""));
    assert_eq!(put(&store, b"large"), large);
    let files = || fs::read_dir(folder.path()).unwrap().flat_map(|start| fs::read_dir(start.unwrap().path()).unwrap()).count();
    assert_eq!(files(), 2);
    assert_eq!(store.sweep(&BTreeSet::from([large.clone()])).unwrap(), 5);
    assert_eq!((store.has(&large, 5), store.has(&empty, 0), files()), (true, false, 1));
    assert_eq!(store.sweep(&BTreeSet::new()).unwrap(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "folders that are empty go too");
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let store = FolderStore::new("contents");
    for name in ["", "../../etc/passwd", "é", &format!("../{}", "a".repeat(61)), &"g".repeat(64)] {
        assert!(matches!(store.get(name), Err(ContentError::Name { .. })), "{name:?}");
        assert!(matches!(store.put(name, b""), Err(ContentError::Name { .. })), "{name:?}");
        assert!(!store.has(name, 0), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_contents() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let file = store.path(&put(&store, b"secret")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap()), mode(&store.folder)), (0o600, 0o700, 0o700));
    }
}

#[tokio::test]
async fn a_renewed_content_has_a_new_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::new(folder.path());
    let name = content_name(b"large");
    assert!(!store.renew(&name).await.unwrap(), "there is nothing to renew");
    store.write(&name, b"large".to_vec()).await.unwrap();
    let path = store.path(&name).unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert!(store.renew(&name).await.unwrap());
    assert!(fs::metadata(&path).unwrap().modified().unwrap() > SystemTime::UNIX_EPOCH);
    assert_eq!(store.read(&name).await.unwrap(), b"large");
}
