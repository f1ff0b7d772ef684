//! `aime check`.

use std::path::Path;

use aime_messages::Describe;
use aime_runs::{PlanCheck, Setup};
use serde_json::json;

use super::input::read_text;
use crate::{
    args::CheckFormat,
    failure::{Failure, code},
    i18n::{msg, print},
    output::{self, GREEN, RED, count},
};

pub(super) fn check(path: &Path, format: CheckFormat, setup: &Setup) -> Result<u8, Failure> {
    let text = read_text(path, &msg!("plan-of-file", file = path.display()))?;
    let parts = setup.checker()?;
    let PlanCheck { plan, repairs } = parts.check(&text);
    match (format, &plan) {
        (CheckFormat::Json, Ok(plan)) => output::json(&json!({"valid": true, "repairs": repairs, "faults": [], "plan": plan}), true)?,
        (CheckFormat::Json, Err(faults)) => output::json(&json!({"valid": false, "repairs": repairs, "faults": faults}), true)?,
        (CheckFormat::Text, plan) => {
            repairs.iter().for_each(|repair| output::result(&msg!("line-repaired", repair = print(repair))));
            match plan {
                Ok(plan) => output::result(&format!("{GREEN}{}{GREEN:#}: {}", msg!("check-valid"), count(plan.tasks.len(), "task"))),
                Err(faults) => {
                    for fault in faults {
                        output::result(&format!("{RED}{}{RED:#} {}", msg!("check-fault"), print(&fault.describe())));
                    }
                    output::result(&count(faults.len(), "fault"));
                }
            }
        }
    }
    Ok(if plan.is_ok() { 0 } else { code::USAGE })
}
