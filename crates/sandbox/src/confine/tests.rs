//! Tests that run confined commands. `tests/escapes` contains attempts to escape.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Bound, ProcessEnd, ProcessOutcome, ProcessRequest, run};

/// A working folder, a folder for temporary folders, and a home folder.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        ["work", "temp", "home"].iter().for_each(|folder| fs::create_dir(place.at(folder)).unwrap());
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let path = OsString::from("/usr/local/bin:/usr/bin:/bin");
        [("PATH", path), ("TMPDIR", self.at("temp").into()), ("HOME", self.at("home").into())]
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect()
    }

    fn settings(&self) -> ConfinementSettings {
        ConfinementSettings::new(self.at("work"), &self.environment())
    }

    async fn bash(&self, confinement: &Confinement, script: &str) -> ProcessOutcome {
        bash(&self.at("work"), self.environment(), confinement, script, "").await
    }
}

async fn bash(
    folder: &Path,
    environment: BTreeMap<OsString, OsString>,
    confinement: &Confinement,
    script: &str,
    input: &str,
) -> ProcessOutcome {
    let request = ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), script.into()],
        working_folder: folder.into(),
        environment,
        input: input.into(),
        time_limit: Duration::from_secs(60),
        output_limit: 100_000,
        confinement: confinement.clone(),
    };
    run(request, &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn a_read_only_command_writes_in_its_temp_folder_alone() {
    let place = Place::new();
    let script = "echo x > a; echo x >> kept; rm kept; cat kept; echo y > $TMPDIR/own && cat $TMPDIR/own";
    fs::write(place.at("work/kept"), "kept\n").unwrap();
    let confinement = Confinement::new(place.settings()).unwrap();
    for confinement in [confinement.read_only(), confinement.read_only().in_folder(&place.at("work"), &[])] {
        let outcome = place.bash(&confinement, script).await;
        assert_eq!(outcome.stdout.text(), "kept\ny\n", "{outcome:?}");
        assert!(!place.at("work/a").exists());
    }
    let outcome = place.bash(&confinement, script).await;
    assert_eq!(outcome.stdout.text(), "y\n", "the same script writes without that: {outcome:?}");
}

// Requirement: 15.2
#[tokio::test]
async fn a_command_works_in_its_folder_and_a_temp_folder_that_goes_with_the_run() {
    let place = Place::new();
    let confinement = Confinement::new(place.settings()).unwrap();
    assert!(fs::read_dir(place.at("temp")).unwrap().next().is_none(), "it is made when a command wants it");
    let script = "echo x > a && mkdir b && mv a b/ && cat b/a && echo y > $TMPDIR/kept && mkdir -p $XDG_CACHE_HOME/c && echo $TMPDIR";
    let outcome = place.bash(&confinement, script).await;
    let printed = outcome.stdout.text();
    assert_eq!(outcome.end, ProcessEnd::Exited(0), "{printed} {}", outcome.stderr.text());
    let folder = Path::new(printed.lines().nth(1).unwrap());
    assert!(folder.starts_with(place.at("temp").canonicalize().unwrap()), "{printed}");
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    let again = place.bash(&confinement.clone(), "cat $TMPDIR/kept").await;
    assert_eq!(again.stdout.text(), "y\n", "the commands of a run share it");
    drop(confinement);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_command_reads_what_it_is_given_and_nothing_before() {
    let place = Place::new();
    let confinement = Confinement::new(place.settings()).unwrap();
    for input in ["", "one\ntwo\n", "no end of line"] {
        let outcome = bash(&place.at("work"), place.environment(), &confinement, "cat; echo over", input).await;
        assert_eq!(outcome.stdout.text(), format!("{input}over\n"));
    }
}

#[tokio::test]
async fn nothing_but_the_command_is_confined() {
    let place = Place::new();
    let confinement = Confinement::new(place.settings()).unwrap();
    for _ in 0..8 {
        assert_eq!(place.bash(&confinement, "! echo x > ../out").await.end, ProcessEnd::Exited(0));
    }
    fs::write(place.at("out"), "x").unwrap();
    std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = place.bash(&Confinement::off(), "echo y > ../out").await;
    assert_eq!((free.end, fs::read_to_string(place.at("out")).unwrap().as_str()), (ProcessEnd::Exited(0), "y\n"));
}

// Requirement: 15.4
#[tokio::test]
async fn too_many_processes_are_ended() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.limits.processes = 100;
    let confinement = Confinement::new(settings).unwrap();
    // The number of processes is constant: as root only the watch thread limits them, and on busy cores it loses against an exponential
    // fork bomb.
    let many = "for i in $(seq 300); do sleep 100 & done; wait";
    let end = place.bash(&confinement, many).await.end;
    // For an ordinary user the kernel refuses more processes, so the watch may never count too many.
    let ended = [ProcessEnd::Exceeded(Bound::Processes(100)), ProcessEnd::TimedOut];
    assert!(ended.contains(&end) || !rustix::process::getuid().is_root(), "{end:?}");
}

// Requirement: 15.4
#[tokio::test]
async fn too_much_memory_is_ended() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.limits.memory_bytes = 300 << 20;
    let confinement = Confinement::new(settings).unwrap();
    let alone = place.bash(&confinement, "python3 -c 'import time; x = b\"x\" * (400 << 20); time.sleep(100)'").await;
    assert_eq!(alone.end, ProcessEnd::Exceeded(Bound::Memory(300 << 20)));
    let script = "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(b\"x\") * (150 << 20); time.sleep(100)' & done; wait";
    assert_eq!(place.bash(&confinement, script).await.end, ProcessEnd::Exceeded(Bound::Memory(300 << 20)));
}

