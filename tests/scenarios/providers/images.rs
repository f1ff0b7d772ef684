//! Images reach each provider in its own form, also after a kill, and a sentence reaches a model that cannot see.

use std::fs;

use aime_llm::Image;
use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::{Value, json};

use super::{SERVICES, Service, accepted, reading::entries, refused};
use crate::harness::{World, actor, done, plan};

const RUN: [&str; 10] = ["run", "compare them", "--image", "a.png", "--mode", "direct", "--approve", "all", "--output", "json"];

/// A PNG of one pixel, with a text in it that makes it another file.
fn png(text: &str) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0];
    let pixels = [0x78, 0x01, 0x01, 0x02, 0x00, 0xfd, 0xff, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01];
    let text = [b"Comment\0".as_slice(), text.as_bytes()].concat();
    for (kind, data) in [(b"IHDR", header.as_slice()), (b"tEXt", &text), (b"IDAT", &pixels), (b"IEND", &[])] {
        let chunk = [kind.as_slice(), data].concat();
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(&chunk);
        bytes.extend(crc(&chunk).to_be_bytes());
    }
    bytes
}

/// The checksum of a chunk of a PNG.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// Puts the two images into the working folder, and returns their data in base64.
fn images(world: &World) -> [String; 2] {
    ["a.png", "b.png"].map(|name| {
        let bytes = png(name);
        fs::write(world.path(name), &bytes).unwrap();
        Image::new(name, &bytes).unwrap().data.to_string()
    })
}

/// A model that reads the second image and ends.
fn reads() -> Script {
    let read = Reply::call("read_file", json!({"path": "b.png"}));
    Script::new().on(When::tools().and_turn(0), [read]).on(When::tools().and_turn(1), [done("alike")])
}

