//! Converts the configuration to the settings of a run.

use std::collections::BTreeSet;

use aime_orchestrator::{Bounds, RunSettings};
use aime_progress_management::PlanMode;

use crate::config::{CheckConfig, Config, ModeConfig, RunConfig};

/// Returns the configured settings of a run.
pub fn settings_of(config: &Config) -> RunSettings {
    let run = &config.run;
    RunSettings {
        route: config.planning.route,
        strategy: config.planning.strategy,
        mode: match config.planning.mode {
            ModeConfig::Auto => None,
            ModeConfig::Direct => Some(PlanMode::Direct),
            ModeConfig::Simple => Some(PlanMode::Simple),
            ModeConfig::Complex => Some(PlanMode::Complex),
            ModeConfig::Emergent => Some(PlanMode::Emergent),
        },
        max_parallel: run.max_parallel,
        isolation: run.isolation,
        worktree: run.worktree.clone(),
        commit: false,
        bounds: Bounds {
            max_tokens: run.max_tokens,
            max_cost_usd: run.max_cost_usd,
            max_seconds: run.max_seconds,
            max_steps: run.max_steps,
            max_tool_calls: run.max_tool_calls,
            max_actors: run.max_actors,
        },
        triggers: config.triggers.clone(),
        frequency: config.frequency.clone(),
        growth: config.planning.growth.clone(),
        adaptive: config.planning.adaptive,
        reflect: config.planning.reflect,
        check_seconds: config.planning.check_seconds,
        checks: config.checks.values().map(CheckConfig::criterion).collect(),
        approval: config.permissions.approve,
        plan_approved: false,
        unattended: false,
        // The orchestrator fills these in, since it has the parts of the prompts.
        trust: None,
        origins: Vec::new(),
    }
}

/// Returns the bounds of a resumed run: a bound that was reached and that no flag sets is raised to the configured one.
pub fn raise_reached_bounds(mut bounds: Bounds, reached: &BTreeSet<String>, run: &RunConfig) -> Bounds {
    for bound in reached {
        match bound.as_str() {
            "tool_calls" => bounds.max_tool_calls = bounds.max_tool_calls.max(run.max_tool_calls),
            "actors" => bounds.max_actors = bounds.max_actors.max(run.max_actors),
            _ => {}
        }
    }
    bounds
}
