//! Tests of diffs of git whose files have no hunks.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::super::parse::{Section, parse};
use crate::builtin::tests::Place;

/// Formats the sections, one per line.
fn sections(patch: &str) -> Result<String, String> {
    let line = |section: &Section| match section {
        Section::Add { path, content, executable } => format!("add {path} {content:?}{}", if *executable { " executable" } else { "" }),
        Section::Delete { path, hunks } => format!("delete {path} {}", hunks.len()),
        Section::Update { path, to, hunks } => format!("update {path} {to:?} {}", hunks.len()),
    };
    Ok(parse(patch)?.iter().map(line).collect::<Vec<_>>().join("; "))
}

const EMPTY: &str = "diff --git a/src/e b/src/e\nnew file mode 100644\nindex 0000000..e69de29\n";
const GONE: &str = "diff --git a/g b/g\ndeleted file mode 100644\nindex e69de29..0000000\n";
const RENAME: &str = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
const NEW: &str = "diff --git a/f b/f\nnew file mode 100644\n";
const SAME: &str = "diff --git a/f b/f\nindex 1..2 100644\n";
const HUNK: &str = "--- a/o\n+++ b/o\n@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn files_without_hunks_are_changed() {
    let table = [
        (EMPTY.to_owned(), "add src/e \"\""),
        (GONE.to_owned(), "delete g 0"),
        (RENAME.to_owned(), "update x Some(\"y\") 0"),
        (format!("{EMPTY}{GONE}{RENAME}"), "add src/e \"\"; delete g 0; update x Some(\"y\") 0"),
        (format!("{RENAME}diff --git a/o b/o\n{HUNK}{EMPTY}"), "update x Some(\"y\") 0; update o None 1; add src/e \"\""),
        // The next file has no header of git.
        (format!("{RENAME}{HUNK}"), "update x Some(\"y\") 0; update o None 1"),
        (format!("{EMPTY}{HUNK}"), "add src/e \"\"; update o None 1"),
        (format!("{GONE}{HUNK}"), "delete g 0; update o None 1"),
        (format!("{NEW}\n{HUNK}"), "add f \"\"; update o None 1"),
        // Lines with another path directly after a header count instead of it.
        (format!("{NEW}{HUNK}"), "update o None 1"),
        (format!("{NEW}--- /dev/null\n+++ b/src/f\n@@ -0,0 +1 @@\n+a\n"), "add src/f \"a\\n\""),
        (format!("{EMPTY}--- /dev/null\n+++ b/src/f\n@@ -0,0 +1 @@\n+a\n"), "add src/f \"a\\n\""),
        (format!("{GONE}--- a/src/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), "delete src/g 1"),
        // Files that git names although they are not changed.
        (format!("{SAME}{EMPTY}"), "add src/e \"\""),
        (format!("diff --git a/o b/o\n{HUNK}{SAME}"), "update o None 1"),
        (format!("diff --git a/s b/s\n{SAME}{RENAME}{SAME}"), "update x Some(\"y\") 0"),
        ("rename from x\nrename to y\nrename from v\nrename to w\n".to_owned(), "update x Some(\"y\") 0; update v Some(\"w\") 0"),
        // Paths without prefixes, with blanks, and quoted ones.
        ("diff --git e e\nnew file mode 100644\n".to_owned(), "add e \"\""),
        ("diff --git a/a b b/a b\nnew file mode 100644\n".to_owned(), "add a b \"\""),
        ("diff --git \"a/caf\\303\\251\" \"b/caf\\303\\251\"\nnew file mode 100644\n".to_owned(), "add café \"\""),
        (
            "diff --git \"a/\\344\\270\\255 \\\"x\\\"\" \"b/\\344\\270\\255 \\\"x\\\"\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\344\\270\\255 \\\"x\\\"\"\n@@ -0,0 +1 @@\n+a\n".to_owned(),
            "add 中 \"x\" \"a\\n\"",
        ),
        (
            "diff --git a/run b/run\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+a\n".to_owned(),
            "add run \"a\\n\" executable",
        ),
        ("diff --git a/run b/run\nnew file mode 100755\nindex 0..e69de29\n".to_owned(), "add run \"\" executable"),
    ];
    for (patch, expected) in table {
        assert_eq!(sections(&patch).as_deref(), Ok(expected), "{patch}");
    }
}

#[test]
fn changes_that_are_not_of_text_are_refused() {
    let modes = "apply_patch does not change the mode of a file; leave out the lines `old mode` and `new mode`, and use `chmod` by `bash`";
    let binary = "apply_patch changes text only; leave this file out, and make it with a command by `bash`";
    let unclear = "`rename from` and `rename to` belong together, and one of them is missing";
    let table = [
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "line 2 of the patch, `old mode 100644`", modes),
        (&format!("{HUNK}diff --git a/f b/f\nold mode 100644\n"), "line 7 of the patch, `old mode 100644`", modes),
        ("diff --git a/p b/p\nindex 1..2\nGIT binary patch\ndelta 6\n", "line 3 of the patch, `GIT binary patch`", binary),
        (
            "diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n",
            "line 3 of the patch, `Binary files a/p and b/p differ`",
            binary,
        ),
        (&format!("{HUNK}Binary files p and q/p differ\n"), "line 6 of the patch, `Binary files p and q/p differ`", binary),
        (
            "diff --git a/l b/l\nnew file mode 120000\n",
            "line 2 of the patch, `new file mode 120000`",
            "apply_patch makes and deletes files only",
        ),
        (
            "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\n",
            "line 3 of the patch, `copy from f`",
            "apply_patch does not copy files",
        ),
        (SAME, "line 1 of the patch, `diff --git a/f b/f`", "no change follows it"),
        (&format!("\n{SAME}{SAME}"), "line 2 of the patch, `diff --git a/f b/f`", "no change follows it"),
        (&format!("diff --git a/f b/g\n{EMPTY}"), "line 1 of the patch, `diff --git a/f b/g`", "no change follows it"),
        ("diff --git a/f b/g\nnew file mode 100644\n", "line 1 of the patch, `diff --git a/f b/g`", "its path is unclear"),
        ("diff --git a/f b/g\nrename from f\n", "line 1 of the patch, `diff --git a/f b/g`", unclear),
        ("\nrename to f\n", "line 2 of the patch, `rename to f`", unclear),
    ];
    for (patch, place, fix) in table {
        let error = sections(patch).unwrap_err();
        assert!(error.starts_with(&format!("{place}: {fix}")), "{patch}: {error}");
    }
}

