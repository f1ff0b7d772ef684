use std::{fs, path::Path, sync::Arc};

use aime_orchestrator::{FoundConflict, WorkspaceError};
use aime_progress_management::{RunId, TaskId};
use aime_sandbox::ConfinedFolder;
use aime_undo::{Author, Recorder, Scope, UndoSettings};
use aime_work_tree::{WorkTree, WorkTreeError};

use super::{
    Checkout, Handover, ImportOutcome, MergeInput, MergeOutcome, Side, TaskWork, TreeError, WHOLE_EVERY, WorkspaceSnapshot, WorkspaceStore,
};
use crate::Blobs;

/// A client and two hosts that share nothing but blobs.
struct World {
    root: tempfile::TempDir,
    client: WorkspaceStore,
    hosts: [WorkspaceStore; 2],
}

#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
async fn trees(root: &Path, name: &str) -> WorkspaceStore {
    fs::create_dir(root.join(name)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let folder = WorkTree::open(&root.join(name), &root.join(format!("{name}.git")), path).await.unwrap();
    WorkspaceStore::new(folder, Blobs::in_folder(root.join("blobs")))
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
    async fn work(&self, host: usize, tree: &WorkspaceSnapshot, file: &str, text: &str) -> WorkspaceSnapshot {
        self.work_by(host, tree, None, file, text).await
    }

    /// Does the same for a task.
    async fn work_by(&self, host: usize, tree: &WorkspaceSnapshot, task: Option<&str>, file: &str, text: &str) -> WorkspaceSnapshot {
        let by = task.map(|task| Author::new(Some(task), "write_file"));
        let checkout = self.hosts[host].check_out(tree, "r", by).await.unwrap();
        self.write(&format!("{host}/{file}"), text);
        handed_back(checkout).await
    }

    /// Merges the work of the task `b` on a host.
    async fn merge(
        &self,
        host: usize,
        (from, ours, theirs): (&WorkspaceSnapshot, &WorkspaceSnapshot, &WorkspaceSnapshot),
        conflicts: Vec<FoundConflict>,
    ) -> MergeOutcome {
        let work = TaskWork::new(&RunId::new("r").unwrap(), &TaskId::new("b").unwrap(), "b-1");
        let work = TaskWork { is_shown: true, conflicts, ..work };
        let from = Some(from.clone()).filter(|_| work.conflicts.is_empty());
        self.hosts[host].merge(&MergeInput { work, from, ours: ours.clone(), theirs: theirs.clone() }).await.unwrap()
    }

    async fn merged(
        &self,
        host: usize,
        from: &WorkspaceSnapshot,
        ours: &WorkspaceSnapshot,
        theirs: &WorkspaceSnapshot,
    ) -> WorkspaceSnapshot {
        match self.merge(host, (from, ours, theirs), Vec::new()).await {
            MergeOutcome::Clean { tree, conflicts, .. } if conflicts.is_empty() => tree,
            merged => panic!("{merged:?}"),
        }
    }

    async fn conflict(
        &self,
        host: usize,
        states: (&WorkspaceSnapshot, &WorkspaceSnapshot, &WorkspaceSnapshot),
        known: Vec<FoundConflict>,
    ) -> (WorkspaceSnapshot, WorkspaceSnapshot, Vec<FoundConflict>) {
        match self.merge(host, states, known).await {
            MergeOutcome::Conflict { tree, private, conflicts } => (tree, private, conflicts),
            merged => panic!("{merged:?}"),
        }
    }

    /// Recorder of changes in the client's folder.
    fn recorder(&self) -> Arc<Recorder> {
        let client = self.root.path().join("client");
        let settings = UndoSettings { reserve_bytes: 0, ..UndoSettings::default() };
        Arc::new(Recorder::new(ConfinedFolder::open(&client).unwrap(), &client.join(".aime"), "r", settings))
    }

    /// Takes it into the client's folder, where it is kept for an undo.
    async fn take_back(&self, tree: &WorkspaceSnapshot) -> ImportOutcome {
        let recorder = self.recorder();
        let taken = self.client.take_back("r", tree, Some(Arc::clone(&recorder))).await.unwrap();
        recorder.finish();
        taken
    }

    /// Undoes what a task did in the client's folder. The paths that are left as they are, and why.
    fn undo(&self, task: &str) -> Vec<(String, String)> {
        let recorder = self.recorder();
        undo(&recorder, &Scope::task(task))
    }
}

async fn handed_back(checkout: Checkout) -> WorkspaceSnapshot {
    match checkout.hand_back().await {
        Handover::Tree { tree } => tree,
        Handover::Lost { why } => panic!("{why}"),
    }
}

fn undo(recorder: &Recorder, scope: &Scope) -> Vec<(String, String)> {
    let plan = recorder.plan(scope, false).unwrap();
    assert!(recorder.undo(&plan).unwrap().failed.is_empty());
    plan.conflicts.into_iter().map(|conflict| (conflict.path.display().to_string(), conflict.kind.to_string())).collect()
}

// Requirement: 18.7
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
    assert_eq!(world.client.take_back("r", &second, None).await.unwrap(), ImportOutcome::Imported);
    assert_eq!(world.client.take_back("r", &second, None).await.unwrap(), ImportOutcome::Imported);
    assert_eq!((world.read("client/a").as_str(), world.read("client/b").as_str()), ("1", "a person's"));
    // The run went on, and its later changes are taken back too.
    let third = world.work(0, &second, "a", "2").await;
    assert_eq!(world.client.take_back("r", &third, None).await.unwrap(), ImportOutcome::Imported);
    assert_eq!(world.read("client/a"), "2");
    assert_eq!(world.hosts[0].take_back("r", &third, None).await.unwrap(), ImportOutcome::Elsewhere);
    // The next run begins without what was kept for this one.
    let next = world.client.hand_over("next").await.unwrap();
    world.work(1, &next, "c", "1").await;
    assert_eq!((world.read("1/b").as_str(), world.read("1/.aime/runs/r/t/output.txt").as_str()), ("a person's", ""));
}

