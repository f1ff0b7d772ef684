//! Tests of the work between two states.

use std::{collections::BTreeMap, path::PathBuf};

use proptest::prelude::*;

use super::{Hosts, hosts};
use crate::{Blob, ChangedPath, Commit, MergeResult, WorkHistory};

impl Hosts {
    /// Records work of an author after a state: contents of files, or `None` to remove one.
    async fn work(&self, onto: &Commit, by: &str, files: &[(&str, Option<&str>)]) -> Commit {
        self.there.check_out(onto, "run").await.unwrap();
        for (path, text) in files {
            match text {
                Some(text) => self.write(&format!("there/{path}"), text),
                None => std::fs::remove_file(self.at(&format!("there/{path}"))).unwrap(),
            }
        }
        self.there.record_for(Some(onto), &[], by).await.unwrap()
    }

    /// Merges two states.
    async fn both(&self, ours: &Commit, theirs: &Commit) -> Option<Commit> {
        match self.there.merge(ours, theirs).await.unwrap() {
            MergeResult::Clean(both) => Some(both),
            MergeResult::Conflict(_) => None,
        }
    }

    async fn text(&self, blob: Option<&Blob>) -> Option<String> {
        Some(String::from_utf8(self.there.content(blob?).await.unwrap()).unwrap())
    }

    /// Returns the work with its authors, one line per change.
    async fn author_lines(&self, from: Option<&Commit>, to: &Commit) -> Vec<String> {
        let mut lines = Vec::new();
        for step in self.there.history(from, to).await.unwrap().unwrap().steps {
            let by = step.authors.into_iter().collect::<Vec<_>>().join(" and ");
            for ChangedPath { path, before, after } in step.changes {
                let (before, after) = (self.text(before.as_ref()).await, self.text(after.as_ref()).await);
                lines.push(format!("{by}: {} {before:?} {after:?}", path.display()));
            }
        }
        lines
    }
}

#[tokio::test]
async fn work_is_told_in_an_order_in_which_each_piece_begins_where_the_one_before_it_ended() {
    let hosts = hosts().await;
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n";
    hosts.write("there/gone", "g");
    hosts.write("there/lines", lines);
    let begun = hosts.there.record(None, &[]).await.unwrap();
    let one = hosts.work(&begun, "one", &[("a", Some("1"))]).await;
    let (first, last) = (lines.replace('1', "one"), lines.replace('8', "two"));
    let ours = hosts.work(&one, "one", &[("lines", Some(&first)), ("日 b", Some("b"))]).await;
    let theirs = hosts.work(&begun, "two", &[("c/d", Some("c")), ("lines", Some(&last))]).await;
    let theirs = hosts.work(&theirs, "three", &[("c/d", Some("3")), ("gone", None)]).await;
    let both = hosts.both(&ours, &theirs).await.unwrap();
    let joined = first.replace('8', "two");
    let expected = [
        "one: a None Some(\"1\")".to_owned(),
        format!("one: lines {:?} {:?}", Some(lines), Some(&first)),
        "one: 日 b None Some(\"b\")".to_owned(),
        "two: c/d None Some(\"c\")".to_owned(),
        "three: c/d Some(\"c\") Some(\"3\")".to_owned(),
        "three: gone Some(\"g\") None".to_owned(),
        format!("two: lines {:?} {:?}", Some(&first), Some(&joined)),
    ];
    assert_eq!(hosts.author_lines(None, &both).await, expected);
    // From an intermediate state, and without a path between the states.
    assert_eq!(hosts.author_lines(Some(&one), &both).await, expected[1..]);
    assert_eq!(hosts.author_lines(Some(&both), &both).await, [""; 0]);
    assert_eq!(hosts.there.history(Some(&theirs), &both).await.unwrap(), None);
    assert_eq!(hosts.there.history(None, &both).await.unwrap().unwrap().from, begun);
}

#[tokio::test]
async fn a_state_is_turned_to_and_back_and_what_is_ignored_stays() {
    let hosts = hosts().await;
    hosts.write("there/a", "0");
    hosts.write("there/cache/big", "made again");
    let begun = hosts.there.record(None, &[]).await.unwrap();
    hosts.write("there/.gitignore", "/made\n");
    hosts.write("there/made", "by a build");
    // A file whose name is that of a state is not a state.
    hosts.write(&format!("there/{begun}"), "");
    let after = hosts.work(&begun, "one", &[("a", Some("1")), (".gitignore", Some("/made\n")), ("made", Some("by a build"))]).await;
    assert!(hosts.there.history(None, &after).await.unwrap().is_some());
    hosts.there.reset(&begun).await.unwrap();
    assert_eq!((hosts.read("there/a"), hosts.read("there/.gitignore")), (Some("0".to_owned()), None));
    hosts.there.reset(&after).await.unwrap();
    assert_eq!((hosts.read("there/a"), hosts.read("there/made")), (Some("1".to_owned()), Some("by a build".to_owned())));
}

