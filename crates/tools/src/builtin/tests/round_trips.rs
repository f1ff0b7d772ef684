//! Tests that texts of all kinds are written and read byte for byte.

use std::fs;

use serde_json::json;

use super::{Place, has_python};

/// Returns texts that a faulty implementation might corrupt.
fn texts() -> Vec<(&'static str, String)> {
    let planes: String = [0x41, 0xe9, 0x3b1, 0x4e2d, 0xd7ff, 0xe000, 0xfffd, 0x1_f600, 0x2_0000, 0xe_0041, 0xf_0000, 0x10_fffd]
        .into_iter()
        .filter_map(char::from_u32)
        .collect();
    vec![
        ("a shell's own letters", "cost $HOME `id` $(id) ${x} \\n \\\\ 'one' \"two\" !! ~ * ? [a] {b,c} # %s &; | < >\n".to_owned()),
        ("a heredoc within", "cat <<'EOF'\nnot $expanded\nEOF\ncat <<-X\n\ttab\nX\n".to_owned()),
        ("Windows lines", "one\r\ntwo\r\n\r\nfour\r\n".to_owned()),
        ("mixed lines", "one\r\ntwo\nthree\rstill three\n".to_owned()),
        ("no end", "one\ntwo".to_owned()),
        ("blank lines", "\n\n  \n\t\none\n\n".to_owned()),
        ("all planes", format!("{planes}\ne\u{301} \u{200d} \u{202e}back\u{202c} \u{2028} \u{feff}\n")),
        ("a byte order mark", "\u{feff}first\n".to_owned()),
        ("control characters", "\u{1}\u{7}\u{8}\u{b}\u{c}\u{1b}[31mred\u{1b}[0m\u{7f}\u{85}\n".to_owned()),
        ("a long line", format!("{}\n", "x".repeat(200_000))),
        ("JSON in a text", "{\"a\": \"\\u0000 \\\" \\\\\", \"b\": [1]}\n".to_owned()),
        ("marks of a patch", "*** not a mark\n-- a comment\n++i;\n@@ no\n".to_owned()),
    ]
}

fn bytes(place: &Place) -> Vec<u8> {
    fs::read(place.root().join("f")).unwrap()
}

// Requirement: 8.23
#[tokio::test]
async fn write_file_and_read_file_keep_every_byte() {
    for (what, text) in texts() {
        let mut place = Place::new(&[]);
        place.context = place.context.clone().with_whole_results();
        place.call("write_file", json!({"path": "f", "content": text})).await.unwrap();
        assert_eq!(bytes(&place), text.as_bytes(), "{what}");
        assert_eq!(place.text("read_file", json!({"path": "f"})).await, text, "{what}");
    }
}

// Requirement: 8.23
#[tokio::test]
async fn edit_file_keeps_every_byte_around_a_change() {
    for (what, text) in texts() {
        let place = Place::new(&[("f", &format!("{text}<here>{text}"))]);
        place.call("edit_file", json!({"path": "f", "old_text": "<here>", "new_text": "<there>"})).await.unwrap();
        assert_eq!(bytes(&place), format!("{text}<there>{text}").as_bytes(), "{what}");
    }
    // Replace a part of a file that has no other line breaks to keep.
    for (what, text) in texts().into_iter().filter(|(_, text)| !text.contains('\r')) {
        let place = Place::new(&[("f", "[here]\n")]);
        place.call("edit_file", json!({"path": "f", "old_text": "[here]", "new_text": text})).await.unwrap();
        assert_eq!(bytes(&place), format!("{text}\n").as_bytes(), "{what}");
    }
}

// Requirement: 8.23
#[tokio::test]
async fn apply_patch_keeps_every_byte_in_a_change_and_around_it() {
    for (what, text) in texts() {
        let place = Place::new(&[("f", &format!("{text}\n<here>\n{text}"))]);
        let patch = "*** Begin Patch\n*** Update File: f\n@@\n-<here>\n+<there>\n*** End Patch";
        place.call("apply_patch", json!({"patch": patch})).await.unwrap();
        assert_eq!(bytes(&place), format!("{text}\n<there>\n{text}").as_bytes(), "{what}");
    }
    // A new file ends with a line break, and has only one kind of them.
    for (what, text) in texts().into_iter().filter(|(_, text)| text.ends_with('\n') && (!text.contains('\r') || !text.contains("two\nt"))) {
        let place = Place::new(&[]);
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let lines: String = text.split_terminator(ending).map(|line| format!("+{line}{ending}")).collect();
        let patch = format!("*** Begin Patch{ending}*** Add File: f{ending}{lines}*** End Patch{ending}");
        place.call("apply_patch", json!({"patch": patch})).await.unwrap();
        assert_eq!(bytes(&place), text.as_bytes(), "{what}");
    }
}

// Requirement: 8.23
#[tokio::test]
async fn a_heredoc_of_bash_keeps_every_byte() {
    for (what, text) in texts() {
        let place = Place::new(&[]);
        // The length of a program argument is limited.
        if text.len() > 100_000 {
            continue;
        }
        let command = format!("cat > f <<'END_OF_THIS'\n{text}\nEND_OF_THIS\n");
        place.call("bash", json!({"command": command})).await.unwrap();
        assert_eq!(bytes(&place), format!("{text}\n").as_bytes(), "{what}");
    }
}

// Requirement: 8.23
#[tokio::test]
async fn python_keeps_every_byte() {
    if !has_python() {
        return;
    }
    for (what, text) in texts() {
        let place = Place::new(&[]);
        // A JSON string is also a Python string, with non-ASCII letters kept.
        let code = format!("import json\nopen('f', 'w', newline='').write(json.loads({}))", json!(json!(text).to_string()));
        place.call("python", json!({"code": code})).await.unwrap();
        assert_eq!(bytes(&place), text.as_bytes(), "{what}");
    }
}

// Requirement: 8.23
#[tokio::test]
async fn nul_bytes_are_refused() {
    let place = Place::new(&[("f", "as it was\n")]);
    let calls = [
        ("write_file", json!({"path": "f", "content": "a\0b"}), "content contains a NUL byte; write_file writes text only"),
        (
            "edit_file",
            json!({"path": "f", "old_text": "as", "new_text": "a\0s"}),
            "new_text contains a NUL byte; edit_file changes text only",
        ),
        ("bash", json!({"command": "echo a\0b > f"}), "NUL"),
        ("read_file", json!({"path": "f\0"}), "contains a NUL byte"),
    ];
    for (tool, parameters, expected) in calls {
        let text = place.text(tool, parameters).await;
        assert!(text.starts_with("Error: ") && text.to_lowercase().contains(&expected.to_lowercase()), "{tool}: {text}");
    }
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-as it was\n+a\0s\n*** End Patch";
    let text = place.text("apply_patch", json!({"patch": patch})).await;
    assert!(text.contains("would hold a NUL byte"), "{text}");
    assert_eq!(place.content("f"), "as it was\n");
}
