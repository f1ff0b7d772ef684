//! Differences between a page as last shown and as it is now. Pure.

use std::collections::HashMap;

use aime_report::Piece;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Pieces that a page shows, each as a hash for comparison.
#[derive(Default)]
pub(crate) struct PageHashes(HashMap<String, [u8; 32]>);

/// Update of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    /// Id of the element.
    pub(crate) id: String,
    /// New content of the element; none if it is removed.
    pub(crate) html: Option<String>,
    /// Id of the list that contains it.
    pub(crate) list: Option<String>,
    /// Id of the list item before it; none for the first item.
    pub(crate) after: Option<String>,
}

impl PageHashes {
    /// Creates the state of a page that shows these pieces.
    pub(crate) fn of(pieces: &[Piece]) -> Self {
        Self(pieces.iter().map(|piece| (piece.id.clone(), print(&piece.html))).collect())
    }

    /// Replaces the shown pieces. Returns the differences: first the removals, then the others in the order of the page.
    pub(crate) fn renew(&mut self, pieces: Vec<Piece>) -> Vec<Change> {
        let now = Self::of(&pieces);
        let gone = |id: &&String| !now.0.contains_key(*id);
        let mut changes: Vec<Change> =
            self.0.keys().filter(gone).map(|id| Change { id: id.clone(), html: None, list: None, after: None }).collect();
        changes.sort_by(|one, other| one.id.cmp(&other.id));
        let mut last: HashMap<String, String> = HashMap::new();
        for Piece { id, list, html } in pieces {
            let after = list.as_ref().and_then(|list| last.insert(list.clone(), id.clone()));
            if self.0.get(&id) != now.0.get(&id) {
                changes.push(Change { id, html: Some(html), list, after });
            }
        }
        *self = now;
        changes
    }
}

fn print(html: &str) -> [u8; 32] {
    Sha256::digest(html).into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Page as a browser has it: fixed elements, and lists of items.
    #[derive(Debug, Clone, Default, PartialEq)]
    struct Page {
        fixed: HashMap<String, String>,
        lists: HashMap<String, Vec<(String, String)>>,
    }

    impl Page {
        fn of(pieces: &[Piece]) -> Self {
            let mut page = Self::default();
            for Piece { id, list, html } in pieces {
                match list {
                    Some(list) => page.lists.entry(list.clone()).or_default().push((id.clone(), html.clone())),
                    None => drop(page.fixed.insert(id.clone(), html.clone())),
                }
            }
            page
        }

        /// Applies a change as the script does.
        fn apply(&mut self, change: Change) {
            let Change { id, html, list, after } = change;
            let Some(html) = html else {
                self.fixed.remove(&id);
                self.lists.values_mut().for_each(|items| items.retain(|(item, _)| *item != id));
                self.lists.retain(|_, items| !items.is_empty());
                return;
            };
            let Some(list) = list else { return drop(self.fixed.insert(id, html)) };
            let items = self.lists.entry(list).or_default();
            match items.iter_mut().find(|(item, _)| *item == id) {
                Some(item) => item.1 = html,
                None => {
                    let place = items.iter().position(|(item, _)| Some(item) == after.as_ref()).map_or(0, |at| at + 1);
                    items.insert(place, (id, html));
                }
            }
        }
    }

    fn pieces() -> impl Strategy<Value = Vec<Piece>> {
        let item = (0..2_u8, 0..12_u8, 0..3_u8).prop_map(|(list, id, html)| Piece {
            id: format!("{list}-{id:02}"),
            list: (list > 0).then(|| format!("list-{list}")),
            html: html.to_string(),
        });
        // Items keep their order, as they do in a page.
        proptest::collection::vec(item, 0..20).prop_map(|mut pieces| {
            pieces.sort_by(|one, other| one.id.cmp(&other.id));
            pieces.dedup_by(|one, other| one.id == other.id);
            pieces
        })
    }

    proptest! {
        // Requirement: 12.20
        #[test]
        fn what_differs_makes_of_one_page_the_other(before in pieces(), after in pieces()) {
            let mut shown = PageHashes::of(&before);
            let mut page = Page::of(&before);
            let changes = shown.renew(after.clone());
            let same: HashSet<&str> = before.iter().filter(|piece| after.contains(piece)).map(|piece| piece.id.as_str()).collect();
            prop_assert!(changes.iter().all(|change| !same.contains(change.id.as_str())), "what is the same is not sent");
            changes.into_iter().for_each(|change| page.apply(change));
            prop_assert_eq!(page, Page::of(&after));
            prop_assert!(shown.renew(after).is_empty());
        }
    }
}
