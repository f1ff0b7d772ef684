mod git;

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::{
    parse::{Hunk, Section, Sign, parse},
    place::apply,
};
use crate::{ToolError, builtin::tests::Place};

/// Returns the text after the patch's only change.
fn changed(text: &str, patch: &str) -> Result<String, String> {
    match parse(patch)?.as_slice() {
        [Section::Update { hunks, .. }] => apply(text, hunks).map(|applied| applied.text),
        other => panic!("{other:?}"),
    }
}

/// Returns a change of one file in the `*** Begin Patch` format.
fn update(lines: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{lines}\n*** End Patch")
}

#[test]
fn changes_find_their_places_and_keep_what_they_do_not_touch() {
    let table = [
        // Columns: file, change, file afterwards.
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
        ("a\nb\nc\n", "-b\n+B\n+B2", "a\nB\nB2\nc\n"),
        ("a\nb\nc\n", "@@\n-a\n@@\n c\n+d", "b\nc\nd\n"),
        ("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+B2\n c", "a\r\nB\r\nB2\r\nc\r\n"),
        ("a\nb\r\nc\n", "@@\n-b\n+B\n c", "a\nB\r\nc\n"),
        ("a\nb", "@@\n-b\n+B", "a\nB"),
        ("a\nb", "@@\n a\n+between\n b", "a\nbetween\nb"),
        ("a\nb", "@@\n b\n+c", "a\nb\nc"),
        ("a\n", "@@\n+b\n*** End of File", "a\nb\n"),
        ("", "@@\n+a", "a\n"),
        ("a", "@@\n-a", ""),
        (
            "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n",
            "@@ fn b() {\n-    x();\n+    y();",
            "fn a() {\n    x();\n}\nfn b() {\n    y();\n}\n",
        ),
        (
            "class A\n  def f\n    1\nclass B\n  def f\n    1\n",
            "@@ class B\n@@   def f\n-    1\n+    2",
            "class A\n  def f\n    1\nclass B\n  def f\n    2\n",
        ),
        ("x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n"),
        // Some models do not copy white space at line ends; the file keeps its own.
        ("a  \nb\n", "@@\n a\n-b\n+B", "a  \nB\n"),
        // Some models omit the space of a blank line.
        ("a\n\nb\n", "@@\n a\n\n-b\n+B", "a\n\nB\n"),
        ("\u{feff}ä\n中\n😀\n", "@@\n-中\n+文", "\u{feff}ä\n文\n😀\n"),
        // The byte order mark stays, and a change of the first line need not include it.
        ("\u{feff}a\r\nb\r\n", "@@\n-a\n+A\n b", "\u{feff}A\r\nb\r\n"),
        ("\u{feff}a\n", "@@\n-a\n+A\n+B", "\u{feff}A\nB\n"),
        ("cafe\u{301}\nb\n", "@@\n caf\u{e9}\n-b\n+B", "cafe\u{301}\nB\n"),
    ];
    for (text, lines, expected) in table {
        assert_eq!(changed(text, &update(lines)).as_deref(), Ok(expected), "{text:?} {lines:?}");
    }
}

/// Models omit the `+` of a blank line.
#[test]
fn blank_lines_of_a_new_file_are_kept() {
    let table = [
        ("+One\n\n+Two", "One\n\nTwo\n"),
        ("+One\n\n  \n+\n+Two\n\n\n", "One\n\n\n\nTwo\n"),
        ("\n+One", "One\n"),
        ("+\n+One\n+\n\n", "\nOne\n\n"),
        ("+One\n\n```", "One\n"),
        ("", ""),
    ];
    for (lines, expected) in table {
        for (ending, expected) in [("\n", expected.to_owned()), ("\r\n", expected.replace('\n', "\r\n"))] {
            let patch = format!("*** Begin Patch\n*** Add File: f\n{lines}\n*** Delete File: g\n*** End Patch\n").replace('\n', ending);
            let sections = parse(&patch).unwrap();
            assert!(
                matches!(sections.as_slice(), [Section::Add { content, .. }, Section::Delete { .. }] if *content == expected),
                "{sections:?}"
            );
        }
    }
}

