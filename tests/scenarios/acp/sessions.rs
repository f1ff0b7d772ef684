//! Sessions that are closed, resumed and deleted, and what else the stable protocol knows.

use agent_client_protocol::v1::schema::{
    AuthCapabilities, AuthMethod, AuthenticateRequest, ClientCapabilities, CloseSessionRequest, DeleteSessionRequest, ElicitationMode,
    InitializeRequest, LogoutRequest, ResumeSessionRequest, SessionUpdate,
};

use super::*;

/// The runs of a world.
fn runs(world: &World) -> usize {
    world.aime(["runs", "--output", "json"]).must(0).json().as_array().unwrap().len()
}

// Requirement: 8.26
#[test]
fn a_closed_session_is_resumed_without_a_replay() {
    let replies = [done("The first is done."), done("The second is done, too."), Reply::hang()];
    let world = World::led(Script::new().on(When::tools(), replies));
    let editor = Editor::of(&world);
    let sessions = &editor.introduced.agent_capabilities.session_capabilities;
    assert!(sessions.close.is_some() && sessions.resume.is_some() && sessions.delete.is_some() && sessions.list.is_some());
    let id = editor.begin(&world).session_id;
    editor.prompt(&id, "do the first").unwrap();
    let shown = editor.updates(&id).len();
    editor.ask(CloseSessionRequest::new(id.clone())).unwrap();
    assert_eq!(editor.prompt(&id, "again").unwrap_err().code, ErrorCode::RESOURCE_NOT_FOUND);
    assert_eq!(editor.ask(CloseSessionRequest::new(id.clone())).unwrap_err().code, ErrorCode::RESOURCE_NOT_FOUND);
    assert_eq!(runs(&world), 1, "its run stays");

    let resumed = editor.ask(ResumeSessionRequest::new(id.clone(), world.work())).unwrap();
    assert!(resumed.modes.is_some() && resumed.config_options.is_some());
    assert_eq!(editor.updates(&id).len(), shown, "the editor has shown all of it");
    editor.prompt(&id, "and the second").unwrap();
    let shown = agent_text(&editor.updates(&id));
    assert!(shown.ends_with("The second is done, too."), "{shown}");
    let requests = world.server().requests();
    assert!(crate::harness::messages_text(requests.last().unwrap()).contains("do the first"), "the conversation goes on");

    // A turn is cancelled by the end of its session.
    let turn = editor.send(PromptRequest::new(id.clone(), vec!["wait for it".into()]));
    world.wait_for_requests(requests.len() + 1);
    editor.ask(CloseSessionRequest::new(id.clone())).unwrap();
    assert_eq!(editor.within(turn.block_task()).unwrap().stop_reason, StopReason::Cancelled);
    let unknown = editor.ask(ResumeSessionRequest::new("nowhere", world.work())).unwrap_err();
    assert_eq!(unknown.code, ErrorCode::RESOURCE_NOT_FOUND);
    editor.close();
}

