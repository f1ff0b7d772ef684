use std::{collections::BTreeMap, fs};

use aime_sandbox::{ConfinedFolder, Confinement};
use serde_json::json;
use tempfile::TempDir;

use super::{scan::ScanLimits, *};
use crate::{AskPerson, Diagnostics, RuleLists, ToolContext, builtin};

/// Returns a folder with a repository, one below it, and files of editors and shells.
fn place() -> (TempDir, ToolContext) {
    let folder = TempDir::new().unwrap();
    write(
        &folder,
        &[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host/x\n"),
            (".git/hooks/pre-push", "#!/bin/sh\nexit 0\n"),
            (".git/objects/keep", ""),
            (".git/refs/keep", ""),
            ("sub/.git/HEAD", "ref: refs/heads/main\n"),
            ("sub/.git/config", ""),
            (".vscode/tasks.json", "{}"),
            ("src/main.rs", "fn main() {}"),
        ],
    );
    let context = context_of(&folder);
    (folder, context)
}

/// Writes files, and creates the folders above them.
fn write(folder: &TempDir, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Makes a call for each of these scripts, and returns the text of the last one.
async fn call_each(folder: &TempDir, context: &ToolContext, scripts: &[&str]) -> String {
    let mut message = String::new();
    for script in scripts {
        write(folder, &[("run.sh", script)]);
        message = call(context, "bash", hidden(script)).await;
    }
    message
}

fn context_of(folder: &TempDir) -> ToolContext {
    let files = ConfinedFolder::open(folder.path()).unwrap();
    let environment = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
    ToolContext::new(files, environment).with_confinement(Confinement::off())
}

fn rules(allow: &[&str]) -> RuleLists {
    RuleLists { allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(), ..RuleLists::default() }
}

/// Returns all files of the folder by path.
fn all(folder: &TempDir) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.path().to_path_buf()];
    while let Some(path) = folders.pop() {
        for entry in fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(folder.path()).unwrap().display().to_string();
            if entry.is_symlink() {
                found.insert(name, format!("-> {}", fs::read_link(&entry).unwrap().display()));
            } else if entry.is_dir() {
                folders.push(entry);
            } else {
                let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().unwrap().permissions());
                found.insert(name, format!("{mode:o} {}", fs::read_to_string(&entry).unwrap()));
            }
        }
    }
    found
}

/// Returns the text of a result or of an error.
async fn call(context: &ToolContext, tool: &str, parameters: serde_json::Value) -> String {
    let serde_json::Value::Object(parameters) = parameters else { panic!("no object") };
    match builtin().call_with_consent(tool, parameters, context).await {
        Ok(output) => output.text,
        Err(error) => error.to_string(),
    }
}

/// Returns a call of a command whose effect is hidden, so that nobody could approve it.
fn hidden(command: &str) -> serde_json::Value {
    json!({"command": format!("sh ./run.sh # {}", command.len())})
}

