//! Images that are given with a goal: faults, what people and programs see of them, and plans that are kept.

use std::fs;

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, actor, done, plan};

/// A GIF's signature and header, so many pixels wide; nothing looks at its pixels. The data in base64 begins with [`DATA`].
fn gif(width: u8) -> Vec<u8> {
    [b"GIF89a".as_slice(), &[width, 0, 1, 0, 0, 0, 0], b" and more"].concat()
}

const DATA: &str = "R0lGODlh";

fn world() -> World {
    let world = World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("look", "LOOK", &[])]))])
            .on(When::tools(), [done("seen")])
            .on(When::plain(), [Reply::text("It is seen.")]),
    );
    fs::write(world.path("a.gif"), gif(1)).unwrap();
    fs::write(world.path("b.gif"), gif(2)).unwrap();
    world
}

#[test]
fn faults_of_images_are_usage() {
    let world = world();
    world.file("words.png", "no image");
    fs::write(world.path("large.gif"), [gif(1), vec![0; 4_000_000]].concat()).unwrap();
    let run = |images: &[&str]| {
        let images = images.iter().flat_map(|image| ["--image", image]);
        world.aime(["run", "look"].into_iter().chain(images)).must(2).stderr
    };
    let cases: [(&[&str], &str); 4] = [
        (&["missing.png"], "error: the image missing.png was not found"),
        (&["a.gif", "words.png"], "error: words.png is not a PNG, JPEG, GIF or WebP image"),
        (&["large.gif"], "error: the image large.gif has 4000022 bytes, and models take at most 3750000: make it smaller first"),
        (&["a.gif"; 21], "error: 21 images were given; a goal takes at most 20"),
    ];
    for (images, fault) in cases {
        let error = run(images);
        assert!(error.contains(fault), "{error}");
    }
    assert_eq!(world.server().received().len(), 0);
    let stderr = world.aime(["--lang", "zh", "run", "look", "--image", "words.png"]).must(2).stderr;
    assert!(stderr.contains("words.png 不是 PNG、JPEG、GIF 或 WebP 图像"), "{stderr}");
}

#[test]
fn people_and_programs_see_names_and_no_data() {
    let world = world();
    let run =
        |form: &str| world.aime(["run", "look", "--image", "a.gif", "--image", "b.gif", "--mode", "complex", "--output", form]).must(0);
    let text = run("text");
    assert!(text.stderr.contains("images  a.gif, b.gif"), "{text}");
    let lines = run("jsonl");
    let images = &lines.events("run_started")[0]["images"];
    assert_eq!(images.to_string(), r#"[{"name":"a.gif","media_type":"image/gif"},{"name":"b.gif","media_type":"image/gif"}]"#);
    let shown = world.aime(["runs", "show", "last"]).must(0);
    assert!(shown.stdout.contains("images  a.gif, b.gif"), "{shown}");
    world.aime(["runs", "report", "last", "-o", "report.html"]).must(0);
    let outputs = [
        text,
        lines,
        shown,
        run("json"),
        world.aime(["runs", "list"]).must(0),
        world.aime(["runs", "events", "last", "--output", "jsonl"]).must(0),
        world.aime(["runs", "show", "last", "--output", "json"]).must(0),
    ];
    for output in outputs {
        assert!(!output.stdout.contains(DATA) && !output.stderr.contains(DATA), "{output}");
    }
    assert!(!world.read("report.html").contains(DATA));
}

#[test]
fn a_plan_is_kept_for_the_same_images_alone() {
    let world = world();
    let run = |image: &[&str]| world.aime(["run", "look", "--mode", "complex"].iter().chain(image).copied()).must(0);
    for (images, plans) in [(&[][..], 1), (&["--image", "a.gif"], 2), (&["--image", "b.gif"], 3), (&["--image", "a.gif"], 3)] {
        run(images);
        assert_eq!(world.schema_requests("aime_plan").len(), plans, "{images:?}");
    }
}

#[test]
fn hooks_and_logs_get_no_data() {
    let mut world = world();
    let hook = |point: &str| format!("[[hooks.{point}]]\nname = \"{point}\"\ncommand = \"cat >> heard\"\n");
    world.user_settings(&["before_prompt", "after_prompt", "before_task", "after_task", "before_tool", "after_tool"].map(hook).concat());
    world.serve(
        Script::new().on(When::tools().and_turn(0), [Reply::call("read_file", json!({"path": "b.gif"}))]).on(When::tools(), [done("seen")]),
    );
    let ended = world.aime(["-v", "run", "look", "--image", "a.gif", "--mode", "direct"]).must(0);
    let sent = world.server().received().last().unwrap().body.to_string();
    assert_eq!(sent.matches(DATA).count(), 2, "{sent}");
    let received = world.read("heard");
    assert!(received.contains("b.gif is an image (image/gif, 2x1 pixels)"), "{received}");
    assert!(!received.contains(DATA) && !ended.stderr.contains(DATA), "{received}\n{ended}");
}