// Requirement: 18.7
#[tokio::test]
async fn what_was_done_at_once_is_joined_or_named() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let (ours, theirs, across) =
        (world.work(0, &begun, "a", "1").await, world.work(1, &begun, "b", "2").await, world.work(1, &begun, "a", "3").await);
    let tree = world.merged(0, &begun, &ours, &theirs).await;
    let conflicts = world.conflict(1, (&begun, &ours, &across), Vec::new()).await.2;
    assert_eq!(conflicts.iter().map(|found| found.conflict.path.as_str()).collect::<Vec<_>>(), ["a"]);
    world.write("client/a", "a person's");
    let conflict = world.client.take_back("r", &tree, None).await.unwrap();
    assert!(matches!(conflict, ImportOutcome::Conflict { paths, .. } if paths == ["a"]));
    assert_eq!(world.read("client/a"), "a person's");
    world.write("client/a", "0");
    assert_eq!(world.client.take_back("r", &tree, None).await.unwrap(), ImportOutcome::Imported);
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
    // All earlier blobs are deleted, and none is needed.
    let kept = tree.bundle.split_at(2);
    let kept = world.root.path().join("kept").join(kept.0).join(kept.1);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::rename(world.root.path().join("blobs").join(tree.bundle.split_at(2).0).join(tree.bundle.split_at(2).1), &kept).unwrap();
    fs::remove_dir_all(world.root.path().join("blobs")).unwrap();
    fs::rename(world.root.path().join("kept"), world.root.path().join("blobs")).unwrap();
    world.hosts[1].check_out(&tree, "r", None).await.unwrap();
    assert_eq!(world.read("1/a"), "3");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "git is found as the tests' own environment says")]
async fn one_worker_at_a_time_has_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let (work, state, path) = (root.path().join("work"), root.path().join("state"), std::env::var_os("PATH").unwrap());
    fs::create_dir(&work).unwrap();
    let open = |side| WorkspaceStore::open(side, &work, &state, path.clone(), Blobs::in_folder(root.path().join("blobs")));
    let first = open(Side::Worker).await.unwrap();
    assert!(matches!(open(Side::Worker).await, Err(TreeError::WorkTree(WorkTreeError::InUse { .. }))));
    let client = open(Side::Client).await.unwrap();
    client.hand_over("r").await.unwrap();
    drop(first);
    open(Side::Worker).await.unwrap();
}

