use super::{begun_call, read_answer, shown_at_once};

#[test]
fn calls_are_read_in_every_form_and_other_blocks_stay_text() {
    let call = r#"{"name": "read", "arguments": {"path": "a"}}"#;
    let cases = [
        (format!("<tool_call>\n{call}\n</tool_call>"), "", 1),
        (format!("```json\n{call}\n```"), "", 1),
        (format!("```\n{call}\n```"), "", 1),
        (format!("I look.\n```json\n{call}\n```\n```json\n{call}\n```"), "I look.", 2),
        (format!("```json\n{call}\n{call}\n```"), "", 2),
        (format!("```json\n[{call}, {call}]\n```"), "", 2),
        (call.to_owned(), "", 1),
        (format!("<tool_call>\n{call}"), "", 1),
        ("```json\n{\"name\": \"x\", \"arguments\": {}}\n```".to_owned(), "```json\n{\"name\": \"x\", \"arguments\": {}}\n```", 0),
        ("<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call>".to_owned(), "", 1),
        ("```json\n{\"name\": \"read\"}\n```".to_owned(), "```json\n{\"name\": \"read\"}\n```", 0),
        ("```rust\nfn a() {}\n``` done".to_owned(), "```rust\nfn a() {}\n``` done", 0),
        ("```json\n{\"name\": \"read\", \"argu".to_owned(), "```json\n{\"name\": \"read\", \"argu", 0),
        ("plain".to_owned(), "plain", 0),
    ];
    for (answer, text, calls) in cases {
        let read = read_answer(&answer, |name| name == "read");
        assert_eq!((read.text.as_str(), read.calls.len()), (text, calls), "{answer}");
        for (name, arguments) in read.calls {
            assert!(name == "x" || (name == "read" && arguments == r#"{"path":"a"}"#), "{name} {arguments}");
        }
    }
}

#[test]
fn text_is_shown_up_to_what_may_become_a_call() {
    for (answer, shown) in
        [("abc", 3), ("abc `", 3), ("abc ``", 3), ("abc ```json", 3), ("abc <tool", 3), ("a < b", 5), ("{\"name\"", 0), ("", 0)]
    {
        assert_eq!(shown_at_once(answer), shown, "{answer}");
    }
}

#[test]
fn a_call_is_noticed_when_its_name_comes() {
    for (answer, begin) in [
        ("```json\n{\"name\"", Some(8)),
        ("<tool_call>\n{\"name\": \"", Some(12)),
        ("so:\n```json\n{\n  \"name\": \"re", Some(12)),
        ("{\"name\"", Some(0)),
        ("{\"a\": {\"name\"", None),
        ("a {\"name\"", None),
        ("```json\n{\"na", None),
    ] {
        assert_eq!(begun_call(answer), begin, "{answer}");
    }
}
