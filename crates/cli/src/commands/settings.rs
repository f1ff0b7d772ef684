//! Converts arguments to the settings of a run.

#[cfg(test)]
mod tests;

use aime_orchestrator::{Bounds, RunSettings};
use aime_progress_management::PlanMode;
use aime_runs::{config::Config, settings_of};
use aime_tools::Approval;

use crate::args::{ApproveArg, BoundArgs, ModeArg, RunArgs};

pub(super) fn settings(args: &RunArgs, config: &Config, handed_over: bool) -> RunSettings {
    let configured = settings_of(config);
    let approval = args.approve.map_or(configured.approval, |approve| match approve {
        ApproveArg::Ask => Approval::Ask,
        ApproveArg::Edits => Approval::Edits,
        ApproveArg::All => Approval::All,
        ApproveArg::ReadOnly => Approval::ReadOnly,
    });
    RunSettings {
        mode: args.choice.mode.map_or(configured.mode, mode_of),
        max_parallel: args.max_parallel.unwrap_or(configured.max_parallel),
        bounds: bounds(&args.bounds, configured.bounds),
        approval,
        // A plan that the person supplies counts as approved, unless a flag or the settings set the approval mode.
        plan_approved: handed_over && args.approve.is_none() && approval == Approval::default(),
        unattended: args.unattended,
        commit: args.commit,
        ..configured
    }
}

pub(super) const fn mode_of(mode: ModeArg) -> Option<PlanMode> {
    match mode {
        ModeArg::Auto => None,
        ModeArg::Direct => Some(PlanMode::Direct),
        ModeArg::Simple => Some(PlanMode::Simple),
        ModeArg::Complex => Some(PlanMode::Complex),
        ModeArg::Emergent => Some(PlanMode::Emergent),
    }
}

/// Applies the bounds of the flags to the previous ones.
pub(super) fn bounds(args: &BoundArgs, before: Bounds) -> Bounds {
    Bounds {
        max_tokens: args.max_tokens.or(before.max_tokens),
        max_cost_usd: args.max_cost.or(before.max_cost_usd),
        max_seconds: args.timeout.map(|timeout| timeout.as_secs().max(1)).or(before.max_seconds),
        ..before
    }
}
