//! Scenarios: the built binary in whole situations, against a server that answers from a script.
//!
//! One file a theme. Nothing here measures time: requests, events and files are counted and put in order.

#![cfg(test)]

#[cfg(feature = "acp")]
mod acp;
#[cfg(all(unix, feature = "acp"))]
mod agents;
#[cfg(all(unix, feature = "mcp"))]
mod any_tool;
mod auditor;
mod cancel;
mod chain;
mod checks;
mod commands;
mod commits;
mod confinement;
mod confusion;
mod copies;
mod damage;
mod dashboard;
mod delegation;
mod doctor;
mod documents;
mod emergent;
mod evaluate;
mod exit_codes;
#[cfg(all(feature = "acp", feature = "mcp"))]
mod faces;
mod files_and_commands;
mod harness;
mod history;
mod hooks;
mod images;
mod injection;
mod isolation;
mod kept_plans;
mod languages;
mod lead;
mod left_behind;
mod lines;
mod local_models;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_login;
#[cfg(feature = "mcp")]
mod mcp_serve;
mod memory;
mod mistakes;
mod models;
mod modes;
mod new_user;
mod one_file;
mod outdated;
mod output;
mod parallel;
mod people;
mod permissions;
mod plan_only;
mod planning;
mod plans;
mod providers;
#[cfg(unix)]
mod pty;
mod quotas;
mod replan;
mod report;
mod resume;
mod review;
mod safety;
mod secrets;
mod servers;
mod steering;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(unix)]
mod terminal;
mod triggers;
mod undo;