/// AddressSanitizer and ThreadSanitizer reserve terabytes and use little of them.
#[tokio::test]
async fn memory_that_is_only_reserved_does_not_count() {
    let place = Place::new();
    let confinement = Confinement::new(place.settings()).unwrap();
    // 0x4022: MAP_PRIVATE, MAP_ANONYMOUS and MAP_NORESERVE.
    let script = "command -v python3 > out || exit 0; python3 -c 'import mmap; m = mmap.mmap(-1, 1 << 40, flags=0x4022); m[1 << 39] = 1'";
    let outcome = place.bash(&confinement, script).await;
    assert_eq!(outcome.end, ProcessEnd::Exited(0), "{outcome:?}");
}

// Requirement: 15.4
#[tokio::test]
async fn a_file_grows_to_its_limit() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.limits.file_bytes = 1 << 20;
    let confinement = Confinement::new(settings).unwrap();
    place.bash(&confinement, "head -c 3000000 /dev/zero > big").await;
    assert_eq!(fs::metadata(place.at("work/big")).unwrap().len(), 1 << 20);
}

// Requirement: 15.2
#[tokio::test]
async fn what_the_user_names_is_allowed_and_nothing_beside() {
    let place = Place::new();
    for folder in ["readable", "writable", "neither"] {
        fs::create_dir(place.at(folder)).unwrap();
        fs::write(place.at(folder).join("file"), folder).unwrap();
    }
    let mut settings = place.settings();
    settings.read.push(place.at("readable"));
    settings.write.push(place.at("writable"));
    let confinement = Confinement::new(settings).unwrap();
    assert!(confinement.to_string().contains("2 more places that you named"), "{confinement}");
    let script = "for f in readable writable neither; do cat ../$f/file && echo && echo x > ../$f/new && echo made; done 2>&1";
    let outcome = place.bash(&confinement, script).await;
    let printed = outcome.stdout.text();
    for (text, expected) in [("readable\n", true), ("writable\nmade", true), ("neither/file: Permission denied", true), ("made", true)] {
        assert_eq!(printed.contains(text), expected, "{text}: {printed}");
    }
    assert_eq!(printed.matches("made").count(), 1, "{printed}");
    let shown = format!("bash: {}/new: Permission denied", place.at("readable").display());
    assert!(confinement.explain(&shown, &[]).unwrap().contains("sandbox.write"));
}

// Requirement: 15.2
#[test]
fn a_folder_that_holds_keys_is_no_place_to_work_in() {
    let place = Place::new();
    let home = |settings: ConfinementSettings| ConfinementSettings { working_folder: place.at("home"), ..settings };
    assert!(Confinement::new(home(place.settings())).is_ok(), "there are none yet");
    fs::create_dir(place.at("home/.ssh")).unwrap();
    let error = Confinement::new(home(place.settings())).unwrap_err();
    assert!(error.to_string().contains(".ssh") && error.to_string().contains("allow_missing = [\"keys\"]"), "{error}");
    let refused = Confinement::or_refuse(home(place.settings()));
    assert_eq!(refused.refusal(), Some(&error.describe()));
    let mut without = home(place.settings());
    without.allow_missing.insert(Guarantee::Keys);
    assert!(Confinement::new(without).unwrap().to_string().contains("without keys"), "it is told");
    let mut read = place.settings();
    read.read.push(place.at("home"));
    assert!(Confinement::new(read).is_err());
    let mut itself = place.settings();
    itself.read.push(place.at("home/.ssh"));
    assert!(Confinement::new(itself).is_ok(), "what is named itself is meant");
}

#[tokio::test]
async fn a_refused_command_is_not_run() {
    let place = Place::new();
    fs::create_dir(place.at("work/.ssh")).unwrap();
    let mut settings = place.settings();
    settings.home = Some(place.at("work"));
    let confinement = Confinement::or_refuse(settings);
    let request = ProcessRequest {
        program: "touch".into(),
        arguments: vec!["made".into()],
        working_folder: place.at("work"),
        environment: place.environment(),
        input: Vec::new(),
        time_limit: Duration::from_secs(60),
        output_limit: 100,
        confinement,
    };
    let error = run(request, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().starts_with("`touch` was not run: "), "{error}");
    assert!(!place.at("work/made").exists());
}

#[test]
fn guarantees_have_names() {
    for guarantee in Guarantee::ALL {
        assert_eq!(guarantee.name().parse(), Ok(guarantee));
    }
    assert!("all".parse::<Guarantee>().unwrap_err().to_string().contains("system-calls"));
    let error = ConfinementError::Unkept(vec![Guarantee::Truncation, Guarantee::Signals]).to_string();
    assert!(error.contains("may empty files") && error.contains("allow_missing = [\"truncation\", \"signals\"]"), "{error}");
}

