//! Broken forms as models write them, and what they mean.

use serde_json::{Value, json};

use super::{read_json, understood};

fn check(cases: &[(&str, Value)]) {
    for (text, expected) in cases {
        understood(text, expected);
    }
}

#[test]
fn fences() {
    check(&[
        ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ("```\n{\"a\": 1}\n```", json!({"a": 1})),
        ("```JSON\r\n{\"a\": 1}\r\n```\r\n", json!({"a": 1})),
        ("```json {\"a\": 1} ```", json!({"a": 1})),
        ("~~~json\n[1, 2]\n~~~", json!([1, 2])),
        ("```json\n{\"a\": 1}", json!({"a": 1})),
        ("Here is the plan:\n\n```json\n{\"a\": 1}\n```\n\nLet me know if {anything} is unclear.", json!({"a": 1})),
        ("First try:\n```json\n{\"a\": 1}\n```\nBetter:\n```json\n{\"a\": 2}\n```", json!({"a": 2})),
        ("```python\nprint('x')\n```\nwhich gives\n```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ("```json\n{\"a\": 1}\n```\nRun it with\n```bash\naime run\n```", json!({"a": 1})),
        ("```json\n{\"doc\": \"use ```bash blocks```\"}\n```", json!({"doc": "use ```bash blocks```"})),
        ("```json\n{\"a\": [1, 2\n```", json!({"a": [1, 2]})),
        ("```json\n```json\n{\"a\": 1}\n```\n```", json!({"a": 1})),
        ("````json\n{\"a\": 1}\n````", json!({"a": 1})),
        ("```json5\n{a: 1, /* two */ b: 2,}\n```", json!({"a": 1, "b": 2})),
    ]);
}

#[test]
fn prose() {
    check(&[
        ("The answer is {\"a\": 1}.", json!({"a": 1})),
        ("Sure! Here's the JSON you asked for: {\"a\": {\"b\": [1, {\"c\": 2}]}} Hope it helps!", json!({"a": {"b": [1, {"c": 2}]}})),
        ("Use {curly} braces and [square] ones: {\"a\": 1}", json!({"a": 1})),
        ("As said in [1], the plan is {\"a\": 1} (see [2]).", json!({"a": 1})),
        ("- [ ] open\n- [x] done\n{\"a\": 1}", json!({"a": 1})),
        ("plan = {\"a\": 1};", json!({"a": 1})),
        ("json\n{\"a\": 1}", json!({"a": 1})),
        ("<answer>{\"a\": 1}</answer>", json!({"a": 1})),
        ("<tool_call>\n{\"name\": \"x\", \"arguments\": {}}\n</tool_call>", json!({"name": "x", "arguments": {}})),
        ("{\"a\": 1} // that is all", json!({"a": 1})),
        ("{\"a\": 1}}", json!({"a": 1})),
        ("{\"a\": 1},", json!({"a": 1})),
        ("The list [\"a\", \"b\"] is {\"items\": [\"a\", \"b\"]}", json!({"items": ["a", "b"]})),
        ("result: [{\"id\": 1}, {\"id\": 2}]", json!([{"id": 1}, {"id": 2}])),
        ("{\"a\": 1}\n{\"a\": 2}\n", json!({"a": 2})),
        ("{\"a\": 1}{\"b\": 2}", json!({"b": 2})),
        ("{\"draft\": 1} wait, that is wrong: {\"final\": 2}", json!({"final": 2})),
        ("Set {\"a\": 1}. Nothing else, so {} for the rest.", json!({"a": 1})),
    ]);
}

#[test]
fn reasoning() {
    check(&[
        ("<think>maybe {\"a\": 0}</think>{\"a\": 1}", json!({"a": 1})),
        ("<think>\nmaybe\n```json\n{\"a\": 0}\n```\n</think>\n{'a': 1}", json!({"a": 1})),
        ("maybe {\"a\": 0} or so\n</think>\n\n{\"a\": 1}", json!({"a": 1})),
        ("<thinking>{\"a\": 0}</thinking>\n```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ("<think>one {\"a\": 0}</think> <think>two {\"a\": 5}</think> {\"a\": 1}", json!({"a": 1})),
        ("<reasoning>it's \"odd [</reasoning>{\"a\": 1}", json!({"a": 1})),
        ("[THINK]{\"a\": 0}[/THINK]{\"a\": 1}", json!({"a": 1})),
        ("◁think▷{\"a\": 0}◁/think▷{\"a\": 1}", json!({"a": 1})),
        (
            "<|channel|>analysis<|message|>{\"a\": 0}<|end|><|start|>assistant<|channel|>final<|message|>{\"a\": 1}<|return|>",
            json!({"a": 1}),
        ),
        ("{\"a\": \"write <think> and {x}\", \"b\": 2,}", json!({"a": "write <think> and {x}", "b": 2})),
        ("```json\n{\"a\": \"</think>\", \"b\": [1]}\n```", json!({"a": "</think>", "b": [1]})),
        ("{\"a\": \"<think>x</think>\"}", json!({"a": "<think>x</think>"})),
        ("{\"a\": 1}<think>was that right?", json!({"a": 1})),
    ]);
    for text in ["<think>{\"a\": 0}", "<think>\n{\"a\": 0}\n</think>\nI am not sure.", "<think>{\"a\": 0}</think>"] {
        assert!(read_json(text).is_err(), "a draft must not win: {text}");
    }
}

#[test]
fn quotes_and_literals() {
    check(&[
        ("{'a': 'b'}", json!({"a": "b"})),
        ("{'a': True, 'b': False, 'c': None}", json!({"a": true, "b": false, "c": null})),
        ("{'a': \"it's\"}", json!({"a": "it's"})),
        (r#"{'a': 'it\'s'}"#, json!({"a": "it's"})),
        (r#"{"a": "it\'s"}"#, json!({"a": "it's"})),
        ("{'a': 'say \"hi\"'}", json!({"a": "say \"hi\""})),
        ("{“a”: “b”}", json!({"a": "b"})),
        ("{‘a’: ‘b’}", json!({"a": "b"})),
        ("{`a`: `b`}", json!({"a": "b"})),
        ("{a: 1, b_c: 2, $d: 3, e-f: 4}", json!({"a": 1, "b_c": 2, "$d": 3, "e-f": 4})),
        ("{a: one, b: two words}", json!({"a": "one", "b": "two words"})),
        ("{\"a\": NaN, \"b\": -Infinity, \"c\": undefined}", json!({"a": null, "b": null, "c": null})),
        ("{\"a\": .5, \"b\": +5}", json!({"a": 0.5, "b": 5})),
        ("{\"a\": \"he said \"hi\" to me\", \"b\": 2}", json!({"a": "he said \"hi\" to me", "b": 2})),
        ("{\"a\": \"5\" tall\", \"b\": 1}", json!({"a": "5\" tall", "b": 1})),
        ("{\"a\": \"\"\"one\ntwo \"x\" \"\"\", \"b\": 1}", json!({"a": "one\ntwo \"x\" ", "b": 1})),
        ("{'a': '''one\ntwo'''}", json!({"a": "one\ntwo"})),
        ("{\"a\": \"x\" + \"y\"}", json!({"a": "xy"})),
        ("{\"a\": \"one\ntwo\tthree\"}", json!({"a": "one\ntwo\tthree"})),
        ("[True, 'x', None]", json!([true, "x", null])),
    ]);
}

#[test]
fn commas_colons_comments_and_brackets() {
    check(&[
        ("{\"a\": 1,}", json!({"a": 1})),
        ("[1, 2, 3,]", json!([1, 2, 3])),
        ("{\"a\": [1, {\"b\": 2,},],}", json!({"a": [1, {"b": 2}]})),
        ("{,\"a\": 1}", json!({"a": 1})),
        ("{\"a\": 1 \"b\": 2}", json!({"a": 1, "b": 2})),
        ("{\"a\": \"x\"\n \"b\": \"y\"}", json!({"a": "x", "b": "y"})),
        ("[{\"a\": 1} {\"a\": 2}]", json!([{"a": 1}, {"a": 2}])),
        ("[\"a\" \"b\"]", json!(["a", "b"])),
        ("{\"a\" 1}", json!({"a": 1})),
        ("{\"a\" = 1}", json!({"a": 1})),
        ("{\"a\": 1 // one\n, \"b\": 2 # two\n}", json!({"a": 1, "b": 2})),
        ("{/* head */ \"a\": 1}", json!({"a": 1})),
        ("// the plan\n{\"a\": \"http://x.y/z\",}", json!({"a": "http://x.y/z"})),
        ("{\"a\": [1, 2}", json!({"a": [1, 2]})),
        ("{\"tasks\": [{\"id\": 1}, {\"id\": 2},], \"note\": 'x'}", json!({"tasks": [{"id": 1}, {"id": 2}], "note": "x"})),
        ("{\"a\"：1，\"b\"：\"二\"}", json!({"a": 1, "b": "二"})),
        ("{“目标”：“统计，然后写：报告”，“步骤”：[1，2]}", json!({"目标": "统计，然后写：报告", "步骤": [1, 2]})),
        ("｛\"a\"：［1，2］｝", json!({"a": [1, 2]})),
        ("{\"a\": \"你好，“世界”：再见\",}", json!({"a": "你好，“世界”：再见"})),
    ]);
}

#[test]
fn missing_ends() {
    check(&[
        ("{\"a\": 1", json!({"a": 1})),
        ("{\"a\": \"x", json!({"a": "x"})),
        ("{\"a\": [1, 2, {\"b\": 3", json!({"a": [1, 2, {"b": 3}]})),
        ("{\"a\": {\"b\": {\"c\": 1}", json!({"a": {"b": {"c": 1}}})),
        ("Here: {\"tasks\": [{\"id\": 1}, {\"id\": 2", json!({"tasks": [{"id": 1}, {"id": 2}]})),
        ("{\"a\": tru", json!({"a": "tru"})),
        ("{\"a\": 1, ", json!({"a": 1})),
        ("[1, 2, ...]", json!([1, 2])),
    ]);
}

#[test]
fn backslashes_are_kept() {
    check(&[
        (r#"{"re": "\d+\.\w"}"#, json!({"re": r"\d+\.\w"})),
        (r#"{"path": "C:\Users\dan\new\table.txt"}"#, json!({"path": r"C:\Users\dan\new\table.txt"})),
        (r#"{"path": "C:\\Users\\dan", "x": 1,}"#, json!({"path": r"C:\Users\dan", "x": 1})),
        (r#"{"re": "\\d+", "also": "\s"}"#, json!({"re": r"\d+", "also": r"\s"})),
        (r#"{"text": "line\n\d"}"#, json!({"text": "line\n\\d"})),
        (r#"{"qa": "Q:\nwhy \d\nA:\nso"}"#, json!({"qa": "Q:\nwhy \\d\nA:\nso"})),
        (r#"{"a": "A:\t\\", "b": "A:\n\"",}"#, json!({"a": "A:\t\\", "b": "A:\n\""})),
        (r#"{"u": "\u00e9 \u12 \user"}"#, json!({"u": "é \\u12 \\user"})),
        ("{\"sh\": \"curl \\\n  -X\"}", json!({"sh": "curl \\\n  -X"})),
        (r#"{"sh": "echo 'it'\''s'"}"#, json!({"sh": r"echo 'it'\''s'"})),
        (r#"{"sh": "echo \$HOME \`date\`"}"#, json!({"sh": r"echo \$HOME \`date\`"})),
        (r"{'re': '\d'}", json!({"re": r"\d"})),
        (r#"{"latex": "\alpha \$x\$"}"#, json!({"latex": r"\alpha \$x\$"})),
        (r#"{"q": "a \"b\" \d"}"#, json!({"q": "a \"b\" \\d"})),
    ]);
}

#[test]
fn encoded_twice() {
    check(&[
        (r#""{\"a\": 1}""#, json!({"a": 1})),
        (r#""[{\"a\": \"x\"}]""#, json!([{"a": "x"}])),
        (r#""\"{\\\"a\\\": 1}\"""#, json!({"a": 1})),
        (r#"{\"a\": \"x\", \"b\": [1]}"#, json!({"a": "x", "b": [1]})),
        (r#"{\n  \"a\": 1\n}"#, json!({"a": 1})),
        (r#""```json\n{\"a\": 1}\n```""#, json!({"a": 1})),
        (r#""{'a': True}""#, json!({"a": true})),
        (r#""just text""#, json!("just text")),
        (r#""{curly}""#, json!("{curly}")),
    ]);
}

#[test]
fn refused() {
    let cases = [
        "",
        "   ",
        "```json\n```",
        "I cannot help with that.",
        "Use {curly} braces.",
        "- [ ] one\n- [x] two",
        "As shown in [1].",
        "fn main() { println!(\"hi\"); }",
        "{",
        "}",
        "{\"a\": {1, 2}}",
        "{\"a\": f\"x\"}",
        "\"a\": 1, \"b\": 2",
        "true story",
        "a | b\n--|--\n1 | 2",
        "<xml><a>1</a></xml>",
    ];
    for text in cases {
        assert!(read_json(text).is_err(), "{text:?} was read as {:?}", read_json(text));
    }
}
