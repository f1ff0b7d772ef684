//! Conversion of a page to Markdown: the main content without navigation.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};

/// Maximum nesting that is parsed: the parsers' time grows with its square, and their stack with it.
const MAX_DEPTH: usize = 300;
/// Maximum number of elements in which an article is searched.
const MAX_ELEMENTS: usize = 100_000;
/// Minimum characters of an article. A shorter one may have missed the content, so the whole page is used.
const MIN_ARTICLE: usize = 250;
/// Elements that never contain text to read.
const NOT_TEXT: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "nav", "head", "form"];
/// Elements without an end tag.
const VOID: [&str; 14] = ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// Content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) markdown: String,
}

/// Converts HTML to Markdown. Takes time, so it must not run on an async thread.
pub(super) fn markdown(html: &str, url: &str) -> Page {
    if nesting(html) > MAX_DEPTH {
        return Page { title: String::new(), markdown: bare(html) };
    }
    let config = Config { text_mode: TextMode::Markdown, max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    let article = Readability::new(html, Some(url), Some(config)).and_then(|mut reader| reader.parse());
    if let Ok(article) = article
        && article.text_content.trim().chars().count() >= MIN_ARTICLE
    {
        return Page { title: article.title.trim().to_owned(), markdown: tidy(&article.text_content) };
    }
    let document = Document::from(html);
    let title = document.select("title").text().trim().to_owned();
    Page { title, markdown: tidy(&document.md(Some(&NOT_TEXT))) }
}

/// Removes repeated empty lines.
fn tidy(markdown: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in markdown.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Returns an upper bound of the nesting of elements; omitted end tags make it too high.
fn nesting(html: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for tag in html.split('<').skip(1) {
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let head = tag.split('>').next().unwrap_or_default();
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if !name.is_empty() && !head.ends_with('/') && !VOID.contains(&name.to_lowercase().as_str()) && !may_stay_open(&name) {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

/// Returns true for elements whose end tag is often omitted, and which end one another.
fn may_stay_open(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "p" | "li" | "dt" | "dd" | "tr" | "td" | "th" | "option")
}

/// Returns the text between the tags, for HTML that is nested too deeply to be parsed.
fn bare(html: &str) -> String {
    let text: Vec<&str> = html.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim())).filter(|text| !text.is_empty()).collect();
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_is_read_without_what_stands_around_it() {
        let long = "It is a fact that the tides are made by the moon, and that the sun has a part in it. ".repeat(8);
        let html = format!(
            "<html><head><title>Tides - A Site</title><script>evil()</script></head><body><nav><a href=/a>Home</a><a href=/b>Shop</a></nav>\
             <article><h1>Tides</h1><p>{long}</p><h2>When</h2><ul><li>at <b>noon</b></li><li>at <a href=\"/night\">night</a></li></ul>\
             <pre><code>let tide = 1;</code></pre><table><tr><th>Day</th><th>Metres</th></tr><tr><td>one</td><td>3</td></tr></table><p>{long}</p></article>\
             <footer>All rights reserved</footer></body></html>"
        );
        let page = markdown(&html, "https://a.example/tides");
        assert!(page.title.starts_with("Tides"), "{page:?}");
        for part in ["## When", "- at **noon**", "[night](https://a.example/night)", "let tide = 1;", "| one | 3 |", "made by the moon"] {
            assert!(page.markdown.contains(part), "{part}: {}", page.markdown);
        }
        for part in ["evil", "Shop", "<p>"] {
            assert!(!page.markdown.contains(part), "{part}: {}", page.markdown);
        }
    }

    #[test]
    fn a_short_page_is_given_whole() {
        let page = markdown("<title>Hi</title><body><h1>Hello</h1><p>World &amp; all</p><script>x()</script>", "https://a.example/");
        assert_eq!((page.title.as_str(), page.markdown.as_str()), ("Hi", "# Hello\n\nWorld & all"));
    }

    #[test]
    fn what_is_nested_beyond_reason_is_read_bare() {
        let html = format!("{}deep{}", "<div>".repeat(50_000), "</div>".repeat(50_000));
        assert_eq!(markdown(&html, "https://a.example/").markdown, "deep");
        // Omitted end tags are not nesting.
        assert!(nesting(&"<p>one<li>two<br>".repeat(1_000)) == 0);
    }
}
