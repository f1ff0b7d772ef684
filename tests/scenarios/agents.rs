//! External agents as actors: an agent that is a shell script, so that aime meets one that was made without its library.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{Ended, World, actor, done, plan, task, wait_until, write};

mod answers;
mod escapes;
mod hostile;
mod limits;
mod one_folder;
mod several;

/// Speaks the protocol line by line, and calls `work` for each prompt. `ask` sends a request and leaves its answer in `$reply`.
const AGENT: &str = r#"
number=0
tell() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":%s}}\n' "$1"; }
say() { tell "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
# Keeps what aime sends, if a test wants to see it.
heard() { if [ -n "${HEARD:-}" ]; then printf '%s\n' "$1" >> "$HEARD"; fi; }
ask() {
  number=$((number + 1))
  printf '{"jsonrpc":"2.0","id":"a%s","method":"%s","params":{"sessionId":"s-1",%s}}\n' "$number" "$1" "$2"
  read -r reply
  heard "$reply"
}
terminal() {
  ask terminal/create "\"command\":\"$1\",\"args\":[],\"env\":[]"
  terminal=$(printf '%s' "$reply" | sed -n 's/.*"terminalId":"\([^"]*\)".*/\1/p')
  ask terminal/wait_for_exit "\"terminalId\":\"$terminal\""
  ask terminal/output "\"terminalId\":\"$terminal\""
}
here=$(pwd)
notes=${NOTES:-.}
while read -r line; do
  heard "$line"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  fail() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}\n' "$id" "$1"; }
  case "$line" in *"\"method\":\"${SLEEPS_AT:-nothing}\""*) sleep 98763 ;; esac
  case "$line" in
    *'"method":"initialize"'*) greeting=$line
      answer "{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":$LOADS,\"promptCapabilities\":{\"image\":${IMAGES:-false}}},\"agentInfo\":{\"name\":\"shell-agent\",\"version\":\"7\"},\"authMethods\":${METHODS:-[]}}" ;;
    *'"method":"session/new"'*)
      echo new >> "$notes/sessions"
      if [ -n "${METHODS:-}" ]; then fail "nobody has logged in"; else answer '{"sessionId":"s-1"}'; fi ;;
    *'"method":"session/load"'*)
      echo load >> "$notes/sessions"
      if [ -n "${LOST:-}" ]; then
        echo "no space left" >&2
        fail "$LOST"
        continue
      fi
      replays=${REPLAYS:-0}
      while [ "$replays" -gt 0 ]; do say "said before"; replays=$((replays - 1)); done
      [ -z "${REPLAYED:-}" ] || tell "$REPLAYED"
      answer '{}' ;;
    *'"method":"session/prompt"'*) printf '%s\n' "$line" >> "$notes/prompts"; prompt=$id; work; id=$prompt; answer "{\"stopReason\":\"${stop:-end_turn}\"${USAGE:-}}" ;;
  esac
done
"#;

const RUN: [&str; 8] = ["run", "--plan", "plan.json", "--run-id", "r", "--unattended", "--output", "json"];

/// A world whose profile `helper` is the agent with this work. Its plan has the task `a`, which the agent does.
fn world(work: &str, loads: bool, script: Script) -> World {
    let mut world = World::with(script);
    world.user_settings(&profile("helper", work, loads));
    world.plan("plan.json", &plan(&[by_agent("A-PART")]));
    world
}

/// The settings of a profile whose agent does this work.
fn profile(name: &str, work: &str, loads: bool) -> String {
    let agent = serde_json::to_string(&format!("work() {{\n{work}\n}}\n{AGENT}")).unwrap();
    format!(
        "[profiles.{name}]\ndescription = \"a {name}\"\n[profiles.{name}.agent]\ncommand = \"bash\"\nargs = [\"-c\", {agent}]\nset = {{ LOADS = \"{loads}\" }}\n"
    )
}

fn by_agent(description: &str) -> Value {
    by("helper", "a", description)
}