// Requirement: 8.22
#[test]
fn what_does_not_fit_is_told_as_edit_file_tells_it() {
    let table = [
        (
            "fn main() {\n    work();\n}\n",
            "@@\n-    wrok();\n+    play();",
            "its lines are not in the file. The closest is line 2 (- yours, + the file):\n-    wrok();\n+    work();",
        ),
        (
            "fn main() {\n    work();\n}\n",
            "@@\n-  work();\n+  play();",
            "its lines are not in the file. Only the white space differs from line 2, which read:\n    work();",
        ),
        (
            "x\ny\nx\n",
            "@@\n-x\n+z",
            "its lines are there 2 times, at lines 1, 3; add the lines around the ones you mean, or the line above them behind @@",
        ),
        (
            "a\nb\n",
            "@@\n-b\n+B\n@@\n-a\n+A",
            "change 2: its lines are at line 1, before those of the change that comes first; put changes in the order of the file",
        ),
        (
            "fn main() {\n}\n",
            "@@ fn mian() {\n+x",
            "there is no line `fn mian() {` to stand behind @@. The closest is line 1 (- yours, + the file):\n-fn mian() {\n+fn main() {",
        ),
    ];
    for (text, lines, expected) in table {
        assert_eq!(changed(text, &update(lines)), Err(expected.to_owned()), "{lines:?}");
    }
}

