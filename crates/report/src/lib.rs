#![doc = include_str!("../README.md")]

mod chart;
mod comparison;
mod layout;
mod page;
mod picture;
mod source;
mod text;
mod time;
mod view;

pub use comparison::{Comparison, Pair, Side, TaskSide};
pub use page::{Piece, SCRIPT, STYLE};
pub use source::{Content, Failure, FileSource, MAX_COMPARED, Source};
pub use text::Text;
pub use view::{
    Bar, Change, Criterion, DiffLine, EvidenceView, FileView, Files, Graph, Line, LineKind, Moment, Node, QuestionView, ReportView, Row,
    RunCost, Strategy, TaskView, Timeline, Turn, TurnKind, TurnView, Version,
};
