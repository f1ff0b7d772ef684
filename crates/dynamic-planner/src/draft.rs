//! Fitting many texts into one budget of tokens.

use aime_llm::estimate_tokens;
use aime_tools::cut_output;

/// Source of every whole text that no tool of the lead can read.
const JOURNAL: &str = "the journal of the run";

/// Form of a text in the message, with the source of its omitted part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// On one line, its white space collapsed.
    Line,
    /// Quoted line by line, so that none of its lines can look like a line of the message. A note names the source of
    /// the whole text.
    Quoted {
        /// The call that reads the whole text; without one, it is in the journal.
        whole: Option<String>,
    },
}

/// Section of the message that a text belongs to. Each section may use its share of the budget and the unused shares of
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// The error, and the findings.
    News,
    /// Results of tasks.
    Results,
    /// The state of the plan.
    Plan,
}

impl Share {
    const ALL: [Self; 3] = [Self::News, Self::Results, Self::Plan];

    /// Share of the budget in percent that other sections cannot use.
    const fn percent(self) -> u64 {
        match self {
            Self::News => 35,
            Self::Results => 45,
            Self::Plan => 20,
        }
    }
}

#[derive(Debug)]
enum Piece {
    /// Never cut.
    Fixed(String),
    /// Cut if the budget requires it.
    Text { text: String, form: Form, share: Share },
}

/// A message under construction: fixed words that are never cut, and texts that are cut if the budget requires it.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pieces: Vec<Piece>,
}

impl Draft {
    /// Adds fixed words.
    pub(crate) fn fixed(&mut self, words: impl AsRef<str>) {
        match self.pieces.last_mut() {
            Some(Piece::Fixed(before)) => before.push_str(words.as_ref()),
            _ => self.pieces.push(Piece::Fixed(words.as_ref().to_owned())),
        }
    }

    /// Adds a text on the same line.
    pub(crate) fn line(&mut self, text: &str, share: Share) {
        self.pieces.push(Piece::Text { text: one_line(text), form: Form::Line, share });
    }

    /// Adds a quoted text in lines of its own.
    pub(crate) fn quoted(&mut self, text: &str, whole: Option<String>, share: Share) {
        self.pieces.push(Piece::Text { text: text.trim_end().to_owned(), form: Form::Quoted { whole }, share });
    }

    /// Adds a quoted text in lines of its own that is never cut.
    pub(crate) fn quoted_whole(&mut self, text: &str) {
        self.fixed(quote(text.trim_end()));
    }

    /// Returns the message in at most `budget` estimated tokens, if the fixed words leave room for the texts.
    pub(crate) fn into_text(self, budget: u64) -> String {
        let least: u64 = self.pieces.iter().map(Piece::least).sum();
        let room = budget.saturating_sub(least);
        let requested: Vec<(Share, u64)> = self.pieces.iter().map(|piece| (piece.share(), piece.optional_tokens())).collect();
        let granted = grants(&requested, room);
        self.pieces.iter().zip(granted).map(|(piece, granted)| piece.within(piece.least() + granted)).collect()
    }
}

impl Piece {
    const fn share(&self) -> Share {
        match self {
            Self::Fixed(_) => Share::News,
            Self::Text { share, .. } => *share,
        }
    }

    /// Returns the minimum number of tokens of the piece. For a text that is cut completely, that is the note.
    fn least(&self) -> u64 {
        match self {
            Self::Fixed(words) => estimate_tokens(words),
            Self::Text { .. } => estimate_tokens(&self.cut(0)).min(estimate_tokens(&self.whole())),
        }
    }

    /// Returns the number of tokens above the minimum that the whole piece takes.
    fn optional_tokens(&self) -> u64 {
        match self {
            Self::Fixed(_) => 0,
            Self::Text { .. } => estimate_tokens(&self.whole()).saturating_sub(self.least()),
        }
    }

    fn whole(&self) -> String {
        match self {
            Self::Fixed(words) => words.clone(),
            Self::Text { text, form: Form::Line, .. } => text.clone(),
            Self::Text { text, form: Form::Quoted { .. }, .. } => quote(text),
        }
    }

    /// Returns the text cut to about `characters` characters.
    fn cut(&self, characters: usize) -> String {
        match self {
            Self::Fixed(words) => words.clone(),
            Self::Text { text, form: Form::Line, .. } => cut_line(text, characters),
            Self::Text { text, form: Form::Quoted { whole }, .. } => {
                let place = whole.as_deref().unwrap_or(JOURNAL);
                quote(cut_output(text, characters, Some(place)).trim_matches('\n'))
            }
        }
    }

    /// Returns the text in at most `tokens` tokens, but at least its minimum.
    fn within(&self, tokens: u64) -> String {
        let whole = self.whole();
        if matches!(self, Self::Fixed(_)) || estimate_tokens(&whole) <= tokens {
            return whole;
        }
        // Searches for the longest cut that fits. Cuts end at lines, so a higher limit may give a shorter text, and any
        // text that fits will do.
        let (mut fits, mut too_long) = (0, whole.chars().count());
        while too_long - fits > 1 {
            let middle = fits + (too_long - fits) / 2;
            if estimate_tokens(&self.cut(middle)) <= tokens { fits = middle } else { too_long = middle }
        }
        self.cut(fits)
    }
}

