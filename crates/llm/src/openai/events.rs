//! Distinguishes streams from documents, independently of the content type.

/// Shape of a body, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Too few bytes to decide: white space, or the beginning of a field name.
    Undecided,
    /// A JSON document.
    Document,
    /// Server-sent events.
    Events,
    /// A web page.
    Page,
    /// Something else.
    Unknown,
}

/// Byte order mark, which some servers send before their text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(super) fn shape(body: &[u8]) -> Shape {
    if BYTE_ORDER_MARK.starts_with(body) {
        return Shape::Undecided;
    }
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let body = body.trim_ascii_start();
    let fields = [&b"data:"[..], b"event:", b"id:", b"retry:"];
    match body.first() {
        None => Shape::Undecided,
        Some(b'{' | b'[') => Shape::Document,
        Some(b'<') => Shape::Page,
        Some(b':') => Shape::Events,
        Some(_) if fields.iter().any(|name| body.starts_with(name)) => Shape::Events,
        Some(_) if fields.iter().any(|name| name.starts_with(body)) => Shape::Undecided,
        Some(_) => Shape::Unknown,
    }
}

/// Returns a JSON document as one event.
pub(super) fn as_event(document: &[u8]) -> Vec<u8> {
    // Line breaks occur only between the tokens of JSON.
    let line = document.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte });
    b"data: ".iter().copied().chain(line).chain(*b"\n\n").collect()
}

/// Returns the JSON texts of a stream that arrived instead of the requested document; `None` if one is not JSON.
pub(super) fn values(body: &str) -> Option<Vec<String>> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    // A comment that was sent as data, as OpenRouter does while it waits.
    let data = data.filter(|data| !data.is_empty() && *data != "[DONE]" && !data.starts_with(':'));
    data.map(|data| serde_json::from_str::<serde::de::IgnoredAny>(data).ok().map(|_| data.to_owned())).collect()
}

/// Finds `[DONE]` in the bytes of a stream, however they are split.
#[derive(Debug)]
pub(super) struct DoneWatch {
    tail: Vec<u8>,
    pub(super) done: bool,
}

impl Default for DoneWatch {
    fn default() -> Self {
        Self { tail: b"\n".to_vec(), done: false }
    }
}

impl DoneWatch {
    const MARKS: [&[u8]; 2] = [b"\ndata: [DONE]", b"\ndata:[DONE]"];

    pub(super) fn see(&mut self, bytes: &[u8]) {
        if self.done {
            return;
        }
        self.tail.extend_from_slice(bytes);
        self.done = Self::MARKS.iter().any(|mark| self.tail.windows(mark.len()).any(|window| window == *mark));
        let keep = Self::MARKS.iter().map(|mark| mark.len()).max().unwrap_or(0);
        let surplus = self.tail.len().saturating_sub(keep);
        self.tail.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_told_apart() {
        let cases: &[(&[u8], Shape)] = &[
            (b"", Shape::Undecided),
            (b" \r\n", Shape::Undecided),
            (b"\xEF\xBB", Shape::Undecided),
            (b"\n{\"a\":1}", Shape::Document),
            (b"\xEF\xBB\xBF[1]", Shape::Document),
            (b"data: {}", Shape::Events),
            (b"da", Shape::Undecided),
            (b"\xEF\xBB\xBFdat", Shape::Undecided),
            (b"dat: {}", Shape::Unknown),
            (b": ping\n\n", Shape::Events),
            (b"event: message\n", Shape::Events),
            (b"<!doctype html>", Shape::Page),
            (b"upstream gone", Shape::Unknown),
        ];
        for (body, expected) in cases {
            assert_eq!(shape(body), *expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn the_end_is_found_however_it_is_split() {
        let stream = b"data: {\"text\": \"data: [DONE]\"}\n\ndata: [DONE]\n\n";
        for size in 1..stream.len() {
            let mut watch = DoneWatch::default();
            let end = stream.len() - b"data: [DONE]\n\n".len();
            stream[..end].chunks(size).for_each(|piece| watch.see(piece));
            assert!(!watch.done, "what the model says is no end");
            stream[end..].chunks(size).for_each(|piece| watch.see(piece));
            assert!(watch.done, "{size}");
        }
    }

    #[test]
    fn documents_become_one_event() {
        assert_eq!(as_event(b"{\n  \"a\": \"b\\n\"\r\n}"), b"data: {   \"a\": \"b\\n\"  }\n\n");
        assert_eq!(
            values("event: x\ndata: {\"a\":1}\n\ndata:[2]\n\ndata: [DONE]\n"),
            Some(vec![r#"{"a":1}"#.to_owned(), "[2]".to_owned()])
        );
        assert_eq!(values("data: {\"a\":\n"), None);
    }
}
