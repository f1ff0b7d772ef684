//! Every face plans in the same way: each sends the same requests to the models that plan, and none sends a secret to a model.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::{
    acp::editor::Editor,
    dashboard::Asked,
    harness::{World, actor, done, messages_text, plan},
    mcp_serve::Client,
};

/// The ways in which a goal comes to the planner.
const FACES: [&str; 7] = ["run", "plan", "review", "mcp run", "mcp plan", "acp", "dashboard"];

/// The value of a variable that holds a secret.
const OF_VARIABLE: &str = "s3cr3t-canary-1";
/// The value in an `.env` file of the working folder.
const OF_FILE: &str = "s3cr3t-canary-2";

/// The rules that choose a mode are unsure of this goal, so the classifier is asked too.
const GOAL: &str = "Compare the two lists of the blue tap and describe what is different between them";

/// A classifier, a planner that plans one task, and an actor that says this at its end.
fn script(answer: &str) -> Script {
    Script::new()
        .on(When::schema("aime_route"), [Reply::json(json!({"reason": "unclear", "complexity": "complex"}))])
        .on(When::schema("aime_plan"), [Reply::json(plan(&[actor("wash", "WASH", &[])]))])
        .on(When::tools(), [done(answer)])
        .on(When::plain(), [Reply::text(answer)])
}

/// A world in which every goal is planned, and each anew.
fn world(answer: &str) -> World {
    let settings = "[planning]\nstrategy = \"always\"\ncache = false\n[memory]\nknowledge = \"docs\"\n";
    let mut world = World::with(script(answer)).settings(settings);
    world.set("EDITOR", "true");
    world
}

/// Has a goal planned, and carried out where the face does that.
fn ask(face: &str, goal: &str, world: &World) {
    match face {
        "run" => drop(world.aime(["run", goal]).must(0)),
        "plan" => drop(world.aime(["plan", goal]).must(0)),
        "review" => drop(world.aime(["run", goal, "--review"]).must(0)),
        "mcp run" | "mcp plan" => {
            let client = Client::of(world);
            client.call(if face == "mcp run" { "run" } else { "plan" }, json!({"goal": goal})).good();
            client.close();
        }
        "acp" => {
            let editor = Editor::of(world);
            let session = editor.begin(world).session_id;
            editor.prompt(&session, goal).unwrap();
            editor.close();
        }
        _ => {
            let dashboard = Asked::start(world);
            let run = dashboard.begin(&json!({"goal": goal}));
            dashboard.wait_for_end(&run);
            dashboard.end();
        }
    }
}

/// A world whose memory, project notes, documents and file names hold two secrets.
fn world_of_secrets() -> World {
    let mut world = world(&format!("The blue tap opens with {OF_VARIABLE} or {OF_FILE}."));
    // Nobody knows yet that the memory of this run holds secrets.
    world.aime(["run", "Find out how the blue tap opens"]).must(0);
    world.set("DB_PASSWORD", OF_VARIABLE);
    world.file(".env", &format!("SERVICE_TOKEN={OF_FILE}\n"));
    let both = format!("{OF_VARIABLE} and {OF_FILE}");
    world.file("AGENTS.md", &format!("Use the green sponge with {both}.\n"));
    world.file("docs/tap.md", &format!("# The blue tap\n\nTurn the blue tap twice, then give it {both}.\n"));
    world.file(&format!("{OF_VARIABLE}.txt"), "");
    world.serve(script("washed"));
    world
}

#[test]
fn no_face_sends_a_secret_to_a_model() {
    for face in FACES {
        let world = world_of_secrets();
        ask(face, &format!("{GOAL} {OF_VARIABLE} {OF_FILE}"), &world);
        for request in world.server().requests() {
            let request = request.to_string();
            assert!(!request.contains(OF_VARIABLE) && !request.contains(OF_FILE), "{face}: {request}");
        }
        assert_eq!(world.schema_requests("aime_route").len(), 1, "{face}: the classifier is asked");
        let planner = messages_text(&world.schema_requests("aime_plan")[0]);
        for known in
            ["different between them [redacted-secret] [redacted-secret]", "green sponge with [redacted-secret]", "[redacted-secret].txt"]
        {
            assert!(planner.contains(known), "{face}: the planner is not told {known:?}\n{planner}");
        }
        for known in ["Turn the blue tap twice", "The blue tap opens with [redacted-secret]"] {
            assert!(planner.contains(known), "{face}: the planner does not know {known:?}\n{planner}");
        }
    }
}

/// The requests that the classifier and the planner get from a face.
fn planning_requests(face: &str) -> [Value; 2] {
    let world = world("washed");
    world.file("AGENTS.md", "Use the green sponge.\n");
    world.file("docs/tap.md", "# The blue tap\n\nTurn the blue tap twice.\n");
    ask(face, GOAL, &world);
    ["aime_route", "aime_plan"].map(|name| {
        let mut requests = world.schema_requests(name);
        assert_eq!(requests.len(), 1, "{face}: {name}");
        requests.remove(0)
    })
}

#[test]
fn every_face_plans_with_the_same_requests() {
    let of_run = planning_requests("run");
    // The tools stand in both parts that are left out; their descriptions are no matter of planning.
    insta::assert_json_snapshot!(of_run, {"[].messages[0].content" => "…", "[].response_format.json_schema.schema" => "…"});
    for face in FACES {
        let requests = planning_requests(face);
        assert!(requests == of_run, "{face}: {requests:#?}");
    }
}
