//! Report in pieces, for a page that shows a growing run: it replaces only the pieces that have changed.

use maud::Markup;

use super::{cost, files, outcome, plan, story, tasks};
use crate::ReportView;

/// Part of [`ReportView::fragment`] that can be replaced separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Id of its element.
    pub id: String,
    /// Id of the list that contains it as an item; none for an element with a fixed place.
    pub list: Option<String>,
    /// HTML of the element. Lists in it are empty: their items are separate pieces.
    pub html: String,
}

impl Piece {
    pub(super) fn fixed(id: &str, html: Markup) -> Self {
        Self { id: id.to_owned(), list: None, html: html.into_string() }
    }

    pub(super) fn item(id: String, list: &str, html: Markup) -> Self {
        Self { id, list: Some(list.to_owned()), html: html.into_string() }
    }
}

impl ReportView {
    /// Returns all of [`ReportView::fragment`] in pieces, in its order; an item comes after the piece with its list. An id denotes the same
    /// piece for the whole life of the run.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = vec![
            Piece::fixed("head", outcome::header(self)),
            Piece::fixed("contents", self.sections()),
            Piece::fixed("outcome", outcome::outcome(self)),
            Piece::fixed("plan", plan::plan(self)),
            Piece::fixed("timeline", plan::timeline(self)),
        ];
        pieces.extend(tasks::pieces(self));
        pieces.extend([
            Piece::fixed("versions", plan::versions(self)),
            Piece::fixed("files", files::files(&self.files)),
            Piece::fixed("learnt", story::learnt(self)),
            Piece::fixed("cost", cost::cost(&self.spending)),
        ]);
        pieces.extend(story::pieces(self));
        pieces
    }
}
