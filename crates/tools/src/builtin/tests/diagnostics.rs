//! Diagnostics of edited files: results contain only new lines of a command's output.

use serde_json::json;

use super::Place;
use crate::Diagnostics;

/// A command that prints each line with `bad` and its position, as compilers do, and counts its runs.
const LINT: &str = "echo ran >> runs.log; grep -n bad *.txt src/*.txt 2>/dev/null";

fn place(files: &[(&str, &str)], commands: &[(&str, &str)]) -> Place {
    let mut place = Place::new(files);
    place.context.diagnostics = Diagnostics::new(commands.iter().copied()).unwrap();
    place
}

impl Place {
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.root().join("runs.log")).unwrap_or_default().lines().count()
    }
}

#[tokio::test]
async fn only_new_lines_are_shown() {
    let place = place(&[("a.txt", "old bad line\n"), ("src/b.txt", "good\n")], &[("*.txt", LINT)]);
    // The baseline contains the earlier bad lines.
    let text = place.text("edit_file", json!({"path": "src/b.txt", "old_text": "good", "new_text": "bad too"})).await;
    let (_, new) = text.split_once("\nNew since this edit, by `").unwrap();
    assert!(new.ends_with("src/b.txt:1:bad too") && !new.contains("a.txt:1"), "{text}");
    assert_eq!(place.runs(), 2, "before the first edit, and after it");
    // An old line that moves is not new.
    let text = place.text("write_file", json!({"path": "a.txt", "content": "first\nold bad line\n"})).await;
    assert!(!text.contains("New since"), "{text}");
    assert_eq!(place.runs(), 3, "what was printed before is known");
    // A line that was removed and returns is new again.
    for (content, shown) in [("repaired\n", false), ("old bad line\n", true)] {
        let text = place.text("write_file", json!({"path": "a.txt", "content": content})).await;
        assert_eq!(text.contains("New since"), shown, "{text}");
    }
}

#[tokio::test]
async fn commands_run_for_their_files_alone() {
    let patch = "*** Begin Patch\n*** Update File: src/b.txt\n@@\n-good\n+bad\n*** End Patch\n";
    for (tool, parameters, ran) in [
        ("write_file", json!({"path": "new.md", "content": "bad"}), false),
        ("read_file", json!({"path": "a.txt"}), false),
        ("bash", json!({"command": "echo bad > a.txt"}), false),
        ("edit_file", json!({"path": "a.txt", "old_text": "nowhere", "new_text": "bad"}), false),
        ("apply_patch", json!({"patch": patch}), true),
        ("write_file", json!({"path": "./src/new.txt", "content": "bad"}), true),
    ] {
        let place = place(&[("a.txt", "good\n"), ("src/b.txt", "good\n")], &[("*.txt", LINT)]);
        let text = place.text(tool, parameters.clone()).await;
        assert_eq!(text.contains("New since this edit"), ran, "{tool} {parameters}: {text}");
        let most = if ran { 2 } else { 1 };
        assert!(place.runs() <= most, "{tool} {parameters}: {}", place.runs());
    }
}

#[tokio::test]
async fn what_is_shown_is_bounded() {
    let place = place(&[], &[("*.txt", "cat *.txt 2>/dev/null")]);
    let line = "x".repeat(1_000);
    let content: String = (0..40).map(|number| format!("{}{line}\n", "y".repeat(number))).collect();
    let text = place.text("write_file", json!({"path": "a.txt", "content": content})).await;
    let (_, new) = text.split_once("New since this edit").unwrap();
    assert_eq!(new.lines().count(), 1 + 20 + 1, "{new}");
    assert!(new.ends_with("(20 more lines)") && new.lines().all(|line| line.chars().count() <= 300), "{new}");
}

#[test]
fn a_faulty_pattern_is_named() {
    let error = Diagnostics::new([("*.rs", "true"), ("[a", "true")]).unwrap_err();
    assert!(error.to_string().starts_with("`[a` is not a valid file pattern: "), "{error}");
}
