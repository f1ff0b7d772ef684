//! aime as an agent of an editor: a client of the official library drives the built binary, as an editor would.

pub(crate) mod editor;
mod sessions;

use agent_client_protocol::{
    ErrorCode,
    schema::ProtocolVersion,
    v1::schema::{
        ContentBlock, EnvVariable, ImageContent, ListSessionsRequest, LoadSessionRequest, McpServer, McpServerHttp, McpServerStdio,
        NewSessionRequest, PermissionOptionKind, PlanEntryStatus, PromptRequest, SetSessionConfigOptionRequest, SetSessionModeRequest,
        StopReason, ToolCallContent, ToolCallStatus, ToolKind,
    },
};
use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use self::editor::{Editor, agent_text, calls, plans, user_text};
use crate::harness::{World, actor, bash, done, plan, wait_until, write};

// Requirement: 8.26
#[test]
fn an_editor_gives_a_goal_and_sees_the_plan_being_carried_out() {
    let made = plan(&[actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"])]);
    let world = World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(made)])
            .on(When::tools().and_contains("WASH").and_turn(0), [write("soap.txt", "much\n")])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("The dishes are done.")]),
    );
    let editor = Editor::of(&world);
    let introduction = editor.introduced.clone();
    assert_eq!(introduction.protocol_version, ProtocolVersion::V1);
    assert!(introduction.agent_capabilities.prompt_capabilities.image);
    assert!(introduction.agent_capabilities.load_session && introduction.agent_info.is_some_and(|agent| agent.name == "aime"));

    let session = editor.begin(&world);
    let modes = session.modes.clone().unwrap();
    assert_eq!(&*modes.current_mode_id.0, "edits");
    let options = editor.ask(SetSessionConfigOptionRequest::new(session.session_id.clone(), "planning", "complex")).unwrap();
    assert!(format!("{options:?}").contains("complex"));

    let id = session.session_id;
    assert_eq!(editor.prompt(&id, "do the dishes").unwrap(), StopReason::EndTurn);
    let updates = editor.updates(&id);
    let shown: Vec<Vec<_>> = plans(&updates).iter().map(|plan| plan.iter().map(|(_, status)| status.clone()).collect()).collect();
    use PlanEntryStatus::{Completed, InProgress, Pending};
    let expected = [[Pending, Pending], [InProgress, Pending], [Completed, Pending], [Completed, InProgress], [Completed, Completed]];
    assert_eq!(shown, expected);
    assert_eq!(plans(&updates)[0].iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), ["wash", "dry"]);
    let calls = calls(&updates);
    let [soap] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((soap.kind, soap.status), (ToolKind::Edit, ToolCallStatus::Completed));
    assert_eq!(soap.locations[0].path, world.path("soap.txt").canonicalize().unwrap());
    let ToolCallContent::Diff(diff) = &soap.content[0] else { panic!("{soap:?}") };
    assert_eq!((diff.old_text.as_deref(), diff.new_text.as_str()), (None, "much\n"));
    assert_eq!(agent_text(&updates), "The dishes are done.");

    // It is kept as all runs are, under the name of the session.
    assert!(world.aime(["runs", "show", &id.0]).must(0).stdout.contains("completed"));
    editor.close();
}

// Requirement: 8.26
#[test]
fn consent_is_asked_for_by_the_protocol() {
    let script = || {
        Script::new()
            .on(When::tools().and_turn(0), [bash("touch made.txt")])
            .on(When::tools().and_turn(1), [bash("touch again.txt")])
            .on(When::tools(), [done("touched")])
    };
    let mut world = World::with(script());
    let editor = Editor::answering(&world, &[PermissionOptionKind::AllowOnce, PermissionOptionKind::RejectOnce]);
    let id = editor.direct(&world);
    editor.prompt(&id, "touch the files").unwrap();
    assert!(world.exists("made.txt") && !world.exists("again.txt"));
    let asked = editor.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].tool_call.fields.title.as_deref() == Some("Run this command?"), "{:?}", asked[0]);
    let kinds: Vec<_> = asked[0].options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds, [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways, PermissionOptionKind::RejectOnce]);
    // What was asked for and what is then done is one call.
    let calls = calls(&editor.updates(&id));
    let statuses: Vec<_> = calls.iter().map(|call| (call.tool_call_id.clone(), call.status)).collect();
    let ids: Vec<_> = asked.iter().map(|asked| asked.tool_call.tool_call_id.clone()).collect();
    assert_eq!(statuses, [(ids[0].clone(), ToolCallStatus::Completed), (ids[1].clone(), ToolCallStatus::Failed)]);
    editor.close();

    // What is allowed for good is asked once in this folder.
    world.serve(script());
    let editor = Editor::answering(&world, &[PermissionOptionKind::AllowAlways, PermissionOptionKind::AllowAlways]);
    for _ in 0..2 {
        let id = editor.direct(&world);
        editor.prompt(&id, "touch the files").unwrap();
    }
    assert_eq!(editor.asked().len(), 2, "each command once");
    editor.close();
}

