use proptest::prelude::*;

use super::*;

/// `line heading | text` of each piece.
fn pieces(text: &str, markdown: bool, limit: u64) -> Vec<String> {
    split(text, markdown, limit).into_iter().map(|piece| format!("{} {} | {}", piece.line, piece.heading, piece.text)).collect()
}

#[test]
fn a_document_is_cut_at_its_headings() {
    let cases: [(&str, &[&str]); 10] = [
        ("", &[]),
        ("\n\n  \n", &[]),
        ("no heading\n\nat all", &["1  | no heading\n\nat all"]),
        ("# One\nfirst\n## Two\nsecond\n# Three\nthird", &["2 One | first", "4 One › Two | second", "6 Three | third"]),
        ("# One #\n\n### Deep\ntext\n## Less\ntext", &["4 One › Deep | text", "6 One › Less | text"]),
        ("Title\n=====\ntext\n\nSub\n---\nmore\n\n---\nrule", &["3 Title | text", "7 Title › Sub | more\n\n---\nrule"]),
        ("# A\n```sh\n# no heading\n\n## none\n```\nafter", &["2 A | ```sh\n# no heading\n\n## none\n```\nafter"]),
        ("---\ntitle: x\n---\n# A\ntext", &["1  | ---\ntitle: x\n---", "5 A | text"]),
        ("# 安装\n## 前提\n需要 Rust。\n## 步骤\n运行。", &["3 安装 › 前提 | 需要 Rust。", "5 安装 › 步骤 | 运行。"]),
        ("# A\n## B\n## C\n#hashtag\n# D", &["2 A › B | B", "4 A › C | #hashtag", "5 D | D"]),
    ];
    for (text, expected) in cases {
        assert_eq!(pieces(text, true, 50), expected, "{text}");
    }
}

#[test]
fn other_documents_have_no_headings() {
    assert_eq!(pieces("# comment\nfn a() {}\n\n    indented()\n", false, 50), ["1  | # comment\nfn a() {}\n\n    indented()"]);
}

#[test]
fn long_sections_are_cut_between_paragraphs_and_long_paragraphs_between_sentences() {
    let words = |count: usize| vec!["word"; count].join(" ");
    let (short, long) = (words(20), format!("{}. {}. {}.", words(30), words(30), words(30)));
    let text = format!("# T\n{short}\n\n{short}\n\n{short}\n\n{long}\n");
    let pieces = split(&text, true, 60);
    let lines: Vec<_> = pieces.iter().map(|piece| piece.line).collect();
    assert_eq!(lines, [2, 6, 8, 8, 8]);
    assert_eq!(pieces[0].text, format!("{short}\n\n{short}"));
    assert_eq!(pieces[1].text, short);
    assert_eq!(pieces[2].text, format!("{}.", words(30)));
    assert!(pieces.iter().all(|piece| piece.heading == "T"));
}

#[test]
fn a_fence_that_is_never_closed_is_still_cut() {
    let text = format!("# A\n```\n{}", "line of code\n".repeat(100));
    let pieces = split(&text, true, 60);
    assert!(pieces.len() > 4);
    assert!(pieces.iter().all(|piece| estimate_tokens(&piece.text) <= 60));
    assert_eq!(pieces[1].line, 2 + pieces[0].text.lines().count());
}

#[test]
fn a_heading_that_is_too_long_is_cut_and_kept_whole() {
    let title = "一二三四五六七八九十".repeat(13);
    for text in [format!("# {title}"), format!("# {title}\nbelow")] {
        let pieces = split(&text, true, 50);
        assert!(pieces.iter().all(|piece| estimate_tokens(&piece.text) <= 50), "{pieces:?}");
        let texts: String = pieces.iter().filter(|piece| piece.line == 1).map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, title);
    }
}

proptest! {
    /// For any document, each piece fits the limit and is at its stated place, and only white space and headings are
    /// lost.
    #[test]
    fn nothing_is_lost(text in "([#`~=-]{1,4} ?|[a-z一-龥🦀 ]{0,40}|\n{1,3}|\r\n){0,60}", markdown: bool, limit in 50_u64..200) {
        let pieces = split(&text, markdown, limit);
        let lines: Vec<&str> = text.split('\n').collect();
        let mut after = 0;
        for piece in &pieces {
            prop_assert!(estimate_tokens(&piece.text) <= limit);
            let first = piece.text.lines().next().unwrap_or_default().trim();
            prop_assert!(lines[piece.line - 1].contains(first), "{piece:?}");
            if !markdown {
                let at = text[after..].find(&piece.text);
                prop_assert!(at.is_some_and(|at| text[after..after + at].trim().is_empty()), "{piece:?}");
                after += at.unwrap_or_default() + piece.text.len();
            }
        }
        if !markdown {
            prop_assert!(text[after..].trim().is_empty());
        }
        let kept: String = pieces.iter().flat_map(|piece| [piece.text.as_str(), piece.heading.as_str()]).collect();
        for word in text.split(|c: char| !c.is_alphabetic()) {
            prop_assert!(word.chars().count() > 30 || kept.contains(word), "{word} of {text:?}");
        }
    }
}
