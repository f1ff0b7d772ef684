use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::harness::{Run, attributes};

// Requirement: 7.21
#[test]
fn it_can_be_read_by_ear_and_by_keyboard() {
    let page = Run::nightly().page();
    assert_eq!(attributes(&page, "html", "lang"), ["en"]);
    for landmark in ["body > header", "nav[aria-label]", "main", "body > footer", "h1", "a.skip[href='#outcome']", "label[for=words]"] {
        assert_eq!(page.select(landmark).length(), 1, "{landmark}");
    }
    let headings: Vec<String> = page.select("main > section > h2").iter().map(|heading| heading.text().to_string()).collect();
    let sections = ["Outcome", "Plan", "Timeline", "Tasks", "Versions of the plan", "Files", "Evidence and questions", "Cost", "Story"];
    assert_eq!(headings, sections);
    assert_eq!(page.select("main > section[aria-labelledby]").length(), sections.len());
    let label = &attributes(&page, "#plan svg", "aria-label")[0];
    assert!(label.contains("12 tasks and 16 lines"), "the picture is told in words: {label}");
    assert_eq!(page.select("#plan svg a.node[aria-label]").length(), 12);
    assert_eq!(page.select("[role=region]:not([tabindex='0'])").length(), 0, "what scrolls can be reached");
    assert_eq!(page.select(".cost th:not([scope])").length(), 0);
    assert!(page.select("#plan .node.done .state").first().text().contains("✓ completed"), "colour alone tells not everybody");
    assert_eq!(page.select("#search[hidden]").length(), 1, "without a script nothing is offered that it would do");
}

#[test]
fn what_it_links_to_is_in_it() {
    let page = Run::nightly().page();
    let all = attributes(&page, "[id]", "id");
    let ids: HashSet<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(ids.len(), all.len(), "each id is there once");
    let links = attributes(&page, "a", "href");
    assert!(links.len() > 20);
    for link in &links {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(id)), "{link}");
    }
    for named in attributes(&page, "[aria-labelledby]", "aria-labelledby") {
        assert!(ids.contains(named.as_str()), "{named}");
    }
}

// Requirement: 7.22
#[test]
fn nothing_runs_but_its_own_and_nothing_is_loaded() {
    let page = Run::nightly().page();
    let policy = attributes(&page, "meta[http-equiv='Content-Security-Policy']", "content").remove(0);
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    for kind in ["style", "script"] {
        assert_eq!(page.select(kind).length(), 1);
        let hash = STANDARD.encode(Sha256::digest(page.select(kind).text().as_bytes()));
        assert!(policy.contains(&format!("{kind}-src 'sha256-{hash}'")), "{kind}");
    }
    assert_eq!(page.select("[src], [style], iframe, object, embed, img, form, base").length(), 0);
    assert_eq!(attributes(&page, "link", "href"), ["data:,"]);
}

#[test]
fn a_search_goes_through_all_that_was_said() {
    let page = Run::nightly().page();
    // The plan and the timeline are pictures; the tasks contain the same information as text.
    for section in ["outcome", "tasks", "versions", "files", "learnt", "story"] {
        assert_ne!(page.select(&format!("#{section} [data-item]")).length(), 0, "{section}");
    }
    page.select("#outcome [data-item]").remove();
    assert_eq!(page.select("#outcome").text().trim(), "Outcome");
}

#[test]
fn the_critical_path_is_marked_on_the_timeline() {
    let page = Run::nightly().page();
    let marked = page.select("#timeline svg text").iter().filter(|label| label.text().contains('◆')).count();
    assert!(marked > 1 && page.select("#timeline .critical").length() >= marked, "{marked} rows are marked");
}
