//! Tips for invalid arguments whose intention can be guessed.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Adds a tip to the fault, if there is one.
pub(super) fn with_tip(mut fault: Error) -> Error {
    let tip = match (fault.kind(), fault.get(ContextKind::InvalidArg), fault.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing)), _) if missing.iter().any(|name| name == "<RUN>") => {
            "`last` is the newest run; `aime runs` lists all of this folder"
        }
        (ErrorKind::InvalidSubcommand, _, Some(ContextValue::String(words))) if words.contains(char::is_whitespace) => {
            fault.remove(ContextKind::SuggestedSubcommand);
            "write `run` before a goal: aime run \"…\""
        }
        _ => return fault,
    };
    fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    fault
}
