//! Choice of the display by the options and the terminal.

use crate::args::Output;

/// Display of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Shows nothing.
    Quiet,
    /// Prints a line for each event.
    Lines,
    /// Shows the plan as a live checklist below the event lines.
    Checklist,
    /// Uses the full screen, with keys.
    FullScreen,
    /// Prints each event as JSON on standard output.
    Events,
}

/// Options and properties of the terminal that determine the display.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DisplayOptions {
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// `--plain`, or its setting.
    pub(crate) plain: bool,
    /// True if `-v` writes a log.
    pub(crate) logs: bool,
    /// True if standard error is a terminal that can move its cursor.
    pub(crate) watched: bool,
    /// True if standard output is a terminal too, so that no other program reads it or draws there.
    pub(crate) alone: bool,
    /// True if a person can type.
    pub(crate) attended: bool,
}

impl Form {
    /// Returns the form for an output. A log, or a terminal without cursor movement, excludes live displays.
    pub(crate) const fn of(output: Output, display_options: DisplayOptions) -> Self {
        match output {
            Output::Jsonl => Self::Events,
            _ if display_options.quiet => Self::Quiet,
            Output::Text if display_options.watched && !display_options.plain && !display_options.logs => {
                if display_options.attended && display_options.alone { Self::FullScreen } else { Self::Checklist }
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
        let all = DisplayOptions { quiet: false, plain: false, logs: false, watched: true, alone: true, attended: true };
        for (output, display_options, form) in [
            (Output::Text, all, Form::FullScreen),
            (Output::Text, DisplayOptions { attended: false, ..all }, Form::Checklist),
            (Output::Text, DisplayOptions { alone: false, ..all }, Form::Checklist),
            (Output::Text, DisplayOptions { watched: false, ..all }, Form::Lines),
            (Output::Text, DisplayOptions { plain: true, ..all }, Form::Lines),
            (Output::Text, DisplayOptions { plain: true, attended: false, ..all }, Form::Lines),
            (Output::Text, DisplayOptions { logs: true, ..all }, Form::Lines),
            (Output::Text, DisplayOptions { quiet: true, ..all }, Form::Quiet),
            (Output::Json, all, Form::Lines),
            (Output::Json, DisplayOptions { quiet: true, ..all }, Form::Quiet),
            (Output::Jsonl, all, Form::Events),
            (Output::Jsonl, DisplayOptions { quiet: true, ..all }, Form::Events),
        ] {
            assert_eq!(Form::of(output, display_options), form, "{output:?} {display_options:?}");
        }
    }
}
