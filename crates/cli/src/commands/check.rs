//! `aime check`.

use std::path::Path;

use aime_messages::Describe;
use aime_runs::Setup;
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
    let checked = parts.check(&text);
    match (format, &checked) {
        (CheckFormat::Json, Ok(checked)) => {
            output::json(&json!({"valid": true, "repairs": checked.repairs, "faults": [], "plan": checked.plan}), true)?;
        }
        (CheckFormat::Json, Err(faults)) => output::json(&json!({"valid": false, "repairs": [], "faults": faults}), true)?,
        (CheckFormat::Text, Ok(checked)) => {
            for repair in &checked.repairs {
                output::result(&msg!("line-repaired", repair = print(repair)));
            }
            output::result(&format!("{GREEN}{}{GREEN:#}: {}", msg!("check-valid"), count(checked.plan.tasks.len(), "task")));
        }
        (CheckFormat::Text, Err(faults)) => {
            for fault in faults {
                output::result(&format!("{RED}{}{RED:#} {}", msg!("check-fault"), print(&fault.describe())));
            }
            output::result(&count(faults.len(), "fault"));
        }
    }
    Ok(if checked.is_ok() { 0 } else { code::USAGE })
}