/// The strings of a request that hold the data of an image, each with the names of the members around it.
fn places(value: &Value, data: &str) -> Vec<(String, String)> {
    fn walk(value: &Value, path: &str, data: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::String(text) if text.contains(data) => found.push((path.to_owned(), text.clone())),
            Value::Object(members) => members.iter().for_each(|(name, member)| walk(member, &format!("{path}.{name}"), data, found)),
            Value::Array(list) => list.iter().for_each(|one| walk(one, path, data, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", data, &mut found);
    found
}

/// Where this request has an image of the user, and where one of a result, in its protocol and at this service.
fn forms(request: &Value, provider: Provider, data: &str) -> [(String, String); 2] {
    let url = format!("data:image/png;base64,{data}");
    let (user, result, value) = match provider {
        _ if request.get("input").is_some() => (".input.content.image_url", ".input.output.image_url", &*url),
        _ if request.get("contents").is_some() => {
            (".contents.parts.inlineData.data", ".contents.parts.functionResponse.parts.inlineData.data", data)
        }
        Provider::Anthropic => (".messages.content.source.data", ".messages.content.content.source.data", data),
        _ => (".messages.content.image_url.url", ".messages.content.image_url.url", &*url),
    };
    [user, result].map(|path| (path.to_owned(), value.to_owned()))
}

/// Whether the model of this service sees no images: the catalog says so, or the service refuses them.
fn is_blind(service: &Service) -> bool {
    service.provider == Provider::DeepSeek
}

/// The refusals from which a run with images learns. Where nothing tells that a server is DeepSeek, it gets images first; at Mistral, a turn
/// of the user behind results, which holds their images.
fn lessons(service: &Service) -> usize {
    service.lessons.0 + usize::from(matches!(service.name, "Mistral, learned" | "DeepSeek, by the model"))
}

// Requirement: 11.5
#[test]
fn images_reach_each_provider_in_its_form() {
    for service in SERVICES {
        let world = service.world(reads(), "", "");
        let [first, second] = images(&world);
        let ended = world.aime(RUN).must(0);
        assert_eq!(ended.json()["answer"], "alike", "{}\n{ended}", service.name);
        let requests = accepted(&world);
        let Some([begun, read]) = requests.get(requests.len() - 2..) else { panic!("{}: {requests:#?}", service.name) };
        let refused = refused(&world);
        assert_eq!(refused.len(), lessons(&service), "{}: {refused:#?}", service.name);
        if is_blind(&service) {
            let left_out = |name| format!("[The image {name} (image/png, 1x1 pixels) was left out: the model cannot see images.]");
            assert_eq!((places(read, &first), places(read, &second)), (vec![], vec![]), "{}", service.name);
            assert_eq!(
                [left_out("a.png"), left_out("b.png")].map(|words| places(read, &words).len()),
                [1, 1],
                "{}: {read:#}",
                service.name
            );
            continue;
        }
        let [user, _] = forms(begun, service.provider, &first);
        assert_eq!(places(begun, &first), std::slice::from_ref(&user), "{}", service.name);
        assert_eq!(places(read, &first), [user], "{}", service.name);
        let [_, result] = forms(read, service.provider, &second);
        assert_eq!(places(read, &second), [result], "{}", service.name);
        assert!(places(read, "b.png is an image (image/png, 1x1 pixels).").len() == 1, "{}: {read:#}", service.name);
    }
}

#[test]
fn images_go_to_the_planner_and_to_each_actor() {
    for service in SERVICES.into_iter().filter(|service| !is_blind(service)) {
        let made = plan(&[actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"])]);
        let script = Script::new()
            .on(When::schema("aime_plan"), [Reply::json(made)])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("They are alike.")]);
        let world = service.world(script, "", "");
        let [first, _] = images(&world);
        world.aime(["run", "compare them", "--image", "a.png", "--mode", "complex", "--approve", "all"]).must(0);
        let with_image = accepted(&world).iter().filter(|request| places(request, &first).len() == 1).count();
        assert_eq!(with_image, 3, "{}", service.name);
    }
}

#[test]
fn a_killed_run_sends_its_images_again() {
    for service in SERVICES.into_iter().filter(|service| !is_blind(service)) {
        let read = Reply::call("read_file", json!({"path": "b.png"}));
        let script = Script::new()
            .on(When::tools().and_turn(0), [read])
            .once(When::tools().and_turn(1), [Reply::hang()])
            .on(When::tools().and_turn(1), [done("alike")]);
        let world = service.world(script, "", "");
        let data = images(&world);
        let running = world.start(RUN);
        world.wait_for_requests(2 + lessons(&service));
        running.kill();
        let asked = accepted(&world);
        // The run has its own copy of the goal's image. What a read-only call gave may be lost with the process, and is read again.
        fs::remove_file(world.path("a.png")).unwrap();
        let ended = world.aime(["resume", "last", "--output", "json"]).must(0);
        assert_eq!(ended.json()["answer"], "alike", "{}\n{ended}", service.name);
        let requests = accepted(&world);
        let (Some(before), Some(after)) = (asked.last(), requests.last()) else { panic!("{}: {requests:#?}", service.name) };
        // Where the first answer was lost with the process, it is asked for again, and its call has another id.
        if requests.len() == asked.len() + 1 {
            assert_eq!(entries(before), entries(after), "{}: the request is the same one", service.name);
        }
        assert_eq!(data.map(|data| places(after, &data).len()), [1, 1], "{}", service.name);
    }
}

#[test]
fn a_setting_says_that_a_model_cannot_see() {
    let service = SERVICES[14];
    let world = service.world(reads(), "images = false\n", "");
    let [first, second] = images(&world);
    world.aime(RUN).must(0);
    assert_eq!(refused(&world), []);
    for request in accepted(&world) {
        assert_eq!((places(&request, &first), places(&request, &second)), (vec![], vec![]));
        assert_eq!(places(&request, "[The image a.png (image/png, 1x1 pixels) was left out").len(), 1, "{request:#}");
    }
}
