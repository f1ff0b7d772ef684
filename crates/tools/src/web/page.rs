//! Conversion of a page to Markdown: the main content without navigation.

use std::{borrow::Cow, collections::HashMap};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};

/// Maximum nesting that is read: the time of the readers grows with its square, and their stack with it.
const MAX_DEPTH: usize = 300;
/// Maximum number of elements without an end tag that are parsed: the parser's time for each element grows with it.
const MAX_UNCLOSED: usize = 2_000;
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
    let mut html = Cow::Borrowed(html);
    if unclosed(&html) > MAX_UNCLOSED {
        // A script may contain many `<` that begin no element.
        html = Cow::Owned(without_scripts(&html));
    }
    let document = (unclosed(&html) <= MAX_UNCLOSED).then(|| Document::from(html.as_ref()));
    let Some(document) = document.filter(|document| !is_too_deep(document)) else {
        return Page { title: String::new(), markdown: bare(&without_scripts(&html)) };
    };
    let config = Config { text_mode: TextMode::Markdown, max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    let article = Readability::with_document(document.clone(), Some(url), Some(config)).and_then(|mut reader| reader.parse());
    if let Ok(article) = article
        && article.text_content.trim().chars().count() >= MIN_ARTICLE
    {
        return Page { title: article.title.trim().to_owned(), markdown: tidy(&article.text_content) };
    }
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

/// Returns the largest number of elements without an end tag so far, which bounds the nesting of a parser up to a small factor. `<div/>`
/// has no end tag, and an end tag of no open element ends nothing.
fn unclosed(html: &str) -> usize {
    let (mut open, mut count, mut most) = (HashMap::<String, usize>::new(), 0_usize, 0_usize);
    for tag in html.split('<').skip(1) {
        let is_end = tag.starts_with('/');
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if name.is_empty() || VOID.contains(&name.as_str()) || may_stay_open(&name) {
            continue;
        }
        let of_name = open.entry(name).or_default();
        if !is_end {
            *of_name += 1;
            count += 1;
            most = most.max(count);
        } else if *of_name > 0 {
            *of_name -= 1;
            count -= 1;
        }
    }
    most
}

/// Returns true if a document is nested too deeply for the functions that read it.
fn is_too_deep(document: &Document) -> bool {
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    false
}

/// Returns true for elements whose end tag is often omitted, and which end one another.
fn may_stay_open(name: &str) -> bool {
    matches!(name, "p" | "li" | "dt" | "dd" | "tr" | "td" | "th" | "option")
}

/// Returns HTML without scripts, style sheets, drawings and comments. This is an approximation: only its result may be examined for nesting and then
/// parsed, never the one and then the other text.
fn without_scripts(html: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        let end = end_of_script(tag);
        kept.push_str(before);
        kept.push_str(tag.get(..1).filter(|_| end.is_none()).unwrap_or_default());
        rest = tag.get(end.unwrap_or(1)..).unwrap_or_default();
    }
    kept + rest
}

/// Returns the length of the script, the style sheet, the drawing or the comment at the beginning of a text; `None` if there is none.
fn end_of_script(html: &str) -> Option<usize> {
    if html.starts_with("<!--") {
        // The shortest comment is `<!-->`.
        return Some(html.match_indices("-->").find(|(at, _)| *at >= 2).map_or(html.len(), |(at, end)| at + end.len()));
    }
    let name = ["script", "style", "svg"].into_iter().find(|name| is_tag(html, "<", name))?;
    let end = html.match_indices("</").map(|(at, _)| at).find(|at| is_tag(html.get(*at..).unwrap_or_default(), "</", name));
    let after = end.and_then(|end| Some(end + html.get(end..)?.find('>')? + 1));
    Some(after.unwrap_or(html.len()))
}

/// Returns true if a text begins with a tag of this name, in any case.
fn is_tag(html: &str, opening: &str, name: &str) -> bool {
    let Some(tag) = html.strip_prefix(opening) else { return false };
    let (found, rest) = (tag.get(..name.len()), tag.get(name.len()..).unwrap_or_default());
    found.is_some_and(|found| found.eq_ignore_ascii_case(name))
        && !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-')
}

/// Returns the text between the tags, for HTML that is nested too deeply to be parsed.
fn bare(html: &str) -> String {
    let text: Vec<&str> = html.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim())).filter(|text| !text.is_empty()).collect();
    // A text without tags has no nesting; the parser decodes its entities.
    Document::from(text.join("\n")).text().trim().to_owned()
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
        assert!(unclosed(&"<p>one<li>two<br>".repeat(1_000)) == 0);
        let rest = "<script>if (1<b) x('<i>')</script><STYLE>a<b{}</STYLE><!-- <p>no</p> --><p>a &lt; b &amp; &#233;</p>";
        assert_eq!(markdown(&format!("{html}{rest}"), "https://a.example/").markdown, "deep\na < b & é");
    }

    #[test]
    fn scripts_do_not_count_as_nesting() {
        let script = "x('<b>' + 1<y);".repeat(2_000);
        let html = format!(
            "<title>Hi</title><body><script type=a>{script}</script ><style>{script}</style><!--{script}--><h1>Hello</h1><p>World &amp; all</p>\
             <SCRIPT>{script}</SCRIPT><svg>{}</svg><scripted>end</scripted>",
            "<path d='M0 0'/>".repeat(3_000)
        );
        let page = markdown(&html, "https://a.example/");
        assert_eq!((page.title.as_str(), page.markdown.as_str()), ("Hi", "# Hello\n\nWorld & all\n\nend"));
        let table = [
            ("a<!-->b<!---->c<!--d", "abc"),
            ("a<script>b", "a"),
            ("a<script>b</scripted></script\n>c", "ac"),
            ("1 < 2 <b>é</b>", "1 < 2 <b>é</b>"),
            ("<é><", "<é><"),
        ];
        for (html, expected) in table {
            assert_eq!(without_scripts(html), expected, "{html}");
        }
    }

    /// The parser may read a tag as text, or ignore it, although the scan of tags counts it.
    #[test]
    fn nesting_does_not_hide() {
        let deep = "<div>".repeat(50_000);
        for begin in
            ["<title><script></title>", "<a title='<script>'>", "<svg><script>", "<svg><style>", "<!--><!--", "<xmp><script></xmp>"]
        {
            let html = format!("{begin}{deep}deep</script>");
            assert!(markdown(&html, "https://a.example/").markdown.len() < 100, "{begin}");
        }
        for piece in ["<div/>", "<div></x>", "<div></br>", "<div><table><tr><td></div>", "<x/>", "<b></i>", "<svg><g/></svg><x/>"] {
            for count in [1_000, 30_000] {
                let html = format!("{}deep", piece.repeat(count));
                assert_eq!(markdown(&html, "https://a.example/").markdown, "deep", "{piece}");
            }
        }
        let template = format!("{}no text", "<template><div>".repeat(900));
        assert_eq!(markdown(&template, "https://a.example/").markdown, "");
    }
}
