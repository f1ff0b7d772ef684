//! A report in pieces, for whoever shows one that still grows: what has changed is shown anew, and the rest stays.

use maud::Markup;

use super::{cost, files, outcome, plan, story, tasks};
use crate::ReportView;

/// A part of [`ReportView::fragment`] that can be shown anew by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The id of its element.
    pub id: String,
    /// The id of the list that it is an item of; none for what always stands at its place.
    pub list: Option<String>,
    /// The element. Lists in it are empty: their items are pieces of their own.
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
    /// All of [`ReportView::fragment`], in pieces and in its order; an item comes after what holds its list. An id means the same piece as long as the run lives.
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