// Requirement: 18.13
#[tokio::test]
async fn what_came_is_undone_task_by_task() {
    let world = world().await;
    world.write("client/a", "0");
    world.write("client/lines", "1\n2\n3\n4\n5\n6\n");
    let begun = world.client.hand_over("r").await.unwrap();
    let one = world.work_by(0, &begun, Some("one"), "a", "1").await;
    let one = world.work_by(1, &one, Some("one"), "lines", "one\n2\n3\n4\n5\n6\n").await;
    let two = world.work_by(0, &begun, Some("two"), "lines", "1\n2\n3\n4\n5\ntwo\n").await;
    let two = world.work_by(1, &two, Some("two"), "new/file", "two").await;
    let tree = world.merged(0, &begun, &one, &two).await;
    let three = world.work_by(0, &tree, Some("three"), "a", "3").await;
    assert_eq!(world.take_back(&three).await, ImportOutcome::Imported);
    let later = "changed later, or at the same time, by";
    assert_eq!(world.undo("one"), [("a".to_owned(), format!("{later} three")), ("lines".to_owned(), format!("{later} two"))]);
    assert_eq!(world.undo("three"), []);
    assert_eq!(world.undo("two"), []);
    assert!(!world.root.path().join("client/new").exists());
    assert_eq!((world.read("client/a"), world.read("client/lines")), ("1".to_owned(), "one\n2\n3\n4\n5\n6\n".to_owned()));
    assert_eq!(world.undo("one"), []);
    assert_eq!((world.read("client/a"), world.read("client/lines")), ("0".to_owned(), "1\n2\n3\n4\n5\n6\n".to_owned()));
}

#[tokio::test]
async fn what_a_person_changed_meanwhile_is_no_task_s() {
    let world = world().await;
    world.write("client/lines", "1\n2\n3\n4\n5\n6\n");
    let begun = world.client.hand_over("r").await.unwrap();
    let one = world.work_by(0, &begun, Some("one"), "lines", "one\n2\n3\n4\n5\n6\n").await;
    let two = world.work_by(0, &one, Some("two"), "lines", "one\n2\n3\n4\n5\ntwo\n").await;
    world.write("client/lines", "1\n2\n3\nmine\n5\n6\n");
    assert_eq!(world.take_back(&one).await, ImportOutcome::Imported);
    assert_eq!(world.read("client/lines"), "one\n2\n3\nmine\n5\n6\n");
    assert_eq!(world.undo("one"), []);
    assert_eq!(world.read("client/lines"), "1\n2\n3\nmine\n5\n6\n", "what a person did stays");
    // The run goes on. The undo in this folder stays in effect, and the run's later changes arrive.
    assert_eq!(world.take_back(&two).await, ImportOutcome::Imported);
    assert_eq!(world.read("client/lines"), "1\n2\n3\nmine\n5\ntwo\n");
    assert_eq!(world.undo("two"), []);
    assert_eq!(world.read("client/lines"), "1\n2\n3\nmine\n5\n6\n");
}

