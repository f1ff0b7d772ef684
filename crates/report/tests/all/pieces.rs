use std::collections::HashMap;

use aime_report::{Piece, ReportView};
use dom_query::Document;

use crate::harness::Run;

/// Returns the fixed pieces with all items in their lists.
fn assembled(view: &ReportView) -> Vec<String> {
    let mut items: HashMap<String, String> = HashMap::new();
    let mut fixed = Vec::new();
    // An item comes after the piece with its list, so in reverse order each item is complete before it is inserted.
    for Piece { id, list, html } in view.pieces().into_iter().rev() {
        let mut whole = html;
        let lists: Vec<String> = items.keys().filter(|list| whole.contains(&format!(" id=\"{list}\">"))).cloned().collect();
        for list in lists {
            let open = format!(" id=\"{list}\">");
            let place = whole.find(&open).unwrap() + open.len();
            assert!(whole[place..].starts_with("</"), "the list {list} in {id} is empty");
            whole.insert_str(place, &items.remove(&list).unwrap());
        }
        match list {
            Some(list) => items.entry(list).or_default().insert_str(0, &whole),
            None => fixed.insert(0, whole),
        }
    }
    fixed
}

// Requirement: 12.20
#[test]
fn the_pieces_are_the_whole() {
    let view = Run::nightly().view(&[]);
    let fragment = view.fragment();
    let mut place = 0;
    for piece in assembled(&view) {
        let at = fragment[place..].find(&piece).unwrap_or_else(|| panic!("not so in the page: {piece}"));
        place += at + piece.len();
    }
    let pieces = view.pieces();
    let page = Document::from(fragment.as_str());
    for Piece { id, list, html } in &pieces {
        let alone = Document::from(html.as_str());
        let root = alone.select("body > *").first();
        assert_eq!(root.attr("id").as_deref(), Some(id.as_str()));
        let inside = list.as_ref().map(|list| format!("#{list} > #{id}")).unwrap_or_else(|| format!("#{id}"));
        assert_eq!(page.select(&inside).length(), 1, "{inside}");
    }
    assert!(pieces.iter().filter(|piece| piece.list.as_deref() == Some("moments")).count() > 10);
    assert!(pieces.iter().any(|piece| piece.list.as_deref() == Some("task-1-turns")));
}

// Requirement: 12.20
#[test]
fn what_has_come_is_a_piece_of_its_own() {
    let all: Vec<&str> = include_str!("../fixtures/nightly.jsonl").lines().collect();
    let pieces = |many: usize| Run::exported(&all[..many].join("\n")).view(&[]).pieces();
    for many in 20..all.len() {
        let (before, after) = (pieces(many), pieces(many + 1));
        let same = after.iter().filter(|piece| before.contains(piece)).count();
        assert!(before.iter().all(|piece| after.iter().any(|other| other.id == piece.id)), "event {many} takes nothing away");
        assert!(after.len() - same <= 20, "event {many} changes {} of {} pieces", after.len() - same, after.len());
    }
}
