//! Text that was meant as a tool call: the actor runs or refuses it, and never takes it as a result.

use aime_llm::{ChatResponse, FinishReason, Message};
use aime_progress_management::Outcome;

use super::support::{Play, answer, input, person_message, read, terminate};
use crate::ActorInput;

const NOTE: &str = "Your message looks like a tool call, but it could not be read";
const CUT: &str = "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\nhalf a";
const UNKNOWN: &str = "<|tool_calls_section_begin|><|tool_call_begin|>functions.rm_rf:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
const PROSE: &str = "Qwen3-Coder wraps its calls in `<tool_call>` and `<function=write_file>`.";

fn words(text: &str) -> ChatResponse {
    answer(text, vec![])
}

/// Returns an actor whose task may be a plain question, so that its first plain answer is the result.
fn question() -> ActorInput {
    ActorInput { plain_answer_ends: true, ..input() }
}

#[test]
fn raw_calls_are_run() {
    for text in [
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\nx\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>content</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
        "<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{\"path\": \"a.txt\", \"content\": \"x\"}<|tool_call_end|>",
        "[TOOL_CALLS]write_file[ARGS]{\"path\": \"a.txt\", \"content\": \"x\"}",
        "<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{\"path\": \"a.txt\", \"content\": \"x\"}<|call|>",
    ] {
        let mut play = Play::start(question());
        play.model(words(text));
        assert!(play.log.contains("tool t/1/1/1: call-1-1 write_file {\"path\":\"a.txt\",\"content\":\"x\"}"), "{text}\n{}", play.log);
    }
}

#[test]
fn an_unread_call_is_told_once_and_then_fails() {
    for text in [CUT, UNKNOWN, "<tool_call>", "```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.txt\"\n```"] {
        let mut play = Play::start(question());
        play.model(words(text));
        assert_eq!((&play.output, play.nudges()), (&None, vec!["unread_call"]), "{text}");
        let Some(Message::User { content, .. }) = play.requests[1].messages.last().map(AsRef::as_ref) else { panic!() };
        assert!(content.starts_with(NOTE), "{content}");
        play.model(words(text));
        let conclusion = play.output.clone().unwrap();
        assert_eq!(conclusion.outcome, Outcome::Failure, "{text}");
        let shown: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
        let error = conclusion.error.unwrap();
        assert!(error.to_string().starts_with(&format!("the model writes tool calls as text that cannot be read: {shown}")), "{error}");
        assert_eq!(conclusion.text, None, "an attempt is no part of the result");
    }
}

#[test]
fn words_on_calls_are_a_result() {
    let mut play = Play::start(question());
    play.model(words(PROSE));
    assert_eq!(play.output.unwrap().summary, PROSE);
}

#[test]
fn what_follows_an_unread_call() {
    let terminate = || answer("", vec![terminate("success", "done")]);
    let limited = || ChatResponse { finish: FinishReason::Length, ..words(CUT) };
    let cases = [
        ("a call", vec![words(CUT), terminate()], Outcome::Success, "done", vec!["unread_call"]),
        (
            "words twice",
            vec![words(CUT), words("Written."), words("It is.")],
            Outcome::Success,
            "Written.\n\nIt is.",
            vec!["unread_call", "no_tool_call"],
        ),
        (
            "words between",
            vec![words(CUT), words("Sorry."), words(CUT), terminate()],
            Outcome::Success,
            "done",
            vec!["unread_call", "no_tool_call", "unread_call"],
        ),
        ("cut by the limit", vec![limited(), terminate()], Outcome::Success, "done", vec!["no_tool_call"]),
        (
            "cut by the limit twice",
            vec![limited(), limited()],
            Outcome::Failure,
            "not done: the answers of the model are cut by the length limit",
            vec!["no_tool_call"],
        ),
    ];
    for (name, answers, outcome, summary, nudges) in cases {
        let mut play = Play::start(question());
        for answer in answers {
            assert_eq!(play.output, None, "{name}");
            play.model(answer);
        }
        let conclusion = play.output.clone().unwrap();
        assert_eq!((conclusion.outcome, conclusion.summary.as_str()), (outcome, summary), "{name}");
        assert!(conclusion.text.is_none_or(|text| !text.contains("half a")), "{name}");
        assert_eq!(play.nudges(), nudges, "{name}");
    }
}

#[test]
fn an_unread_call_beside_others_is_told_after_their_results() {
    let mut play = Play::start(question());
    let text = format!("<tool_call>{{\"name\": \"read_file\", \"arguments\": {{\"path\": \"a.txt\"}}}}</tool_call>\n{CUT}");
    play.model(words(&text)).tool("t/1/1/1", "text");
    assert_eq!(play.nudges(), ["unread_call"]);
    assert!(play.step_note().is_some_and(|note| note.starts_with(NOTE)), "{:?}", play.step_note());
    // A `terminate` after an unreadable call presumed that call's result, so it must not count.
    let mut play = Play::start(question());
    let end = "<tool_call>{\"name\": \"terminate\", \"arguments\": {\"status\": \"success\", \"message\": \"done\"}}</tool_call>";
    play.model(words(&format!("<tool_call>{{\"name\": \"fly\", \"arguments\": {{}}}}</tool_call>\n{end}")));
    assert_eq!((&play.output, play.nudges()), (&None, vec!["unread_call"]));
}

#[test]
fn words_of_a_person_begin_anew() {
    let mut play = Play::start(question());
    play.model(words(CUT)).fact(person_message(1, "slowly")).model(words(CUT));
    assert_eq!((&play.output, play.nudges()), (&None, vec!["unread_call"]), "the person is heard first");
    play.model(words(CUT));
    assert_eq!(play.output, None, "the first attempt since");
    play.calls(vec![read("a", "1")]);
    assert_eq!(play.open_ids(), ["t/1/4/1"]);
}
