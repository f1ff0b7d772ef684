//! Surplus closing brackets lose nothing: the value is read as it was, or refused.

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::read_json;
use crate::json::json_text::{Place, any_value, json_text, leaves, object_of, objects};

const ONE: [&str; 2] = ["}", "]"];
const ONE_OR_TWO: [&str; 6] = ["}", "]", "}}", "]]", "}]", "]}"];

fn closers(of: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(of)
}

/// Generates a list of objects, alone or as the tasks of a plan.
fn plan() -> impl Strategy<Value = Value> {
    (objects(), any::<bool>()).prop_map(|(tasks, alone)| if alone { tasks } else { json!({"goal": "g", "tasks": tasks, "note": {"n": 1}}) })
}

/// Generates a list or an object that is not empty.
fn container() -> impl Strategy<Value = Value> {
    prop_oneof![prop::collection::vec(any_value(3), 1..5).prop_map(Value::from), object_of(any_value(3), 1..5)]
}

/// Returns the places behind the items of lists.
fn items(places: &[Place]) -> Vec<Place> {
    places.iter().filter(|place| place.open.ends_with(']')).cloned().collect()
}

#[test]
fn a_long_item_behind_a_surplus_closer_stays() {
    let (text, number) = ("x".repeat(10_000), 10_000);
    let value = json!({"list": [{"a": 1}, text, {"b": number}]});
    let surplus = value.to_string().replacen("},", "}},", 1);
    assert_eq!(read_json(&surplus).unwrap().value, value);
}

#[test]
fn a_value_behind_another_is_no_part_of_it() {
    for (text, value) in [
        ("[1, 2],\n[3, 4]", json!([3, 4])),
        ("{\"a\": 1}}\n{\"b\": 2}}", json!({"b": 2})),
        ("{\"a\": [1, 2}, {\"b\": 3}", json!({"b": 3})),
        ("{\"a\": 1}, \"b\": is what I would write, or {\"c\": 2}.", json!({"c": 2})),
        ("{\"a\": 1}\nNote: {\"b\": 2}}", json!({"b": 2})),
    ] {
        assert_eq!(read_json(text).unwrap().value, value, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn surplus_closers_lose_nothing(value in container(), surplus in prop::collection::vec((any::<Index>(), closers(&ONE_OR_TWO)), 1..3)) {
        let whole = json_text(&value);
        let surplus: Vec<_> = surplus.iter().map(|(place, closers)| (place.get(&whole.places).clone(), *closers)).collect();
        let text = whole.with(&surplus);
        if let Ok(read) = read_json(&text) {
            prop_assert_eq!(leaves(&read.value), leaves(&value), "{} read as {}", text, read.value);
        }
    }

    #[test]
    fn surplus_closers_between_items_change_nothing(value in plan(), surplus in prop::collection::vec((any::<Index>(), closers(&ONE)), 1..3)) {
        let whole = json_text(&value);
        let items = items(&whole.places);
        let mut surplus: Vec<_> = surplus.iter().map(|(place, closers)| (place.get(&items).clone(), *closers)).collect();
        // In a nested list, `]}` closes the list and its object, as it also would where nothing is surplus.
        if matches!(surplus.as_slice(), [(one, "]"), (two, "}")] if one.at == two.at) {
            surplus.truncate(1);
        }
        let text = whole.with(&surplus);
        if let Ok(read) = read_json(&text) {
            prop_assert_eq!(&read.value, &value, "{}", text);
        }
    }

    #[test]
    fn a_surplus_brace_behind_an_item_is_left_out(value in plan(), place in any::<Index>()) {
        let whole = json_text(&value);
        let text = whole.with(&[(place.get(&items(&whole.places)).clone(), "}")]);
        let read = read_json(&text);
        prop_assert_eq!(read.as_ref().map(|read| &read.value), Ok(&value), "{}", text);
        prop_assert!(!read.unwrap().cut);
    }
}
