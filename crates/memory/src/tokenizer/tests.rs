use proptest::prelude::*;

use super::*;

#[test]
fn a_text_becomes_words_and_pairs() {
    let cases = [
        ("", ""),
        (" ,.!? ", ""),
        ("Hello, World", "hello world"),
        ("estimate_tokens", "estimate tokens"),
        ("PlanPatch of HTTPServer2", "planpatch plan patch of httpserver2 http server2"),
        ("iPhone", "iphone phone"),
        ("don't", "don t"),
        ("数据库", "数据 据库 库"),
        ("猫", "猫"),
        ("用Rust写", "用 rust 写"),
        ("部署,网站。", "部署 署 网站 站"),
        ("ＡＰＩ１２", "api12"),
        ("東京タワー", "東京 京タ タワ ワー ー"),
        ("한국어", "한국 국어 어"),
        ("Done 🦀👍🏽!", "done emoji129408 emoji128077"),
        ("cafe\u{301}", "cafe\u{301}"),
        ("v1.2-rc", "v1 2 rc"),
    ];
    for (text, expected) in cases {
        assert_eq!(indexed(text), expected, "{text}");
    }
    assert_eq!(indexed(&format!("before {} after", "x".repeat(65))), "before after");
}

#[test]
fn a_question_becomes_terms() {
    let cases = [
        ("", vec![]),
        ("the crate of the crate", vec!["\"crate\""]),
        ("where is it", vec!["\"where\"", "\"is\"", "\"it\""]),
        ("如何部署", vec!["\"何部\"", "\"部署\""]),
        ("猫", vec!["\"猫\" *"]),
        ("NEAR(a b) OR \"c* -d:e^", vec!["\"near\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""]),
        ("修复login页面", vec!["\"修复\"", "\"login\"", "\"页面\""]),
    ];
    for (question, expected) in cases {
        assert_eq!(parse_question(question).terms.iter().map(Term::expression).collect::<Vec<_>>(), expected, "{question}");
    }
    let long: String = (0..1_000).map(|number| format!("w{number} ")).collect();
    assert_eq!(parse_question(&long).terms.len(), TERMS);
}

#[test]
fn terms_cover_parts_of_the_question() {
    let covers = |question| parse_question(question).terms.into_iter().map(|term| (term.word, term.units)).collect::<Vec<_>>();
    let of = |expected: &[(&str, &[usize])]| expected.iter().map(|(term, units)| ((*term).to_owned(), units.to_vec())).collect::<Vec<_>>();
    assert_eq!(covers("the PlanPatch"), of(&[("planpatch", &[1, 2]), ("plan", &[1]), ("patch", &[2])]));
    assert_eq!(covers("部署网站"), of(&[("部署", &[0, 1]), ("署网", &[1, 2]), ("网站", &[2, 3])]));
    assert_eq!(parse_question("部署 site").units, [0.5, 0.5, 1.0]);
}

proptest! {
    #[test]
    fn a_token_is_never_syntax(question in ".*") {
        let asked = parse_question(&question);
        for term in asked.terms {
            prop_assert!(!term.units.is_empty() && term.units.iter().all(|unit| *unit < asked.units.len()));
            prop_assert!(!term.token.is_empty());
            prop_assert!(term.token.chars().all(|c| c.is_alphanumeric() || Class::of(c) == Class::Mark), "{:?}", term);
        }
        prop_assert!(!indexed(&question).contains(['"', '\0', '\n']));
    }
}
