use std::fs;

use serde_json::{Value, json};

use super::Place;
use crate::{RuleLists, ToolContext, pdf::tests::document_bytes};

// Requirement: 8.1
#[tokio::test]
async fn read_file_gives_plain_text_and_says_what_is_left() {
    let place = Place::new(&[("a.txt", "1\n2\n3\n4\n"), ("no_end.txt", "x\ny"), ("empty", ""), ("src/main.rs", ""), ("src/log.txt", "")]);
    let table = [
        (json!({"path": "a.txt"}), "1\n2\n3\n4\n"),
        (json!({"path": "./a.txt", "offset": 3}), "3\n4\n"),
        (json!({"path": "a.txt", "limit": 2}), "1\n2\n[lines 1 to 2 of 4; go on with read_file {\"path\":\"a.txt\",\"offset\":3}]"),
        (
            json!({"path": "a.txt", "offset": "2", "limit": 1}),
            "2\n[lines 2 to 2 of 4; go on with read_file {\"path\":\"a.txt\",\"offset\":3}]",
        ),
        (json!({"path": "no_end.txt"}), "x\ny"),
        (json!({"path": "empty"}), "(empty)"),
        (json!({"path": "a.txt", "offset": 5}), "Error: `a.txt` has 4 lines; offset 5 is behind its end"),
        (json!({"path": "a.txt", "offset": 0}), "Error: The parameters do not fit: `offset` must be at least 1, not 0."),
        (json!({"path": "b.txt"}), "Error: `b.txt` does not exist"),
        (json!({"path": "src/Main.rs"}), "Error: `src/Main.rs` does not exist; did you mean `src/main.rs`?"),
        (json!({"path": "far/away.xyz"}), "Error: `far/away.xyz` does not exist"),
        (json!({"path": "logs/log.txt"}), "Error: `logs/log.txt` does not exist; did you mean `src/log.txt`?"),
        (json!({"path": "away/empty"}), "Error: `away/empty` does not exist; did you mean `empty`?"),
        (json!({"path": "src"}), "Error: `src` is a folder, not a file; use `list_dir`"),
        (json!({"path": ""}), "Error: the path is empty; `.` is the working folder"),
        (json!({}), "Error: The parameters do not fit: `path` or `paths` is missing."),
        (json!({"paths": []}), "Error: paths is empty; name a file in it, or in path"),
        (
            json!({"path": "~/x"}),
            "Error: `~/x` is in the home folder, and file tools stay in the working folder; use a path relative to that, or `./~` for a file of this name",
        ),
        (
            json!({"path": "C:\\x"}),
            "Error: `C:\\x` names a drive of Windows, and there are none here; use a path relative to the working folder, with `/`",
        ),
    ];
    for (parameters, expected) in table {
        assert_eq!(place.text("read_file", parameters.clone()).await, expected, "{parameters}");
    }
    let output = place.call("read_file", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(output.value, Value::Null, "references insert the text");
}

/// Returns a PNG's signature and header; the code under test ignores the pixels.
fn png(width: u32, height: u32) -> Vec<u8> {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &size, &[8, 6, 0, 0, 0, 0, 0, 0, 0]].concat()
}