// Requirement: 8.33
#[tokio::test]
async fn what_nobody_approved_is_put_back_and_said() {
    for (script, path) in [
        ("echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("echo evil >> .git/hooks/pre-push; exit 3", ".git/hooks/pre-push"),
        ("chmod +x .git/hooks/pre-push", ".git/hooks/pre-push"),
        ("rm .git/hooks/pre-push", ".git/hooks/pre-push"),
        ("rm -r .git/hooks; ln -s ../src .git/hooks", ".git/hooks"),
        ("printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config", ".git/config"),
        ("printf '[remote \"origin\"]\\n\\turl = https://evil/x\\n' >> .git/config", ".git/config"),
        ("rm .git/config", ".git/config"),
        ("mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", ".git/info/attributes"),
        ("echo ../../evil > .git/commondir", ".git/commondir"),
        ("mkdir sub/.git/hooks; echo evil > sub/.git/hooks/post-checkout", "sub/.git/hooks/post-checkout"),
        ("mkdir -p new/.git/hooks; echo x > new/.git/HEAD; echo evil > new/.git/hooks/x; rm new/.git/HEAD", "new/.git/hooks/x"),
        ("echo 'gitdir: /tmp/evil' > src/.git", "src/.git"),
        ("echo evil > .envrc", ".envrc"),
        ("echo evil > src/.envrc", "src/.envrc"),
        ("echo evil > .vscode/tasks.json", ".vscode/tasks.json"),
        ("echo evil > .vscode/settings.json", ".vscode/settings.json"),
        ("ln -s src .idea", ".idea"),
        ("mkdir -p .idea/runConfigurations; echo evil > .idea/runConfigurations/x.xml", ".idea/runConfigurations/x.xml"),
        ("echo evil > .bashrc", ".bashrc"),
        ("echo evil > aime.toml", "aime.toml"),
    ] {
        let (folder, context) = place();
        fs::write(folder.path().join("run.sh"), format!("{script}\n")).unwrap();
        let before = all(&folder);
        for (tool, parameters) in
            [("bash", hidden(script)), ("python", json!({"code": "import subprocess; subprocess.run(['sh', 'run.sh'])"}))]
        {
            let message = call(&context, tool, parameters).await;
            assert_eq!(all(&folder), before, "{script}");
            assert!(message.contains("[put back as it was: ") && message.contains(&format!("`{path}`")), "{script}: {message}");
            let changes = context.protected.take_changes();
            assert!(changes.iter().any(|change| change.path == path && change.outcome == PlaceOutcome::PutBack), "{script}: {changes:?}");
        }
    }
}

#[tokio::test]
async fn what_can_run_nothing_stays_and_is_said() {
    for (script, path) in [
        ("printf '[user]\\n\\tname = A\\n' >> .git/config", Some(".git/config")),
        ("printf '[remote \"b\"]\\n\\turl = https://b/x\\n' >> .git/config", Some(".git/config")),
        (
            "mkdir -p new/.git/hooks; echo x > new/.git/HEAD; echo '[core]' > new/.git/config; echo x > new/.git/hooks/a.sample",
            Some("new/.git/config"),
        ),
        ("rm -r sub", Some("sub/.git/config")),
        ("rm .vscode/tasks.json", Some(".vscode/tasks.json")),
        (
            "mkdir -p .git/worktrees/w w; echo ../.. > .git/worktrees/w/commondir; echo \"gitdir: $PWD/.git/worktrees/w\" > w/.git",
            Some("w/.git"),
        ),
        ("echo x > .git/index; echo y > .git/COMMIT_EDITMSG; echo z > .git/objects/k", None),
        ("echo x > src/lib.rs; echo y > .vscode/extensions.json; echo z > .gitignore", None),
    ] {
        let (folder, context) = place();
        fs::write(folder.path().join("run.sh"), format!("{script}\n")).unwrap();
        let message = call(&context, "bash", hidden(script)).await;
        assert!(!message.contains("put back"), "{script}: {message}");
        assert_eq!(message.contains("[changed what may run later: "), path.is_some(), "{script}: {message}");
        let changes: Vec<String> = context.protected.take_changes().into_iter().map(|change| change.path).collect();
        assert_eq!(changes.is_empty(), path.is_none(), "{script}: {changes:?}");
        assert!(path.is_none_or(|path| changes.contains(&path.to_owned())), "{script}: {changes:?}");
    }
}

#[tokio::test]
async fn what_was_approved_stays_and_is_said() {
    let evil = "echo x > .git/hooks/pre-commit";
    let by_rule = || rules(&["write_file(.git/hooks/**)"]);
    for (rules, parameters, is_kept) in [
        // The person who allowed the call saw its name.
        (rules(&[]), json!({"command": evil}), true),
        (rules(&[]), json!({"command": "git config core.pager less"}), true),
        (by_rule(), hidden(evil), true),
        (rules(&["write_file(**)", "bash"]), hidden(evil), false),
    ] {
        let (folder, context) = place();
        let context = context.with_rules(rules);
        fs::write(folder.path().join("run.sh"), evil).unwrap();
        let before = all(&folder);
        let message = call(&context, "bash", parameters.clone()).await;
        assert_eq!(all(&folder) != before, is_kept, "{parameters}: {message}");
        assert!(message.contains(if is_kept { "[changed what may run later" } else { "[put back" }), "{parameters}: {message}");
    }
}

/// Diagnostics run what an actor has written, such as `build.rs`, after each of its edits.
#[tokio::test]
async fn what_diagnostics_change_is_put_back_and_said() {
    for (rules, is_kept) in [(rules(&[]), false), (rules(&["write_file(.git/hooks/**)"]), true)] {
        let (folder, context) = place();
        let mut context = context.with_rules(rules);
        context.diagnostics = Diagnostics::new([("*.sh", "echo checked; sh ./run.sh")]).unwrap();
        let hook = folder.path().join(".git/hooks/pre-commit");
        let message = call(&context, "write_file", json!({"path": "run.sh", "content": "echo evil > .git/hooks/pre-commit"})).await;
        assert_eq!(hook.exists(), is_kept, "{message}");
        assert!(message.contains(if is_kept { "[changed what may run later" } else { "[put back" }), "{message}");
        let changes: Vec<String> = context.protected.take_changes().into_iter().map(|change| change.path).collect();
        assert_eq!(changes, [".git/hooks/pre-commit"], "{message}");
    }
}

#[tokio::test]
async fn a_person_who_is_there_is_asked_whether_it_may_stay() {
    for (answer, asks, is_kept) in [("yes", true, true), ("no", true, false), ("yes", false, false)] {
        let (folder, mut context) = place();
        fs::write(folder.path().join("run.sh"), "echo x > .envrc").unwrap();
        context = context.with_person(AskPerson::new(move |question| {
            assert!(question.contains("`.envrc`"), "{question}");
            Box::pin(async move { Some(answer.to_owned()) })
        }));
        if !asks {
            context.protected = context.protected.for_call(false);
        }
        call(&context, "bash", hidden("x")).await;
        assert_eq!(folder.path().join(".envrc").exists(), is_kept, "{answer} {asks}");
    }
}

#[tokio::test]
async fn what_a_person_changes_between_calls_stays() {
    let (folder, context) = place();
    call(&context, "bash", json!({"command": "true"})).await;
    fs::write(folder.path().join(".envrc"), "mine").unwrap();
    fs::write(folder.path().join(".git/hooks/pre-push"), "mine").unwrap();
    let message = call(&context, "bash", json!({"command": "true"})).await;
    assert_eq!(
        (message.as_str(), fs::read_to_string(folder.path().join(".envrc")).unwrap().as_str()),
        ("(nothing printed, exit code 0)", "mine")
    );
}

#[tokio::test]
async fn files_beyond_the_limits_of_a_scan_stay() {
    let visited = ScanLimits { visited: 4, ..ScanLimits::default() };
    let stored = ScanLimits { stored: 3, ..ScanLimits::default() };
    for (limits, files_to_build, script, is_put_back) in [
        (visited, 10, "rm -rf build", false),
        (stored, 10, "rm -rf build", false),
        (visited, 10, "rm -rf build; echo evil > .envrc", true),
        (stored, 10, "rm -rf build; echo evil > .envrc", true),
        // This later scan reaches less.
        (visited, 0, "mkdir build; for n in 1 2 3 4 5 6; do echo x > build/$n; done", false),
    ] {
        let folder = TempDir::new().unwrap();
        let built = (0..files_to_build).map(|number| format!("build/{number}/.envrc"));
        for path in built.chain(["web/.envrc".to_owned(), "web/.vscode/settings.json".to_owned()]) {
            write(&folder, &[(&path, "mine")]);
        }
        let mut context = context_of(&folder);
        context.protected.limits = limits;
        let files = || all(&folder).into_iter().filter(|(path, _)| !path.starts_with("build/")).collect::<BTreeMap<_, _>>();
        let before = files();
        fs::write(folder.path().join("run.sh"), format!("{script}; rm -f run.sh\n")).unwrap();
        let message = call(&context, "bash", hidden(script)).await;
        assert_eq!(files(), before, "{script}: {message}");
        assert_eq!(message.contains("[put back as it was: `.envrc`. "), is_put_back, "{script}: {message}");
        assert!(is_put_back || !message.contains("put back"), "{script}: {message}");
        assert!(!message.contains("`web/"), "{script}: {message}");
        assert_eq!(not_watched(&context), [if files_to_build == 0 { "web" } else { "." }], "{script}");
    }
}

/// Returns the places that the calls so far report as not watched.
fn not_watched(context: &ToolContext) -> Vec<String> {
    let changes = context.protected.take_changes().into_iter();
    changes.filter(|change| change.outcome == PlaceOutcome::NotWatched).map(|change| change.path).collect()
}

// Requirement: 8.33
#[tokio::test]
async fn a_deep_change_is_put_back() {
    let deep = format!("{}d", "d/".repeat(40));
    for (script, path) in [
        (format!("echo evil > {deep}/.envrc"), format!("{deep}/.envrc")),
        (format!("mkdir -p {deep}/.git/hooks; echo evil > {deep}/.git/hooks/x"), format!("{deep}/.git/hooks/x")),
        (
            format!("mkdir -p .git/modules/{deep}/hooks; cd .git/modules/{deep}; echo x > HEAD; echo evil > hooks/x"),
            format!(".git/modules/{deep}/hooks/x"),
        ),
        // A folder of repositories that looks like one itself.
        (
            "mkdir -p .git/modules/sub/hooks; cd .git/modules; echo x > HEAD; echo x > sub/HEAD; echo evil > sub/hooks/x".to_owned(),
            ".git/modules/sub/hooks/x".to_owned(),
        ),
    ] {
        let (folder, context) = place();
        fs::create_dir_all(folder.path().join(&deep)).unwrap();
        fs::write(folder.path().join("run.sh"), &script).unwrap();
        let message = call(&context, "bash", hidden("x")).await;
        assert!(!folder.path().join(&path).exists(), "{script}: {message}");
        assert!(message.contains("[put back as it was: ") && message.contains(&format!("`{path}`")), "{script}: {message}");
        assert!(not_watched(&context).is_empty(), "{script}");
    }
}

#[tokio::test]
async fn contents_of_extensions_of_git_do_not_count() {
    let folder = TempDir::new().unwrap();
    let module = folder.path().join(".git/modules/sub");
    fs::create_dir_all(module.join("lfs/objects")).unwrap();
    fs::write(module.join("HEAD"), "x").unwrap();
    for number in 0..100 {
        fs::write(module.join(format!("lfs/objects/{number}")), "x").unwrap();
    }
    fs::write(folder.path().join("run.sh"), "echo evil > .envrc\n").unwrap();
    let mut context = context_of(&folder);
    context.protected.limits = ScanLimits { visited: 60, ..ScanLimits::default() };
    let message = call(&context, "bash", hidden("x")).await;
    assert!(message.contains("[put back as it was: `.envrc`. "), "{message}");
    assert!(not_watched(&context).is_empty());
}

#[tokio::test]
async fn a_folder_that_is_too_deep_is_reported_once() {
    let folder = TempDir::new().unwrap();
    let (deep, reached) = (["d"; 40].join("/"), ["d"; 24].join("/"));
    fs::create_dir_all(folder.path().join(&deep)).unwrap();
    fs::write(folder.path().join("run.sh"), format!("echo x > {deep}/.envrc; echo x > {reached}/.envrc\n")).unwrap();
    let mut context = context_of(&folder);
    // Up to the depth of 16 a folder counts with its entries alone.
    context.protected.limits = ScanLimits { visited: 60, ..ScanLimits::default() };
    let message = call(&context, "bash", hidden("x")).await;
    assert!(message.contains(&format!("[put back as it was: `{reached}/.envrc`. ")) && !message.contains(&deep), "{message}");
    assert!(folder.path().join(&deep).join(".envrc").exists());
    assert_eq!(not_watched(&context), [format!("{reached}/d")]);
    call(&context, "bash", hidden("x")).await;
    assert!(not_watched(&context).is_empty());
}

#[tokio::test]
async fn a_path_beyond_the_limits_is_reported() {
    let long = |levels: usize| vec!["n".repeat(200); levels].join("/");
    let deep = ["d"; 20].join("/");
    for (visited, reached, left) in [
        (ScanLimits::default().visited, long(5), long(6)),
        // The listings count 33 paths, and the stored file counts 5 levels.
        (36, deep.clone(), format!("{deep}/z")),
    ] {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join(&left)).unwrap();
        fs::write(folder.path().join(&reached).join("a.run.xml"), "mine").unwrap();
        fs::write(folder.path().join("run.sh"), format!("echo x > {reached}/.envrc; echo x > {left}/.envrc\n")).unwrap();
        let mut context = context_of(&folder);
        context.protected.limits = ScanLimits { visited, ..ScanLimits::default() };
        let message = call(&context, "bash", hidden("x")).await;
        assert!(message.contains(&format!("[put back as it was: `{reached}/.envrc`. ")), "{message}");
        assert!(folder.path().join(&left).join(".envrc").exists(), "{message}");
        assert_eq!(not_watched(&context), [left]);
    }
}

