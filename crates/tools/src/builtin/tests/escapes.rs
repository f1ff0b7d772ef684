use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use super::Place;
use crate::ToolError;

/// A tool, and a function that returns its parameters for a path.
type Call = (&'static str, fn(&str) -> Value);

/// Returns paths that lead out of the working folder.
fn escapes(place: &Place) -> Vec<String> {
    let root = place.root();
    symlink("../secret", root.join("link_file")).unwrap();
    symlink("..", root.join("link_up")).unwrap();
    symlink("/", root.join("link_root")).unwrap();
    symlink("/proc/self/cwd", root.join("link_proc")).unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    symlink("../../secret", root.join("sub/link")).unwrap();
    let outer = place.outer.path().canonicalize().unwrap();
    [
        "../secret",
        "sub/../../secret",
        "./../secret",
        "missing/../../secret",
        "link_file",
        "link_up/secret",
        "link_up/w/../secret",
        "sub/link",
        "link_root/etc/passwd",
        "link_proc/Cargo.toml",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "/dev/null",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([outer.join("secret").display().to_string(), root.join("../secret").display().to_string()])
    .collect()
}

// Requirement: 15.8
#[tokio::test]
async fn no_tool_leaves_the_working_folder() {
    let place = Place::new(&[("a.txt", "a")]);
    let calls: [Call; 6] = [
        ("read_file", |path| json!({"path": path})),
        ("write_file", |path| json!({"path": path, "content": "evil"})),
        ("edit_file", |path| json!({"path": path, "old_text": "secret", "new_text": "evil"})),
        ("list_dir", |path| json!({"path": path})),
        ("glob", |path| json!({"path": path, "pattern": "*"})),
        ("grep", |path| json!({"path": path, "pattern": "."})),
    ];
    for path in escapes(&place) {
        for (tool, parameters) in calls {
            let result = place.call(tool, parameters(&path)).await;
            // Lexically, `link_up/w/../secret` is `link_up/secret`.
            assert!(matches!(result, Err(ToolError::Denied(_))), "{tool} {path}: {result:?}");
        }
    }
    assert_eq!(fs::read_to_string(place.outer.path().join("secret")).unwrap(), "the secret word");
}

#[tokio::test]
async fn a_search_does_not_follow_links() {
    let place = Place::new(&[("a.txt", "a word")]);
    escapes(&place);
    let output = place.call("grep", json!({"pattern": "word"})).await.unwrap();
    assert_eq!(output.text, "a.txt:1:a word");
    assert_eq!(place.value("glob", json!({"pattern": "**"})).await["paths"], json!(["a.txt"]));
}

#[tokio::test]
async fn the_folder_of_the_runtime_is_not_written() {
    let place = Place::new(&[(".aime/aime.db", "journal")]);
    symlink(".aime", place.root().join("inner")).unwrap();
    for path in [".aime/aime.db", "./.aime/new", "x/../.aime/new", ".AIME/new", "inner/aime.db"] {
        let result = place.call("write_file", json!({"path": path, "content": "evil"})).await;
        assert!(matches!(result, Err(ToolError::Denied(_))), "{path}: {result:?}");
    }
    let result = place.call("edit_file", json!({"path": ".aime/aime.db", "old_text": "journal", "new_text": "evil"})).await;
    assert!(matches!(result, Err(ToolError::Denied(_))), "{result:?}");
    assert_eq!(place.content(".aime/aime.db"), "journal");
}