// Requirement: 8.28
#[tokio::test]
async fn read_file_gives_images_by_their_content() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
    let place = Place::new(&[("drawing.svg", svg)]);
    let mut large = png(10, 10);
    large.resize(aime_llm::MAX_IMAGE_BYTES + 1, 0);
    let with = "with `bash` or `python`, into another file, and read that one";
    let table: [(&str, &[u8], String); 6] = [
        ("shot.png", &png(640, 480), "shot.png is an image (image/png, 640x480 pixels).".into()),
        ("named.txt", b"GIF89a\x05\0\x03\0\0\0\0", "named.txt is an image (image/gif, 5x3 pixels).".into()),
        (
            "wide.png",
            &png(9_000, 10),
            format!("Error: the image wide.png has 9000x10 pixels, and models take at most 8000 a side: make it smaller first, {with}"),
        ),
        (
            "large.png",
            &large,
            format!("Error: the image large.png has 3750001 bytes, and models take at most 3750000: make it smaller first, {with}"),
        ),
        ("damaged.png", b"\x89PNG\r\n\x1a\n........", "Error: `damaged.png` is a damaged image (image/png, 16 bytes)".into()),
        ("drawing.svg", svg.as_bytes(), svg.into()),
    ];
    for (name, bytes, expected) in table {
        fs::write(place.root().join(name), bytes).unwrap();
        assert_eq!(place.text("read_file", json!({"path": name})).await, expected);
        let images = place.call("read_file", json!({"path": name})).await.map_or(Vec::new(), |output| output.images);
        let expected: Vec<_> = expected.contains("is an image").then(|| aime_llm::Image::new(name, bytes).unwrap()).into_iter().collect();
        assert_eq!(images, expected, "{name}");
    }
}

// Requirement: 8.24
#[tokio::test]
async fn read_file_refuses_what_is_no_text() {
    let place = Place::new(&[]);
    let table: [(&str, &[u8], &str); 2] =
        [("a.bin", b"text\0more", "`a.bin` is a binary file of 9 bytes"), ("a.bmp", b"BM\0\0", "`a.bmp` is a bitmap image of 4 bytes")];
    for (name, bytes, expected) in table {
        fs::write(place.root().join(name), bytes).unwrap();
        assert_eq!(
            place.text("read_file", json!({"path": name})).await,
            format!("Error: {expected}; read_file reads text, images and PDF only; `bash` or `python` may look into it")
        );
    }
    fs::write(place.root().join("bm.txt"), "BM is the name of a road").unwrap();
    assert_eq!(place.text("read_file", json!({"path": "bm.txt"})).await, "BM is the name of a road");
    fs::write(place.root().join("latin.txt"), b"caf\xe9").unwrap();
    let note = "[the file is not UTF-8, and \u{fffd} replaces its other bytes: change it with `bash` or `python` in its encoding]";
    assert_eq!(place.text("read_file", json!({"path": "latin.txt"})).await, format!("caf\u{fffd}\n{note}"));
    // A text that goes on to other tasks has no note, and a character U+FFFD in UTF-8 needs none.
    fs::write(place.root().join("utf8.txt"), "caf\u{fffd}").unwrap();
    assert_eq!(place.text("read_file", json!({"path": "utf8.txt"})).await, "caf\u{fffd}");
    fs::write(place.root().join("long.txt"), [b"\xe9 ".repeat(10_000).as_slice(), b"\nend\n"].concat()).unwrap();
    let long = place.text("read_file", json!({"path": "long.txt"})).await;
    let note = note.trim_start_matches('[');
    assert!(long.contains("[line 1 of 2 has 20001 characters") && long.ends_with(note) && long.chars().count() <= 10_000, "{long}");
    let mut task = place;
    task.context = task.context.clone().with_whole_results();
    assert_eq!(task.text("read_file", json!({"path": "latin.txt"})).await, "caf\u{fffd}");
}

#[tokio::test]
async fn write_file_keeps_text_in_other_encodings() {
    let place = Place::new(&[("utf8.txt", "caf\u{fffd}\n")]);
    let refused = |path| {
        format!(
            "Error: not written: `{path}` is not UTF-8, and each \u{fffd} in content would replace bytes of it; change it with `bash` or `python` in its encoding"
        )
    };
    let wrote = |path, bytes| format!("Wrote `{path}`: 1 line, {bytes} bytes.");
    let table: [(&str, &[u8], &str, String); 4] = [
        ("latin.txt", b"caf\xe9\n", "caf\u{fffd}s\n", refused("latin.txt")),
        ("gbk.txt", b"\xd6\xd0\xce\xc4\n", "\u{fffd}\u{fffd}\n", refused("gbk.txt")),
        ("latin.txt", b"caf\xe9\n", "cafés\n", wrote("latin.txt", 7)),
        ("binary", b"\xe9\0", "caf\u{fffd}\n", wrote("binary", 7)),
    ];
    for (path, before, content, expected) in table {
        fs::write(place.root().join(path), before).unwrap();
        assert_eq!(place.text("write_file", json!({"path": path, "content": content})).await, expected, "{path}");
        let after = if expected.starts_with("Wrote") { content.as_bytes() } else { before };
        assert_eq!(fs::read(place.root().join(path)).unwrap(), after, "{path}");
    }
    let text = place.text("write_file", json!({"path": "utf8.txt", "content": "the\u{fffd}\n"})).await;
    assert_eq!(text, "Wrote `utf8.txt`: 1 line, 7 bytes, in the place of 1 line.");
}