#[test]
fn a_mode_that_asks_for_nothing_asks_for_nothing() {
    let world = World::with(Script::new().on(When::tools().and_turn(0), [bash("touch made.txt")]).on(When::tools(), [done("touched")]));
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    editor.ask(SetSessionModeRequest::new(id.clone(), "all")).unwrap();
    editor.prompt(&id, "touch it").unwrap();
    assert!(world.exists("made.txt") && editor.asked().is_empty());
    let wrong = editor.ask(SetSessionModeRequest::new(id, "everything")).unwrap_err();
    assert_eq!(wrong.code, ErrorCode::INVALID_PARAMS);
    editor.close();
}

/// A worker that asks for a colour and paints once it is blue.
fn asks_for_a_colour() -> Script {
    Script::new()
        .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::tools().and_contains("blue"), [done("painted blue")])
}

fn number_of_runs(world: &World) -> usize {
    world.aime(["runs", "--output", "json"]).must(0).json().as_array().unwrap().len()
}

// Requirement: 8.26
#[test]
fn a_question_ends_the_turn_and_the_next_prompt_answers_it() {
    let world = World::with(asks_for_a_colour());
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    assert_eq!(editor.prompt(&id, "paint the wall").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "Which colour?");
    assert_eq!(editor.prompt(&id, "blue").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "Which colour?\npainted blue");
    assert_eq!(number_of_runs(&world), 1);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_loaded_session_answers_its_question_in_its_mode() {
    let world = World::with(asks_for_a_colour());
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    editor.ask(SetSessionModeRequest::new(id.clone(), "ask")).unwrap();
    editor.prompt(&id, "paint the wall").unwrap();
    editor.close();

    // The settings say `edits`.
    let editor = Editor::of(&world);
    let loaded = editor.ask(LoadSessionRequest::new(id.clone(), world.work())).unwrap();
    assert_eq!(&*loaded.modes.unwrap().current_mode_id.0, "ask");
    // A freer mode is for the next run.
    editor.ask(SetSessionModeRequest::new(id.clone(), "all")).unwrap();
    assert_eq!(editor.prompt(&id, "blue").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "Which colour?\npainted blue");
    assert_eq!(number_of_runs(&world), 1);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_prompt_goes_on_with_a_run_after_a_quota() {
    let quota = Reply::status(429, json!({"error": {"message": "usage limit reached"}}), [("retry-after", "7200")]);
    let world = World::with(Script::new().once(When::tools(), [quota]).on(When::tools(), [done("done at last")]));
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    assert_eq!(editor.prompt(&id, "do the dishes").unwrap(), StopReason::EndTurn);
    let shown = agent_text(&editor.updates(&id));
    assert!(shown.contains("it answers again at") && shown.contains("resume the run"), "{shown}");
    editor.close();

    // The same process would leave the provider alone for a minute first.
    let editor = Editor::of(&world);
    editor.ask(LoadSessionRequest::new(id.clone(), world.work())).unwrap();
    assert_eq!(editor.prompt(&id, "go on").unwrap(), StopReason::EndTurn);
    let shown = agent_text(&editor.updates(&id));
    assert!(shown.ends_with("done at last"), "{shown}");
    assert_eq!(number_of_runs(&world), 1);
    editor.close();
}

// Requirement: 8.26
#[test]
fn steps_that_are_used_up_end_the_turn_by_name() {
    let script = Script::new().on(When::tools(), [Reply::call("list_dir", json!({"path": "."}))]);
    let world = World::with(script).settings("[run]\nmax_steps = 3\n[triggers]\nmax_retries = 0\n");
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    assert_eq!(editor.prompt(&id, "loop").unwrap(), StopReason::MaxTurnRequests);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_cancelled_turn_can_go_on_and_hears_the_next_prompt() {
    let world = World::with(
        Script::new().once(When::tools(), [Reply::hang()]).on(When::tools().and_contains("a bit faster"), [done("done at last")]),
    );
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    let turn = editor.send(PromptRequest::new(id.clone(), vec!["wait".into()]));
    world.wait_for_requests(1);
    let busy = editor.prompt(&id, "and now?").unwrap_err();
    assert_eq!(busy.code, ErrorCode::INVALID_REQUEST);
    editor.cancel(&id);
    assert_eq!(editor.within(turn.block_task()).unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(editor.prompt(&id, "a bit faster").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "done at last");
    editor.close();
}

#[test]
fn a_cancel_right_after_a_prompt_stops_it() {
    let world = World::with(
        Script::new().on(When::tools().and_contains("a bit faster"), [done("done at last")]).on(When::tools(), [Reply::hang()]),
    );
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    // A GIF's signature and header. The rest takes time to decode.
    let image = format!("R0lGODlhBQADAAAA{}", "AAAA".repeat(500_000));
    let prompt = vec!["wait".into(), ContentBlock::Image(ImageContent::new(image, "image/gif"))];
    let turn = editor.send(PromptRequest::new(id.clone(), prompt));
    editor.cancel(&id);
    assert_eq!(editor.within(turn.block_task()).unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(editor.prompt(&id, "a bit faster").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "done at last");
    // The first run may not have begun; its name is then free.
    world.aime(["runs", "show", &id.0]).must(0);
    assert_eq!(number_of_runs(&world), 1);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_later_prompt_knows_what_was_said_before() {
    let world = World::with(
        Script::new()
            .on(When::tools().and_contains("You answered: it is blue"), [done("as I said: blue")])
            .on(When::tools(), [done("it is blue")]),
    );
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    editor.prompt(&id, "which colour is it").unwrap();
    editor.prompt(&id, "which one was it again").unwrap();
    assert_eq!(agent_text(&editor.updates(&id)), "it is blue\nas I said: blue");
    editor.close();

    // Another editor loads the session: it is shown what was said, and goes on.
    let editor = Editor::of(&world);
    let listed = editor.ask(ListSessionsRequest::new().cwd(world.work())).unwrap().sessions;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].session_id, listed[0].title.as_deref()), (&id, Some("which colour is it")));
    editor.ask(LoadSessionRequest::new(id.clone(), world.work())).unwrap();
    let shown = editor.updates(&id);
    assert_eq!(user_text(&shown), "which colour is it\nwhich one was it again");
    assert_eq!(agent_text(&shown), "it is blue\nas I said: blue");
    editor.prompt(&id, "and now").unwrap();
    assert_eq!(agent_text(&editor.updates(&id)), "it is blue\nas I said: blue\nas I said: blue");
    let unknown = editor.ask(LoadSessionRequest::new("nowhere", world.work())).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::RESOURCE_NOT_FOUND);
    editor.close();
}

// Requirement: 1.10
#[test]
fn a_prompt_continues_a_led_run_in_its_conversation() {
    let world = World::led(Script::new().on(When::tools(), [write("out.txt", "clean"), done("Clean."), done("Dry."), done("Away.")]));
    let editor = Editor::of(&world);
    let id = editor.begin(&world).session_id;
    assert_eq!(editor.prompt(&id, "wash them").unwrap(), StopReason::EndTurn);
    assert_eq!(editor.prompt(&id, "dry them").unwrap(), StopReason::EndTurn);
    assert_eq!(agent_text(&editor.updates(&id)), "Clean.\nDry.");
    editor.close();

    // So does another editor that loads the session.
    let editor = Editor::of(&world);
    editor.ask(LoadSessionRequest::new(id.clone(), world.work())).unwrap();
    assert_eq!(user_text(&editor.updates(&id)), "wash them\ndry them");
    editor.prompt(&id, "put them away").unwrap();
    assert_eq!(agent_text(&editor.updates(&id)), "Clean.\nDry.\nAway.");
    let requests = world.server().requests();
    crate::lead::grows_only_at_its_end(&requests);
    assert_eq!(requests.len(), 4, "nothing is read or asked again");
    let runs = || world.aime(["runs", "--output", "json"]).must(0).json().as_array().unwrap().len();
    assert_eq!(runs(), 1);

    // A choice made meanwhile applies to a new run.
    editor.ask(SetSessionModeRequest::new(id.clone(), "read-only")).unwrap();
    editor.prompt(&id, "are they away?").unwrap();
    assert_eq!(runs(), 2);
    editor.close();
}

// Requirement: 8.26
#[test]
fn what_cannot_be_honoured_is_refused() {
    let world = World::with(Script::new());
    let editor = Editor::of(&world);
    for (request, part) in [
        (NewSessionRequest::new("somewhere"), "not absolute"),
        (NewSessionRequest::new("/there/is/no/such/folder"), "cannot be used"),
        (NewSessionRequest::new(world.work()).additional_directories(vec![world.root().to_owned()]), "one folder"),
    ] {
        let error = editor.ask(request).unwrap_err();
        assert!(error.code == ErrorCode::INVALID_PARAMS && error.message.contains(part), "{part}: {error:?}");
    }
    let id = editor.begin(&world).session_id;
    assert_eq!(editor.prompt(&id, " ").unwrap_err().code, ErrorCode::INVALID_PARAMS);
    let gone = editor.prompt(&"nowhere".into(), "hello").unwrap_err();
    assert_eq!(gone.code, ErrorCode::RESOURCE_NOT_FOUND);
    editor.close();
}

#[test]
fn a_model_that_cannot_be_reached_is_an_error_and_a_bound_is_none() {
    let world = World::alone();
    let editor = Editor::of(&world);
    let id = editor.begin(&world).session_id;
    let error = editor.prompt(&id, "hello").unwrap_err();
    assert!(error.code == ErrorCode::INTERNAL_ERROR && error.message.contains("model"), "{error:?}");
    editor.close();

    let world = World::with(Script::new().on(When::tools(), [bash("true")])).settings("[run]\nmax_tool_calls = 2\n");
    let editor = Editor::answering(&world, &[PermissionOptionKind::AllowAlways]);
    let id = editor.direct(&world);
    assert_eq!(editor.prompt(&id, "loop").unwrap(), StopReason::MaxTurnRequests);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_closed_input_stops_the_runs_and_ends_the_agent() {
    let world = World::with(Script::new().once(When::tools(), [Reply::hang()]).on(When::tools(), [done("done at last")]));
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    let turn = editor.send(PromptRequest::new(id.clone(), vec!["wait".into()]));
    world.wait_for_requests(1);
    drop(turn);
    editor.close();
    let status = || world.aime(["runs", "--output", "json"]).must(0).json()[0]["status"].clone();
    wait_until("the run is stopped", || status() == "interrupted");
    world.aime(["resume", &id.0]).must(0);
}

// Requirement: 8.26
#[cfg(feature = "mcp")]
#[test]
fn servers_of_the_editor_are_used() {
    let world = World::with(
        Script::new()
            .on(When::tools().and_turn(0), [Reply::call("mcp__clock__clock_read", json!({"place": "Paris"}))])
            .on(When::tools().and_contains("noon sharp"), [done("it is noon")]),
    );
    world.file("clock.sh", crate::mcp::CLOCK);
    let editor = Editor::answering(&world, &[PermissionOptionKind::AllowOnce]);
    let clock = McpServerStdio::new("clock", "sh").args(vec!["clock.sh".to_owned()]).env(vec![EnvVariable::new("WHO", "an editor")]);
    let request = NewSessionRequest::new(world.work()).mcp_servers(vec![McpServer::Stdio(clock)]);
    let id = editor.ask(request).unwrap().session_id;
    editor.ask(SetSessionConfigOptionRequest::new(id.clone(), "planning", "direct")).unwrap();
    editor.prompt(&id, "what time is it").unwrap();
    assert_eq!(agent_text(&editor.updates(&id)), "it is noon");
    assert_eq!(editor.asked().len(), 1);
    let wrong = NewSessionRequest::new(world.work()).mcp_servers(vec![McpServer::Http(McpServerHttp::new("far", "gopher://example.org"))]);
    assert_eq!(editor.ask(wrong).unwrap_err().code, ErrorCode::INVALID_PARAMS);
    editor.close();
}

#[test]
fn an_image_in_a_prompt_reaches_the_model() {
    // A GIF's signature and header; nothing looks at its pixels.
    const GIF: &str = "R0lGODlhBQADAAAAAA==";
    let world = World::with(Script::new().on(When::tools(), [done("a dot")]).on(When::any(), [Reply::text("A dot.")]));
    let editor = Editor::of(&world);
    let id = editor.begin(&world).session_id;
    editor.ask(SetSessionConfigOptionRequest::new(id.clone(), "planning", "direct")).unwrap();
    let prompt = |data: &str| vec!["what is it?".into(), ContentBlock::Image(ImageContent::new(data, "image/gif"))];
    let refused = editor.ask(PromptRequest::new(id.clone(), prompt("aGk="))).unwrap_err();
    assert!(refused.message.contains("no. 1 is not a PNG, JPEG, GIF or WebP image"), "{refused:?}");
    let answered = editor.ask(PromptRequest::new(id.clone(), prompt(GIF))).unwrap();
    assert_eq!(answered.stop_reason, StopReason::EndTurn);
    let asked = world.server().received()[0].body.to_string();
    assert!(asked.contains(&format!("data:image/gif;base64,{GIF}")), "{asked}");
    assert!(!format!("{:?}", editor.updates(&id)).contains(GIF));
    editor.close();
}
