//! The objects of a list, as the text around it arrives.

use serde_json::Value;

use super::{LIMIT, strict};

/// The deepest nesting that is followed; a strict reader stops there too.
const DEPTH: usize = 128;

/// The most that may stand before the object, in bytes.
const HEAD: usize = 64;

/// Takes whole objects out of a list of a JSON object whose text is still arriving.
///
/// It reads strict JSON alone, bare or in a code fence, and only a list that is a member of the outermost object. Where the text is anything else,
/// it gives nothing more: whoever has the whole text reads it with [`read_json`](crate::read_json). Each character is looked at once.
///
/// ```
/// let mut items = aime_llm::ArrivingItems::of(&["tasks"]);
/// assert!(items.push(r#"{"goal": "x", "tasks": [{"id": "a"}, {"id""#).len() == 1);
/// assert_eq!(items.push(r#": "b"}"#), [serde_json::json!({"id": "b"})]);
/// ```
#[derive(Debug, Clone)]
pub struct ArrivingItems {
    names: Vec<String>,
    text: String,
    /// Up to here it was looked at, in bytes.
    at: usize,
    /// The brackets that are open.
    open: Vec<u8>,
    /// Where the string begins in which the text stands, and whether the next character is escaped.
    string: Option<(usize, bool)>,
    /// The last string of the outermost object, and whether a colon came after it.
    key: Option<(std::ops::Range<usize>, bool)>,
    /// Whether the list is open.
    inside: bool,
    /// Where the object begins in which the text stands.
    item: usize,
    /// Nothing more is to be had.
    over: bool,
}

