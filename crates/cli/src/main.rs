//! The `aime` command.

fn main() {}
