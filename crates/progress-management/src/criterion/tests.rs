use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Result<Criterion, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn criteria_are_texts_or_objects() {
    let table = [
        (json!("the poem is good"), "the poem is good"),
        (json!({"text": "the poem is good"}), "the poem is good"),
        (json!({"command": "make test"}), "`make test` gives exit 0"),
        (json!({"command": "make", "expect": "exit 2"}), "`make` gives exit 2"),
        (json!({"file": "a.txt"}), "a.txt exists"),
        (json!({"file": "a.txt", "exists": true}), "a.txt exists"),
        (json!({"file": "a.txt", "exists": false}), "a.txt does not exist"),
        (json!({"file": "a.txt", "contains": "x"}), "a.txt contains \"x\""),
        (json!({"file": "a.txt", "matches": "^x+$"}), "a.txt matches /^x+$/"),
        (json!({"file": "a.txt", "unchanged": true}), "a.txt is unchanged"),
    ];
    for (document, words) in table {
        let criterion = read(document.clone()).unwrap();
        assert_eq!((criterion.to_string().as_str(), criterion.owner), (words, Owner::Lead), "{document}");
        assert_eq!(read(serde_json::to_value(&criterion).unwrap()).unwrap(), criterion, "{document}");
    }
}

#[test]
fn a_text_of_the_lead_stays_a_text() {
    assert_eq!(serde_json::to_value(Criterion::text("it is good")).unwrap(), json!("it is good"));
    let of_a_person = Criterion::text("it is good").owned_by(Owner::Person);
    assert_eq!(serde_json::to_value(&of_a_person).unwrap(), json!({"text": "it is good", "owner": "person"}));
    assert_eq!(serde_json::to_value(Criterion::command("true")).unwrap(), json!({"command": "true"}));
}

#[test]
fn other_objects_are_refused() {
    for (document, expected) in [
        (json!({}), "a criterion has `command`"),
        (json!({"command": "a", "file": "b"}), "a criterion has `command`"),
        (json!({"command": "a", "contains": "b"}), "a criterion has `command`"),
        (json!({"expect": "exit 0"}), "a criterion has `command`"),
        (json!({"command": " "}), "`command` is empty"),
        (json!({"file": "a", "contains": "b", "matches": "c"}), "one of `exists`, `contains`, `matches` and `unchanged`"),
        (json!({"file": "a", "unchanged": false}), "`unchanged` is true or left out"),
        (json!({"file": "a", "matches": "("}), "the regular expression \"(\" is invalid: unclosed group"),
        (json!({"command": "a", "expect": "all good"}), "\"all good\" is not a valid expectation: write `exit 0`"),
        (json!({"comand": "a"}), "unknown field `comand`"),
        (json!({"text": "a", "owner": "nobody"}), "unknown variant `nobody`"),
        (json!(3), "expected a text, or an object with `command`, `file` or `text`"),
    ] {
        let error = read(document.clone()).unwrap_err();
        assert!(error.contains(expected), "{document}: {error}");
    }
}

#[test]
fn expectations_are_written_in_words() {
    let table = [
        ("exit 0", "exit 0"),
        ("", "exit 0"),
        ("passes", "exit 0"),
        ("Exit code 3", "exit 3"),
        ("exits with status 1", "exit 1"),
        ("2", "exit 2"),
        ("output contains 3 passed", "output contains 3 passed"),
        ("contains \"a b\"", "output contains a b"),
        ("stdout contains ' x '", "output contains \" x \""),
        ("output matches ^ok$", "output matches ^ok$"),
        ("json .items[0].n equals 3", "json .items[0].n equals 3"),
        ("json $.name = ada", "json .name equals \"ada\""),
        ("json done == true", "json .done equals true"),
        ("json . equals [1]", "json . equals [1]"),
    ];
    for (text, written) in table {
        let expectation: Expectation = text.parse().unwrap();
        assert_eq!(expectation.to_string(), written, "{text}");
        assert_eq!(written.parse::<Expectation>().unwrap(), expectation, "{text}");
    }
    for text in ["it works", "output", "output contains", "output is fine", "json .a", "json a b equals 1", "output matches (", "exit x"] {
        text.parse::<Expectation>().unwrap_err();
    }
}

#[test]
fn results_are_compared_with_expectations() {
    let table = [
        ("exit 0", Some(0), "", "", true),
        ("exit 0", Some(1), "", "", false),
        ("exit 0", None, "", "", false),
        ("output contains 3 passed", Some(1), "ok\n3 passed\n", "", true),
        ("output contains warning", Some(0), "", "warning: x", true),
        ("output contains 3 passed", Some(0), "2 passed", "", false),
        ("output matches ^[0-9]+ passed$", Some(0), "run\n3 passed\nend", "", true),
        ("output matches ^[0-9]+$", Some(0), "3 passed", "", false),
        ("json .n equals 3", Some(0), "{\"n\": 3}\n", "noise", true),
        ("json .n equals 3", Some(0), "{\"n\": \"3\"}", "", false),
        ("json .n equals 3", Some(0), "n is 3", "", false),
        ("json .a[1] equals x", Some(0), "{\"a\": [1, \"x\"]}", "", true),
    ];
    for (text, exit, stdout, stderr, expected) in table {
        let expectation: Expectation = text.parse().unwrap();
        assert_eq!(expectation.holds(&CommandResult { exit, stdout, stderr }), expected, "{text}: {stdout}");
    }
}

proptest! {
    #[test]
    fn any_expectation_is_read_as_it_was_written(text in "\\PC{1,30}", code in any::<i32>(), number in any::<i64>()) {
        let all = [
            Expectation::Exit(code),
            Expectation::Contains(text.clone()),
            Expectation::Json { path: JsonPath::new(".a[\"b c\"]").unwrap(), value: Value::from(text) },
            Expectation::Json { path: JsonPath::new("").unwrap(), value: Value::from(number) },
        ];
        for expectation in all {
            prop_assert_eq!(expectation.to_string().parse::<Expectation>().unwrap(), expectation);
        }
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,60}") {
        drop(text.parse::<Expectation>());
        drop(JsonPath::new(&text));
    }
}