#[tokio::test]
async fn a_missing_folder_counts_as_reached() {
    let (folder, mut context) = place();
    fs::remove_dir_all(folder.path().join(".git/hooks")).unwrap();
    fs::remove_dir_all(folder.path().join("sub")).unwrap();
    fs::remove_dir_all(folder.path().join("src")).unwrap();
    fs::remove_dir_all(folder.path().join(".vscode")).unwrap();
    for number in 0..10 {
        fs::write(folder.path().join(format!("{number}.txt")), "").unwrap();
    }
    fs::write(folder.path().join("run.sh"), "mkdir .git/hooks; echo evil > .git/hooks/pre-commit; rm *.txt\n").unwrap();
    context.protected.limits = ScanLimits { visited: 5, ..ScanLimits::default() };
    let message = call(&context, "bash", hidden("x")).await;
    assert!(message.contains("[put back as it was: `.git/hooks/pre-commit`. "), "{message}");
    assert!(!folder.path().join(".git/hooks").exists(), "{message}");
    assert!(not_watched(&context).is_empty());
}

#[tokio::test]
async fn a_mark_hides_no_change() {
    for (scripts, path, is_put_back) in [
        (&["touch web/pyvenv.cfg; echo evil > web/sub/.envrc"][..], "web/sub/.envrc", true),
        (&["touch web/CACHEDIR.TAG", "echo evil > web/sub/.envrc"], "web/sub/.envrc", true),
        // The folder is new, so it is a cache.
        (&["mkdir -p out/sub; touch out/CACHEDIR.TAG; echo x > out/sub/.envrc"], "out/sub/.envrc", false),
    ] {
        let (folder, context) = place();
        fs::create_dir_all(folder.path().join("web/sub")).unwrap();
        let message = call_each(&folder, &context, scripts).await;
        assert_eq!(!folder.path().join(path).exists(), is_put_back, "{scripts:?}: {message}");
        assert_eq!(message.contains(&format!("[put back as it was: `{path}`. ")), is_put_back, "{scripts:?}: {message}");
    }
}