// Requirement: 8.34
#[tokio::test]
async fn read_file_gives_the_text_of_a_pdf() {
    let place = Place::new(&[("broken.pdf", "%PDF-1.7")]);
    let pages: Vec<String> = (1..=3).map(|page| format!("BT /F 12 Tf 72 700 Td (text {page}) Tj ET")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    fs::write(place.root().join("a.pdf"), document_bytes(&pages)).unwrap();
    let left = "[page 3 of 3 left out; offset and limit count pages here: go on with offset 3]";
    let table = [
        (json!({"path": "a.pdf", "limit": 2}), format!("[page 1 of 3]\ntext 1\n\n[page 2 of 3]\ntext 2\n\n{left}")),
        (json!({"path": "a.pdf", "offset": 3}), "[page 3 of 3]\ntext 3".to_owned()),
        (json!({"path": "a.pdf", "offset": 4}), "Error: `a.pdf` is a PDF with 3 pages; page 4 is behind its end".to_owned()),
    ];
    for (parameters, expected) in table {
        assert_eq!(place.text("read_file", parameters.clone()).await, expected, "{parameters}");
    }
    let broken = place.text("read_file", json!({"path": "broken.pdf"})).await;
    assert!(broken.starts_with("Error: `broken.pdf` is a PDF that cannot be read: "), "{broken}");
}

#[tokio::test]
async fn read_file_cuts_for_a_model_at_a_line_and_not_for_a_task() {
    let long: String = (1..=3_000).map(|number| format!("line {number}\n")).collect();
    let place = Place::new(&[("long.txt", &long), ("wide.txt", &"x".repeat(20_000))]);
    let text = place.text("read_file", json!({"path": "long.txt"})).await;
    let (shown, note) = text.rsplit_once('\n').unwrap();
    let last = shown.lines().count();
    assert!(long.starts_with(shown) && text.chars().count() <= 10_000);
    assert_eq!(note, format!("[lines 1 to {last} of 3000; go on with read_file {{\"path\":\"long.txt\",\"offset\":{}}}]", last + 1));
    let next = place.text("read_file", json!({"path": "long.txt", "offset": last + 1})).await;
    assert!(next.starts_with(&format!("line {}\n", last + 1)));

    let wide = place.text("read_file", json!({"path": "wide.txt"})).await;
    assert!(wide.ends_with("[line 1 of 1 has 20000 characters, 9800 of them here; use `grep` or `bash` to see into it]"), "{wide}");

    let mut task = place;
    task.context = task.context.clone().with_whole_results();
    assert_eq!(task.text("read_file", json!({"path": "long.txt"})).await, long);
    assert_eq!(task.text("read_file", json!({"path": "long.txt", "limit": 1})).await, "line 1\n", "no note in what goes on to others");
}

impl Place {
    /// Sets the limits of a capable model.
    fn capable(mut self) -> Self {
        let limits = aime_llm::ModelLimits { context_tokens: 128_000, ..aime_llm::ModelLimits::default() };
        self.context = self.context.clone().for_model(limits);
        self
    }
}

#[tokio::test]
async fn read_file_numbers_lines_for_capable_models() {
    let place = Place::new(&[("a.txt", "one\n\ntwo"), ("win.txt", "\u{feff}a\r\nb\r\n"), ("empty", "")]).capable();
    let table = [
        (json!({"path": "a.txt"}), "1\tone\n2\t\n3\ttwo"),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "2\t\n[lines 2 to 2 of 3; go on with read_file {\"path\":\"a.txt\",\"offset\":3}]",
        ),
        (json!({"path": "win.txt"}), "1\ta\n2\tb\n[the file begins with a byte order mark; its lines end in CRLF]"),
        (json!({"path": "empty"}), "(empty)"),
        (
            json!({"paths": ["a.txt", "no.txt", "empty"]}),
            "==> a.txt <==\n1\tone\n2\t\n3\ttwo\n==> no.txt <==\nError: `no.txt` does not exist\n==> empty <==\n\n",
        ),
        (json!({"path": "empty", "paths": ["a.txt"]}), "==> empty <==\n\n==> a.txt <==\n1\tone\n2\t\n3\ttwo\n"),
        (
            json!({"paths": ["no.txt", "no"]}),
            "Error: no file could be read:\n==> no.txt <==\nError: `no.txt` does not exist\n==> no <==\nError: `no` does not exist",
        ),
        (
            json!({"paths": ["a.txt", "empty"], "offset": 2}),
            "Error: offset and limit are for one file; read the others in a call of their own",
        ),
    ];
    for (parameters, expected) in table {
        assert_eq!(place.text("read_file", parameters.clone()).await, expected, "{parameters}");
    }
}

