//! Snapshots of whole transcripts: every request as the model sees it.

use serde_json::json;

use super::support::{Play, answer, call, input, read, terminate, with_step_notes, write};
use crate::ActorInput;

// Requirement: 1.6, 4.10, 4.15, 4.16, 4.19, 4.21, 4.29, 8.6
#[test]
fn a_task_from_beginning_to_end() {
    let mut play = Play::start(ActorInput { class: with_step_notes(), ..input() });
    play.model(answer("I look first.", vec![read("c1", "a.txt"), call("c2", "grep", &json!({"pattern": "x"}))]));
    play.tool("t/1/1/2", "no match").tool_error("t/1/1/1", "a.txt does not exist");
    play.calls(vec![
        call("c3", "todo", &json!({"items": [{"text": "write it", "status": "in_progress"}]})),
        call("c4", "update_progress", &json!({"status": "writing", "message": "There is no file yet."})),
        write("c5", "a.txt"),
    ]);
    play.tool("t/1/2/3", "wrote 1 line");
    play.calls(vec![
        call("c6", "report_evidence", &json!({"type": "Discovery", "significance": "low", "content": "It was missing."})),
        terminate("success", "Wrote a.txt."),
    ]);
    insta::assert_snapshot!(play.log);
}

#[test]
fn a_small_model_that_writes_its_calls_into_the_text() {
    let mut play = Play::start(input());
    play.model(answer("Sure!\n```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"x\"}}\n```", vec![]));
    play.tool("t/1/1/1", "wrote 1 line");
    play.model(answer("The file is written.", vec![]));
    play.model(answer(
        "<tool_call>{\"name\": \"terminate\", \"arguments\": {\"status\": \"success\", \"message\": \"Done.\"}}</tool_call>",
        vec![],
    ));
    insta::assert_snapshot!(play.log);
}

#[test]
fn a_call_that_a_person_must_allow() {
    let mut asking = input();
    asking.spec.approval = aime_tools::Approval::Edits;
    let mut play = Play::start(asking);
    play.calls(vec![call("c1", "bash", &json!({"command": "make"})), call("c2", "bash", &json!({"command": "rm -r /"}))]);
    play.person("t/1/1/1/ask1", "yes").tool("t/1/1/1", "built").person("t/1/1/2/ask1", "never do that");
    play.calls(vec![call("c3", "ask_human", &json!({"question": "What then?"}))]);
    play.person("t/1/2/1/ask1", "stop here");
    play.calls(vec![terminate("failure", "It is not allowed.")]);
    insta::assert_snapshot!(play.log);
}
