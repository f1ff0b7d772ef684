//! Tests of the conversion from arguments and settings to the settings of a run.

use aime_orchestrator::FailureCode;
use clap::Parser;

use super::*;
use crate::args::{Cli, Command, LazyArgs};

fn settings_of(config: &str, arguments: &[&str]) -> RunSettings {
    let config: Config = toml::from_str(config).unwrap();
    let cli = Cli::try_parse_from(["aime", "run", "goal"].iter().chain(arguments)).unwrap();
    let Command::Run(LazyArgs(args)) = cli.command else { panic!() };
    settings(&args, &config, args.plan.is_some())
}

const FILE: &str = "[run]\nmax_parallel = 5\nmax_tokens = 6\nmax_cost_usd = 7\nmax_seconds = 8\nmax_steps = 9\nmax_tool_calls = 10\nmax_actors = 11\n\
                    [planning]\nmode = \"simple\"\nstrategy = \"never\"\n[permissions]\napprove = \"read-only\"\n\
                    [triggers]\nmax_retries = 12\n[frequency]\ncooldown_seconds = 13\n";

// Requirement: 2.11
#[test]
fn settings_of_files_arrive() {
    let settings = settings_of(FILE, &[]);
    let bounds = Bounds {
        max_tokens: Some(6),
        max_cost_usd: Some(7.0),
        max_seconds: Some(8),
        max_steps: Some(9),
        max_tool_calls: 10,
        max_actors: 11,
    };
    assert_eq!(settings.bounds, bounds);
    assert_eq!((settings.max_parallel, settings.mode, settings.approval), (5, Some(PlanMode::Simple), Approval::ReadOnly));
    assert_eq!((settings.triggers.max_retries, settings.frequency.cooldown_seconds), (12, 13));
    assert!(!settings.plan_approved && !settings.unattended);
}

// Requirement: 2.11
#[test]
fn flags_win_over_them() {
    let flags = ["--max-parallel", "2", "--max-tokens", "3", "--max-cost", "0.5", "--timeout", "1h", "--mode", "auto", "--approve", "all"];
    let settings = settings_of(FILE, &flags);
    assert_eq!((settings.max_parallel, settings.mode, settings.approval), (2, None, Approval::All));
    let bounds = &settings.bounds;
    assert_eq!((bounds.max_tokens, bounds.max_cost_usd, bounds.max_seconds, bounds.max_steps), (Some(3), Some(0.5), Some(3_600), Some(9)));
    assert_eq!(settings_of("", &["--timeout", "200ms"]).bounds.max_seconds, Some(1), "no time is no bound");
    assert!(settings_of("", &["--unattended"]).unattended);
}

#[test]
fn a_given_plan_is_approved_by_default() {
    assert!(settings_of("", &["--plan", "p.json"]).plan_approved);
    assert!(!settings_of("", &["--plan", "p.json", "--approve", "ask"]).plan_approved);
    assert!(!settings_of("", &[]).plan_approved);
}

#[test]
fn every_way_to_end_has_its_exit_code() {
    let table = [
        (FailureCode::GoalNotReached, 1),
        (FailureCode::ModelUnavailable, 3),
        (FailureCode::BoundReached, 4),
        (FailureCode::WaitingForHuman, 5),
        (FailureCode::Internal, 6),
        (FailureCode::Interrupted, 130),
    ];
    for (failure, code) in table {
        assert_eq!(failure.exit_code(), code, "{failure}");
    }
}