/// Divides the room among texts. Each section gets its share or its request, whichever is smaller; the rest goes to the
/// sections in order. Within a section short texts stay whole, and the long ones get equal parts.
fn grants(requested: &[(Share, u64)], room: u64) -> Vec<u64> {
    let requested_by = |share: Share| requested.iter().filter(|(of, _)| *of == share).map(|(_, request)| request).sum::<u64>();
    let mut rooms = Share::ALL.map(|share| requested_by(share).min(room * share.percent() / 100));
    let mut left = room.saturating_sub(rooms.iter().sum());
    for (share, given) in Share::ALL.into_iter().zip(&mut rooms) {
        let more = left.min(requested_by(share) - *given);
        *given += more;
        left -= more;
    }
    let caps: Vec<(Share, u64)> = Share::ALL
        .into_iter()
        .zip(rooms)
        .map(|(share, room)| {
            let of_share: Vec<u64> = requested.iter().filter(|(of, _)| *of == share).map(|(_, request)| *request).collect();
            (share, level(of_share, room))
        })
        .collect();
    let cap = |share: Share| caps.iter().find(|(of, _)| *of == share).map_or(0, |(_, cap)| *cap);
    requested.iter().map(|(share, request)| (*request).min(cap(*share))).collect()
}

/// Returns the highest cap for which all requests, each limited to the cap, fit the room.
fn level(mut requested: Vec<u64>, mut room: u64) -> u64 {
    requested.sort_unstable();
    let mut open = requested.len() as u64;
    for request in requested {
        if request > room / open {
            return room / open;
        }
        room -= request;
        open -= 1;
    }
    u64::MAX
}

/// Returns a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first lines of a text in at most about `tokens` tokens, with a note if lines are left out.
pub(crate) fn first_lines(text: &str, tokens: u64) -> String {
    if estimate_tokens(text) <= tokens {
        return text.to_owned();
    }
    let mut room = tokens;
    let mut shown: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Some(rest) = room.checked_sub(estimate_tokens(line) + 1) else { break };
        room = rest;
        shown.push(line);
    }
    if shown.is_empty() {
        return cut_line(text, usize::try_from(tokens).unwrap_or(usize::MAX));
    }
    format!("{}\n… and {} more lines", shown.join("\n"), text.lines().count() - shown.len())
}

/// Quotes a text so that no line of it can forge the marks: each line begins with `>`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Returns the beginning of a text; an ellipsis shows that the rest was cut.
pub(crate) fn cut_line(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn room_is_divided_fairly() {
        use Share::{News, Plan, Results};
        type Row<'a> = (&'a [(Share, u64)], u64, &'a [u64]);
        let table: [Row<'_>; 6] = [
            (&[(News, 5), (Results, 5)], 100, &[5, 5]),
            (&[(Results, 90), (Results, 4)], 50, &[46, 4]),
            (&[(Results, 90), (Results, 80)], 50, &[25, 25]),
            (&[(News, 1_000), (Results, 1_000), (Plan, 1_000)], 100, &[35, 45, 20]),
            (&[(News, 10), (Results, 1_000), (Plan, 1_000)], 100, &[10, 70, 20]),
            (&[(News, 7)], 0, &[0]),
        ];
        for (requested, room, expected) in table {
            assert_eq!(grants(requested, room), expected, "{requested:?}");
        }
    }

    #[test]
    fn long_texts_give_way_and_say_so() {
        let mut draft = Draft::default();
        draft.fixed("# Head\n");
        draft.quoted("short\n\n# forged", None, Share::News);
        let rows: Vec<String> = (0..60).map(|row| format!("row {row}")).collect();
        draft.quoted(&rows.join("\n"), Some("read_result".to_owned()), Share::Results);
        let text = draft.into_text(60);
        assert!(text.starts_with("# Head\n> short\n>\n> # forged\n> row 0\n"), "{text}");
        assert!(text.contains("characters left out; the whole is in read_result]") && text.ends_with("> row 59\n"), "{text}");
    }

    #[test]
    fn the_first_lines_keep_to_their_tokens() {
        let names: Vec<String> = (1..=100).map(|number| format!("file-{number}.txt")).collect();
        let names = names.join("\n");
        assert_eq!(first_lines(&names, 10_000), names);
        let cut = first_lines(&names, 60);
        let shown = cut.lines().count() - 1;
        assert!(cut.starts_with("file-1.txt\nfile-2.txt\n") && cut.ends_with(&format!("\n… and {} more lines", 100 - shown)), "{cut}");
        assert!(shown >= 8 && estimate_tokens(&cut) <= 60 + 10, "{cut}");
        assert_eq!(first_lines("a long line of words", 3), "a l…");
    }

    proptest! {
        #[test]
        fn a_draft_keeps_to_its_budget(
            texts in prop::collection::vec(("(\\PC{0,30}\n){0,12}", any::<bool>(), 0_usize..3), 0..6),
            budget in 0_u64..400,
        ) {
            let draft = || {
                let mut draft = Draft::default();
                for (text, quoted, share) in &texts {
                    let share = Share::ALL[*share];
                    draft.fixed("- ");
                    if *quoted { draft.quoted(text, Some("there".to_owned()), share) } else { draft.line(text, share) }
                    draft.fixed("\n");
                }
                draft
            };
            let (text, least) = (draft().into_text(budget), draft().into_text(0));
            prop_assert!(estimate_tokens(&text) <= budget.max(estimate_tokens(&least)), "{budget} {text:?}");
        }
    }
}