// Requirement: 8.22
#[test]
fn unified_diffs_are_read_even_where_they_count_wrong() {
    let table = [
        ("a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        // Wrong counts and line numbers.
        ("a\nb\nc\n", "--- f\n+++ f\n@@ -7,9 +7,2 @@ fn main()\n a\n-b\n+B\n", "a\nB\nc\n"),
        // The line number decides between equal places.
        ("x\n1\nx\n2\nx\n", "--- f\n+++ f\n@@ -3 +3 @@\n-x\n+y\n", "x\n1\ny\n2\nx\n"),
        ("a\r\nb\r\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nB\r\n"),
        ("a\nb", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n", "a\nB\n"),
        ("a\nb\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n\\ No newline at end of file\n", "a\nB"),
        ("a\nb\n", "--- f\n+++ f\n@@ -1,0 +2 @@\n+between\n", "a\nbetween\nb\n"),
    ];
    for (text, patch, expected) in table {
        assert_eq!(changed(text, patch).as_deref(), Ok(expected), "{patch}");
    }
    let git = "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-a\n+b\n\
               diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
               diff --git a/come b/come\nnew file mode 100644\n--- /dev/null\n+++ b/come\n@@ -0,0 +1,2 @@\n+1\n+2\n\
               diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    let hunk = Hunk { near: Some(1), lines: vec![(Sign::Remove, "a".into()), (Sign::Add, "b".into())], ..Hunk::default() };
    let gone = Hunk { near: Some(1), lines: vec![(Sign::Remove, "x".into())], ..Hunk::default() };
    let expected = [
        Section::Update { path: "old".into(), to: Some("new".into()), hunks: vec![hunk] },
        Section::Delete { path: "gone".into(), hunks: vec![gone] },
        Section::Add { path: "come".into(), content: "1\n2\n".into(), executable: false },
        Section::Update { path: "x".into(), to: Some("y".into()), hunks: vec![] },
    ];
    assert_eq!(parse(git).unwrap(), expected);
}

#[test]
fn prefixes_of_a_diff_come_in_pairs() {
    let table = [
        // Columns: old path, new path, path that is changed, path to which it is moved.
        ("a/lib.rs", "b/lib.rs", "lib.rs", None),
        ("a/a/lib.rs", "b/a/lib.rs", "a/lib.rs", None),
        ("a/old.rs", "b/new.rs", "old.rs", Some("new.rs")),
        ("a/lib.rs", "a/lib.rs", "a/lib.rs", None),
        ("b/lib.rs", "b/lib.rs", "b/lib.rs", None),
        ("b/lib.rs", "a/lib.rs", "lib.rs", None),
        ("lib.rs", "b/lib.rs", "lib.rs", None),
        ("a/old.rs", "new.rs", "a/old.rs", Some("new.rs")),
    ];
    for (old, new, path, to) in table {
        let sections = parse(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")).unwrap();
        let [Section::Update { path: found, to: found_to, .. }] = sections.as_slice() else { panic!("{sections:?}") };
        assert_eq!((found.as_str(), found_to.as_deref()), (path, to), "{old} {new}");
    }
    for (old, new, path) in [
        ("a/gone", "/dev/null", "gone"),
        ("b/gone", "/dev/null", "b/gone"),
        ("/dev/null", "b/come", "come"),
        ("/dev/null", "a/come", "a/come"),
    ] {
        let sections = parse(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n")).unwrap();
        assert_eq!(sections.first().map(Section::path), Some(path), "{old} {new}");
    }
    // The paths of a rename without prefixes may look as if they had some.
    let renamed = "rename from a/x\nrename to b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    let sections = parse(renamed).unwrap();
    assert!(matches!(&sections[..], [Section::Update { path, to: Some(to), .. }] if path == "a/x" && to == "b/y"), "{sections:?}");
}

#[tokio::test]
async fn a_diff_deletes_only_a_file_with_its_lines() {
    let place = Place::new(&[("x", "one\ntwo\n"), ("y", "one\ntwo"), ("z", "one\ntwo\n")]);
    let diff = |path: &str, lines: &str| json!({"patch": format!("--- a/{path}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n{lines}")});
    let table = [
        ("-three\n", "Error: `x`: its lines are not in the file. "),
        ("-one\n", "Error: `x` has lines that the diff does not remove; use `*** Delete File`"),
        (" one\n-two\n", "Error: `x` has lines that the diff does not remove; "),
    ];
    for (lines, expected) in table {
        let text = place.text("apply_patch", diff("x", lines)).await;
        assert!(text.starts_with(expected), "{lines}: {text}");
        assert_eq!(place.content("x"), "one\ntwo\n", "{lines}");
    }
    for (path, lines) in [("x", "-one\n-two\n"), ("y", "-one\n-two\n\\ No newline at end of file\n"), ("z", "")] {
        let text = place.text("apply_patch", diff(path, lines)).await;
        assert_eq!(text, format!("Changed 1 file:\ndeleted `{path}`"));
        assert!(!place.root().join(path).exists(), "{path}");
    }
}

#[test]
fn what_is_no_patch_is_told() {
    let table = [
        ("", "there is no change in the patch: write `*** Begin Patch`"),
        ("*** Begin Patch\n*** End Patch", "there is no change in the patch"),
        ("Here it is:\n*** Update File: f\n@@\n+a", "line 1 of the patch, `Here it is:`: this belongs to no file"),
        ("*** Begin Patch\n*** Update File: f\n@@\nfoo\n*** End Patch", "line 4 of the patch, `foo`: a line of a change begins with"),
        ("*** Begin Patch\n*** Add File: f\nfoo\n*** End Patch", "line 3 of the patch, `foo`: each line of a new file begins with +"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "line 3 of the patch, `*** End Patch`: no change of `f`"),
        ("*** Begin Patch\n*** Update File:\n@@\n+a", "line 2 of the patch, `*** Update File:`: a path is missing"),
        ("@@ -1 +1 @@\n-a\n+b", "line 1 of the patch, `@@ -1 +1 @@`: no file is named before it"),
    ];
    for (patch, expected) in table {
        let error = parse(patch).unwrap_err();
        assert!(error.starts_with(expected), "{patch:?}: {error}");
    }
    // Text that models put around the patch does not matter.
    let fenced = format!("```\n{}\n```\n", update("@@\n-a\n+b"));
    assert_eq!(changed("a\n", &fenced).as_deref(), Ok("b\n"));
}

// Requirement: 8.22
#[tokio::test]
async fn several_files_change_at_once() {
    let place = Place::new(&[("a.txt", "a\nb\n"), ("old.sh", "1\n2\n"), ("gone.txt", "x")]);
    fs::set_permissions(place.root().join("old.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-b\n+B\n*** Add File: new/dir/c.txt\n+one\n+\n+two\n*** Delete File: gone.txt\n\
                 *** Update File: old.sh\n*** Move to: bin/new.sh\n@@\n-2\n+3\n*** Update File: a.txt\n@@\n-a\n+A\n*** End Patch\n";
    let output = place.call("apply_patch", json!({"patch": patch})).await.unwrap();
    assert_eq!(
        output.text,
        "Changed 5 files:\nchanged `a.txt`, +1 -1\nadded `new/dir/c.txt`, +3 -0\ndeleted `gone.txt`\nmoved `bin/new.sh` (was `old.sh`), +1 -1\nchanged `a.txt`, +1 -1"
    );
    assert_eq!(output.value["files"][3], json!({"path": "bin/new.sh", "did": "moved", "from": "old.sh", "added": 1, "removed": 1}));
    assert_eq!(output.references, ["a.txt", "new/dir/c.txt", "bin/new.sh", "a.txt"]);
    let content = |name| place.content(name);
    assert_eq!(
        (content("a.txt"), content("new/dir/c.txt"), content("bin/new.sh")),
        ("A\nB\n".into(), "one\n\ntwo\n".into(), "1\n3\n".into())
    );
    assert!(!place.root().join("gone.txt").exists() && !place.root().join("old.sh").exists());
    assert_eq!(fs::metadata(place.root().join("bin/new.sh")).unwrap().permissions().mode() & 0o777, 0o755);
}

// Requirement: 8.22
#[tokio::test]
async fn a_part_that_does_not_fit_leaves_all_as_it_was() {
    let place = Place::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    fs::write(place.root().join("a.png"), b"\x89PNG\0").unwrap();
    let fits = "*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: c.txt\n+c\n";
    let table = [
        ("*** Update File: b.txt\n@@\n-x\n+y", "`b.txt`: its lines are not in the file. "),
        ("*** Add File: b.txt\n+b", "`b.txt` is there already; use `*** Update File`"),
        ("*** Delete File: b.text", "`b.text` does not exist; did you mean `b.txt`?"),
        ("*** Update File: b.txt\n*** Move to: a.txt", "`a.txt` is there already; `b.txt` cannot be moved to it"),
        ("*** Update File: a.png\n@@\n-x\n+y", "`a.png` is a PNG image; apply_patch changes text only"),
        ("*** Add File: nul\n+a\0b", "`nul` would hold a NUL byte; apply_patch writes text only"),
    ];
    for (part, expected) in table {
        let error = place.text("apply_patch", json!({"patch": format!("*** Begin Patch\n{fits}{part}\n*** End Patch")})).await;
        assert!(error.starts_with(&format!("Error: nothing was changed, since a part does not fit:\n{expected}")), "{part}: {error}");
        assert_eq!((place.content("a.txt").as_str(), place.root().join("c.txt").exists()), ("a\n", false));
    }
    // The error lists all faults.
    let both = "*** Begin Patch\n*** Delete File: x\n*** Delete File: y\n*** End Patch";
    let error = place.text("apply_patch", json!({"patch": both})).await;
    assert!(error.contains("`x` does not exist") && error.contains("`y` does not exist"), "{error}");
    for path in ["../evil", ".aime/evil", "/etc/evil"] {
        let patch = format!("*** Begin Patch\n{fits}*** Add File: {path}\n+evil\n*** End Patch");
        let result = place.call("apply_patch", json!({"patch": patch})).await;
        assert!(matches!(result, Err(ToolError::Denied(_))), "{path}: {result:?}");
        assert_eq!((place.content("a.txt").as_str(), place.root().join("c.txt").exists()), ("a\n", false), "{path}");
    }
}

// Requirement: 8.22
#[tokio::test]
async fn a_failure_in_the_middle_of_writing_puts_the_others_back() {
    let place = Place::new(&[("a.txt", "a\n"), ("read-only.txt", "x\n"), ("z.txt", "z\n")]);
    fs::set_permissions(place.root().join("read-only.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: new/dir/b.txt\n+b\n*** Update File: read-only.txt\n@@\n-x\n+X\n*** Delete File: z.txt\n*** End Patch";
    let error = place.text("apply_patch", json!({"patch": patch})).await;
    assert_eq!(
        error,
        "Error: `read-only.txt` is read-only; make it writable first (`chmod u+w`), or write to another file; the files before it were put back"
    );
    assert_eq!((place.content("a.txt").as_str(), place.content("z.txt").as_str()), ("a\n", "z\n"));
    assert!(!place.root().join("new").exists());
    // The error mentions other files only if there are some.
    let alone = "*** Begin Patch\n*** Update File: read-only.txt\n@@\n-x\n+X\n*** End Patch";
    let error = place.text("apply_patch", json!({"patch": alone})).await;
    assert_eq!(error, "Error: `read-only.txt` is read-only; make it writable first (`chmod u+w`), or write to another file");
}

#[tokio::test]
async fn tolerated_differences_are_reported() {
    let place = Place::new(&[("f", "a  \nb\n"), ("g", "a\r\nb\r\n"), ("h", "a\r\nb\r\n"), ("i", "a\nb\n")]);
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+B\n*** Update File: g\n@@\n a\n-b\n+B\n*** End Patch";
    let text = place.text("apply_patch", json!({"patch": patch})).await;
    let ends = "[matched although it differs in line ends]";
    let crlf = "[written with CRLF line ends, as the file has them]";
    assert_eq!(
        text,
        format!(
            "Changed 2 files:\nchanged `f`, +1 -1 [matched although it differs in blanks at line ends]\nchanged `g`, +1 -1 {ends} {crlf}"
        )
    );
    // Columns: file, line end of the patch, notes.
    let table = [("h", "\r\n", String::new(), "a\r\nB\r\n"), ("i", "\r\n", format!(" {ends}"), "a\nB\n")];
    for (file, ending, notes, expected) in table {
        let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n a\n-b\n+B\n*** End Patch\n").replace('\n', ending);
        let text = place.text("apply_patch", json!({"patch": patch})).await;
        assert_eq!((text, place.content(file).as_str()), (format!("Changed 1 file:\nchanged `{file}`, +1 -1{notes}"), expected));
    }
    assert_eq!((place.content("f").as_str(), place.content("g").as_str()), ("a  \nB\n", "a\r\nB\r\n"));
}
