use lopdf::{Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream, dictionary};

use super::{MAX_BYTES, PdfError, PdfPages, read_pages};

/// Returns a document whose pages have these contents, in Helvetica as `/F`.
fn document(contents: &[&str]) -> Document {
    let mut document = Document::with_version("1.5");
    let parent = document.new_object_id();
    let font = document
        .add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding" });
    let pages: Vec<Object> = contents
        .iter()
        .map(|content| {
            let content = document.add_object(Stream::new(Dictionary::new(), content.as_bytes().to_vec()));
            let page = dictionary! {
                "Type" => "Page", "Parent" => parent, "Contents" => content,
                "Resources" => dictionary! { "Font" => dictionary! { "F" => font } },
            };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(pages.len()).unwrap();
    document.objects.insert(parent, dictionary! { "Type" => "Pages", "Kids" => pages, "Count" => count }.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    document.trailer.set("Root", catalog);
    document.trailer.set("ID", Object::Array(vec![Object::string_literal("id"), Object::string_literal("id")]));
    document
}

/// Returns the bytes of such a document.
pub(crate) fn document_bytes(contents: &[&str]) -> Vec<u8> {
    bytes(document(contents))
}

fn bytes(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn page(text: &str) -> String {
    format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET")
}

#[test]
fn positions_make_words_lines_and_paragraphs() {
    let table = [
        ("BT /F 10 Tf 72 700 Td (one line) Tj 0 -12 Td (the next) Tj ET", "one line\nthe next"),
        ("BT /F 10 Tf 14 TL 72 700 Td (a) Tj T* (b) Tj (c) ' ET", "a\nb\nc"),
        ("BT /F 10 Tf 72 700 Td (head) Tj 0 -40 Td (body) Tj ET", "head\n\nbody"),
        ("BT /F 10 Tf 72 700 Td [(ker) -20 (ned) -300 (words)] TJ ET", "kerned words"),
        ("BT /F 10 Tf 1 0 0 1 72 700 Tm (left) Tj 1 0 0 1 300 700 Tm (right) Tj ET", "left right"),
        ("q 0 1 -1 0 0 0 cm BT /F 10 Tf 72 -700 Td (up) Tj 0 -12 Td (wards) Tj ET Q", "up\nwards"),
        ("BT /F 10 Tf 72 700 Td (caf\\351) Tj ET", "café"),
        ("BT 72 700 Td (no font) Tj /F 10 Tf (font) Tj ET", "font"),
    ];
    for (content, expected) in table {
        let read = read_pages(&bytes(document(&[content])), 0, 1).unwrap();
        assert_eq!(read.pages, [expected], "{content}");
    }
}

// Requirement: 8.34
#[test]
fn pages_are_read_from_where_they_are_wanted() {
    let document = bytes(document(&[&page("first"), "", &page("third")]));
    let read = read_pages(&document, 1, 5).unwrap();
    assert_eq!(read, PdfPages { pages: vec![String::new(), "third".to_owned()], first: 1, total: 3 });
    assert_eq!(read.render(None, |_| String::new()), "[page 2 of 3]\n[no text on this page]\n\n[page 3 of 3]\nthird");
    let next = |page: usize| format!("go on with offset {page}");
    let read = read_pages(&document, 0, 1).unwrap();
    assert_eq!(read.render(None, next), "[page 1 of 3]\nfirst\n\n[pages 2 to 3 of 3 left out; go on with offset 2]");
    let read = read_pages(&document, 0, 3).unwrap();
    assert_eq!(
        read.render(Some(60), next),
        "[page 1 of 3]\nfirst\n\n[page 2 of 3]\n[no text on this page]\n\n[page 3 of 3 left out; go on with offset 3]"
    );
    assert_eq!(
        read.render(Some(16), next),
        "[page 1 of 3]\nfi\n[page 1 has 5 characters; its end is left out]\n\n[pages 2 to 3 of 3 left out; go on with offset 2]"
    );
}

#[test]
fn a_document_without_text_says_why() {
    let scanned = bytes(document(&["", ""]));
    assert_eq!(read_pages(&scanned, 0, 9), Err(PdfError::NoText { pages: "pages 1 to 2 of 2".to_owned() }));
    assert_eq!(read_pages(&scanned, 2, 9), Err(PdfError::NoSuchPage { total: 2, wanted: 3 }));
    assert!(matches!(read_pages(b"%PDF-1.7 and no more", 0, 9), Err(PdfError::Unreadable { .. })));
    assert_eq!(read_pages(&vec![0; MAX_BYTES + 1], 0, 9), Err(PdfError::TooLarge { size: MAX_BYTES + 1 }));
}

#[test]
fn an_encrypted_document_needs_its_password() {
    for (password, expected) in [("secret", Err(PdfError::Encrypted)), ("", Ok(vec!["hidden".to_owned()]))] {
        let mut document = document(&[&page("hidden")]);
        let version = EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password: password,
            key_length: 128,
            permissions: Permissions::all(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        assert_eq!(read_pages(&bytes(document), 0, 1).map(|read| read.pages), expected, "{password:?}");
    }
}

#[test]
fn a_form_that_draws_itself_ends() {
    let mut document = document(&["/X Do"]);
    let font =
        document.objects.iter().find(|(_, object)| object.as_dict().is_ok_and(|dict| dict.has_type(b"Font"))).map(|(id, _)| *id).unwrap();
    let id = document.new_object_id();
    let resources = dictionary! { "Font" => dictionary! { "F" => font }, "XObject" => dictionary! { "X" => id } };
    let form = Stream::new(
        dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => resources.clone() },
        b"BT /F 10 Tf (in a form) Tj ET /X Do /X Do /X Do /X Do".to_vec(),
    );
    document.objects.insert(id, form.into());
    for object in document.objects.values_mut() {
        if let Ok(dictionary) = object.as_dict_mut().map_err(|_| ())
            && dictionary.has_type(b"Page")
        {
            dictionary.set("Resources", resources.clone());
        }
    }
    let read = read_pages(&bytes(document), 0, 1).unwrap();
    assert!(read.pages.concat().starts_with("in a form"));
}

#[test]
fn a_stream_that_unpacks_to_too_much_is_left_out() {
    let mut bomb = document(&["", &page("small")]);
    let first = *bomb.get_pages().get(&1).unwrap();
    let content = bomb.get_page_contents(first)[0];
    let mut stream = Stream::new(Dictionary::new(), vec![b' '; 64 * 1024 * 1024]);
    stream.compress().unwrap();
    bomb.objects.insert(content, stream.into());
    assert_eq!(read_pages(&bytes(bomb), 0, 9).unwrap().pages, ["", "small"]);
}

#[test]
fn damaged_documents_never_panic() {
    let whole = bytes(document(&[&page("first"), &page("second")]));
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = damaged[at].wrapping_add(7);
        drop(read_pages(&damaged, 0, 9));
        drop(read_pages(&whole[..at], 0, 9));
    }
}
