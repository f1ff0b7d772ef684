use serde_json::json;

use super::Place;

// Requirement: 8.2
#[tokio::test]
async fn replaces_what_is_there_once() {
    let place = Place::new(&[("a.rs", "let one = 1;\nlet two = 2;\n")]);
    let output = place.call("edit_file", json!({"path": "a.rs", "old_text": "two = 2", "new_text": "two = 3"})).await.unwrap();
    assert_eq!(output.text, "Changed `a.rs`: 1 replacement, first at line 2.\n-let two = 2;\n+let two = 3;");
    assert_eq!(output.value, json!({"path": "a.rs", "replacements": 1}));
    assert_eq!(output.references, ["a.rs"]);
    assert_eq!(place.content("a.rs"), "let one = 1;\nlet two = 3;\n");
}

// Requirement: 8.2
#[tokio::test]
async fn a_text_that_is_not_unique_needs_more_lines_or_all() {
    let place = Place::new(&[("a.txt", "x\ny\nx\nx\n")]);
    let edit = |all: bool| json!({"path": "a.txt", "old_text": "x", "new_text": "z", "replace_all": all});
    assert_eq!(
        place.text("edit_file", edit(false)).await,
        "Error: old_text occurs 3 times in `a.txt`:\n1: x\n3: x\n4: x\nAdd the lines around the one you mean, or set replace_all"
    );
    assert_eq!(place.content("a.txt"), "x\ny\nx\nx\n");
    assert_eq!(place.value("edit_file", edit(true)).await["replacements"], 3);
    assert_eq!(place.content("a.txt"), "z\ny\nz\nz\n");
}

#[tokio::test]
async fn what_cannot_be_edited_is_told() {
    let place = Place::new(&[("a.txt", "fn main() {\n    work();\n}\n")]);
    std::fs::write(place.root().join("latin.txt"), b"caf\xe9").unwrap();
    std::fs::write(place.root().join("a.png"), b"\x89PNG").unwrap();
    let table = [
        ("a.txt", "", "", "old_text and new_text are the same; nothing would change"),
        ("a.txt", "x", "x", "old_text and new_text are the same; nothing would change"),
        ("b.txt", "x", "y", "`b.txt` does not exist"),
        (
            "latin.txt",
            "x",
            "y",
            "`latin.txt` is not UTF-8 text; edit_file cannot change it: change it with `bash` or `python` in its encoding",
        ),
        ("a.png", "x", "y", "`a.png` is a PNG image; edit_file changes text only"),
        (
            "a.txt",
            "fn main() {\n  work();\n}",
            "y",
            "old_text is not in `a.txt`. Only the white space differs from lines 1 to 3, which read:\nfn main() {\n    work();\n}",
        ),
        (
            "a.txt",
            "    wrok();",
            "y",
            "old_text is not in `a.txt`. The closest is line 2 (- yours, + the file):\n-    wrok();\n+    work();",
        ),
    ];
    for (path, old, new, expected) in table {
        let text = place.text("edit_file", json!({"path": path, "old_text": old, "new_text": new})).await;
        assert_eq!(text, format!("Error: {expected}"), "{path} {old:?}");
    }
}