#[test]
fn where_nobody_can_tell_what_the_kernel_keeps_that_is_the_hint() {
    assert!(hint(true).to_string().starts_with("use Linux 6.12"));
    assert!(hint(false).to_string().starts_with("mount /proc"));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the toolchains of whoever runs the test are what it is about")]
async fn toolchains_run() {
    let place = Place::new();
    let environment = crate::clean_environment(std::env::vars_os(), &[]);
    let mut settings = ConfinementSettings::new(place.at("work"), &environment);
    settings.temp = place.at("temp");
    let confinement = Confinement::new(settings).unwrap();
    let project = "printf 'int main(){return 3;}' > a.c && gcc a.c -o a; ./a; [ $? = 3 ]";
    let python =
        "python3 -c 'import json, subprocess, threading, tempfile; tempfile.mkdtemp(); print(subprocess.run([\"true\"]).returncode)'";
    let git = "git init -q . && git add . && git -c user.name=n -c user.email=e commit -q -m m && git log --oneline";
    let node =
        "node -e 'require(\"fs\").writeFileSync(\"n\", \"x\"); console.log(require(\"child_process\").execSync(\"echo x\").toString())'";
    let rust = "mkdir -p r/src && printf '[package]\\nname=\"r\"\\nedition=\"2021\"\\n[workspace]\\n' > r/Cargo.toml && echo 'fn main() { println!(\"hello\"); }' > r/src/main.rs && cd r && cargo run --offline -q";
    let tar = "mkdir t && echo x > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cat t/f";
    for (program, script) in
        [("gcc", project), ("python3", python), ("git", git), ("node", node), ("cargo", rust), ("tar", tar), ("make", "make --version")]
    {
        let free = bash(&place.at("work"), environment.clone(), &Confinement::off(), &format!("command -v {program}"), "").await;
        if free.end != ProcessEnd::Exited(0) {
            continue;
        }
        let outcome = bash(&place.at("work"), environment.clone(), &confinement, script, "").await;
        assert_eq!(outcome.end, ProcessEnd::Exited(0), "{program}: {}\n{}", outcome.stdout.text(), outcome.stderr.text());
    }
}

#[tokio::test]
async fn the_folder_for_temporary_files_must_be_there() {
    let place = Place::new();
    let settings = ConfinementSettings { temp: place.at("gone"), ..place.settings() };
    let request = |confinement: &Confinement| ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), "echo $TMPDIR".into()],
        working_folder: place.at("work"),
        environment: place.environment(),
        input: Vec::new(),
        time_limit: Duration::from_secs(60),
        output_limit: 1_000,
        confinement: confinement.clone(),
    };
    let confinement = Confinement::new(settings).unwrap();
    let error = run(request(&confinement), &CancellationToken::new()).await.unwrap_err().to_string();
    let gone = place.at("gone").display().to_string();
    assert!(error.starts_with(&format!("`bash` was not run: no folder for its temporary files can be made in {gone}: ")), "{error}");
    assert!(error.ends_with("set TMPDIR to a folder that is there and has room"), "{error}");
    // Another program deletes the folder during the run.
    let confinement = Confinement::new(place.settings()).unwrap();
    let first = run(request(&confinement), &CancellationToken::new()).await.unwrap().stdout.text();
    fs::remove_dir_all(first.trim()).unwrap();
    let second = run(request(&confinement), &CancellationToken::new()).await.unwrap().stdout.text();
    assert!(first != second && Path::new(second.trim()).is_dir(), "{first} {second}");
}

#[tokio::test]
async fn programs_that_commands_may_not_read_are_not_on_their_path() {
    let place = Place::new();
    let hidden = place.at("home/.ssh/bin");
    fs::create_dir_all(&hidden).unwrap();
    fs::write(hidden.join("mine"), "#!/bin/sh\necho mine\n").unwrap();
    fs::set_permissions(hidden.join("mine"), PermissionsExt::from_mode(0o755)).unwrap();
    let mut environment = place.environment();
    environment.insert("PATH".into(), format!("{}:/usr/bin:/bin", hidden.display()).into());
    let confinement = Confinement::new(ConfinementSettings::new(place.at("work"), &environment)).unwrap();
    let outcome = bash(&place.at("work"), environment.clone(), &confinement, "echo $PATH", "").await;
    assert_eq!(outcome.stdout.text(), "/usr/bin:/bin\n");
    let request = ProcessRequest {
        program: "mine".into(),
        arguments: Vec::new(),
        working_folder: place.at("work"),
        environment,
        input: Vec::new(),
        time_limit: Duration::from_secs(60),
        output_limit: 1_000,
        confinement,
    };
    let error = run(request, &CancellationToken::new()).await.unwrap_err().to_string();
    let hidden = hidden.display();
    let expected = format!("`mine` was not run: commands may not read {hidden}; the user can allow it: sandbox.read = [\"{hidden}\"]");
    assert_eq!(error, expected);
}