#[tokio::test]
async fn several_files_share_the_room() {
    let long: String = (1..=20_000).map(|number| format!("line {number}\n")).collect();
    let place = Place::new(&[("long.txt", &long), ("short.txt", "short\n")]).capable();
    let one = place.text("read_file", json!({"path": "long.txt"})).await;
    assert!((50_000..=51_200).contains(&one.chars().count()), "{}", one.len());
    let both = place.text("read_file", json!({"paths": ["short.txt", "long.txt", "long.txt"]})).await;
    assert!((50_000..=51_200).contains(&both.chars().count()), "{}", both.len());
    assert_eq!(both.matches("go on with read_file {\"path\":\"long.txt\"").count(), 2);
}

#[tokio::test]
async fn write_file_keeps_the_form_of_what_it_replaces() {
    let table = [
        ("\u{feff}a\r\nb\r\n", "1\n2\n", "\u{feff}1\r\n2\r\n", "[kept of the file that was there: CRLF line ends, byte order mark]"),
        ("a\r\n", "1\n", "1\r\n", "[kept of the file that was there: CRLF line ends]"),
        ("\u{feff}a\n", "1\n", "\u{feff}1\n", "[kept of the file that was there: byte order mark]"),
        ("\u{feff}a\n", "\u{feff}1\n", "\u{feff}1\n", ""),
        ("a\r\nb\n", "1\n", "1\n", ""),
        ("a\n", "1\r\n", "1\r\n", ""),
        ("\u{feff}a\r\n", "", "", ""),
    ];
    for (before, content, expected, note) in table {
        let place = Place::new(&[("f", before)]);
        let text = place.text("write_file", json!({"path": "f", "content": content})).await;
        assert_eq!(place.content("f"), expected, "{before:?}");
        assert_eq!(text.lines().nth(1).unwrap_or_default(), note, "{before:?}");
    }
}