#[tokio::test]
async fn a_diff_of_git_is_carried_out_as_a_whole() {
    let place = Place::new(&[("g", ""), ("x", "x\n"), ("o", "a\n")]);
    let run = "diff --git a/bin/run b/bin/run\nnew file mode 100755\n--- /dev/null\n+++ b/bin/run\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
    let all = format!("{EMPTY}{GONE}{RENAME}{run}diff --git a/o b/o\n{HUNK}");
    let refused = place.text("apply_patch", json!({"patch": format!("{all}diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")})).await;
    assert!(refused.contains("use `chmod` by `bash`") && place.root().join("g").exists(), "{refused}");
    let text = place.text("apply_patch", json!({"patch": all})).await;
    assert_eq!(
        text,
        "Changed 5 files:\nadded `src/e`, +0 -0\ndeleted `g`\nmoved `y` (was `x`), +0 -0\nadded `bin/run`, +1 -0 [executable]\nchanged `o`, +1 -1"
    );
    let mode = |path| fs::metadata(place.root().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("bin/run"), mode("src/e") & 0o111), (0o755, 0));
    assert_eq!([place.content("src/e"), place.content("y"), place.content("o")], ["", "x\n", "b\n"]);
    assert!(!place.root().join("g").exists() && !place.root().join("x").exists());
}

#[tokio::test]
async fn a_later_part_sees_the_parts_before_it() {
    let run = "diff --git a/run b/run\nnew file mode 100755\n";
    let moved = "diff --git a/run b/bin/run\nrename from run\nrename to bin/run\n";
    let gone = "diff --git a/run b/run\ndeleted file mode 100755\n";
    let place = Place::new(&[("x", "a\n"), ("o", "a\n")]);
    let text = place.text("apply_patch", json!({"patch": format!("{run}{moved}")})).await;
    assert_eq!(text, "Changed 2 files:\nadded `run`, +0 -0 [executable]\nmoved `bin/run` (was `run`), +0 -0");
    assert_eq!(fs::metadata(place.root().join("bin/run")).unwrap().permissions().mode() & 0o777, 0o755);
    let text = place.text("apply_patch", json!({"patch": format!("{RENAME}--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")})).await;
    let fault = "`x` is deleted or moved by a part before this one; change it before that";
    assert_eq!(text, format!("Error: nothing was changed, since a part does not fit:\n{fault}"));
    assert_eq!((place.content("x").as_str(), place.root().join("y").exists()), ("a\n", false));
    let text = place.text("apply_patch", json!({"patch": format!("{run}{}", gone.replace("run", "o"))})).await;
    assert_eq!(text, "Changed 2 files:\nadded `run`, +0 -0 [executable]\ndeleted `o`");
}