#[tokio::test]
async fn what_is_a_link_or_may_be_run_is_known() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let hosts = hosts().await;
    hosts.write("there/run", "#!/bin/sh\n");
    let begun = hosts.there.record(None, &[]).await.unwrap();
    symlink("run", hosts.at("there/link")).unwrap();
    std::fs::set_permissions(hosts.at("there/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let after = hosts.there.record_for(Some(&begun), &[], "one").await.unwrap();
    let changed = hosts.there.changed(&begun, &after).await.unwrap();
    let facts = |blob: &Option<Blob>| blob.as_ref().map(|blob| (blob.is_link(), blob.is_executable()));
    let found: Vec<_> =
        changed.iter().map(|changed| (changed.path.to_str().unwrap(), facts(&changed.before), facts(&changed.after))).collect();
    assert_eq!(found, [("link", None, Some((true, false))), ("run", Some((false, false)), Some((false, true)))]);
    assert_eq!(hosts.text(changed[0].after.as_ref()).await.unwrap(), "run");
    let blobs: Vec<&Blob> = changed.iter().filter_map(|changed| changed.after.as_ref()).collect();
    assert_eq!(hosts.there.sizes(&blobs).await.unwrap(), [3, 10]);
}

/// Event on branches of work.
#[derive(Debug, Clone)]
enum Action {
    /// Writes or removes a file on a branch.
    Work { on: usize, file: usize, text: Option<u8> },
    /// Starts a branch at the state of another.
    Begin { on: usize, from: usize },
    /// Merges the work of a branch into another, as runs and actors do.
    Join { on: usize, into: usize },
}

const LINES: usize = 4;

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        4 => (0..LINES, 0..3usize, prop::option::weighted(0.8, 0..3u8)).prop_map(|(on, file, text)| Action::Work { on, file, text }),
        1 => (0..LINES, 0..LINES).prop_map(|(on, from)| Action::Begin { on, from }),
        2 => (0..LINES, 0..LINES).prop_map(|(on, into)| Action::Join { on, into }),
    ];
    prop::collection::vec(action, 1..14)
}

async fn do_all(actions: Vec<Action>) {
    let hosts = hosts().await;
    hosts.write("there/0", "0\n1\n2\n3\n4\n5\n6\n7\n");
    let begun = hosts.there.record(None, &[]).await.unwrap();
    // Current state of each branch, and its state when the work that is merged from it began.
    let mut lines = vec![(begun.clone(), begun.clone()); LINES];
    for action in actions {
        match action {
            Action::Work { on, file, text } => {
                let onto = lines[on].0.clone();
                hosts.there.check_out(&onto, "run").await.unwrap();
                let path = hosts.at(&format!("there/{file}"));
                match text {
                    // Two branches may change different lines of one file.
                    Some(text) if file == 0 && path.exists() => {
                        let before = std::fs::read_to_string(&path).unwrap();
                        std::fs::write(&path, before.replacen(&format!("{}\n", text * 3), &format!("{}{on}\n", text * 3), 1)).unwrap();
                    }
                    Some(text) => std::fs::write(&path, format!("{text}\n")).unwrap(),
                    None => drop(std::fs::remove_file(&path)),
                }
                lines[on].0 = hosts.there.record_for(Some(&onto), &[], &on.to_string()).await.unwrap();
            }
            Action::Begin { on, from } => lines[on] = (lines[from].0.clone(), lines[from].0.clone()),
            Action::Join { on, into } => {
                let ((theirs, base), (ours, _)) = (lines[on].clone(), lines[into].clone());
                let taken = if ours == base { Some(theirs) } else { hosts.both(&ours, &theirs).await };
                if let Some(taken) = taken {
                    lines[into].0 = taken.clone();
                    lines[on] = (taken.clone(), taken);
                }
            }
        }
    }
    for (to, _) in lines {
        let WorkHistory { from, steps } = hosts.there.history(None, &to).await.unwrap().unwrap();
        assert_eq!(from, begun);
        let mut last_seen: BTreeMap<PathBuf, Option<Blob>> = BTreeMap::new();
        let mut before: BTreeMap<PathBuf, Option<Blob>> = BTreeMap::new();
        for changed in steps.into_iter().flat_map(|step| step.changes) {
            assert_ne!(changed.before, changed.after);
            before.entry(changed.path.clone()).or_insert_with(|| changed.before.clone());
            let previous = last_seen.insert(changed.path.clone(), changed.after);
            assert!(previous.is_none_or(|previous| previous == changed.before), "{} does not stand so", changed.path.display());
        }
        let expected: Vec<_> = hosts.there.changed(&begun, &to).await.unwrap();
        let found = last_seen.into_iter().map(|(path, after)| ChangedPath { before: before.remove(&path).flatten(), path, after });
        assert_eq!(found.filter(|changed| changed.before != changed.after).collect::<Vec<_>>(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    // Requirement: 18.13
    #[test]
    fn whatever_is_done_at_once_its_pieces_lead_from_the_first_state_to_the_last(actions in actions()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(do_all(actions));
    }
}