/// The prompt comes too late, or the close ends its turn. The moment between the look-up of the session and the beginning of the turn is
/// too short to be met surely in these tries.
// Requirement: 8.26
#[test]
fn a_prompt_beside_a_close_does_not_go_on() {
    let world = World::with(Script::new().on(When::tools(), [Reply::hang()]));
    let editor = Editor::of(&world);
    for _ in 0..20 {
        let id = editor.direct(&world);
        let closing = editor.send(CloseSessionRequest::new(id.clone()));
        let turn = editor.send(PromptRequest::new(id, vec!["wait".into()]));
        editor.within(closing.block_task()).unwrap();
        match editor.within(turn.block_task()) {
            Ok(ended) => assert_eq!(ended.stop_reason, StopReason::Cancelled),
            Err(error) => assert_eq!(error.code, ErrorCode::RESOURCE_NOT_FOUND),
        }
    }
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_deleted_session_leaves_no_run() {
    let world = World::with(Script::new().on(When::tools(), [done("done")]));
    let editor = Editor::of(&world);
    let (kept, gone) = (editor.direct(&world), editor.direct(&world));
    for (id, text) in [(&kept, "keep"), (&gone, "one"), (&gone, "two")] {
        editor.prompt(id, text).unwrap();
    }
    assert_eq!(runs(&world), 3);
    editor.ask(DeleteSessionRequest::new(gone.clone())).unwrap();
    assert_eq!(runs(&world), 1);
    let listed = editor.ask(ListSessionsRequest::new().cwd(world.work())).unwrap().sessions;
    assert_eq!(listed.iter().map(|session| session.session_id.clone()).collect::<Vec<_>>(), [kept]);
    // A session without runs is deleted already: one that was deleted, one that nobody knows, one without a prompt.
    let without_prompt = editor.direct(&world);
    for id in [gone, "nowhere".into(), "no name".into(), without_prompt.clone()] {
        editor.ask(DeleteSessionRequest::new(id)).unwrap();
    }
    assert_eq!(editor.prompt(&without_prompt, "go on").unwrap_err().code, ErrorCode::RESOURCE_NOT_FOUND);
    assert_eq!(runs(&world), 1);
    editor.close();
}

// Requirement: 8.26
#[test]
fn an_unreadable_folder_hides_no_session() {
    let world = World::with(Script::new().on(When::tools(), [done("done")]));
    let editor = Editor::of(&world);
    let ids = ["first", "second"].map(|text| {
        let id = editor.direct(&world);
        editor.prompt(&id, text).unwrap();
        id
    });
    editor.prompt(&ids[0], "third").unwrap();
    editor.close();

    // Another editor has named no folder yet: aime lists the sessions of the folder in which it was started, the last changed first.
    let editor = Editor::of(&world);
    let listed = || {
        let sessions = editor.ask(ListSessionsRequest::new()).unwrap().sessions;
        sessions.into_iter().map(|session| session.session_id).collect::<Vec<_>>()
    };
    assert_eq!(listed(), ids);
    let broken = world.root().join("broken");
    std::fs::create_dir(&broken).unwrap();
    assert!(editor.ask(ListSessionsRequest::new().cwd(broken.clone())).unwrap().sessions.is_empty());
    std::fs::write(broken.join("aime.toml"), "[run\n").unwrap();
    assert_eq!(listed(), ids);
    editor.ask(DeleteSessionRequest::new(ids[1].clone())).unwrap();
    assert_eq!(listed(), ids[..1]);
    assert_eq!(runs(&world), 2);
    editor.close();
}

// Requirement: 8.26
#[test]
fn a_form_asks_where_the_editor_shows_forms() {
    let ask = |question: &str| Reply::call("ask_human", json!({"question": question}));
    let world = World::with(
        Script::new()
            .on(When::tools().and_turn(0), [ask("Which colour?")])
            .on(When::tools().and_turn(1), [ask("How often?")])
            .on(When::tools().and_contains("twice"), [done("painted blue twice")]),
    );
    let editor = Editor::filling(&world, &["blue"]);
    let id = editor.direct(&world);
    assert_eq!(editor.prompt(&id, "paint the wall").unwrap(), StopReason::EndTurn);
    let forms = editor.forms();
    assert_eq!(forms.iter().map(|form| form.message.as_str()).collect::<Vec<_>>(), ["Which colour?", "How often?"]);
    let ElicitationMode::Form(form) = &forms[0].mode else { panic!("{:?}", forms[0]) };
    assert_eq!(form.requested_schema.required.as_deref(), Some(&["answer".to_owned()][..]));
    // The second form was declined: the next prompt answers it.
    assert_eq!(editor.prompt(&id, "twice").unwrap(), StopReason::EndTurn);
    let shown = agent_text(&editor.updates(&id));
    assert!(shown.ends_with("painted blue twice"), "{shown}");
    assert!(crate::harness::messages_text(&world.server().requests()[1]).contains("blue"));
    assert_eq!(runs(&world), 1);
    editor.close();
}

/// In a form or as the next prompt, an empty answer lets a blocked run go on.
#[test]
fn an_empty_answer_lets_a_blocked_run_go_on() {
    let blocked = || Reply::call("terminate", json!({"status": "blocked", "message": "It is refused.", "needs": "a key in key.txt"}));
    let world = World::with(Script::new().on(When::tools(), [blocked(), blocked(), done("uploaded")]));
    let editor = Editor::filling(&world, &[""]);
    let id = editor.direct(&world);
    let refused = editor.prompt(&id, " ").unwrap_err();
    assert!(refused.code == ErrorCode::INVALID_PARAMS && refused.message.contains("the prompt is empty"), "{refused:?}");
    assert_eq!(editor.prompt(&id, "upload the report").unwrap(), StopReason::EndTurn);
    let forms = editor.forms();
    assert_eq!(forms.len(), 2, "the second one was declined");
    let ElicitationMode::Form(form) = &forms[0].mode else { panic!("{:?}", forms[0]) };
    assert_eq!(form.requested_schema.required, None);
    assert_eq!(editor.prompt(&id, "").unwrap(), StopReason::EndTurn);
    let shown = agent_text(&editor.updates(&id));
    assert!(shown.ends_with("uploaded"), "{shown}");
    assert_eq!((world.server().requests().len(), runs(&world)), (3, 1));
    editor.close();
}

// Requirement: 8.26
#[test]
fn the_use_of_the_window_and_the_cost_are_shown() {
    let settings = "[models.default]\nmodel = \"m\"\ncontext_tokens = 32000\nprices = { input = 1000.0, output = 0.0 }\n";
    let script = Script::new().on(When::tools(), [done("done").usage(1_000, 20)]);
    let world = World::with(script).settings(settings);
    let editor = Editor::of(&world);
    let id = editor.direct(&world);
    let uses = |editor: &Editor| -> Vec<(u64, u64, f64)> {
        let updates = editor.updates(&id);
        let uses = updates.iter().filter_map(|update| match update {
            SessionUpdate::UsageUpdate(used) => Some((used.used, used.size, used.cost.as_ref().map_or(0.0, |cost| cost.amount))),
            _ => None,
        });
        uses.collect()
    };
    editor.prompt(&id, "one").unwrap();
    editor.prompt(&id, "two").unwrap();
    assert_eq!(uses(&editor), [(1_020, 32_000, 1.0), (1_020, 32_000, 2.0)], "the cost is that of the session");
    editor.ask(LoadSessionRequest::new(id.clone(), world.work())).unwrap();
    assert_eq!(uses(&editor).len(), 3, "the last one is shown again");
    assert_eq!(uses(&editor)[2], (1_020, 32_000, 2.0));
    editor.close();
}

#[test]
fn a_login_is_refused_with_advice() {
    let world = World::with(Script::new());
    let editor = Editor::of(&world);
    assert!(editor.introduced.auth_methods.is_empty(), "{:?}", editor.introduced.auth_methods);
    let refused = editor.ask(AuthenticateRequest::new("oauth")).unwrap_err();
    assert!(refused.code == ErrorCode::INVALID_PARAMS && refused.message.contains("OPENAI_API_KEY"), "{refused:?}");
    assert!(editor.introduced.agent_capabilities.auth.logout.is_none(), "{:?}", editor.introduced);
    assert_eq!(editor.ask(LogoutRequest::new()).unwrap_err().code, ErrorCode::METHOD_NOT_FOUND);

    // An editor that runs such methods in a terminal can write settings there.
    let capabilities = ClientCapabilities::new().auth(AuthCapabilities::new().terminal(true));
    let introduced = editor.ask(InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities)).unwrap();
    let [AuthMethod::Terminal(method)] = introduced.auth_methods.as_slice() else { panic!("{:?}", introduced.auth_methods) };
    world.aime(std::iter::once("acp").chain(method.args.iter().map(String::as_str))).must(0);
    assert!(world.read("aime.toml").contains("[models.default]"));
    editor.close();
}