// Requirement: 18.13
#[tokio::test]
async fn what_a_task_did_on_other_hosts_is_undone_where_the_folder_is() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let one = world.work_by(0, &begun, Some("one"), "a", "1").await;
    let two = world.work_by(1, &one, Some("two"), "b", "2").await;
    let three = world.work_by(0, &two, Some("three"), "a", "3").await;
    let back = async |host: usize, tree: &WorkspaceSnapshot, task: &str| {
        let checkout = world.hosts[host].check_out(tree, "r", Some(Author::new(Some("back"), "undo_task"))).await.unwrap();
        let (passing, folder) = (checkout.passing(), world.root.path().join(host.to_string()));
        let settings = UndoSettings { reserve_bytes: 0, ..UndoSettings::default() };
        let recorder = Arc::new(Recorder::new(ConfinedFolder::open(&folder).unwrap(), passing.recording_folder(), "r", settings));
        let Ok(turn) = passing.load_past_changes(Arc::clone(&recorder), Scope::task(task)).await else { panic!("nothing is brought") };
        let left = undo(&recorder, &Scope::task(task));
        drop((turn, recorder, passing));
        (handed_back(checkout).await, left)
    };
    let (same, left) = back(1, &three, "one").await;
    assert_eq!(left, [("a".to_owned(), "changed later, or at the same time, by three".to_owned())]);
    assert_eq!(same, three, "what changes nothing makes no state");
    let (undone, left) = back(1, &three, "three").await;
    assert_eq!((left, world.read("1/a"), world.read("1/b")), (vec![], "1".to_owned(), "2".to_owned()));
    // Another host also sees the undo.
    let (undone, left) = back(0, &undone, "one").await;
    assert_eq!((left, world.read("0/a"), world.read("0/b")), (vec![], "0".to_owned(), "2".to_owned()));
    assert_eq!(world.take_back(&undone).await, ImportOutcome::Imported);
    assert_eq!((world.read("client/a"), world.read("client/b")), ("0".to_owned(), "2".to_owned()));
    let recorder = world.recorder();
    for text in ["1", "3"] {
        let number = recorder.last_undo().unwrap().unwrap();
        assert_eq!(undo(&recorder, &Scope::Undo { number }), []);
        assert_eq!(world.read("client/a"), text, "each undo can be put back");
    }
}

#[tokio::test]
async fn an_undo_that_is_cut_off_hands_nothing_back_and_leaves_nothing_to_others() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let one = world.work_by(0, &begun, Some("one"), "a", "1").await;
    let checkout = world.hosts[0].check_out(&one, "r", None).await.unwrap();
    let passing = checkout.passing();
    let recorder = |keep: &Path| {
        Arc::new(Recorder::new(ConfinedFolder::open(world.root.path().join("0")).unwrap(), keep, "r", UndoSettings::default()))
    };
    let mut bringing = passing.load_past_changes(recorder(passing.recording_folder()), Scope::task("one"));
    assert!(futures::poll!(&mut bringing).is_pending());
    drop(bringing);
    assert!(matches!(checkout.hand_back().await, Handover::Lost { why } if why.to_string().contains("cut off")));
    // The step completes before any other work is admitted.
    let checkout = world.hosts[0].check_out(&one, "r", None).await.unwrap();
    assert_eq!(world.read("0/a"), "1");
    assert_eq!(handed_back(checkout).await, one);
    let late = passing.load_past_changes(recorder(passing.recording_folder()), Scope::task("one")).await;
    assert!(matches!(late, Err(WorkspaceError::Ended)));
}

/// The conflict of two hosts is that of two private folders: its actor resolves it, and what is told of it is the same.
// Requirement: 9.2
#[tokio::test]
async fn a_conflict_of_two_hosts_is_resolved_by_its_actor() {
    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
    const OWN: &str = ".aime/runs/r/private/b-1/own/text";
    let world = world().await;
    world.write("client/text", TEXT);
    let begun = world.client.hand_over("r").await.unwrap();
    let a = world.work_by(0, &begun, Some("a"), "text", &TEXT.replace("one", "a's")).await;
    let b = world.work_by(1, &begun, Some("b"), "text", &TEXT.replace("one", "b's")).await;
    let (shared, private, conflicts) = world.conflict(0, (&begun, &a, &b), Vec::new()).await;
    let conflict_of = |resolved: bool, kept: Option<&str>| {
        let conflict = serde_json::json!({"task": "b", "path": "text", "kind": "text", "resolved": resolved});
        let (mut conflict, kept) = (conflict, kept.map(serde_json::Value::from));
        kept.into_iter().for_each(|kept| conflict["kept"] = kept);
        vec![conflict]
    };
    let values = |found: &[FoundConflict]| found.iter().map(|found| serde_json::to_value(&found.conflict).unwrap()).collect::<Vec<_>>();
    assert_eq!(values(&conflicts), conflict_of(false, Some(OWN)));
    let hunks = "@@ line 1 @@\n<<<<<<< in the working folder\na's\n=======\nb's\n>>>>>>> by this task\ntwo\nthree\nfour\n";
    assert_eq!(conflicts[0].hunks, hunks);
    // Another task goes on from the shared state meanwhile, which keeps the version of `b`.
    let c = world.work_by(0, &shared, Some("c"), "text", &TEXT.replace("one", "a's").replace("seven", "7")).await;
    assert_eq!(world.read(&format!("0/{OWN}")), TEXT.replace("one", "b's"));
    let same = world.work_by(1, &private, Some("b"), "new", "b's\n").await;
    assert!(world.read("1/text").starts_with("<<<<<<<"), "its actor goes on between markers");
    let (still, private, again) = world.conflict(1, (&begun, &c, &same), conflicts).await;
    assert_eq!((&still, &private, values(&again)), (&c, &same, conflict_of(false, Some(OWN))), "they are still there");
    let resolved = world.work_by(1, &same, Some("b"), "text", &TEXT.replace("one", "a's\nb's")).await;
    let MergeOutcome::Clean { tree, files, changes, conflicts } = world.merge(0, (&begun, &c, &resolved), again).await else { panic!() };
    assert_eq!(values(&conflicts), conflict_of(true, None));
    let changed: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.did.name(), change.added, change.removed)).collect();
    assert_eq!((files, changed), (2, vec![("new", "created", 1, 0), ("text", "changed", 1, 0)]));
    assert_eq!(world.take_back(&tree).await, ImportOutcome::Imported);
    assert_eq!(world.read("client/text"), TEXT.replace("one", "a's\nb's").replace("seven", "7"));
    assert!(!world.root.path().join("client/.aime/runs/r/private").exists(), "both versions are in the file");
}

