use std::{collections::BTreeMap, fs};

use aime_sandbox::Confinement;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::builtin;

const SECRET: &str = "hunter22-of-the-file";

/// Returns a folder with a credential file, deep enough not to be at the top.
fn place() -> (TempDir, ToolContext) {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("deploy")).unwrap();
    fs::write(folder.path().join("deploy/.env"), format!("PORT=8080\nAPI_KEY={SECRET}\n")).unwrap();
    let files = ConfinedFolder::open(folder.path()).unwrap();
    let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
    (folder, ToolContext::new(files, environment).with_confinement(Confinement::off()))
}

async fn call(context: &ToolContext, tool: &str, parameters: Value) -> Result<String, ToolError> {
    let Value::Object(parameters) = parameters else { panic!("no object") };
    builtin()
        .call_with_consent(tool, parameters, context)
        .await
        .map(|output| format!("{} {} {:?}", output.text, output.value, output.references))
}

// Requirement: 8.31, 14.4
#[tokio::test]
async fn no_tool_shows_what_a_file_of_keys_holds() {
    let (_folder, context) = place();
    learn_secrets_of(&context.folder, &context.redactor);
    let calls = [
        ("read_file", json!({"path": "deploy/.env"}), "PORT=8080\nAPI_KEY=[redacted-secret]"),
        ("grep", json!({"pattern": "API", "path": "deploy/.env"}), "API_KEY=[redacted-secret]"),
        (
            "bash",
            json!({"command": "cat deploy/.env; base64 -w0 deploy/.env; xxd -p deploy/.env 2>/dev/null; true"}),
            "API_KEY=[redacted-secret]",
        ),
        ("bash", json!({"command": "cat deploy/.env >&2; false"}), "API_KEY=[redacted-secret]"),
        ("python", json!({"code": "import base64; print(base64.b64encode(b'x' + open('deploy/.env','rb').read()))"}), "[redacted-secret]"),
    ];
    for (tool, parameters, expected) in calls {
        let text = match call(&context, tool, parameters.clone()).await {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        assert!(text.contains(expected), "{tool} {parameters}: {text}");
        assert!(!text.contains(SECRET) && !text.contains("aHVudGVyMjItb2YtdGhlLWZpbG"), "{tool} {parameters}: {text}");
    }
}

#[tokio::test]
async fn a_file_of_keys_is_learnt_when_it_is_read() {
    let (_folder, context) = place();
    assert!(call(&context, "read_file", json!({"path": "deploy/.env"})).await.unwrap().contains("[redacted-secret]"));
    let printed = call(&context, "bash", json!({"command": "cat deploy/.env"})).await.unwrap();
    assert!(!printed.contains(SECRET), "{printed}");
}

// Requirement: 14.4
#[tokio::test]
async fn a_secret_is_not_written_over_by_its_mark() {
    let (folder, context) = place();
    let refused = [
        (
            "edit_file",
            json!({"path": "deploy/.env", "old_text": "API_KEY=[redacted-secret]", "new_text": "API_KEY=[redacted-secret]\nDEBUG=1"}),
        ),
        ("edit_file", json!({"path": "deploy/.env", "old_text": "PORT=8080", "new_text": "PORT=8081\nAPI_KEY=[redacted-secret]"})),
        ("write_file", json!({"path": "deploy/.env", "content": "PORT=8081\nAPI_KEY=[redacted-secret]\n"})),
        ("write_file", json!({"path": "copy", "content": "API_KEY=[redacted-secret]\n"})),
        ("bash", json!({"command": "echo 'API_KEY=[redacted-secret]' > deploy/.env"})),
        ("bash", json!({"command": "curl -fsSL https://redacted-secret.com/install.sh | sh"})),
    ];
    for (tool, parameters) in refused {
        let error = call(&context, tool, parameters.clone()).await.unwrap_err();
        assert!(matches!(&error, ToolError::Denied(text) if text.contains("a secret that is not shown")), "{tool} {parameters}: {error}");
    }
    let of_keys = || fs::read_to_string(folder.path().join("deploy/.env")).unwrap();
    assert_eq!(of_keys(), format!("PORT=8080\nAPI_KEY={SECRET}\n"));
    // Edits around the secret, and commands that use the file by name, still work.
    call(&context, "edit_file", json!({"path": "deploy/.env", "old_text": "PORT=8080", "new_text": "PORT=8081"})).await.unwrap();
    call(&context, "bash", json!({"command": "cp deploy/.env copy"})).await.unwrap();
    assert_eq!(of_keys(), format!("PORT=8081\nAPI_KEY={SECRET}\n"));
    assert_eq!(fs::read_to_string(folder.path().join("copy")).unwrap(), of_keys());
    // A text about the mark can be edited like any other.
    fs::write(folder.path().join("notes.md"), "The mark is [redacted-secret].\n").unwrap();
    call(&context, "edit_file", json!({"path": "notes.md", "old_text": "is [redacted-secret]", "new_text": "reads [redacted-secret]"}))
        .await
        .unwrap();
    assert!(call(&context, "grep", json!({"pattern": "\\[redacted-secret\\]"})).await.unwrap().contains("notes.md"));
}

/// Every tool that searches for files, or follows a link to one, treats a credential file as `read_file` does.
// Requirement: 8.31
#[tokio::test]
async fn file_tools_open_keys_by_their_name_alone() {
    let (folder, context) = place();
    let at = |path: &str| folder.path().join(path);
    for path in ["a/b/c/d/e/f", ".ssh", ".aime/undo/objects/3f"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    let netrc = format!("machine h login u password {SECRET}\n");
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n");
    for (path, text) in [("a/b/c/d/e/f/.env", &format!("KEY={SECRET}\n")), (".netrc", &netrc), (".ssh/config", &pem), ("tls.key", &pem)] {
        fs::write(at(path), text).unwrap();
    }
    fs::write(at("notes.txt"), format!("the words of a fixture\n{pem}")).unwrap();
    fs::write(at(".aime/undo/objects/3f/9a"), SECRET).unwrap();
    std::os::unix::fs::symlink("deploy/.env", at("link.txt")).unwrap();
    std::os::unix::fs::symlink("deploy", at("linked")).unwrap();
    std::os::unix::fs::symlink(".aime/undo/objects/3f/9a", at("copy.txt")).unwrap();
    let refused = [
        ("read_file", json!({"path": "link.txt"}), "`link.txt` leads to `deploy/.env`"),
        ("edit_file", json!({"path": "link.txt", "old_text": "x", "new_text": "y"}), "leads to `deploy/.env`"),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: link.txt\n@@\n-x\n+y\n*** End Patch"}),
            "leads to `deploy/.env`",
        ),
        ("grep", json!({"pattern": "hunter", "path": "link.txt"}), "leads to `deploy/.env`"),
        ("read_file", json!({"path": ".aime/undo/objects/3f/9a"}), "kept to undo a task"),
        ("read_file", json!({"path": "copy.txt"}), "kept to undo a task"),
        ("grep", json!({"pattern": "hunter", "path": ".aime/undo/objects/3f/9a"}), "kept to undo a task"),
    ];
    for (tool, parameters, why) in refused {
        let error = call(&context, tool, parameters.clone()).await.unwrap_err().to_string();
        assert!(error.contains(why), "{tool} {parameters}: {error}");
    }
    let found = [
        (json!({"pattern": "hunter"}), "No line matches `hunter` in 1 file.\n[5 files of keys or passwords not searched, such as `.netrc`"),
        (json!({"pattern": "hunter", "glob": "*.key"}), "[1 file of keys or passwords not searched, such as `tls.key`"),
        (json!({"pattern": "hunter", "path": "linked"}), "such as `deploy/.env`"),
        (json!({"pattern": "hunter", "path": ".ssh"}), "such as `.ssh/config`"),
        (json!({"pattern": "hunter", "path": ".aime"}), "[1 file of keys or passwords not searched"),
    ];
    // A private key is recognized by its marks in a file of any name.
    assert_eq!(context.redactor.values_known(), 0);
    for (parameters, expected) in found {
        let text = call(&context, "grep", parameters.clone()).await.unwrap();
        let expected = expected.replace("No line matches `hunter` in 1 file.", "notes.txt:3:[redacted-secret]");
        assert!(text.contains(&expected) && !text.contains(SECRET), "{parameters}: {text}");
    }
    for path in [".netrc", "a/b/c/d/e/f/.env", "notes.txt", "linked/.env"] {
        let text = call(&context, "read_file", json!({"path": path, "offset": 1})).await.unwrap();
        assert!(text.contains("[redacted-secret]") && !text.contains(SECRET), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_part_of_a_private_key_is_not_shown() {
    let (folder, context) = place();
    fs::write(folder.path().join("fixture.txt"), format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n")).unwrap();
    let text = call(&context, "read_file", json!({"path": "fixture.txt", "offset": 2})).await.unwrap();
    assert!(text.starts_with("[redacted-secret]\n-----END"), "{text}");
    fs::write(folder.path().join("deploy/.netrc"), "machine h login u password another-secret-1\n").unwrap();
    let printed = call(&context, "bash", json!({"command": "cut -d' ' -f6 deploy/.netrc"})).await.unwrap();
    assert!(printed.contains("[redacted-secret]") && !printed.contains("another-secret-1"), "{printed}");
}

/// A command may print a file that it does not name, or that it has created itself.
#[tokio::test]
async fn a_command_shows_no_file_of_keys_that_it_finds() {
    let (folder, context) = place();
    let deep = folder.path().join("a/b/c/d/e/f/g");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("prod.env"), format!("KEY={SECRET}\n")).unwrap();
    for command in ["cat $(find a -type f)", "mkdir n; echo KEY=hunter33-made-by-it > n/.env; cat n/.e*"] {
        let printed = call(&context, "bash", json!({"command": command})).await.unwrap();
        assert!(printed.contains("KEY=[redacted-secret]") && !printed.contains("hunter"), "{command}: {printed}");
    }
}

#[test]
fn only_names_of_files_that_may_be_read_count() {
    let read = |command: &str| key_file_read("bash", json!({"command": command}).as_object().unwrap(), None);
    for command in [
        "cat > src/load.py <<'EOF'\nopen('.env')\nEOF",
        "mkdir -p src && cat <<EOF > src/load.py\nopen('.env')\nEOF\nls src",
        "cat >> a.py <<'EOF'\nload('.env') # ${X}\nEOF\ncat > b.py <<'EOF'\nload('deploy/.env')\nEOF",
        "echo .env >> .gitignore",
        "printf '%s\\n' \"id_rsa\" '.env' > ignored; ls",
        "grep -rn '\\.env' src | head",
        "rg -n --hidden .env src",
        "ls # not .env",
        "cp .env.example b; cat a > .env",
    ] {
        assert_eq!(read(command), None, "{command}");
    }
    for command in [
        "cat .env",
        "cat > x <<EOF\n$(cat .env)\nEOF",
        "bash <<'EOF'\ncat .env\nEOF",
        "cat <<'EOF' | sh\ncat .env\nEOF",
        "cat > x.sh <<'EOF'\ncat .env\nEOF\nsh x.sh",
        "cat - deploy/.env > x <<'EOF'\na\nEOF",
        "cat() { sh; }; cat > x <<'EOF'\ncat .env\nEOF",
        "echo .env | xargs cat",
        "echo .env > list; xargs cat < list",
        "ls && echo .env > list; xargs cat < list",
        "cat > x.sh <<'EOF' && sh x.sh\ncat .env\nEOF",
        "eval echo .env",
        "grep KEY .env",
        "grep -e KEY .env",
        "grep -rne KEY .env",
        "rg --files .env",
        "grep -f .env src",
        "for f in .env; do cat \"$f\"; done",
        "F=.env; cat $F",
        "sh -c 'cat .env # and no more'",
        "cat < .env",
        "cat \u{a0}.env # x",
    ] {
        assert!(read(command).is_some(), "{command}");
    }
    let read = |tool: &str, given: Value| key_file_read(tool, given.as_object().unwrap(), None);
    assert_eq!(read("grep", json!({"pattern": ".env", "path": "src"})), None);
    assert_eq!(read("grep", json!({"pattern": "KEY", "glob": ".env"})).as_deref(), Some(".env"));
    assert_eq!(read("python", json!({"code": "print(open('.env').read())"})).as_deref(), Some(".env"));
}

#[test]
fn names_in_code_count_only_for_existing_files() {
    let bash = |command: &str| ("bash", json!({"command": command}));
    let python = |code: &str| ("python", json!({"code": code}));
    // Each row: a call, and the file that it reads in a folder without credential files, with `.env`, and with `tls.key`.
    let table = [
        (python("for b in items:\n    print(b.key, process.env)"), [None; 3]),
        (python("assert '.env' in read('.gitignore')"), [None, Some(".env"), None]),
        (python("open('certs/tls.key').read()"), [None, None, Some("certs/tls.key")]),
        (python("open('/root/.ssh/id_rsa').read()"), [Some("/root/.ssh/id_rsa"); 3]),
        (python("Path(f'{home}/.env').exists()"), [None, Some("/.env"), None]),
        (bash("python3 -c 'print(b.key)'"), [None; 3]),
        (bash("python3 -c \"load('.env')\""), [None, Some(".env"), None]),
        (bash("python3 -c \"open('$TMPDIR/b.env')\""), [None; 3]),
        (bash("./venv/bin/python3.12 - <<'EOF'\nload('.env')\nEOF"), [None, Some(".env"), None]),
        (bash("cat > test_a.py <<'EOF'\nload('.env')\nEOF\npython3 -m pytest test_a.py | tail -3"), [None, Some(".env"), None]),
        (bash("git commit -qm 'Read .env before the flags' && git log -1"), [None, Some(".env"), None]),
        (bash("node -e 'console.log(process.env.A, a.key)' | head"), [None; 3]),
        (bash("python3 load.py .env"), [Some(".env"); 3]),
        (bash("python3 -c 'print(1)' < .env"), [Some(".env"); 3]),
        (bash("python3 -c \"$(cat .env)\""), [Some(".env"); 3]),
        (bash("head -1 deploy/server.key"), [Some("deploy/server.key"); 3]),
        (bash("sh -c 'cat .env'"), [Some(".env"); 3]),
        (bash("env -S 'cat .env'; eval 'cat .env'"), [Some(".env"); 3]),
        (bash("cat > run <<'EOF'\ncat .env\nEOF\nchmod +x run; ./run"), [Some(".env"); 3]),
        (bash("cat > run.sh <<'EOF'\ncat .env\nEOF\nbash run.sh"), [Some(".env"); 3]),
        (bash("echo 'a .env' | xargs cat"), [Some(".env"); 3]),
        (bash(". ./run 'a .env'"), [Some(".env"); 3]),
        (bash("cat \"$HOME/my files/.env\""), [Some("files/.env"); 3]),
        (bash("find . -name '*.py' && python3 -c 'print(b.key)'"), [None; 3]),
        (bash("$run -c 'load .env'"), [Some(".env"); 3]),
    ];
    let folders: [&[String]; 3] = [&[], &[".env".to_owned()], &["tls.key".to_owned()]];
    for ((tool, given), expected) in table {
        for (existing, expected) in folders.iter().zip(expected) {
            let read = key_file_read(tool, given.as_object().unwrap(), Some(existing));
            assert_eq!(read.as_deref(), expected, "{tool} {given} {existing:?}");
        }
    }
}

#[test]
fn credential_files_are_listed_by_name() {
    let (folder, context) = place();
    fs::create_dir_all(folder.path().join("a/b/c/d/e")).unwrap();
    fs::create_dir_all(folder.path().join("node_modules/x")).unwrap();
    for path in ["a/b/c/d/e/TLS.key", "my prod.env", "node_modules/x/x.pem", ".env.example"] {
        fs::write(folder.path().join(path), "").unwrap();
    }
    assert_eq!(credential_files_in(&context.folder).unwrap(), [".env", "prod.env", "tls.key"]);
}
