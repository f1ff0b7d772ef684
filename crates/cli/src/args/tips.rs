//! Tips for invalid arguments whose intention can be guessed.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Commands and options that only a build with the feature `temporal` has.
#[cfg(not(feature = "temporal"))]
const OF_TEMPORAL: [&str; 12] = [
    "worker",
    "--on",
    "--blobs",
    "--payload-key",
    "--tls-ca",
    "--tls-cert",
    "--tls-key",
    "--tls-name",
    "--place",
    "--trees",
    "--lost-after",
    "--queues",
];

/// Adds a tip to the fault, if there is one.
pub(super) fn with_tip(mut fault: Error) -> Error {
    #[cfg(not(feature = "temporal"))]
    if let Some(ContextValue::String(name)) = fault.get(ContextKind::InvalidSubcommand).or_else(|| fault.get(ContextKind::InvalidArg))
        && OF_TEMPORAL.contains(&name.as_str())
    {
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].into_iter().for_each(|near| drop(fault.remove(near)));
        let tip = "this aime was built without it: build it with the feature `temporal`";
        fault.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return fault;
    }
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
