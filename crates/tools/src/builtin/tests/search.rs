use std::fs;

use serde_json::{Value, json};

use super::Place;

fn project() -> Place {
    let place = Place::new(&[
        ("Cargo.toml", "[package]\n# TODO version\n"),
        ("src/main.rs", "fn main() {\n    // TODO: work\n}\n"),
        ("src/deep/mod.rs", "// nothing\r\nTODO later\r\n"),
        ("target/out.rs", "TODO generated"),
        (".gitignore", "target/\n*.log\n"),
        ("src/.gitignore", "secret.rs\n"),
        ("src/secret.rs", "TODO ignored"),
        ("src/debug.log", "TODO ignored"),
        (".git/config", "TODO"),
        (".aime/notes", "TODO"),
        (".github/ci.yml", "# TODO ci\n"),
    ]);
    fs::write(place.root().join("data.bin"), b"\0\0TODO").unwrap();
    std::os::unix::fs::symlink("../secret", place.root().join("link")).unwrap();
    place
}

// Requirement: 8.3
#[tokio::test]
async fn glob_finds_files_sorted_and_without_ignored_ones() {
    let place = project();
    let table = [
        (json!({"pattern": "**/*.rs"}), json!(["src/deep/mod.rs", "src/main.rs"])),
        (json!({"pattern": "./src/*.rs"}), json!(["src/main.rs"])),
        (json!({"pattern": "*.rs", "path": "src"}), json!(["src/main.rs"])),
        (json!({"pattern": "**/*.{toml,yml}"}), json!([".github/ci.yml", "Cargo.toml"])),
        (json!({"pattern": "**/*.rs", "path": "src/deep"}), json!(["src/deep/mod.rs"])),
        (json!({"pattern": "**/*.log"}), json!([])),
        (json!({"pattern": "**/*.log", "path": "src"}), json!([])),
        (json!({"pattern": "**/config"}), json!([])),
        (json!({"pattern": "*", "path": "target"}), json!(["target/out.rs"])),
        (json!({"pattern": "link"}), json!([])),
        (json!({"pattern": place.root().join("src/*.rs")}), json!(["src/main.rs"])),
    ];
    for (parameters, expected) in table {
        let value = place.value("glob", parameters.clone()).await;
        assert_eq!(value["paths"], expected, "{parameters}");
        assert_eq!(value["count"], expected.as_array().unwrap().len());
    }
}

#[tokio::test]
async fn glob_helps_on() {
    let place = project();
    let table = [
        (json!({"pattern": "*.rs"}), "No file matches `*.rs`. `**/*.rs` finds 2 files."),
        (json!({"pattern": "*.py"}), "No file matches `*.py`."),
        (
            json!({"pattern": "[", "path": "src"}),
            "Error: the pattern cannot be read: error parsing glob '[': unclosed character class; missing ']'",
        ),
        (json!({"pattern": "*", "path": "Cargo.toml"}), "Error: `Cargo.toml` is a file, not a folder"),
        (json!({"pattern": "*", "path": "nowhere"}), "Error: `nowhere` does not exist"),
        (json!({"pattern": "../*"}), "Error: the pattern `../*` leads out of the working folder; use one inside it"),
        (json!({"pattern": "/etc/*"}), "Error: the pattern `/etc/*` leads out of the working folder; use one inside it"),
    ];
    for (parameters, expected) in table {
        assert_eq!(place.text("glob", parameters.clone()).await, expected, "{parameters}");
    }
}

// Requirement: 8.3
#[tokio::test]
async fn grep_tells_path_line_and_text() {
    let place = project();
    let output = place.call("grep", json!({"pattern": "TODO"})).await.unwrap();
    let text = ".github/ci.yml:1:# TODO ci\nCargo.toml:2:# TODO version\nsrc/deep/mod.rs:2:TODO later\nsrc/main.rs:2:    // TODO: work";
    assert_eq!(output.text, text);
    assert_eq!(output.value["count"], 4);
    assert_eq!(output.value["matches"][2], json!({"path": "src/deep/mod.rs", "line": 2, "text": "TODO later"}));
    let paths = |value: &Value| value["matches"].as_array().unwrap().iter().map(|found| found["path"].clone()).collect::<Vec<_>>();
    let table = [
        (json!({"pattern": "TODO", "path": "src"}), json!(["src/deep/mod.rs", "src/main.rs"])),
        (json!({"pattern": "TODO", "path": "src/main.rs"}), json!(["src/main.rs"])),
        (json!({"pattern": "TODO", "path": "target/out.rs"}), json!(["target/out.rs"])),
        (json!({"pattern": "TODO", "glob": "*.rs"}), json!(["src/deep/mod.rs", "src/main.rs"])),
        (json!({"pattern": "TODO", "glob": "src/*.rs"}), json!(["src/main.rs"])),
        (json!({"pattern": "TODO", "glob": "!*.rs"}), json!([".github/ci.yml", "Cargo.toml"])),
        (json!({"pattern": "^\\s+// TODO"}), json!(["src/main.rs"])),
        (json!({"pattern": "(?i)todo CI"}), json!([".github/ci.yml"])),
        (json!({"pattern": "no such thing"}), json!([])),
    ];
    for (parameters, expected) in table {
        let value = place.value("grep", parameters.clone()).await;
        assert_eq!(json!(paths(&value)), expected, "{parameters}");
    }
}

#[tokio::test]
async fn an_empty_choice_is_none() {
    let place = Place::new(&[("a.txt", "one\n")]);
    let all = place.text("grep", json!({"pattern": "one"})).await;
    assert_eq!(place.text("grep", json!({"pattern": "one", "path": "", "glob": ""})).await, all);
    assert_eq!(place.text("glob", json!({"pattern": "*.txt", "path": ""})).await, place.text("glob", json!({"pattern": "*.txt"})).await);
}

#[tokio::test]
async fn grep_tells_what_is_wrong() {
    let place = project();
    assert_eq!(place.text("grep", json!({"pattern": "nowhere", "path": "src"})).await, "No line matches `nowhere` in 3 files.");
    assert_eq!(place.text("grep", json!({"pattern": "x", "path": "gone"})).await, "Error: `gone` does not exist");
    let broken = place.text("grep", json!({"pattern": "main("})).await;
    assert!(broken.starts_with("Error: the pattern cannot be read: ") && broken.contains("put a backslash before"), "{broken}");
}

#[tokio::test]
async fn grep_is_bounded() {
    let many = "match\n".repeat(1_500);
    let place = Place::new(&[("a.txt", &many), ("b.txt", &many), ("wide.txt", &format!("needle{}", "x".repeat(5_000)))]);
    let output = place.call("grep", json!({"pattern": "match"})).await.unwrap();
    assert_eq!(output.value["count"], 1_000);
    assert!(output.text.ends_with("[stopped at 1000 matches; give a narrower pattern, path or glob]"), "{}", output.text);
    let wide = place.value("grep", json!({"pattern": "needle"})).await;
    assert_eq!(wide["matches"][0]["text"].as_str().unwrap().chars().count(), 501);
}
