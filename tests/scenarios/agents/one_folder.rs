//! An agent in a private copy: what it is sent, and what people see of it, names one folder.

use super::*;

/// Only the working folder of the session is the copy. All other paths are relative, also those in the task, in results and in errors.
/// `cat` writes an error in parts, so it goes through one pipe, in which nothing comes between them.
// Requirement: 4.41
#[test]
fn an_agent_is_sent_no_path_of_its_copy() {
    let work = r#"
tell "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t1\",\"title\":\"Look at $here/text\",\"kind\":\"read\"}"
tell "{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"edit $here/text\",\"priority\":\"high\",\"status\":\"in_progress\"}]}"
ask fs/read_text_file "\"path\":\"$here/text\""
ask fs/read_text_file "\"path\":\"$here/missing\""
ask fs/write_text_file "\"path\":\"$here/made\",\"content\":\"in $here\""
ask fs/write_text_file "\"path\":\"$here/secret/a\",\"content\":\"x\""
ask fs/write_text_file "\"path\":\"$here/../outside\",\"content\":\"x\""
for path in "$here/secret/b" "$here/allowed"; do
  ask session/request_permission "\"toolCall\":{\"toolCallId\":\"u\",\"kind\":\"edit\",\"title\":\"edit\",\"locations\":[{\"path\":\"$path\"}]},\"options\":[{\"optionId\":\"go\",\"name\":\"Go\",\"kind\":\"allow_once\"},{\"optionId\":\"stay\",\"name\":\"Stay\",\"kind\":\"reject_once\"}]"
done
terminal "pwd; pwd -P; realpath text; cat $here/missing 2>&1 | cat; cat $FOLDER/text; env; echo x > $here/../planted"
echo "$here" > native
say "I changed $here/made."
"#;
    let script = Script::new()
        .on(When::tools().and_contains("B-PART").and_turn(0), [write("by-b", "b")])
        .on(When::tools().and_contains("B-PART"), [done("b is done")])
        .on(When::tools().and_contains("C-PART"), [done("c is done")])
        .on(When::plain(), [Reply::text("All is done.")]);
    let mut world = World::with(script).settings("[run]\nisolation = \"worktree\"\n");
    let folder = world.work().canonicalize().unwrap().to_str().unwrap().to_owned();
    let notes = world.root().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    let received = notes.join("heard");
    let set = format!("write = [{notes:?}]\nset = {{ NOTES = {notes:?}, HEARD = {received:?}, FOLDER = {folder:?},");
    world.user_settings(&(profile("helper", work, false).replace("set = {", &set) + "[permissions]\ndeny = [\"write_file(secret/**)\"]\n"));
    world.file("text", "TEXT-OF-ALL");
    let a = by_agent(&format!("A-PART: change {folder}/made, and look at '{folder}' first"));
    world.plan("plan.json", &plan(&[a, actor("b", "B-PART", &[]), actor("c", "C-PART", &["a"])]));
    let ended = run(&world, "all").must(0);

    let received = std::fs::read_to_string(received).unwrap();
    let (sessions, rest): (Vec<&str>, Vec<&str>) = received.lines().partition(|line| line.contains("\"method\":\"session/new\""));
    let copy = format!("{folder}/.aime/runs/r/private/a-1/folder");
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].matches(".aime").count(), 1, "{received}");
    assert!(sessions[0].contains(&format!("\"cwd\":\"{copy}\"")), "{received}");
    for line in &rest {
        // The content of a file is what the agent wrote there.
        assert!(!line.contains("private/") && !line.contains(".aime/runs"), "{line}");
    }
    let rest = rest.join("\n");
    assert!(rest.contains("A-PART: change made, and look at '.' first"), "{rest}");
    assert_eq!(rest.matches("TEXT-OF-ALL").count(), 2, "its file and its command read the copy: {rest}");
    assert!(rest.contains("cat: missing: No such file"), "{rest}");
    assert!(rest.contains("\"optionId\":\"stay\"") && rest.contains("\"optionId\":\"go\""), "rules hold in the copy, too: {rest}");
    assert!(!world.exists("secret/a") && !world.exists("planted") && !world.exists("outside"), "{ended}");

    // Its copy is gone, so its files name the folder.
    assert_eq!((world.read("made"), world.read("native")), (format!("in {folder}"), format!("{folder}\n")));
    assert_eq!(task(&ended.json(), "a")["summary"], format!("I changed {folder}/made."), "{ended}");
    let next = world.actor_requests("C-PART")[0].to_string();
    assert!(next.contains(&format!("I changed {folder}/made.")) && !next.contains("private/"), "{next}");
    let events = world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0);
    for kind in ["progress_reported", "todos_changed", "task_concluded"] {
        let reported: String = events.events(kind).iter().map(ToString::to_string).collect();
        assert!(reported.contains(&folder) && !reported.contains("private/"), "{kind}: {reported}");
    }
}
