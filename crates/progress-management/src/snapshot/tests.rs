use serde_json::json;

use super::*;
use crate::testing::*;

fn rich() -> ProgressState {
    let mut state = state("a\nb: a\ng/\ng/c");
    state.conclude("a", done("text", json!({"n": [1, null]}))).failed("b", true);
    state.patch(vec![]);
    state
}

// Requirement: 7.1, 7.9
#[test]
fn a_snapshot_reads_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep").join("plan.json");
    write_snapshot(&path, &rich()).unwrap();
    write_snapshot(&path, &rich()).unwrap();
    assert_eq!(read_snapshot(&path).unwrap(), rich());
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["plan.json"], "nothing half-written stays behind");
    let order: Vec<String> = read_snapshot(&path).unwrap().tasks.keys().map(ToString::to_string).collect();
    assert_eq!(order, ["a", "b", "g", "c"], "tasks keep the order of the plan");
}

// Requirement: 7.9
#[test]
fn a_failed_write_leaves_the_former_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = write_snapshot(&file.join("plan.json"), &rich()).unwrap_err();
    assert!(matches!(error, SnapshotError::Write { .. }), "{error}");
    assert!(error.to_string().ends_with("could not be written; the journal still holds the run"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn damaged_files_are_named_with_the_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    assert!(matches!(read_snapshot(&path), Err(SnapshotError::Read { .. })));
    write_snapshot(&path, &rich()).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    let cases = [
        (whole.get(..whole.len() / 2).unwrap().to_owned(), "is damaged (EOF while parsing"),
        (String::new(), "is damaged (EOF while parsing"),
        ("[]".to_owned(), "is damaged (it has no schema)"),
        (r#"{"schema": "aime.progress/v1"}"#.to_owned(), "is damaged (missing field `state`)"),
        (whole.replace("\"running\"", "\"walking\"").replace("\"failed\"", "\"walking\""), "is damaged (unknown variant `walking`"),
        (
            whole.replace(PROGRESS_SCHEMA, "aime.progress/v9"),
            "is \"aime.progress/v9\", and this version of aime reads \"aime.progress/v1\"",
        ),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).unwrap();
        let error = read_snapshot(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("plan.json") && error.contains("can be rebuilt from the journal"), "{error}");
    }
}

// Requirement: 7.19
#[test]
fn a_snapshot_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    let mut state = rich();
    state.tasks.get_mut(&id("a")).unwrap().attempts = 0;
    state.version += 1;
    write_snapshot(&path, &state).unwrap();
    let error = read_snapshot(&path).unwrap_err();
    let SnapshotError::Inconsistent { found, .. } = &error else { panic!("{error}") };
    assert_eq!(found.len(), 2, "{error}");
    assert!(error.to_string().contains("was never started") && error.to_string().contains("can be rebuilt from the journal"), "{error}");
}

/// The published format, with the order of its members.
// Requirement: 7.1, 7.11
#[test]
fn the_format_is_the_published_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/progress-v1.json");
    let state = read_snapshot(&path).unwrap();
    assert_eq!(state, rich());
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("plan.json");
    write_snapshot(&written, &state).unwrap();
    let text = fs::read_to_string(written).unwrap();
    assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&document).unwrap() + "\n", fs::read_to_string(path).unwrap());
}
