//! Tests of `read_result`.

use aime_llm::estimate_tokens;

use super::*;

fn read(parameters: &Value, budget: u64) -> Result<String, String> {
    read_result(parameters.as_object().unwrap(), &at_work(), budget).map_err(|faults| lines(&faults))
}

#[test]
fn a_result_is_read_whole() {
    let text = read(&json!({"task": "find"}), 10_000).unwrap();
    assert!(text.starts_with("`find` is completed.\n> 60 TODO comments:\n>\n> | src/file_1.rs | 1 |"), "{text}");
    assert!(text.ends_with("| TODO: handle case 60 |\n> References: todos.txt\n"), "{text}");
    let failed = read(&json!({"task": "lint"}), 10_000).unwrap();
    assert_eq!(
        failed,
        "`lint` is failed.\n> Error: make: *** No rule to make target 'lint'.  Stop.\n> exit code 2\n> It could not be run.\n"
    );
}

#[test]
fn a_long_result_is_read_in_parts() {
    let plain =
        |text: &str| text.lines().filter_map(|line| line.strip_prefix("> ").or(line.strip_prefix('>'))).collect::<Vec<_>>().join("\n");
    let (mut offset, mut whole, mut parts) = (0, String::new(), 0);
    loop {
        let text = read(&json!({"task": "find", "offset": offset}), 200).unwrap();
        assert!(estimate_tokens(&text) <= 240, "{text}");
        let part = plain(&text);
        whole.push_str(&part);
        parts += 1;
        let Some(next) = text.rsplit_once("`offset` ").and_then(|(_, rest)| rest.split_once(' ')).map(|(next, _)| next.parse().unwrap())
        else {
            break;
        };
        assert!(next > offset);
        // The answer omits a line end at the end of a part.
        if whole.chars().count() < next {
            whole.push('\n');
        }
        offset = next;
    }
    assert!(parts > 3, "{parts}");
    assert_eq!(whole, plain(&read(&json!({"task": "find"}), 10_000).unwrap()));
    let some = read(&json!({"task": "find", "offset": 3, "limit": 4}), 200).unwrap();
    assert!(some.starts_with("`find` is completed.\n> TODO\n[characters 3 to 7 of "), "{some}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let table = [
        (json!({"task": "slow"}), "task: the task `slow` is running and has no result yet (wait until it settles: the run wakes you)"),
        (json!({"task": "find", "offset": 99_999, "limit": "x"}), "limit: \"x\" is not a whole number"),
        (json!({}), "task: is missing"),
    ];
    for (parameters, expected) in table {
        assert_eq!(read(&parameters, 100).unwrap_err(), expected);
    }
    assert!(read(&json!({"task": "find", "offset": 99_999}), 100).unwrap_err().starts_with("offset: the result of `find` ends after "));
}
