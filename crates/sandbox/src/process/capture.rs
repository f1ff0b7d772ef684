//! Keeps the first and the last part of a stream of any length.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::CapturedOutput;

/// Line before standard error in the output of a process.
pub const STDERR_HEADING: &str = "[stderr]\n";
/// Line before standard output that comes after standard error.
pub const STDOUT_HEADING: &str = "[stdout]\n";
/// Bytes per read: the size of a pipe on Linux.
const CHUNK: usize = 64 * 1024;
/// Maximum bytes of a line that are held back until it ends.
const MAX_STARTED_CHARS: usize = 64 * 1024;

/// The kept parts of a growing stream.
#[derive(Debug, Clone)]
pub(super) struct HeadTailBuffer {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    total: u64,
}

impl HeadTailBuffer {
    /// Keeps `limit` bytes: the first half and the last half.
    pub(super) fn new(limit: usize) -> Self {
        let head_limit = limit / 2;
        Self { head: Vec::new(), head_limit, tail: VecDeque::new(), tail_limit: limit - head_limit, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(first);
        let newest = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        let room = self.tail_limit - newest.len();
        self.tail.drain(..self.tail.len().saturating_sub(room));
        self.tail.extend(newest);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the number of bytes of the stream, with those that are not kept.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the parts kept so far.
    pub(super) fn captured(&self) -> CapturedOutput {
        self.clone().finish()
    }

    pub(super) fn finish(mut self) -> CapturedOutput {
        self.head.extend(self.tail);
        CapturedOutput { bytes: self.head, total: self.total }
    }
}

/// Stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Both streams of a process, by whole lines in the order in which they arrive. A heading comes before standard error, and before
/// standard output that comes after it.
#[derive(Debug, Clone)]
pub(super) struct InterleavedOutput {
    keeper: HeadTailBuffer,
    stream: Stream,
    in_line: bool,
    /// The begun last line of each stream.
    begun_stdout: Vec<u8>,
    begun_stderr: Vec<u8>,
}

impl InterleavedOutput {
    pub(super) fn new(limit: usize) -> Self {
        let (begun_stdout, begun_stderr) = (Vec::new(), Vec::new());
        Self { keeper: HeadTailBuffer::new(limit), stream: Stream::Stdout, in_line: false, begun_stdout, begun_stderr }
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let begun = self.begun(stream);
        begun.extend_from_slice(bytes);
        let end = begun.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let Some(end) = end.or_else(|| (begun.len() > MAX_STARTED_CHARS).then_some(begun.len())) else { return };
        let rest = begun.split_off(end);
        let lines = std::mem::replace(begun, rest);
        self.print(stream, &lines);
    }

    /// Prints the begun line of a stream that has ended.
    fn end(&mut self, stream: Stream) {
        let line = std::mem::take(self.begun(stream));
        if !line.is_empty() {
            self.print(stream, &line);
        }
    }

    const fn begun(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.begun_stdout,
            Stream::Stderr => &mut self.begun_stderr,
        }
    }

    fn print(&mut self, stream: Stream, bytes: &[u8]) {
        if stream != self.stream {
            if self.in_line {
                self.keeper.push(b"\n");
            }
            let heading = if stream == Stream::Stdout { STDOUT_HEADING } else { STDERR_HEADING };
            self.keeper.push(heading.as_bytes());
            self.stream = stream;
        }
        self.keeper.push(bytes);
        self.in_line = bytes.last().is_some_and(|byte| *byte != b'\n');
    }

    /// Returns the number of bytes so far.
    pub(super) const fn len(&self) -> u64 {
        self.keeper.total + (self.begun_stdout.len() + self.begun_stderr.len()) as u64
    }

    /// Returns the parts kept so far, with the lines that have not ended.
    pub(super) fn captured(&self) -> CapturedOutput {
        self.clone().finish()
    }

    pub(super) fn finish(mut self) -> CapturedOutput {
        self.end(Stream::Stdout);
        self.end(Stream::Stderr);
        self.keeper.finish()
    }
}

/// Reads a pipe to its end, so that the writer never blocks. An error counts as the end.
pub(super) async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    stream: Stream,
    keeper: &mut HeadTailBuffer,
    printed: &Mutex<InterleavedOutput>,
) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count) = pipe.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        let bytes = chunk.get(..count).unwrap_or_default();
        keeper.push(bytes);
        printed.lock().unwrap_or_else(PoisonError::into_inner).push(stream, bytes);
    }
    printed.lock().unwrap_or_else(PoisonError::into_inner).end(stream);
}

