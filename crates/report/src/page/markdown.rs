//! Renders Markdown of models and people as inert HTML: none of their elements, links or pictures becomes one in the page.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html::push_html};

/// Converts Markdown to HTML. HTML elements in it appear as source text, links as their text and address.
pub(super) fn markdown(text: &str) -> Markup {
    let mut shown = String::with_capacity(text.len() * 5 / 4);
    let mut links: Vec<(String, String)> = Vec::new();
    let harmless = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).flat_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => vec![Event::Text(html)],
        Event::Text(words) => {
            if let Some((_, shown)) = links.last_mut() {
                shown.push_str(&words);
            }
            vec![Event::Text(words)]
        }
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            links.push((dest_url.into_string(), String::new()));
            vec![]
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let link = links.pop().filter(|(address, shown)| !address.is_empty() && address != shown);
            link.map(|(address, _)| Event::Text(format!(" ({address})").into())).into_iter().collect()
        }
        Event::Start(Tag::HtmlBlock) => vec![Event::Start(Tag::Paragraph)],
        Event::End(TagEnd::HtmlBlock) => vec![Event::End(TagEnd::Paragraph)],
        // An alignment would need an inline style, which the content security policy forbids.
        Event::Start(Tag::Table(columns)) => {
            vec![Event::Start(Tag::Table(columns.iter().map(|_| pulldown_cmark::Alignment::None).collect()))]
        }
        Event::Start(Tag::Heading { level, .. }) => {
            vec![Event::Start(Tag::Heading { level: lower(level), id: None, classes: Vec::new(), attrs: Vec::new() })]
        }
        Event::End(TagEnd::Heading(level)) => vec![Event::End(TagEnd::Heading(lower(level)))],
        other => vec![other],
    });
    push_html(&mut shown, harmless);
    PreEscaped(shown)
}

/// Lowers a heading below those of the page.
const fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H4,
        HeadingLevel::H2 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 7.22
    #[test]
    fn nothing_in_it_can_act() {
        for (text, html) in [
            ("# A\n\n*b* `c`", "<h4>A</h4>\n<p><em>b</em> <code>c</code></p>\n"),
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n"),
            ("[go](javascript:alert(1))", "<p>go (javascript:alert(1))</p>\n"),
            ("![see](http://x.test/p.png)", "<p>see (http://x.test/p.png)</p>\n"),
            ("<http://x.test/>", "<p>http://x.test/</p>\n"),
            ("[a]: javascript:x\n\n[a]", "<p>a (javascript:x)</p>\n"),
        ] {
            assert_eq!(markdown(text).into_string(), html, "{text:?}");
        }
        let table = markdown("|a|b|\n|:-:|-:|\n|1|2|\n").into_string();
        assert!(table.contains("<td>1</td>") && !table.contains("style"), "{table}");
    }
}
