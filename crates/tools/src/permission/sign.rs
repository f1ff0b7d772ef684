//! Texts with unknown parts, and patterns for them.

/// One sign of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A character.
    Char(char),
    /// Boundary between two words.
    Gap,
    /// Any text, also empty or of several words: the value of a variable, the output of a command.
    Any,
    /// Any text within one name: `*` and `?` of a shell.
    Glob,
}

impl Sign {
    const fn is_unknown(self) -> bool {
        matches!(self, Self::Any | Self::Glob)
    }

    /// Returns true if the sign is unknown and may contain this piece.
    const fn may_be(self, piece: Piece) -> bool {
        match self {
            Self::Any => true,
            Self::Glob => !matches!(piece, Piece::Char('/') | Piece::Gap),
            Self::Char(_) | Self::Gap => false,
        }
    }
}

/// Converts a completely known text.
pub(super) fn known_signs(text: &str) -> Vec<Sign> {
    text.chars().map(Sign::Char).collect()
}

/// Returns the text if it is completely known.
pub(super) fn text_of(signs: &[Sign]) -> Option<String> {
    signs.iter().map(|sign| if let Sign::Char(character) = sign { Some(*character) } else { None }).collect()
}

/// One piece of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// This character.
    Char(char),
    /// Boundary between two words.
    Gap,
    /// One character except `/`.
    One,
    /// Any text within one name of a path.
    InName,
    /// Any text.
    Star,
}

impl Piece {
    /// Returns true if the piece accepts this sign and may accept more.
    const fn takes(self, sign: Sign) -> bool {
        match self {
            Self::Star => true,
            Self::InName => !matches!(sign, Sign::Char('/') | Sign::Gap | Sign::Any),
            Self::Char(_) | Self::Gap | Self::One => false,
        }
    }

    const fn repeats(self) -> bool {
        matches!(self, Self::Star | Self::InName)
    }

    fn is(self, sign: Sign) -> bool {
        match (self, sign) {
            (Self::Char(wanted), Sign::Char(found)) => wanted == found,
            (Self::One, Sign::Char(found)) => found != '/',
            (Self::Gap, Sign::Gap) => true,
            _ => false,
        }
    }
}

/// Result of matching a rule against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchCertainty {
    /// No match.
    Never,
    /// The match depends on parts that are unknown before the call runs.
    Possible,
    /// Certain match.
    Certain,
}

/// Matches a pattern against a text, for all possible values of its unknown parts.
pub(super) fn fit(pattern: &[Piece], text: &[Sign]) -> MatchCertainty {
    if matches_all_or_some(pattern, text, true) {
        MatchCertainty::Certain
    } else if text.iter().any(|sign| sign.is_unknown()) && matches_all_or_some(pattern, text, false) {
        MatchCertainty::Possible
    } else {
        MatchCertainty::Never
    }
}

