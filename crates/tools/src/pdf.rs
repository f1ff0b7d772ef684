//! Text extraction from PDF documents, page by page.

mod font;
mod layout;
#[cfg(test)]
pub(crate) mod tests;

use std::{ops::Range, thread};

use lopdf::{Document, Error, LoadOptions};

use self::layout::PageReader;

/// Maximum size of a document in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Maximum unpacked size of one compressed stream in bytes: a small file must not become gigabytes.
const MAX_UNPACKED: usize = 8 * 1024 * 1024;
/// Maximum characters that one call reads.
const MAX_CHARS: usize = 1_000_000;
/// Stack size of the parser thread in bytes. The parser recurses over nested objects and strings, up to bounds that assume the main
/// thread's stack.
const STACK: usize = 16 * 1024 * 1024;

/// Text of some pages of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PdfPages {
    /// Text of each page that was read, in order. A page without text is empty.
    pub(crate) pages: Vec<String>,
    /// Index in the document of the first of these pages, from 0.
    pub(crate) first: usize,
    /// Number of pages in the whole document.
    pub(crate) total: usize,
}

/// Reason why a document gives no text. The message follows the document's name: "`a.pdf` ...".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PdfError {
    #[error("is a PDF of {size} bytes; at most {MAX_BYTES} bytes are read")]
    TooLarge { size: usize },
    #[error("is an encrypted PDF that needs a password")]
    Encrypted,
    #[error("is a PDF with {total} pages; page {wanted} is behind its end")]
    NoSuchPage { total: usize, wanted: usize },
    #[error("is a PDF without text on {pages}; it was probably scanned, and needs OCR")]
    NoText { pages: String },
    #[error("is a PDF that cannot be read: {reason}")]
    Unreadable { reason: String },
}

impl PdfPages {
    /// Formats the pages with a heading each, and a note on omitted pages. `room` is the maximum number of characters; a page is cut only
    /// if not even one fits. `next` returns how to read on from a page, counted from 1.
    pub(crate) fn render(&self, room: Option<usize>, next: impl Fn(usize) -> String) -> String {
        let room = room.unwrap_or(usize::MAX);
        let (mut text, mut used, mut shown) = (String::new(), 0, 0);
        for (number, page) in (self.first + 1..).zip(&self.pages) {
            let page = if page.is_empty() { "[no text on this page]" } else { page };
            let section = format!("{}[page {number} of {}]\n{page}", if text.is_empty() { "" } else { "\n\n" }, self.total);
            let length = section.chars().count();
            if used + length > room {
                if shown == 0 {
                    text = section.chars().take(room).collect();
                    text.push_str(&format!("\n[page {number} has {} characters; its end is left out]", page.chars().count()));
                    shown = 1;
                }
                break;
            }
            text.push_str(&section);
            used += length;
            shown += 1;
        }
        let end = self.first + shown;
        if end < self.total {
            text.push_str(&format!("\n\n[{} left out; {}]", pages(end..self.total, self.total), next(end + 1)));
        }
        text
    }
}

/// Formats a range of pages, as in `page 3 of 9` or `pages 3 to 5 of 9`. The range counts from 0.
fn pages(range: Range<usize>, total: usize) -> String {
    if range.len() == 1 {
        format!("page {} of {total}", range.end)
    } else {
        format!("pages {} to {} of {total}", range.start + 1, range.end)
    }
}

/// Returns true if the bytes are a PDF document.
pub(crate) fn is_pdf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"%PDF-")
}

/// Reads at most `count` pages, starting at `first`, counted from 0. Blocks.
///
/// # Errors
/// [`PdfError`], also for a panic of the parser.
pub(crate) fn read_pages(bytes: &[u8], first: usize, count: usize) -> Result<PdfPages, PdfError> {
    if bytes.len() > MAX_BYTES {
        return Err(PdfError::TooLarge { size: bytes.len() });
    }
    let unreadable = |reason: &str| PdfError::Unreadable { reason: reason.to_owned() };
    thread::scope(|scope| {
        let reading = thread::Builder::new().name("pdf".to_owned()).stack_size(STACK).spawn_scoped(scope, || parsed(bytes, first, count));
        let reading = reading.map_err(|error| unreadable(&error.to_string()))?;
        reading.join().unwrap_or_else(|_| Err(unreadable("its parser failed")))
    })
}

fn parsed(bytes: &[u8], first: usize, count: usize) -> Result<PdfPages, PdfError> {
    let document =
        Document::load_mem_with_options(bytes, LoadOptions::with_max_decompressed_size(MAX_UNPACKED)).map_err(|error| match error {
            Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => PdfError::Encrypted,
            error => PdfError::Unreadable { reason: error.to_string() },
        })?;
    if document.is_encrypted() && !document.was_encrypted() {
        return Err(PdfError::Encrypted);
    }
    let ids = document.get_pages();
    let total = ids.len();
    if total == 0 {
        return Err(PdfError::Unreadable { reason: "it has no pages".to_owned() });
    }
    if first >= total {
        return Err(PdfError::NoSuchPage { total, wanted: first + 1 });
    }
    let mut reader = PageReader::new(&document, MAX_UNPACKED);
    let (mut read, mut characters) = (Vec::new(), 0);
    for id in ids.values().skip(first).take(count) {
        if characters >= MAX_CHARS {
            break;
        }
        let page = reader.read(*id, MAX_CHARS - characters);
        characters += page.chars().count();
        read.push(page);
    }
    if read.iter().all(String::is_empty) {
        return Err(PdfError::NoText { pages: pages(first..first + read.len(), total) });
    }
    Ok(PdfPages { pages: read, first, total })
}