/// Small models repeat a change.
#[tokio::test]
async fn a_change_that_is_made_already_is_no_error() {
    let file = "[server]\nport = 9090\n  debug = false\n";
    let table = [
        ("port = 8080", "port = 9090", Some(2)),
        ("port = 8080\ndebug = true", "port = 9090\ndebug = false\n", Some(2)),
        // Only whole lines prove that the change was made.
        ("port = 8080", "90", None),
        ("port = 8080", "", None),
        ("port = 8080", "port = 9091", None),
        // Lines that stay prove nothing.
        ("port = 8080\n  debug = false", "  debug = false", None),
    ];
    for (old, new, line) in table {
        let place = Place::new(&[("f", file)]);
        let text = place.text("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await;
        match line {
            Some(line) => assert_eq!(text, format!("`f` has new_text already, at line {line}, and old_text nowhere: the change is made.")),
            None => assert!(text.starts_with("Error: old_text is not in `f`. "), "{text}"),
        }
        assert_eq!(place.content("f"), file);
    }
}

/// A slip in old_text must not let an unmade change count as made.
#[tokio::test]
async fn a_change_is_not_made_where_another_place_is_meant() {
    let functions = "def one():\n    return None\n\n\n# The second\n\n\ndef two():\n    raise NotImplementedError\n";
    let call = "x = area(1)\ny = 2\nx = area(2)\n";
    let block = "def a():\n    log()\n    return 1\n\ndef b():\n    log()\n    return 2\n";
    // Columns: file, old text, new text, line of the new text, line of the place that is meant, if any.
    let table = [
        (functions, "raise NotImplementedError()", "return None", 2, Some("The closest is line 9")),
        (functions, "def two():\n\n    raise NotImplementedError()", "    return None", 2, Some("The closest is lines 8 to 9")),
        (call, "x = area(2);", "x = area(1)", 1, Some("The closest is line 3")),
        (call, "y = 1", "y = 2", 2, None),
        // The place of the new text is closer to the old text than any other.
        (block, "def b():\n    log()\n    return 3", "def b():\n    log()\n    return 2", 5, None),
        ("a\nport = 9090\ntimeout = 80\n", "port = 8080", "port = 9090", 2, None),
        ("port = 9090\n\nport = 9090\n", "port = 8080", "port = 9090", 1, None),
        // The change added a line between those of the old text.
        ("start()\ncheck()\nstop()\nstart()\nstops()\n", "start()\nstop()", "start()\ncheck()\nstop()", 1, None),
        // Lines beside it are alike.
        ("let a = 2;\nlet b = 1;\n", "let a = 1;", "let a = 2;", 1, None),
        ("const a = loadConfig(\"a\");\nconst b = 1;\n", "const a = 1;", "const a = loadConfig(\"a\");", 1, None),
        // A slip in a word, and one in spaces and signs.
        ("done();\nwork();\n", "wrok();", "done();", 1, Some("The closest is line 2")),
        ("if a > b {\nif a < b {\n", "if a<b {", "if a > b {", 1, Some("The closest is line 2")),
        ("x = area(1)\ny = 2\nx = area(2)\n", "x = area(2);", "x = area(1)\ny = 2", 1, Some("The closest is line 3")),
    ];
    for (file, old, new, line, meant) in table {
        let place = Place::new(&[("f", file)]);
        let text = place.text("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await;
        let already = format!("`f` has new_text already, at line {line}, and old_text nowhere: the change is made.");
        let other =
            format!("Error: old_text is not in `f`; new_text is there already, at line {line}, but another place is like old_text, too. ");
        match meant {
            Some(meant) => assert!(text.strip_prefix(&other).is_some_and(|rest| rest.starts_with(meant)), "{old:?}: {text}"),
            None => assert_eq!(text, already, "{old:?}"),
        }
        assert_eq!(place.content("f"), file);
    }
}

/// Small models use an empty old text to append, even after an error.
#[tokio::test]
async fn an_empty_text_is_the_end_of_the_file() {
    let table =
        [("a\nb\n", "c", "a\nb\nc\n", 3), ("a\nb", "c\n", "a\nb\nc\n", 3), ("a\r\n", "b\nc", "a\r\nb\r\nc\r\n", 2), ("", "a", "a\n", 1)];
    for (file, new, expected, line) in table {
        let place = Place::new(&[("f", file)]);
        let text = place.text("edit_file", json!({"path": "f", "old_text": "", "new_text": new})).await;
        let crlf = if file.contains("\r\n") { "\n[written with CRLF line ends, as the file has them]" } else { "" };
        assert_eq!(text, format!("Added at the end of `f`, from line {line}.{crlf}"), "{file:?}");
        assert_eq!(place.content("f"), expected, "{file:?}");
    }
    let place = Place::new(&[]);
    let text = place.text("edit_file", json!({"path": "f", "old_text": "", "new_text": "a"})).await;
    assert_eq!((text.as_str(), place.content("f").as_str()), ("Created `f`.", "a\n"));
}

#[tokio::test]
async fn a_long_change_is_shown_in_part() {
    let place = Place::new(&[("f", &"x\n".repeat(100))]);
    let text = place.text("edit_file", json!({"path": "f", "old_text": "x", "new_text": "y", "replace_all": true})).await;
    assert!(text.starts_with("Changed `f`: 100 replacements, first at line 1.\n-x\n"), "{text}");
    assert!(text.ends_with("\n… 170 more lines") && text.lines().count() == 32, "{text}");
}

#[tokio::test]
async fn line_endings_stay_as_they_are() {
    let table = [
        // Columns: file, old text, new text, file afterwards.
        ("a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "1\n2", "1\r\n2\r\n"),
        ("a\r\nb\r\n", "b", "1\n2", "a\r\n1\r\n2\r\n"),
        ("a\r\nb\nc\n", "b\nc", "1\n2", "a\r\n1\n2\n"),
        ("a\nb\n", "a\nb", "1\n2", "1\n2\n"),
        ("\u{feff}a\nb", "a", "1", "\u{feff}1\nb"),
    ];
    for (file, old, new, expected) in table {
        let place = Place::new(&[("f", file)]);
        place.call("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await.unwrap();
        assert_eq!(place.content("f"), expected, "{file:?} {old:?}");
    }
}

#[tokio::test]
async fn small_differences_are_tolerated_and_reported() {
    let crlf = "[written with CRLF line ends, as the file has them]";
    let ends = "[matched although it differs in line ends]";
    let table = [
        // Columns: file, old text, new text, file afterwards, notes.
        ("a\r\nb\r\nc\r\n", "a\nb", "1\n2", "1\r\n2\r\nc\r\n", vec![ends, crlf]),
        ("a\nb\nc\n", "a\r\nb", "1\r\n2", "1\n2\nc\n", vec![ends]),
        ("a  \nb\n", "a\nb", "1\n2", "1\n2\n", vec!["[matched although it differs in blanks at line ends]"]),
        (
            "x = 'cafe\u{301}'\n",
            "'caf\u{e9}'",
            "'tea'",
            "x = 'tea'\n",
            vec!["[matched although it differs in the Unicode form of letters]"],
        ),
        ("\u{feff}a\r\nb\r\n", "\u{feff}a\nb", "1\n2", "\u{feff}1\r\n2\r\n", vec![ends, crlf]),
        ("a\nb\n", "\u{feff}a", "\u{feff}1", "1\nb\n", vec!["[matched although it differs in the byte order mark]"]),
        ("\u{feff}a\r\nb\r\n", "\u{feff}a\nb", "\u{feff}1\n2", "\u{feff}1\r\n2\r\n", vec![ends, crlf]),
        ("a\nb\n", "a", "1", "1\nb\n", vec![]),
    ];
    for (file, old, new, expected, notes) in table {
        let place = Place::new(&[("f", file)]);
        let text = place.text("edit_file", json!({"path": "f", "old_text": old, "new_text": new})).await;
        assert_eq!(place.content("f"), expected, "{file:?} {old:?}: {text}");
        let got: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(got, notes, "{file:?} {old:?}");
    }
}

#[tokio::test]
async fn several_edits_are_made_together_or_not_at_all() {
    let file = "one\ntwo  \nthree\ntwo\n";
    let edit = |old: &str, new: &str| json!({"old_text": old, "new_text": new});
    let table = [
        (
            vec![edit("one", "1"), edit("two\nthree", "2\n3"), edit("", "end")],
            "1\n2\n3\ntwo\nend\n",
            "Changed `f`: 3 edits.\nedit 2: [matched although it differs in blanks at line ends]\n-one\n-two  \n-three\n+1\n+2\n+3\n+end",
        ),
        // The second edit works on the result of the first.
        (
            vec![edit("one", "three"), json!({"old_text": "three", "new_text": "3", "replace_all": true})],
            "3\ntwo  \n3\ntwo\n",
            "Changed `f`: 2 edits.\n",
        ),
        (
            vec![edit("one", "1"), edit("four", "4"), edit("two", "2")],
            file,
            "Error: nothing was changed, since an edit does not fit:\nedit 2: old_text is not in `f`. ",
        ),
        (vec![edit("one", "1"), edit("x", "x")], file, "Error: edit 2: old_text and new_text are the same; nothing would change"),
        (vec![], file, "Error: edits is empty; give old_text and new_text in each"),
    ];
    for (edits, expected, expected_text) in table {
        let place = Place::new(&[("f", file)]);
        let text = place.text("edit_file", json!({"path": "f", "edits": edits})).await;
        assert!(text.starts_with(expected_text), "{text}");
        assert_eq!(place.content("f"), expected, "{text}");
    }
    let place = Place::new(&[("f", file)]);
    let both = json!({"path": "f", "old_text": "one", "new_text": "1", "edits": [edit("one", "2")]});
    assert_eq!(place.text("edit_file", both).await, "Error: give old_text and new_text, or edits, but not both");
}

#[tokio::test]
async fn edits_at_once_do_not_undo_each_other() {
    let content: String = (0..16).map(|number| format!("<{number}>\n")).collect();
    let place = Place::new(&[("f", &content)]);
    let edits = (0..16).map(|number| {
        let edit = json!({"path": "f", "old_text": format!("<{number}>"), "new_text": format!("[{number}]")});
        place.call("edit_file", edit)
    });
    for edit in futures::future::join_all(edits).await {
        edit.unwrap();
    }
    assert!(!place.content("f").contains('<'), "{}", place.content("f"));
}
