//! How a run is shown, by what was asked for and by what is there.

use crate::args::Output;

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing.
    Quiet,
    /// A line for each thing that happens.
    Lines,
    /// The plan as a checklist that moves, below what happened.
    Checklist,
    /// The whole terminal, with keys.
    Whole,
    /// Each event as JSON on standard output.
    Events,
}

/// What is there to see and to be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// `--plain`, or the setting.
    pub(crate) plain: bool,
    /// A log is written, by `-v`.
    pub(crate) logs: bool,
    /// Standard error is a terminal that can move its cursor.
    pub(crate) watched: bool,
    /// Standard output is a terminal too: no other program reads it, or draws there.
    pub(crate) alone: bool,
    /// Somebody is there who can type.
    pub(crate) attended: bool,
}

impl Form {
    /// The form for an output. A log, or a terminal that cannot go back, leaves no place for what moves.
    pub(crate) const fn of(output: Output, sight: Sight) -> Self {
        match output {
            Output::Jsonl => Self::Events,
            _ if sight.quiet => Self::Quiet,
            Output::Text if sight.watched && !sight.plain && !sight.logs => {
                if sight.attended && sight.alone {
                    Self::Whole
                } else {
                    Self::Checklist
                }
            }
            Output::Text | Output::Json => Self::Lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 12.16
    #[test]
    fn the_whole_terminal_is_taken_where_somebody_sees_it_and_can_type() {
        let all = Sight { quiet: false, plain: false, logs: false, watched: true, alone: true, attended: true };
        for (output, sight, form) in [
            (Output::Text, all, Form::Whole),
            (Output::Text, Sight { attended: false, ..all }, Form::Checklist),
            (Output::Text, Sight { alone: false, ..all }, Form::Checklist),
            (Output::Text, Sight { watched: false, ..all }, Form::Lines),
            (Output::Text, Sight { plain: true, ..all }, Form::Lines),
            (Output::Text, Sight { plain: true, attended: false, ..all }, Form::Lines),
            (Output::Text, Sight { logs: true, ..all }, Form::Lines),
            (Output::Text, Sight { quiet: true, ..all }, Form::Quiet),
            (Output::Json, all, Form::Lines),
            (Output::Json, Sight { quiet: true, ..all }, Form::Quiet),
            (Output::Jsonl, all, Form::Events),
            (Output::Jsonl, Sight { quiet: true, ..all }, Form::Events),
        ] {
            assert_eq!(Form::of(output, sight), form, "{output:?} {sight:?}");
        }
    }
}
