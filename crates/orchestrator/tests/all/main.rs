//! Whole runs: the orchestrator with a scripted model, a real journal and real tools, in a temporary folder.
#![cfg(test)]

mod actors;
mod alone;
mod bench;
mod checks;
mod claims;
mod crashes;
mod delegation;
mod history;
mod hooks;
mod injection;
mod memory;
mod own_tools;
mod people;
mod plan_only;
mod remote;
mod runs;
mod secrets;
