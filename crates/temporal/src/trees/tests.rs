use std::{fs, path::Path};

use aime_work_tree::{WorkTree, WorkTreeError};

use super::{Back, Joined, Side, TakenBack, Tree, TreeError, Trees, WHOLE_EVERY};
use crate::Blobs;

/// A client and two hosts that share nothing but blobs.
struct World {
    root: tempfile::TempDir,
    client: Trees,
    hosts: [Trees; 2],
}

#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
async fn trees(root: &Path, name: &str) -> Trees {
    fs::create_dir(root.join(name)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let folder = WorkTree::open(&root.join(name), &root.join(format!("{name}.git")), path).await.unwrap();
    Trees::new(folder, Blobs::new(root.join("blobs")))
}

async fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    let client = trees(root.path(), "client").await;
    let hosts = [trees(root.path(), "0").await, trees(root.path(), "1").await];
    World { root, client, hosts }
}

impl World {
    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap_or_default()
    }

    /// Work on a host that writes one file.
    async fn work(&self, host: usize, tree: &Tree, file: &str, text: &str) -> Tree {
        let standing = self.hosts[host].stand(tree, "r").await.unwrap();
        self.write(&format!("{host}/{file}"), text);
        match standing.hand_back().await {
            Back::Tree { tree } => tree,
            Back::Lost { why } => panic!("{why}"),
        }
    }
}

#[tokio::test]
async fn work_goes_on_where_another_host_left_it_and_comes_back() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let first = world.work(0, &begun, "a", "1").await;
    let second = world.work(1, &first, ".aime/runs/r/t/output.txt", "long").await;
    assert_eq!((world.read("1/a").as_str(), second.links), ("1", 2));
    let same = world.work(0, &second, "a", "1").await;
    assert_eq!(same, second, "what changes nothing makes no state");
    assert_eq!(world.read("0/.aime/runs/r/t/output.txt"), "long");
    world.write("client/b", "a person's");
    assert_eq!(world.client.take_back("r", &second).await.unwrap(), TakenBack::Taken);
    assert_eq!(world.client.take_back("r", &second).await.unwrap(), TakenBack::Taken);
    assert_eq!((world.read("client/a").as_str(), world.read("client/b").as_str()), ("1", "a person's"));
    // The run went on, and what it did since is taken too.
    let third = world.work(0, &second, "a", "2").await;
    assert_eq!(world.client.take_back("r", &third).await.unwrap(), TakenBack::Taken);
    assert_eq!(world.read("client/a"), "2");
    assert_eq!(world.hosts[0].take_back("r", &third).await.unwrap(), TakenBack::Elsewhere);
    // The next run begins without what was kept for this one.
    let next = world.client.hand_over("next").await.unwrap();
    world.work(1, &next, "c", "1").await;
    assert_eq!((world.read("1/b").as_str(), world.read("1/.aime/runs/r/t/output.txt").as_str()), ("a person's", ""));
}

#[tokio::test]
async fn what_was_done_at_once_is_joined_or_named() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let (ours, theirs, across) =
        (world.work(0, &begun, "a", "1").await, world.work(1, &begun, "b", "2").await, world.work(1, &begun, "a", "3").await);
    let Joined::Clean { tree } = world.hosts[0].join(&ours, &theirs).await.unwrap() else { panic!("they wrote different files") };
    assert_eq!(world.hosts[1].join(&ours, &across).await.unwrap(), Joined::Conflict { paths: vec!["a".to_owned()] });
    world.write("client/a", "a person's");
    let conflict = world.client.take_back("r", &tree).await.unwrap();
    assert!(matches!(conflict, TakenBack::Conflict { paths, .. } if paths == ["a"]));
    assert_eq!(world.read("client/a"), "a person's");
    world.write("client/a", "0");
    assert_eq!(world.client.take_back("r", &tree).await.unwrap(), TakenBack::Taken);
    assert_eq!((world.read("client/a").as_str(), world.read("client/b").as_str()), ("1", "2"));
}

#[tokio::test]
async fn a_long_past_is_not_read_whole() {
    let world = world().await;
    world.write("client/a", "0");
    let mut tree = world.client.hand_over("r").await.unwrap();
    // As if so many had come before it.
    tree.links = WHOLE_EVERY - 3;
    let mut links = Vec::new();
    for step in 1..=3 {
        tree = world.work(0, &tree, "a", &step.to_string()).await;
        links.push(tree.links);
    }
    assert_eq!(links, [WHOLE_EVERY - 2, WHOLE_EVERY - 1, 0], "the last one holds all");
    // All that came before is gone, and nobody misses it.
    let kept = tree.bundle.split_at(2);
    let kept = world.root.path().join("kept").join(kept.0).join(kept.1);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::rename(world.root.path().join("blobs").join(tree.bundle.split_at(2).0).join(tree.bundle.split_at(2).1), &kept).unwrap();
    fs::remove_dir_all(world.root.path().join("blobs")).unwrap();
    fs::rename(world.root.path().join("kept"), world.root.path().join("blobs")).unwrap();
    world.hosts[1].stand(&tree, "r").await.unwrap();
    assert_eq!(world.read("1/a"), "3");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
async fn one_worker_at_a_time_has_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let (work, state, path) = (root.path().join("work"), root.path().join("state"), std::env::var_os("PATH").unwrap());
    fs::create_dir(&work).unwrap();
    let open = |side| Trees::open(side, &work, &state, path.clone(), Blobs::new(root.path().join("blobs")));
    let first = open(Side::Worker).await.unwrap();
    assert!(matches!(open(Side::Worker).await, Err(TreeError::WorkTree(WorkTreeError::InUse { .. }))));
    let client = open(Side::Client).await.unwrap();
    client.hand_over("r").await.unwrap();
    drop(first);
    open(Side::Worker).await.unwrap();
}
