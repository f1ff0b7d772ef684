//! Property tests: no input makes the reader panic or invent content.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::read_json;
use crate::json::json_text::any_value;

fn object() -> impl Strategy<Value = Value> {
    ("[a-z]{1,6}", any_value(4)).prop_map(|(key, value)| Value::Object(Map::from_iter([(key, value)])))
}

/// Text made of what the reader looks for.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just(","),
        Just(":"),
        Just("```json\n"),
        Just("```"),
        Just("<think>"),
        Just("</think>"),
        Just("\"\"\""),
        Just("//"),
        Just("/*"),
        Just("*/"),
        Just("#"),
        Just("..."),
        Just("\n"),
        Just(" "),
        Just("：“"),
        Just("”，"),
        Just("True"),
        Just("\"a\": "),
        Just("1"),
        Just("C:\\U"),
        Just("\\u00"),
        Just("{\\\""),
        Just("é"),
        Just("｛"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        let _ = read_json(&text);
    }

    #[test]
    fn hostile_text_is_survived(text in hostile()) {
        let _ = read_json(&text);
    }

    #[test]
    fn strict_objects_are_read_as_they_are(value in object()) {
        let read = read_json(&value.to_string()).unwrap();
        prop_assert_eq!(&read.value, &value);
        prop_assert!(read.repairs.is_empty());
    }

    #[test]
    fn a_fence_changes_nothing(value in object()) {
        let text = format!("Here is the answer.\n```json\n{}\n```\nDone.", serde_json::to_string_pretty(&value).unwrap());
        prop_assert_eq!(read_json(&text).unwrap().value, value);
    }

    #[test]
    fn a_trailing_comma_changes_nothing(value in object()) {
        let text = value.to_string();
        let text = format!("{},}}", text.strip_suffix('}').unwrap());
        prop_assert_eq!(read_json(&text).unwrap().value, value);
    }

    #[test]
    fn a_cut_is_survived_and_never_unnoticed(value in object(), at in 0.0..1.0f64) {
        let text = value.to_string();
        let cut = text.floor_char_boundary((text.len() as f64 * at) as usize);
        if let Ok(read) = read_json(&text[..cut]) {
            prop_assert!(read.cut || !read.repairs.is_empty(), "{:?} from {:?}", read, &text[..cut]);
        }
    }
}