#[tokio::test]
async fn files_of_a_former_cache_stay() {
    let (folder, context) = place();
    write(&folder, &[("out/CACHEDIR.TAG", ""), ("out/copy/.envrc", "mine")]);
    let message = call_each(&folder, &context, &["rm out/CACHEDIR.TAG"]).await;
    assert_eq!(fs::read_to_string(folder.path().join("out/copy/.envrc")).unwrap(), "mine", "{message}");
}

/// Runs work on a thread that opens only what its user may open, also as root. Programs that it starts have all rights again.
#[cfg(target_os = "linux")]
fn without_privileges<T: Send>(work: impl Future<Output = T> + Send) -> T {
    use rustix::thread::CapabilitySet;

    let run = || {
        let mut held = rustix::thread::capabilities(None).unwrap();
        held.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        rustix::thread::set_capabilities(None, held).unwrap();
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

// Requirement: 8.33
#[cfg(target_os = "linux")]
#[test]
fn an_unreadable_folder_neither_loses_nor_hides_a_file() {
    let reopened = |path: &str| format!("[made readable again, because files that run later may be in it: `{path}`]");
    let put_back = |path: &str| format!("[put back as it was: `{path}`. ");
    let unknown = |path: &str| {
        format!(
            "[created `{path}`, which runs later on its own and nobody approved; it could not be put back: it is unknown whether it was there before the call]"
        )
    };
    for (closed, scripts, said, removed) in [
        // A person has closed the folder, so its files may be the person's.
        (".vscode", &["chmod 755 .vscode"][..], vec![unknown(".vscode/tasks.json")], ""),
        (".git", &["true", "chmod 755 .git"], vec![unknown(".git/hooks/pre-push")], ""),
        ("web", &["chmod 755 web; echo x > web/sub/.envrc"], vec![unknown("web/.envrc"), unknown("web/sub/.envrc")], ""),
        ("web", &["mv web moved; chmod 755 moved; ln -s moved web"], vec![unknown("moved/.envrc")], ""),
        // A call closes it.
        ("", &["chmod 0 .git/hooks"], vec![reopened(".git/hooks")], ""),
        ("", &["chmod 0 .git"], vec![reopened(".git")], ""),
        ("", &["echo evil > .git/hooks/x; chmod 311 .git/hooks"], vec![put_back(".git/hooks/x"), reopened(".git/hooks")], ".git/hooks/x"),
        ("", &["echo evil > src/.envrc; chmod 311 src"], vec![put_back("src/.envrc"), reopened("src")], "src/.envrc"),
        ("", &["chmod 0 .git/hooks", "chmod 755 .git/hooks; echo evil > .git/hooks/x"], vec![put_back(".git/hooks/x")], ".git/hooks/x"),
        ("", &["echo evil > .git/hooks/x; chmod 555 .git/hooks"], vec![put_back(".git/hooks/x")], ".git/hooks/x"),
        (
            "",
            &["d=1/2/3/4/5/6/7/8/9/10/11/12; mkdir -p $d; echo evil > $d/.envrc; chmod 0 $d $d/.. $d/../.. $d/../../.. 1/2 1"],
            vec![put_back("1/2/3/4/5/6/7/8/9/10/11/12/.envrc")],
            "1/2/3/4/5/6/7/8/9/10/11/12/.envrc",
        ),
    ] {
        let (folder, context) = place();
        write(&folder, &[("web/.envrc", "mine"), ("web/sub/readme", "mine")]);
        let before = all(&folder);
        if !closed.is_empty() {
            fs::set_permissions(folder.path().join(closed), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        }
        let message = without_privileges(call_each(&folder, &context, scripts));
        assert!(said.iter().all(|said| message.contains(said)), "{scripts:?}: {message}");
        assert!(before.keys().all(|path| folder.path().join(path).exists()), "{scripts:?}: {message}");
        assert!(removed.is_empty() || !folder.path().join(removed).exists(), "{scripts:?}: {message}");
    }
}

// Requirement: 8.33
#[tokio::test]
async fn a_folder_that_becomes_a_repository_neither_loses_nor_hides_a_file() {
    let make = |folder: &str| format!("cd {folder}; mkdir -p objects refs; echo x > HEAD");
    let made = "mkdir -p d/hooks; echo evil > d/hooks/x";
    for (mine, scripts, hook, is_kept) in [
        (&["d/hooks/x", "d/config"][..], &[make("d")][..], "d/hooks/x", true),
        (&["hooks/x", "config"], &[make(".")], "hooks/x", true),
        (&["e/hooks/x"], &["mv e d".to_owned(), make("d")], "d/hooks/x", true),
        (&["e/hooks/x"], &[format!("mv e d.git; {}", make("d.git"))], "d.git/hooks/x", true),
        (&[".git/modules/d/hooks/x"], &["echo x > .git/modules/d/HEAD".to_owned()], ".git/modules/d/hooks/x", true),
        // Calls have made these.
        (&["d/hooks/readme"], &[format!("{made}; {}", make("d"))], "d/hooks/x", false),
        (&["d/hooks/readme"], &[made.to_owned(), "echo evil2 > d/hooks/x".to_owned(), make("d")], "d/hooks/x", false),
        (&[], &[format!("{made}; chmod 0 d"), "chmod 755 d".to_owned(), make("d")], "d/hooks/x", false),
        (&["d/HEAD", "d/objects/y", "d/refs/y"], &["mv d/HEAD d/H".to_owned(), format!("{made}; mv d/H d/HEAD")], "d/hooks/x", false),
    ] {
        let (folder, context) = place();
        write(&folder, &mine.iter().map(|path| (*path, "[core]\n\tpager = mine\n")).collect::<Vec<_>>());
        let message = call_each(&folder, &context, &scripts.iter().map(String::as_str).collect::<Vec<_>>()).await;
        assert_eq!(folder.path().join(hook).exists(), is_kept, "{mine:?} {scripts:?}: {message}");
        let said = match is_kept {
            true => format!("[created `{hook}`, which runs later on its own and nobody approved; it could not be put back: it is unknown"),
            false => format!("`{hook}`"),
        };
        assert!(message.contains(&said) && message.contains("[put back as it was: ") != is_kept, "{mine:?} {scripts:?}: {message}");
    }
}

#[tokio::test]
async fn a_moved_file_is_not_lost() {
    for (script, from, to) in [
        ("mv web app", "web/.envrc", "app/.envrc"),
        ("mv web/.vscode .", "web/.vscode/settings.json", ".vscode/settings.json"),
        ("mv sub moved", "sub/.git/hooks/x", "moved/.git/hooks/x"),
    ] {
        let (folder, context) = place();
        write(&folder, &[("web/.envrc", "mine"), ("web/.vscode/settings.json", "mine"), ("sub/.git/hooks/x", "mine")]);
        fs::remove_dir_all(folder.path().join(".vscode")).unwrap();
        let message = call_each(&folder, &context, &[script]).await;
        assert_eq!(fs::read_to_string(folder.path().join(to)).unwrap(), "mine", "{script}: {message}");
        assert!(message.contains("[changed what may run later: ") && !message.contains("put back"), "{script}: {message}");
        assert!([from, to].into_iter().all(|path| message.contains(&format!("`{path}`"))), "{script}: {message}");
    }
    // These would run elsewhere than before, so they are where they were.
    for script in [
        "mv .git/hooks/pre-push .git/hooks/pre-commit",
        "mv web/.husky/pre-commit .git/hooks/",
        "mv web/.husky/pre-commit web/.husky/pre-push",
        "mv sub/.git/hooks/x .git/hooks/; rm -r sub/.git",
        "cp -l web/hooks/x .git/hooks/x",
    ] {
        let (folder, context) = place();
        write(&folder, &[("web/.husky/pre-commit", "mine"), ("sub/.git/hooks/x", "mine"), ("web/hooks/x", "mine")]);
        call_each(&folder, &context, &["true"]).await;
        let before = all(&folder);
        let message = call_each(&folder, &context, &[script]).await;
        let after = all(&folder);
        let is_of_sub = |path: &str| path.starts_with("sub/.git/") && path != "sub/.git/hooks/x";
        assert!(
            before.iter().all(|(path, text)| path == "run.sh" || is_of_sub(path) || after.get(path) == Some(text)),
            "{script}: {message}"
        );
        assert!(after.keys().all(|path| before.contains_key(path)) && message.contains("[put back as it was: "), "{script}: {message}");
    }
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_approve_each_other() {
    let (folder, context) = place();
    fs::write(folder.path().join("run.sh"), "echo evil > .git/hooks/post-merge; touch begun; while [ ! -e go ]; do sleep 0.02; done")
        .unwrap();
    let long = call(&context, "bash", hidden("x"));
    let other = async {
        while !folder.path().join("begun").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let approved = call(&context, "bash", json!({"command": "echo x > .git/hooks/pre-commit"})).await;
        let by_tool = call(&context, "write_file", json!({"path": ".envrc", "content": "x"})).await;
        fs::write(folder.path().join("go"), "").unwrap();
        (approved, by_tool)
    };
    let (long, (approved, _)) = tokio::join!(long, other);
    assert!(approved.contains("[put back as it was: `.git/hooks/post-merge`"), "{approved}");
    assert!(approved.contains("[changed what may run later: `.git/hooks/pre-commit`]"), "{approved}");
    assert!(!long.contains("put back"), "{long}");
    let there = [".git/hooks/pre-commit", ".envrc", ".git/hooks/post-merge"].map(|path| folder.path().join(path).exists());
    assert_eq!(there, [true, true, false]);
}

#[expect(clippy::disallowed_methods, reason = "git is found as the test's own environment says")]
#[tokio::test]
async fn git_does_its_normal_work() {
    let (folder, context) = place();
    fs::remove_dir_all(folder.path().join(".git")).unwrap();
    fs::remove_dir_all(folder.path().join("sub")).unwrap();
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return;
    }
    let context = context.with_rules(rules(&[]));
    let user = "git config user.name A && git config user.email a@b";
    for (command, expected) in [
        ("git init -q -b main . && git init -q --bare origin.git", &["`.git/config`", "`origin.git/config`"][..]),
        (user, &["`.git/config`"]),
        ("git add -A . && git commit -q -m one && git remote add origin ./origin.git && git push -q -u origin main", &["`.git/config`"]),
        ("git worktree add -q tree -b other", &["`tree/.git`"]),
        ("git clone -q origin.git copy", &["`copy/.git/config`"]),
        ("git switch -q -c third && git rm -q .vscode/tasks.json && git commit -q -m two", &["`.vscode/tasks.json`"]),
        ("git checkout -q main", &["`.vscode/tasks.json`"]),
        ("git stash list; git status --short; git log --oneline | cat", &[]),
    ] {
        let message = call(&context, "bash", json!({"command": command})).await;
        assert!(!message.contains("put back") && !message.contains("exit code 1"), "{command}: {message}");
        for path in expected {
            assert!(message.contains("[changed what may run later") && message.contains(path), "{command}: {message}");
        }
    }
}
