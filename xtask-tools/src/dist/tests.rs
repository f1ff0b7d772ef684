//! Tests that the names of a release agree everywhere.

use serde_json::Value;

use super::builder::Toolchain;
use super::trial::Way;
use super::*;

fn archive(target: &str) -> Archive {
    Archive { version: "1.2.3".into(), target: target.into() }
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn each_target_has_its_names() {
    let linux = archive("x86_64-unknown-linux-musl");
    assert_eq!(linux.file(), "aime-v1.2.3-x86_64-unknown-linux-musl.tar.gz");
    assert_eq!((linux.folder().as_str(), linux.binary()), ("aime-v1.2.3-x86_64-unknown-linux-musl", "aime"));
    let windows = archive("x86_64-pc-windows-msvc");
    assert_eq!((windows.file().as_str(), windows.binary()), ("aime-v1.2.3-x86_64-pc-windows-msvc.zip", "aime.exe"));
}

/// Expands a template as `cargo binstall` does.
fn filled(template: &str, archive: &Archive, zip: bool) -> String {
    let binary_ending = if archive.is_for_windows() { ".exe" } else { "" };
    let filled = [
        ("{ repo }", "https://example.org/aime"),
        ("{ name }", "aime"),
        ("{ bin }", "aime"),
        ("{ version }", &archive.version),
        ("{ target }", &archive.target),
        ("{ archive-suffix }", if zip { ".zip" } else { ".tar.gz" }),
        ("{ binary-ext }", binary_ending),
    ]
    .into_iter()
    .fold(template.to_owned(), |text, (name, value)| text.replace(name, value));
    assert!(!filled.contains('{'), "{filled}");
    filled
}

// Requirement: 19.7
#[test]
fn cargo_binstall_looks_for_what_a_release_has() {
    let manifest: toml::Value = toml::from_str(&read("crates/cli/Cargo.toml")).unwrap();
    let metadata = &manifest["package"]["metadata"]["binstall"];
    for target in TARGETS {
        let archive = archive(target);
        let own = metadata["overrides"].get(target);
        let key =
            |key: &str| own.and_then(|own| own.get(key)).or_else(|| metadata.get(key)).and_then(toml::Value::as_str).unwrap().to_owned();
        assert_eq!(key("pkg-fmt"), if archive.is_for_windows() { "zip" } else { "tgz" }, "{target}");
        let zip = key("pkg-fmt") == "zip";
        assert_eq!(filled(&key("pkg-url"), &archive, zip), format!("https://example.org/aime/releases/download/v1.2.3/{}", archive.file()));
        assert_eq!(filled(&key("bin-dir"), &archive, zip), format!("{}/{}", archive.folder(), archive.binary()));
    }
    let overridden: Vec<&String> = metadata["overrides"].as_table().unwrap().keys().collect();
    assert!(overridden.iter().all(|target| TARGETS.contains(&target.as_str())), "{overridden:?}");
}

fn workflow(name: &str) -> Value {
    serde_saphyr::from_str(&read(&format!(".github/workflows/{name}.yml"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns every command line of a job's steps.
fn commands(job: &Value) -> String {
    let steps = job["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str());
    steps.collect::<Vec<_>>().join("\n")
}

// Requirement: 19.7
#[test]
fn the_release_workflow_builds_every_target_and_makes_up_no_names() {
    let workflow = workflow("release");
    let build = &workflow["jobs"]["build"];
    let built: Vec<&str> =
        build["strategy"]["matrix"]["include"].as_array().unwrap().iter().map(|one| one["target"].as_str().unwrap()).collect();
    assert_eq!(built, TARGETS);
    let commands_of_build = commands(build);
    assert!(commands_of_build.contains("cargo xtask dist --target ${{ matrix.target }} ") && commands_of_build.contains("'--try'"));
    // The workflow uploads everything that `dist` has built, under any name.
    let handed_on =
        build["steps"].as_array().unwrap().iter().find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("upload-artifact")));
    assert!(handed_on.unwrap()["with"]["path"].as_str().unwrap().lines().all(|path| path.starts_with("target/dist/aime-v*")));
    let attested = build["steps"]
        .as_array()
        .unwrap()
        .iter()
        .any(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("attest-build-provenance")));
    assert!(attested && build["permissions"]["attestations"] == "write" && build["permissions"]["id-token"] == "write");
    let publish = &workflow["jobs"]["publish"];
    assert!(commands(publish).contains("sha256sum --check") && publish["if"].as_str().unwrap().contains("refs/tags/v"));
    assert!(commands(&workflow["jobs"]["check"]).contains("--tag \"$GITHUB_REF_NAME\""), "a tag that is not the version is refused");
}

// Requirement: 19.8
#[test]
fn the_checks_of_other_systems_and_of_the_packages_are_configured() {
    let jobs = &workflow("ci")["jobs"];
    assert!(commands(&jobs["linux"]).contains(".ci/run"));
    assert!(commands(&jobs["windows"]).contains("cargo check --package aime"));
    assert!(commands(&jobs["windows-gnu"]).contains("cargo check --target x86_64-pc-windows-gnu --package aime --no-default-features"));
    assert!(commands(&jobs["macos"]).contains("cargo check --package aime"));
    for scenario in ["browser", "acp", "telemetry"] {
        assert!(commands(&jobs["scenarios"]).contains(&format!("cargo xtask scenario {scenario}")), "{scenario}");
    }
    assert!(commands(&jobs["documents"]).contains("cargo xtask scenario documents"), "it installs aime, as all that the documents show");
    let packages = &jobs["packages"];
    assert!(commands(packages).contains("cargo xtask packages"), "{packages}");
    assert_eq!(packages["steps"][0]["with"]["fetch-depth"], 0, "the last release is among what is fetched");
}

// Requirement: 19.7
#[test]
fn other_linuxes_are_linked_by_zig_and_everything_else_by_what_is_here() {
    let host = "x86_64-unknown-linux-gnu";
    for (target, host, toolchain) in [
        (host, host, Toolchain::Own),
        ("x86_64-unknown-linux-musl", host, Toolchain::Zig),
        ("aarch64-unknown-linux-gnu", host, Toolchain::Zig),
        ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu", Toolchain::Zig),
        ("x86_64-pc-windows-gnu", host, Toolchain::Own),
        ("x86_64-apple-darwin", "aarch64-apple-darwin", Toolchain::Own),
        ("x86_64-unknown-linux-musl", "aarch64-apple-darwin", Toolchain::Own),
    ] {
        assert_eq!(Toolchain::of(target, host), toolchain, "{target} on {host}");
    }
}

// Requirement: 19.7
#[test]
fn what_is_static_is_tried_alone_and_other_processors_are_emulated() {
    let host = "x86_64-unknown-linux-gnu";
    let tried = |target: &str, host: &str| Way::of(target, host).ok().map(|way| (way.alone, way.emulator));
    assert_eq!(tried(host, host), Some((false, None)));
    assert_eq!(tried("x86_64-unknown-linux-musl", host), Some((true, None)));
    assert_eq!(tried("aarch64-unknown-linux-musl", host), Some((true, Some("qemu-aarch64-static"))));
    assert_eq!(tried("x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"), Some((true, Some("qemu-x86_64-static"))));
    assert_eq!(tried("aarch64-unknown-linux-gnu", host), None, "its C library is not here");
    assert_eq!(tried("x86_64-pc-windows-msvc", host), None);
}

/// Writes a substitute for aime that answers the commands by which an archive is made.
#[cfg(unix)]
fn stand_in(place: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let program = place.join("substitute");
    let script = "#!/bin/sh\nset -e\ncase \"$1\" in\n  --version) echo 'aime 1.2.3' ;;\n  completions) echo \"$2: --unattended\" ;;\n\
        \x20 man) for page in aime aime-run; do echo \".TH $page 1\" >\"$3/$page.1\"; done ;;\n  *) exit 2 ;;\nesac\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Returns the files below a folder, sorted, by their paths in it.
#[cfg(unix)]
fn files(folder: &Path) -> Vec<String> {
    let found = Command::new("find").args([".", "-type", "f"]).current_dir(folder).output().unwrap();
    let mut files: Vec<String> = String::from_utf8(found.stdout).unwrap().lines().map(|path| path[2..].to_owned()).collect();
    files.sort();
    files
}

// Requirement: 19.7
#[cfg(unix)]
#[test]
fn an_unpacked_archive_starts_where_binstall_looks() {
    let manifest: toml::Value = toml::from_str(&read("crates/cli/Cargo.toml")).unwrap();
    let bin_dir = manifest["package"]["metadata"]["binstall"]["bin-dir"].as_str().unwrap().to_owned();
    let place = tempfile::tempdir().unwrap();
    let program = stand_in(place.path());
    for target in ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"] {
        let archive = archive(target);
        let file = make(place.path(), &archive, &program, &program).unwrap();
        let unpacked = tempfile::tempdir().unwrap();
        unpack(&file, &archive, unpacked.path()).unwrap();
        let documents = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];
        let completions =
            ["completions/_aime", "completions/_aime.ps1", "completions/aime.bash", "completions/aime.elv", "completions/aime.fish"];
        let mut held = [&documents[..], &completions, &["man/man1/aime.1", "man/man1/aime-run.1", archive.binary()]].concat();
        held.sort_unstable();
        let held: Vec<String> = held.into_iter().map(|name| format!("{}/{name}", archive.folder())).collect();
        assert_eq!(files(unpacked.path()), held, "{target}");
        trial::beside_the_binary(&unpacked.path().join(archive.folder())).unwrap();
        let binary = unpacked.path().join(filled(&bin_dir, &archive, archive.is_for_windows()));
        assert_eq!(fs::read(&binary).unwrap(), fs::read(&program).unwrap(), "{target}");
        // A zip for Windows keeps no mode.
        if !archive.is_for_windows() {
            let started = Command::new(&binary).arg("--version").output().unwrap();
            assert_eq!(String::from_utf8(started.stdout).unwrap(), "aime 1.2.3\n", "{target}");
        }
        let mut check = Command::new("sha256sum");
        check.args(["--check", "--strict", "--quiet"]).arg(format!("{}.sha256", archive.file())).current_dir(place.path());
        assert!(check.status().unwrap().success(), "{target}");
    }
}

// Requirement: 19.7
#[cfg(unix)]
#[test]
fn an_archive_without_completions_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let archive = archive("x86_64-unknown-linux-gnu");
    let program = stand_in(place.path());
    make(place.path(), &archive, &program, &program).unwrap();
    let folder = place.path().join(archive.folder());
    trial::beside_the_binary(&folder).unwrap();
    fs::remove_file(folder.join("completions/_aime")).unwrap();
    assert!(trial::beside_the_binary(&folder).unwrap_err().to_string().contains("completions/_aime"));
    let failing = Path::new("false");
    assert!(make(place.path(), &archive, &program, failing).unwrap_err().to_string().contains("completions"));
}

#[test]
fn a_checksum_is_that_of_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "abc").unwrap();
    assert_eq!(checksum(file.path()).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