/// Returns true if the pattern matches the text: with `certain` for every value of the unknown parts, otherwise for some value. Computes one
/// row of a table per piece, so the time is bounded by the product of both lengths.
fn matches_all_or_some(pattern: &[Piece], text: &[Sign], certain: bool) -> bool {
    let mut above: Vec<bool> = Vec::new();
    for row in 0..=pattern.len() {
        let (before, here) = (row.checked_sub(1).and_then(|row| pattern.get(row)), pattern.get(row));
        let mut reached: Vec<bool> = Vec::with_capacity(text.len() + 1);
        for column in 0..=text.len() {
            let (last, next) = (column.checked_sub(1).and_then(|column| text.get(column)), text.get(column));
            let from_above = above.get(column).copied().unwrap_or(false);
            let from_left = reached.last().copied().unwrap_or(false);
            let from_corner = column.checked_sub(1).and_then(|column| above.get(column)).copied().unwrap_or(false);
            let start = row == 0 && column == 0;
            let empty = from_above && before.is_some_and(|piece| piece.repeats());
            let stands_for = !certain && from_above && before.zip(next).is_some_and(|(piece, sign)| sign.may_be(*piece));
            let nothing = !certain && from_left && last.is_some_and(|sign| sign.is_unknown());
            let taken = from_left && here.zip(last).is_some_and(|(piece, sign)| piece.takes(*sign));
            let same = from_corner && before.zip(last).is_some_and(|(piece, sign)| piece.is(*sign));
            reached.push(start || empty || stands_for || nothing || taken || same);
        }
        above = reached;
    }
    above.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        text.chars()
            .map(|character| match character {
                '*' => Piece::Star,
                '+' => Piece::InName,
                '?' => Piece::One,
                '_' => Piece::Gap,
                other => Piece::Char(other),
            })
            .collect()
    }

    fn signs(text: &str) -> Vec<Sign> {
        text.chars()
            .map(|character| match character {
                '$' => Sign::Any,
                '*' => Sign::Glob,
                '_' => Sign::Gap,
                other => Sign::Char(other),
            })
            .collect()
    }

    #[test]
    fn patterns_hold_what_is_known_and_know_what_is_not() {
        let table = [
            ("", "", MatchCertainty::Certain),
            ("a", "a", MatchCertainty::Certain),
            ("a", "b", MatchCertainty::Never),
            ("a*", "a", MatchCertainty::Certain),
            ("a*", "abc_d", MatchCertainty::Certain),
            ("*c", "abc", MatchCertainty::Certain),
            ("*c*d", "abcd", MatchCertainty::Certain),
            ("a?c", "abc", MatchCertainty::Certain),
            ("a?c", "a/c", MatchCertainty::Never),
            ("+.md", "x.md", MatchCertainty::Certain),
            ("+.md", "a/x.md", MatchCertainty::Never),
            ("*.md", "a/x.md", MatchCertainty::Certain),
            ("rm_*", "rm_$", MatchCertainty::Certain),
            ("rm_*", "$_x", MatchCertainty::Possible),
            ("rm_*", "r$_x", MatchCertainty::Possible),
            ("rm_*", "g$", MatchCertainty::Never),
            ("rm", "$", MatchCertainty::Possible),
            ("*", "$", MatchCertainty::Certain),
            ("+", "*", MatchCertainty::Certain),
            ("+", "$", MatchCertainty::Possible),
            (".env", ".*", MatchCertainty::Possible),
            (".env", "*.rs", MatchCertainty::Never),
            (".env/*", "*.rs", MatchCertainty::Never),
            ("a/b", "*", MatchCertainty::Never),
            ("a/b", "$", MatchCertainty::Possible),
            ("git_log_*", "git_log_--stat_$", MatchCertainty::Certain),
            ("git_log_*", "git_$_--stat", MatchCertainty::Possible),
            ("a", "_", MatchCertainty::Never),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(fit(&pieces(pattern), &signs(text)), expected, "{pattern} {text}");
        }
    }

    /// Reference implementation by backtracking.
    fn slow(pattern: &[Piece], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([piece, rest @ ..], _) if piece.repeats() => {
                slow(rest, text) || text.split_first().is_some_and(|(first, left)| piece.takes(Sign::Char(*first)) && slow(pattern, left))
            }
            ([piece, rest @ ..], [first, left @ ..]) => piece.is(Sign::Char(*first)) && slow(rest, left),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn what_is_known_is_held_as_by_trying(pattern in "[ab/?*+]{0,6}", text in "[ab/]{0,7}") {
            let held = slow(&pieces(&pattern), &text.chars().collect::<Vec<_>>());
            prop_assert_eq!(fit(&pieces(&pattern), &known_signs(&text)), if held { MatchCertainty::Certain } else { MatchCertainty::Never });
        }

        #[test]
        fn what_is_unknown_may_be_anything(pattern in "[ab/?*+]{0,5}", text in "[ab$*/]{0,5}", any in "[ab/]{0,3}", name in "[ab]{0,3}") {
            let filled = text.replace('*', &name).replace('$', &any);
            let of_filled = fit(&pieces(&pattern), &known_signs(&filled));
            match fit(&pieces(&pattern), &signs(&text)) {
                MatchCertainty::Certain => prop_assert_eq!(of_filled, MatchCertainty::Certain, "{}", filled),
                MatchCertainty::Never => prop_assert_eq!(of_filled, MatchCertainty::Never, "{}", filled),
                MatchCertainty::Possible => {}
            }
        }
    }
}