/// A task for a profile.
fn by(profile: &str, id: &str, description: &str) -> Value {
    let mut task = actor(id, description, &[]);
    task["profile"] = json!(profile);
    task
}

/// A planner that changes nothing after a failure.
fn keeps_the_plan() -> Script {
    Script::new().on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing helps", "changes": []}))])
}

/// True while a process sleeps this long.
fn sleeps(seconds: u32) -> bool {
    let command = format!("sleep\0{seconds}");
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(command.as_bytes())))
}

fn run(world: &World, approve: &str) -> Ended {
    world.aime(RUN.iter().chain(&["--approve", approve]))
}

// Requirement: 4.41
#[test]
fn a_task_is_done_by_an_agent() {
    let work = r#"
tell '{"sessionUpdate":"plan","entries":[{"content":"write","priority":"high","status":"in_progress"},{"content":"check","priority":"low","status":"pending"}]}'
tell '{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Write the file","kind":"edit"}'
ask fs/write_text_file "\"path\":\"$here/made.txt\",\"content\":\"one\\ntwo\\n\""
ask fs/read_text_file "\"path\":\"$here/made.txt\",\"line\":2"
printf '%s' "$reply" >> replies
terminal "cat made.txt; exit 3"
printf '%s' "$reply" >> replies
echo own > own.txt
say "I made it."
"#;
    let script = Script::new().on(When::tools().and_contains("B-PART"), [done("b is done")]).on(When::plain(), [Reply::text("All made.")]);
    let world = world(work, false, script);
    world.plan("plan.json", &plan(&[by_agent("A-PART"), actor("b", "B-PART", &["a"])]));
    let ended = run(&world, "all").must(0);
    let result = ended.json();
    assert_eq!(task(&result, "a")["summary"], "I made it.", "{ended}");
    assert_eq!((world.read("made.txt").as_str(), world.read("own.txt").as_str()), ("one\ntwo\n", "own\n"));
    let replies = world.read("replies");
    assert!(replies.contains(r#""content":"two\n""#), "the file itself, without numbers or notes: {replies}");
    assert!(replies.contains(r#""exitCode":3"#) && replies.contains("one"), "{replies}");
    let prompt = world.read("prompts");
    assert!(prompt.contains("A-PART") && !prompt.contains("terminate"), "{prompt}");
    // The next task gets its result as that of any other.
    assert!(world.actor_requests("B-PART")[0].to_string().contains("I made it."));
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    assert_eq!(events.events("todos_changed").len(), 1, "{events}");
    let reported: String = events.events("progress_reported").iter().map(ToString::to_string).collect();
    assert!(reported.contains("s-1") && reported.contains("Write the file"), "{reported}");
    let created = events.events("actor_created")[0].to_string();
    assert!(created.contains("helper") && created.contains("not the calls that it makes inside"), "{created}");
    // Its writes through aime and its own writes are undone together.
    world.aime(["runs", "undo", "r", "a", "--yes"]).must(0);
    assert!(!world.exists("made.txt") && !world.exists("own.txt"));
}

/// Its temporary folder is there as long as it works. One that is not offered the file methods of the protocol learns that in the greeting.
// Requirement: 4.41
#[test]
fn an_agent_has_a_temp_folder_and_may_keep_its_files() {
    for (files, offered) in [("", "true"), ("files = false\n", "false")] {
        let mut world = World::with(Script::new());
        let work = "echo kept > \"$TMPDIR/kept\"\ncat \"$TMPDIR/kept\" > seen\nprintf '%s' \"$greeting\" > greeting\nsay done";
        world.user_settings(&profile("helper", work, false).replace("set = {", &format!("{files}set = {{")));
        world.plan("plan.json", &plan(&[by_agent("A-PART")]));
        let ended = run(&world, "all").must(0);
        assert_eq!(world.read("seen"), "kept\n", "{ended}");
        let greeting = world.read("greeting");
        assert!(greeting.contains(&format!(r#""fs":{{"readTextFile":{offered},"writeTextFile":{offered}"#)), "{greeting}");
    }
}

// Requirement: 4.41
#[test]
fn an_agents_denied_calls_are_refused() {
    let work = r#"
terminal "touch by-command"
printf '%s\n' "$reply" >> replies
ask session/request_permission '"toolCall":{"toolCallId":"t","kind":"execute","title":"touch","rawInput":{"command":"touch by-itself"}},"options":[{"optionId":"go","name":"Go","kind":"allow_once"},{"optionId":"stay","name":"Stay","kind":"reject_once"}]'
printf '%s\n' "$reply" >> replies
ask session/request_permission "\"toolCall\":{\"toolCallId\":\"u\",\"kind\":\"edit\",\"title\":\"edit\",\"locations\":[{\"path\":\"$here/x\"}]},\"options\":[{\"optionId\":\"go\",\"name\":\"Go\",\"kind\":\"allow_once\"}]"
printf '%s\n' "$reply" >> replies
tell "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"v\",\"kind\":\"edit\",\"title\":\"edit\",\"locations\":[{\"path\":\"$here/y\"}]}"
ask session/request_permission '"toolCall":{"toolCallId":"v"},"options":[{"optionId":"go","name":"Go","kind":"allow_once"},{"optionId":"stay","name":"Stay","kind":"reject_once"}]'
printf '%s\n' "$reply" >> replies
say "FAILURE: nobody lets me"
"#;
    let world = world(work, false, keeps_the_plan());
    let ended = run(&world, "edits").must(1);
    assert!(!world.exists("by-command"));
    let replies = world.read("replies");
    let replies: Vec<_> = replies.lines().collect();
    assert!(replies[0].contains("not allowed: nobody is there to answer"), "{replies:?}");
    assert!(replies[1].contains("stay"), "a command needs consent in this mode: {replies:?}");
    assert!(replies[2].contains("go"), "an edit needs none: {replies:?}");
    assert!(replies[3].contains("go"), "the request only names the call: {replies:?}");
    assert!(task(&ended.json(), "a").to_string().contains("nobody lets me"), "{ended}");
}

// Requirement: 4.41
#[test]
fn an_agent_cannot_leave_its_folder() {
    let work = r#"
ask fs/write_text_file "\"path\":\"$here/../outside-by-aime\",\"content\":\"x\""
printf '%s\n' "$reply" >> replies
ask fs/read_text_file '"path":"/etc/passwd"'
printf '%s\n' "$reply" >> replies
(echo x > ../outside-by-itself) 2>> replies
say "I tried."
"#;
    let world = world(work, false, Script::new());
    run(&world, "all").must(0);
    for outside in ["../outside-by-aime", "../outside-by-itself"] {
        assert!(!world.exists(outside), "{outside}");
    }
    let replies = world.read("replies");
    assert_eq!(replies.matches("\"error\"").count(), 2, "{replies}");
    assert!(!replies.contains("root:"), "{replies}");
}

// Requirement: 4.41
#[test]
fn a_killed_run_goes_on_in_the_agents_session() {
    let work = r#"
if [ -e began ]; then say "I went on."; else touch began; sleep 1000; fi
"#;
    let world = world(work, true, Script::new());
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.kill();
    let ended = world.aime(["resume", "r", "--output", "json"]).must(0);
    assert_eq!(task(&ended.json(), "a")["summary"], "I went on.", "{ended}");
    assert_eq!(world.read("sessions"), "new\nload\n");
    let prompts = world.read("prompts");
    let prompts: Vec<_> = prompts.lines().collect();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].contains("You were interrupted") && !prompts[1].contains("A-PART"), "{}", prompts[1]);
}

// Requirement: 4.41
#[test]
fn without_its_session_the_outcome_is_in_doubt() {
    let world = world("touch began; sleep 1000", false, keeps_the_plan());
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.kill();
    let ended = world.aime(["resume", "r", "--output", "json"]).must(1);
    assert!(task(&ended.json(), "a").to_string().contains("In doubt: helper was at work"), "{ended}");
    assert_eq!(world.read("sessions"), "new\n");
}

/// The agent's error and the output of its program say why.
// Requirement: 4.41
#[test]
fn a_session_that_cannot_be_loaded_has_a_reason() {
    let work = "touch began; sleep 1000";
    let mut world = world(work, true, keeps_the_plan());
    world.user_settings(&profile("helper", work, true).replace("set = {", "set = { LOST = \"its file is gone\","));
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.kill();
    let ended = world.aime(["resume", "r", "--output", "json"]).must(1);
    let failed = task(&ended.json(), "a").to_string();
    for words in ["In doubt: helper was at work", "its file is gone", "no space left"] {
        assert!(failed.contains(words), "{words}: {ended}");
    }
    assert_eq!(world.read("sessions"), "new\nload\n");
}

// Requirement: 4.41
#[test]
fn a_stop_ends_the_agents_process_group() {
    let world = world("sleep 98765 & touch began; sleep 98765", true, Script::new());
    let running = world.start(RUN.iter().chain(&["--approve", "all"]));
    world.wait_for_file("began");
    running.signal("INT");
    running.wait().must(130);
    let mine = world.work().canonicalize().unwrap();
    wait_until("no process of the agent is left", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        !processes.map(|entry| entry.path()).any(|process| {
            std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == mine)
                && std::fs::read(process.join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x0098765"))
        })
    });
}

// Requirement: 4.41
#[test]
fn a_failed_agent_is_replanned() {
    let patch = json!({"reasoning": "the agent cannot", "changes": [
        {"op": "remove_task", "id": "a"},
        {"op": "add_task", "task": actor("c", "C-PART", &[])},
    ]});
    let script = Script::new()
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(When::tools().and_contains("C-PART"), [done("c is done")])
        .on(When::plain(), [Reply::text("Done by another.")]);
    let world = world("say 'FAILURE: I have no hands'", false, script);
    let ended = run(&world, "all").must(0);
    let asked = world.schema_requests("aime_patch");
    assert!(asked[0].to_string().contains("I have no hands"), "{ended}");
    assert_eq!(task(&ended.json(), "c")["status"], "completed", "{ended}");
}

// Requirement: 4.41
#[test]
fn a_project_starts_no_agent_unasked() {
    let settings = "[profiles.theirs.agent]\ncommand = \"touch\"\nargs = [\"started\"]\n";
    let world = World::with(Script::new()).settings(settings);
    let ended = world.aime(["profiles", "list"]).must(0);
    assert!(!ended.stdout.contains("theirs") && ended.to_string().contains("[profiles]"), "{ended}");
    world.aime(["doctor"]);
    assert!(!world.exists("started"));
}

#[test]
fn doctor_tries_each_agent() {
    let mut world = world("say hi", false, Script::new());
    assert!(world.aime(["profiles", "list"]).must(0).stdout.contains("a helper"));
    let ended = world.aime(["doctor"]);
    assert!(ended.to_string().contains("shell-agent 7"), "{ended}");
    world.user_settings("[profiles.broken.agent]\ncommand = \"no-such-agent\"\n");
    let ended = world.aime(["doctor"]);
    assert!(ended.to_string().contains("no-such-agent"), "{ended}");
}

/// The advice names a setting of the profile.
#[test]
fn an_agent_without_a_login_has_advice() {
    let mut world = World::with(Script::new());
    let methods = r#"set = { METHODS = '[{"id":"login","name":"Log in"}]',"#;
    world.user_settings(&profile("helper", "say hi", false).replace("set = {", methods));
    let ended = world.aime(["doctor"]).to_string();
    let advice = "nobody has logged in. Log in with its own program first (Log in), or name the variable of its key in env";
    assert!(ended.contains(advice) && !ended.contains("env_vars"), "{ended}");
}

/// A command that the agent kills ends at once. Its terminal still tells what it has printed.
// Requirement: 4.41
#[test]
fn an_agent_kills_its_command() {
    let work = r#"
ask terminal/create '"command":"echo begun; sleep 98764","args":[],"env":[]'
terminal=$(printf '%s' "$reply" | sed -n 's/.*"terminalId":"\([^"]*\)".*/\1/p')
ask terminal/output "\"terminalId\":\"$terminal\""
printf '%s\n' "$reply" >> replies
ask terminal/kill "\"terminalId\":\"$terminal\""
printf '%s\n' "$reply" >> replies
ask terminal/wait_for_exit "\"terminalId\":\"$terminal\""
printf '%s\n' "$reply" >> replies
ask terminal/output "\"terminalId\":\"$terminal\""
printf '%s\n' "$reply" >> replies
ask terminal/release "\"terminalId\":\"$terminal\""
ask terminal/output "\"terminalId\":\"$terminal\""
printf '%s\n' "$reply" >> replies
ask terminal/create '"command":"sleep 98764","args":[],"env":[]'
say "I leave one."
"#;
    let world = world(work, false, Script::new());
    run(&world, "all").must(0);
    let replies = world.read("replies");
    let replies: Vec<Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies[0]["result"]["output"], "begun", "{replies:?}");
    assert!(replies[0]["result"].get("exitStatus").is_none() && replies[1].get("error").is_none(), "{replies:?}");
    assert!(replies[2].get("error").is_none() && replies[2]["result"].get("exitCode").is_none(), "it did not end by itself: {replies:?}");
    assert!(replies[3]["result"]["output"].as_str().unwrap().starts_with("begun"), "{replies:?}");
    assert_eq!(replies[4]["error"]["message"], "there is no such terminal");
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    assert!(events.events("tool_call_started").iter().any(|event| event["tool"] == "bash_kill"), "{events}");
    wait_until("no command of the agent is left", || !sleeps(98764));
}

/// The agent waits for a command that takes longer than a look at it.
// Requirement: 4.41
#[test]
fn an_agent_waits_for_a_long_command() {
    let world = world("terminal \"sleep 3; echo late; exit 4\"\nprintf '%s' \"$reply\" >> replies\nsay waited", false, Script::new());
    run(&world, "all").must(0);
    let reply: Value = serde_json::from_str(&world.read("replies")).unwrap();
    assert_eq!((&reply["result"]["output"], &reply["result"]["exitStatus"]["exitCode"]), (&json!("late"), &json!(4)), "{reply}");
}

/// An agent that makes a file looks first whether it is there, and must learn that it is not.
// Requirement: 4.41
#[test]
fn a_missing_file_has_the_error_of_the_protocol() {
    let work = r#"
ask fs/read_text_file "\"path\":\"$here/none.txt\""
printf '%s\n' "$reply" >> replies
ask fs/read_text_file '"path":"/etc/none.txt"'
printf '%s\n' "$reply" >> replies
say "I looked."
"#;
    let world = world(work, false, Script::new());
    run(&world, "all").must(0);
    let replies = world.read("replies");
    let codes: Vec<i64> =
        replies.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [-32002, -32602], "{replies}");
}

/// The images of the goal go to an agent that takes them. Another one is told what it does not see.
// Requirement: 4.41
#[test]
fn images_reach_an_agent_that_takes_them() {
    for (takes, data, words) in [("true", 1, 0), ("false", 0, 1)] {
        let mut world = world("say seen", false, Script::new());
        world.user_settings(&profile("helper", "say seen", false).replace("set = {", &format!("set = {{ IMAGES = \"{takes}\",")));
        std::fs::write(world.path("a.gif"), b"GIF89a\x05\0\x03\0\0\0\0").unwrap();
        world.aime(RUN.iter().chain(&["--approve", "all", "--image", "a.gif"])).must(0);
        let prompt: Value = serde_json::from_str(world.read("prompts").lines().next().unwrap()).unwrap();
        let blocks = prompt["params"]["prompt"].as_array().unwrap();
        let images = blocks.iter().filter(|block| block["type"] == "image" && block["mimeType"] == "image/gif");
        assert_eq!(images.count(), data, "{prompt}");
        assert_eq!(blocks[0]["text"].as_str().unwrap().matches("was left out: the model cannot see images").count(), words, "{prompt}");
    }
}