#[tokio::test]
async fn a_linked_working_folder_has_two_names() {
    let place = Place::new(&[("src/a.txt", "a")]);
    let link = place.outer.path().join("link");
    std::os::unix::fs::symlink(place.root(), &link).unwrap();
    let folder = aime_sandbox::ConfinedFolder::open(place.root()).unwrap().also_named(&link);
    let deny = RuleLists { deny: vec!["write_file(src/**)".parse().unwrap(), "bash(cat src/*)".parse().unwrap()], ..RuleLists::default() };
    let place = Place { context: ToolContext::new(folder, Default::default()).with_rules(deny), outer: place.outer };
    let at = |path: &str| link.join(path).display().to_string();
    assert_eq!(place.text("read_file", json!({"path": at("src/a.txt")})).await, "a");
    assert_eq!(place.text("glob", json!({"pattern": at("**/*.txt")})).await, "src/a.txt");
    let made = place.text("write_file", json!({"path": at("b.txt"), "content": "b"})).await;
    assert_eq!(made, "Created `b.txt`: 1 line, 1 byte.");
    for path in [at("src/a.txt"), at("./src//a.txt"), at("x/../src/a.txt")] {
        let denied = place.text("write_file", json!({"path": path, "content": "b"})).await;
        assert!(denied.contains("is denied here by the rule `write_file(src/**)`"), "{path}: {denied}");
    }
    let climbing = place.text("read_file", json!({"path": at("../secret")})).await;
    assert!(climbing.contains("is outside of the working folder"), "{climbing}");
    let indirect = format!("{}//w/../link/b.txt", place.outer.path().display());
    assert!(place.text("read_file", json!({"path": indirect})).await.contains("is outside of the working folder"), "{indirect}");
}

// Requirement: 8.1
#[tokio::test]
async fn write_file_makes_and_replaces() {
    let place = Place::new(&[("old.txt", "old")]);
    let new = place.call("write_file", json!({"path": "a/b/new.txt", "content": "ä\n"})).await.unwrap();
    assert_eq!(new.text, "Created `a/b/new.txt`: 1 line, 3 bytes.");
    assert_eq!(new.value, json!({"path": "a/b/new.txt", "bytes": 3, "created": true}));
    assert_eq!(new.references, ["a/b/new.txt"]);
    assert_eq!(place.content("a/b/new.txt"), "ä\n");
    let absolute = place.root().join("old.txt");
    let old = place.call("write_file", json!({"path": absolute, "content": ""})).await.unwrap();
    assert_eq!(old.value, json!({"path": "old.txt", "bytes": 0, "created": false}));
    assert_eq!(place.content("old.txt"), "");
    let text = place.text("write_file", json!({"path": "old.txt/x", "content": ""})).await;
    assert_eq!(text, "Error: `old.txt/x` cannot be: `old.txt` is a file. Delete `old.txt` to have a folder in its place");
}

// Requirement: 8.1
#[tokio::test]
async fn list_dir_tells_names_kinds_and_sizes() {
    let place = Place::new(&[("b.txt", "12"), ("sub/x", ""), (".hidden", "1"), (".aime/aime.db", "")]);
    std::os::unix::fs::symlink("b.txt", place.root().join("link")).unwrap();
    fs::create_dir(place.root().join("void")).unwrap();
    let output = place.call("list_dir", json!({"path": "."})).await.unwrap();
    assert_eq!(output.text, ".hidden (1 byte)\nb.txt (2 bytes)\nlink (link)\nsub/\nvoid/");
    assert_eq!(output.value["count"], 5);
    assert_eq!(output.value["entries"][1], json!({"name": "b.txt", "kind": "file", "size": 2}));
    assert_eq!(output.value["entries"][3]["kind"], "folder");
    assert_eq!(place.text("list_dir", json!({"path": "void"})).await, "`void` is empty.");
    assert_eq!(place.value("list_dir", json!({"path": "sub/"})).await["path"], "sub");
    let file = place.text("list_dir", json!({"path": "b.txt"})).await;
    assert_eq!(file, "Error: `b.txt` is not a folder, or a part of that path is not; use `read_file` for a file");
    assert_eq!(place.text("list_dir", json!({"path": "no"})).await, "Error: `no` does not exist");
}

#[tokio::test]
async fn list_dir_is_bounded_and_counts_all() {
    let place = Place::new(&[]);
    for number in 0..1_010 {
        fs::write(place.root().join(format!("{number:04}")), "").unwrap();
    }
    let output = place.call("list_dir", json!({"path": "."})).await.unwrap();
    assert_eq!((output.value["count"].as_u64(), output.value["entries"].as_array().map(Vec::len)), (Some(1_010), Some(1_000)));
    assert!(output.text.ends_with("[10 entries more; use `glob` for some of them]"), "{}", output.text);
}
