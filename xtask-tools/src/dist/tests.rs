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
    let told = &manifest["package"]["metadata"]["binstall"];
    for target in TARGETS {
        let archive = archive(target);
        let own = told["overrides"].get(target);
        let key = |key: &str| own.and_then(|own| own.get(key)).or_else(|| told.get(key)).and_then(toml::Value::as_str).unwrap().to_owned();
        assert_eq!(key("pkg-fmt"), if archive.is_for_windows() { "zip" } else { "tgz" }, "{target}");
        let zip = key("pkg-fmt") == "zip";
        assert_eq!(filled(&key("pkg-url"), &archive, zip), format!("https://example.org/aime/releases/download/v1.2.3/{}", archive.file()));
        assert_eq!(filled(&key("bin-dir"), &archive, zip), format!("{}/{}", archive.folder(), archive.binary()));
    }
    let overridden: Vec<&String> = told["overrides"].as_table().unwrap().keys().collect();
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

// Requirement: 19.7
#[test]
fn an_archive_holds_one_folder_and_its_checksum_is_that_of_the_file() {
    let place = tempfile::tempdir().unwrap();
    for target in ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"] {
        let archive = archive(target);
        let folder = place.path().join(archive.folder());
        fs::create_dir(&folder).unwrap();
        for name in [archive.binary(), "README.md"] {
            fs::write(folder.join(name), name).unwrap();
        }
        let file = place.path().join(archive.file());
        pack(place.path(), &archive, &file).unwrap();
        let mut held = if archive.is_for_windows() {
            zip::ZipArchive::new(File::open(&file).unwrap()).unwrap().file_names().map(|name| name.unwrap().into_owned()).collect()
        } else {
            let told = Command::new("tar").arg("-tzf").arg(&file).output().unwrap();
            String::from_utf8(told.stdout).unwrap().lines().filter(|name| !name.ends_with('/')).map(str::to_owned).collect::<Vec<_>>()
        };
        held.sort();
        assert_eq!(held, ["README.md", archive.binary()].map(|name| format!("{}/{name}", archive.folder())), "{target}");
    }
    let file = place.path().join("abc");
    fs::write(&file, "abc").unwrap();
    assert_eq!(checksum(&file).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
