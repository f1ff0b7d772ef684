//! A chat completions server that answers from a script, and misbehaves on demand.
