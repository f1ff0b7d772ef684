//! Calls that a model writes into its text, in the syntax of its template, because its server did not recognise them.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use super::refusals::world;
use crate::harness::{done, write};

/// The call of `write_file` and that of `terminate`, each as the template of a model writes it.
const SYNTAXES: [(&str, &str, &str); 6] = [
    (
        "Qwen3-Coder",
        "<tool_call>\n<function=write_file>\n<parameter=path>\nout.txt\n</parameter>\n<parameter=content>\nout\n</parameter>\n</function>\n\
         </tool_call>",
        "<function=terminate>\n<parameter=status>\nsuccess\n</parameter>\n<parameter=message>\nout.txt is written\n</parameter>\n</function>\n\
         </tool_call>",
    ),
    (
        "GLM",
        "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>out.txt</arg_value>\n<arg_key>content</arg_key>\n<arg_value>out</arg_value>\n\
         </tool_call>",
        "<tool_call>terminate\n<arg_key>status</arg_key>\n<arg_value>success</arg_value>\n<arg_key>message</arg_key>\n<arg_value>out.txt is \
         written</arg_value>\n</tool_call>",
    ),
    (
        "Kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{\"path\": \"out.txt\", \"content\": \
         \"out\"}<|tool_call_end|><|tool_calls_section_end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.terminate:1<|tool_call_argument_begin|>{\"status\": \"success\", \
         \"message\": \"out.txt is written\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "Llama",
        "<function=write_file>{\"path\": \"out.txt\", \"content\": \"out\"}</function>",
        "<function=terminate>{\"status\": \"success\", \"message\": \"out.txt is written\"}</function>",
    ),
    (
        "harmony",
        "<|channel|>analysis<|message|>I write it.<|end|><|start|>assistant<|channel|>commentary to=functions.write_file \
         <|constrain|>json<|message|>{\"path\": \"out.txt\", \"content\": \"out\"}<|call|>",
        "<|channel|>commentary to=functions.terminate <|constrain|>json<|message|>{\"status\": \"success\", \"message\": \"out.txt is \
         written\"}<|call|>",
    ),
    (
        "Hermes",
        "I write it.\n<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"out.txt\", \"content\": \"out\"}}\n</tool_call>",
        "<tool_call>\n{\"name\": \"terminate\", \"arguments\": {\"status\": \"success\", \"message\": \"out.txt is written\"}}\n</tool_call>",
    ),
];

const RUN: [&str; 6] = ["run", "write out.txt", "--mode", "direct", "--output", "json"];

// Requirement: 4.42
#[test]
fn a_call_in_the_syntax_of_a_template_is_run() {
    for (name, first, last) in SYNTAXES {
        let script = Script::new().on(When::tools().and_turn(0), [Reply::text(first)]).on(When::tools().and_turn(1), [Reply::text(last)]);
        let world = world(script);
        let ended = world.aime(RUN);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("out.txt is written")), "{name}\n{ended}");
        assert_eq!(world.read("out.txt").trim_end(), "out", "{name}\n{ended}");
        // It goes back as a call, so that the model sees the form that its server has.
        let sent = world.server().requests()[1]["messages"][2].clone();
        assert_eq!(sent["tool_calls"][0]["function"]["name"], "write_file", "{name}\n{sent:#}");
    }
}

/// The beginning of each first call, which is no call any more.
fn cut() -> impl Iterator<Item = (&'static str, &'static str)> {
    SYNTAXES.into_iter().map(|(name, first, _)| (name, &first[..first.find("out.txt").unwrap() + 3]))
}

// Requirement: 4.42
#[test]
fn a_call_that_cannot_be_read_is_no_result() {
    for (name, broken) in cut() {
        let world = world(Script::new().on(When::tools(), [Reply::text(broken)])).settings("[triggers]\nmax_retries = 0\n");
        let ended = world.aime(RUN.iter().chain(&["--unattended"]));
        assert_eq!(ended.code, Some(1), "{name}\n{ended}");
        assert!(!world.exists("out.txt"), "{name}\n{ended}");
    }
}

#[test]
fn a_call_that_cannot_be_read_is_asked_for_again() {
    for (name, broken) in cut() {
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::text(broken)])
            .on(When::tools().and_turn(1), [write("out.txt", "out")])
            .on(When::tools().and_turn(2), [done("out.txt is written")]);
        let world = world(script);
        let ended = world.aime(RUN);
        assert_eq!((ended.code, world.read("out.txt").as_str()), (Some(0), "out"), "{name}\n{ended}");
    }
}

#[test]
fn an_answer_about_the_syntax_is_an_answer() {
    let answers = [
        "The template writes each call between `<tool_call>` and `</tool_call>`, as JSON with `name` and `arguments`.",
        "Qwen3-Coder writes a call so:\n\n```\n<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>\n```\n\n\
         The server turns it into a call.",
        "The channel of a call is named commentary to=functions.NAME in harmony.",
    ];
    for answer in answers {
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::call("read_file", json!({"path": "template.jinja"}))])
            .on(When::tools().and_turn(1), [Reply::text(answer)]);
        let world = world(script);
        world.file("template.jinja", "<tool_call>{{ call | tojson }}</tool_call>\n");
        let ended = world.aime(["run", "How does template.jinja write a call?", "--mode", "direct", "--output", "json"]);
        assert_eq!((ended.code, ended.json()["answer"].as_str()), (Some(0), Some(answer)), "{ended}");
    }
}