impl ArrivingItems {
    /// Of the first list with one of these names.
    #[must_use]
    pub fn of(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names, text: String::new(), at: 0, open: Vec::new(), string: None, key: None, inside: false, item: 0, over: false }
    }

    /// Takes more of the text; gives the objects that are whole with it.
    pub fn push(&mut self, more: &str) -> Vec<Value> {
        let mut items = Vec::new();
        if self.over || self.text.len().saturating_add(more.len()) > LIMIT {
            self.over = true;
            return items;
        }
        self.text.push_str(more);
        while let (false, Some(byte)) = (self.over, self.text.as_bytes().get(self.at).copied()) {
            let at = self.at;
            self.at += 1;
            match self.string {
                Some((from, escaped)) => self.in_string(byte, at, from, escaped),
                None => items.extend(self.outside(byte, at)),
            }
        }
        items
    }

    fn in_string(&mut self, byte: u8, at: usize, from: usize, escaped: bool) {
        self.string = match byte {
            _ if escaped => Some((from, false)),
            b'\\' => Some((from, true)),
            b'"' => {
                if self.open.len() == 1 {
                    self.key = Some((from..at, false));
                }
                None
            }
            _ => Some((from, false)),
        };
    }

    /// A character that is in no string; the object that ends with it.
    fn outside(&mut self, byte: u8, at: usize) -> Option<Value> {
        match byte {
            b'"' if self.open.is_empty() => self.over = true,
            b'"' => self.string = Some((at + 1, false)),
            b'{' | b'[' => self.begin(byte, at),
            b'}' | b']' => return self.end(byte, at),
            b':' if self.open.len() == 1 => {
                if let Some((_, is_key)) = &mut self.key {
                    *is_key = true;
                }
            }
            b',' if self.open.len() == 1 => self.key = None,
            _ if self.open.is_empty() => self.over = at > HEAD || !self.begins_well(),
            _ => {}
        }
        None
    }

    /// Whether all so far is white space, or the opening line of a code fence.
    fn begins_well(&self) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default().trim_start();
        let word = head.trim_start_matches('`');
        (head.is_empty() || head.starts_with('`')) && word.trim_end().chars().all(|c| c.is_ascii_alphanumeric())
    }

    fn begin(&mut self, byte: u8, at: usize) {
        match self.open.as_slice() {
            [] => self.over = byte != b'{',
            [_] if byte == b'[' => self.inside = self.is_named(),
            [_, _] if self.inside => self.item = at,
            all => self.over = all.len() >= DEPTH,
        }
        self.open.push(byte);
    }

    /// Whether the last key is one of the names.
    fn is_named(&self) -> bool {
        let key = self.key.as_ref().filter(|(_, is_key)| *is_key).and_then(|(range, _)| self.text.get(range.clone()));
        key.is_some_and(|key| self.names.iter().any(|name| name == key))
    }

    fn end(&mut self, byte: u8, at: usize) -> Option<Value> {
        let fits = matches!((self.open.pop(), byte), (Some(b'{'), b'}') | (Some(b'['), b']'));
        // The list has ended, or the object, or they never fitted.
        self.over = !fits || self.open.is_empty() || (self.inside && self.open.len() == 1);
        if self.over || !self.inside || self.open.len() != 2 || byte != b'}' {
            return None;
        }
        let item = self.text.get(self.item..=at).and_then(|item| strict(item).ok());
        self.over = item.is_none();
        item
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn all(text: &str) -> Vec<Value> {
        ArrivingItems::of(&["tasks", "steps"]).push(text)
    }

    #[test]
    fn objects_of_the_list_alone_are_taken() {
        let cases = [
            (r#"{"tasks": [{"a": 1}, {"b": {"tasks": [{}]}}], "steps": [{"c": 1}]}"#, json!([{"a": 1}, {"b": {"tasks": [{}]}}])),
            (r#"{"steps": [{"a": "} ] \" , {"}, "a text", {"b": 2}"#, json!([{"a": "} ] \" , {"}, {"b": 2}])),
            (r#"{"x": "tasks", "y": [{"a": 1}]}"#, json!([])),
            (r#"{"x": {"tasks": [{"a": 1}]}}"#, json!([])),
            (r#"{"x": ["tasks", {"a": 1}], "tasks": [[{"a": 1}], {"b": 2}]}"#, json!([{"b": 2}])),
            ("```json\n{\"tasks\": [{\"a\": 1}]}\n```", json!([{"a": 1}])),
            ("```\n {\"tasks\": [{\"a\": 1}", json!([{"a": 1}])),
            (r#"<think>{"tasks": [{"a": 1}]}</think>"#, json!([])),
            (r#"Here it is: {"tasks": [{"a": 1}]}"#, json!([])),
            (r#"[{"tasks": [{"a": 1}]}]"#, json!([])),
            (r#"{"tasks": [{"a": 1}, {a: 2}, {"b": 3}]}"#, json!([{"a": 1}])),
            (r#"{"tasks": [{"a": 1]}, {"b": 3}]}"#, json!([])),
            (r#"{"tasks": {"a": {"b": 1}}}"#, json!([])),
            (r#""{\"tasks\": []}""#, json!([])),
            ("", json!([])),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::Array(all(text)), expected, "{text}");
        }
    }

    #[test]
    fn too_much_is_not_read() {
        let mut items = ArrivingItems::of(&["tasks"]);
        assert!(items.push(&" ".repeat(LIMIT)).is_empty());
        assert!(items.push(r#"{"tasks": [{"a": 1}]}"#).is_empty());
        let deep = format!(r#"{{"x": {}{}, "tasks": [{{"a": 1}}]}}"#, "[".repeat(200), "]".repeat(200));
        assert!(all(&deep).is_empty());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(cuts in prop::collection::vec(0..90_usize, 0..8), text in r#"[\[\]{}:,"\\ a`ü]{0,40}"#) {
            let whole = format!(r#"{{"grüße": "ü", "tasks": [{{"a": "ü\"}}"}}, {{"b": [1, {{}}]}}, {text}, {{"c": 1}}]}}"#);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| whole.is_char_boundary(*at)).chain([0, whole.len()]).collect();
            cuts.sort_unstable();
            let mut items = ArrivingItems::of(&["tasks"]);
            let pieces = cuts.windows(2).flat_map(|ends| items.push(&whole[ends[0]..ends[1]])).collect::<Vec<_>>();
            prop_assert!(pieces.len() >= 2);
            prop_assert_eq!(pieces, all(&whole));
        }
    }
}
