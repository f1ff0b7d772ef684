//! Tests of the folder's content.

use std::fs;

use super::world::{Hub, Reply, SIZE, World, pinned};
use crate::Presence;

#[tokio::test]
async fn a_damaged_file_is_seen_and_replaced() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    let file = world.store.file(&world.model);
    assert_eq!(world.store.presence(&world.model), Presence::Absent { kept: 0 });
    world.keep(b"beginning");
    assert_eq!(world.store.presence(&world.model), Presence::Absent { kept: 9 });
    fs::write(&file, &pinned()[..100]).unwrap();
    assert_eq!(world.store.presence(&world.model), Presence::Damaged { file: file.clone(), bytes: 100 });
    world.keep(b"");
    world.must_fetch().await;
    assert_eq!(world.store.presence(&world.model), Presence::Here { file });
}

#[tokio::test]
async fn a_file_of_the_right_length_with_wrong_bytes_is_seen_by_reading_it() {
    let hub = Hub::start([Reply::File(pinned())]).await;
    let world = World::of_hub(&hub);
    world.must_fetch().await;
    assert!(world.store.verify(&world.model).await.unwrap());
    fs::write(world.store.file(&world.model), vec![0; SIZE]).unwrap();
    assert!(!world.store.verify(&world.model).await.unwrap());
    world.store.remove(&world.model).unwrap();
    world.store.remove(&world.model).unwrap();
    assert!(world.store.verify(&world.model).await.is_err(), "there is nothing to read");
    world.must_fetch().await;
    assert!(world.store.verify(&world.model).await.unwrap());
}
