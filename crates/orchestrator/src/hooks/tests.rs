//! Answers, chains, and real commands.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Map, json};

use super::*;

/// A hook that gives one answer and records the events it receives.
struct ScriptedHook {
    name: &'static str,
    points: Vec<HookPoint>,
    answer: Result<HookAnswer, HookError>,
    required: bool,
    received: Mutex<Vec<HookEvent>>,
}

impl Hook for ScriptedHook {
    fn name(&self) -> &str {
        self.name
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn required(&self) -> bool {
        self.required
    }

    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>> {
        self.received.lock().unwrap().push(event.clone());
        Box::pin(async { self.answer.clone() })
    }
}

fn hook(name: &'static str, point: HookPoint, answer: Result<HookAnswer, HookError>, required: bool) -> Arc<ScriptedHook> {
    Arc::new(ScriptedHook { name, points: vec![point], answer, required, received: Mutex::default() })
}

fn block(reason: &str) -> HookAnswer {
    HookAnswer::Block { reason: reason.to_owned() }
}

fn hooks(list: &[Arc<ScriptedHook>]) -> Hooks {
    list.iter().map(|hook| Arc::clone(hook) as Arc<dyn Hook>).collect()
}

fn event(point: HookPoint, payload: HookPayload) -> HookEvent {
    HookEvent::new(point, "trip".parse().unwrap(), None, payload)
}

fn call(point: HookPoint) -> HookEvent {
    let parameters: Map<String, Value> = [("command".to_owned(), json!("ls"))].into_iter().collect();
    let result = (point == HookPoint::AfterTool).then(|| HookToolResult { ok: true, text: "a.txt".to_owned() });
    event(point, HookPayload::of_call("bash", &parameters, result))
}

/// A call of a tool of a server by `mcp_call_tool`.
fn call_by_name(parameters: &Value) -> HookEvent {
    event(HookPoint::BeforeTool, HookPayload::of_call("mcp_call_tool", parameters.as_object().unwrap(), None))
}

fn prompt() -> HookEvent {
    let messages = vec![HookMessage { role: "user".to_owned(), text: "Do it".to_owned() }];
    event(HookPoint::BeforePrompt, HookPayload::Prompt { model: "m".to_owned(), messages, answer: None })
}

// Requirement: 8.17
#[tokio::test]
async fn changes_chain_and_the_first_block_wins() {
    let change = |command: &str| Ok(HookAnswer::Change(json!({"parameters": {"command": command}})));
    let point = HookPoint::BeforeTool;
    let list = [
        hook("calm", point, Ok(HookAnswer::Continue), false),
        hook("first", point, change("ls -l"), false),
        hook("second", point, change("ls -la"), false),
        hook("elsewhere", HookPoint::AfterTool, Ok(block("not asked")), false),
        hook("no", point, Ok(block("not on Fridays")), false),
        hook("late", point, Ok(block("too late")), false),
    ];
    let response = hooks(&list).ask(call(point)).await;
    assert_eq!(response.blocked.as_deref(), Some("blocked by the hook no: not on Fridays"));
    assert_eq!(response.changed_by().as_deref(), Some("first, second"));
    let acts: Vec<(&str, HookOutcome)> = response.acts.iter().map(|act| (act.hook.as_str(), act.did)).collect();
    assert_eq!(acts, [("first", HookOutcome::Changed), ("second", HookOutcome::Changed), ("no", HookOutcome::Blocked)]);
    let seen = |hook: &ScriptedHook| match hook.received.lock().unwrap().first().map(|event| event.payload.clone()) {
        Some(HookPayload::Tool { parameters, .. }) => parameters["command"].as_str().map(str::to_owned),
        _ => None,
    };
    let seen: Vec<Option<String>> = list.iter().map(|hook| seen(hook)).collect();
    let seen: Vec<Option<&str>> = seen.iter().map(Option::as_deref).collect();
    assert_eq!(seen, [Some("ls"), Some("ls"), Some("ls -l"), None, Some("ls -la"), None]);
}

#[tokio::test]
async fn one_that_fails_is_told_of_and_blocks_only_where_it_is_required() {
    let failed = || Err(HookError("it broke".to_owned()));
    let misshapen = || Ok(HookAnswer::Change(json!({"parameter": {}})));
    for (answer, what) in [(failed(), "it broke"), (misshapen(), "a change at before_tool is {\"parameters\": …} and nothing else")] {
        let list = [hook("weak", HookPoint::BeforeTool, answer.clone(), false), hook("after", HookPoint::BeforeTool, answer, true)];
        let response = hooks(&list).ask(call(HookPoint::BeforeTool)).await;
        let acts: Vec<(&str, HookOutcome)> = response.acts.iter().map(|act| (act.hook.as_str(), act.did)).collect();
        assert_eq!(acts, [("weak", HookOutcome::Failed), ("after", HookOutcome::Blocked)]);
        assert_eq!(response.acts[0].detail, what);
        assert_eq!(response.blocked, Some(format!("blocked by the hook after: it is required and failed: {what}")));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answers_has_failed() {
    struct Asleep;
    impl Hook for Asleep {
        fn name(&self) -> &str {
            "asleep"
        }
        fn points(&self) -> &[HookPoint] {
            &[HookPoint::BeforeTool]
        }
        fn ask<'a>(&'a self, _: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>> {
            Box::pin(std::future::pending())
        }
    }
    let hooks: Hooks = [Arc::new(Asleep) as Arc<dyn Hook>].into_iter().collect();
    let response = hooks.ask(call(HookPoint::BeforeTool)).await;
    assert_eq!((response.acts[0].did, response.acts[0].detail.as_str()), (HookOutcome::Failed, "it took longer than 30 s"));
    assert!(response.blocked.is_none());
}

#[test]
fn only_what_may_be_changed_is_changed() {
    let plan = |point| event(point, HookPayload::Plan { goal: "g".to_owned(), plan: Some(json!({"tasks": []})) });
    let patch = || event(HookPoint::AfterPlan, HookPayload::Patch { goal: "g".to_owned(), reasons: vec![], patch: None });
    let table = [
        (prompt(), json!({"message": "Mind the gap"}), Ok("Mind the gap")),
        (prompt(), json!({"message": 1}), Err("\"message\" must be a text")),
        (prompt(), json!({"messages": []}), Err("a change at before_prompt is {\"message\": …} and nothing else")),
        (prompt(), json!("Mind the gap"), Err("a change at before_prompt is {\"message\": …} and nothing else")),
        (call(HookPoint::BeforeTool), json!({"parameters": {"command": "pwd"}}), Ok("pwd")),
        (call(HookPoint::BeforeTool), json!({"parameters": ["pwd"]}), Err("\"parameters\" must be an object")),
        (
            call(HookPoint::BeforeTool),
            json!({"parameters": {}, "tool": "python"}),
            Err("a change at before_tool is {\"parameters\": …} and nothing else"),
        ),
        (call(HookPoint::AfterTool), json!({"text": "b.txt"}), Ok("b.txt")),
        (call(HookPoint::AfterTool), json!({"parameters": {}}), Err("a change at after_tool is {\"text\": …} and nothing else")),
        (plan(HookPoint::AfterPlan), json!({"plan": {"tasks": ["new"]}}), Ok("new")),
        (plan(HookPoint::BeforePlan), json!({"plan": {}}), Err("nothing can be changed at before_plan")),
        (patch(), json!({"patch": {"changes": ["new"]}}), Ok("new")),
    ];
    for (mut event, change, expected) in table {
        let before = event.clone();
        match (event.change(&change), expected) {
            (Ok(()), Ok(holds)) => assert!(serde_json::to_string(&event).unwrap().contains(holds), "{change}"),
            (result, expected) => {
                assert_eq!(result, expected.map(|_| ()).map_err(str::to_owned), "{change}");
                assert_eq!(event, before, "what does not fit changes nothing");
            }
        }
    }
}

#[test]
fn what_a_command_reads_is_a_format() {
    for event in [prompt(), call(HookPoint::BeforeTool), call(HookPoint::AfterTool)] {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<HookEvent>(&text).unwrap(), event);
    }
    let expected = json!({
        "schema": "aime.hook/v1", "point": "before_tool", "run": "trip",
        "payload": {"kind": "tool", "tool": "bash", "parameters": {"command": "ls"}},
    });
    assert_eq!(serde_json::to_value(call(HookPoint::BeforeTool)).unwrap(), expected);
    assert_eq!(HookPoint::ALL.map(|point| serde_json::to_value(point).unwrap()), HookPoint::ALL.map(|point| json!(point.name())));
}

fn settings(point: HookPoint, command: &str) -> CommandHookSettings {
    let time_limit = Duration::from_secs(20);
    CommandHookSettings { name: Some("guard".to_owned()), point, command: command.to_owned(), tools: vec![], time_limit, required: false }
}

async fn run_in(folder: &Path, settings: CommandHookSettings) -> Result<HookAnswer, HookError> {
    let environment = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into_iter().collect();
    CommandHook::new(settings, folder, Arc::new(environment)).unwrap().ask(&call(HookPoint::BeforeTool)).await
}

// Requirement: 8.17
#[tokio::test]
async fn the_exit_code_and_the_output_of_a_command_decide() {
    let folder = tempfile::tempdir().unwrap();
    let change = json!({"parameters": {"command": "pwd"}});
    let error = |text: &str| Err(HookError(text.to_owned()));
    let not_an_answer =
        |printed: &str| error(&format!("it printed {printed:?}, and an answer is nothing, {{\"change\": …}} or {{\"block\": \"reason\"}}"));
    let table = [
        ("true", Ok(HookAnswer::Continue)),
        ("echo {}", Ok(HookAnswer::Continue)),
        ("echo 'all is well' >&2", Ok(HookAnswer::Continue)),
        (r#"echo '{"change": {"parameters": {"command": "pwd"}}}'"#, Ok(HookAnswer::Change(change))),
        (r#"echo '{"block": "not here"}'"#, Ok(block("not here"))),
        ("echo 'not here' >&2; exit 2", Ok(block("not here"))),
        ("exit 2", Ok(block("it gave no reason"))),
        ("grep -q '\"command\":\"ls\"' && exit 2", Ok(block("it gave no reason"))),
        ("echo fine", not_an_answer("fine")),
        (r#"echo '{"block": 1}'"#, not_an_answer(r#"{"block": 1}"#)),
        (r#"echo '{"block": "a", "change": {}}'"#, not_an_answer(r#"{"block": "a", "change": {}}"#)),
        ("echo oops >&2; exit 1", error("it ended with exit code 1: oops")),
        ("exit 127", error("it ended with exit code 127")),
        ("kill -9 $$", error("it was ended by signal 9")),
        ("head -c 3000000 /dev/zero", error("it printed 3000000 bytes, and an answer has at most 262144")),
    ];
    for (command, expected) in table {
        assert_eq!(run_in(folder.path(), settings(HookPoint::BeforeTool, command)).await, expected, "{command}");
    }
}

#[tokio::test]
async fn a_command_has_a_time_limit_a_folder_and_a_clean_environment() {
    let folder = tempfile::tempdir().unwrap();
    let slow = CommandHookSettings { time_limit: Duration::from_secs(1), ..settings(HookPoint::BeforeTool, "sleep 60 & sleep 60") };
    assert_eq!(run_in(folder.path(), slow).await, Err(HookError("it took longer than 1 s and was stopped".to_owned())));
    let looks = settings(HookPoint::BeforeTool, "env | cut -d= -f1 | sort > names; cat > told");
    assert_eq!(run_in(folder.path(), looks).await, Ok(HookAnswer::Continue));
    let names = std::fs::read_to_string(folder.path().join("names")).unwrap();
    // The shell adds variables of its own, and confinement adds those of a private temp folder.
    let own = ["AIME_PROCESS", "AIME_WORKING_FOLDER", "OLDPWD", "PATH", "PWD", "SHLVL", "_"];
    let own = own.into_iter().chain(["GOCACHE", "TEMP", "TMP", "TMPDIR", "XDG_CACHE_HOME", "npm_config_cache"]).collect::<Vec<_>>();
    assert!(names.lines().all(|name| own.contains(&name)), "{names}");
    let event: HookEvent = serde_json::from_str(&std::fs::read_to_string(folder.path().join("told")).unwrap()).unwrap();
    assert_eq!(event, call(HookPoint::BeforeTool));
}

#[test]
fn a_command_is_asked_for_the_tools_that_its_patterns_fit() {
    let wants_event = |tools: &[&str], event: &HookEvent| {
        let tools = tools.iter().map(|pattern| (*pattern).to_owned()).collect();
        let settings = CommandHookSettings { tools, ..settings(event.point, "true") };
        CommandHook::new(settings, ".", Arc::default()).unwrap().wants(event)
    };
    for (tools, fits) in
        [(vec![], true), (vec!["bash"], true), (vec!["write_*", "ba?h"], true), (vec!["write_*"], false), (vec!["Bash"], false)]
    {
        assert_eq!(wants_event(&tools, &call(HookPoint::BeforeTool)), fits, "{tools:?}");
    }
    assert!(wants_event(&[], &prompt()));
    let by_name = call_by_name(&json!({"name": "mcp__github__push", "parameters": {"force": true}}));
    for (pattern, fits) in
        [("mcp__github__*", true), ("mcp_call_tool", true), ("mcp_*", true), ("mcp__gitlab__*", false), ("mcp_find_tools", false)]
    {
        assert_eq!(wants_event(&[pattern], &by_name), fits, "{pattern}");
    }
}

#[test]
fn a_call_by_name_is_shown_as_the_call_of_its_tool() {
    let table = [
        (json!({"name": "mcp__s__t", "parameters": {"a": 1}}), "mcp__s__t", json!({"a": 1})),
        (json!({"name": "mcp__s__t", "parameters": null}), "mcp__s__t", json!({})),
        (json!({"name": "mcp__s__t"}), "mcp__s__t", json!({})),
        (json!({"name": "bash", "parameters": {"a": 1}}), "mcp_call_tool", json!({"name": "bash", "parameters": {"a": 1}})),
    ];
    for (given, tool, shown) in table {
        let mut event = call_by_name(&given);
        let by_name = tool != "mcp_call_tool";
        assert_eq!((event.tool(), event.through()), (Some(tool), by_name.then_some("mcp_call_tool")), "{given}");
        assert!(matches!(&event.payload, HookPayload::Tool { parameters, .. } if json!(parameters) == shown), "{given}");
        event.change(&json!({"parameters": {"b": 2}})).unwrap();
        let changed = event.payload.into_parameters(given.as_object().cloned().unwrap());
        let expected = if by_name { json!({"name": "mcp__s__t", "parameters": {"b": 2}}) } else { json!({"b": 2}) };
        assert_eq!(json!(changed), expected, "{given}");
    }
}

#[test]
fn a_pattern_must_fit_a_tool_that_hooks_see() {
    let fault = |pattern: &str| ToolPatterns::check_names(&[pattern]).err().map(|error| error.to_string());
    for pattern in ["bash", "write_*", "{todo,bash}", "mcp_call_tool", "mcp__git__*", "*"] {
        assert_eq!(fault(pattern), None, "{pattern}");
    }
    for pattern in ["delegate_task", "terminate", "todo", "ask_human", "t*"] {
        let fault = fault(pattern).unwrap();
        assert!(fault.starts_with(&format!("{pattern:?} matches only tools that aime answers itself. ")), "{fault}");
    }
    assert_eq!(fault("write_fil").unwrap(), "\"write_fil\" matches no tool, so the hook would never run: did you mean `write_file`?");
}

#[test]
fn what_no_hook_can_be_made_of_is_told() {
    let made = |settings| CommandHook::new(settings, ".", Arc::default()).map(|hook| hook.name().to_owned());
    assert_eq!(made(settings(HookPoint::Stop, " \n")), Err(HookSettingsError::EmptyCommand));
    let bad = made(CommandHookSettings { tools: vec!["write_[".to_owned()], ..settings(HookPoint::BeforeTool, "true") }).unwrap_err();
    assert!(bad.to_string().starts_with("\"write_[\" is not a pattern for names of tools"), "{bad}");
    let unnamed = |command: &str| made(CommandHookSettings { name: None, ..settings(HookPoint::Stop, command) }).unwrap();
    assert_eq!(unnamed("notify-send done\nexit 0"), "notify-send done");
    assert_eq!(unnamed(&"x".repeat(50)), format!("{} …", "x".repeat(40)));
}

#[test]
fn the_detail_of_an_action_has_a_limit() {
    let act = event::act("guard", &call(HookPoint::BeforeTool), HookOutcome::Blocked, &"é".repeat(2_000));
    assert_eq!((act.hook.as_str(), act.point, act.did), ("guard", HookPoint::BeforeTool, HookOutcome::Blocked));
    assert_eq!(act.detail.chars().count(), 502);
}