/// The work of a task that did not resolve its conflict comes back beside the folder's files.
// Requirement: 9.2
#[tokio::test]
async fn the_version_that_lost_comes_back() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let (one, two) = (world.work(0, &begun, "a", "1").await, world.work(1, &begun, "a", "2").await);
    let (shared, _, conflicts) = world.conflict(0, (&begun, &one, &two), Vec::new()).await;
    assert_eq!(world.take_back(&shared).await, ImportOutcome::Imported);
    let kept = conflicts[0].conflict.kept.clone().unwrap();
    assert_eq!((world.read("client/a"), world.read(&format!("client/{kept}"))), ("1".to_owned(), "2".to_owned()));
}

/// The work of a stopped actor is merged only without a conflict; otherwise the actor continues from its state.
#[tokio::test]
async fn work_that_was_stopped_waits_where_it_conflicts() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let (one, two, three) =
        (world.work(0, &begun, "a", "1").await, world.work(1, &begun, "a", "2").await, world.work(1, &begun, "b", "3").await);
    let partial = async |theirs: &WorkspaceSnapshot| {
        let work = TaskWork::new(&RunId::new("r").unwrap(), &TaskId::new("b").unwrap(), "b-1");
        let work = TaskWork { is_partial: true, ..work };
        let order = MergeInput { work, from: Some(begun.clone()), ours: one.clone(), theirs: theirs.clone() };
        world.hosts[0].merge(&order).await.unwrap()
    };
    assert_eq!(partial(&two).await, MergeOutcome::Conflict { tree: one.clone(), private: two.clone(), conflicts: Vec::new() });
    assert!(matches!(partial(&three).await, MergeOutcome::Clean { files: 0, .. }));
}

/// A call that uses the folder of a host for long holds up no merge there of what other hosts have done.
#[tokio::test]
async fn work_is_merged_while_a_call_goes_on() {
    let world = world().await;
    world.write("client/a", "0");
    let begun = world.client.hand_over("r").await.unwrap();
    let (one, two) = (world.work(0, &begun, "b", "1").await, world.work(0, &begun, "c", "2").await);
    let call = world.hosts[1].check_out(&begun, "r", None).await.unwrap();
    let tree = world.merged(1, &begun, &one, &two).await;
    world.write("1/d", "3");
    let three = handed_back(call).await;
    let all = world.merged(1, &begun, &tree, &three).await;
    assert_eq!(world.take_back(&all).await, ImportOutcome::Imported);
    assert_eq!(["a", "b", "c", "d"].map(|file| world.read(&format!("client/{file}"))).concat(), "0123");
}
