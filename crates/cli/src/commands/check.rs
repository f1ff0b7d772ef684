//! `aime check`.

use std::path::Path;

use aime_actors::{ProfileCatalog, leave_out_unfit};
use aime_llm::ToolDefinition;
use aime_planner::{CheckedPlan, PlanChecker, PlanFault, ProfileBrief};
use aime_tools::{BUNDLES, HandledBy};
use serde_json::json;

use super::read_text;
use crate::{
    args::CheckFormat,
    failure::{Failure, code},
    models,
    output::{self, GREEN, RED, count},
    wiring::Setup,
    words::{msg, said},
};

/// What plans are checked against.
pub(super) struct CheckerParts {
    tools: Vec<ToolDefinition>,
    actor_tools: Vec<String>,
    profiles: Vec<ProfileBrief>,
    models: Vec<String>,
    bundles: Vec<String>,
    catalog: ProfileCatalog,
}

impl CheckerParts {
    pub(super) fn checker(&self) -> PlanChecker<'_> {
        PlanChecker {
            tools: &self.tools,
            actor_tools: &self.actor_tools,
            profiles: &self.profiles,
            models: &self.models,
            bundles: &self.bundles,
            ..PlanChecker::default()
        }
    }

    /// Checks a plan, and that profiles can do what their tasks need.
    pub(super) fn check(&self, text: &str) -> Result<CheckedPlan, Vec<PlanFault>> {
        let mut checked = self.checker().check(text)?;
        checked.repairs.extend(checked.plan.tasks.iter_mut().filter_map(|task| leave_out_unfit(&self.catalog, task)));
        Ok(checked)
    }
}

/// All faults of a plan, one a line.
pub(super) fn told(what: &str, faults: &[PlanFault]) -> String {
    let mut told = msg!("plan-faults", plan = what, faults = count(faults.len(), "fault"));
    faults.iter().for_each(|fault| told.push_str(&format!("\n  {}", said(&fault.to_string()))));
    told
}

pub(super) fn checker_parts(setup: &Setup) -> Result<CheckerParts, Failure> {
    let registry = setup.tools();
    let handled = |by| registry.all_sheets().filter(move |sheet| sheet.handled_by == by).map(|sheet| sheet.definition.clone());
    let tools = handled(HandledBy::Runtime).collect();
    let actor_tools = handled(HandledBy::Actor).map(|tool| tool.name).collect();
    let bundles = BUNDLES.iter().map(|bundle| bundle.name.to_owned()).collect();
    let catalog = setup.profiles()?;
    let profiles =
        catalog.iter().map(|profile| ProfileBrief { name: profile.name.clone(), description: profile.description.clone() }).collect();
    let models = models::of_tasks(setup)?;
    Ok(CheckerParts { tools, actor_tools, profiles, models, bundles, catalog })
}

pub(super) fn check(path: &Path, format: CheckFormat, setup: &Setup) -> Result<u8, Failure> {
    let text = read_text(path, &msg!("plan-of-file", file = path.display()))?;
    let parts = checker_parts(setup)?;
    let checked = parts.check(&text);
    match (format, &checked) {
        (CheckFormat::Json, Ok(checked)) => {
            output::json(&json!({"valid": true, "repairs": checked.repairs, "faults": [], "plan": checked.plan}), true)?;
        }
        (CheckFormat::Json, Err(faults)) => output::json(&json!({"valid": false, "repairs": [], "faults": faults}), true)?,
        (CheckFormat::Text, Ok(checked)) => {
            for repair in &checked.repairs {
                output::result(&msg!("line-mended", repair = said(repair)));
            }
            output::result(&format!("{GREEN}{}{GREEN:#}: {}", msg!("check-valid"), count(checked.plan.tasks.len(), "task")));
        }
        (CheckFormat::Text, Err(faults)) => {
            for fault in faults {
                output::result(&format!("{RED}{}{RED:#} {}", msg!("check-fault"), said(&fault.to_string())));
            }
            output::result(&count(faults.len(), "fault"));
        }
    }
    Ok(if checked.is_ok() { 0 } else { code::USAGE })
}
