//! Whole runs: the orchestrator with a scripted model, a real journal and real tools, in a temporary folder.

#[path = "all/bench.rs"]
mod bench;
#[path = "all/crashes.rs"]
mod crashes;
#[path = "all/people.rs"]
mod people;
#[path = "all/runs.rs"]
mod runs;
#[path = "all/secrets.rs"]
mod secrets;