impl CapturedOutput {
    /// Returns the number of dropped bytes in the middle.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.total.saturating_sub(self.bytes.len() as u64)
    }

    /// Returns the stream as text. Replaces bytes that are not UTF-8, and marks a gap.
    #[must_use]
    pub fn text(&self) -> String {
        if self.left_out() == 0 {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        let (head, tail) = self.bytes.split_at(self.bytes.len() / 2);
        let head = String::from_utf8_lossy(head);
        let tail = String::from_utf8_lossy(tail);
        // The gap may cut a character, which is not a fault of the program.
        let head = head.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let tail = tail.trim_start_matches(char::REPLACEMENT_CHARACTER);
        format!("{head}\n[{} bytes left out]\n{tail}", self.left_out())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(limit: usize, chunks: &[&[u8]]) -> CapturedOutput {
        let mut keeper = HeadTailBuffer::new(limit);
        for chunk in chunks {
            keeper.push(chunk);
        }
        keeper.finish()
    }

    #[test]
    fn keeps_the_first_and_the_last_half() {
        let check = |limit: usize, chunks: &[&str], expected: &str| {
            let chunks: Vec<_> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
            let kept = keep(limit, &chunks);
            assert_eq!(kept.bytes, expected.as_bytes(), "{limit} {chunks:?}");
            assert_eq!(kept.total, chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
        };
        check(8, &["abc"], "abc");
        check(8, &["abcd", "efgh"], "abcdefgh");
        check(8, &["abcdefghij"], "abcdghij");
        check(8, &["abcdef", "g", "hij"], "abcdghij");
        check(8, &["a", "bcdefghijklmnop", "q"], "abcdnopq");
        check(5, &["abcdefgh"], "abfgh");
        check(1, &["abc"], "c");
        check(0, &["abc"], "");
    }

    #[test]
    fn streams_are_shown_as_they_arrive() {
        use Stream::{Stderr, Stdout};
        for (pieces, expected) in [
            (&[(Stdout, "a\n"), (Stderr, "b\n"), (Stderr, "c\n"), (Stdout, "d\n")][..], "a\n[stderr]\nb\nc\n[stdout]\nd\n"),
            (&[(Stderr, "b")], "[stderr]\nb"),
            (&[(Stdout, "1, "), (Stdout, "2"), (Stderr, "b")], "1, 2\n[stderr]\nb"),
            (&[(Stdout, "1, "), (Stderr, "b\nc"), (Stdout, "2\n"), (Stderr, "d\n")], "[stderr]\nb\n[stdout]\n1, 2\n[stderr]\ncd\n"),
            (&[(Stderr, "b"), (Stdout, "a\n")], "a\n[stderr]\nb"),
            (&[], ""),
        ] {
            let mut printed = InterleavedOutput::new(1_000);
            pieces.iter().for_each(|(stream, text)| printed.push(*stream, text.as_bytes()));
            assert_eq!(printed.finish().text(), expected);
        }
    }

    #[test]
    fn a_line_without_end_is_held_back_within_bounds() {
        let mut printed = InterleavedOutput::new(1_000_000);
        printed.push(Stream::Stderr, &vec![b'x'; MAX_STARTED_CHARS]);
        assert!(printed.keeper.is_empty());
        printed.push(Stream::Stderr, b"y");
        assert_eq!(printed.keeper.total, (STDERR_HEADING.len() + MAX_STARTED_CHARS + 1) as u64);
    }

    #[tokio::test]
    async fn a_stream_is_drained_into_both() {
        let (mut keeper, printed) = (HeadTailBuffer::new(100), Mutex::new(InterleavedOutput::new(100)));
        drain(Some(&b"x\n"[..]), Stream::Stderr, &mut keeper, &printed).await;
        assert_eq!(keeper.finish().text(), "x\n");
        assert_eq!(printed.into_inner().unwrap().finish().text(), "[stderr]\nx\n");
    }

    #[test]
    fn text_marks_the_gap_and_cuts_no_character() {
        assert_eq!(keep(8, &[b"abcdefghij"]).text(), "abcd\n[2 bytes left out]\nghij");
        assert_eq!(keep(6, &["aaäääb".as_bytes()]).text(), "aa\n[3 bytes left out]\näb");
        assert_eq!(keep(6, &[b"a\xffb"]).text(), "a\u{fffd}b");
    }
}
